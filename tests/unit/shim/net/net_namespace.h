/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests use of it they have themselves. */
#ifndef SHIM_NET_NET_NAMESPACE_H
#define SHIM_NET_NET_NAMESPACE_H

#endif
