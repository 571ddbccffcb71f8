/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_VISIT_NAMES_H
#define RDMABLK_TOOLS_VISIT_NAMES_H

#include "connect.h"

#define VISIT_NAMES_TEXT	200	/* room for a hint */

void visit_names(const struct connect_request *request, char text[VISIT_NAMES_TEXT]);

#endif /* RDMABLK_TOOLS_VISIT_NAMES_H */
