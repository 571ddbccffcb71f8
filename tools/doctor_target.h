/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_TARGET_H
#define RDMABLK_TOOLS_DOCTOR_TARGET_H

#include "exam.h"

void doctor_target_verbs(struct exam *d);
void doctor_target_io_uring(struct exam *d);
void doctor_target_daemon(struct exam *d);
void doctor_target_sessions(struct exam *d);
void doctor_target_hosts(struct exam *d);

#endif /* RDMABLK_TOOLS_DOCTOR_TARGET_H */
