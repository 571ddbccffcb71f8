/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_PLATFORM_DEVICE_H
#define SHIM_LINUX_PLATFORM_DEVICE_H

#endif
