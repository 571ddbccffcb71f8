// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses: [rdmablk://]HOST[:PORT]/NAME, where HOST is a name, an IPv4 address
 * or an IPv6 address in brackets, with %INTERFACE when it is link-local. Every
 * parser here explains an error in words.
 */
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "../target/base/value.h"
#include "addr.h"
#include "util.h"

#define SCHEME	"rdmablk://"

__printf(3, 4)
static int refuse(char *why, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, size, fmt, args);
	va_end(args);
	return -1;
}

static int parse_name(const char *text, struct addr_export *where, char *why,
		      size_t size)
{
	size_t i, len = strlen(text);

	if (!len)
		return refuse(why, size, "the name of the export is missing");
	if (len >= sizeof(where->name))
		return refuse(why, size,
			      "the name of the export has %zu characters; 1 to %zu",
			      len, sizeof(where->name) - 1);
	for (i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~' || strchr("/,", text[i]))
			return refuse(why, size,
				      "the name of the export may not have character %zu; printable ASCII without space, slash and comma",
				      i + 1);
	memcpy(where->name, text, len + 1);
	return 0;
}

static int parse_port(const char *text, size_t len, __u16 *port, char *why,
		      size_t size)
{
	unsigned long value = 0;
	size_t i;

	for (i = 0; i < len && isdigit((unsigned char)text[i]) && i < 6; i++)
		value = value * 10 + text[i] - '0';
	if (!len || i < len || value < 1 || value > 65535)
		return refuse(why, size, "port '%.*s' is not a number from 1 to 65535",
			      (int)len, text);
	*port = value;
	return 0;
}

static int copy_host(const char *text, size_t len, struct addr_export *where,
		     char *why, size_t size)
{
	if (!len)
		return refuse(why, size, "the host is missing");
	if (len >= sizeof(where->host))
		return refuse(why, size, "the host has %zu characters; 1 to %zu",
			      len, sizeof(where->host) - 1);
	memcpy(where->host, text, len);
	where->host[len] = '\0';
	return 0;
}

/* HOST[:PORT] in the first @len characters of @text */
static int parse_host_port(const char *text, size_t len,
			   struct addr_export *where, char *why, size_t size)
{
	const char *end = text + len, *rest, *host = text;
	size_t host_len;

	if (len && *text == '[') {
		host = text + 1;
		rest = memchr(host, ']', len - 1);
		if (!rest)
			return refuse(why, size, "'[' without ']'");
		host_len = rest++ - host;
	} else {
		rest = memchr(text, ':', len);
		if (!rest)
			rest = end;
		else if (memchr(rest + 1, ':', end - rest - 1))
			return refuse(why, size,
				      "an IPv6 address stands in brackets: [%.*s]",
				      (int)len, text);
		host_len = rest - host;
	}
	if (copy_host(host, host_len, where, why, size))
		return -1;
	if (host != text && !strchr(where->host, ':'))
		return refuse(why, size, "'%s' in brackets is not an IPv6 address",
			      where->host);
	where->port = RDMABLK_PORT;
	if (rest == end)
		return 0;
	if (*rest != ':')
		return refuse(why, size, "':PORT' expected at '%.*s'",
			      (int)(end - rest), rest);
	return parse_port(rest + 1, end - rest - 1, &where->port, why, size);
}

/**
 * addr_parse_host() - HOST[:PORT], with or without "rdmablk://"
 * @text: what the user wrote
 * @where: result, with an empty name
 * @why: result after an error: what is wrong with @text
 * @size: bytes of @why
 *
 * Returns 0 or -1.
 */
int addr_parse_host(const char *text, struct addr_export *where, char *why, size_t size)
{
	if (!strncmp(text, SCHEME, strlen(SCHEME)))
		text += strlen(SCHEME);
	if (strchr(text, '/'))
		return refuse(why, size, "HOST[:PORT] without the name of an export");
	where->name[0] = '\0';
	return parse_host_port(text, strlen(text), where, why, size);
}

/**
 * addr_parse_export() - HOST[:PORT]/NAME, with or without "rdmablk://"
 * @text: what the user wrote
 * @where: result
 * @why: what is wrong with it
 * @size: bytes of @why
 *
 * Returns 0 or -1.
 */
int addr_parse_export(const char *text, struct addr_export *where,
		      char *why, size_t size)
{
	const char *slash;

	if (!strncmp(text, SCHEME, strlen(SCHEME)))
		text += strlen(SCHEME);
	slash = strchr(text, '/');
	if (!slash)
		return refuse(why, size,
			      "the name of the export is missing; HOST[:PORT]/NAME");
	if (parse_host_port(text, slash - text, where, why, size))
		return -1;
	return parse_name(slash + 1, where, why, size);
}

/**
 * addr_is_numeric() - whether this is an address and not a name
 * @host: as in struct addr_export
 */
bool addr_is_numeric(const char *host)
{
	struct in_addr in;

	return strchr(host, ':') || inet_pton(AF_INET, host, &in) == 1;
}

static bool lacks_scope(const struct addrinfo *info)
{
	const struct sockaddr_in6 *in6 = (const void *)info->ai_addr;

	return info->ai_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && !in6->sin6_scope_id;
}

static struct addrinfo *lookup(const char *host, const char *port, int flags,
			       char *why, size_t size)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | flags,
	};
	struct addrinfo *list;
	int ret = getaddrinfo(host, port, &hints, &list);

	if (ret) {
		refuse(why, size, "%s: %s", host, ret == EAI_SYSTEM ?
		       strerror(errno) : gai_strerror(ret));
		return NULL;
	}
	if (lacks_scope(list)) {
		refuse(why, size,
		       "%s is link-local and needs an interface: %s%%eth0",
		       host, host);
		freeaddrinfo(list);
		return NULL;
	}
	return list;
}

/**
 * addr_resolve() - the addresses of a host
 * @where: host and port
 * @why: what went wrong
 * @size: bytes of @why
 *
 * Returns a list for freeaddrinfo(), or NULL.
 */
struct addrinfo *addr_resolve(const struct addr_export *where, char *why,
			      size_t size)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", where->port);
	return lookup(where->host, port,
		      addr_is_numeric(where->host) ? AI_NUMERICHOST : 0, why, size);
}

/* Takes an IPv6 address. @scope: its interface, or NULL. Returns 0 or -1. */
static int source_v6(const char *host, const char *scope, struct addr_source *source,
		     char *why, size_t size)
{
	struct sockaddr_in6 *in6 = (void *)&source->addr;
	bool local;

	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return refuse(why, size, "not an IPv4 or IPv6 address");
	local = IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
	if (local && !scope)
		return refuse(why, size, "%s is link-local and needs an interface: %s%%eth0",
			      host, host);
	if (scope && !local)
		return refuse(why, size, "%s is not link-local and has no interface", host);
	if (scope && !value_scope_ok(scope))
		return refuse(why, size, "'%s' is no name of an interface", scope);
	in6->sin6_family = AF_INET6;
	source->len = sizeof(*in6);
	snprintf(source->scope, sizeof(source->scope), "%s", scope ? scope : "");
	return 0;
}

/**
 * addr_parse_source() - a numeric address of this host, brackets optional
 * @text: what the user wrote
 * @source: result, without the number of the interface
 * @why: what is wrong with it
 * @size: bytes of @why
 *
 * Returns 0 or -1.
 */
int addr_parse_source(const char *text, struct addr_source *source, char *why, size_t size)
{
	struct sockaddr_in *in = (void *)&source->addr;
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1], *scope;
	size_t len = strlen(text);

	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(host))
		return refuse(why, size, "not an IPv4 or IPv6 address");
	memcpy(host, text, len);
	host[len] = '\0';
	scope = strchr(host, '%');
	if (scope)
		*scope++ = '\0';
	*source = (struct addr_source) { .len = sizeof(*in) };
	if (scope || inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return source_v6(host, scope, source, why, size);
	in->sin_family = AF_INET;
	return 0;
}

/**
 * addr_find_source() - looks for the interface of an address of this host
 * @source: as parsed; gets the number of its interface, if it has one
 * @why: result after an error: that it does not exist at present
 * @size: bytes of @why
 *
 * Returns 0 or -1.
 */
int addr_find_source(struct addr_source *source, char *why, size_t size)
{
	struct sockaddr_in6 *in6 = (void *)&source->addr;

	if (!source->scope[0])
		return 0;
	in6->sin6_scope_id = value_scope(source->scope);
	if (!in6->sin6_scope_id)
		return refuse(why, size, "the interface %s of the source does not exist",
			      source->scope);
	return 0;
}

/**
 * addr_format() - write an address as text; equal addresses have equal texts
 * @addr: struct sockaddr_in or sockaddr_in6; port 0 is the default port
 * @text: result
 */
void addr_format(const struct sockaddr *addr, char text[ADDR_TEXT_LEN])
{
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	socklen_t len = addr->sa_family == AF_INET6 ? sizeof(*in6) : sizeof(*in);
	unsigned int port;

	port = ntohs(addr->sa_family == AF_INET6 ? in6->sin6_port : in->sin_port);
	if (getnameinfo(addr, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST))
		snprintf(host, sizeof(host), "?");
	snprintf(text, ADDR_TEXT_LEN,
		 addr->sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 port ? port : RDMABLK_PORT);
}
