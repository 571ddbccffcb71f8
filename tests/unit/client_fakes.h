/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of other files of the tool that tools/client_conn.c and tools/client.c call.
 * Include those two files before this one.
 */
#ifndef CLIENT_FAKES_H
#define CLIENT_FAKES_H

#include <stdarg.h>
#include <stdio.h>

int nl_fail(struct nl_failure *failure, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(failure->text, sizeof(failure->text), fmt, args);
	va_end(args);
	failure->err = err;
	return -1;
}

unsigned int adapter_verbs_bytes(enum ibv_mtu mtu)
{
	return mtu;
}

#endif
