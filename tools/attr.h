/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_ATTR_H
#define RDMABLK_TOOLS_ATTR_H

#include <stddef.h>

#include "rdmablk_netlink.h"

/**
 * enum attr_kind - what the bytes of an attribute mean
 * @ATTR_NONE: nothing that is shown
 * @ATTR_U8: unsigned number, 1 byte
 * @ATTR_BOOL: 1 byte, 1 or 0: yes or no
 * @ATTR_U32: unsigned number, 4 bytes
 * @ATTR_TMO: signed number, 4 bytes; -1: no limit, shown as "off"
 * @ATTR_U64: unsigned number, 8 bytes
 * @ATTR_ID64: u64 that names something; too large for a number in JSON
 * @ATTR_STRING: text
 * @ATTR_FLAG: no bytes; the attribute is present or absent
 * @ATTR_UUID: 16 bytes
 * @ATTR_ADDR: struct sockaddr_in or sockaddr_in6
 * @ATTR_STATE: u32, enum rdmablk_dev_state
 * @ATTR_REASON: u32, enum rdmablk_reason
 * @ATTR_LOSS: u32, enum rdmablk_on_data_loss
 * @ATTR_AUTH: u32, RDMABLK_AUTH_*
 */
enum attr_kind {
	ATTR_NONE,
	ATTR_U8,
	ATTR_BOOL,
	ATTR_U32,
	ATTR_TMO,
	ATTR_U64,
	ATTR_ID64,
	ATTR_STRING,
	ATTR_FLAG,
	ATTR_UUID,
	ATTR_ADDR,
	ATTR_STATE,
	ATTR_REASON,
	ATTR_LOSS,
	ATTR_AUTH,
};

/**
 * struct attr_info - how an attribute is shown
 * @key: its name: in JSON, in 'rdmablk status', in complaints
 * @column: its column in 'rdmablk list'
 * @kind: what it holds; ATTR_NONE: only ever part of a request, or of statistics
 * @unit: of a number, or NULL
 */
struct attr_info {
	const char *key;
	const char *column;
	enum attr_kind kind;
	const char *unit;
};

extern const struct attr_info attr_table[RDMABLK_ATTR_MAX + 1];

const char *attr_key(unsigned int attr);

#endif /* RDMABLK_TOOLS_ATTR_H */
