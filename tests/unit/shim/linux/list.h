/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_LIST_H
#define SHIM_LINUX_LIST_H

#include <linux/kernel.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)	struct list_head name = { &(name), &(name) }

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	entry->next = head;
	entry->prev = head->prev;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_empty_careful	list_empty

static inline void list_splice_init(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from))
		list_move_tail(from->next, to);
}

#define list_entry	container_of

#define list_for_each_entry_safe(pos, n, head, member)				\
	for ((pos) = list_entry((head)->next, typeof(*(pos)), member),		\
	     (n) = list_entry((pos)->member.next, typeof(*(pos)), member);	\
	     &(pos)->member != (head);						\
	     (pos) = (n), (n) = list_entry((n)->member.next, typeof(*(n)), member))

#endif
