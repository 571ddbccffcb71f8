// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The work behind 'rdmablk connect': sends a request for each address of the host until
 * one succeeds, finds a device that is connected already, and waits for the node in /dev.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "connect.h"
#include "keyring.h"
#include "rdmablk_proto.h"
#include "util.h"

#define NODE_WAIT_MS	5000
#define NODE_POLL_MS	10
#define PATIENCE	10	/* seconds beyond the timeouts of a connect */

static const struct errno_text texts[] = {
	{ EINVAL, "the kernel refuses an argument" },
	{ EEXIST, "this export is connected on this host already" },
	{ ENODEV, "no RDMA device leads to the target" },
	{ EHOSTUNREACH, "no route to the target" },
	{ ENETUNREACH, "no route to the target" },
	{ ETIMEDOUT, "no answer in time" },
	{ ECONNREFUSED, "nobody listens there, or the target refuses" },
	{ ENOENT, "the target has no export of this name" },
	{ EBUSY, "the export is in use" },
	{ EROFS, "the export is read-only" },
	{ EPROTO, "the peer does not follow the protocol" },
	{ EPROTONOSUPPORT, "no common protocol version" },
	{ EOPNOTSUPP, "the RDMA device or the target lacks something that a disk needs" },
	{ ENOSPC, "a limit of the target is reached" },
	{ EACCES, "authentication failed" },
	{ EKEYREVOKED, "the key is revoked" },
	{ EKEYEXPIRED, "the key has expired" },
	{ ECANCELED, "the connect was given up" },
	{ 0, NULL }
};

/* Whether any other address of the same host would fail in the same way */
static bool is_final(int err)
{
	return err == EPERM || err == EINVAL || err == ERANGE || err == EEXIST ||
	       err == EINTR || err == EAGAIN || err == ENOMEM ||
	       err == ECANCELED || err == EUNATCH || err == ETIME || err == EBADMSG ||
	       err == ENOKEY || err == EKEYREVOKED || err == EKEYEXPIRED;
}

/**
 * connect_set_host_id() - takes the identity of this host
 * @request: gets it
 * @text: a UUID
 *
 * Returns 0, or -1 when @text is not a UUID or the nil UUID, which many hosts
 * would share.
 */
int connect_set_host_id(struct connect_request *request, const char *text)
{
	static const __u8 nil[RDMABLK_ID_LEN];

	if (opts_parse_uuid(text, request->host_id) ||
	    !memcmp(request->host_id, nil, sizeof(nil)))
		return -1;
	request->has_host_id = true;
	return 0;
}

/**
 * connect_read_host_id() - takes the identity from its file
 * @request: gets it, unless it has one
 * @failure: result, with the name of the file in its text
 *
 * Without the file the module's own identity applies. Returns 0, or -1 when the file
 * cannot be read or does not have a UUID.
 */
int connect_read_host_id(struct connect_request *request,
			 struct nl_failure *failure)
{
	char line[80] = "";
	int err = 0;
	FILE *file;

	if (request->has_host_id)
		return 0;
	file = fopen(CONNECT_HOST_ID_FILE, "re");
	if (!file && errno == ENOENT)
		return 0;
	if (!file)
		return nl_fail(failure, errno, CONNECT_HOST_ID_FILE ": %s",
			       strerror(errno));
	if (!fgets(line, sizeof(line), file) && ferror(file))
		err = errno;
	fclose(file);
	if (err)
		return nl_fail(failure, err, CONNECT_HOST_ID_FILE ": %s", strerror(err));
	line[strcspn(line, " \t\r\n")] = '\0';
	if (connect_set_host_id(request, line))
		return nl_fail(failure, EINVAL, CONNECT_HOST_ID_FILE
			       ": '%s' is not a UUID other than the nil one", line);
	return 0;
}

static void put_request(struct nlmsghdr *nlh,
			const struct connect_request *request,
			const struct addrinfo *target)
{
	mnl_attr_put(nlh, RDMABLK_ATTR_TARGET, target->ai_addrlen,
		     target->ai_addr);
	mnl_attr_put_strz(nlh, RDMABLK_ATTR_EXPORT, request->where.name);
	if (request->source.addr.ss_family != AF_UNSPEC)
		mnl_attr_put(nlh, RDMABLK_ATTR_SOURCE, request->source.len,
			     &request->source.addr);
	if (request->has_host_id)
		mnl_attr_put(nlh, RDMABLK_ATTR_HOST_ID,
			     sizeof(request->host_id), request->host_id);
	if (request->read_only)
		mnl_attr_put(nlh, RDMABLK_ATTR_READ_ONLY, 0, NULL);
	if (request->ordered)
		mnl_attr_put(nlh, RDMABLK_ATTR_ORDERED, 0, NULL);
	if (request->steal)
		mnl_attr_put(nlh, RDMABLK_ATTR_STEAL, 0, NULL);
	if (request->key[0])
		mnl_attr_put_strz(nlh, RDMABLK_ATTR_KEY, request->key);
	settings_put(nlh, &request->settings);
}

/* For so many data queues the kernel gives a login connect-tmo more. */
#define JOINS	16U

#define MOST_QUEUES	16	/* hardware queues of a disk, unless set */

/*
 * The seconds after which the kernel counts as stuck. A login that makes progress may take
 * several times connect-tmo. After it the kernel reads the partition table, and the target
 * may fall silent then. After a failure the kernel logs out.
 */
static unsigned int patience(const struct settings *settings)
{
	unsigned int joins =
		2 * (settings_get(settings, RDMABLK_ATTR_QUEUES, MOST_QUEUES) +
		     settings_get(settings, RDMABLK_ATTR_POLL_QUEUES, 0));

	return settings_get(settings, RDMABLK_ATTR_CONNECT_TMO, SETTING_CONNECT_TMO) *
		       (2 + (joins + JOINS - 1) / JOINS) +
	       2 * settings_get(settings, RDMABLK_ATTR_KEEP_ALIVE_TMO,
				SETTING_KEEP_ALIVE_TMO) +
	       PATIENCE;
}

static int on_reply(const struct nlmsghdr *nlh, void *context)
{
	return device_decode(nlh, context) ? MNL_CB_ERROR : MNL_CB_OK;
}

static int try_address(struct nl *nl, const struct connect_request *request,
		       const struct addrinfo *target, struct device *device,
		       struct nl_failure *failure)
{
	const struct nl_late late = {
		.handler = on_reply,
		.context = device,
		.texts = texts,
		.limit = patience(&request->settings),
		.interrupted = "interrupted; the connect is given up",
	};

	put_request(nl_request(nl, RDMABLK_CMD_CONNECT, 0), request, target);
	return nl_run_late(nl, &late, failure);
}

/* Looks for a device that is connected to this export at this address: 1, 0 or -1 */
static int find_existing(struct nl *nl, const struct connect_request *request,
			 const struct addrinfo *target, struct device *device,
			 struct nl_failure *failure)
{
	__cleanup(device_list_clear) struct device_list list = { 0 };
	char where[ADDR_TEXT_LEN];
	size_t i;

	addr_format(target->ai_addr, where);
	if (device_dump(nl, &list, failure))
		return -1;
	for (i = 0; i < list.nr; i++) {
		const struct value *value = list.device[i].value;

		if (strcmp(value[RDMABLK_ATTR_TARGET].text, where) ||
		    strcmp(value[RDMABLK_ATTR_EXPORT].text, request->where.name))
			continue;
		*device = list.device[i];
		return 1;
	}
	return 0;
}

/* Whether the device that is connected already has the wanted properties */
static int accept_existing(const struct connect_request *request,
			   const struct device *device,
			   struct nl_failure *failure)
{
	const struct value *value = device->value;
	const char *name = value[RDMABLK_ATTR_NAME].text;

	if (value[RDMABLK_ATTR_STATE].number != RDMABLK_DEV_LIVE)
		return nl_fail(failure, EEXIST, "%s is connected to it, but %s%s%s",
			       name, value[RDMABLK_ATTR_STATE].text,
			       value[RDMABLK_ATTR_REASON].text[0] ? ": " : "",
			       value[RDMABLK_ATTR_REASON].text);
	if (value[RDMABLK_ATTR_READ_ONLY].present && !request->read_only)
		return nl_fail(failure, EEXIST,
			       "%s is connected to it, but read-only", name);
	if (request->key[0] && (value[RDMABLK_ATTR_AUTH].number != RDMABLK_AUTH_PSK ||
				strcmp(value[RDMABLK_ATTR_KEY].text, request->key)))
		return nl_fail(failure, EEXIST, "%s is connected to it, but not with the key %s",
			       name, request->key);
	failure->err = 0;
	failure->text[0] = '\0';
	return 0;
}

/* Prefixes the text with the address, unless the user gave an address. */
static void name_address(const struct connect_request *request,
			 const struct addrinfo *target,
			 struct nl_failure *failure)
{
	char where[ADDR_TEXT_LEN], text[sizeof(failure->text)];

	if (addr_is_numeric(request->where.host) || is_final(failure->err))
		return;
	addr_format(target->ai_addr, where);
	snprintf(text, sizeof(text), "%s", failure->text);
	snprintf(failure->text, sizeof(failure->text), "%s: %.150s", where, text);
}

/**
 * connect_name_key() - says which key is not there
 * @key: its name; NULL or "": the command names none
 * @failure: of the command; where there is a name, the kernel's text does not say it
 */
void connect_name_key(const char *key, struct nl_failure *failure)
{
	if (key && *key && failure->err == ENOKEY)
		snprintf(failure->text, sizeof(failure->text),
			 "no key rdmablk:%s is loaded: rdmablk key load FILE", key);
}

/*
 * Connects, or takes the disk that is connected already. That disk may go between the kernel's
 * refusal and the question for it: then the connect is tried once more.
 */
static int try_or_find(struct nl *nl, const struct connect_request *request,
		       const struct addrinfo *target, struct device *device,
		       struct nl_failure *failure)
{
	int ret, found, tries = 2;
	struct nl_failure ignored;

	do {
		ret = try_address(nl, request, target, device, failure);
		if (!ret || failure->err != EEXIST || !request->idempotent)
			return ret;
		found = find_existing(nl, request, target, device, &ignored);
		if (found > 0)
			return accept_existing(request, device, failure);
	} while (!found && --tries);
	return ret;
}

static int try_all(struct nl *nl, const struct connect_request *request,
		   const struct addrinfo *targets, struct device *device,
		   struct nl_failure *failure)
{
	const sa_family_t family = request->source.addr.ss_family;
	const struct addrinfo *target;
	int ret = nl_fail(failure, EAFNOSUPPORT,
			  "%s has no address of the kind of --source",
			  request->where.host);

	for (target = targets; target; target = target->ai_next) {
		if (family != AF_UNSPEC && family != target->ai_family)
			continue;
		ret = try_or_find(nl, request, target, device, failure);
		if (!ret)
			return 0;
		connect_name_key(request->key, failure);
		name_address(request, target, failure);
		if (is_final(failure->err))
			break;
	}
	return ret;
}

/**
 * connect_find() - looks for the disk of an export
 * @nl: connection to the module
 * @request: what it was connected with
 * @device: result
 * @failure: result
 *
 * Returns 1 when there is one, 0 when there is none, -1 after an error, see @failure.
 */
int connect_find(struct nl *nl, const struct connect_request *request,
		 struct device *device, struct nl_failure *failure)
{
	struct addrinfo *targets;
	const struct addrinfo *target;
	char why[200];
	int ret = 0;

	targets = addr_resolve(&request->where, why, sizeof(why));
	if (!targets)
		return nl_fail(failure, EHOSTUNREACH, "%s", why);
	for (target = targets; target && !ret; target = target->ai_next)
		ret = find_existing(nl, request, target, device, failure);
	freeaddrinfo(targets);
	return ret;
}

/**
 * connect_run() - connects
 * @request: what to connect to, and how
 * @device: result; INDEX and NAME at least
 * @failure: result; a warning when err is 0 and text is not empty
 *
 * Returns 0 or -1, when @failure tells why.
 */
int connect_run(const struct connect_request *request, struct device *device,
		struct nl_failure *failure)
{
	__cleanup(nl_closep) struct nl *nl = nl_open(failure);
	struct connect_request found = *request;
	struct addrinfo *targets;
	char why[200];
	int ret;

	if (!nl)
		return -1;
	if (addr_find_source(&found.source, why, sizeof(why)))
		return nl_fail(failure, ENODEV, "%s", why);
	if (request->key[0])
		keyring_open();
	targets = addr_resolve(&request->where, why, sizeof(why));
	if (!targets)
		return nl_fail(failure, EHOSTUNREACH, "%s", why);
	ret = try_all(nl, &found, targets, device, failure);
	freeaddrinfo(targets);
	return ret;
}

/**
 * connect_existing() - use the disk that is there, although the key of the connect cannot be used
 * @request: as for connect_run(); only an idempotent one
 * @device: result
 * @failure: that of connect_run(); cleared if the disk will do
 *
 * The kernel looks for the key first, and for a disk of the export after it. Returns 0 or -1.
 */
int connect_existing(const struct connect_request *request, struct device *device,
		     struct nl_failure *failure)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct device found = { 0 };
	struct nl_failure mine;

	if (!request->idempotent || !request->key[0] ||
	    (failure->err != ENOKEY && failure->err != EKEYEXPIRED &&
	     failure->err != EKEYREVOKED))
		return -1;
	nl = nl_open(&mine);
	if (!nl || connect_find(nl, request, &found, &mine) <= 0 ||
	    accept_existing(request, &found, &mine))
		return -1;
	*device = found;
	*failure = mine;
	return 0;
}

/* Device number that the kernel gave the disk, or 0. */
static dev_t disk_number(const char *name)
{
	unsigned int major, minor;
	char path[64];
	FILE *file;
	int n;

	snprintf(path, sizeof(path), "/sys/class/block/%.32s/dev", name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n = fscanf(file, "%u:%u", &major, &minor);
	fclose(file);
	return n == 2 ? makedev(major, minor) : 0;
}

/* The node must have this disk's number: an earlier disk may have left a node. */
static bool node_is_there(const char *name, const char *path)
{
	dev_t number = disk_number(name);
	struct stat st;

	return !stat(path, &st) && S_ISBLK(st.st_mode) &&
	       (!number || st.st_rdev == number);
}

/**
 * connect_wait_for_node() - waits until the path of a disk exists
 * @device: the disk
 * @failure: result
 *
 * devtmpfs makes the node before the kernel answers; udev, a moment later.
 * Returns 0, or -1 after NODE_WAIT_MS.
 */
int connect_wait_for_node(const struct device *device,
			  struct nl_failure *failure)
{
	static const struct timespec pause = { .tv_nsec = NODE_POLL_MS * 1000000L };
	char path[DEVICE_PATH_LEN];
	int waited;

	device_path(device, path);
	for (waited = 0; waited <= NODE_WAIT_MS; waited += NODE_POLL_MS) {
		if (node_is_there(device->value[RDMABLK_ATTR_NAME].text, path))
			return 0;
		nanosleep(&pause, NULL);
	}
	return nl_fail(failure, ETIMEDOUT,
		       "the disk is connected, but this node did not appear within %d s; is devtmpfs mounted on /dev, or udev running?",
		       NODE_WAIT_MS / 1000);
}
