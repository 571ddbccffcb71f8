/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RDMABLK_DISK_H
#define RDMABLK_DISK_H

struct rdmablk_session;
struct work_struct;

int rdmablk_disk_alloc(struct rdmablk_session *s);
void rdmablk_disk_retime(struct rdmablk_session *s);
void rdmablk_disk_look(struct rdmablk_session *s);
void rdmablk_disk_work(struct work_struct *work);
void rdmablk_disk_free(struct rdmablk_session *s);

#endif /* RDMABLK_DISK_H */
