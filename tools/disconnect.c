// SPDX-License-Identifier: GPL-2.0-or-later
/* The work behind 'rdmablk disconnect' and 'rdmablk down'. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "disconnect.h"
#include "sysfs.h"

static const struct errno_text texts[] = {
	{ ENODEV, "no such device" },
	{ EBUSY, "the disk is open or mounted" },
	{ EALREADY, "somebody else is disconnecting it" },
	{ 0, NULL }
};

static int on_reply(const struct nlmsghdr *nlh, void *context)
{
	struct device device;

	(void)context;
	return device_decode(nlh, &device) ? MNL_CB_ERROR : MNL_CB_OK;
}

/* Adds who uses the disk, as far as that can be seen. */
static void name_users(__u32 index, struct nl_failure *failure)
{
	char users[SYSFS_USERS], name[24];
	size_t len = strlen(failure->text);

	snprintf(name, sizeof(name), "rdmablk%u", index);
	sysfs_users(name, users);
	if (users[0])
		snprintf(failure->text + len, sizeof(failure->text) - len, ": %s", users);
}

/**
 * disconnect_run() - removes a disk
 * @nl: connection to the module
 * @index: N of rdmablkN
 * @force: even if it is in use
 * @failure: result; a warning when err is 0 and text is not empty
 *
 * Waits without a limit: the kernel may have to finish held writes, and the last ones of
 * a file system. Returns 0 or -1, when @failure tells why.
 */
int disconnect_run(struct nl *nl, __u32 index, bool force,
		   struct nl_failure *failure)
{
	static const struct nl_late late = {
		.handler = on_reply,
		.texts = texts,
		.interrupted = "interrupted; the kernel goes on with it",
	};
	struct nlmsghdr *nlh = nl_request(nl, RDMABLK_CMD_DISCONNECT, 0);

	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	if (force)
		mnl_attr_put(nlh, RDMABLK_ATTR_FORCE, 0, NULL);
	if (!nl_run_late(nl, &late, failure))
		return 0;
	if (failure->err == EBUSY)
		name_users(index, failure);
	return -1;
}
