/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of a name that does not exist.
 */
#ifndef RDMABLKD_ADMIN_NEAR_H
#define RDMABLKD_ADMIN_NEAR_H

#define ADMIN_NEAR_WHY	192	/* room for the sentence */

void admin_near_export(const char *name, char *why);
void admin_near_host(const char *name, char *why);

#endif
