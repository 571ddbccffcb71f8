// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of all sessions, sorted by number. It holds a reference to each session, and
 * contains each export at most once.
 */
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "registry.h"
#include "session.h"

static LIST_HEAD(rdmablk_sessions);
static DEFINE_MUTEX(rdmablk_sessions_mutex);	/* the list and its order */
static DEFINE_IDA(rdmablk_index_ida);

static bool rdmablk_options_same(const struct rdmablk_options *a,
				 const struct rdmablk_options *b)
{
	return !memcmp(&a->target, &b->target, sizeof(a->target)) &&
	       !strcmp(a->export_name, b->export_name);
}

/* Gives the session its number and a place in the list, sorted by number. */
static int rdmablk_registry_insert(struct rdmablk_session *s, const char **why)
{
	struct list_head *pos = &rdmablk_sessions;
	struct rdmablk_session *other;

	lockdep_assert_held(&rdmablk_sessions_mutex);
	list_for_each_entry(other, &rdmablk_sessions, node) {
		if (rdmablk_options_same(&s->opt, &other->opt)) {
			*why = "this export is connected already";
			return -EEXIST;
		}
	}
	/* The end of an outage needs the mutex, too, so this must not wait for held I/O. */
	s->index = ida_alloc(&rdmablk_index_ida, GFP_NOIO);
	if (s->index < 0) {
		*why = "out of memory";
		return s->index;
	}
	list_for_each_entry(other, &rdmablk_sessions, node) {
		if (other->index > s->index) {
			pos = &other->node;
			break;
		}
	}
	list_add_tail(&s->node, pos);
	return 0;
}

/**
 * rdmablk_registry_add() - give a session its number, its name and a place in the list
 * @s: new session; its first reference passes to the list
 * @why: set to a text on error
 *
 * Return: 0; -EEXIST; -ENOMEM.
 */
int rdmablk_registry_add(struct rdmablk_session *s, const char **why)
{
	int ret;

	mutex_lock(&rdmablk_sessions_mutex);
	ret = rdmablk_registry_insert(s, why);
	if (!ret) {
		s->path.index = s->index;
		snprintf(s->name, sizeof(s->name), "rdmablk%d", s->index);
		snprintf(s->id, sizeof(s->id), "%s %pISpc/%s", s->name, &s->opt.target,
			 s->opt.export_name);
	}
	mutex_unlock(&rdmablk_sessions_mutex);
	return ret;
}

/**
 * rdmablk_registry_del() - take a session out of the list and free its number
 * @s: session; the list's reference passes to the caller
 */
void rdmablk_registry_del(struct rdmablk_session *s)
{
	mutex_lock(&rdmablk_sessions_mutex);
	list_del_init(&s->node);
	mutex_unlock(&rdmablk_sessions_mutex);
	ida_free(&rdmablk_index_ida, s->index);
}

/**
 * rdmablk_registry_find() - look a session up
 * @index: N of rdmablkN
 *
 * Return: session with a reference for the caller, or NULL.
 */
struct rdmablk_session *rdmablk_registry_find(int index)
{
	struct rdmablk_session *s = rdmablk_registry_next(index);

	if (s && s->index != index) {
		rdmablk_session_put(s);
		s = NULL;
	}
	return s;
}

/**
 * rdmablk_registry_next() - the first session at or after a number
 * @index: number
 *
 * Return: session with a reference for the caller, or NULL.
 */
struct rdmablk_session *rdmablk_registry_next(int index)
{
	struct rdmablk_session *s, *found = NULL;

	mutex_lock(&rdmablk_sessions_mutex);
	list_for_each_entry(s, &rdmablk_sessions, node) {
		if (s->index >= index) {
			kref_get(&s->ref);
			found = s;
			break;
		}
	}
	mutex_unlock(&rdmablk_sessions_mutex);
	return found;
}

/**
 * rdmablk_registry_step() - go to the next session, in the order of numbers
 * @s: *@s is NULL before the first session; this function puts the reference of the old one
 *	and takes one for the next. A caller that ends the walk early puts that one.
 *
 * Return: whether there is a next session.
 */
bool rdmablk_registry_step(struct rdmablk_session **s)
{
	int index = *s ? (*s)->index + 1 : 0;

	if (*s)
		rdmablk_session_put(*s);
	*s = rdmablk_registry_next(index);
	return *s;
}
