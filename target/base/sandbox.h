/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights that the daemon gives up when it starts, so that a mistake in it is worth less to an
 * attacker. Landlock enforces this for all threads; nothing gives the rights back.
 */
#ifndef RDMABLKD_SANDBOX_H
#define RDMABLKD_SANDBOX_H

#include <stdbool.h>

/**
 * enum sandbox_use - what the daemon does below a path
 * @SANDBOX_WRITE: opens files for writing
 * @SANDBOX_CREATE: also creates files
 * @SANDBOX_MANAGE: also makes directories and sockets, and removes files
 */
enum sandbox_use {
	SANDBOX_WRITE,
	SANDBOX_CREATE,
	SANDBOX_MANAGE,
};

int sandbox_begin(bool confine);
int sandbox_allow(const char *path, enum sandbox_use use);
int sandbox_allow_own(const char *path);
int sandbox_allow_beside(const char *path, enum sandbox_use use);
int sandbox_enter(void);
const char *sandbox_hint(int error);

#endif
