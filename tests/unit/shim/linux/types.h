/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types in userspace. The files of this directory replace those that the pure
 * files of kernel/ include, and have no more than these use.
 */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include_next <linux/types.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define U32_MAX		UINT32_MAX

#define struct_group(name, ...)	\
	union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } name; }

#define cpu_to_le16	htole16
#define cpu_to_le32	htole32
#define cpu_to_le64	htole64
#define le16_to_cpu	le16toh
#define le32_to_cpu	le32toh
#define le64_to_cpu	le64toh

#endif
