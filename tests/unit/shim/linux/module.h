/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_MODULE_H
#define SHIM_LINUX_MODULE_H

#endif
