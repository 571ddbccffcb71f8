// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listeners, and the connection requests that come there. At the start every address must
 * listen; later an address whose device has gone tries again until a device for it is back.
 * Only then does a timer run.
 *
 * A request begins a login, or a data queue asks to join its session. A request to join names
 * the session; before its MAC has verified against that session's key, nothing else that it
 * says is used.
 */
#include <errno.h>
#include <netinet/in.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/util.h"
#include "export/quota.h"
#include "session/listener.h"
#include "session/login.h"
#include "session/session.h"
#include "session/session_audit.h"
#include "wire/mac.h"
#include "wire/wire.h"

#define LISTENER_BACKLOG	128
#define LISTENER_RETRY_MS	1000

struct listener {
	struct cm_handler cm;
	struct loop_timer retry;
	const struct listen_addr *addr;
	struct rdma_cm_id *id;
	struct device *device;		/* NULL: listens on any device */
	uint64_t refused;		/* logins refused because of allow-address */
};

static const struct config *listen_cfg;
static struct listener *listeners;
static unsigned int nr_listeners;

/* Takes a token for a login. A known address needs none: all its disks may come back at once. */
static bool comes_too_often(const struct sockaddr *peer)
{
	if (quota_rate_take(peer) || quota_known(peer))
		return false;
	quota_rate_refuse();
	return true;
}

/* When slots are short, a login whose initiator is silent loses its slot to a new one. */
static unsigned int take_slot(const struct sockaddr *peer)
{
	unsigned int reason = quota_login_get(peer);
	struct session *silent;

	if (reason != RDMABLK_R_LIMIT_LOGINS)
		return reason;
	silent = session_silent(peer);
	if (!silent)
		return reason;
	session_evict(silent);
	return quota_login_get(peer);
}

/* Room for the setting that refuses a connection */
#define LISTENER_WHY	(ADDR_TEXT + 32)

/* Whether a list refuses an initiator's address. @why: result, name of the setting */
static bool is_foreign(const struct listener *l, const struct sockaddr *peer, char *why)
{
	const char *here = config_listen_networks(listen_cfg, l->addr);

	if (listen_cfg->allow_address && !value_in_networks(listen_cfg->allow_address, peer))
		snprintf(why, LISTENER_WHY, "allow-address of the daemon");
	else if (here && !value_in_networks(here, peer))
		snprintf(why, LISTENER_WHY, "allow-address of %s", l->addr->text);
	return *why;
}

/* @why: result, setting that refuses the request, unless the reason says it */
static unsigned int begin_login(struct listener *l, const struct cm_event *ev,
				const struct wire_request *req, char *why)
{
	struct sockaddr *peer = rdma_get_peer_addr(ev->id);
	struct device *dev;
	unsigned int reason;

	/* First, before the login costs anything. Joins of a live session are not checked. */
	if (is_foreign(l, peer, why)) {
		l->refused++;
		return RDMABLK_R_NO_EXPORT;
	}
	reason = login_refuses();
	if (!reason && comes_too_often(peer)) {
		snprintf(why, LISTENER_WHY, "login-rate of the daemon");
		return RDMABLK_R_LIMIT_LOGINS;
	}
	reason = reason ?: take_slot(peer);
	if (reason)
		return reason;
	dev = device_get(ev->id->verbs, rdma_get_local_addr(ev->id));
	if (!dev) {
		quota_login_put(peer);
		return RDMABLK_R_DEVICE_GONE;
	}
	reason = session_create(ev, dev, listen_cfg, req->version, login_receive);
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

	if (s->version == RDMABLK_VERSION_PROVEN)
		return keying_join(&s->keying, ev->data, ev->qpn);
	return !mac_message(s->key, RDMABLK_LABEL_JOIN, ev->data, signed_len, mac) &&
	       mac_equal(mac, ev->data + signed_len);
}

/* Whether a join comes from the session's address. One that was copied comes from elsewhere. */
static bool join_is_near(const struct session *s, const struct cm_event *ev)
{
	return s->version != RDMABLK_VERSION_PROVEN ||
	       quota_same_address(rdma_get_peer_addr(ev->id), session_peer(s));
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
	else if (req->generation != s->hello.generation)
		reason = RDMABLK_R_JOIN_SESSION;
	else if (req->version != s->version)
		reason = RDMABLK_R_VERSION;
	else if (!join_is_near(s, ev))
		reason = RDMABLK_R_JOIN_DEVICE;
	else if (fault(FAULT_FULL_REJECT))
		reason = RDMABLK_R_DEVICE_FULL;
	else
		reason = session_join(s, ev, req);
	if (reason)
		s->refused_joins++;
	return reason;
}

static void refuse(const struct cm_event *ev, const struct wire_request *req,
		   unsigned int reason, const char *why)
{
	const struct sockaddr *peer = rdma_get_peer_addr(ev->id);
	char text[ADDR_TEXT];

	value_address_text(peer, text, false);
	if (req->session_id)
		log_peer(peer, LOG_WARNING, "queue %u of session %016llx (%s): refused: %s",
			 req->queue, (unsigned long long)req->session_id, text,
			 rdmablk_reason_text(reason));
	else
		log_peer(peer, LOG_WARNING, "connection from %s: refused: %s%s%s%s", text,
			 rdmablk_reason_text(reason), *why ? " (" : "", why,
			 *why ? ")" : "");
	session_audit_connection(peer, req, reason, *why ? why : NULL);
	conn_reject(ev->id, reason, login_version(listen_cfg));
}

/*
 * The session gets the id of the event, or the id is destroyed afterwards. librdmacm has
 * opened the device of the id, and leaves it open even if the request is refused. So the
 * device must be in the list of devices, or the daemon would not hear of its removal.
 */
static void connect_request(struct listener *l, const struct cm_event *ev)
{
	struct device *dev = device_get(ev->id->verbs, rdma_get_local_addr(ev->id));
	struct wire_request req = { 0 };
	unsigned int reason = wire_check_request(ev->data, ev->len, login_version(listen_cfg),
						 &req);
	char why[LISTENER_WHY] = "";

	if (!reason && !dev)
		reason = RDMABLK_R_DEVICE_GONE;
	if (!reason)
		reason = req.kind == RDMABLK_KIND_CONTROL ?
			 begin_login(l, ev, &req, why) : join(ev, &req);
	if (reason)
		refuse(ev, &req, reason, why);
	if (dev)
		device_put(dev);
}

static void listener_event(struct cm_handler *handler, const struct cm_event *ev)
{
	struct listener *l = container_of(handler, struct listener, cm);

	if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		connect_request(l, ev);
	else if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL && l->device)
		device_remove(l->device);
}

static const char *bind_text(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "another process listens there";
	case EADDRNOTAVAIL:
	case ENODEV:
		return "no RDMA device has this address";
	default:
		return "cannot bind to it";
	}
}

#define NO_INTERFACE	"there is no such interface"

static int listener_try(struct listener *l, const char **step)
{
	struct sockaddr_storage at;
	int ret, on = 1;

	*step = NO_INTERFACE;
	ret = value_bind_address(l->addr, &at);
	if (ret)
		return ret;
	*step = "cannot open the RDMA connection manager";
	l->id = cm_create_id(&l->cm);
	if (!l->id)
		return -errno;
	*step = "cannot set options";
	if (rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on,
			    sizeof(on)))
		return -errno;
	if (at.ss_family == AF_INET6 &&
	    rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
			    sizeof(on)))
		return -errno;
	if (rdma_bind_addr(l->id, (struct sockaddr *)&at)) {
		*step = bind_text(errno);
		return -errno;
	}
	*step = "its RDMA device cannot be used";
	if (l->id->verbs) {
		l->device = device_get(l->id->verbs, rdma_get_local_addr(l->id));
		if (!l->device)
			return -ENODEV;
	}
	if (!rdma_listen(l->id, LISTENER_BACKLOG))
		return 0;
	*step = errno == EADDRINUSE ? bind_text(errno) : "cannot listen";
	return -errno;
}

static void listener_close(struct listener *l)
{
	struct device *dev = l->device;

	loop_timer_stop(&l->retry);
	if (l->id)
		rdma_destroy_id(l->id);
	l->id = NULL;
	l->device = NULL;
	if (dev)
		device_put(dev);
}

static int listener_open(struct listener *l, const char **step)
{
	int ret = listener_try(l, step);

	if (ret)
		listener_close(l);
	else
		log_info("listening on %s%s%s", l->addr->text,
			 l->device ? ", device " : "",
			 l->device ? l->device->name : "");
	return ret;
}

static void listener_retry(struct loop_timer *timer)
{
	struct listener *l = container_of(timer, struct listener, retry);
	const char *step;
	int ret = listener_open(l, &step);

	if (!ret)
		return;
	log_debug("%s: %s: %s", l->addr->text, step, strerror(-ret));
	loop_timer_start(&l->retry, LISTENER_RETRY_MS);
}

/**
 * listener_open_all - listen on every address
 * @cfg: outlives the listeners
 *
 * Return: 0 or -errno, logged.
 */
int listener_open_all(const struct config *cfg)
{
	const char *step;

	listen_cfg = cfg;
	listeners = calloc(cfg->nr_listen, sizeof(*listeners));
	if (!listeners)
		return -ENOMEM;
	for (unsigned int i = 0; i < cfg->nr_listen; i++) {
		struct listener *l = &listeners[nr_listeners++];
		int ret;

		l->addr = &cfg->listen[i];
		l->cm.event = listener_event;
		l->retry.expired = listener_retry;
		ret = listener_open(l, &step);
		if (ret) {
			log_err("cannot listen on %s: %s: %s", l->addr->text, step,
				strerror(-ret));
			return ret;
		}
	}
	return 0;
}

/* Return: NULL, or what went wrong, with @error */
static const char *try_address(struct rdma_cm_id *id, const struct listen_addr *addr, int *error)
{
	struct sockaddr_storage any_port;

	*error = -value_bind_address(addr, &any_port);
	if (*error)
		return NO_INTERFACE;
	/* A daemon may be listening on the port. IPv4 and IPv6 have it at the same place. */
	((struct sockaddr_in *)(void *)&any_port)->sin_port = 0;
	if (!rdma_bind_addr(id, (struct sockaddr *)&any_port))
		return NULL;
	*error = errno;
	return bind_text(errno);
}

/**
 * listener_check - check that an RDMA device has an address
 * @addr: address; its port may be in use
 *
 * Return: 0 or -errno, logged.
 */
int listener_check(const struct listen_addr *addr)
{
	struct cm_handler nothing = { .event = listener_event };
	struct rdma_cm_id *id = cm_create_id(&nothing);
	const char *step = "cannot open the RDMA connection manager";
	int error = errno;

	if (id) {
		step = try_address(id, addr, &error);
		rdma_destroy_id(id);
	}
	if (error)
		log_err("cannot listen on %s: %s: %s", addr->text, step, strerror(error));
	return -error;
}

/**
 * listener_networks - from which connections are taken, whichever address they come to
 *
 * Return: the daemon's list, which a reload changes; NULL: any.
 */
const char *listener_networks(void)
{
	return listen_cfg ? listen_cfg->allow_address : NULL;
}

/**
 * listener_show - the listeners
 * @i: number of one, from 0
 * @status: result
 *
 * Return: false: there are fewer.
 */
bool listener_show(unsigned int i, struct listener_status *status)
{
	const struct listener *l;

	if (i >= nr_listeners)
		return false;
	l = &listeners[i];
	*status = (struct listener_status){
		.address = l->addr->text,
		.device = l->device ? l->device->name : NULL,
		.listening = l->id,
		.allow_address = config_listen_networks(listen_cfg, l->addr),
		.refused = l->refused,
	};
	return true;
}

/**
 * listener_close_device - stop listening on a device that is being removed
 * @dev: the device; its addresses are tried again until a device has them
 */
void listener_close_device(struct device *dev)
{
	for (unsigned int i = 0; i < nr_listeners; i++) {
		struct listener *l = &listeners[i];

		if (l->device != dev)
			continue;
		log_warn("listening no more on %s until an RDMA device has that address again",
			 l->addr->text);
		listener_close(l);
		loop_timer_start(&l->retry, LISTENER_RETRY_MS);
	}
}

/**
 * listener_close_all - stop listening
 */
void listener_close_all(void)
{
	for (unsigned int i = 0; i < nr_listeners; i++)
		listener_close(&listeners[i]);
	free(listeners);
	listeners = NULL;
	nr_listeners = 0;
}
