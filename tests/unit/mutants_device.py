# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutants of what becomes of an RDMA device that goes, for tests/unit/mutants, which says what
the columns are."""

DEVICE = "target/rdma/device.c"

TESTS = {"target_device_test": None}

MUTANTS = [
    ("what took a descriptor of a closed context becomes /dev/null", "target_device_test", DEVICE,
     "\tif (dev->gone) {\n\t\tcontext_close(dev->verbs);\n",
     "\trdma_destroy_id(dev->sentinel);\n\tif (dev->gone) {\n\t\tcontext_close(dev->verbs);\n"),
    ("the kernel waits for a context that nobody uses", "target_device_test", DEVICE,
     "\t\tcontext_close(dev->verbs);\n\t\tlog_info(",
     "\t\tlog_info("),
    ("a device is used although its context may go", "target_device_test", DEVICE,
     "\tif (ret) {\n\t\tlog_peer(NULL, LOG_ERR,\n\t\t\t \"device %s: cannot be used: no id",
     "\tif (ret > 0) {\n\t\tlog_peer(NULL, LOG_ERR,\n\t\t\t \"device %s: cannot be used: no id"),
    ("an id on another device keeps a context open", "target_device_test", DEVICE,
     "dev->sentinel->verbs == dev->verbs ? 0 : -EADDRNOTAVAIL;",
     "0;"),
    ("the kernel waits for a device that cannot be watched", "target_device_test", DEVICE,
     "\t\tif (!uverbs_is_there(dev))\n\t\t\tcontext_close(verbs);\n",
     ""),
]
