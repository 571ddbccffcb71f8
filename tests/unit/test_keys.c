// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proves that kernel/keys.c finds a key in the keyrings of the task that connects, and later in
 * .rdmablk, where no task has any, but none of another user than root; that a session holds
 * exactly one reference to its key; that the successor of a key replaces it; and that only the
 * 32 bytes of a valid key come out.
 */
#include "session_world.h"

#define IS_ERR(p)	((unsigned long)(p) >= (unsigned long)-4095)
#define PTR_ERR(p)	((long)(p))
#define ERR_PTR(n)	((void *)(long)(n))
#define strscpy(to, from, n)	snprintf(to, n, "%s", from)
#define swap(a, b)	do { typeof(a) c_ = (a); (a) = (b); (b) = c_; } while (0)

#include "../../kernel/keys.c"

enum { KEYS = 6, LINKS = 4 };

/* A key and what the service knows of it */
struct entry {
	struct key key;
	char description[80];
	int invalid;		/* negative errno; 0: valid */
	u8 secret[40];
	struct user_key_payload payload;
};

struct ring {
	struct key key;
	struct entry *link[LINKS];
	bool revoked, invalid, no_room;
};

struct key_type key_type_logon;

static struct entry keys[KEYS];
static struct ring module_ring, task_ring;
static int task_error;		/* of each search of the task's keyrings; 0: none */
static int ring_error;
static bool no_ring;
static unsigned int searches;
static struct rdmablk_session s;
static const u8 blank[RDMABLK_KEYS_SECRET];

static struct entry *entry_of(const struct key *key)
{
	return container_of(key, struct entry, key);
}

static struct entry *new_key(int nr, const char *name)
{
	struct entry *e = &keys[nr];

	*e = (struct entry) { .key.usage = 1 };
	snprintf(e->description, sizeof(e->description), "rdmablk:%s", name);
	memset(e->secret, 'a' + nr, sizeof(e->secret));
	e->payload = (struct user_key_payload) { 32, e->secret };
	return e;
}

/* The key service removes keys that have ended from its keyrings when it likes. */
static key_ref_t search(struct ring *ring, const char *description, bool skip_expired)
{
	int ret = -EAGAIN;

	for (int i = 0; i < LINKS; i++) {
		struct entry *e = ring->link[i];

		if (!e || strcmp(e->description, description))
			continue;
		if (!e->invalid) {
			key_get(&e->key);
			return make_key_ref(&e->key, true);
		}
		if (!(skip_expired && e->invalid == -EKEYEXPIRED))
			ret = e->invalid;
	}
	return ERR_PTR(ret);
}

struct key *request_key(struct key_type *type, const char *description, const char *callout)
{
	key_ref_t ref;

	assert_ptr_equal(type, &key_type_logon);
	/* No program is run to find a key for the module. */
	assert_null(callout);
	assert_false(s.lock.held);
	if (task_error)
		return ERR_PTR(task_error);
	ref = search(&task_ring, description, true);
	if (!IS_ERR(ref))
		return key_ref_to_ptr(ref);
	return ERR_PTR(PTR_ERR(ref) == -EAGAIN ? -ENOKEY : PTR_ERR(ref));
}

key_ref_t keyring_search(key_ref_t keyring, struct key_type *type, const char *description,
			 bool recurse)
{
	searches++;
	assert_ptr_equal(type, &key_type_logon);
	assert_false(recurse);
	assert_false(s.lock.held);
	/* A task of the kernel has no right but that of a possessor. */
	assert_ptr_equal(keyring, make_key_ref(&module_ring.key, true));
	if (ring_error)
		return ERR_PTR(ring_error);
	return search(&module_ring, description, false);
}

struct key *keyring_alloc(const char *description, int uid, int gid, const void *cred,
			  u32 perm, unsigned long flags, void *restriction,
			  struct key *destination)
{
	(void)cred;
	assert_string_equal(description, ".rdmablk");
	assert_int_equal(uid, 0);
	assert_int_equal(gid, 0);
	/* Root may link and list keys; other users do not even see the keyring. */
	assert_int_equal(perm, 0x1f1f0000);
	assert_int_equal(flags, KEY_ALLOC_NOT_IN_QUOTA);
	/* Nothing calls the module when a key is linked. */
	assert_null(restriction);
	assert_null(destination);
	if (no_ring)
		return ERR_PTR(-ENOMEM);
	module_ring = (struct ring) { .key.usage = 1 };
	return &module_ring.key;
}

int key_validate(const struct key *key)
{
	return entry_of(key)->invalid;
}

const struct user_key_payload *user_key_payload_locked(const struct key *key)
{
	const struct entry *e = entry_of(key);

	assert_int_equal(key->sem.readers, 1);
	return e->payload.data ? &e->payload : NULL;
}

/* Replaces the key of the same description, as the kernel does. */
int key_link(struct key *keyring, struct key *key)
{
	struct ring *ring = container_of(keyring, struct ring, key);
	struct entry *e = entry_of(key), **room = NULL;

	if (ring->no_room)
		return -ENOMEM;
	for (int i = 0; i < LINKS; i++) {
		if (ring->link[i] && !strcmp(ring->link[i]->description, e->description)) {
			room = &ring->link[i];
			break;
		}
		if (!ring->link[i])
			room = &ring->link[i];
	}
	assert_non_null(room);
	key_get(key);
	if (*room)
		key_put(&(*room)->key);
	*room = e;
	return 0;
}

static void unlink_key(struct ring *ring, struct entry *e)
{
	for (int i = 0; i < LINKS; i++) {
		if (ring->link[i] == e) {
			ring->link[i] = NULL;
			return key_put(&e->key);
		}
	}
	fail();
}

void key_revoke(struct key *key)
{
	assert_ptr_equal(key, &module_ring.key);
	assert_int_equal(key->usage, 1);
	module_ring.revoked = true;
	for (int i = 0; i < LINKS; i++)
		if (module_ring.link[i])
			unlink_key(&module_ring, module_ring.link[i]);
}

void key_invalidate(struct key *key)
{
	assert_ptr_equal(key, &module_ring.key);
	assert_int_equal(key->usage, 1);
	module_ring.invalid = true;
}

void key_put(struct key *key)
{
	if (!key)
		return;
	assert_false(s.lock.held);
	assert_int_equal(key->sem.readers, 0);
	assert_true(key->usage-- > 0);
}

static int setup(void **state)
{
	(void)state;
	task_ring = (struct ring) { 0 };
	task_error = 0;
	ring_error = 0;
	no_ring = false;
	searches = 0;
	memset(&s, 0, sizeof(s));
	memset(keys, 0, sizeof(keys));
	return rdmablk_keys_start();
}

/* Each key has at most the reference of its maker left. */
static int teardown(void **state)
{
	(void)state;
	key_put(s.key);
	for (int i = 0; i < LINKS; i++)
		if (task_ring.link[i])
			unlink_key(&task_ring, task_ring.link[i]);
	rdmablk_keys_stop();
	assert_true(module_ring.revoked && module_ring.invalid);
	assert_int_equal(module_ring.key.usage, 0);
	for (int i = 0; i < KEYS; i++)
		assert_in_range(keys[i].key.usage, 0, 1);
	return 0;
}

static void test_no_keyring(void **state)
{
	(void)state;
	no_ring = true;
	assert_int_equal(rdmablk_keys_start(), -ENOMEM);
}

static bool in_module_ring(const struct entry *e)
{
	for (int i = 0; i < LINKS; i++)
		if (module_ring.link[i] == e)
			return true;
	return false;
}

static void test_found_in_the_task(void **state)
{
	struct entry *e = new_key(0, "web1");
	struct key *key;

	(void)state;
	key_link(&task_ring.key, &e->key);
	key = rdmablk_keys_find("web1");
	assert_ptr_equal(key, &e->key);
	assert_int_equal(searches, 0);
	/* the maker, the task and the caller */
	assert_int_equal(key->usage, 3);
	assert_false(in_module_ring(e));

	/*
	 * Once a session has the key, .rdmablk has it, too: a reconnect or another task finds
	 * it.
	 */
	assert_int_equal(rdmablk_keys_give(&s, "web1", key), 0);
	assert_true(in_module_ring(e));
	unlink_key(&task_ring, e);
	key = rdmablk_keys_find("web1");
	assert_ptr_equal(key, &e->key);
	assert_int_equal(searches, 1);
	/* the maker, .rdmablk, the session and the caller */
	assert_int_equal(key->usage, 4);
	key_put(key);
}

/* A key of the task comes before the key that an earlier connect has linked. */
static void test_task_comes_first(void **state)
{
	struct entry *old = new_key(0, "web1"), *new = new_key(1, "web1");
	struct key *key;

	(void)state;
	key_link(&module_ring.key, &old->key);
	key_link(&task_ring.key, &new->key);
	key = rdmablk_keys_find("web1");
	assert_ptr_equal(key, &new->key);
	/* A connect that is refused later leaves the old key to other disks. */
	assert_true(in_module_ring(old));
	assert_int_equal(rdmablk_keys_give(&s, "web1", key), 0);
	assert_true(in_module_ring(new));
	assert_int_equal(old->key.usage, 1);
}

static void test_not_found(void **state)
{
	struct entry *e = new_key(0, "web1");

	(void)state;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -ENOKEY);
	key_link(&task_ring.key, &e->key);
	key_link(&module_ring.key, &e->key);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web")), -ENOKEY);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web11")), -ENOKEY);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("")), -ENOKEY);
	assert_int_equal(e->key.usage, 3);
}

/* The task's keyrings hide an expired key. .rdmablk tells why there is no key. */
static void test_found_but_ended(void **state)
{
	struct entry *e = new_key(0, "web1"), *next;
	struct key *key;

	(void)state;
	key_link(&task_ring.key, &e->key);
	e->invalid = -EKEYEXPIRED;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -ENOKEY);
	key_link(&module_ring.key, &e->key);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EKEYEXPIRED);
	e->invalid = -EKEYREVOKED;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EKEYREVOKED);
	/* of two errors the task's counts, */
	e->invalid = 0;
	task_error = -ENOMEM;
	ring_error = -EKEYEXPIRED;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -ENOMEM);
	/* and a key counts before any error */
	ring_error = 0;
	next = new_key(1, "web1");
	key_link(&module_ring.key, &next->key);
	key = rdmablk_keys_find("web1");
	assert_ptr_equal(key, &next->key);
	key_put(key);
	assert_int_equal(e->key.usage, 2);
	/* except that the task has no right to its own key */
	task_error = -EACCES;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EPERM);
	assert_int_equal(next->key.usage, 2);
}

/* Another user has a key of this name, in the keyring that sudo leaves to the task, say. */
static void test_key_of_another_user(void **state)
{
	struct entry *theirs = new_key(0, "web1"), *ours = new_key(1, "web1");
	u8 secret[RDMABLK_KEYS_SECRET] = { };
	struct key *key;

	(void)state;
	theirs->key.uid = 1000;
	key_link(&task_ring.key, &theirs->key);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EPERM);
	assert_false(in_module_ring(theirs));
	assert_int_equal(theirs->key.usage, 2);
	/* It does not hide the key of root. */
	key_link(&module_ring.key, &ours->key);
	key = rdmablk_keys_find("web1");
	assert_ptr_equal(key, &ours->key);
	assert_int_equal(rdmablk_keys_give(&s, "web1", key), 0);
	assert_int_equal(theirs->key.usage, 2);
	/* A key that is given to another user later, or linked by mistake, is not used either. */
	ours->key.uid = 1000;
	assert_int_equal(rdmablk_keys_take(&s, secret), -EPERM);
	assert_memory_equal(secret, blank, sizeof(secret));
	unlink_key(&task_ring, theirs);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EPERM);
}

static void test_found_but_useless(void **state)
{
	struct entry *e = new_key(0, "web1"), *next;

	(void)state;
	key_link(&task_ring.key, &e->key);
	for (e->payload.datalen = 0; e->payload.datalen < 40; e->payload.datalen++)
		if (e->payload.datalen != 32)
			assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EINVAL);
	/* The key of .rdmablk does not hide the mistake. */
	next = new_key(1, "web1");
	key_link(&module_ring.key, &next->key);
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EINVAL);
	unlink_key(&module_ring, next);
	e->payload.datalen = 32;
	/* The key is revoked between the search and the look at its payload. */
	e->payload.data = NULL;
	assert_int_equal(PTR_ERR(rdmablk_keys_find("web1")), -EKEYREVOKED);
	e->payload.data = e->secret;
	assert_int_equal(e->key.usage, 2);
}

/* The longest name is searched for in full. */
static void test_longest_name(void **state)
{
	char name[RDMABLK_KEY_NAME_LEN], got[RDMABLK_KEY_NAME_LEN];
	struct entry *e;
	struct key *key;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	e = new_key(0, name);
	key_link(&task_ring.key, &e->key);
	key = rdmablk_keys_find(name);
	assert_ptr_equal(key, &e->key);
	assert_int_equal(rdmablk_keys_give(&s, name, key), 0);
	rdmablk_keys_name(&s, got);
	assert_string_equal(got, name);
	name[sizeof(name) - 2] = '\0';
	assert_int_equal(PTR_ERR(rdmablk_keys_find(name)), -ENOKEY);
}

static void test_given(void **state)
{
	struct entry *a = new_key(0, "web1"), *b = new_key(1, "web2");
	char name[RDMABLK_KEY_NAME_LEN];

	(void)state;
	rdmablk_keys_name(&s, name);
	assert_string_equal(name, "");
	assert_int_equal(rdmablk_keys_give(&s, "web1", key_get(&a->key)), 0);
	rdmablk_keys_name(&s, name);
	assert_string_equal(name, "web1");
	assert_ptr_equal(s.key, &a->key);
	/* the maker, .rdmablk and the session */
	assert_int_equal(a->key.usage, 3);
	assert_int_equal(rdmablk_keys_give(&s, "web2", key_get(&b->key)), 0);
	rdmablk_keys_name(&s, name);
	assert_string_equal(name, "web2");
	assert_ptr_equal(s.key, &b->key);
	assert_int_equal(a->key.usage, 2);
	assert_int_equal(b->key.usage, 3);
	/* the same again, as after a search for the same name */
	assert_int_equal(rdmablk_keys_give(&s, "web2", key_get(&b->key)), 0);
	assert_int_equal(b->key.usage, 3);
	/* A key that cannot be linked is not given to the session. */
	module_ring.no_room = true;
	assert_int_equal(rdmablk_keys_give(&s, "web1", key_get(&a->key)), -ENOMEM);
	rdmablk_keys_name(&s, name);
	assert_string_equal(name, "web2");
	assert_ptr_equal(s.key, &b->key);
	assert_int_equal(a->key.usage, 2);
	assert_int_equal(b->key.usage, 3);
}

static void test_taken(void **state)
{
	struct entry *e = new_key(0, "web1");
	u8 secret[RDMABLK_KEYS_SECRET + 1];

	(void)state;
	memset(secret, 0, sizeof(secret));
	assert_int_equal(rdmablk_keys_give(&s, "web1", key_get(&e->key)), 0);
	assert_int_equal(rdmablk_keys_take(&s, secret), 0);
	assert_memory_equal(secret, e->secret, RDMABLK_KEYS_SECRET);
	assert_int_equal(secret[RDMABLK_KEYS_SECRET], 0);
	assert_int_equal(e->key.usage, 3);
	assert_int_equal(searches, 0);
	/* The key was loaded again with another secret, which replaces the old one in place. */
	memset(e->secret, 'z', sizeof(e->secret));
	assert_int_equal(rdmablk_keys_take(&s, secret), 0);
	assert_int_equal(secret[31], 'z');
}

/* A key was revoked or has expired, first without a successor in .rdmablk, then with one. */
static void test_taken_later(void **state)
{
	static const int ends[] = { -EKEYREVOKED, -EKEYEXPIRED, -ENOKEY };
	struct entry *e = new_key(0, "web1"), *next;
	u8 secret[RDMABLK_KEYS_SECRET];

	(void)state;
	assert_int_equal(rdmablk_keys_give(&s, "web1", key_get(&e->key)), 0);
	for (int i = 0; i < 3; i++) {
		memset(secret, 0, sizeof(secret));
		e->invalid = ends[i];
		assert_int_equal(rdmablk_keys_take(&s, secret), ends[i]);
		assert_memory_equal(secret, blank, sizeof(secret));
		assert_ptr_equal(s.key, &e->key);

		next = new_key(i + 1, "web1");
		key_link(&module_ring.key, &next->key);
		assert_int_equal(rdmablk_keys_take(&s, secret), 0);
		assert_memory_equal(secret, next->secret, sizeof(secret));
		assert_ptr_equal(s.key, &next->key);
		/* the maker; for the successor also .rdmablk and the session */
		assert_int_equal(e->key.usage, 1);
		assert_int_equal(next->key.usage, 3);
		e = next;
	}
	assert_int_equal(searches, 6);
	/* A key of another name does not count. */
	e->invalid = -EKEYREVOKED;
	unlink_key(&module_ring, e);
	next = new_key(5, "web11");
	key_link(&module_ring.key, &next->key);
	assert_int_equal(rdmablk_keys_take(&s, secret), -EKEYREVOKED);
}

static void test_taken_from_nobody(void **state)
{
	struct entry *e = new_key(0, "web1");
	u8 secret[RDMABLK_KEYS_SECRET] = { };

	(void)state;
	snprintf(s.opt.key_name, sizeof(s.opt.key_name), "web1");
	assert_int_equal(rdmablk_keys_take(&s, secret), -ENOKEY);
	assert_null(s.key);
	key_link(&module_ring.key, &e->key);
	assert_int_equal(rdmablk_keys_take(&s, secret), 0);
	assert_ptr_equal(s.key, &e->key);
	assert_memory_equal(secret, e->secret, sizeof(secret));
}

/* A secret of another length is a mistake. No other key of that name may hide it. */
static void test_taken_useless(void **state)
{
	struct entry *e = new_key(0, "web1"), *next = new_key(1, "web1");
	u8 secret[RDMABLK_KEYS_SECRET] = { };

	(void)state;
	assert_int_equal(rdmablk_keys_give(&s, "web1", key_get(&e->key)), 0);
	key_link(&module_ring.key, &next->key);
	e->payload.datalen = 33;
	assert_int_equal(rdmablk_keys_take(&s, secret), -EINVAL);
	e->payload.datalen = 31;
	assert_int_equal(rdmablk_keys_take(&s, secret), -EINVAL);
	assert_int_equal(searches, 0);
	/* nor does a successor with a secret of another length replace the key */
	e->invalid = -EKEYREVOKED;
	next->payload.datalen = 5;
	assert_int_equal(rdmablk_keys_take(&s, secret), -EINVAL);
	assert_memory_equal(secret, blank, sizeof(secret));
	assert_ptr_equal(s.key, &e->key);
	assert_int_equal(next->key.usage, 2);
}

static void test_texts(void **state)
{
	static const int errs[] = {
		-ENOKEY, -EKEYREVOKED, -EKEYEXPIRED, -EINVAL, -EPERM, -ENOMEM, -EIO,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errs); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rdmablk_keys_text(errs[i]),
						rdmablk_keys_text(errs[j]));
	assert_non_null(strstr(rdmablk_keys_text(-ENOKEY), "rdmablk key load"));
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_keyring),
		TEST(test_found_in_the_task),
		TEST(test_task_comes_first),
		TEST(test_not_found),
		TEST(test_found_but_ended),
		TEST(test_key_of_another_user),
		TEST(test_found_but_useless),
		TEST(test_longest_name),
		TEST(test_given),
		TEST(test_taken),
		TEST(test_taken_later),
		TEST(test_taken_from_nobody),
		TEST(test_taken_useless),
		TEST(test_texts),
	};

	return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
