// SPDX-License-Identifier: GPL-2.0-only
/*
 * seeds DIR: writes a valid message of each kind to DIR/wire and DIR/login, in the format
 * of these fuzzers, and scripts to DIR/dialog, DIR/initiator and DIR/client. DIR must
 * exist; these directories in it are made.
 */
#include <linux/kernel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../unit/messages.h"

static const char *dir;

/* A directory that cannot be made is reported by the fopen() that follows. */
static void write_seed(const char *fuzzer, const char *name, uint8_t which,
		       const void *msg, size_t len)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, fuzzer);
	mkdir(path, 0777);
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
	/* The parser of version 1, with the highest bit set. */
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

/* WRITEs without a command: immediate data, length, tag and generation; and places in a disk */
static void write_implied(void)
{
	static const struct {
		const char *name;
		uint32_t words[3];
	} list[] = {
		{ "implied", { RDMABLK_WRITE_PAGES | 3, 4096, 7 } },
		{ "implied-fua", { RDMABLK_WRITE_FUA | 3, 8192, 0 } },
		{ "implied-large", { 1, 1 << 18, 1 } },
		{ "implied-odd", { 1, 513, 1 } },
	};
	static const uint64_t places[][2] = {
		{ 4096 }, { 4096, 1 }, { 1ULL << 60 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		write_seed("login", list[i].name, 6, list[i].words, sizeof(list[i].words));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char name[16];

		snprintf(name, sizeof(name), "place-%zu", i);
		write_seed("login", name, 7, places[i], sizeof(places[i]));
	}
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
	for (uint16_t i = 0; i <= RDMABLK_R_INTERNAL; i++) {
		char name[16];

		snprintf(name, sizeof(name), "reason-%u", i);
		write_seed("login", name, 8, &i, sizeof(i));
	}
	write_implied();
}

struct script {
	const char *name;
	uint8_t len, bytes[72];
};

#define SCRIPT(name, ...) { name, sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ } }

static void write_scripts(const char *fuzzer, const struct script *list, size_t nr)
{
	for (; nr--; list++)
		write_seed(fuzzer, list->name, list->bytes[0], list->bytes + 1, list->len - 1U);
}

/* Each script is a login with steps before or after it; fuzz_dialog.c has the steps. */
static void write_dialog(void)
{
	static const struct script list[] = {
		SCRIPT("live", 11, 0, 0, 0, 3, 0, 1, 0, 3, 0, 2, 1),
		SCRIPT("steps", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3, 0, 5, 0,
		       4, 0, 1, 0, 4, 0, 2, 0, 3, 0, 4, 0),
		SCRIPT("relay", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 2, 0),
		SCRIPT("relay-target", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 4, 0),
		SCRIPT("wrong-mac", 0, 0, 0, 0, 1, 0, 0, 0, 12, 0, 20, 1, 2, 0, 0, 0),
		SCRIPT("stranger", 0, 0, 5, 0, 1, 0, 0, 0, 2, 0, 1, 0),
		SCRIPT("far", 0, 0, 0x80, 0, 1, 0, 0, 0, 2, 0, 0, 0),
		SCRIPT("other-host", 0, 0, 2, 0, 1, 0, 0, 4, 2, 0, 0, 0),
		SCRIPT("expired", 0, 0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 2, 0, 0, 0),
		SCRIPT("reader", 11, 0, 3, 1),
		SCRIPT("reader-writes", 11, 0, 3, 0),
		SCRIPT("not-allowed", 11, 0, 0, 0x11),
		SCRIPT("steal", 11, 0, 0, 0, 11, 0, 4, RDMABLK_HELLO_STEAL),
		SCRIPT("no-right-to-steal", 11, 0, 0, 0, 11, 0, 2, RDMABLK_HELLO_STEAL),
		SCRIPT("replace", 11, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 1, 2, 3, 0, 0),
		SCRIPT("again", 11, 0, 0, 0, 6, 0, 1, 0, 7, 0, 0, 0, 3, 0, 0x41, 0, 6, 0, 0, 0,
		       7, 0, 0, 0, 3, 0, 0x41, 0),
		SCRIPT("again-other", 11, 0, 0, 0, 6, 0, 2, 0, 7, 0, 0, 0),
		SCRIPT("again-wrong", 11, 0, 0, 0, 6, 0, 0, 0, 7, 0, 5, 0),
		SCRIPT("replay", 11, 0, 0, 0, 3, 0, 1, 0, 5, 0, 1, 0),
		SCRIPT("gap", 11, 0, 0, 0, 3, 0, 0x21, 0, 3, 0, 1, 0),
		SCRIPT("bare", 11, 0, 0, 0, 3, 0, 0x81, 0),
		SCRIPT("bare-close", 11, 0, 0, 0, 3, 0, 0x83, 1),
		SCRIPT("changed", 11, 0, 0, 0, 13, 0, 30, 1, 3, 0, 1, 0),
		SCRIPT("join-far", 0, 0, 2, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 1),
		SCRIPT("join-relayed", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 2),
		SCRIPT("join-older", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 4),
		SCRIPT("join-wrong", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 8),
		SCRIPT("join-twice", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 0,
		       4, 0, 1, 16, 4, 0, 1, 0),
		SCRIPT("key-ends", 11, 0, 0, 0, 10, 0, 0, 0, 10, 0, 1, 9, 15, 0, 0xff, 0),
		SCRIPT("key-outlives", 11, 0, 0, 0, 10, 0, 0, 0, 10, 0, 1, 9, 3, 0, 2, 1),
		SCRIPT("list", 11, 0, 0, 0, 10, 0, 2, 0),
		SCRIPT("held", 16, 0, 7, 0, 11, 0, 0, 0, 17, 0, 0, 0, 16, 0, 0, 0),
		SCRIPT("lost", 11, 0, 0, 0, 9, 0, 0, 0, 9, 1, 0x80, 0),
		SCRIPT("visit", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 3, 0, 6, 0, 3, 0, 6, 2,
		       3, 0, 1, 0, 3, 0, 2, 0),
		SCRIPT("visit-steals", 0, 0, 4, 0, 1, 0, 8 | RDMABLK_HELLO_STEAL, 0, 2, 0, 0, 0,
		       3, 0, 6, 9),
		SCRIPT("visit-resumes", 11, 0, 0, 0, 0, 0, 0, 0, 1, 1, 8 | RDMABLK_HELLO_RESUME,
		       0x40, 2, 1, 0, 0),
		SCRIPT("visit-reads", 0, 0, 3, 0, 1, 0, 8 | RDMABLK_HELLO_READ_ONLY, 0x30, 2, 0, 0,
		       0, 3, 0, 6, 0),
		SCRIPT("visit-all", 0, 0, 4, 0, 1, 0, 15, 0x30, 2, 0, 0, 0),
		SCRIPT("visit-export", 0, 0, 0, 0, 1, 0, 0x38, 0, 2, 0, 0, 0, 3, 0, 6, 9),
		SCRIPT("many-queues", 0, 0, 0, 0, 12, 0, 125, 1, 1, 0, 0, 0, 2, 0, 0, 0),
		SCRIPT("visit-queues", 0, 0, 0, 0, 1, 0, 8, 0x30, 2, 0, 0, 0, 4, 0, 1, 0, 3, 0, 6,
		       0),
		SCRIPT("visit-stranger", 0, 0, 5, 0, 1, 0, 8, 0, 2, 0, 1, 0, 3, 0, 6, 0),
		SCRIPT("visit-list", 0, 0, 2, 0, 1, 0, 8, 0, 2, 0, 0, 0, 10, 0, 2, 0, 3, 0, 6, 0),
		SCRIPT("visit-join", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 4, 0, 1, 0),
		SCRIPT("scratch", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 3, 0, 6, 9, 3, 0, 2, 0),
		SCRIPT("scratch-twice", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 3, 0, 6, 9,
		       3, 0, 6, 9),
		SCRIPT("scratch-live", 11, 0, 0, 0, 3, 0, 6, 9),
		SCRIPT("scratch-held", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 16, 0, 1, 0,
		       3, 0, 6, 9, 3, 0, 6, 0, 3, 0, 2, 0, 17, 0, 0, 0, 16, 0, 0, 0),
		SCRIPT("scratch-full", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 0xfd, 0, 1, 0,
		       3, 0, 6, 9),
		SCRIPT("scratch-less", 0xfe, 0, 4, 1, 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0,
		       3, 0, 6, 9),
		SCRIPT("scratch-none", 0xfe, 0, 4, 0, 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0,
		       3, 0, 6, 9, 3, 0, 6, 0),
		SCRIPT("scratch-immediate", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 3, 0, 6, 9,
		       9, 0, 0xe3, 0),
		SCRIPT("scratch-key-ends", 0, 0, 0, 0, 1, 0, 8, 0, 2, 0, 0, 0, 3, 0, 6, 9,
		       10, 0, 0, 0, 10, 0, 3, 0),
	};

	write_scripts("dialog", list, ARRAY_SIZE(list));
}

/* Each command is a step: WHO, the queue, operation and tag, and the fields of the command. */
static void write_commands(void)
{
	static const struct script list[] = {
		SCRIPT("fence", 11, 0, 0, 0, 0xf0, 0, 1, 0, 0, 1, 0, 0),
		SCRIPT("flush", 11, 0, 0, 0, 0xf0, 0, 1, 1, 8, 1, 0, 1, 4, 2, 0xf0, 0, 1, 10,
		       0, 1, 0, 0, 0xf0, 0, 1, 18, 4, 1, 1, 1),
		SCRIPT("flush-fails", 11, 0, 0, 0, 0xf0, 0, 1, 1, 4, 1, 0, 1, 0xfe, 0, 1, 0,
		       0xf0, 0, 1, 10, 0, 1, 0, 0, 0xf0, 0, 1, 10, 0, 2, 0, 0),
		SCRIPT("flushes", 11, 0, 0, 0, 16, 0, 1, 0, 0xf0, 0, 1, 2, 0, 1, 0, 0, 0xf0,
		       0, 1, 10, 0, 1, 0, 0, 0xf0, 0, 1, 18, 4, 1, 0, 8, 0xff, 0, 0, 0, 16, 0,
		       0, 0),
		SCRIPT("stopped", 11, 0, 0, 0, 16, 0, 1, 0, 0xf0, 0, 1, 2, 0, 1, 0, 0, 0xf0,
		       0, 1, 11, 4, 1, 0, 8, 3, 0, 2, 0, 16, 0, 0, 0),
		SCRIPT("discard", 11, 0, 0, 0, 0xf0, 0, 1, 3, 4, 1, 0, 1, 0xf0, 0, 1, 12, 4,
		       1, 2, 1, 0xf0, 0, 1, 21, 4, 1, 4, 1),
		SCRIPT("reader-discards", 11, 0, 3, 1, 0xf0, 0, 1, 3, 4, 1, 0, 1),
		SCRIPT("tag-twice", 11, 0, 0, 0, 16, 0, 1, 0, 0xf0, 0, 1, 3, 4, 1, 0, 1, 0xf0,
		       0, 1, 3, 4, 2, 0, 1),
		SCRIPT("early", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 0, 4, 0, 2, 0,
		       0xf0, 0, 1, 0, 0, 1, 0, 0),
		SCRIPT("read-queue", 11, 0, 0, 0, 0xf0, 0, 0, 0, 0, 1, 0, 0),
		SCRIPT("no-read", 11, 0, 0, 0, 0xf0, 0, 1, 6, 4, 1, 0, 1, 0xf0, 0, 1, 7, 0x84,
		       1, 0, 1),
		SCRIPT("shutdown", 11, 0, 0, 0, 0xf0, 0, 1, 1, 4, 1, 0, 1, 0xfb, 0, 2, 9, 0, 0, 0,
		       0, 1, 1, 0, 0, 2, 1, 0, 0, 15, 0, 0xff, 0),
		SCRIPT("removal", 11, 0, 0, 0, 0xfb, 0, 9, 9, 15, 0, 0x8f, 0),
		SCRIPT("late", 11, 0, 0, 0, 0xfb, 0, 6, 9, 15, 0, 0xff, 0),
		SCRIPT("grows", 11, 0, 0, 0, 0xfc, 0, 1, 0, 0xf0, 0, 1, 3, 4, 1, 1, 1),
		SCRIPT("grows-early", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xfc, 0, 2, 0),
		SCRIPT("full", 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xfd, 0, 1, 0, 4, 0, 1, 0),
		SCRIPT("full-grant", 0, 0, 0, 0, 1, 0, 0, 0, 0xfd, 0, 1, 0, 2, 0, 0, 0),
		SCRIPT("full-begin", 0xfd, 0, 3, 0, 0, 0, 0, 0),
	};

	write_scripts("dialog", list, ARRAY_SIZE(list));
}

static void write_open(void)
{
	static const struct script list[] = {
		SCRIPT("open-full", 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xfd, 0, 1, 0, 4,
		       0, 1, 0),
		SCRIPT("open", 0xff, 11, 0, 0, 0, 3, 0, 1, 0, 3, 0, 0, 0, 3, 0, 2, 1),
		SCRIPT("open-steps", 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3,
		       0, 5, 0, 4, 0, 1, 0, 4, 0, 2, 0, 3, 0, 4, 0, 0xf0, 0, 1, 3, 4, 1, 0,
		       1),
		SCRIPT("open-wrong", 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0x20, 0),
		SCRIPT("open-join-wrong", 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1,
		       8),
		SCRIPT("open-resume", 0xff, 11, 0, 0, 0, 0, 0, 0, 0, 1, 1, 4, 0x40, 2, 1, 0,
		       0),
		SCRIPT("open-resume-other", 0xff, 0, 0, 0, 0, 12, 1, 9, 1, 1, 0, 4, 0, 2, 0, 0,
		       0),
		SCRIPT("open-steal", 0xff, 11, 0, 0, 0, 0, 0, 0, 0, 1, 3, 2, 4, 2, 3, 0, 0),
		SCRIPT("open-replace", 0xff, 11, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 1, 2, 3, 0, 0),
		SCRIPT("open-twice", 0xff, 11, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0x40, 0, 2, 3, 0,
		       0),
		SCRIPT("open-nothing", 0xff, 11, 0, 0, 0x20),
	};

	write_scripts("dialog", list, ARRAY_SIZE(list));
}

/* An uncached file: after the login 0xf9 is a READ or WRITE, 0xfa a WRITE without a command. */
static void write_uncached(void)
{
	static const struct script list[] = {
		SCRIPT("uncached", 0xfa, 11, 0, 0, 0, 0xf9, 0, 1, 0, 0, 1, 1, 2, 0xf9, 0, 1,
		       0x81, 2, 2, 0x40, 1, 3, 0, 5, 0),
		SCRIPT("uncached-carried", 0xfa, 11, 0, 0, 0, 0xf9, 0, 1, 0, 1, 1, 1, 2, 0xf9,
		       0, 1, 0x81, 3, 2, 0x40, 8, 0xf9, 0, 1, 0x82, 1, 2, 0x40, 9),
		SCRIPT("uncached-implied", 0xfa, 11, 0, 0, 0, 0xf9, 0, 1, 0x80, 0, 1, 1, 2,
		       0xfa, 0, 1, 1, 4, 1, 0xfa, 0, 1, 2, 4, 16, 0xfa, 0, 1, 0, 4, 17),
		SCRIPT("uncached-last-tag", 0xfa, 11, 0, 0, 0, 0xf9, 0, 1, 0x92, 0, 1, 1, 2,
		       0xfa, 0, 1, 0, 4, 1),
		SCRIPT("uncached-no-tag", 0xfa, 11, 0, 0, 0, 0xfa, 0, 1, 0, 4, 1),
		SCRIPT("uncached-list", 0xfa, 11, 0, 0, 0, 16, 0, 1, 0, 0xf9, 0, 1, 0x80, 0, 1,
		       1, 2, 0xf9, 0, 1, 0x81, 0, 1, 1, 2, 0xf9, 0, 1, 2, 1, 1, 1, 2, 0xf9, 0,
		       1, 3, 0, 1, 1, 2, 16, 0, 0, 0),
		SCRIPT("uncached-fails", 0xfa, 11, 0, 0, 0, 0xfe, 0, 3, 0, 0xf9, 0, 1, 0x80, 0,
		       1, 1, 2, 0xf9, 0, 1, 1, 1, 1, 1, 2, 0xf0, 0, 1, 2, 0, 1, 0, 0),
		SCRIPT("uncached-other", 0xfa, 11, 0, 0, 0, 0xf0, 0, 1, 2, 0, 1, 0, 0, 0xf0, 0,
		       1, 11, 4, 1, 0, 1, 0xf0, 0, 1, 20, 5, 1, 0, 1, 0xf0, 0, 1, 29, 4, 1, 0,
		       1),
		SCRIPT("uncached-outside", 0xfa, 11, 0, 0, 0, 0xf9, 0, 1, 0, 0x80, 1, 0xff, 9,
		       0xf9, 0, 1, 0x81, 0, 1, 1, 17, 0xfa, 0, 1, 8, 4, 1),
		SCRIPT("uncached-reader", 0xfa, 11, 0, 3, 1, 0xf9, 0, 1, 0, 0, 1, 1, 2, 0xf0, 0,
		       1, 2, 0, 1, 0, 0, 0xf9, 0, 1, 0x80, 0, 1, 1, 2, 0xfa, 0, 1, 0, 4, 1),
		SCRIPT("uncached-early", 0xfa, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 1, 0,
		       4, 0, 2, 0, 0xfa, 0, 1, 0, 4, 1),
		SCRIPT("uncached-busy", 0xfa, 11, 0, 0, 0, 16, 0, 1, 0, 0xf9, 0, 1, 0x81, 0, 1,
		       1, 2, 0xf9, 0, 1, 0x80, 0, 1, 1, 2, 0xfa, 0, 1, 0, 4, 1),
		SCRIPT("uncached-ends", 0xfa, 11, 0, 0, 0, 16, 0, 1, 0, 0xf9, 0, 1, 0x80, 0, 1,
		       1, 2, 3, 0, 2, 0, 15, 0, 0xff, 0, 16, 0, 0, 0),
		SCRIPT("uncached-full", 0xfa, 0, 0, 0, 0, 1, 0, 0, 0, 0xfd, 0, 5, 0, 2, 0, 0,
		       0),
		SCRIPT("uncached-plain", 0xfa, 0, 0, 0, 0, 1, 0, 0, 8, 2, 0, 0, 0, 4, 0, 1, 0,
		       4, 0, 2, 0, 3, 0, 4, 0, 0xf9, 0, 1, 0x80, 0, 1, 1, 2, 0xfa, 0, 1, 0, 4,
		       1),
		SCRIPT("uncached-open", 0xf9, 11, 0, 0, 0, 0xf9, 0, 1, 0x80, 0, 1, 1, 2, 0xfa,
		       0, 1, 0, 4, 1, 3, 0, 2, 1),
	};

	write_scripts("dialog", list, ARRAY_SIZE(list));
}

/* The first byte is the login; fuzz_initiator.c has the steps. */
static void write_initiator(void)
{
#define AT(field) offsetof(struct rdmablk_grant, field)	/* below 256 */
	static const struct script list[] = {
		SCRIPT("live", 0x50),
		SCRIPT("steps", 0, 5, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0,
		       5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 1, 0, 0),
		SCRIPT("polled", 8, 9, 7, 1, 8, 0, 0, 0x50),
		SCRIPT("ordered", 8, 9, 7, 2, 8, 0, 0, 0x50),
		SCRIPT("no-completion-queue", 12, 9, 4, 1, 0, 20, 0),
		SCRIPT("receive-lost", 0x50, 0, 0, 9, 6, 0),
		SCRIPT("send-lost", 0x50, 0, 0, 9, 5, 1, 2, 5),
		SCRIPT("store-lost", 0x50, 0, 0, 9, 7, 8, 0, 0, 9, 8, 1, 3, 0, 0x50),
		SCRIPT("store-lost-accepted", 0x50, 0, 0, 9, 7, 12, 0, 0, 9, 8, 1, 3, 0, 0x50),
		SCRIPT("refused", 0, 5, 0x28, RDMABLK_R_NO_EXPORT),
		SCRIPT("hint", 8, 3, 1, RDMABLK_R_STOLEN),
		SCRIPT("word", 12, 3, 0, RDMABLK_R_NO_EXPORT),
		SCRIPT("bare-word", 12, 3, 1, RDMABLK_R_NO_EXPORT),
		SCRIPT("bare-grant", 8, 2, RDMABLK_MSG_GRANT, 2),
		SCRIPT("bare-limits", 12, 2, RDMABLK_MSG_LIMITS, 2),
		SCRIPT("changed", 12, 11, 0, 30, 1, 1, 0, 0),
		SCRIPT("point", 4, 10, 0, 100, 1, 1, 0, 0),
		SCRIPT("replay", 12, 6, 0, 0),
		SCRIPT("gap", 8, 2, RDMABLK_MSG_GRANT, 1, 0, 20, 0),
		SCRIPT("stranger", 24, 5, 8, 0, 0, 20, 0),
		SCRIPT("relay", 24, 5, 16, 0, 0, 20, 0),
		SCRIPT("changed-accept", 24, 5, 24, 20, 0, 20, 0),
		SCRIPT("more-queues", 8, 10, 0, AT(nr_queues), 9, 1, 0, 0, 0, 20, 0),
		SCRIPT("deep", 8, 10, 0, AT(queue_depth), 0x80, 1, 0, 0, 0, 20, 0),
		SCRIPT("patient", 8, 10, 0, AT(session_tmo_ms) + 2, 8, 1, 0, 0, 0, 20, 0),
		SCRIPT("lasting", 8, 10, 0, AT(keep_alive_ms), 0x70, 1, 0, 0, 0, 20, 0),
		SCRIPT("large", 8, 10, 0, AT(size), 1, 1, 0, 0, 0, 20, 0),
		SCRIPT("close", 0x50, 0, 0, 3, 0, RDMABLK_R_STOLEN, 0x50),
		SCRIPT("bare-close", 0x50, 0, 0, 3, 1, RDMABLK_R_STOLEN),
		SCRIPT("events", 0x50, 0, 0, 4, 1, 9, 0, 0, 4, 3, 9, 0, 0, 4, 4, 9),
		SCRIPT("again", 0x50, 1, 0, 0, 8, 0, 2, 5, 0, 8, 0, 1, 0, 0, 8, 0, 2, 5),
		SCRIPT("again-other", 0x50, 0, 0, 13, 1, 0, 1, 0, 0, 8, 0),
		SCRIPT("again-late", 0x50, 1, 0, 1, 0, 0),
		SCRIPT("back", 0x50, 3, 0, 0x50, 3, 0, 0x50),
		SCRIPT("no-room-for-all", 24, 5, 0x28, RDMABLK_R_DEVICE_FULL, 3, 1, 0),
		SCRIPT("no-room", 24, 5, 0x28, RDMABLK_R_DEVICE_FULL, 3, 0,
		       RDMABLK_R_DEVICE_FULL),
		SCRIPT("no-room-hint", 24, 5, 0x28, RDMABLK_R_DEVICE_FULL, 3, 1,
		       RDMABLK_R_DEVICE_FULL),
		SCRIPT("staged", 0, 9, 2, 0, 0, 60, 0, 0, 0, 0, 3, 0, 0x50),
		SCRIPT("short", 0, 9, 3, 4, 0, 60, 0),
		SCRIPT("short-again", 0, 9, 3, 3, 0, 60, 0, 3, 0, 0x50),
		SCRIPT("stale", 24, 5, 0x28, RDMABLK_R_FENCING, 0, 60, 0),
		SCRIPT("stale-lasts", 24, 5, 0x28, RDMABLK_R_FENCING),
		/* version 1 */
		SCRIPT("open-staged", 0xff, 0, 9, 2, 0, 0, 60, 0),
		SCRIPT("open", 0xff, 0x50, 0, 0, 4, 1, 9, 2, 5),
		SCRIPT("open-back", 0xff, 0x50, 3, 0, 0x50, 0, 0, 3, 0, RDMABLK_R_STOLEN,
		       0x50),
		SCRIPT("open-refused", 0xff, 8, 3, 0, RDMABLK_R_AUTH_REQUIRED),
		SCRIPT("open-mac", 0xff, 8, 14, 1, 0, 0, 20, 0),
		SCRIPT("open-no-room", 0xff, 24, 5, 0x28, RDMABLK_R_DEVICE_FULL, 0, 20, 0),
		SCRIPT("open-proof", 0xff, 0, 5, 0, 0, 1, 0, 0, 2, 2, 0),
	};

	write_scripts("initiator", list, ARRAY_SIZE(list));
}

/*
 * The first byte is the number of right answers in the login, the second one the call that
 * is short of room; fuzz_client.c has the steps. What the user asks for is a byte, which
 * also has the number of right answers to it, and a value.
 */
#define LIST(right)	((right) << 3)
#define PING(right)	((right) << 3 | 1)
#define BORROW(right)	((right) << 3 | 2)
#define MEASURE(right)	((right) << 3 | 3)
#define BLAST(right)	((right) << 3 | 4)
#define LIMIT		5
#define FIND_MTU(right)	((right) << 3 | 6)
#define MTU		7

static void write_client(void)
{
#define ENTRY(field)	(offsetof(struct rdmablk_list, listed) + \
			 offsetof(struct rdmablk_listed, field))
	static const struct script list[] = {
		SCRIPT("visit", 3, 0, LIST(2), 0, PING(1), 0, MTU, 0),
		SCRIPT("steps", 0, 0, 5, 0, 0, 1, 0, 0, 1, 0, 0, LIST(0), 0, 1, 0, 0, 1, 0, 0,
		       PING(0), 0, 1, 0, 0),
		SCRIPT("scratch", 3, 0, BORROW(1), 64, MEASURE(2), 128, BLAST(31), 64),
		SCRIPT("scratch-steps", 3, 0, BORROW(0), 1, 1, 0, 0, MEASURE(0), 200, 4, 0, 0,
		       4, 0, 0),
		SCRIPT("eager", 0, 0x80, 5, 0, 0, 1, 0, 0, 1, 0, 0, BORROW(1), 64, BLAST(30),
		       99),
		SCRIPT("rejected", 0, 0, 5, 0xe1, RDMABLK_R_SHUTDOWN),
		SCRIPT("rejected-bare", 0, 0, 5, 0x41, 0),
		SCRIPT("rejected-short", 0, 0, 5, 4, 3),
		SCRIPT("event", 0, 0, 5, 2, 4),
		SCRIPT("hint", 2, 0, 3, 2, RDMABLK_R_AUTH_FAILED),
		SCRIPT("word", 2, 0, 3, 0, RDMABLK_R_NO_EXPORT),
		SCRIPT("old", 1, 0, 3, 0, RDMABLK_R_MALFORMED),
		SCRIPT("bare-visit", 2, 0, 1, 0, 2),
		SCRIPT("bare-list", 3, 0, LIST(0), 0, 1, 0, 2),
		SCRIPT("point", 1, 0, 10, 0, 100, 1, 1, 0, 0, 1, 0, 0),
		SCRIPT("session", 2, 0, 10, 0, 16, 1, 1, 0, 0),
		SCRIPT("features", 1, 0, 10, 0, 24, 1, 1, 0, 0, 1, 0, 0),
		SCRIPT("replay", 3, 0, PING(0), 0, 6, 0, 0),
		SCRIPT("gap", 3, 0, PING(0), 0, 1, 0, 1, 1, 0, 0),
		SCRIPT("changed", 3, 0, PING(0), 0, 11, 0, 30, 1, 1, 0, 0),
		SCRIPT("longer", 3, 0, PING(0), 0, 12, 0, 8, 1, 0, 0),
		SCRIPT("late-answer", 3, 0, PING(0), 0, 10, 0, 8, 1, 1, 0, 0),
		SCRIPT("count", 3, 0, LIST(0), 0, 13, 4, 5, 10, 0, 16, 8, 1, 0, 0),
		SCRIPT("more", 3, 0, LIST(0), 0, 13, 4, 3, 10, 0, 20, 1, 1, 0, 0),
		SCRIPT("name", 3, 0, LIST(0), 0, 10, 0, ENTRY(name), 0x4a, 1, 0, 0),
		SCRIPT("name-first", 3, 0, LIST(1), 0, 10, 0, ENTRY(name) + 1, 8, 1, 0, 0),
		SCRIPT("name-bell", 3, 0, LIST(0), 0, 10, 0, ENTRY(name), 0x62, 1, 0, 0),
		SCRIPT("block", 3, 0, LIST(0), 0, 10, 0, ENTRY(logical_block), 1, 1, 0, 0),
		SCRIPT("size", 3, 0, LIST(0), 0, 10, 0, ENTRY(size) + 7, 0x80, 1, 0, 0),
		SCRIPT("lends-more", 3, 0, BORROW(0), 9, 10, 0, 29, 0x40, 1, 0, 0, MEASURE(2), 255),
		SCRIPT("lends-nothing", 3, 0, BORROW(0), 0, 10, 0, 28, 1, 1, 0, 0),
		SCRIPT("lends-never", 3, 0, BORROW(0), 9, 3, 0, RDMABLK_R_MALFORMED),
		SCRIPT("immediate", 3, 0, BORROW(1), 64, MEASURE(0), 9, 9, 1, 0, 1, 0, 0, 4, 0, 0),
		SCRIPT("immediate-early", 2, 0, 9, 1, 0, 1, 0, 0),
		SCRIPT("invalidate", 3, 0, PING(0), 0, 9, 16, 0, 1, 0, 0),
		SCRIPT("overlong", 3, 0, PING(0), 0, 9, 0, 255, 1, 0, 0),
		SCRIPT("flip", 3, 0, BORROW(1), 64, MEASURE(0), 255, 13, 5, 0, 4, 0, 0, 4, 0, 0),
		SCRIPT("taken-back", 3, 0, BORROW(1), 64, MEASURE(0), 9, 4, 0, 10),
		SCRIPT("closes-blast", 3, 0, BORROW(1), 64, BLAST(3), 9, 3, 0, RDMABLK_R_KICKED),
		SCRIPT("gone", 3, 0, PING(0), 0, 8, 1, 0),
		SCRIPT("broken", 3, 0, PING(0), 0, 8, 2, 11),
		SCRIPT("silent", 3, 0, PING(0), 0),
		SCRIPT("limit", 3, 0, LIMIT, 9, PING(0), 0),
		SCRIPT("stop", 3, 0, PING(0), 0, 13, 3, 0),
		SCRIPT("deaf", 0, 0, 13, 1, 1, 0, 3, 0, PING(1), 0),
		SCRIPT("short", 3, 3),
		SCRIPT("short-scratch", 3, 9, BORROW(1), 9),
		SCRIPT("mtu", 3, 0, BORROW(1), 9, FIND_MTU(4), 0),
		SCRIPT("keep-alive", 3, 0, BORROW(1), 64, BLAST(0), 64, 13, 6, 70, 4, 0, 0,
		       1, 0, 0, 4, 0, 0, 4, 0, 0, 0, 99, 0),
		SCRIPT("flood", 3, 0, BORROW(1), 64, BLAST(2), 1, 2, 25, 0, 2, 25, 0),
		/* version 1 */
		SCRIPT("open", 0xff, 3, 0, LIST(2), 0, PING(1), 0, BORROW(1), 64, MEASURE(2), 9),
		SCRIPT("open-refused", 0xff, 1, 0, 3, 0, RDMABLK_R_AUTH_REQUIRED),
		SCRIPT("open-session", 0xff, 2, 0, 10, 0, 16, 1, 1, 0, 0),
		SCRIPT("open-count", 0xff, 3, 0, LIST(0), 0, 10, 0, 16, 8, 1, 0, 0),
		SCRIPT("open-blast", 0xff, 3, 0, BORROW(1), 64, BLAST(31), 32),
	};

	write_scripts("client", list, ARRAY_SIZE(list));
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
	write_dialog();
	write_commands();
	write_open();
	write_uncached();
	write_initiator();
	write_client();
	return 0;
}
