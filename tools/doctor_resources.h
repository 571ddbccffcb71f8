/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_RESOURCES_H
#define RDMABLK_TOOLS_DOCTOR_RESOURCES_H

#include "exam.h"

void doctor_resources_check(struct exam *d);

#endif /* RDMABLK_TOOLS_DOCTOR_RESOURCES_H */
