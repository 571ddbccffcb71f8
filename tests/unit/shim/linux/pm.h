/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_PM_H
#define SHIM_LINUX_PM_H

#endif
