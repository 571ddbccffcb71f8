/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sync that has failed, or may have failed, means for uncached files.
 */
#ifndef RDMABLKD_STAGED_LOSS_H
#define RDMABLKD_STAGED_LOSS_H

#include "staged/staged_io.h"

void staged_loss_watch(struct staged_file *sf);
void staged_loss_forget(struct staged_file *sf);
bool staged_own_error(int ret);
void staged_fail(struct staged_file *sf, int ret);
unsigned int staged_syncing(void);
void staged_abandon(void);

#endif
