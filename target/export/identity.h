/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept in state directories: UUIDs, and which devices paths have meant.
 */
#ifndef RDMABLKD_IDENTITY_H
#define RDMABLKD_IDENTITY_H

#include "config/config.h"

int identity_known(const struct config *cfg, const struct export_config *ec, uint8_t *uuid,
		   bool *known);
int identity_keep(const struct config *cfg, const struct export_config *ec, uint8_t *uuid);
int identity_device(const struct config *cfg, const struct export_config *ec, const uint8_t *uuid);
void identity_device_keep(const struct config *cfg, const struct export_config *ec,
			  const uint8_t *uuid);
int identity_target(struct config *cfg);

#endif
