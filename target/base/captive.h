/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that runs while the daemon serves. When the command ends, the daemon ends.
 */
#ifndef RDMABLKD_CAPTIVE_H
#define RDMABLKD_CAPTIVE_H

/**
 * struct captive_place - what the command finds in its environment
 * @uri: RDMABLK_URI, the first export as "rdmablk connect" takes it; NULL: not set
 * @address: RDMABLK_ADDRESS, where the daemon listens first, with the port
 * @export: RDMABLK_EXPORT, name of the first export
 * @control: RDMABLK_CONTROL, path of the socket for the administrator
 */
struct captive_place {
	const char *uri;
	const char *address;
	const char *export;
	const char *control;
};

int captive_prepare(const char *command, const struct captive_place *place);
int captive_start(void (*ended)(void));
void captive_signal(int signo);
int captive_end(int status, int patience_ms);
int captive_status(void);

#endif
