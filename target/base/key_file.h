/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Key files: what a host and its target have in common.
 */
#ifndef RDMABLKD_KEY_FILE_H
#define RDMABLKD_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEY_FILE_DIR		"/etc/rdmablk/keys"	/* NAME.key for each key */
#define KEY_FILE_SECRET_LEN	32
#define KEY_FILE_ID_LEN		8
#define KEY_FILE_NAME_LEN	64	/* with NUL */
#define KEY_FILE_TEXT_LEN	128	/* the longest text, with its newline */
#define KEY_FILE_WHY		160	/* room for the reason of a refusal */

/**
 * struct key_file - a key and the memory in which it is worked on
 * @name: name of the key
 * @id: fingerprint, may be shown to anybody
 * @secret: the key
 * @work: what is hashed or encoded; wiped after each use
 * @text: the text form; wiped by the reader, not by key_file_format()
 *
 * Comes from key_file_alloc(), or is in other memory that is in no core dump: nothing else of
 * the process holds a byte of a key.
 */
struct key_file {
	char name[KEY_FILE_NAME_LEN];
	uint8_t id[KEY_FILE_ID_LEN];
	uint8_t secret[KEY_FILE_SECRET_LEN];
	uint8_t work[48];
	char text[KEY_FILE_TEXT_LEN + 1];
};

struct key_file *key_file_alloc(void);
void key_file_free(struct key_file *key);
bool key_file_name_ok(const char *name, size_t len);
int key_file_generate(struct key_file *key, const char *name);
size_t key_file_format(struct key_file *key);
int key_file_parse(struct key_file *key, const char *text, size_t len, char *why);
int key_file_read(struct key_file *key, const char *path, mode_t more, char *why);
int key_file_find(struct key_file *key, const char *name, const char *dir, char *path, char *why);
void key_file_wipe_stack(void);

#endif
