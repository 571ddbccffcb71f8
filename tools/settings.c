// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options whose value is a number for the module, and the attributes that carry
 * them. The ranges are those of rdmablk_netlink.h, so that errors are found before
 * anything is sent; the kernel checks all values again.
 */
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "rdmablk_proto.h"
#include "report.h"
#include "settings.h"
#include "util.h"

#define OFF	((__u32)-1)

static const struct number_info {
	const char *name;
	const char *unit;
	__u32 min;
	__u32 max;
	__u16 attr;
} numbers[] = {
#define NUMBER(attr, name, unit, min, max) \
	[SETTING_ID_##attr - SETTING_FIRST] = { name, unit, min, max, \
						RDMABLK_ATTR_##attr }
	NUMBER(QUEUES, "queues", "", 1, 256),
	NUMBER(POLL_QUEUES, "poll-queues", "", 0, 128),
	NUMBER(QUEUE_DEPTH, "queue-depth", "", 1, 1024),
	NUMBER(KEEP_ALIVE_TMO, "keep-alive-tmo", " seconds", 1, 600),
	NUMBER(CONNECT_TMO, "connect-tmo", " seconds", 1, 600),
	NUMBER(RECONNECT_DELAY, "reconnect-delay", " seconds", 1, 600),
	NUMBER(FAST_IO_FAIL_TMO, "fast-io-fail-tmo", " seconds, or off", 0, 86400),
	NUMBER(DEV_LOSS_TMO, "dev-loss-tmo", " seconds, or off", 0, 1000000),
	NUMBER(IO_TMO, "io-tmo", " seconds, or off", 0, 86400),
	NUMBER(REAUTH_TMO, "reauth-tmo", " seconds, or off", 0, 604800),
	NUMBER(ACK_TIMEOUT, "ack-timeout", "", 0, 22),
	NUMBER(TOS, "tos", ", or off", 0, 255),
#undef NUMBER
};

static int set_number(const struct opts_origin *origin,
		      const struct number_info *info, const char *value,
		      __u32 *number)
{
	if (attr_table[info->attr].kind == ATTR_TMO &&
	    (!strcmp(value, "off") || !strcmp(value, "-1"))) {
		*number = OFF;
		return 0;
	}
	return opts_number(origin, info->name, value, info->min, info->max,
			   info->unit, number);
}

static int set_on_data_loss(const struct opts_origin *origin, const char *value,
			    __u32 *number)
{
	if (!strcmp(value, "fail")) {
		*number = RDMABLK_DATA_LOSS_FAIL;
	} else if (!strcmp(value, "continue")) {
		*number = RDMABLK_DATA_LOSS_CONTINUE;
	} else {
		return opts_refuse(origin, "on-data-loss",
				   "'%s' is neither fail nor continue", value);
	}
	return 0;
}

static int set_timed(const struct opts_origin *origin, const char *value, __u32 *number)
{
	bool on = false;
	int ret = opts_switch(origin, "timed", value, &on);

	*number = on;
	return ret;
}

/**
 * settings_set() - takes an option
 * @origin: where it was given
 * @settings: gets the number
 * @id: enum setting
 * @value: what the user wrote
 *
 * Returns 0 or the exit status after a complaint.
 */
int settings_set(const struct opts_origin *origin, struct settings *settings,
		 int id, const char *value)
{
	const struct number_info *info;
	__u16 attr;
	int ret;

	if (id == SETTING_ID_ON_DATA_LOSS) {
		attr = RDMABLK_ATTR_ON_DATA_LOSS;
		ret = set_on_data_loss(origin, value, &settings->number[attr]);
	} else if (id == SETTING_ID_TIMED) {
		attr = RDMABLK_ATTR_TIMED;
		ret = set_timed(origin, value, &settings->number[attr]);
	} else {
		info = &numbers[id - SETTING_FIRST];
		attr = info->attr;
		ret = set_number(origin, info, value, &settings->number[attr]);
	}
	if (!ret)
		settings->given[attr] = true;
	return ret;
}

/**
 * settings_get() - the number of a setting
 * @settings: the settings
 * @attr: the setting
 * @otherwise: the result for a setting that was not given
 */
__u32 settings_get(const struct settings *settings, __u16 attr, __u32 otherwise)
{
	return settings->given[attr] ? settings->number[attr] : otherwise;
}

/* Checks the two timeouts of outages. */
static int check_outage(const struct opts_origin *origin,
			const struct settings *settings, bool defaults)
{
	bool given = settings->given[RDMABLK_ATTR_DEV_LOSS_TMO];
	__u32 fast = settings_get(settings, RDMABLK_ATTR_FAST_IO_FAIL_TMO, OFF);
	__u32 loss = settings_get(settings, RDMABLK_ATTR_DEV_LOSS_TMO,
				  defaults ? SETTING_DEV_LOSS_TMO : OFF);

	if (fast == OFF || loss == OFF || fast < loss || (!fast && !loss))
		return 0;
	return report_usage(origin->what,
			    "%sfast-io-fail-tmo %u is not shorter than %sdev-loss-tmo %u%s",
			    origin->dashes, fast, origin->dashes, loss,
			    given ? "" : ", the default");
}

/* 0 means the value of the path record. Values from 1 to 7 break any connection. */
static int check_ack_timeout(const struct opts_origin *origin,
			     const struct settings *settings)
{
	__u32 n = settings_get(settings, RDMABLK_ATTR_ACK_TIMEOUT, 0);

	if (!n || n >= 8)
		return 0;
	return report_usage(origin->what, "%sack-timeout %u is neither 0 nor 8 to 22",
			    origin->dashes, n);
}

/**
 * settings_check() - do the settings go together?
 * @origin: where they were given
 * @settings: all that were given
 * @defaults: settings that were not given have the module's defaults; otherwise
 *	they are unknown, and only the module can check
 *
 * Returns 0 or the exit status after a complaint.
 */
int settings_check(const struct opts_origin *origin,
		   const struct settings *settings, bool defaults)
{
	int ret = check_outage(origin, settings, defaults);

	return ret ? ret : check_ack_timeout(origin, settings);
}

/**
 * settings_put() - adds the given settings to a request
 * @nlh: request
 * @settings: the settings
 */
void settings_put(struct nlmsghdr *nlh, const struct settings *settings)
{
	unsigned int attr;

	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++) {
		if (!settings->given[attr])
			continue;
		if (attr_table[attr].kind == ATTR_U8 || attr_table[attr].kind == ATTR_BOOL)
			mnl_attr_put_u8(nlh, attr, settings->number[attr]);
		else
			mnl_attr_put_u32(nlh, attr, settings->number[attr]);
	}
}
