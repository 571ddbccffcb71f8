/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the administrator's tool asks for, in JSON.
 */
#ifndef RDMABLKD_CONTROL_REQUEST_H
#define RDMABLKD_CONTROL_REQUEST_H

#include "admin/admin_request.h"

#define CONTROL_VERSION	1
#define CONTROL_WHY	256

/**
 * enum control_show - what is to be shown
 * @CONTROL_NOTHING: nothing: something is to be done
 * @CONTROL_LIST: the exports
 * @CONTROL_SESSIONS: the sessions
 * @CONTROL_HOSTS: the hosts
 * @CONTROL_METRICS: figures for a monitoring system
 */
enum control_show {
	CONTROL_NOTHING,
	CONTROL_LIST,
	CONTROL_SESSIONS,
	CONTROL_HOSTS,
	CONTROL_METRICS,
};

/**
 * struct control_request - a request
 * @show: what is to be shown
 * @admin: what is to be done; the caller of control_parse() releases it
 * @name: export to show, or whose sessions to show; empty: all
 */
struct control_request {
	enum control_show show;
	struct admin *admin;
	char name[RDMABLK_NAME_LEN];
};

int control_parse(const char *line, size_t len, struct control_request *out, char *why);

#endif
