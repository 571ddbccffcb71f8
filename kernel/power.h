/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Suspend and hibernation: the disks carry no I/O while the devices sleep.
 */
#ifndef RDMABLK_POWER_H
#define RDMABLK_POWER_H

int rdmablk_power_init(void);
void rdmablk_power_exit(void);

#endif /* RDMABLK_POWER_H */
