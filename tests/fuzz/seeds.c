// SPDX-License-Identifier: GPL-2.0-only
/*
 * seeds DIR: writes a valid message of each kind to DIR/wire and DIR/login, in the
 * form that the fuzzers take them.
 */
#include <linux/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/messages.h"

static const char *dir;

static void write_seed(const char *fuzzer, const char *name, uint8_t which,
		       const void *msg, size_t len)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, fuzzer, name);
	file = fopen(path, "w");
	if (!file || fputc(which, file) == EOF || fwrite(msg, 1, len, file) != len ||
	    fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void msg_imm(void *msg)
{
	*(uint32_t *)msg = RDMABLK_IMM(MSG_CMDS - 1, 7, RDMABLK_R_STORE_IO);
}

static void write_wire(void)
{
	static const struct {
		const char *name;
		void (*build)(void *msg);
		size_t size;
	} list[] = {
		{ "accept", msg_accept, sizeof(struct rdmablk_cm_accept) },
		{ "reject", msg_reject, sizeof(struct rdmablk_cm_reject) },
		{ "challenge", msg_challenge, sizeof(struct rdmablk_challenge) },
		{ "grant", msg_grant, sizeof(struct rdmablk_grant) },
		{ "regions", msg_regions, sizeof(struct rdmablk_regions) },
		{ "last-regions", msg_last_regions, sizeof(struct rdmablk_regions) },
		{ "live", msg_live, sizeof(struct rdmablk_live) },
		{ "answer", msg_answer, sizeof(struct rdmablk_answer) },
		{ "event", msg_event, sizeof(struct rdmablk_event_msg) },
		{ "close", msg_close, sizeof(struct rdmablk_close) },
		{ "limits", msg_limits, sizeof(struct rdmablk_limits) },
		{ "staged-limits", msg_staged_limits, sizeof(struct rdmablk_limits) },
		{ "imm", msg_imm, sizeof(uint32_t) },
		{ "resize", msg_resize, sizeof(struct rdmablk_event_msg) },
	};
	/* The parser is that of version 1 with the highest bit. */
	static const struct {
		const char *name;
		void (*build)(void *msg);
		size_t size;
		uint8_t which;
	} list2[] = {
		{ "accept2", msg_accept2, sizeof(struct rdmablk_cm_accept2), 0x80 },
		{ "challenge2", msg_challenge2, sizeof(struct rdmablk_challenge2), 0x82 },
		{ "reauth-challenge", msg_reauth_challenge,
		  sizeof(struct rdmablk_reauth_challenge), 0x82 },
		{ "grant2", msg_grant2, MSG_GRANT2, 0x83 },
		{ "regions2", msg_regions2, MSG_REGIONS2, 0x84 },
		{ "last-regions2", msg_last_regions2, MSG_REGIONS2, 0x85 },
		{ "limits2", msg_limits2, MSG_LIMITS2, 0x8a },
		{ "staged-limits2", msg_staged_limits2, MSG_LIMITS2, 0x8b },
	};
	_Alignas(8) uint8_t msg[RDMABLK_CTRL_MSG_MAX];

	for (uint8_t i = 0; i < ARRAY_SIZE(list); i++) {
		memset(msg, 0, sizeof(msg));
		list[i].build(msg);
		write_seed("wire", list[i].name, i, msg, list[i].size);
	}
	for (uint8_t i = 0; i < ARRAY_SIZE(list2); i++) {
		list2[i].build(msg);
		write_seed("wire", list2[i].name, list2[i].which, msg, list2[i].size);
	}
}

/* A command of each operation, for write queues. */
static void write_data(void)
{
	struct {
		struct rdmablk_command cmd;
		uint8_t trailer[512];
	} msg = { 0 };
	char name[16];

	for (uint16_t op = RDMABLK_OP_FENCE; op <= RDMABLK_OP_WRITE; op++) {
		uint16_t trailer = op == RDMABLK_OP_DIRTY ? sizeof(struct rdmablk_range) :
				   op == RDMABLK_OP_WRITE ? sizeof(msg.trailer) : 0;
		bool ranged = op >= RDMABLK_OP_DISCARD;

		rdmablk_wire_data_command(&msg.cmd, op,
					  op == RDMABLK_OP_WRITE ? RDMABLK_IO_TRAILER : 0, 1, 2,
					  ranged ? 512 : 0, ranged ? 512 : 0, trailer);
		memset(msg.trailer, 0, sizeof(msg.trailer));
		msg.trailer[9] = 16;	/* of a range: 4096 bytes */
		snprintf(name, sizeof(name), "data-%u", op);
		write_seed("login", name, op < RDMABLK_OP_READ ? 2 : 3, &msg,
			   sizeof(msg.cmd) + trailer);
	}
}

static void write_login2(void)
{
	static const uint8_t bytes[RDMABLK_POINT_LEN];
	struct rdmablk_proof proof = {
		.hdr = { .type = cpu_to_le16(RDMABLK_MSG_PROOF),
			 .length = cpu_to_le16(sizeof(proof)) },
	};
	struct rdmablk_reauth_proof again;
	struct rdmablk_cm_request req;
	struct rdmablk_reauth reauth;

	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, 2, 2);
	write_seed("login", "control2", 4, &req, sizeof(req));
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_READ, 1, 1, MSG_SESSION, 2, 2);
	write_seed("login", "data2", 4, &req, sizeof(req));
	write_seed("login", "hello2", 5, &msg_sent2, sizeof(msg_sent2));
	write_seed("login", "proof2", 5, &proof, sizeof(proof));
	rdmablk_wire_reauth(&reauth, bytes, bytes, bytes);
	write_seed("login", "reauth", 5, &reauth, sizeof(reauth));
	rdmablk_wire_reauth_proof(&again, bytes);
	write_seed("login", "reauth-proof", 5, &again, sizeof(again));
}

static void write_login(void)
{
	struct rdmablk_cm_request req;
	struct rdmablk_limits_get limits;
	struct rdmablk_regions_get get;
	struct rdmablk_command cmd;
	struct rdmablk_ready ready;
	struct rdmablk_close close;

	rdmablk_wire_cm_request(&req, RDMABLK_KIND_CONTROL, 0, 0, 0, 1, 1);
	write_seed("login", "control", 0, &req, sizeof(req));
	rdmablk_wire_cm_request(&req, RDMABLK_KIND_READ, 1, 1, MSG_SESSION, 1, 1);
	write_seed("login", "data", 0, &req, sizeof(req));
	write_seed("login", "hello", 1, &msg_sent, sizeof(msg_sent));
	rdmablk_wire_regions_get(&get, 16);
	write_seed("login", "regions-get", 1, &get, sizeof(get));
	rdmablk_wire_limits_get(&limits);
	write_seed("login", "limits-get", 1, &limits, sizeof(limits));
	rdmablk_wire_ready(&ready);
	write_seed("login", "ready", 1, &ready, sizeof(ready));
	rdmablk_wire_command(&cmd, RDMABLK_OP_LOGOUT, RDMABLK_LOGOUT_CLEAN,
			     RDMABLK_TAG_LOGOUT, 1, 0, 0);
	write_seed("login", "logout", 1, &cmd, sizeof(cmd));
	rdmablk_wire_close(&close, RDMABLK_R_LOGOUT, RDMABLK_VERSION_OPEN);
	write_seed("login", "close", 1, &close, sizeof(close));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	dir = argv[1];
	msg_setup();
	write_wire();
	write_login();
	write_login2();
	write_data();
	return 0;
}
