/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_SETTINGS_H
#define RDMABLK_TOOLS_SETTINGS_H

#include <stdbool.h>
#include <linux/types.h>

#include <libmnl/libmnl.h>

#include "opts.h"
#include "rdmablk_netlink.h"

/* Defaults of the module, as in rdmablk_netlink.h. */
#define SETTING_KEEP_ALIVE_TMO	5
#define SETTING_CONNECT_TMO	10
#define SETTING_DEV_LOSS_TMO	600

/* Options that are settings: ids for opts_parse(), apart from letters and enums. */
enum setting {
	SETTING_FIRST = 0x1000,
	SETTING_ID_QUEUES = SETTING_FIRST,
	SETTING_ID_POLL_QUEUES,
	SETTING_ID_QUEUE_DEPTH,
	SETTING_ID_KEEP_ALIVE_TMO,
	SETTING_ID_CONNECT_TMO,
	SETTING_ID_RECONNECT_DELAY,
	SETTING_ID_FAST_IO_FAIL_TMO,
	SETTING_ID_DEV_LOSS_TMO,
	SETTING_ID_IO_TMO,
	SETTING_ID_REAUTH_TMO,
	SETTING_ID_ACK_TIMEOUT,
	SETTING_ID_TOS,
	SETTING_ID_ON_DATA_LOSS,
	SETTING_ID_TIMED,
};

/* Entries of option tables, for the settings that connect and set both have. */
#define SETTING_OPTION_KEEP_ALIVE_TMO \
	{ "keep-alive-tmo", 0, SETTING_ID_KEEP_ALIVE_TMO, "S", \
	  "seconds until a silent target counts as dead, 1 to 600 (5)" }
#define SETTING_OPTION_RECONNECT_DELAY \
	{ "reconnect-delay", 0, SETTING_ID_RECONNECT_DELAY, "S", \
	  "most seconds between two tries to reconnect, 1 to 600 (2)" }
#define SETTING_OPTION_FAST_IO_FAIL_TMO \
	{ "fast-io-fail-tmo", 0, SETTING_ID_FAST_IO_FAIL_TMO, "S", \
	  "seconds of an outage until I/O fails, 0 to 86400, or off (off)" }
#define SETTING_OPTION_DEV_LOSS_TMO \
	{ "dev-loss-tmo", 0, SETTING_ID_DEV_LOSS_TMO, "S", \
	  "seconds until reconnecting ends, 0 to 1000000, or off (600)" }
#define SETTING_OPTION_IO_TMO \
	{ "io-tmo", 0, SETTING_ID_IO_TMO, "S", \
	  "seconds that a command may take, 0 to 86400, or off (30)" }
#define SETTING_OPTION_ON_DATA_LOSS \
	{ "on-data-loss", 0, SETTING_ID_ON_DATA_LOSS, "DO", \
	  "when the store has lost its contents: fail or continue (fail)" }

#define SETTING_OPTION_REAUTH_TMO \
	{ "reauth-tmo", 0, SETTING_ID_REAUTH_TMO, "S", \
	  "seconds between two proofs of the key, 0 to 604800, or off (3600)" }

/* A key is no number, so it is not in struct settings: each command keeps it itself. */
#define SETTING_OPTION_KEY(id) \
	{ "key", 0, id, "NAME", \
	  "key to log in with, see 'rdmablk key' (none)" }

/**
 * struct settings - numbers for the module
 * @given: by enum rdmablk_attr: to be sent
 * @number: by enum rdmablk_attr: the numbers; signed ones in two's complement
 */
struct settings {
	bool given[RDMABLK_ATTR_MAX + 1];
	__u32 number[RDMABLK_ATTR_MAX + 1];
};

int settings_set(const struct opts_origin *origin, struct settings *settings,
		 int id, const char *value);
int settings_check(const struct opts_origin *origin,
		   const struct settings *settings, bool defaults);
__u32 settings_get(const struct settings *settings, __u16 attr, __u32 otherwise);
void settings_put(struct nlmsghdr *nlh, const struct settings *settings);

#endif /* RDMABLK_TOOLS_SETTINGS_H */
