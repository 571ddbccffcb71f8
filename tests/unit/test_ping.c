// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdmablk ping on a path that carries less than the MTU of its ends. The path is part of this
 * program. It loses packets that are larger than it carries, in one direction or in both.
 *
 * Sources: tools/cmd_ping.c tools/scratch.c
 */
#include "unit.h"

#include "../../tools/times.c"
#include "../../tools/scratch.c"
#include "../../tools/cmd_ping.c"

#define MTU	4096U
#define ALL	(2 * MTU)	/* the path carries whatever comes */
#define VISITS	2U

enum { WRITES = 1, READS = 2 };

/**
 * struct path - the path, and what became of the ping
 * @carries: largest packet of each visit that arrives, bytes
 * @loses: directions in which larger packets are lost: WRITES, READS or both
 * @lends: bytes that the target lends to each visit
 * @gone: a lost packet ends the connection instead of leading to silence
 * @refused: status of the second visit; 0: the target takes it
 * @visits: number of visits so far
 * @lost: the packet under way is lost
 * @err: errno of the complaint; 0: there was none
 * @text: text of the complaint
 */
static struct path {
	unsigned int carries[VISITS];
	unsigned int loses;
	__u32 lends[VISITS];
	bool gone;
	int refused;
	unsigned int visits;
	bool lost;
	int err;
	char text[256];
} path;

static unsigned int requests[4];	/* ids of requests under way */
static unsigned int nr_requests;

bool report_json;

static int complain(int err, const char *fmt, va_list args)
{
	assert_int_equal(path.err, 0);
	path.err = err;
	vsnprintf(path.text, sizeof(path.text), fmt, args);
	return STATUS_UNREACHABLE;
}

int report_peer_failure(int err, const char *what, const char *fmt, ...)
{
	va_list args;
	int ret;

	assert_string_equal(what, "ping there");
	va_start(args, fmt);
	ret = complain(err, fmt, args);
	va_end(args);
	return ret;
}

int report_failure(int err, const char *what, const char *fmt, ...)
{
	(void)what;
	fail_msg("failure %d: %s", err, fmt);
	return STATUS_FAILED;
}

int report_usage(const char *what, const char *fmt, ...)
{
	fail_msg("usage of %s: %s", what, fmt);
	return STATUS_USAGE;
}

void report_warning(const char *what, const char *fmt, ...)
{
	fail_msg("warning of %s: %s", what, fmt);
}

int nl_fail(struct nl_failure *failure, int err, const char *fmt, ...)
{
	snprintf(failure->text, sizeof(failure->text), "%s", fmt);
	failure->err = err;
	return -1;
}

/* No options are given, and one round is enough. */
int opts_parse(const struct command_info *command, int argc, char **argv, opts_set_fn set_one,
	       void *context)
{
	struct ping *ping = context;

	(void)command;
	(void)argc;
	(void)argv;
	(void)set_one;
	ping->count = 1;
	optind = 1;
	return 0;
}

int opts_number(const struct opts_origin *from, const char *name, const char *text, __u32 min,
		__u32 max, const char *unit, __u32 *number)
{
	(void)from;
	(void)text;
	(void)min;
	(void)max;
	(void)unit;
	(void)number;
	fail_msg("--%s", name);
	return STATUS_USAGE;
}

int visit_set_option(const struct opts_origin *from, struct visit *visit, int id, const char *value)
{
	(void)from;
	(void)visit;
	(void)value;
	fail_msg("option %d", id);
	return STATUS_USAGE;
}

int visit_parse(const char *what, char **operands, struct visit *visit)
{
	assert_string_equal(what, "ping");
	assert_string_equal(operands[0], "there");
	(void)visit;
	return 0;
}

struct json_object *output_json_new(void)
{
	return json_object_new_object();
}

void output_json_line(struct json_object *object)
{
	json_object_put(object);
}

int output_rows(struct json_object *rows, const struct output_column *columns,
		output_cell_fn cell_of)
{
	(void)columns;
	(void)cell_of;
	assert_int_equal(json_object_array_length(rows), OPERATIONS);
	return 0;
}

/*
 * The visits
 */

static struct client *const visitor = (struct client *)&path;

struct client *visit_open(struct visit *visit, const char *what, int *status)
{
	(void)visit;
	(void)what;
	assert_in_range(path.visits, 0, VISITS - 1);
	nr_requests = 0;
	if (path.visits++ && path.refused) {
		*status = path.refused;
		return NULL;
	}
	return visitor;
}

void client_close(struct client *client)
{
	assert_ptr_equal(client, visitor);
}

void client_leave(struct client *client)
{
	assert_ptr_equal(client, visitor);
}

const char *client_target_name(const struct client *client)
{
	(void)client;
	return "there";
}

unsigned int client_mtu(const struct client *client)
{
	(void)client;
	return MTU;
}

int client_errno(unsigned int reason)
{
	return (int)reason;
}

int client_ping(struct client *client, __u64 *ns, struct nl_failure *failure)
{
	(void)client;
	(void)failure;
	*ns = 1;
	return 0;
}

int client_keep_alive(struct client *client, struct nl_failure *failure)
{
	(void)client;
	(void)failure;
	return 0;
}

void client_limit(struct client *client, unsigned int ms)
{
	(void)client;
	(void)ms;
}

int client_lend(struct client *client, __u32 bytes, struct client_scratch *lent,
		struct nl_failure *failure)
{
	__u32 lends = path.lends[path.visits - 1];

	(void)client;
	(void)failure;
	*lent = (struct client_scratch){ .rkey = 7, .bytes = bytes < lends ? bytes : lends };
	return 0;
}

struct client_conn *client_connection(struct client *client)
{
	return (struct client_conn *)client;
}

int client_conn_post(struct client_conn *to, const struct client_conn_request *request,
		     struct nl_failure *failure)
{
	static __u8 memory[MTU];

	(void)to;
	(void)failure;
	assert_false(path.lost);
	assert_true(nr_requests < ARRAY_SIZE(requests));
	assert_true(request->remote + request->bytes <= sizeof(memory));
	requests[nr_requests++] = request->id;
	path.lost = request->bytes > path.carries[path.visits - 1] &&
		    path.loses & (request->write ? WRITES : READS);
	if (path.lost)
		return 0;
	if (request->write)
		memcpy(memory + request->remote, request->local, request->bytes);
	else
		memcpy((__u8 *)(uintptr_t)request->local, memory + request->remote,
		       request->bytes);
	return 0;
}

int client_done(struct client *client, unsigned int *id, struct nl_failure *failure)
{
	(void)client;
	if (path.lost) {
		path.lost = false;
		return path.gone ? nl_fail(failure, ECONNRESET, "the target has gone") :
		       nl_fail(failure, ETIMEDOUT, "no answer");
	}
	assert_true(nr_requests > 0);
	*id = requests[--nr_requests];
	return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	static struct ibv_mr mr;

	(void)pd;
	(void)addr;
	(void)length;
	(void)access;
	return &mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return 0;
}

/*
 * The tests
 */

static int begin(void **state)
{
	(void)state;
	path = (struct path){ .carries = { ALL, ALL }, .loses = WRITES | READS,
			      .lends = { MTU, MTU } };
	return 0;
}

static int ping_there(void)
{
	char *argv[3] = { "ping", "there", NULL };

	return cmd_ping(NULL, 2, argv);
}

static void complains(int err, const char *text)
{
	assert_int_equal(ping_there(), STATUS_UNREACHABLE);
	assert_int_equal(path.err, err);
	assert_string_equal(path.text, text);
}

static void test_all_arrives(void **state)
{
	(void)state;
	assert_int_equal(ping_there(), 0);
	assert_int_equal(path.err, 0);
	assert_int_equal(path.visits, 1);
}

/* ping tries again. The same size is lost, so the path does not carry it. */
static void test_path_carries_less(void **state)
{
	static const unsigned int lost[] = { WRITES, READS, WRITES | READS };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(lost); i++) {
		begin(state);
		path.carries[0] = 1500;
		path.carries[1] = 1500;
		path.loses = lost[i];
		complains(ETIMEDOUT,
			  "packets of 1024 bytes arrive, larger ones do not, although the MTU is 4096: no answer");
		assert_int_equal(path.visits, 2);
	}
}

/* A packet that was lost once says nothing about its size. */
static void test_lost_once(void **state)
{
	(void)state;
	path.carries[0] = 1024;
	assert_int_equal(ping_there(), 0);
	assert_int_equal(path.err, 0);
	assert_int_equal(path.visits, 2);
}

static void test_lost_at_two_sizes(void **state)
{
	(void)state;
	path.carries[0] = 1024;
	path.carries[1] = 2048;
	complains(ETIMEDOUT, "no answer");
	assert_int_equal(path.visits, 2);
}

/* If no packet arrives, nothing is known about sizes. */
static void test_nothing_arrives(void **state)
{
	(void)state;
	path.carries[0] = 255;
	complains(ETIMEDOUT, "no answer");
	assert_int_equal(path.visits, 1);
}

static void test_connection_ends(void **state)
{
	(void)state;
	path.carries[0] = 1024;
	path.gone = true;
	complains(ECONNRESET, "the target has gone");
	assert_int_equal(path.visits, 1);
}

static void test_second_visit(void **state)
{
	(void)state;
	path.carries[0] = 1024;
	path.refused = STATUS_REFUSED;
	assert_int_equal(ping_there(), STATUS_REFUSED);
	assert_int_equal(path.err, 0);
	begin(state);
	path.carries[0] = 1024;
	path.lends[1] = 512;
	complains(ETIMEDOUT, "no answer");
	assert_int_equal(path.visits, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_arrives, begin),
		cmocka_unit_test_setup(test_path_carries_less, begin),
		cmocka_unit_test_setup(test_lost_once, begin),
		cmocka_unit_test_setup(test_lost_at_two_sizes, begin),
		cmocka_unit_test_setup(test_nothing_arrives, begin),
		cmocka_unit_test_setup(test_connection_ends, begin),
		cmocka_unit_test_setup(test_second_visit, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
