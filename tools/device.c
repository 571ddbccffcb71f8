// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Devices as the module describes them. An attribute that a newer module adds is
 * ignored; one that is known but has the wrong size makes the answer malformed.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>

#include "device.h"
#include "rdmablk_proto.h"
#include "report.h"

#define PREFIX		"rdmablk"
#define MOST_REASONS	256	/* enum rdmablk_reason is below */

static const struct errno_text get_texts[] = {
	{ ENODEV, "no such device" },
	{ EAGAIN, "the module is still loading" },
	{ 0, NULL }
};

static void copy_text(struct value *value, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len && text[i] && i < sizeof(value->text) - 1; i++)
		value->text[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
	value->text[i] = '\0';
}

static int decode_addr(const struct nlattr *attr, struct value *value)
{
	size_t len = mnl_attr_get_payload_len(attr);
	struct sockaddr_storage addr = { 0 };

	if (len > sizeof(addr) || len < sizeof(addr.ss_family))
		return -1;
	memcpy(&addr, mnl_attr_get_payload(attr), len);
	if (!(addr.ss_family == AF_INET && len >= sizeof(struct sockaddr_in)) &&
	    !(addr.ss_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)))
		return -1;
	addr_format((const struct sockaddr *)&addr, value->text);
	return 0;
}

static int decode_uuid(const struct nlattr *attr, struct value *value)
{
	const __u8 *id = mnl_attr_get_payload(attr);

	if (mnl_attr_get_payload_len(attr) != RDMABLK_ID_LEN)
		return -1;
	snprintf(value->text, sizeof(value->text),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7],
		 id[8], id[9], id[10], id[11], id[12], id[13], id[14], id[15]);
	return 0;
}

static const char *loss_text(__u64 number)
{
	switch (number) {
	case RDMABLK_DATA_LOSS_FAIL:		return "fail";
	case RDMABLK_DATA_LOSS_CONTINUE:	return "continue";
	default:				return "unknown";
	}
}

static const char *auth_text(__u64 number)
{
	switch (number) {
	case RDMABLK_AUTH_NONE:	return "none";
	case RDMABLK_AUTH_PSK:	return "psk";
	default:		return "unknown";
	}
}

static void format_number(enum attr_kind kind, struct value *value)
{
	size_t size = sizeof(value->text);

	if (kind == ATTR_STATE)
		snprintf(value->text, size, "%s",
			 rdmablk_dev_state_text(value->number));
	else if (kind == ATTR_REASON)
		snprintf(value->text, size, "%s",
			 value->number ? rdmablk_reason_text(value->number) : "");
	else if (kind == ATTR_LOSS)
		snprintf(value->text, size, "%s", loss_text(value->number));
	else if (kind == ATTR_AUTH)
		snprintf(value->text, size, "%s", auth_text(value->number));
	else if (kind == ATTR_ID64)
		snprintf(value->text, size, "%016llx", value->number);
	else if (kind == ATTR_TMO && (__s64)value->number < 0)
		snprintf(value->text, size, "off");
	else if (kind == ATTR_BOOL)
		snprintf(value->text, size, "%s", value->number ? "yes" : "no");
	else
		snprintf(value->text, size, "%llu", value->number);
}

/* Sets number and text of an attribute of a numeric kind. */
static int decode_number(const struct nlattr *attr, enum attr_kind kind,
			 struct value *value)
{
	static const size_t sizes[] = {
		[ATTR_U8] = 1, [ATTR_BOOL] = 1, [ATTR_U32] = 4, [ATTR_TMO] = 4, [ATTR_U64] = 8,
		[ATTR_ID64] = 8, [ATTR_STATE] = 4, [ATTR_REASON] = 4,
		[ATTR_LOSS] = 4, [ATTR_AUTH] = 4,
	};
	const void *payload = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);
	__u64 u64;
	__u32 u32;

	if (len != sizes[kind])
		return -1;
	if (len == 8) {
		memcpy(&u64, payload, sizeof(u64));
		value->number = u64;
	} else if (len == 4) {
		memcpy(&u32, payload, sizeof(u32));
		value->number = kind == ATTR_TMO ? (__u64)(__s32)u32 : u32;
	} else {
		value->number = *(const __u8 *)payload;
	}

	format_number(kind, value);
	return 0;
}

static int decode_value(const struct nlattr *attr, enum attr_kind kind,
			struct value *value)
{
	value->present = true;
	switch (kind) {
	case ATTR_NONE:
		value->present = false;
		return 0;
	case ATTR_FLAG:
		return mnl_attr_get_payload_len(attr) ? -1 : 0;
	case ATTR_STRING:
		copy_text(value, mnl_attr_get_payload(attr),
			  mnl_attr_get_payload_len(attr));
		return 0;
	case ATTR_UUID:
		return decode_uuid(attr, value);
	case ATTR_ADDR:
		return decode_addr(attr, value);
	default:
		return decode_number(attr, kind, value);
	}
}

/**
 * device_decode() - takes a message apart
 * @nlh: answer to RDMABLK_CMD_GET or an event
 * @device: result; what the message does not have is absent
 *
 * Returns 0, or -1 when an attribute is malformed or the name is missing.
 */
int device_decode(const struct nlmsghdr *nlh, struct device *device)
{
	const struct nlattr *attr;
	unsigned int type;

	memset(device, 0, sizeof(*device));
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		type = mnl_attr_get_type(attr);
		if (type > RDMABLK_ATTR_MAX)
			continue;
		if (decode_value(attr, attr_table[type].kind, &device->value[type]))
			return -1;
	}
	return device->value[RDMABLK_ATTR_INDEX].present &&
	       device->value[RDMABLK_ATTR_NAME].present ? 0 : -1;
}

static __u64 number_of(enum attr_kind kind, const char *text)
{
	unsigned int reason;

	if (kind == ATTR_ID64)
		return strtoull(text, NULL, 16);
	if (kind != ATTR_REASON)
		return strtoull(text, NULL, 10);
	for (reason = 0; reason < MOST_REASONS; reason++)
		if (!strcmp(rdmablk_reason_text(reason), text))
			return reason;
	return 0;
}

/**
 * device_set_number() - sets an attribute of a numeric kind
 * @device: gets it
 * @attr: enum rdmablk_attr
 * @number: in two's complement
 */
void device_set_number(struct device *device, unsigned int attr, __u64 number)
{
	struct value *value = &device->value[attr];

	value->present = true;
	value->number = number;
	format_number(attr_table[attr].kind, value);
}

/**
 * device_set_text() - sets an attribute from a file of sysfs
 * @device: gets it
 * @attr: enum rdmablk_attr
 * @text: what the file has; "": the attribute is absent
 */
void device_set_text(struct device *device, unsigned int attr, const char *text)
{
	enum attr_kind kind = attr_table[attr].kind;
	struct value *value = &device->value[attr];

	value->unknown = false;
	if (kind == ATTR_FLAG) {
		value->present = !strcmp(text, "1");
	} else if (kind == ATTR_STRING || kind == ATTR_ADDR || kind == ATTR_UUID ||
		   kind == ATTR_STATE || kind == ATTR_LOSS || kind == ATTR_AUTH) {
		value->present = text[0];
		copy_text(value, text, strlen(text));
	} else if (text[0]) {
		device_set_number(device, attr, number_of(kind, text));
	}
}

/**
 * device_list_add() - appends a copy of a device
 * @list: the devices
 * @device: one more
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int device_list_add(struct device_list *list, const struct device *device,
		    struct nl_failure *failure)
{
	struct device *array;

	array = reallocarray(list->device, list->nr + 1, sizeof(*array));
	if (!array) {
		failure->err = ENOMEM;
		snprintf(failure->text, sizeof(failure->text), "%s",
			 strerror(ENOMEM));
		return -1;
	}
	array[list->nr++] = *device;
	list->device = array;
	return 0;
}

static int on_device(const struct nlmsghdr *nlh, void *context)
{
	struct nl_failure failure;
	struct device device;

	if (device_decode(nlh, &device)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (device_list_add(context, &device, &failure)) {
		errno = failure.err;
		return MNL_CB_ERROR;
	}
	return MNL_CB_OK;
}

/**
 * device_compare() - by number, for qsort()
 * @a: struct device, or a struct that begins with one
 * @b: the same
 *
 * Returns less than, equal to or greater than 0.
 */
int device_compare(const void *a, const void *b)
{
	const struct device *left = a, *right = b;
	__u64 l = left->value[RDMABLK_ATTR_INDEX].number;
	__u64 r = right->value[RDMABLK_ATTR_INDEX].number;

	return (l > r) - (l < r);
}

static void clear(void *list)
{
	device_list_clear(list);
}

/**
 * device_dump() - all devices
 * @nl: connection to the module
 * @list: result, for device_list_clear() in every case
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int device_dump(struct nl *nl, struct device_list *list,
		struct nl_failure *failure)
{
	int ret = nl_dump(nl, RDMABLK_CMD_GET, on_device, list, clear, get_texts, failure);

	if (!ret && list->nr)
		qsort(list->device, list->nr, sizeof(*list->device), device_compare);
	return ret;
}

/**
 * device_get() - one device
 * @nl: connection to the module
 * @index: N of rdmablkN
 * @device: result
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int device_get(struct nl *nl, __u32 index, struct device *device,
	       struct nl_failure *failure)
{
	struct device_list list = { 0 };
	struct nlmsghdr *nlh = nl_request(nl, RDMABLK_CMD_GET, 0);
	int ret;

	mnl_attr_put_u32(nlh, RDMABLK_ATTR_INDEX, index);
	ret = nl_run(nl, on_device, &list, get_texts, failure);
	if (!ret && list.nr) {
		*device = list.device[0];
	} else if (!ret) {
		failure->err = EBADMSG;
		snprintf(failure->text, sizeof(failure->text),
			 "the kernel sent an empty answer");
		ret = -1;
	}
	device_list_clear(&list);
	return ret;
}

/**
 * device_list_clear() - frees the devices; usable as cleanup attribute
 * @list: empty afterwards
 */
void device_list_clear(struct device_list *list)
{
	free(list->device);
	list->device = NULL;
	list->nr = 0;
}

/**
 * device_parse_name() - rdmablkN, /dev/rdmablkN or a link to the latter
 * @text: what the user wrote
 * @index: result, N
 * @why: what is wrong with it
 * @size: bytes of @why
 *
 * Returns 0; -EINVAL; or, for what is not the name of a disk in /dev and cannot be followed as a
 * link, -errno.
 */
int device_parse_name(const char *text, __u32 *index, char *why, size_t size)
{
	char path[PATH_MAX];
	const char *name = text;
	unsigned long long n;
	int err = 0;
	char *end;

	if (strchr(text, '/')) {
		if (realpath(text, path))
			name = path;
		else
			err = errno;
		if (strncmp(name, "/dev/", 5)) {
			snprintf(why, size, "not in /dev; DEV is rdmablkN or /dev/rdmablkN");
			return -EINVAL;
		}
		name += 5;
	}
	if (strncmp(name, PREFIX, strlen(PREFIX)) ||
	    !isdigit((unsigned char)name[strlen(PREFIX)])) {
		if (err)
			snprintf(why, size, "%s: %s", text, strerror(err));
		else
			snprintf(why, size,
				 "not an rdmablk disk; DEV is rdmablkN or /dev/rdmablkN");
		return err ? -err : -EINVAL;
	}
	name += strlen(PREFIX);
	errno = 0;
	n = strtoull(name, &end, 10);
	if (*end == 'p' && isdigit((unsigned char)end[1])) {
		snprintf(why, size, "a partition; name its disk, rdmablk%llu", n);
		return -EINVAL;
	}
	if (*end || errno || n > INT_MAX || (name[0] == '0' && name[1])) {
		snprintf(why, size, "not an rdmablk disk; DEV is rdmablkN or /dev/rdmablkN");
		return -EINVAL;
	}
	*index = n;
	return 0;
}

/**
 * device_name() - the disk that an operand names
 * @what: command and operand, for error messages
 * @text: the operand, as for device_parse_name()
 * @index: result, N
 *
 * Returns 0 or the exit status after a complaint.
 */
int device_name(const char *what, const char *text, __u32 *index)
{
	char why[PATH_MAX];
	int ret = device_parse_name(text, index, why, sizeof(why));

	if (ret == -EINVAL)
		return report_usage(what, "%s", why);
	return ret ? report_failure(-ret, what, "%s", why) : STATUS_DONE;
}

/**
 * device_operand() - the operands of a command that takes a device, or none
 * @command: its name
 * @operands: what the user wrote, ends with NULL
 * @index: result when there is one, N
 * @what: result: command and device, for error messages
 *
 * Returns 0 or the exit status after a complaint.
 */
int device_operand(const char *command, char **operands, __u32 *index,
		   char what[DEVICE_WHAT_LEN])
{
	snprintf(what, DEVICE_WHAT_LEN, "%s", command);
	if (!operands[0])
		return 0;
	if (operands[1])
		return report_usage(command, "too many arguments: '%s'", operands[1]);
	snprintf(what, DEVICE_WHAT_LEN, "%.12s %.48s", command, operands[0]);
	return device_name(what, operands[0], index);
}

/**
 * device_path() - where the block device is
 * @device: the device
 * @path: result
 */
void device_path(const struct device *device, char path[DEVICE_PATH_LEN])
{
	snprintf(path, DEVICE_PATH_LEN, "/dev/%.26s",
		 device->value[RDMABLK_ATTR_NAME].text);
}
