/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_SIZES_H
#define SHIM_LINUX_SIZES_H

#define SZ_1M	0x00100000
#define SZ_16M	0x01000000
#define SZ_64M	0x04000000

#endif
