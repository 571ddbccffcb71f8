// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Key files: rdmablk-key-1:NAME:BASE64(32 bytes | their CRC-32, little endian): and a
 * newline. The checksum finds a character that was mistyped or cut off; it protects
 * against nobody.
 *
 * A key is in the memory of its struct key_file, which is wiped before it is given back, and
 * nowhere else: key_file_wipe_stack() removes what registers leave behind. The tool is
 * linked with this file, too: of the tree it includes its own header alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <zlib.h>

#include "base/key_file.h"

#define CREDENTIAL	0040	/* systemd lets root's group read credentials */
#define PREFIX		"rdmablk-key-1:"
#define PREFIX_LEN	(sizeof(PREFIX) - 1)
#define ID_LABEL	"rdmablk key id 2"
#define ID_LABEL_LEN	(sizeof(ID_LABEL) - 1)
#define CODED_LEN	(KEY_FILE_SECRET_LEN + 4)
#define STACK_LEN	32768	/* more than libcrypto and the loader use */
#define CODE_LEN	(CODED_LEN / 3 * 4)	/* no padding: a text for each key, not several */

_Static_assert(CODED_LEN % 3 == 0, "base64 has padding");
_Static_assert(PREFIX_LEN + KEY_FILE_NAME_LEN - 1 + 1 + CODE_LEN + 2 == KEY_FILE_TEXT_LEN,
	       "the longest text has another length");
_Static_assert(sizeof(((struct key_file *)0)->work) >= ID_LABEL_LEN + KEY_FILE_SECRET_LEN,
	       "no room for what the fingerprint is made of");

__attribute__((__format__(printf, 3, 4)))
static int refuse(char *why, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, KEY_FILE_WHY, fmt, args);
	va_end(args);
	return err;
}

/**
 * key_file_alloc() - memory for a key
 *
 * It stays out of core dumps and of forked children, and out of swap where the limit of
 * locked memory allows it.
 *
 * Return: for key_file_free(), or NULL
 */
struct key_file *key_file_alloc(void)
{
	struct key_file *key;

	key = mmap(NULL, sizeof(*key), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (key == MAP_FAILED)
		return NULL;
	if (madvise(key, sizeof(*key), MADV_DONTDUMP) ||
	    madvise(key, sizeof(*key), MADV_WIPEONFORK)) {
		munmap(key, sizeof(*key));
		return NULL;
	}
	mlock(key, sizeof(*key));
	return key;
}

/**
 * key_file_free() - wipes a key and gives its memory back
 * @key: may be NULL
 */
void key_file_free(struct key_file *key)
{
	if (!key)
		return;
	explicit_bzero(key, sizeof(*key));
	munmap(key, sizeof(*key));
}

/**
 * key_file_wipe_stack() - wipes what functions that the caller has called left on the stack
 *
 * memcpy() leaves pieces of a key in vector registers, and the loader saves these on the stack
 * whenever it looks up a function that is called for the first time.
 */
__attribute__((__noinline__))
void key_file_wipe_stack(void)
{
	char stack[STACK_LEN];

	explicit_bzero(stack, sizeof(stack));
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/**
 * key_file_name_ok() - names of keys
 * @name: letters, digits and "._-", not starting with a dot or a dash
 * @len: its length
 *
 * Return: whether it is a name
 */
bool key_file_name_ok(const char *name, size_t len)
{
	size_t i;

	if (!len || len >= KEY_FILE_NAME_LEN || *name == '.' || *name == '-')
		return false;
	for (i = 0; i < len; i++)
		if (!is_alnum(name[i]) && name[i] != '.' && name[i] != '_' && name[i] != '-')
			return false;
	return true;
}

/* Return: whether libcrypto could do it */
static bool make_id(struct key_file *key)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	bool ok;

	memcpy(key->work, ID_LABEL, ID_LABEL_LEN);
	memcpy(key->work + ID_LABEL_LEN, key->secret, sizeof(key->secret));
	ok = EVP_Digest(key->work, ID_LABEL_LEN + sizeof(key->secret), digest, NULL,
			EVP_sha256(), NULL) == 1;
	explicit_bzero(key->work, sizeof(key->work));
	memcpy(key->id, digest, sizeof(key->id));
	return ok;
}

static void put_checksum(const uint8_t *secret, uint8_t *out)
{
	unsigned long sum = crc32(0, secret, KEY_FILE_SECRET_LEN);
	unsigned int i;

	for (i = 0; i < CODED_LEN - KEY_FILE_SECRET_LEN; i++)
		out[i] = sum >> 8 * i;
}

/**
 * key_file_generate() - a new key
 * @key: all of it is set but for the text
 * @name: passes key_file_name_ok()
 *
 * The bytes come from the kernel: no generator in this process has made them.
 *
 * Return: 0, or an errno
 */
int key_file_generate(struct key_file *key, const char *name)
{
	ssize_t n;
	bool ok;

	snprintf(key->name, sizeof(key->name), "%s", name);
	do {
		n = getrandom(key->secret, sizeof(key->secret), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	ok = n == sizeof(key->secret) && make_id(key);
	key_file_wipe_stack();
	return ok ? 0 : EIO;
}

/**
 * key_file_format() - the text form
 * @key: has a name and a secret; its text is set, the newline included
 *
 * Return: length of the text
 */
size_t key_file_format(struct key_file *key)
{
	size_t len;

	len = snprintf(key->text, sizeof(key->text), PREFIX "%s:", key->name);
	memcpy(key->work, key->secret, sizeof(key->secret));
	put_checksum(key->secret, key->work + sizeof(key->secret));
	EVP_EncodeBlock((unsigned char *)key->text + len, key->work, CODED_LEN);
	explicit_bzero(key->work, sizeof(key->work));
	key_file_wipe_stack();
	len += CODE_LEN;
	key->text[len++] = ':';
	key->text[len++] = '\n';
	return len;
}

/* The decoder of libcrypto allows blanks and newlines around the code. */
static bool is_code(const char *code, size_t len)
{
	size_t i;

	if (len < CODE_LEN + 1)
		return false;
	for (i = 0; i < CODE_LEN; i++)
		if (!is_alnum(code[i]) && code[i] != '+' && code[i] != '/')
			return false;
	return code[CODE_LEN] == ':';
}

static bool decode(struct key_file *key, const char *code)
{
	uint8_t sum[CODED_LEN - KEY_FILE_SECRET_LEN];
	bool ok;

	ok = EVP_DecodeBlock(key->work, (const unsigned char *)code, CODE_LEN) == CODED_LEN;
	if (ok) {
		put_checksum(key->work, sum);
		ok = !memcmp(sum, key->work + KEY_FILE_SECRET_LEN, sizeof(sum));
	}
	if (ok)
		memcpy(key->secret, key->work, sizeof(key->secret));
	explicit_bzero(sum, sizeof(sum));
	explicit_bzero(key->work, sizeof(key->work));
	return ok;
}

static int parse(struct key_file *key, const char *text, size_t len, char *why)
{
	const char *end = text + len, *name, *code;

	if (len < PREFIX_LEN || memcmp(text, PREFIX, PREFIX_LEN))
		return refuse(why, EBADMSG, "not a key: it does not begin with " PREFIX);
	name = text + PREFIX_LEN;
	code = memchr(name, ':', end - name);
	if (!code || !key_file_name_ok(name, code - name))
		return refuse(why, EBADMSG,
			      "the name in it is not 1 to %d letters, digits and '._-' before a colon",
			      KEY_FILE_NAME_LEN - 1);
	if (!is_code(code + 1, end - code - 1))
		return refuse(why, EBADMSG,
			      "the key in it is not %d characters of base64 before a colon",
			      CODE_LEN);
	if (end - code != CODE_LEN + 3 || end[-1] != '\n')
		return refuse(why, EBADMSG,
			      "it is not one line that ends with a colon and a newline");
	if (!decode(key, code + 1))
		return refuse(why, EBADMSG,
			      "the checksum is wrong: the key was mistyped or damaged");
	memcpy(key->name, name, code - name);
	key->name[code - name] = '\0';
	return make_id(key) ? 0 : refuse(why, EIO, "libcrypto has no SHA-256");
}

/**
 * key_file_parse() - takes a text apart
 * @key: name, secret and fingerprint are set on success; no secret is left in it otherwise
 * @text: contents of a key file
 * @len: its length
 * @why: KEY_FILE_WHY bytes for the reason of a refusal, which quotes nothing of the text
 *
 * Return: 0, or an errno
 */
int key_file_parse(struct key_file *key, const char *text, size_t len, char *why)
{
	int err = parse(key, text, len, why);

	if (err)
		explicit_bzero(key->secret, sizeof(key->secret));
	key_file_wipe_stack();
	return err;
}

/* Of the open file: its name may belong to another one by now. */
static int check_file(int fd, mode_t more, char *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse(why, errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(why, EINVAL, "not a regular file");
	if (st.st_uid && st.st_uid != geteuid())
		return refuse(why, EPERM, "it belongs to user %u, neither root nor you",
			      st.st_uid);
	if (st.st_mode & 0077 & ~more)
		return refuse(why, EPERM,
			      "its mode %04o lets others at the key; it must be 0600 or 0400",
			      st.st_mode & 07777);
	return 0;
}

/* Return: bytes, at most one more than a key can have, or -1 */
static ssize_t read_text(int fd, struct key_file *key)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, key->text + len, sizeof(key->text) - len);
		if (n > 0)
			len += n;
	} while ((n > 0 && len < sizeof(key->text)) || (n < 0 && errno == EINTR));
	return n < 0 ? -1 : (ssize_t)len;
}

static int read_open(struct key_file *key, int fd, mode_t more, char *why)
{
	int err = check_file(fd, more, why);
	ssize_t len;

	if (err)
		return err;
	len = read_text(fd, key);
	if (len < 0)
		err = refuse(why, errno, "%s", strerror(errno));
	else if (len > KEY_FILE_TEXT_LEN)
		err = refuse(why, EFBIG, "longer than the %d bytes of the longest key",
			     KEY_FILE_TEXT_LEN);
	else
		err = key_file_parse(key, key->text, len, why);
	explicit_bzero(key->text, sizeof(key->text));
	return err;
}

/**
 * key_file_read() - reads a key file that nobody but its owner can have read or changed
 * @key: as of key_file_parse()
 * @path: a regular file of root or of the caller, without rights for others; not a symbolic
 *	link. A FIFO does not hold the caller up.
 * @more: rights of others that it may have nevertheless, as systemd gives the group the
 *	right to read a credential
 * @why: KEY_FILE_WHY bytes for the reason of a refusal
 *
 * Return: 0, or an errno
 */
int key_file_read(struct key_file *key, const char *path, mode_t more, char *why)
{
	int fd, err;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return refuse(why, ELOOP, "a symbolic link");
	if (fd < 0 && errno == ENXIO)
		return refuse(why, EINVAL, "not a regular file");
	if (fd < 0)
		return refuse(why, errno, "%s", strerror(errno));
	err = read_open(key, fd, more, why);
	close(fd);
	return err;
}

/* Returns the rights of others that a key file may have: those of systemd's credentials. */
static mode_t rights_of(const char *path)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	size_t len = dir ? strlen(dir) : 0;

	return len && !strncmp(path, dir, len) && path[len] == '/' &&
	       !strchr(path + len + 1, '/') ? CREDENTIAL : 0;
}

/**
 * key_file_find() - reads a key that has a name or a path
 * @key: as of key_file_parse()
 * @name: NAME for NAME.key, of the credentials that systemd has given to this service or else
 *	of @dir; or a path, which has a slash
 * @dir: directory of key files
 * @path: PATH_MAX bytes; result, the last path tried
 * @why: KEY_FILE_WHY bytes for the reason of a refusal
 *
 * A credential that is there and wrong is refused.
 *
 * Return: 0, or an errno; ENOENT: there is no such file
 */
int key_file_find(struct key_file *key, const char *name, const char *dir, char *path, char *why)
{
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");
	int err = ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return key_file_read(key, path, rights_of(path), why);
	}
	if (credentials && *credentials == '/') {
		snprintf(path, PATH_MAX, "%s/%s.key", credentials, name);
		err = key_file_read(key, path, rights_of(path), why);
	}
	if (err != ENOENT)
		return err;
	snprintf(path, PATH_MAX, "%s/%s.key", dir, name);
	return key_file_read(key, path, 0, why);
}
