/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests use of it they have themselves. */
#ifndef SHIM_RDMA_IB_CM_H
#define SHIM_RDMA_IB_CM_H

#endif
