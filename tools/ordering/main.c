// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk-ordering: does an RDMA adapter keep a READ behind a WRITE that has completed on
 * another queue pair? rdmablk depends on that, as its READs and WRITEs have queue pairs of
 * their own. The memory is that of this machine, through the adapter and back to it, or
 * that of a machine where the program runs with --listen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ordering.h"

static int far_access(const struct options *opts)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	       (opts->relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0);
}

/* The far end is in this process, too. */
static int loop_back(const struct options *opts, struct end *near, struct end *far,
		     struct offer *target)
{
	struct offer own;
	int ret;

	ret = end_open(far, near->port, opts->pairs, opts->pairs * area_bytes(opts->max_bytes),
		       far_access(opts));
	if (ret)
		return ret;
	end_offer(near, &own);
	end_offer(far, target);
	ret = end_connect(far, &own);
	return ret ?: end_connect(near, target);
}

static int ask(const struct options *opts, struct end *near, struct offer *target, int *sock)
{
	int ret = peer_ask(opts, near, target, sock);

	return ret ?: end_connect(near, target);
}

static int measure(const struct options *opts, const struct port *port)
{
	struct end near = { 0 }, far = { 0 };
	struct offer target;
	struct result result;
	int ret, sock = -1;

	ret = end_open(&near, port, opts->pairs, 2 * (size_t)opts->pairs * opts->max_bytes,
		       IBV_ACCESS_LOCAL_WRITE);
	if (!ret)
		ret = opts->target ? ask(opts, &near, &target, &sock) :
				     loop_back(opts, &near, &far, &target);
	if (!ret)
		ret = rounds_run(opts, &near, &target, &result);
	if (!ret)
		ret = report_result(opts, port, &result);
	end_close(&near);
	end_close(&far);
	if (sock >= 0)
		close(sock);	/* the listening side ends, too */
	return ret;
}

static int run(const struct options *opts)
{
	struct port port;
	int ret = port_open(&port, opts);

	if (ret)
		return ret;
	ret = opts->listen ? peer_serve(opts, &port) : measure(opts, &port);
	port_close(&port);
	return ret;
}

int main(int argc, char **argv)
{
	struct options opts;
	int status = options_parse(&opts, argc, argv);

	if (status == OPTIONS_RUN)
		status = run(&opts);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "rdmablk-ordering: standard output: %s\n", strerror(errno));
		status = STATUS_NOT_RUN;
	}
	return status;
}
