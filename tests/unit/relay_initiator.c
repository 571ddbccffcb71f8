// SPDX-License-Identifier: GPL-2.0-only
/*
 * The initiator of target_relay_test: kernel/login.c, auth.c, wire.c and sealed.c, with the
 * primitives of libcrypto. What kernel/ctrl.c and login_queues.c do for them is here, without
 * an adapter; test_ctrl and test_login_queues have these files.
 */
#define OTHER_TARGET
#include "login_world.h"
#include "relay.h"

static struct rdmablk_sealed tx, rx;	/* of the control queue */

void rdmablk_ctrl_open(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	(void)ctrl;
	rdmablk_sealed_init(&rx, &rdmablk_crypt_sealed, cipher);
}

void rdmablk_ctrl_seal(struct rdmablk_ctrl *ctrl, struct rdmablk_crypt_cipher *cipher)
{
	(void)ctrl;
	rdmablk_sealed_init(&tx, &rdmablk_crypt_sealed, cipher);
}

static void say(const void *msg, size_t len)
{
	u8 frame[RDMABLK_CTRL_MSG_MAX];
	int ret;

	if (!tx.key) {
		relay_say(msg, len);
		return;
	}
	ret = rdmablk_sealed_seal(&tx, msg, len, frame, sizeof(frame));
	assert_true(ret > 0);
	relay_say(frame, (size_t)ret);
}

void rdmablk_ctrl_close(struct rdmablk_ctrl *ctrl, u16 reason)
{
	struct rdmablk_close msg;

	(void)ctrl;
	rdmablk_wire_close(&msg, reason, v2.version);
	say(&msg, sizeof(msg));
}

/* Return: bytes of the message; negative: it is not the next frame of the target. */
static int taken(struct rdmablk_ctrl *ctrl, const u8 *data, size_t len)
{
	if (rx.key && (rx.seq || rdmablk_wire_type(data, len, v2.version) != RDMABLK_MSG_CLOSE))
		return rdmablk_sealed_open(&rx, data, len, ctrl->msg, sizeof(ctrl->msg));
	assert_true(len <= sizeof(ctrl->msg));
	memcpy(ctrl->msg, data, len);
	return (int)len;
}

int rdmablk_ctrl_ask(struct rdmablk_ctrl *ctrl, const void *msg, size_t len, u16 reply,
		     unsigned long deadline)
{
	u8 data[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_wire_close close;
	int ret, type;

	(void)deadline;
	say(msg, len);
	len = relay_hear(data);
	if (!len)
		return -ECONNRESET;
	ret = taken(ctrl, data, len);
	if (ret < 0) {
		session->login.reason = RDMABLK_R_AUTH_FAILED;
		return -ECONNRESET;
	}
	ctrl->msg_len = (u16)ret;
	type = rdmablk_wire_type(ctrl->msg, ctrl->msg_len, v2.version);
	if (type == reply)
		return 0;
	session->login.reason = RDMABLK_R_MALFORMED;
	if (type == RDMABLK_MSG_CLOSE &&
	    !rdmablk_wire_parse_close(ctrl->msg, ctrl->msg_len, &close))
		session->login.reason = close.reason;
	return -ECONNRESET;
}

static int connect_queue(struct rdmablk_queue *q, u32 qpn,
			 const struct rdmablk_cm_request *req)
{
	struct rdmablk_cm_accept2 acc;
	size_t len = relay_connect(qpn, req, sizeof(*req), &acc, &q->peer_qpn);

	q->why = "the target refuses";
	if (!len)
		return -ECONNREFUSED;
	return rdmablk_wire_parse_accept(&acc, len, le16_to_cpu(req->queue),
					 le16_to_cpu(req->version_max), &q->accept);
}

int rdmablk_cm_wait(struct rdmablk_queue *q, unsigned long deadline)
{
	(void)deadline;
	return connect_queue(q, q->qp->qp_num, &seen.request);
}

static int join(struct rdmablk_session *s, struct rdmablk_queue *q, u8 kind, u16 nr)
{
	u32 qpn = q->qp->qp_num + 0x100U * nr;
	struct rdmablk_cm_request req;
	int ret;

	rdmablk_wire_cm_request(&req, kind, nr, s->generation, s->login.challenge.session_id,
				RDMABLK_VERSION_PROVEN, RDMABLK_VERSION_PROVEN);
	assert_int_equal(rdmablk_auth_join(&s->auth, qpn, &req), 0);
	ret = connect_queue(q, qpn, &req);
	return ret ? ret : rdmablk_auth_accept(&s->auth, &q->accept, req.mac, q->peer_qpn);
}

int rdmablk_login_queues(struct rdmablk_session *s)
{
	struct rdmablk_hwq *hwq = s->path.hwq[0];
	int ret;

	hwq->read.qp = &qp;
	hwq->write.qp = &qp;
	ret = join(s, &hwq->read, RDMABLK_KIND_READ, 1);
	if (!ret)
		ret = join(s, &hwq->write, RDMABLK_KIND_WRITE, 2);
	return ret ? rdmablk_login_fail(s, ret, "a queue does not join") : 0;
}

int initiator_login(const uint8_t *key, const char *export)
{
	static u32 qpn = 0x10000;
	int ret;

	setup(NULL);
	tx = (struct rdmablk_sealed){ };
	rx = (struct rdmablk_sealed){ };
	logins = 1;
	qp.qp_num = qpn++;
	memcpy(target.key, key, sizeof(target.key));
	session->opt.queues = 1;
	snprintf(session->opt.export_name, sizeof(session->opt.export_name), "%s", export);
	snprintf(session->opt.key_name, sizeof(session->opt.key_name), "key");
	memcpy(session->instance_id, &qpn, sizeof(qpn));
	ret = rdmablk_login(session);
	assert_int_equal(seen.was_live, !ret);
	/* A login that has failed has no secret but those of its ciphers. */
	rdmablk_session_destroy_queues(session);
	teardown(NULL);
	return ret;
}
