/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of options and configuration keys: text to number, size, address, and which hosts may
 * use an export, with which rights.
 * PURE: no state; no I/O except getaddrinfo() on numeric addresses and looking up interfaces.
 */
#ifndef RDMABLKD_VALUE_H
#define RDMABLKD_VALUE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "uapi/rdmablk_proto.h"

#define ADDR_TEXT	80	/* room for an address and port as text */

#define ALLOW_READ	1U	/* may use the export */
#define ALLOW_WRITE	2U	/* may write it */
#define ALLOW_STEAL	4U	/* may end the session of another writer */

/**
 * struct listen_addr - where to listen
 * @sa: address and port, without the number of the interface, which may not exist yet
 * @scope: interface of a link-local address; empty: none was given
 * @text: all of that, for people
 */
struct listen_addr {
	struct sockaddr_storage sa;
	char scope[IF_NAMESIZE];
	char text[ADDR_TEXT];
};

/**
 * struct allow_entry - one host of a list
 * @name: name of the host; empty: the list has something that is not a name
 * @rights: ALLOW_READ and more; 0: the list has a word that is not a right
 */
struct allow_entry {
	char name[RDMABLK_NAME_LEN];
	unsigned int rights;
};

int value_number(const char *text, uint64_t *out);
int value_size(const char *text, uint64_t *out);
int value_bool(const char *text, bool *out);
int value_uuid(const char *text, uint8_t *out);
int value_date(const char *text, int64_t *out);
int value_address(const char *text, struct listen_addr *out);
bool value_scope_ok(const char *text);
uint32_t value_scope(const char *text);
int value_bind_address(const struct listen_addr *addr, struct sockaddr_storage *out);
struct in6_addr value_ip(const struct sockaddr *sa);
bool value_networks_ok(const char *text);
bool value_in_networks(const char *text, const struct sockaddr *sa);
int value_addresses(const char *text, struct in6_addr **out);
char *value_networks_both(const char *a, const char *b);
bool value_name_ok(const char *text, size_t max);
bool value_loopback(const struct listen_addr *addr);
void value_uuid_text(const uint8_t *uuid, char *out);
void value_address_text(const struct sockaddr *sa, char *out, bool port);
void value_utf8(char *text);
bool value_allow_next(const char **list, struct allow_entry *out);
const char *value_allow_check(const char *list);
unsigned int value_allow_rights(const char *list, const char *name);
char *value_allow_both(const char *a, const char *b);

#endif
