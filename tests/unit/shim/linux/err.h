/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_ERR_H
#define SHIM_LINUX_ERR_H

#endif
