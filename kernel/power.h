/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Suspend and hibernation: the disks carry no I/O while the devices sleep.
 */
#ifndef RDMABLK_POWER_H
#define RDMABLK_POWER_H

struct ib_device;
struct platform_device;

struct platform_device *rdmablk_power_add(struct ib_device *ibdev);
void rdmablk_power_remove(struct platform_device *child);
int rdmablk_power_init(void);
void rdmablk_power_exit(void);

#endif /* RDMABLK_POWER_H */
