// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What keeps a target from working well: the devices and the sysctl that its daemon needs, and
 * what the daemon says of its exports, sessions and hosts.
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "doctor_io_uring.h"
#include "doctor_target.h"
#include "files.h"
#include "shown.h"
#include "util.h"

#define SOON_DAYS	14	/* before its keys expire a host is named */
#define RESTART		"systemctl restart rdmablkd    # exports in memory without an arena lose their data"

/* The rule that closes the devices is installed as an example: not every host wants it. */
static void mend_verbs(const struct exam *d, char mend[EXAM_TEXT])
{
	static const char rule[] = "usr/local/share/doc/rdmablkd/examples/70-rdmablkd-verbs.rules";

	snprintf(mend, EXAM_TEXT,
		 "cp /usr/%sshare/doc/rdmablkd/examples/70-rdmablkd-verbs.rules /etc/udev/rules.d; udevadm control --reload; udevadm trigger --subsystem-match=infiniband_verbs --subsystem-match=misc",
		 exam_exists(d, rule) ? "local/" : "");
}

/**
 * doctor_target_verbs() - looks at the devices by which programs use RDMA
 * @d: gets the findings
 */
void doctor_target_verbs(struct exam *d)
{
	struct dirent **names;
	struct stat st;
	char path[PATH_MAX], mend[EXAM_TEXT];
	int i, nr = files_names(d->root, "dev/infiniband", NULL, &names), devices = 0, open = 0;

	for (i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;

		snprintf(path, sizeof(path), "dev/infiniband/%s", name);
		if ((strncmp(name, "uverbs", 6) && strcmp(name, "rdma_cm")) ||
		    exam_stat(d, path, &st))
			continue;
		devices++;
		if (!(st.st_mode & 006))
			continue;
		open++;
		mend_verbs(d, mend);
		exam_found(d, EXAM_WARNING, mend,
			   "any user can use /%s, send to the peers of this host, and pin memory",
			   path);
	}
	files_free(names, nr);
	if (!exam_exists(d, "dev/infiniband/rdma_cm"))
		exam_found(d, EXAM_ERROR, "modprobe -a ib_uverbs rdma_ucm",
			   "/dev/infiniband/rdma_cm is missing: the daemon cannot listen");
	else if (devices > 1 && !open)
		exam_found(d, EXAM_OK, NULL,
			   "the devices below /dev/infiniband are for their group");
	else if (devices == 1)
		exam_found(d, EXAM_ERROR, "modprobe ib_uverbs",
			   "no /dev/infiniband/uverbsN: the daemon can use no RDMA device");
}

/**
 * doctor_target_io_uring() - looks whether the daemon may use io_uring
 * @d: gets the findings
 */
void doctor_target_io_uring(struct exam *d)
{
	doctor_io_uring_check(d, d->here ? control_pid(d->control) : -ENOENT);
}

/* Copies what follows @begin in a line of /proc/PID/NAME. Returns whether there is one. */
static bool proc_line(pid_t pid, const char *name, const char *begin, char rest[EXAM_LINE])
{
	char path[64], line[EXAM_LINE];
	bool has = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!has && fgets(line, sizeof(line), file))
		has = !strncmp(line, begin, strlen(begin));
	fclose(file);
	if (has)
		snprintf(rest, EXAM_LINE, "%s", line + strlen(begin));
	return has;
}

static void check_memlock(struct exam *d, pid_t pid)
{
	char limit[EXAM_LINE], caps[EXAM_LINE];
	bool any;

	if (!proc_line(pid, "limits", "Max locked memory", limit) ||
	    !proc_line(pid, "status", "CapEff:", caps))
		return;
	/* The soft limit: the daemon does not raise it to the hard one, which stands behind it. */
	any = !strncmp(limit + strspn(limit, " "), "unlimited", 9) ||
	      strtoull(caps, NULL, 16) & 1ULL << CAP_IPC_LOCK;
	if (any)
		exam_found(d, EXAM_OK, NULL, "the daemon may lock any amount of memory");
	else
		exam_found(d, EXAM_WARNING,
			   "systemctl edit rdmablkd    # [Service] LimitMEMLOCK=infinity",
			   "the daemon may lock %llu bytes only: exports of memory may be larger",
			   strtoull(limit, NULL, 10));
}

static bool is_set(struct json_object *export, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(export, key, &value) && json_object_get_boolean(value);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && value ?
	       json_object_get_string(value) : "";
}

static void check_export(struct exam *d, struct json_object *export)
{
	const char *name = text_of(export, "name");
	char mend[EXAM_TEXT];

	if (!strcmp(text_of(export, "state"), "closed")) {
		snprintf(mend, sizeof(mend), "rdmablk target reopen %s", shown_name(name));
		exam_found(d, EXAM_ERROR, mend, "export %s: its store could not be opened again",
			   name);
	} else if (is_set(export, "failed")) {
		/* Without --force it is refused while a session uses the export. */
		snprintf(mend, sizeof(mend), "rdmablk target reopen --force %s",
			 shown_name(name));
		exam_found(d, EXAM_ERROR, mend,
			   "export %s: an fdatasync has failed: unmount its disks and repair what is below the file first",
			   name);
	}
}

static struct json_object *list_of(struct json_object *answer, const char *key)
{
	struct json_object *list;

	return json_object_object_get_ex(answer, key, &list) &&
	       json_object_is_type(list, json_type_array) ? list : NULL;
}

/* Returns the answer of the daemon, or NULL. A daemon that was silent is not asked again. */
static struct json_object *ask(struct exam *d, const char *command, char why[CONTROL_WHY])
{
	struct json_object *request, *answer = NULL;
	int err;

	if (d->silent)
		return NULL;
	request = json_object_new_object();
	json_object_object_add(request, "version", json_object_new_int(1));
	json_object_object_add(request, "command", json_object_new_string(command));
	err = control_ask(d->control, request, CONTROL_LIMIT, &answer, NULL, why);
	json_object_put(request);
	d->silent = err == ETIMEDOUT;
	return err ? NULL : answer;
}

/* Daemons of other versions are understood as far as they go. */
static void check_version(struct exam *d, struct json_object *answer)
{
	struct json_object *daemon;
	const char *version = "";

	if (json_object_object_get_ex(answer, "daemon", &daemon))
		version = text_of(daemon, "version");
	if (*version && strcmp(version, RDMABLK_TOOLS_VERSION))
		exam_found(d, EXAM_WARNING, RESTART,
			   "the daemon has version %.64s, the tool %s: it was not restarted after an upgrade, or only one of them was upgraded",
			   version, RDMABLK_TOOLS_VERSION);
}

static void check_exports(struct exam *d)
{
	struct json_object *answer, *exports;
	char why[CONTROL_WHY];
	size_t i;

	answer = ask(d, "metrics", why);
	exports = list_of(answer, "exports");
	if (!answer) {
		exam_found(d, EXAM_ERROR, "journalctl -u rdmablkd", "%s", why);
	} else if (exports) {
		exam_found(d, EXAM_OK, NULL, "the daemon answers, and has %zu exports",
			   json_object_array_length(exports));
		for (i = 0; i < json_object_array_length(exports); i++)
			check_export(d, json_object_array_get_idx(exports, i));
		check_version(d, answer);
	} else {
		exam_found(d, EXAM_ERROR, RESTART,
			   "the daemon does not understand this tool: they are of different versions");
	}
	json_object_put(answer);
}

/**
 * doctor_target_daemon() - asks the daemon for its exports and its version
 * @d: gets the findings
 */
void doctor_target_daemon(struct exam *d)
{
	pid_t pid;

	if (!d->here)
		return;
	pid = control_pid(d->control);
	if (pid == -EACCES) {
		exam_found(d, EXAM_NOTE, NULL,
			   "only root and the daemon's user can ask the daemon");
	} else if (pid == -ETIMEDOUT) {
		d->silent = true;
		exam_found(d, EXAM_ERROR, "journalctl -u rdmablkd",
			   "the daemon takes no connection: %s", d->control);
	} else if (pid < 0) {
		exam_found(d, EXAM_ERROR, "systemctl start rdmablkd",
			   "the daemon does not run: %s: %s", d->control, strerror(-pid));
	} else {
		check_exports(d);
		check_memlock(d, pid);
	}
}

/*
 * Sessions of hosts that the target takes for one: hosts with one key, or, where there are no keys,
 * with one identity
 */

/**
 * struct seat - a session
 * @id: identity that its host gives
 * @name: name that its host gives itself
 * @proven: host whose key it has proven; "": none
 * @address: of its host
 */
struct seat {
	const char *id, *name, *proven, *address;
};

static int by_host(const void *first, const void *second)
{
	const struct seat *a = first, *b = second;
	int ret = strcmp(a->proven, b->proven);

	return ret || *a->proven ? ret : strcmp(a->id, b->id);
}

/* Returns the sessions in use, in the order of hosts; @nr: how many. */
static struct seat *seats_of(struct json_object *sessions, size_t *nr)
{
	size_t i, all = json_object_array_length(sessions);
	struct seat *seats = calloc(all + 1, sizeof(*seats));

	*nr = 0;
	for (i = 0; i < all && seats; i++) {
		struct json_object *session = json_object_array_get_idx(sessions, i);
		struct seat seat = {
			.id = text_of(session, "host_id"), .name = text_of(session, "host"),
			.proven = text_of(session, "auth_host"),
			.address = text_of(session, "address"),
		};

		if (*seat.id && !is_set(session, "visit") &&
		    !strcmp(text_of(session, "state"), "live"))
			seats[(*nr)++] = seat;
	}
	if (seats)
		qsort(seats, *nr, sizeof(*seats), by_host);
	return seats;
}

/* A host with a key may change its name; its identity says whether it is the same machine. */
static bool are_two(const struct seat *a, const struct seat *b)
{
	return *a->proven ? strcmp(a->id, b->id) : strcmp(a->name, b->name);
}

static void found_twins(struct exam *d, const struct seat *a, const struct seat *b)
{
	static const char mend[] =
		"uuidgen > /etc/rdmablk/host-id    # on one of them, while it has no disk";

	if (are_two(a, b) && *a->proven)
		exam_found(d, EXAM_WARNING,
			   "rdmablk key new --name NAME --out FILE    # and a [host NAME] for one of them",
			   "%.40s (%.50s) and %.40s (%.50s) have the key of one host, %.40s: the target takes them for one",
			   a->name, a->address, b->name, b->address, a->proven);
	else if (are_two(a, b))
		exam_found(d, EXAM_WARNING, mend,
			   "%.40s (%.50s) and %.40s (%.50s) have the same identity: the target takes them for one host",
			   a->name, a->address, b->name, b->address);
	else
		exam_found(d, EXAM_NOTE, mend,
			   "one identity comes from %.50s and %.50s: these are two addresses of host %.40s, or two hosts that have a wrong identity",
			   a->address, b->address, a->name);
}

/* Looks at a group of sessions that are of one host for the target; one finding is enough. */
static bool check_group(struct exam *d, const struct seat *seats, size_t nr)
{
	const struct seat *other = NULL;
	size_t i;

	for (i = 1; i < nr; i++) {
		if (are_two(&seats[i], seats)) {
			other = &seats[i];
			break;
		}
		if (!other && strcmp(seats[i].address, seats->address))
			other = &seats[i];
	}
	if (other)
		found_twins(d, seats, other);
	return other;
}

/**
 * doctor_target_sessions() - looks for hosts that have the identity or the key of another one
 * @d: gets the findings
 */
void doctor_target_sessions(struct exam *d)
{
	struct json_object *answer, *sessions;
	char why[CONTROL_WHY];
	struct seat *seats = NULL;
	size_t i, nr = 0, group;
	bool twins = false;

	if (!d->here)
		return;
	answer = ask(d, "sessions", why);
	sessions = list_of(answer, "sessions");
	if (sessions)
		seats = seats_of(sessions, &nr);
	for (i = 0; i < nr; i += group) {
		for (group = 1; i + group < nr && !by_host(&seats[i], &seats[i + group]);)
			group++;
		twins |= check_group(d, &seats[i], group);
	}
	if (seats && !twins)
		exam_found(d, EXAM_OK, NULL, "sessions in use: %zu; no two hosts have one identity",
			   nr);
	free(seats);
	json_object_put(answer);
}

/*
 * Hosts whose keys expire
 */

/* Returns the days from now to a date, rounded down. */
static long days_until(const char *date)
{
	struct tm tm = { 0 };
	const char *end = strptime(date, "%Y-%m-%d", &tm);

	return end && !*end ? (timegm(&tm) - time(NULL)) / 86400 : LONG_MAX;
}

/* Returns whether all is well. */
static bool check_host(struct exam *d, struct json_object *host)
{
	const char *name = text_of(host, "name"), *date = text_of(host, "expires");
	bool expired = is_set(host, "expired");
	char mend[EXAM_TEXT];
	long days;

	if (!*date)
		return true;
	d->expiring = true;
	days = days_until(date);
	if (!expired && days >= SOON_DAYS)
		return true;
	if (is_set(host, "by_hand"))
		snprintf(mend, sizeof(mend),
			 "rdmablk target host remove %s    # then 'host add' with a new expires",
			 shown_name(name));
	else
		snprintf(mend, sizeof(mend),
			 "rdmablk target reload    # after a new expires in [host %s]",
			 shown_name(name));
	if (expired)
		exam_found(d, EXAM_WARNING, mend,
			   "host %.63s: its keys have expired on %.16s: it cannot log in",
			   name, date);
	else
		exam_found(d, EXAM_WARNING, mend,
			   "host %.63s: its keys expire on %.16s, in %ld days", name, date, days);
	return false;
}

/**
 * doctor_target_hosts() - looks for hosts whose keys have expired, or soon will
 * @d: gets the findings
 */
void doctor_target_hosts(struct exam *d)
{
	struct json_object *answer, *hosts;
	char why[CONTROL_WHY];
	bool well = true;
	size_t i;

	if (!d->here)
		return;
	answer = ask(d, "host list", why);
	hosts = list_of(answer, "hosts");
	for (i = 0; hosts && i < json_object_array_length(hosts); i++)
		well &= check_host(d, json_object_array_get_idx(hosts, i));
	if (hosts && well)
		exam_found(d, EXAM_OK, NULL, "no key of the %zu hosts ends within %d days",
			   json_object_array_length(hosts), SOON_DAYS);
	json_object_put(answer);
}
