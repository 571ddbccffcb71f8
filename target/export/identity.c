// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UUIDs that are kept as text, each in a file: those of exports, in the state directory of the
 * export, and that of the target, in the daemon's.
 *
 * An export's UUID comes from the configuration, from the state file that an earlier start
 * wrote, or from a kept arena, in this order; only when none of them has one it is made up,
 * and then kept in the state file.
 *
 * The state directory also says which block device the path of an export has meant. After a boot
 * /dev/sdb may be another disk. The export would have the identity that initiators know, and they
 * would go on with it, and write what they have in memory over the other disk.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/state_file.h"
#include "base/util.h"
#include "export/identity.h"
#include "store/disk_stack.h"
#include "wire/mac.h"

#define TARGET_FILE	"target-id"	/* those of exports end in .uuid */

/* Reads a line, without its end. */
static void line_of(FILE *file, char *line, int size)
{
	if (!fgets(line, size, file))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/* Return: 1: read; 0: there is none; -errno, logged. */
static int read_uuid(const char *what, const char *path, uint8_t *uuid)
{
	char text[64];
	FILE *file;
	int ret;

	file = fopen(path, "re");
	if (!file) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		ret = -errno;
		log_err("%s: cannot read %s: %s", what, path, strerror(-ret));
		return ret;
	}
	line_of(file, text, sizeof(text));
	fclose(file);
	if (!value_uuid(text, uuid))
		return 1;
	log_err("%s: %s holds no UUID", what, path);
	return -EINVAL;
}

static int write_uuid(const char *dir, const char *path, const uint8_t *uuid)
{
	char text[40], line[48];

	value_uuid_text(uuid, text);
	snprintf(line, sizeof(line), "%s\n", text);
	return state_file_make_dir(dir) ?: state_file_replace(path, line);
}

static int make_uuid(uint8_t *uuid)
{
	int ret = mac_random(uuid, RDMABLK_ID_LEN);

	if (ret)
		return ret;
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);	/* version 4 */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

static void path_of(const struct config *cfg, const struct export_config *ec, char *path)
{
	snprintf(path, PATH_MAX, "%s/%s.uuid", config_state_dir(cfg, ec), ec->name);
}

/**
 * identity_known - the UUID of an export before its store is opened
 * @cfg: has the state directory
 * @ec: of the export
 * @uuid: RDMABLK_ID_LEN bytes; filled if it is known
 * @known: whether it is
 *
 * Blocks.
 *
 * Return: 0 or -errno, logged.
 */
int identity_known(const struct config *cfg, const struct export_config *ec, uint8_t *uuid,
		   bool *known)
{
	char path[PATH_MAX], what[RDMABLK_NAME_LEN + 8];
	int ret = 1;

	if (ec->has_uuid) {
		memcpy(uuid, ec->uuid, RDMABLK_ID_LEN);
	} else {
		path_of(cfg, ec, path);
		snprintf(what, sizeof(what), "export %s", ec->name);
		ret = read_uuid(what, path, uuid);
	}
	*known = ret == 1;
	return ret < 0 ? ret : 0;
}

/**
 * identity_keep - keep the UUID of an export that was not known before
 * @cfg: has the state directory
 * @ec: of the export
 * @uuid: RDMABLK_ID_LEN bytes; all zero: gets a new one
 *
 * Blocks.
 *
 * Return: 0 or -errno, logged if it cannot be kept.
 */
int identity_keep(const struct config *cfg, const struct export_config *ec, uint8_t *uuid)
{
	int ret = all_zero(uuid, RDMABLK_ID_LEN) ? make_uuid(uuid) : 0;
	char path[PATH_MAX];

	if (ret)
		return ret;
	path_of(cfg, ec, path);
	ret = write_uuid(config_state_dir(cfg, ec), path, uuid);
	if (ret)
		log_err("export %s: cannot keep its UUID in %s: %s (--state-dir, or uuid=)",
			ec->name, path, strerror(-ret));
	return ret;
}

/**
 * struct device_note - which block device the path of an export has meant
 * @file: the path
 * @name: name of the device; see disk_name()
 * @uuid: UUID of the export
 */
struct device_note {
	char file[PATH_MAX];
	char name[DISK_NAME];
	char uuid[40];
};

/* Return: 1: read; 0: there is none; -errno, logged. */
static int read_device(const struct export_config *ec, const char *path, struct device_note *note)
{
	FILE *from = fopen(path, "re");
	int ret = -errno;

	if (!from && (ret == -ENOENT || ret == -ENOTDIR))
		return 0;
	if (!from) {
		log_err("export %s: cannot read %s: %s", ec->name, path, strerror(-ret));
		return ret;
	}
	line_of(from, note->file, sizeof(note->file));
	line_of(from, note->name, sizeof(note->name));
	line_of(from, note->uuid, sizeof(note->uuid));
	fclose(from);
	return 1;
}

/*
 * Fills in what the path of an export means now, and the path of the note. Return: as disk_name();
 * -ENOENT, too, if it is not a block device
 */
static int device_now(const struct config *cfg, const struct export_config *ec,
		      const uint8_t *uuid, char *path, struct device_note *now)
{
	struct stat st;

	if (!ec->file || stat(ec->file, &st) || !S_ISBLK(st.st_mode) ||
	    snprintf(path, PATH_MAX, "%s/%s.device", config_state_dir(cfg, ec), ec->name) >=
	    PATH_MAX)
		return -ENOENT;
	snprintf(now->file, sizeof(now->file), "%s", ec->file);
	value_uuid_text(uuid, now->uuid);
	return disk_name(st.st_rdev, now->name);
}

/* Whether two notes are of one path and one UUID */
static bool same_export(const struct device_note *a, const struct device_note *b)
{
	return !strcmp(a->file, b->file) && !strcmp(a->uuid, b->uuid);
}

/* Whether two names come from one place; otherwise they may be names of one device. */
static bool same_place(const char *a, const char *b)
{
	size_t len = strcspn(a, " ");

	return len == strcspn(b, " ") && !strncmp(a, b, len);
}

/**
 * identity_device - whether the path of an export means the block device that it meant before
 * @cfg: has the state directory
 * @ec: of the export
 * @uuid: RDMABLK_ID_LEN bytes; all zero: the export gets a new one, so no initiator goes on with it
 *
 * If the path has changed since, the device may be another one.
 *
 * Blocks.
 *
 * Return: 0; -ESTALE, logged: it means another one; another -errno, logged.
 */
int identity_device(const struct config *cfg, const struct export_config *ec, const uint8_t *uuid)
{
	struct device_note was, now;
	char path[PATH_MAX];
	int has = device_now(cfg, ec, uuid, path, &now), ret;

	if (has < 0)
		return 0;
	ret = read_device(ec, path, &was);
	if (ret < 1)
		return ret;
	if (!same_export(&was, &now) || !strcmp(was.name, now.name) ||
	    (has && !same_place(was.name, now.name)))
		return 0;
	log_err("export %s: %s is another disk than before: %s, and not %s; name it by a link below /dev/disk/by-id; if it is the right one, remove %s",
		ec->name, ec->file, has ? now.name : "one without a name", was.name, path);
	return -ESTALE;
}

/**
 * identity_device_keep - note which block device the path of an export means
 * @cfg: has the state directory
 * @ec: of the export, which was opened
 * @uuid: RDMABLK_ID_LEN bytes
 *
 * Blocks. If the note cannot be written, that is logged.
 */
void identity_device_keep(const struct config *cfg, const struct export_config *ec,
			  const uint8_t *uuid)
{
	struct device_note was, now;
	char path[PATH_MAX], text[sizeof(now) + 4];
	int ret;

	if (device_now(cfg, ec, uuid, path, &now) < 1)
		return;
	if (read_device(ec, path, &was) == 1 && same_export(&was, &now) &&
	    !strcmp(was.name, now.name))
		return;
	snprintf(text, sizeof(text), "%s\n%s\n%s\n", now.file, now.name, now.uuid);
	ret = state_file_make_dir(config_state_dir(cfg, ec)) ?: state_file_replace(path, text);
	if (ret)
		log_warn("export %s: cannot note in %s which disk %s is: %s", ec->name, path,
			 ec->file, strerror(-ret));
}

/**
 * identity_target - the identity of this target, a new one if none is kept
 * @cfg: gets it
 *
 * Blocks.
 *
 * Return: 0 or -errno, logged.
 */
int identity_target(struct config *cfg)
{
	char path[PATH_MAX];
	int ret;

	if ((size_t)snprintf(path, sizeof(path), "%s/" TARGET_FILE, cfg->state_dir) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	ret = read_uuid("identity of the target", path, cfg->target_id);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = make_uuid(cfg->target_id) ?:
	      write_uuid(cfg->state_dir, path, cfg->target_id);
	if (ret)
		log_err("cannot keep the identity of the target in %s: %s (--state-dir)", path,
			strerror(-ret));
	return ret;
}
