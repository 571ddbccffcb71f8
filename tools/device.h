/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DEVICE_H
#define RDMABLK_TOOLS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "addr.h"
#include "attr.h"
#include "nl.h"

#define DEVICE_PATH_LEN	32	/* "/dev/rdmablk4294967295" */
#define DEVICE_WHAT_LEN	64	/* "status rdmablk0", for complaints */
#define VALUE_TEXT_LEN	160	/* enough for last errors and addresses */

/**
 * struct value - one attribute of a device
 * @present: the kernel sent it
 * @unknown: the attribute was not asked for, so its absence means nothing
 * @number: of numeric kinds; ATTR_TMO in two's complement
 * @text: the value as text, without unit
 */
struct value {
	bool present;
	bool unknown;
	__u64 number;
	char text[VALUE_TEXT_LEN];
};

/**
 * struct device - a disk, as RDMABLK_CMD_GET describes it
 * @value: by enum rdmablk_attr
 */
struct device {
	struct value value[RDMABLK_ATTR_MAX + 1];
};

/**
 * struct device_list - several of them, by number
 * @device: array
 * @nr: its length
 */
struct device_list {
	struct device *device;
	size_t nr;
};

int device_decode(const struct nlmsghdr *nlh, struct device *device);
void device_set_text(struct device *device, unsigned int attr, const char *text);
void device_set_number(struct device *device, unsigned int attr, __u64 number);
int device_compare(const void *a, const void *b);
int device_get(struct nl *nl, __u32 index, struct device *device,
	       struct nl_failure *failure);
int device_dump(struct nl *nl, struct device_list *list,
		struct nl_failure *failure);
int device_list_add(struct device_list *list, const struct device *device,
		    struct nl_failure *failure);
void device_list_clear(struct device_list *list);

int device_parse_name(const char *text, __u32 *index, char *why, size_t size);
int device_name(const char *what, const char *text, __u32 *index);
int device_operand(const char *command, char **operands, __u32 *index,
		   char what[DEVICE_WHAT_LEN]);
void device_path(const struct device *device, char path[DEVICE_PATH_LEN]);

#endif /* RDMABLK_TOOLS_DEVICE_H */
