// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands on write queues. A command of wrong form ends the session; a command that cannot be
 * done is answered. A structure from the peer is copied before anything reads it.
 */
#include <endian.h>
#include <string.h>

#include "base/util.h"
#include "wire/wire.h"

/* Rules for @offset and @bytes of an operation */
enum extent {
	EXTENT_NONE,		/* both zero */
	EXTENT_OPTIONAL,	/* both zero, or a range */
	EXTENT_RANGE,
};

static const struct form {
	enum extent extent;
	uint16_t flags;		/* allowed */
	bool writes;		/* not for sessions that only read */
} forms[] = {
#define AT(op) (RDMABLK_OP_##op - RDMABLK_OP_FENCE)
	[AT(FENCE)]        = { EXTENT_NONE, 0, false },
	[AT(DIRTY)]        = { EXTENT_NONE, 0, true },
	[AT(FLUSH)]        = { EXTENT_OPTIONAL, 0, false },
	[AT(DISCARD)]      = { EXTENT_RANGE, 0, true },
	[AT(WRITE_ZEROES)] = { EXTENT_RANGE, RDMABLK_ZEROES_KEEP, true },
	[AT(SECURE_ERASE)] = { EXTENT_RANGE, 0, true },
	[AT(READ)]         = { EXTENT_RANGE, RDMABLK_IO_TRAILER, false },
	[AT(WRITE)]        = { EXTENT_RANGE, RDMABLK_IO_TRAILER | RDMABLK_IO_FUA, true },
#undef AT
};

static const struct form *form_of(uint16_t op)
{
	if (op < RDMABLK_OP_FENCE || op - RDMABLK_OP_FENCE >= (int)ARRAY_SIZE(forms))
		return NULL;
	return &forms[op - RDMABLK_OP_FENCE];
}

static unsigned int check_head(const struct rdmablk_command *cmd, size_t len,
			       const struct wire_scope *scope)
{
	static const uint8_t zero[sizeof(cmd->reserved2)];
	const struct rdmablk_hdr *hdr = &cmd->hdr;

	if (le16toh(hdr->type) != RDMABLK_MSG_COMMAND ||
	    le16toh(hdr->length) != len || hdr->reserved || hdr->reserved2 ||
	    cmd->reserved || memcmp(cmd->reserved2, zero, sizeof(zero)))
		return RDMABLK_R_MALFORMED;
	if (le16toh(hdr->tag) >= scope->cmd_depth || le32toh(hdr->generation) > 0xff)
		return RDMABLK_R_MALFORMED;
	return RDMABLK_OK;
}

/* Whether the bytes behind a command are right for it */
static bool trailer_ok(const struct wire_data *d)
{
	if (d->op == RDMABLK_OP_DIRTY)
		return d->trailer && !(d->trailer % sizeof(struct rdmablk_range));
	if (d->op == RDMABLK_OP_WRITE && d->flags & RDMABLK_IO_TRAILER)
		return d->trailer == d->bytes;
	return !d->trailer;
}

static unsigned int check_form(const struct wire_data *d, const struct form *form)
{
	if (d->flags & ~form->flags || !trailer_ok(d))
		return RDMABLK_R_MALFORMED;
	if (form->extent == EXTENT_NONE && (d->offset || d->bytes))
		return RDMABLK_R_MALFORMED;
	if (form->extent == EXTENT_OPTIONAL && d->offset && !d->bytes)
		return RDMABLK_R_MALFORMED;
	return RDMABLK_OK;
}

/* @end_too: the end of the export is as good as a multiple of @unit. */
static bool inside(const struct wire_scope *scope, uint64_t offset,
		   uint64_t bytes, uint32_t unit, bool end_too)
{
	if (!bytes || bytes > scope->size || offset > scope->size - bytes)
		return false;
	if (offset % unit)
		return false;
	return !(bytes % unit) || (end_too && offset + bytes == scope->size);
}

static uint64_t largest(const struct wire_data *d, const struct wire_scope *scope)
{
	switch (d->op) {
	case RDMABLK_OP_DISCARD:
		return scope->max_discard;
	case RDMABLK_OP_WRITE_ZEROES:
		return scope->max_zeroes;
	case RDMABLK_OP_SECURE_ERASE:
		return scope->max_erase;
	case RDMABLK_OP_READ:
	case RDMABLK_OP_WRITE:
		return d->flags & RDMABLK_IO_TRAILER ? scope->trailer_bytes :
						       scope->slot_bytes;
	default:
		return scope->size;
	}
}

static unsigned int check_ranges(const void *msg, const struct wire_data *d,
				 const struct wire_scope *scope, unsigned int *status)
{
	unsigned int nr = wire_data_ranges(d);

	if (nr > scope->max_ranges)
		return RDMABLK_R_MALFORMED;
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t offset, bytes;

		wire_data_range(msg, i, &offset, &bytes);
		if (!bytes)
			return RDMABLK_R_MALFORMED;
		if (!inside(scope, offset, bytes, scope->granule, true))
			*status = RDMABLK_R_RANGE;
	}
	return RDMABLK_OK;
}

/*
 * A command of the right form, @msg, or NULL: a WRITE without one: @out->status. Return: as
 * wire_check_data().
 */
static unsigned int judge(const void *msg, const struct form *form,
			  const struct wire_scope *scope, struct wire_data *out)
{
	if (out->op != RDMABLK_OP_FENCE && !(scope->ops & RDMABLK_OP_BIT(out->op)))
		out->status = RDMABLK_R_UNSUPPORTED;
	else if (form->writes && !scope->writer)
		out->status = RDMABLK_R_READ_ONLY;
	else if (msg && out->op == RDMABLK_OP_DIRTY)
		return check_ranges(msg, out, scope, &out->status);
	else if (form->extent == EXTENT_RANGE ||
		 (form->extent == EXTENT_OPTIONAL && out->bytes))
		out->status = out->bytes <= largest(out, scope) &&
			      inside(scope, out->offset, out->bytes,
				     scope->logical_block, false) ?
			      RDMABLK_OK : RDMABLK_R_RANGE;
	return RDMABLK_OK;
}

/**
 * wire_check_data - COMMAND on a write queue
 * @msg: as received, with what follows it
 * @len: bytes received
 * @scope: what the session may ask for
 * @out: decoded
 *
 * Return: RDMABLK_OK or why the session must end; with RDMABLK_OK @out->status says
 * whether the command can be done.
 */
unsigned int wire_check_data(const void *msg, size_t len,
			     const struct wire_scope *scope,
			     struct wire_data *out)
{
	struct rdmablk_command cmd;
	const struct form *form;
	unsigned int reason;

	if (len < sizeof(cmd) || len - sizeof(cmd) > RDMABLK_MAX_TRAILER)
		return RDMABLK_R_MALFORMED;
	memcpy(&cmd, msg, sizeof(cmd));
	reason = check_head(&cmd, len, scope);
	if (reason)
		return reason;
	*out = (struct wire_data){
		.op = le16toh(cmd.op),
		.flags = le16toh(cmd.flags),
		.tag = le16toh(cmd.hdr.tag),
		.generation = (uint8_t)le32toh(cmd.hdr.generation),
		.trailer = (uint32_t)(len - sizeof(cmd)),
		.offset = le64toh(cmd.offset),
		.bytes = le64toh(cmd.bytes),
	};
	form = form_of(out->op);
	if (!form) {
		out->status = RDMABLK_R_UNSUPPORTED;
		return RDMABLK_OK;
	}
	return check_form(out, form) ?: judge(msg, form, scope, out);
}

/**
 * wire_check_implied - a WRITE command that consists of its data only
 * @imm: immediate data, in host order
 * @len: bytes received
 * @scope: what the session may ask for
 * @tag: the tag after that of the last command
 * @last: the last command with this tag; zeroed: there was none
 * @out: decoded; not @last. Its form is never wrong, its status may be
 */
void wire_check_implied(uint32_t imm, uint32_t len, const struct wire_scope *scope,
			uint16_t tag, const struct wire_data *last,
			struct wire_data *out)
{
	uint64_t unit = imm & RDMABLK_WRITE_PAGES ? 1ULL << RDMABLK_WRITE_PAGE_SHIFT :
						    scope->logical_block;

	*out = (struct wire_data){
		.op = RDMABLK_OP_WRITE,
		.flags = imm & RDMABLK_WRITE_FUA ? RDMABLK_IO_FUA : 0,
		.tag = tag,
		.generation = (uint8_t)(last->generation + 1),
		.offset = RDMABLK_WRITE_POS(imm) * unit,
		.bytes = len,
	};
	judge(NULL, form_of(out->op), scope, out);
}

/**
 * wire_data_ranges - number of ranges of a DIRTY command
 * @data: decoded
 *
 * Return: number.
 */
unsigned int wire_data_ranges(const struct wire_data *data)
{
	return data->trailer / (unsigned int)sizeof(struct rdmablk_range);
}

/**
 * wire_data_range - a range of a DIRTY command
 * @msg: as received
 * @index: below wire_data_ranges()
 * @offset: first byte
 * @bytes: how many
 */
void wire_data_range(const void *msg, unsigned int index, uint64_t *offset,
		     uint64_t *bytes)
{
	struct rdmablk_range range;

	memcpy(&range, (const char *)msg + sizeof(struct rdmablk_command) +
	       index * sizeof(range), sizeof(range));
	*offset = le64toh(range.offset);
	*bytes = le64toh(range.bytes);
}
