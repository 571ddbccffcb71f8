// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys that disks log in with. They are keys of the kernel, of type "logon", which no program
 * can read, with the description rdmablk:NAME.
 *
 * A connect searches the keyrings of the task that asks for it. A reconnect runs in a task
 * of the kernel, which has no such keyrings. So the key that a connect finds is also linked
 * into .rdmablk, the keyring of the module. 'rdmablk key load' links each key there, too, so
 * that a reconnect finds the successor of a key that was revoked or has expired.
 *
 * Only keys that belong to root are used. A task of root, of sudo for instance, may have
 * keyrings of another user, who could choose the target that the disk trusts.
 *
 * Nothing restricts what root links into .rdmablk. A restriction would be a function of the
 * module, and a process that has linked the keyring could reach that function after the
 * module is gone.
 */
#include <keys/user-type.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/key.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include "keys.h"
#include "session.h"

#define RDMABLK_KEYS_PREFIX	"rdmablk:"
#define RDMABLK_KEYS_DESC_LEN	(sizeof(RDMABLK_KEYS_PREFIX) + RDMABLK_KEY_NAME_LEN)

/*
 * The module has the rights of a possessor, and so has a process of root that links the
 * keyring. Reading a keyring only lists its keys; nobody can read the payload of a logon key.
 */
#define RDMABLK_KEYS_PERM	(KEY_POS_VIEW | KEY_POS_READ | KEY_POS_WRITE |	\
				 KEY_POS_SEARCH | KEY_POS_LINK |		\
				 KEY_USR_VIEW | KEY_USR_READ | KEY_USR_WRITE |	\
				 KEY_USR_SEARCH | KEY_USR_LINK)

static struct key *rdmablk_keys_ring;

/**
 * rdmablk_keys_start() - make the module's keyring
 *
 * Return: 0 or a negative errno.
 */
int rdmablk_keys_start(void)
{
	struct key *ring;

	ring = keyring_alloc(".rdmablk", GLOBAL_ROOT_UID, GLOBAL_ROOT_GID, current_cred(),
			     RDMABLK_KEYS_PERM, KEY_ALLOC_NOT_IN_QUOTA, NULL, NULL);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	rdmablk_keys_ring = ring;
	return 0;
}

/**
 * rdmablk_keys_stop() - give the module's keyring back, when no session is left
 *
 * A process may have linked the keyring. Revoking empties it. Invalidating removes it soon
 * from all keyrings and from /proc/keys, where the tool looks for the keyring of the next
 * load.
 */
void rdmablk_keys_stop(void)
{
	key_revoke(rdmablk_keys_ring);
	key_invalidate(rdmablk_keys_ring);
	key_put(rdmablk_keys_ring);
}

/*
 * Return: 0; -EINVAL: not a key of rdmablk; -EPERM: not root's; -EKEYREVOKED, -EKEYEXPIRED,
 * -ENOKEY
 */
static int rdmablk_keys_copy(struct key *key, u8 *secret)
{
	const struct user_key_payload *payload;
	int ret;

	down_read(&key->sem);
	ret = key_validate(key);
	if (!ret && !uid_eq(key->uid, GLOBAL_ROOT_UID))
		ret = -EPERM;
	payload = user_key_payload_locked(key);
	if (!ret && !payload)
		ret = -EKEYREVOKED;
	if (!ret && payload->datalen != RDMABLK_KEYS_SECRET)
		ret = -EINVAL;
	if (!ret && secret)
		memcpy(secret, payload->data, RDMABLK_KEYS_SECRET);
	up_read(&key->sem);
	return ret;
}

static void rdmablk_keys_describe(const char *name, char *description)
{
	snprintf(description, RDMABLK_KEYS_DESC_LEN, RDMABLK_KEYS_PREFIX "%s", name);
}

/* Return: key of .rdmablk with a reference, or an ERR_PTR. */
static struct key *rdmablk_keys_search(const char *description)
{
	key_ref_t ref;

	/* "Possessed", so the result does not depend on the task in which this runs. */
	ref = keyring_search(make_key_ref(rdmablk_keys_ring, true), &key_type_logon,
			     description, false);
	if (!IS_ERR(ref))
		return key_ref_to_ptr(ref);
	return ERR_PTR(PTR_ERR(ref) == -EAGAIN ? -ENOKEY : PTR_ERR(ref));
}

/* Return: @key, or an ERR_PTR in its place. */
static struct key *rdmablk_keys_check(struct key *key)
{
	int ret;

	if (IS_ERR(key))
		return key;
	ret = rdmablk_keys_copy(key, NULL);
	if (!ret)
		return key;
	key_put(key);
	return ERR_PTR(ret);
}

/**
 * rdmablk_keys_find() - find a key for a disk
 * @name: what follows "rdmablk:" in the description of the key; fewer than
 *	RDMABLK_KEY_NAME_LEN characters
 *
 * Searches the keyrings of the calling task, then .rdmablk. No program is asked for a key that
 * is not loaded. Keyrings of tasks do not show keys that have expired. Where the task may not
 * search, or its key has the wrong length, no key of .rdmablk hides that.
 *
 * Context: may sleep.
 *
 * Return: key with a reference, or an ERR_PTR that rdmablk_keys_text() has a text for: -EPERM
 * where the task has no right to the key, because -EACCES is the refusal of a target, and
 * where the key belongs to another user than root.
 */
struct key *rdmablk_keys_find(const char *name)
{
	char description[RDMABLK_KEYS_DESC_LEN];
	struct key *key, *other;

	rdmablk_keys_describe(name, description);
	key = rdmablk_keys_check(request_key(&key_type_logon, description, NULL));
	if (IS_ERR(key) && PTR_ERR(key) != -EACCES && PTR_ERR(key) != -EINVAL) {
		other = rdmablk_keys_check(rdmablk_keys_search(description));
		if (!IS_ERR(other) || PTR_ERR(key) == -ENOKEY)
			key = other;
	}
	return IS_ERR(key) && PTR_ERR(key) == -EACCES ? ERR_PTR(-EPERM) : key;
}

/**
 * rdmablk_keys_text() - why there is no key to log in with
 * @err: negative errno of rdmablk_keys_find(), rdmablk_keys_give() or rdmablk_keys_take()
 *
 * Return: static text.
 */
const char *rdmablk_keys_text(int err)
{
	switch (err) {
	case -ENOKEY:
		return "no key of this name is loaded: rdmablk key load FILE";
	case -EKEYREVOKED:
		return "the key is revoked: load another one";
	case -EKEYEXPIRED:
		return "the key has expired: load another one";
	case -EINVAL:
		return "the key does not have 32 bytes: load it with rdmablk key load";
	case -EPERM:
		return "no right to the key, or it is not root's: load it with rdmablk key load";
	case -ENOMEM:
		return "out of memory";
	default:
		return "the kernel does not give the key";
	}
}

/**
 * rdmablk_keys_give() - the key that the next login of a session takes
 * @s: session
 * @name: name of @key
 * @key: key; its reference is taken over, also after an error
 *
 * Links the key into .rdmablk, where it replaces a key of the same name. All disks that log in
 * with that name find it there. So only a command that uses the key may call this function.
 *
 * Context: may sleep.
 *
 * Return: 0; or a negative errno, and the session and .rdmablk are as they were.
 */
int rdmablk_keys_give(struct rdmablk_session *s, const char *name, struct key *key)
{
	int ret = key_link(rdmablk_keys_ring, key);

	if (ret) {
		key_put(key);
		return ret;
	}
	spin_lock_irq(&s->lock);
	strscpy(s->opt.key_name, name, sizeof(s->opt.key_name));
	swap(s->key, key);
	spin_unlock_irq(&s->lock);
	key_put(key);
	return 0;
}

/**
 * rdmablk_keys_name() - the key that the next login of a session takes, by name
 * @s: session
 * @name: result, RDMABLK_KEY_NAME_LEN bytes; "": a login without a key
 */
void rdmablk_keys_name(struct rdmablk_session *s, char *name)
{
	spin_lock_irq(&s->lock);
	memcpy(name, s->opt.key_name, RDMABLK_KEY_NAME_LEN);
	spin_unlock_irq(&s->lock);
}

/**
 * rdmablk_keys_take() - the secret to log in with
 * @s: session with a key
 * @secret: result, RDMABLK_KEYS_SECRET bytes, which the caller wipes
 *
 * Where the session's key cannot be used any more, a key of the same name in .rdmablk takes
 * its place.
 *
 * Context: may sleep; allocates no memory.
 *
 * Return: 0; -ENOKEY, -EKEYREVOKED, -EKEYEXPIRED: no such key can be used; -EINVAL: the key
 * does not have 32 bytes; -EPERM: it is not root's; another negative errno of the key service.
 */
int rdmablk_keys_take(struct rdmablk_session *s, u8 *secret)
{
	char description[RDMABLK_KEYS_DESC_LEN];
	struct key *key, *other;
	int ret;

	spin_lock_irq(&s->lock);
	rdmablk_keys_describe(s->opt.key_name, description);
	key = s->key ? key_get(s->key) : NULL;
	spin_unlock_irq(&s->lock);
	ret = key ? rdmablk_keys_copy(key, secret) : -ENOKEY;
	if (ret && ret != -EINVAL) {
		other = rdmablk_keys_search(description);
		if (!IS_ERR(other)) {
			ret = rdmablk_keys_copy(other, secret);
			spin_lock_irq(&s->lock);
			/* The session may have got another key meanwhile: keep that. */
			if (!ret && s->key == key)
				swap(s->key, other);
			spin_unlock_irq(&s->lock);
			key_put(other);
		}
	}
	key_put(key);
	return ret;
}
