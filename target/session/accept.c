// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connection requests. A request to join names a session; before its MAC has
 * verified against that session's key, nothing else it says is used.
 */
#include "base/log.h"
#include "export/quota.h"
#include "rdma/device.h"
#include "session/accept.h"
#include "session/login.h"
#include "session/session.h"
#include "wire/mac.h"
#include "wire/wire.h"

static const struct config *accept_cfg;

/**
 * accept_init - before the first request
 * @cfg: outlives them
 */
void accept_init(const struct config *cfg)
{
	accept_cfg = cfg;
}

static unsigned int begin_login(const struct cm_event *ev,
				const struct wire_request *req)
{
	struct sockaddr *peer = rdma_get_peer_addr(ev->id);
	struct device *dev;
	unsigned int reason;

	/* before anything is spent on it; a session that is live keeps its queues */
	if (accept_cfg->allow_address && !value_in_networks(accept_cfg->allow_address, peer))
		return RDMABLK_R_NO_EXPORT;
	reason = login_refuses() ?: quota_login_get(peer);
	if (reason)
		return reason;
	dev = device_get(ev->id->verbs, rdma_get_local_addr(ev->id));
	if (!dev) {
		quota_login_put(peer);
		return RDMABLK_R_DEVICE_GONE;
	}
	reason = session_create(ev->id, dev, accept_cfg, req->version,
				login_receive);
	if (reason) {
		device_put(dev);
		quota_login_put(peer);
	}
	return reason;
}

static bool join_verifies(const struct session *s, const struct cm_event *ev)
{
	const size_t signed_len = offsetof(struct rdmablk_cm_request, mac);
	uint8_t mac[RDMABLK_MAC_LEN];

	return !mac_message(s->key, RDMABLK_LABEL_JOIN, ev->data, signed_len, mac) &&
	       mac_equal(mac, ev->data + signed_len);
}

static unsigned int join(const struct cm_event *ev, const struct wire_request *req)
{
	struct session *s = session_find(req->session_id);
	unsigned int reason;

	/* before GRANT there is no key that could verify anything */
	if (!s || s->state < SESSION_GRANTED || s->state >= SESSION_CLOSING)
		return RDMABLK_R_JOIN_SESSION;
	if (!join_verifies(s, ev))
		reason = RDMABLK_R_JOIN_MAC;
	else if (req->generation != s->wish.generation)
		reason = RDMABLK_R_JOIN_SESSION;
	else if (req->version != s->version)
		reason = RDMABLK_R_VERSION;
	else
		reason = session_join(s, ev->id, req, ev->resources);
	if (reason)
		s->refused_joins++;
	return reason;
}

static void refuse(const struct cm_event *ev, const struct wire_request *req,
		   unsigned int reason)
{
	const struct sockaddr *peer = rdma_get_peer_addr(ev->id);
	char text[ADDR_TEXT];

	value_address_text(peer, text, false);
	if (req->session_id)
		log_peer(peer, LOG_WARNING, "queue %u of session %016llx (%s): refused: %s",
			 req->queue, (unsigned long long)req->session_id, text,
			 rdmablk_reason_text(reason));
	else
		log_peer(peer, LOG_WARNING, "connection from %s: refused: %s", text,
			 rdmablk_reason_text(reason));
	conn_reject(ev->id, reason);
}

/**
 * accept_request - a connection request
 * @ev: the event; its id is the session's or destroyed afterwards
 *
 * librdmacm has opened the device for it and leaves it open, whatever becomes of the
 * request: it has to be known, or nobody hears that it is being removed.
 */
void accept_request(const struct cm_event *ev)
{
	struct device *dev = device_get(ev->id->verbs, rdma_get_local_addr(ev->id));
	struct wire_request req = { 0 };
	unsigned int reason = wire_check_request(ev->data, ev->len, &req);

	if (!reason && !dev)
		reason = RDMABLK_R_DEVICE_GONE;
	if (!reason)
		reason = req.kind == RDMABLK_KIND_CONTROL ?
			 begin_login(ev, &req) : join(ev, &req);
	if (reason)
		refuse(ev, &req, reason);
	if (dev)
		device_put(dev);
}
