/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a request may take.
 */
#ifndef RDMABLK_IO_TMO_H
#define RDMABLK_IO_TMO_H

#include <linux/types.h>

struct rdmablk_path;
struct rdmablk_session;

void rdmablk_io_tmo_apply(struct rdmablk_session *s);
void rdmablk_io_tmo_changed(struct rdmablk_session *s);
void rdmablk_io_tmo_hurry(struct rdmablk_session *s);
void rdmablk_io_tmo_expired(struct rdmablk_path *path, bool command);

#endif /* RDMABLK_IO_TMO_H */
