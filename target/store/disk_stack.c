// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What sysfs says of a block device: which one it is, and which others it is made of.
 *
 * md and the device mapper write a request to several devices from the same memory, to one a
 * little earlier than to the other. If the memory changes in between, as an arena does, the
 * devices get different data, and nobody makes them equal. Later each read gets the data of any of
 * them.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"
#include "store/disk_stack.h"

#define STACK_DEPTH	8	/* devices made of others, one on the other */

/* Reads the first line of a file below @place without blanks at its end, or nothing. */
static void line_of(const char *place, const char *name, char *line, int size)
{
	size_t len;

	char path[PATH_MAX];
	FILE *file = NULL;

	line[0] = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", place, name) < sizeof(path))
		file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(line, size, file))
		line[0] = '\0';
	fclose(file);
	for (len = strlen(line); len && isspace((unsigned char)line[len - 1]); len--)
		line[len - 1] = '\0';
}

/**
 * disk_attribute - an attribute of a device, or of the disk that it is a partition of
 * @dev: number of the device
 * @name: path of the attribute below the directory that sysfs has for the device
 * @text: its first line, without blanks at the end; empty if there is none
 * @size: bytes of @text
 *
 * Return: true: @text is not empty.
 */
bool disk_attribute(dev_t dev, const char *name, char *text, int size)
{
	char place[96];

	snprintf(place, sizeof(place), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	line_of(place, name, text, size);
	if (text[0])
		return true;
	snprintf(place, sizeof(place), "/sys/dev/block/%u:%u/..", major(dev), minor(dev));
	line_of(place, name, text, size);
	return text[0];
}

/**
 * disk_stacked - whether a device, or the disk of a partition, is made of others
 * @dev: number of the device
 *
 * Return: true: it is, or that is unknown.
 */
bool disk_stacked(dev_t dev)
{
	static const char * const places[] = {
		"/sys/dev/block/%u:%u/slaves", "/sys/dev/block/%u:%u/../slaves",
	};
	const struct dirent *entry;
	char path[96];
	DIR *dir = NULL;

	for (size_t i = 0; !dir && i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), places[i], major(dev), minor(dev));
		dir = opendir(path);
	}
	if (!dir)
		return true;
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	closedir(dir);
	return entry;
}

/*
 * Whether a device that is made of others may write a request to several of them. Of md this is
 * known. Of the device mapper it is known that the paths of multipath, and the two devices of a
 * thin pool, have no copies. Others, such as bcache, may.
 */
static bool makes_copies(const char *place, unsigned int slaves)
{
	char line[256];
	size_t len;

	line_of(place, "md/level", line, sizeof(line));
	if (line[0])
		return !strncmp(line, "raid1", 5);	/* raid10, too */
	line_of(place, "dm/uuid", line, sizeof(line));
	len = strlen(line);
	return slaves > 1 && strncmp(line, "mpath-", 6) &&
	       (len < 6 || strcmp(line + len - 6, "-tpool"));
}

static bool has_copies(const char *place, unsigned int depth);

/* Whether a device, or the disk of a partition, keeps copies. @place: has room for more */
static bool part_has_copies(char *place, size_t size, unsigned int depth)
{
	size_t len = strlen(place);

	if (len + sizeof("/..") > size)
		return true;
	if (has_copies(place, depth))
		return true;
	memcpy(place + len, "/..", sizeof("/.."));
	return has_copies(place, depth);
}

/* Whether a device of sysfs keeps copies of its data, or one that it is made of does */
static bool has_copies(const char *place, unsigned int depth)
{
	const struct dirent *entry;
	unsigned int slaves = 0;
	bool found = false;
	char path[PATH_MAX];
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/slaves", place) >= sizeof(path))
		return true;
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		slaves++;
		found = !depth || (size_t)snprintf(path, sizeof(path), "%s/slaves/%s", place,
						   entry->d_name) >= sizeof(path) ||
			part_has_copies(path, sizeof(path), depth - 1);
	}
	closedir(dir);
	return found || makes_copies(place, slaves);
}

/**
 * disk_copies - whether a device, or the disk of a partition, may keep copies of its data
 * @dev: number of the device; one that is unknown has no copies
 *
 * Return: true: memory that changes while it is written directly may leave different data in the
 * copies.
 */
bool disk_copies(dev_t dev)
{
	char place[96];

	snprintf(place, sizeof(place), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	return part_has_copies(place, sizeof(place), STACK_DEPTH);
}

/**
 * disk_name - the name that a device keeps when its number changes
 * @dev: number of the device
 * @name: DISK_NAME bytes; empty if there is none
 *
 * It comes from the hardware, or from the metadata of md and the device mapper. That of a partition
 * is the name of its disk and the number of the partition. The first word says where it comes from.
 * A name of zeroes does not count: an array of md has it before it runs.
 *
 * Return: 1: it has one; 0: it has none; -ENOENT: sysfs does not know the device.
 */
int disk_name(dev_t dev, char *name)
{
	static const char * const from[] = {
		"wwid", "device/wwid", "dm/uuid", "md/uuid", "serial", "device/serial",
	};
	char place[96], part[16], value[256];
	size_t i;

	name[0] = '\0';
	disk_attribute(dev, "partition", part, sizeof(part));
	for (i = 0; i < ARRAY_SIZE(from); i++) {
		if (!disk_attribute(dev, from[i], value, sizeof(value)) ||
		    !value[strspn(value, "0:-")])
			continue;
		snprintf(name, DISK_NAME, "%s %s%s%s", from[i], value, part[0] ? " part " : "",
			 part);
		return 1;
	}
	snprintf(place, sizeof(place), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	return access(place, F_OK) ? -ENOENT : 0;
}
