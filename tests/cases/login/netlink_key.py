#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""netlink_key.py connect HOST EXPORT [KEY], set INDEX KEY, or dump FILE: asks the module without
the tool.

connect and set print the name of the errno, or 0. set also has timeouts that do not go together,
so it is refused. dump writes all bytes of all attributes of the module's disks to FILE.
"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["RDMABLK_TOP"] + "/tests/cases/control")
import rdmablknl as nl	# noqa: E402, from there


def main(what, *args):
    """Sends the request, and prints or writes the answer."""
    link = nl.Netlink()
    if what == "connect":
        host, export, *key = args
        print(link.error(nl.CONNECT, nl.attr(nl.TARGET, nl.address(host)) +
                         nl.string(nl.EXPORT, export) +
                         b"".join(nl.string(nl.KEY, name) for name in key)))
        return
    if what == "set":
        print(link.error(nl.SET, nl.u32(nl.INDEX, int(args[0])) +
                         nl.string(nl.KEY, args[1]) +
                         nl.u32(nl.FAST_IO_FAIL_TMO, 9) + nl.u32(nl.DEV_LOSS_TMO, 5)))
        return
    with open(args[0], "wb") as file:
        for disk in link.dump():
            for kind, payload in disk.items():
                file.write(b"%d: %s\n" % (kind, payload))


main(*sys.argv[1:])
