// SPDX-License-Identifier: GPL-2.0-only
/*
 * The only string parser: connect=ADDR[:PORT]/NAME[,...]. PURE: the unit tests and a fuzzer
 * compile this file.
 *
 * Anything that is not exactly of this form is an error: an overlooked typo would connect
 * the wrong disk or none.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "param.h"

static int rdmablk_param_bad(const char **why, const char *text)
{
	*why = text;
	return -EINVAL;
}

static int rdmablk_param_name_len(const char *name, size_t len, const char **why)
{
	size_t i;

	if (!len)
		return rdmablk_param_bad(why, "the export name is empty");
	if (len >= RDMABLK_NAME_LEN)
		return rdmablk_param_bad(why, "the export name is longer than 63 characters");
	for (i = 0; i < len; i++) {
		if (name[i] <= 0x20 || name[i] > 0x7e || name[i] == '/' || name[i] == ',')
			return rdmablk_param_bad(why, "bad character in the export name");
	}
	return 0;
}

/**
 * rdmablk_param_check_name() - check the name of an export
 * @name: NUL-terminated
 * @why: set to a text on error
 *
 * Return: 0; -EINVAL unless @name has 1 to 63 printable ASCII characters, without space,
 * slash and comma.
 */
int rdmablk_param_check_name(const char *name, const char **why)
{
	return rdmablk_param_name_len(name, strlen(name), why);
}

static bool rdmablk_param_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/**
 * rdmablk_param_check_key() - check the name of a key
 * @name: NUL-terminated
 * @why: set to a text on error
 *
 * Return: 0; -EINVAL unless @name has 1 to 63 letters, digits, dots, dashes and underscores,
 * and does not begin with a dot or a dash.
 */
int rdmablk_param_check_key(const char *name, const char **why)
{
	size_t i;

	if (!*name || strlen(name) >= RDMABLK_KEY_NAME_LEN)
		return rdmablk_param_bad(why, "the name of a key has 1 to 63 characters");
	if (*name == '.' || *name == '-')
		return rdmablk_param_bad(why, "the name of a key begins with a dot or a dash");
	for (i = 0; name[i]; i++) {
		if (!rdmablk_param_is_alnum(name[i]) && name[i] != '.' && name[i] != '_' &&
		    name[i] != '-')
			return rdmablk_param_bad(why, "bad character in the name of a key");
	}
	return 0;
}

/**
 * rdmablk_param_addr_key() - the name of the key that connect= takes for an address
 * @addr: address as text, without brackets
 * @name: result, RDMABLK_ADDR_LEN bytes: @addr with '_' in the place of ':' and '%', which the
 *	name of a key cannot have
 */
void rdmablk_param_addr_key(const char *addr, char *name)
{
	size_t i;

	for (i = 0; addr[i]; i++)
		name[i] = addr[i] == ':' || addr[i] == '%' ? '_' : addr[i];
	name[i] = '\0';
}

static int rdmablk_param_port(const char *text, size_t len, u16 *port, const char **why)
{
	unsigned int value = 0;
	size_t i;

	if (!len || len > 5)
		return rdmablk_param_bad(why, "the port is not a number from 1 to 65535");
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return rdmablk_param_bad(why, "the port is not a number from 1 to 65535");
		value = value * 10 + (text[i] - '0');
	}
	if (!value || value > 65535)
		return rdmablk_param_bad(why, "the port is not a number from 1 to 65535");
	*port = value;
	return 0;
}

static int rdmablk_param_addr(const char *text, size_t len,
			      struct rdmablk_param_spec *spec, const char **why)
{
	if (!len)
		return rdmablk_param_bad(why, "the address is empty");
	if (len >= sizeof(spec->addr))
		return rdmablk_param_bad(why, "the address is too long");
	memcpy(spec->addr, text, len);
	spec->addr[len] = '\0';
	return 0;
}

/* Parses ADDR[:PORT]; an ADDR with colons needs brackets. */
static int rdmablk_param_host(const char *text, size_t len,
			      struct rdmablk_param_spec *spec, const char **why)
{
	const char *end = text + len, *colon, *host = text, *host_end;
	int ret;

	if (len && *text == '[') {
		host = text + 1;
		host_end = memchr(host, ']', end - host);
		if (!host_end)
			return rdmablk_param_bad(why, "']' is missing");
		colon = host_end + 1;
		if (colon < end && *colon != ':')
			return rdmablk_param_bad(why, "only ':' and a port may follow ']'");
	} else {
		colon = memchr(text, ':', len);
		if (!colon)
			colon = end;
		host_end = colon;
		if (colon < end && memchr(colon + 1, ':', end - colon - 1))
			return rdmablk_param_bad(why, "an IPv6 address needs brackets");
	}
	ret = rdmablk_param_addr(host, host_end - host, spec, why);
	if (ret)
		return ret;
	spec->port = RDMABLK_PORT;
	if (colon == end)
		return 0;
	return rdmablk_param_port(colon + 1, end - colon - 1, &spec->port, why);
}

/**
 * rdmablk_param_next() - parse the next element of a list
 * @cursor: next character; moved behind the element, or NULL after the last element
 * @spec: result
 * @why: set to a text on error
 *
 * An empty string is a list with one empty element, and that is an error.
 *
 * Return: 1: an element is in @spec; 0: @cursor is NULL; -EINVAL.
 */
int rdmablk_param_next(const char **cursor, struct rdmablk_param_spec *spec,
		       const char **why)
{
	const char *text = *cursor, *comma, *slash;
	size_t len;
	int ret;

	if (!text)
		return 0;
	comma = strchr(text, ',');
	len = comma ? (size_t)(comma - text) : strlen(text);
	if (!len)
		return rdmablk_param_bad(why, "an element is empty");
	slash = memchr(text, '/', len);
	if (!slash)
		return rdmablk_param_bad(why, "'/' and an export name are missing");
	ret = rdmablk_param_host(text, slash - text, spec, why);
	if (!ret)
		ret = rdmablk_param_name_len(slash + 1, text + len - slash - 1, why);
	if (ret)
		return ret;
	len = text + len - slash - 1;
	memcpy(spec->name, slash + 1, len);
	memset(spec->name + len, 0, sizeof(spec->name) - len);
	*cursor = comma ? comma + 1 : NULL;
	return 1;
}
