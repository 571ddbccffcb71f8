#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unprivileged.py: without privileges every command fails with EPERM, whatever its contents,
and the process cannot join the group of the events."""

import struct
import sys

import rdmablknl as nl

sock = nl.Netlink()
good = nl.attr(nl.TARGET, nl.address("10.99.0.2")) + nl.string(nl.EXPORT, "disk0")
for command, attrs in ((nl.CONNECT, good), (nl.DISCONNECT, nl.u32(nl.INDEX, 0)),
                       (nl.SET, nl.u32(nl.INDEX, 0)), (nl.RECONNECT, nl.u32(nl.INDEX, 0))):
    got = sock.error(command, attrs, 0)
    if got != "EPERM":
        sys.exit(f"command {command}: {got}")

# The family lists its commands: unprivileged processes may use none of them.
reply = sock.request(nl.CTRL_CMD_GETFAMILY,
                     nl.string(nl.CTRL_ATTR_FAMILY_NAME, "rdmablk"),
                     family=nl.GENL_ID_CTRL)[0]
CTRL_ATTR_OPS, CTRL_ATTR_OP_ID, CTRL_ATTR_OP_FLAGS = 6, 1, 2
CAP_DO, CAP_DUMP = 2, 4
asked = set()
for op in nl.parse(reply[CTRL_ATTR_OPS]).values():
    op = nl.parse(op)
    command, = struct.unpack("I", op[CTRL_ATTR_OP_ID])
    can, = struct.unpack("I", op[CTRL_ATTR_OP_FLAGS])
    for capability, flags in ((CAP_DO, 0), (CAP_DUMP, nl.NLM_F_DUMP)):
        for attrs in (b"", nl.u32(nl.INDEX, 0)):
            got = sock.error(command, attrs, flags) if can & capability else "EPERM"
            if got != "EPERM":
                sys.exit(f"command {command}, flags {flags:#x}: {got}")
    asked.add(command)
if not asked >= {nl.CONNECT, nl.DISCONNECT, nl.GET, nl.SET, nl.RECONNECT, nl.STATS_GET}:
    sys.exit(f"commands of the family: {asked}")

# The family has one group.
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
