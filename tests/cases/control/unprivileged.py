#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unprivileged.py: every command is refused with EPERM, whatever it says."""

import sys

import rdmablknl as nl

sock = nl.Netlink()
good = nl.attr(nl.TARGET, nl.address("10.99.0.2")) + nl.string(nl.EXPORT, "disk0")
for command, attrs, flags in (
        (nl.CONNECT, good, 0), (nl.CONNECT, b"", 0), (nl.DISCONNECT, b"", 0),
        (nl.DISCONNECT, nl.u32(nl.INDEX, 0), 0), (nl.GET, nl.u32(nl.INDEX, 0), 0),
        (nl.GET, b"", nl.NLM_F_DUMP), (nl.SET, nl.u32(nl.INDEX, 0), 0),
        (nl.RECONNECT, nl.u32(nl.INDEX, 0), 0)):
    got = sock.error(command, attrs, flags)
    if got != "EPERM":
        sys.exit(f"command {command}: {got}")
