/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes and macros that the kernel has, under the same names. */
#ifndef RDMABLK_TOOLS_UTIL_H
#define RDMABLK_TOOLS_UTIL_H

#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define __cleanup(function)	__attribute__((__cleanup__(function)))
#define __printf(fmt, args)	__attribute__(\
	(__format__(printf, fmt, args)))

#endif /* RDMABLK_TOOLS_UTIL_H */
