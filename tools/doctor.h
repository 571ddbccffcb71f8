/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_H
#define RDMABLK_TOOLS_DOCTOR_H

#include "exam.h"

int doctor_open(struct exam *d, const char *root);
void doctor_run(struct exam *d);
void doctor_close(struct exam *d);

#endif /* RDMABLK_TOOLS_DOCTOR_H */
