// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Disks as /sys/block shows them to everybody; the module itself answers only root. With /proc
 * this file also finds the users of a disk.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "files.h"
#include "report.h"
#include "shown.h"
#include "sysfs.h"
#include "util.h"

#define BLOCK		"/sys/block"
#define MOST_NAMES	4	/* in an error message */
#define NUMBERS		4096	/* bytes for the device numbers of a disk and its partitions */
#define SECTOR		512	/* unit of "size", whatever the block of the disk */

/* --- the disks there are --------------------------------------------------------- */

/**
 * sysfs_is_disk() - is an entry of /sys/block a disk of the module?
 * @entry: the entry
 *
 * Returns 0 or 1, as files_names() wants it.
 */
int sysfs_is_disk(const struct dirent *entry)
{
	char why[128];
	__u32 index;

	return !device_parse_name(entry->d_name, &index, why, sizeof(why));
}

static int open_block(void)
{
	return open(BLOCK, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Appends to a text of @size bytes. */
__printf(3, 4)
static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + len, size - len, fmt, args);
	va_end(args);
}

/**
 * sysfs_name_disks() - adds to "no such device" which ones there are
 * @failure: of a request about one disk; unchanged unless it is ENODEV
 */
void sysfs_name_disks(struct nl_failure *failure)
{
	int block = failure->err == ENODEV ? open_block() : -1, i, nr;
	struct dirent **names;

	nr = files_names(block, ".", sysfs_is_disk, &names);
	for (i = 0; i < nr && i < MOST_NAMES; i++)
		append(failure->text, sizeof(failure->text), "%s%s",
		       i ? ", " : nr > 1 ? "; there are " : "; there is ", names[i]->d_name);
	if (nr > MOST_NAMES)
		append(failure->text, sizeof(failure->text), " and %d more", nr - MOST_NAMES);
	files_free(names, nr);
	if (block >= 0)
		close(block);
}

/* --- attributes ------------------------------------------------------------------- */

/* Files that do not have the name of the attribute; NULL: there is none */
static const struct {
	unsigned int attr;
	const char *file;
} files[] = {
	{ RDMABLK_ATTR_SIZE, "size" },
	{ RDMABLK_ATTR_READ_ONLY, "ro" },
	{ RDMABLK_ATTR_LOGICAL_BLOCK, "queue/logical_block_size" },
	{ RDMABLK_ATTR_PHYSICAL_BLOCK, "queue/physical_block_size" },
	{ RDMABLK_ATTR_SESSION_TMO, "rdmablk/session_tmo_ms" },
	{ RDMABLK_ATTR_STATE, "rdmablk/state" },
	{ RDMABLK_ATTR_REASON, "rdmablk/reason" },
	{ RDMABLK_ATTR_TARGET, "rdmablk/target" },
	{ RDMABLK_ATTR_TARGET_NAME, "rdmablk/target_name" },
	{ RDMABLK_ATTR_EXPORT, "rdmablk/export" },
	{ RDMABLK_ATTR_UUID, "rdmablk/uuid" },
	{ RDMABLK_ATTR_EPOCH, "rdmablk/epoch" },
	{ RDMABLK_ATTR_SESSION_ID, "rdmablk/session_id" },
	{ RDMABLK_ATTR_AUTH, "rdmablk/auth" },
	{ RDMABLK_ATTR_KEY, "rdmablk/key" },
	{ RDMABLK_ATTR_QUEUES, "rdmablk/queues" },
	{ RDMABLK_ATTR_POLL_QUEUES, "rdmablk/poll_queues" },
	{ RDMABLK_ATTR_QUEUE_DEPTH, "rdmablk/queue_depth" },
	{ RDMABLK_ATTR_READ_DEPTH, "rdmablk/read_depth" },
	{ RDMABLK_ATTR_REGIONS, "rdmablk/regions" },
	{ RDMABLK_ATTR_IBDEV, "rdmablk/ibdev" },
	{ RDMABLK_ATTR_KEEP_ALIVE_TMO, "rdmablk/keep_alive_tmo" },
	{ RDMABLK_ATTR_KEEP_ALIVE_ASKED, "rdmablk/keep_alive_asked" },
	{ RDMABLK_ATTR_RECONNECT_DELAY, "rdmablk/reconnect_delay" },
	{ RDMABLK_ATTR_FAST_IO_FAIL_TMO, "rdmablk/fast_io_fail_tmo" },
	{ RDMABLK_ATTR_DEV_LOSS_TMO, "rdmablk/dev_loss_tmo" },
	{ RDMABLK_ATTR_IO_TMO, "rdmablk/io_tmo" },
	{ RDMABLK_ATTR_REAUTH_TMO, "rdmablk/reauth_tmo" },
	{ RDMABLK_ATTR_ON_DATA_LOSS, "rdmablk/on_data_loss" },
	{ RDMABLK_ATTR_IO_FAILING, "rdmablk/io_failing" },
	{ RDMABLK_ATTR_RECONNECTS, "rdmablk/reconnects" },
	{ RDMABLK_ATTR_ATTEMPTS, "rdmablk/attempts" },
	{ RDMABLK_ATTR_HELD, "rdmablk/held" },
	{ RDMABLK_ATTR_LAST_ERROR, "rdmablk/last_error" },
};

/**
 * sysfs_knows() - does sysfs have an attribute?
 * @attr: enum rdmablk_attr, or a larger number
 */
bool sysfs_knows(unsigned int attr)
{
	size_t i;

	if (attr == RDMABLK_ATTR_INDEX || attr == RDMABLK_ATTR_NAME || attr > RDMABLK_ATTR_MAX)
		return true;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].attr == attr)
			return true;
	return false;
}

/* Reads the first line of a file of a disk. Returns 0 or -errno. */
static int read_line(int block, const char *name, const char *file, char *text, size_t size)
{
	char path[NAME_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", name, file);
	return files_line(block, path, text, size);
}

/* Returns 0, or -1 when there is no such disk any more. */
static int read_device(int block, const char *name, struct device *device)
{
	char text[VALUE_TEXT_LEN];
	unsigned int attr;
	size_t i;

	memset(device, 0, sizeof(*device));
	for (attr = 0; attr <= RDMABLK_ATTR_MAX; attr++)
		device->value[attr].unknown = !sysfs_knows(attr);
	device_set_text(device, RDMABLK_ATTR_NAME, name);
	device_set_text(device, RDMABLK_ATTR_INDEX, name + strcspn(name, "0123456789"));
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (!read_line(block, name, files[i].file, text, sizeof(text)))
			device_set_text(device, files[i].attr, text);
		else
			device->value[files[i].attr].unknown = true;
	if (device->value[RDMABLK_ATTR_SIZE].present)
		device_set_number(device, RDMABLK_ATTR_SIZE,
				  device->value[RDMABLK_ATTR_SIZE].number * SECTOR);
	return device->value[RDMABLK_ATTR_STATE].present ? 0 : -1;
}

/**
 * sysfs_gather() - disks, with the attributes that sysfs has; the others are unknown
 * @name: name of the disk, as the kernel spells it; NULL: all
 * @list: result, for device_list_clear() in every case
 * @failure: result
 *
 * Returns 0 or -1, when @failure tells why.
 */
int sysfs_gather(const char *name, struct device_list *list, struct nl_failure *failure)
{
	struct dirent **names;
	struct device device;
	int block = open_block(), ret = 0, i, nr;

	device_list_clear(list);
	nr = files_names(block, ".", sysfs_is_disk, &names);
	for (i = 0; i < nr && !ret; i++)
		if ((!name || !strcmp(names[i]->d_name, name)) &&
		    !read_device(block, names[i]->d_name, &device))
			ret = device_list_add(list, &device, failure);
	files_free(names, nr);
	if (block >= 0)
		close(block);
	if (!ret && name && !list->nr) {
		failure->err = ENODEV;
		snprintf(failure->text, sizeof(failure->text), "no such device");
		ret = -1;
	}
	return ret;
}

/**
 * sysfs_warn() - says that attributes are missing after sysfs_gather()
 * @what: what was to be done
 */
void sysfs_warn(const char *what)
{
	report_warning(what, "the module answers only root; what sysfs does not tell is missing");
}

/* --- who uses a disk --------------------------------------------------------------- */

/* Whether a name is that of the disk, or of a partition of it */
static bool is_part(const char *node, const char *disk)
{
	size_t len = strlen(disk);

	if (strncmp(node, disk, len))
		return false;
	return !node[len] || (node[len] == 'p' && isdigit((unsigned char)node[len + 1]));
}

static void add_user(char text[SYSFS_USERS], const char *how, const char *who)
{
	append(text, SYSFS_USERS, "%s%s%s%s", *text ? ", " : "", how, *who ? " " : "", who);
}

static bool is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* mountinfo writes a blank as \040. A path that was cut may end inside such a number. */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++) {
		if (*path == '\\' && is_octal(path + 1)) {
			*to++ = (char)((path[1] - '0') << 6 | (path[2] - '0') << 3 |
				       (path[3] - '0'));
			path += 3;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}

/* The device numbers of a disk and its partitions, with a blank before and after each */
static void read_numbers(int block, const char *disk, char numbers[NUMBERS])
{
	char number[32], path[NAME_MAX + 8];
	struct dirent **names;
	int i, nr;

	snprintf(numbers, NUMBERS, " ");
	if (!read_line(block, disk, "dev", number, sizeof(number)))
		append(numbers, NUMBERS, "%s ", number);
	nr = files_names(block, disk, NULL, &names);
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/dev", names[i]->d_name);
		if (is_part(names[i]->d_name, disk) &&
		    !read_line(block, disk, path, number, sizeof(number)))
			append(numbers, NUMBERS, "%s ", number);
	}
	files_free(names, nr);
}

/*
 * Is a line of mountinfo about a file system on the disk? The device number tells it: a user may
 * mount a FUSE file system, and choose what it says to be its source. btrfs has a number of its
 * own for each subvolume. Only root can mount it, and the kernel writes its source.
 */
static bool is_mount(const char *line, const char *disk, const char *numbers)
{
	const char *end = strstr(line, " - ");
	char word[24], number[28], type[16], source[NAME_MAX];

	if (!end || sscanf(line, "%*s %*s %23s", word) != 1)
		return false;
	snprintf(number, sizeof(number), " %s ", word);
	if (strncmp(word, "0:", 2))
		return strstr(numbers, number);
	return sscanf(end, " - %15s %254s", type, source) == 2 && !strcmp(type, "btrfs") &&
	       !strncmp(source, "/dev/", 5) && is_part(source + 5, disk);
}

static void add_mounts(int block, const char *disk, char text[SYSFS_USERS])
{
	char *line = NULL, where[PATH_MAX], numbers[NUMBERS];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;

	read_numbers(block, disk, numbers);
	while (file && getline(&line, &size, file) > 0) {
		if (!is_mount(line, disk, numbers) ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", where) != 1)
			continue;
		unescape(where);
		add_user(text, "mounted at", where);
	}
	free(line);
	if (file)
		fclose(file);
}

static void add_swaps(const char *disk, char text[SYSFS_USERS])
{
	FILE *file = fopen("/proc/swaps", "re");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		if (!strncmp(line, "/dev/", 5) && is_part(line + 5, disk))
			add_user(text, "swap", strcmp(line + 5, disk) ? line + 5 : "");
	}
	free(line);
	if (file)
		fclose(file);
}

/* Adds devices that are made of the disk, as md0 and dm-0, with the name of a mapping. */
static void add_holders(int block, const char *path, char text[SYSFS_USERS])
{
	char holders[NAME_MAX + 64], who[NAME_MAX + 128], name[64];
	struct dirent **names;
	int i, nr;

	snprintf(holders, sizeof(holders), "%s/holders", path);
	nr = files_names(block, holders, NULL, &names);
	for (i = 0; i < nr; i++) {
		snprintf(who, sizeof(who), "%s", names[i]->d_name);
		if (!read_line(block, names[i]->d_name, "dm/name", name, sizeof(name)))
			append(who, sizeof(who), " (%s)", name);
		add_user(text, "held by", who);
	}
	files_free(names, nr);
}

/**
 * sysfs_users() - who uses a disk
 * @name: name of the disk
 * @text: result: "mounted at /mnt, held by md0, swap"; empty: nothing of the kind does
 *
 * Programs that have it open are not named, nor mounts in other mount namespaces.
 */
void sysfs_users(const char *name, char text[SYSFS_USERS])
{
	int block = open_block(), i, nr;
	char path[2 * NAME_MAX + 2];
	struct dirent **names;

	text[0] = '\0';
	add_mounts(block, name, text);
	add_swaps(name, text);
	add_holders(block, name, text);
	nr = files_names(block, name, NULL, &names);
	for (i = 0; i < nr; i++) {
		if (!is_part(names[i]->d_name, name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", name, names[i]->d_name);
		add_holders(block, path, text);
	}
	files_free(names, nr);
	if (block >= 0)
		close(block);
	/* Others than root may have chosen a name in it. */
	shown_clean(text);
}
