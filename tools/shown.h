/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RDMABLK_TOOLS_SHOWN_H
#define RDMABLK_TOOLS_SHOWN_H

#include <stdbool.h>

bool shown_control(const char *text, const char *but);
const char *shown_name(const char *name);
const char *shown_text(const char *text);
void shown_clean(char *text);

#endif /* RDMABLK_TOOLS_SHOWN_H */
