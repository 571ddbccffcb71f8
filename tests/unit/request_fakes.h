/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the block layer tells about a request, for any struct request of a test. That struct has
 * at least the driver's part, @pdu; and @op, odd for writes, where the operation is asked for.
 */
#ifndef REQUEST_FAKES_H
#define REQUEST_FAKES_H

#define blk_mq_rq_to_pdu(rq)	((void *)&(rq)->pdu)
#define blk_mq_rq_from_pdu(req)	container_of(req, struct request, pdu)
#define req_op(rq)		((rq)->op)
#define op_is_write(op)		((op) & 1)

#endif
