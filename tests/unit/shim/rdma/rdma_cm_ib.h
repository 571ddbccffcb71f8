/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests that need this have definitions of their own. */
#ifndef SHIM_RDMA_RDMA_CM_IB_H
#define SHIM_RDMA_RDMA_CM_IB_H

#endif
