/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests that need this have definitions of their own. */
#ifndef SHIM_NET_NET_NAMESPACE_H
#define SHIM_NET_NET_NAMESPACE_H

#endif
