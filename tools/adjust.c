// SPDX-License-Identifier: GPL-2.0-or-later
/* Gives a disk that is connected the settings of its section in the configuration file. */
#include <errno.h>
#include <stddef.h>

#include "adjust.h"
#include "rdmablk_netlink.h"
#include "sysfs.h"
#include "util.h"

/* What rdmablk set changes, and which attribute of a disk has its value. */
static const struct {
	__u16 setting;
	__u16 value;
} changeable[] = {
	/* The other attribute is what the target has granted. */
	{ RDMABLK_ATTR_KEEP_ALIVE_TMO, RDMABLK_ATTR_KEEP_ALIVE_ASKED },
	{ RDMABLK_ATTR_RECONNECT_DELAY, RDMABLK_ATTR_RECONNECT_DELAY },
	{ RDMABLK_ATTR_FAST_IO_FAIL_TMO, RDMABLK_ATTR_FAST_IO_FAIL_TMO },
	{ RDMABLK_ATTR_DEV_LOSS_TMO, RDMABLK_ATTR_DEV_LOSS_TMO },
	{ RDMABLK_ATTR_IO_TMO, RDMABLK_ATTR_IO_TMO },
	{ RDMABLK_ATTR_ON_DATA_LOSS, RDMABLK_ATTR_ON_DATA_LOSS },
	{ RDMABLK_ATTR_REAUTH_TMO, RDMABLK_ATTR_REAUTH_TMO },
};

static const struct errno_text texts[] = {
	{ ENODEV, "the disk was disconnected" },
	{ EINVAL, "the kernel refuses an option" },
	{ 0, NULL }
};

/* Return: the number of wanted settings that the disk does not have */
static unsigned int compare(const struct device *device, const struct settings *wanted,
			    struct settings *differing)
{
	unsigned int i, nr = 0;

	for (i = 0; i < ARRAY_SIZE(changeable); i++) {
		const struct value *value = &device->value[changeable[i].value];
		const __u16 attr = changeable[i].setting;

		if (!wanted->given[attr] || !value->present ||
		    (__u32)value->number == wanted->number[attr])
			continue;
		differing->given[attr] = true;
		differing->number[attr] = wanted->number[attr];
		nr++;
	}
	return nr;
}

/**
 * adjust_disk() - changes the settings of a disk that differ from the wanted ones
 * @device: the disk; a setting whose value is not known here is left alone
 * @wanted: those that 'rdmablk set' cannot change are left alone, too
 * @failure: result
 *
 * All settings change, or none. Returns 0 or -1, when @failure tells why.
 */
int adjust_disk(const struct device *device, const struct settings *wanted,
		struct nl_failure *failure)
{
	__cleanup(nl_closep) struct nl *nl = NULL;
	struct settings differing = { 0 };
	struct nlmsghdr *nlh;

	if (!compare(device, wanted, &differing))
		return 0;
	nl = nl_open(failure);
	if (!nl)
		return -1;
	nlh = nl_request(nl, RDMABLK_CMD_SET, 0);
	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, device->value[RDMABLK_ATTR_INDEX].number);
	settings_put(nlh, &differing);
	if (!nl_run(nl, NULL, NULL, texts, failure))
		return 0;
	sysfs_name_disks(failure);
	return -1;
}
