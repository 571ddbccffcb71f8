# SPDX-License-Identifier: GPL-2.0-or-later
"""The management interface of rdmablk over a raw generic netlink socket, for tests
that send what the tool does not."""

import errno
import os
import socket
import struct

NLM_F_REQUEST, NLM_F_MULTI, NLM_F_ACK, NLM_F_DUMP = 1, 2, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, CTRL_ATTR_MCAST_GROUPS = 1, 2, 7

CONNECT, DISCONNECT, GET, EVENT, SET, RECONNECT, STATS_GET = range(1, 8)
(PAD, INDEX, NAME, STATE, REASON, TARGET, SOURCE, EXPORT, READ_ONLY, STEAL, FORCE,
 QUEUES, QUEUE_DEPTH, KEEP_ALIVE_TMO, CONNECT_TMO, FAST_IO_FAIL_TMO, ACK_TIMEOUT,
 HOST_ID) = range(1, 19)
(RECONNECT_DELAY, DEV_LOSS_TMO, ON_DATA_LOSS, ACCEPT_DATA_LOSS, IO_FAILING, RECONNECTS,
 ATTEMPTS, HELD, LAST_ERROR, ERROR, TEXT) = range(44, 55)
POLL_QUEUES, TIMED = 61, 62
LATENCY_DISCARD, IO_TMO = 74, 77
KEEP_ALIVE_ASKED, TOS, ORDERED, KEY, AUTH, REAUTH_TMO, OUTAGE_MS, DISCONNECT_MS = range(78, 86)
LAST_ATTR = 85


def attr(kind, payload=b""):
    """One attribute with its padding."""
    head = struct.pack("HH", 4 + len(payload), kind)
    return head + payload + b"\0" * (-len(payload) % 4)


def u32(kind, value):
    return attr(kind, struct.pack("I", value & 0xffffffff))


def string(kind, text):
    return attr(kind, text.encode() + b"\0")


def address(host, port=0):
    """struct sockaddr_in or sockaddr_in6."""
    if ":" in host:
        return struct.pack("=HHI", socket.AF_INET6, socket.htons(port), 0) + \
            socket.inet_pton(socket.AF_INET6, host) + struct.pack("=I", 0)
    return struct.pack("=HH", socket.AF_INET, socket.htons(port)) + \
        socket.inet_pton(socket.AF_INET, host) + b"\0" * 8


def parse(data):
    """Attributes as {type: payload}."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        if length < 4:
            break
        found[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


class Netlink:
    """One socket; not for several threads at once."""

    def __init__(self, timeout=60 * int(os.environ.get("SLOWNESS", "1"))):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.sock.bind((0, 0))
        self.sock.settimeout(timeout)
        self.seq = 0
        self.family = None
        replies = self.request(CTRL_CMD_GETFAMILY, string(CTRL_ATTR_FAMILY_NAME, "rdmablk"),
                               family=GENL_ID_CTRL)
        self.family = struct.unpack("H", replies[0][CTRL_ATTR_FAMILY_ID])[0]

    def send(self, command, attrs=b"", flags=0, family=None, version=1):
        """Sends a request; receive() gets the answer."""
        self.seq += 1
        body = struct.pack("BBH", command, version, 0) + attrs
        head = struct.pack("IHHII", 16 + len(body), family or self.family,
                           NLM_F_REQUEST | NLM_F_ACK | flags, self.seq, 0)
        self.sock.send(head + body)

    def receive(self, late=False):
        """The replies to the last request; raises OSError for an error. With late it waits for
        the acknowledgement and a reply, in either order."""
        replies = []
        acked = False
        while not (acked and replies):
            data = self.sock.recv(1 << 16)
            while data:
                length, kind, flags, seq, _ = struct.unpack_from("IHHII", data)
                body, data = data[16:length], data[(length + 3) & ~3:]
                if seq != self.seq:
                    continue
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    code = -struct.unpack_from("i", body)[0] if len(body) >= 4 else 0
                    if code:
                        raise OSError(code, os.strerror(code))
                    if kind == NLMSG_DONE or not flags & NLM_F_MULTI:
                        if not late:
                            return replies
                        acked = True
                else:
                    replies.append(parse(body[4:]))
        if ERROR in replies[0]:
            code = -struct.unpack("i", replies[0][ERROR])[0]
            raise OSError(code, replies[0][TEXT].decode())
        return replies

    def request(self, command, attrs=b"", flags=0, family=None):
        self.send(command, attrs, flags, family)
        return self.receive(not family and flags != NLM_F_DUMP and
                            command in (CONNECT, DISCONNECT))

    def error(self, command, attrs=b"", flags=0):
        """Name of the errno with which the request fails, or '0'."""
        try:
            self.request(command, attrs, flags)
        except OSError as e:
            return errno.errorcode.get(e.errno, str(e.errno))
        return "0"

    def connect(self, host, export, *options):
        """Connects a disk; returns its index."""
        reply = self.request(CONNECT, attr(TARGET, address(host)) +
                             string(EXPORT, export) + b"".join(options))[0]
        return struct.unpack("I", reply[INDEX])[0]

    def disconnect(self, index, *options):
        self.request(DISCONNECT, u32(INDEX, index) + b"".join(options))

    def dump(self):
        return self.request(GET, flags=NLM_F_DUMP)
