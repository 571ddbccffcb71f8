// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the devices that a test guest needs awake while everything else is suspended. The
 * driver of the 9p transport has no suspend: its queues would be gone after a resume, and
 * with them the root file system.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

/* Transitional devices: console and 9p */
#define STAY_CONSOLE	0x1003
#define STAY_9P		0x1009

static void stay_set(bool stay)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, PCI_ANY_ID, pdev))) {
		if (pdev->device == STAY_CONSOLE || pdev->device == STAY_9P)
			dev_pm_syscore_device(&pdev->dev, stay);
	}
}

static int __init stay_init(void)
{
	stay_set(true);
	return 0;
}

static void __exit stay_exit(void)
{
	stay_set(false);
}

module_init(stay_init);
module_exit(stay_exit);

MODULE_DESCRIPTION("Devices of a test guest that stay awake");
MODULE_LICENSE("GPL");
