// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of options and configuration keys. Every parser takes the whole text
 * or refuses it.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "base/util.h"
#include "base/value.h"

static int value_digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		if (n > (UINT64_MAX - 9) / 10)
			return -ERANGE;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	*text = p;
	*out = n;
	return 0;
}

/**
 * value_number - parse a decimal number
 * @text: digits, nothing else
 * @out: set on success
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int value_number(const char *text, uint64_t *out)
{
	int ret = value_digits(&text, out);

	return ret ?: *text ? -EINVAL : 0;
}

/**
 * value_size - parse a size in bytes
 * @text: digits and perhaps K, M, G or T, powers of 1024
 * @out: set on success, bytes
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int value_size(const char *text, uint64_t *out)
{
	static const char suffix[] = "KMGT";
	unsigned int shift = 0;
	const char *s;
	uint64_t n;
	int ret = value_digits(&text, &n);

	if (ret)
		return ret;
	if (*text) {
		s = strchr(suffix, toupper((unsigned char)*text));
		if (!s || text[1])
			return -EINVAL;
		shift = 10 * (unsigned int)(s - suffix + 1);
	}
	if (n > UINT64_MAX >> shift)
		return -ERANGE;
	*out = n << shift;
	return 0;
}

/**
 * value_bool - parse yes/no, true/false, on/off, 1/0
 * @text: one of them
 * @out: set on success
 *
 * Return: 0 or -EINVAL.
 */
int value_bool(const char *text, bool *out)
{
	static const char * const words[][2] = {
		{ "no", "yes" }, { "false", "true" }, { "off", "on" }, { "0", "1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (int v = 0; v < 2; v++) {
			if (!strcasecmp(text, words[i][v])) {
				*out = v;
				return 0;
			}
		}
	}
	return -EINVAL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/**
 * value_uuid - parse a UUID
 * @text: 8-4-4-4-12 hexadecimal digits
 * @out: RDMABLK_ID_LEN bytes; touched on failure, too
 *
 * Return: 0 or -EINVAL.
 */
int value_uuid(const char *text, uint8_t *out)
{
	for (int i = 0; i < RDMABLK_ID_LEN; i++) {
		int hi, lo;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return -EINVAL;
		hi = hex_digit(text[0]);
		lo = hi < 0 ? -1 : hex_digit(text[1]);
		if (lo < 0)
			return -EINVAL;
		out[i] = (uint8_t)(hi << 4 | lo);
		text += 2;
	}
	return *text ? -EINVAL : 0;
}

/**
 * value_date - parse a day
 * @text: YYYY-MM-DD
 * @out: when it begins, UTC, seconds since 1970; set on success
 *
 * Return: 0 or -EINVAL.
 */
int value_date(const char *text, int64_t *out)
{
	static const char form[] = "0000-00-00";
	struct tm tm = { 0 }, same;
	time_t when;
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return -EINVAL;
	if (text[i] || text[0] == '0')
		return -EINVAL;
	tm.tm_year = atoi(text) - 1900;
	tm.tm_mon = atoi(text + 5) - 1;
	tm.tm_mday = atoi(text + 8);
	same = tm;
	when = timegm(&same);
	/* The 30th of February would be another day. */
	if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday)
		return -EINVAL;
	*out = when;
	return 0;
}

/**
 * value_uuid_text - write a UUID as text
 * @uuid: RDMABLK_ID_LEN bytes
 * @out: result, 37 bytes
 */
void value_uuid_text(const uint8_t *uuid, char *out)
{
	for (int i = 0; i < RDMABLK_ID_LEN; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		out += sprintf(out, "%02x", uuid[i]);
	}
}

/* Writes an address as text. @scope: its interface, or empty */
static void address_text(const struct sockaddr *sa, const char *scope, char *out, bool port)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE] = "?";
	bool v6 = sa->sa_family == AF_INET6;
	unsigned int number;
	size_t len;

	if (v6)
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
	else if (sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
	len = strlen(host);
	if (*scope)
		snprintf(host + len, sizeof(host) - len, "%%%s", scope);
	number = ntohs(v6 ? in6->sin6_port : in->sin_port);
	if (!port)
		snprintf(out, ADDR_TEXT, "%s", host);
	else
		snprintf(out, ADDR_TEXT, v6 ? "[%s]:%u" : "%s:%u", host, number);
}

/**
 * value_address_text - write an address as text
 * @sa: IPv4 or IPv6. Two interfaces may have one link-local address, so that its text has
 *	the interface, too
 * @out: result, ADDR_TEXT bytes
 * @port: whether to write the port, too
 */
void value_address_text(const struct sockaddr *sa, char *out, bool port)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	char scope[IF_NAMESIZE] = "";

	if (sa->sa_family == AF_INET6 && in6->sin6_scope_id &&
	    !if_indextoname(in6->sin6_scope_id, scope))
		snprintf(scope, sizeof(scope), "%u", in6->sin6_scope_id);
	address_text(sa, scope, out, port);
}

/* Split "[v6]:port", "v6" or "v4:port" in place. */
static int split_address(char *text, char **host, char **port)
{
	char *colon;

	*port = NULL;
	*host = text;
	if (*text == '[') {
		char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		*host = text + 1;
		*end = '\0';
		if (end[1])
			*port = end + 2;
		return 0;
	}
	colon = strchr(text, ':');
	if (colon && !strchr(colon + 1, ':')) {
		*colon = '\0';
		*port = colon + 1;
	}
	return 0;
}

/**
 * value_scope_ok - whether a text may be the interface of a link-local address
 * @text: text; names are as the kernel takes them
 *
 * Return: true: it may; there need not be such an interface.
 */
bool value_scope_ok(const char *text)
{
	const char *c;

	if (!strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	for (c = text; *c; c++)
		if (iscntrl((unsigned char)*c) || strchr(" /:]", *c))
			return false;
	return c > text && c - text < IF_NAMESIZE;
}

/**
 * value_scope - find an interface
 * @text: its name, or its number
 *
 * Return: its number; a number is returned as it is. 0: no interface has this name at present.
 */
uint32_t value_scope(const char *text)
{
	uint32_t index = if_nametoindex(text);
	uint64_t n;

	return index || value_number(text, &n) || n > UINT32_MAX ? index : (uint32_t)n;
}

/*
 * Copies the interface to @out. Return: whether the text may be one, of a link-local address; no
 * other address has one.
 */
static bool take_scope(const struct addrinfo *info, const char *scope, struct listen_addr *out)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)info->ai_addr;
	bool local = info->ai_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);

	if (!local || !scope)
		return !local && !scope;
	snprintf(out->scope, sizeof(out->scope), "%s", scope);
	return value_scope_ok(scope);
}

/**
 * value_address - parse a numeric address to listen on
 * @text: ADDR, ADDR:PORT, [ADDR] or [ADDR]:PORT; a link-local ADDR, and no other, carries
 *	%interface, which need not exist
 * @out: set on success; the port is RDMABLK_PORT unless given
 *
 * Return: 0 or -EINVAL.
 */
int value_address(const char *text, struct listen_addr *out)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	uint64_t number = RDMABLK_PORT;
	char copy[2 * ADDR_TEXT], service[8];
	struct addrinfo *info;
	char *host, *port, *scope;
	bool right;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -EINVAL;
	if (split_address(copy, &host, &port) || !*host)
		return -EINVAL;
	if (port && (value_number(port, &number) || !number || number > 65535))
		return -EINVAL;
	snprintf(service, sizeof(service), "%u", (unsigned int)number);
	scope = strchr(host, '%');
	if (scope)
		*scope++ = '\0';
	if (getaddrinfo(host, service, &hints, &info))
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	memcpy(&out->sa, info->ai_addr, info->ai_addrlen);
	right = take_scope(info, scope, out);
	freeaddrinfo(info);
	address_text((struct sockaddr *)&out->sa, out->scope, out->text, true);
	return right ? 0 : -EINVAL;
}

/**
 * value_bind_address - the address to bind to
 * @addr: parsed
 * @out: result, with the number that the interface of @addr has at present
 *
 * Return: 0; -ENODEV: there is no such interface.
 */
int value_bind_address(const struct listen_addr *addr, struct sockaddr_storage *out)
{
	uint32_t scope = addr->scope[0] ? value_scope(addr->scope) : 0;

	if (addr->scope[0] && !scope)
		return -ENODEV;
	*out = addr->sa;
	if (scope)
		((struct sockaddr_in6 *)out)->sin6_scope_id = scope;
	return 0;
}

static struct in6_addr ip_of_v4(const struct in_addr *v4)
{
	struct in6_addr ip = IN6ADDR_ANY_INIT;

	ip.s6_addr[10] = 0xff;
	ip.s6_addr[11] = 0xff;
	memcpy(&ip.s6_addr[12], v4, sizeof(*v4));
	return ip;
}

/**
 * value_ip - an address without its port
 * @sa: IPv4 or IPv6
 *
 * Return: the address; IPv4 as mapped IPv6, so that one comparison serves both.
 */
struct in6_addr value_ip(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_addr :
	       ip_of_v4(&((const struct sockaddr_in *)sa)->sin_addr);
}

/* Return: whether @text is ADDRESS or ADDRESS/BITS, with no bit set after those */
static bool read_network(char *text, struct in6_addr *ip, unsigned int *bits)
{
	char *slash = strchr(text, '/');
	struct in_addr v4;
	uint64_t n = 128, most = 128;

	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, text, &v4) == 1) {
		*ip = ip_of_v4(&v4);
		most = 32;
	} else if (inet_pton(AF_INET6, text, ip) != 1) {
		return false;
	}
	if (slash && (value_number(slash, &n) || n > most))
		return false;
	*bits = slash ? (unsigned int)(128 - most + n) : 128;
	for (unsigned int i = *bits; i < 128; i++)
		if (ip->s6_addr[i / 8] & 0x80 >> i % 8)
			return false;
	return true;
}

static bool same_bits(const struct in6_addr *a, const struct in6_addr *b, unsigned int bits)
{
	unsigned int whole = bits / 8, rest = bits % 8;

	return !memcmp(a, b, whole) &&
	       (!rest || !((a->s6_addr[whole] ^ b->s6_addr[whole]) >> (8 - rest)));
}

/**
 * value_networks_ok - check a list of networks
 * @text: IPv4 and IPv6 addresses, each alone or as ADDRESS/BITS, with blanks or commas
 *	between them
 *
 * Return: whether it is such a list, and not empty.
 */
bool value_networks_ok(const char *text)
{
	char *copy __cleanup_free = strdup(text), *rest = copy, *word;
	unsigned int bits;
	struct in6_addr ip;
	bool any = false;

	if (!copy)
		return false;
	while ((word = strsep(&rest, ", \t"))) {
		if (!*word)
			continue;
		if (!read_network(word, &ip, &bits))
			return false;
		any = true;
	}
	return any;
}

/*
 * Looks for a network of @most bits, which is an address if these are all, inside a network of a
 * list. An IPv4 address lies in ::ffff:0:0/96. A network of fewer than 96 bits counts for IPv6
 * only.
 */
static bool in_list(const char *text, const struct in6_addr *ip, unsigned int most)
{
	char *copy __cleanup_free = strdup(text), *rest = copy, *word;
	const unsigned int least = IN6_IS_ADDR_V4MAPPED(ip) ? 96 : 0;
	struct in6_addr net;
	unsigned int bits;

	while (copy && (word = strsep(&rest, ", \t")))
		if (*word && read_network(word, &net, &bits) && bits >= least &&
		    bits <= most && same_bits(ip, &net, bits))
			return true;
	return false;
}

/**
 * value_in_networks - look for an address in a list of networks
 * @text: as for value_networks_ok()
 * @sa: IPv4 or IPv6
 *
 * Return: whether @sa is in one of them; false, too, if memory is short.
 */
bool value_in_networks(const char *text, const struct sockaddr *sa)
{
	const struct in6_addr ip = value_ip(sa);

	return in_list(text, &ip, 128);
}

/**
 * value_addresses - read the addresses that a list of networks names
 * @text: as for value_networks_ok()
 * @out: where to store them, without the networks that have more than one address; IPv4 is as
 *	for value_ip(). The caller frees it
 *
 * Return: their number; or -ENOMEM.
 */
int value_addresses(const char *text, struct in6_addr **out)
{
	char *copy __cleanup_free = strdup(text), *rest = copy, *word;
	/* The shortest address is "::". */
	struct in6_addr *ips = malloc((strlen(text) / 2 + 1) * sizeof(*ips));
	unsigned int bits;
	int nr = 0;

	if (!copy || !ips) {
		free(ips);
		return -ENOMEM;
	}
	while ((word = strsep(&rest, ", \t")))
		if (*word && read_network(word, &ips[nr], &bits) && bits == 128)
			nr++;
	*out = ips;
	return nr;
}

/* Adds words to a list. Return: the longer list; NULL: memory is short, and @list is gone. */
static char *list_add(char *list, const char *word, const char *more)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s%s", list, *list ? " " : "", word, more) < 0)
		longer = NULL;
	free(list);
	return longer;
}

/* Adds those networks of @from to @list that lie in @in, unless @list has them already. */
static char *add_inner(char *list, const char *from, const char *in)
{
	char *copy __cleanup_free = strdup(from), *rest = copy, *word;
	char net[INET6_ADDRSTRLEN + sizeof("/128")];
	unsigned int bits;
	struct in6_addr ip;

	while (list && copy && (word = strsep(&rest, ", \t"))) {
		snprintf(net, sizeof(net), "%s", word);
		if (*word && read_network(net, &ip, &bits) && in_list(in, &ip, bits) &&
		    !in_list(list, &ip, bits))
			list = list_add(list, word, "");
	}
	return list;
}

/**
 * value_networks_both - the networks that two lists have in common
 * @a: as for value_networks_ok(); or empty: no network
 * @b: the same
 *
 * Of two networks that have an address in common, one lies in the other.
 *
 * Return: a list, to be freed; empty: no network. NULL: memory is short.
 */
char *value_networks_both(const char *a, const char *b)
{
	return add_inner(add_inner(strdup(""), a, b), b, a);
}

/**
 * value_loopback - whether an address is a loopback address
 * @addr: parsed
 *
 * Return: true: only this host can reach it.
 */
bool value_loopback(const struct listen_addr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr->sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&addr->sa;

	if (addr->sa.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/**
 * value_name_ok - whether a text may be the name of an export, host or target
 * @text: text
 * @max: room for the name with its NUL, bytes
 *
 * A name has letters, digits and "._-", and does not begin with a dot or dash, because names
 * become file names and parts of addresses.
 *
 * Return: true: it may.
 */
bool value_name_ok(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (!len || len >= max || *text == '.' || *text == '-')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
			return false;
	return true;
}

/* Return: bytes of the UTF-8 character that begins here; 0: no valid one does. */
static size_t utf8_length(const unsigned char *p)
{
	size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 :
		     *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, a surrogate, or above U+10FFFF */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/**
 * value_utf8 - make a text valid UTF-8, even if it was cut inside a character
 * @text: text; each byte that is not part of a valid character becomes a question mark
 */
void value_utf8(char *text)
{
	size_t len;

	for (; *text; text += len) {
		len = utf8_length((unsigned char *)text);
		if (!len) {
			*text = '?';
			len = 1;
		}
	}
}

/*
 * Lists of hosts: NAME[:RIGHTS], with blanks or commas between them. Without RIGHTS a host
 * may read and write.
 */

#define SEPARATORS	", \t"

static const struct {
	const char *word;
	unsigned int rights;
} words[] = {
	{ "", ALLOW_READ | ALLOW_WRITE },
	{ ":ro", ALLOW_READ },
	{ ":rw", ALLOW_READ | ALLOW_WRITE },
	{ ":rw+steal", ALLOW_READ | ALLOW_WRITE | ALLOW_STEAL },
};

/* @text: of @len bytes, a colon first, or nothing */
static unsigned int rights_of(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == len && !memcmp(words[i].word, text, len))
			return words[i].rights;
	return 0;
}

/**
 * value_allow_next - take the next host from a list
 * @list: rest of the list; moved behind the host
 * @out: result
 *
 * Return: false: the list had no more hosts.
 */
bool value_allow_next(const char **list, struct allow_entry *out)
{
	const char *text = *list + strspn(*list, SEPARATORS);
	size_t len = strcspn(text, SEPARATORS), name = strcspn(text, ":" SEPARATORS);

	*list = text + len;
	if (!len)
		return false;
	*out = (struct allow_entry){ .rights = rights_of(text + name, len - name) };
	if (name < sizeof(out->name))
		memcpy(out->name, text, name);
	if (!value_name_ok(out->name, sizeof(out->name)))
		out->name[0] = '\0';
	return true;
}

static unsigned int count(const char *list, const char *name)
{
	struct allow_entry host;
	unsigned int nr = 0;

	while (value_allow_next(&list, &host))
		nr += !strcmp(host.name, name);
	return nr;
}

/**
 * value_allow_check - check a list of hosts
 * @list: list; empty: no host
 *
 * Return: NULL; or a text that says what is wrong.
 */
const char *value_allow_check(const char *list)
{
	const char *rest = list;
	struct allow_entry host;

	while (value_allow_next(&rest, &host)) {
		if (!host.name[0])
			return "not names of hosts, with blanks or commas between them";
		if (!host.rights)
			return "rights of a host are ro, rw or rw+steal";
		if (count(list, host.name) > 1)
			return "a host is in it twice";
	}
	return NULL;
}

/**
 * value_allow_rights - what a host may do
 * @list: checked; NULL: no host
 * @name: name of the host
 *
 * Return: ALLOW_READ and more; 0: nothing.
 */
unsigned int value_allow_rights(const char *list, const char *name)
{
	struct allow_entry host;

	while (list && value_allow_next(&list, &host))
		if (!strcmp(host.name, name))
			return host.rights;
	return 0;
}

static const char *word_of(unsigned int rights)
{
	size_t i = 0;

	while (words[i].rights != rights)
		i++;
	return words[i].word;
}

/**
 * value_allow_both - the hosts of two lists, each with the rights that both give
 * @a: checked; NULL: no host
 * @b: checked; NULL: no host
 *
 * Return: a list, to be freed; empty: no host. NULL: memory is short.
 */
char *value_allow_both(const char *a, const char *b)
{
	char *both = strdup("");
	struct allow_entry host;

	while (both && a && value_allow_next(&a, &host)) {
		unsigned int rights = host.rights & value_allow_rights(b, host.name);

		if (rights)
			both = list_add(both, host.name, word_of(rights));
	}
	return both;
}
