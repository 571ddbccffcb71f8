/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DOCTOR_IO_URING_H
#define RDMABLK_TOOLS_DOCTOR_IO_URING_H

#include <sys/types.h>

#include "exam.h"

void doctor_io_uring_check(struct exam *d, pid_t daemon);

#endif /* RDMABLK_TOOLS_DOCTOR_IO_URING_H */
