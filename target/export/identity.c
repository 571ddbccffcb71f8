// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UUIDs that are kept in the state directory, each as text in a file: those of exports, and
 * that of the target.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "base/state_file.h"
#include "base/util.h"
#include "export/identity.h"
#include "wire/mac.h"

#define TARGET_FILE	"target-id"	/* those of exports end in .uuid */

/**
 * identity_read - read a UUID
 * @what: whose, for messages
 * @path: of its file
 * @uuid: RDMABLK_ID_LEN bytes
 *
 * Blocks.
 *
 * Return: 1: read; 0: there is none; -errno, logged.
 */
int identity_read(const char *what, const char *path, uint8_t *uuid)
{
	char text[64] = "";
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
	if (fgets(text, sizeof(text), file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
	if (!value_uuid(text, uuid))
		return 1;
	log_err("%s: %s holds no UUID", what, path);
	return -EINVAL;
}

/**
 * identity_write - keep a UUID
 * @dir: state directory; made if there is none
 * @path: of its file, in @dir
 * @uuid: RDMABLK_ID_LEN bytes
 *
 * Blocks.
 *
 * Return: 0 or -errno.
 */
int identity_write(const char *dir, const char *path, const uint8_t *uuid)
{
	char text[40], line[48];

	value_uuid_text(uuid, text);
	snprintf(line, sizeof(line), "%s\n", text);
	return state_file_make_dir(dir) ?: state_file_replace(path, line);
}

/**
 * identity_make - make a random UUID
 * @uuid: RDMABLK_ID_LEN bytes
 *
 * Return: 0 or -errno.
 */
int identity_make(uint8_t *uuid)
{
	int ret = mac_random(uuid, RDMABLK_ID_LEN);

	if (ret)
		return ret;
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);	/* version 4 */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
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
	ret = identity_read("identity of the target", path, cfg->target_id);
	if (ret)
		return ret < 0 ? ret : 0;
	ret = identity_make(cfg->target_id) ?:
	      identity_write(cfg->state_dir, path, cfg->target_id);
	if (ret)
		log_err("cannot keep the identity of the target in %s: %s (--state-dir)", path,
			strerror(-ret));
	return ret;
}
