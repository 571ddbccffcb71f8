/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_DISCONNECT_H
#define RDMABLK_TOOLS_DISCONNECT_H

#include <stdbool.h>
#include <linux/types.h>

#include "nl.h"

int disconnect_run(struct nl *nl, __u32 index, bool force,
		   struct nl_failure *failure);

#endif /* RDMABLK_TOOLS_DISCONNECT_H */
