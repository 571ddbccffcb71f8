// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * target_probe: an initiator in userspace that behaves, or misbehaves in one
 * chosen way, to show what the daemon does about it.
 *
 *	target_probe [--KEY VALUE]… ADDR EXPORT SCENARIO
 *
 * It prints one line per thing it learns ("granted …", "rejected …",
 * "closed …") and exits 0, or 1 when something went another way than the
 * scenario asks for. --expect REASON: 0 if and only if the daemon rejected or
 * closed with that reason. --region IOVA:RKEY, as "live" prints it: what the
 * scenario "foreign" writes to. --features BITS: what HELLO offers. --key FILE: log in by
 * version 2 with this key. --replay FILE: what an initiator of version 2 said on its control
 * queue, for the scenario "recorded".
 */
#include <stdlib.h>
#include <unistd.h>

#include "target_probe.h"

/*
 * Scenarios
 */

static void scenario_io(void)
{
	login_to_live();
	if (!(le32toh(p.grant.flags) & RDMABLK_GRANT_READ_ONLY))
		verify_all();
	if (command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE))
		die("keep-alive");
	if (command(31, RDMABLK_TAG_ADMIN) != RDMABLK_R_UNSUPPORTED)
		die("unknown command");
	logout();
}

static void scenario_read(void)
{
	login_to_live();
	if (transfer(&p.data[0], false, 0, 0, 4096, 0))
		die("read");
	printf("first byte %u\n", (unsigned char)p.buf[16384]);
	logout();
}

static void scenario_hold(void)
{
	login_to_live();
	wait_closed(p.hold, true);
	if (!p.ended && !p.gone)
		logout();
}

/* Writes without pause. Prints how many writes succeeded, and the status of one after the end. */
static void scenario_write(void)
{
	unsigned long count = 0;

	login_to_live();
	while (!transfer(&p.data[1], true, 0, (count % 64) * 4096, 4096, 0)) {
		if (!(++count % 64) && receive(NULL, 0, 0) == 0 && p.ended)
			break;
		if (!(count % 64))
			send_command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE);
	}
	printf("%lu writes\n", count);
	wait_closed(p.hold, false);
	printf("after: %s\n", ibv_wc_status_str(transfer(&p.data[1], true, 0, 0, 4096, 0)));
}

static void scenario_silent(void)
{
	if (!connect_ctrl())
		finish(1);
	wait_closed(60000, false);
}

/* A login that stops after GRANT; the target does not count it as silent. */
static void scenario_granted(void)
{
	login_to_grant();
	wait_closed(600000, false);
}

static void scenario_mute(void)
{
	login_to_live();
	wait_closed(60000, false);
}

static void scenario_crash(void)
{
	login_to_live();
	_exit(0);
}

static void scenario_garbage(void)
{
	char junk[512];

	if (!connect_ctrl())
		finish(1);
	mac_random(junk, sizeof(junk));
	send_raw(&p.ctrl, junk, p.arg ?: sizeof(junk));
	wait_closed(20000, false);
}

static void scenario_oversize(void)
{
	char junk[600] = { 1 };

	if (!connect_ctrl())
		finish(1);
	send_raw(&p.ctrl, junk, sizeof(junk));
	wait_closed(20000, false);
}

/* HELLO cut to its first --arg bytes; its header has that length. */
static void scenario_truncated(void)
{
	if (!connect_ctrl())
		finish(1);
	fill_hello();
	p.hello.hdr.length = htole16((uint16_t)p.arg);
	send_raw(&p.ctrl, &p.hello, p.arg);
	wait_closed(20000, false);
}

/* HELLO with byte --arg flipped. */
static void scenario_flipped(void)
{
	if (!connect_ctrl())
		finish(1);
	fill_hello();
	((uint8_t *)&p.hello)[p.arg] ^= 0xff;
	send_raw(&p.ctrl, &p.hello, sizeof(p.hello));
	if (receive(&p.challenge, sizeof(p.challenge), 20000))
		puts("challenged");
}

/* The first message has type --arg and the right length for it. */
static void scenario_state(void)
{
	static const unsigned int size[] = { 16, 280, 72, 48, 224, 24, 312, 16, 16,
					     64, 32, 32, 32, 16, 120 };
	char msg[512] = { 0 };
	struct rdmablk_hdr hdr = head(p.arg, size[p.arg]);

	if (!connect_ctrl())
		finish(1);
	memcpy(msg, &hdr, sizeof(hdr));
	send_raw(&p.ctrl, msg, size[p.arg]);
	wait_closed(20000, false);
}

static void scenario_hello_twice(void)
{
	if (!connect_ctrl())
		finish(1);
	fill_hello();
	send_raw(&p.ctrl, &p.hello, sizeof(p.hello));
	want(RDMABLK_MSG_CHALLENGE, &p.challenge, sizeof(p.challenge));
	send_raw(&p.ctrl, &p.hello, sizeof(p.hello));
	wait_closed(20000, false);
}

static void scenario_bad_proof(void)
{
	login_to_grant();
}

static void scenario_ready_early(void)
{
	login_to_grant();
	send_ready();
	wait_closed(20000, false);
}

static void scenario_join_mac(void)
{
	login_to_grant();
	join_as(&p.data[0], 1, RDMABLK_KIND_READ, p.generation, true);
}

static void scenario_join_generation(void)
{
	login_to_grant();
	join_as(&p.data[0], 1, RDMABLK_KIND_READ, p.generation + 1, false);
}

static void scenario_join_kind(void)
{
	login_to_grant();
	join_as(&p.data[0], 1, RDMABLK_KIND_WRITE, p.generation, false);
}

static void scenario_join_range(void)
{
	login_to_grant();
	join_as(&p.data[0], 2U * le16toh(p.grant.nr_queues) + 1, RDMABLK_KIND_READ,
		p.generation, false);
}

static void scenario_join_twice(void)
{
	login_to_grant();
	join(1);
	join_as(&p.data[1], 1, RDMABLK_KIND_READ, p.generation, false);
}

static void scenario_join_unknown(void)
{
	p.grant.session_id = htole64(42);
	join_as(&p.data[0], 1, RDMABLK_KIND_READ, 1, false);
}

static void scenario_outside(void)
{
	login_to_live();
	printf("outside: %s\n",
	       ibv_wc_status_str(transfer(&p.data[1], true,
					  le32toh(p.grant.nr_regions) - 1,
					  le64toh(p.grant.region_bytes), 4096, 0)));
	wait_closed(20000, false);
}

static void scenario_wrong_key(void)
{
	login_to_live();
	printf("wrong key: %s\n",
	       ibv_wc_status_str(transfer(&p.data[0], false, 0, 0, 4096, 0x55)));
	wait_closed(20000, false);
}

/* Tries a write to a place where it is forbidden. */
static void forbidden_write(struct queue *q)
{
	memset(p.buf + 16384, 0xee, 4096);
	printf("write: %s\n", ibv_wc_status_str(transfer(q, true, 0, 0, 4096, 0)));
	wait_closed(20000, false);
}

/* A write on data queue --arg of a read-only session */
static void scenario_write_read_only(void)
{
	p.flags |= RDMABLK_HELLO_READ_ONLY;
	login_to_live();
	forbidden_write(&p.data[p.arg]);
}

/* A write with the address and the key of another session */
static void scenario_foreign(void)
{
	unsigned long long iova;
	unsigned int rkey;

	if (!p.foreign || sscanf(p.foreign, "%llx:%x", &iova, &rkey) != 2)
		die("--region");
	login_to_live();
	p.region[0].iova = htole64(iova);
	p.region[0].rkey = htole32(rkey);
	forbidden_write(&p.data[1]);
}

static void scenario_data_send(void)
{
	login_to_live();
	send_raw(&p.data[1], "hello", 5);
	wait_closed(20000, false);
}

static void scenario_flood(void)
{
	login_to_live();
	while (!p.ended && !p.gone) {
		for (int i = 0; i < 8; i++)
			send_command(RDMABLK_OP_KEEPALIVE, RDMABLK_TAG_KEEPALIVE);
		while (receive(NULL, 0, 1))
			;
	}
}

static void scenario_cm(void)
{
	struct rdmablk_cm_request req = ctrl_request();

	switch (p.arg) {
	case 0:
		req.magic = 0;
		break;
	case 1:
		req.version_min = htole16(2);
		req.version_max = htole16(9);
		break;
	case 2:
		req.reserved = 1;
		break;
	case 3:
		req.kind = 9;
		break;
	case 4:
		req.mac[3] = 1;
		break;
	case 5:
		req.queue = htole16(1);
		break;
	case 6:
		req.version_min = htole16(3);
		break;
	default:
		break;
	}
	prepare(&p.ctrl);
	connect_queue(&p.ctrl, &req, sizeof(req));
}

static void scenario_close(void)
{
	struct rdmablk_close msg = { .hdr = head(RDMABLK_MSG_CLOSE, sizeof(msg)),
				     .reason = htole16(RDMABLK_R_INTERNAL) };

	login_to_live();
	send_raw(&p.ctrl, &msg, sizeof(msg));
	wait_closed(20000, false);
}

/* The session must end; the test that runs the probe checks the reason. */
static void want_end(void)
{
	wait_closed(20000, false);
	if (!p.ended && !p.gone)
		die("the session goes on");
}

/* A message without a seal, in a session where every message must be sealed */
static void scenario_unsealed(void)
{
	struct rdmablk_close msg = { .hdr = head(RDMABLK_MSG_CLOSE, sizeof(msg)),
				     .reason = htole16(RDMABLK_R_INTERNAL) };

	login_to_live();
	send_raw(&p.ctrl, &msg, sizeof(msg));
	want_end();
}

static size_t seal_keep_alive(void *frame)
{
	struct rdmablk_command cmd = {
		.hdr = head(RDMABLK_MSG_COMMAND, sizeof(cmd)),
		.op = htole16(RDMABLK_OP_KEEPALIVE),
	};

	cmd.hdr.generation = htole32(1);
	return proven_seal(&cmd, sizeof(cmd), frame);
}

/* A frame that was answered already is sent again. */
static void scenario_replayed(void)
{
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];
	struct rdmablk_answer answer;
	size_t len;

	login_to_live();
	len = seal_keep_alive(frame);
	send_raw(&p.ctrl, frame, len);
	want(RDMABLK_MSG_ANSWER, &answer, sizeof(answer));
	send_raw(&p.ctrl, frame, len);
	want_end();
}

/* A frame with byte --arg changed */
static void scenario_forged(void)
{
	uint8_t frame[RDMABLK_CTRL_MSG_MAX];
	size_t len;

	login_to_live();
	len = seal_keep_alive(frame);
	frame[p.arg] ^= 1;
	send_raw(&p.ctrl, frame, len);
	want_end();
}

/* A join request of one queue pair, sent by another */
static void scenario_join_foreign(void)
{
	login_to_grant();
	p.foreign_qpn = 1;
	join(1);
}

/* Replays a recorded login: HELLO, PROOF and frames unchanged */
static void scenario_recorded(void)
{
	char said[1 << 16];
	FILE *file = p.replay ? fopen(p.replay, "r") : NULL;
	size_t bytes = file ? fread(said, 1, sizeof(said), file) : 0;
	struct rdmablk_hdr hdr;

	if (bytes <= sizeof(p.hello2))
		die("--replay");
	fclose(file);
	p.version = RDMABLK_VERSION_PROVEN;
	if (!connect_ctrl())
		finish(1);
	for (size_t at = 0; at + sizeof(hdr) <= bytes; at += le16toh(hdr.length)) {
		memcpy(&hdr, said + at, sizeof(hdr));
		if (!hdr.length || at + le16toh(hdr.length) > bytes)
			die("a message in --replay");
		send_raw(&p.ctrl, said + at, le16toh(hdr.length));
		if (!at)
			want(RDMABLK_MSG_CHALLENGE, &p.challenge, sizeof(p.challenge));
		else if (p.ended || !receive(NULL, 0, 20000))
			break;
	}
	want_end();
}

static const struct scenario scenarios[] = {
	{ "io", scenario_io }, { "read", scenario_read },
	{ "hold", scenario_hold }, { "write", scenario_write },
	{ "silent", scenario_silent }, { "granted", scenario_granted },
	{ "mute", scenario_mute },
	{ "crash", scenario_crash }, { "garbage", scenario_garbage },
	{ "oversize", scenario_oversize }, { "truncated", scenario_truncated },
	{ "flipped", scenario_flipped }, { "state", scenario_state },
	{ "hello-twice", scenario_hello_twice }, { "bad-proof", scenario_bad_proof },
	{ "ready-early", scenario_ready_early }, { "join-mac", scenario_join_mac },
	{ "join-generation", scenario_join_generation },
	{ "join-kind", scenario_join_kind }, { "join-range", scenario_join_range },
	{ "join-twice", scenario_join_twice },
	{ "join-unknown", scenario_join_unknown }, { "outside", scenario_outside },
	{ "wrong-key", scenario_wrong_key },
	{ "write-read-only", scenario_write_read_only },
	{ "foreign", scenario_foreign },
	{ "data-send", scenario_data_send }, { "flood", scenario_flood },
	{ "unsealed", scenario_unsealed }, { "replayed", scenario_replayed },
	{ "forged", scenario_forged }, { "join-foreign", scenario_join_foreign },
	{ "recorded", scenario_recorded },
	{ "flip-hello", scenario_flip_hello }, { "flip-proof", scenario_flip_proof },
	{ "cm", scenario_cm }, { "close", scenario_close }, { "crowd", scenario_crowd },
	{ "ends", scenario_ends },
	{ "unproven", scenario_unproven }, { "half-open", scenario_half_open },
};

static const struct {
	const char *name;
	unsigned int *value;
} numbers[] = {
	{ "--host", &p.host }, { "--boot", &p.boot }, { "--instance", &p.instance },
	{ "--generation", &p.generation }, { "--queues", &p.queues },
	{ "--keep-alive", &p.keep_alive }, { "--hold", &p.hold },
	{ "--flags", &p.flags }, { "--port", &p.port }, { "--expect", &p.expect },
	{ "--arg", &p.arg }, { "--features", &p.features },
};

static void run_scenario(const struct scenario *list, size_t nr)
{
	for (size_t n = 0; n < nr; n++) {
		if (!strcmp(p.scenario, list[n].name)) {
			list[n].run();
			finish(0);
		}
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--region"))
			p.foreign = argv[i + 1];
		if (!strcmp(argv[i], "--replay"))
			p.replay = argv[i + 1];
		if (!strcmp(argv[i], "--key"))
			proven_begin(argv[i + 1]);
		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
			if (!strcmp(argv[i], numbers[n].name))
				*numbers[n].value = (unsigned int)atoi(argv[i + 1]);
	}
	if (argc - i != 3) {
		fprintf(stderr, "usage: target_probe [--KEY N]… ADDR EXPORT SCENARIO\n");
		return 2;
	}
	p.addr = argv[i];
	p.export_name = argv[i + 1];
	p.scenario = argv[i + 2];
	p.channel = rdma_create_event_channel();
	if (!p.channel)
		die("rdma_create_event_channel");
	run_scenario(scenarios, ARRAY_SIZE(scenarios));
	run_scenario(command_scenarios, nr_command_scenarios);
	fprintf(stderr, "no such scenario\n");
	return 2;
}
