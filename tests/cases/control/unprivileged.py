#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unprivileged.py: every command is refused with EPERM, whatever it says, and so is who
wants to read events."""

import struct
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

# The family, its groups, the first group: there is one.
reply = sock.request(nl.CTRL_CMD_GETFAMILY,
                     nl.string(nl.CTRL_ATTR_FAMILY_NAME, "rdmablk"),
                     family=nl.GENL_ID_CTRL)[0]
CTRL_ATTR_MCAST_GROUPS, CTRL_ATTR_MCAST_GRP_NAME, CTRL_ATTR_MCAST_GRP_ID = 7, 1, 2
SOL_NETLINK, NETLINK_ADD_MEMBERSHIP = 270, 1
group = nl.parse(nl.parse(reply[CTRL_ATTR_MCAST_GROUPS])[1])
if group[CTRL_ATTR_MCAST_GRP_NAME] != b"events\0":
    sys.exit(f"groups: {group}")
try:
    sock.sock.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
                         struct.unpack("I", group[CTRL_ATTR_MCAST_GRP_ID])[0])
    sys.exit("any process may read events")
except PermissionError:
    pass
