/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UUIDs that are kept in the state directory.
 */
#ifndef RDMABLKD_IDENTITY_H
#define RDMABLKD_IDENTITY_H

#include "config/config.h"

int identity_read(const char *what, const char *path, uint8_t *uuid);
int identity_write(const char *dir, const char *path, const uint8_t *uuid);
int identity_make(uint8_t *uuid);
int identity_target(struct config *cfg);

#endif
