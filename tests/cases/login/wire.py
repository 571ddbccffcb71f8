#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wire.py capture IFACE FILE: keeps all RoCE packets of an interface, until SIGTERM.
wire.py regions FILE: prints address and key of the region that READs and WRITEs name.
wire.py control FILE OUT: writes the messages of control queues and of rdma_cm to OUT.
wire.py bare FILE: prints types of messages that follow a PROOF and have no seal.
wire.py recorded FILE OUT: writes the initiator's messages of the first control queue to OUT.
wire.py clear FILE HEX...: prints the words that FILE, OUT of "control", has, in any byte order.
wire.py data FILE ADDR: prints numbers of packets to data queues, and of joins, at ADDR.

Messages of the control queue are one packet each.
"""

import signal
import socket
import struct
import sys

PORT = 4791
SEND_ONLY, SEND_LAST, READ = 4, 5, 12
HAVE_ADDRESS = (6, 10, 11, READ)	# the first or only packet of a WRITE, and a READ
UD_SEND = 0x64
SO_RCVBUFFORCE = 33
HELLO, CHALLENGE, PROOF, SEALED = 1, 2, 3, 15
MAGIC = b"rblk"
KIND = 8		# offset in the private data of a connection request


def capture(iface, path):
    """Writes packets to the file until SIGTERM."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sock.bind((iface, 0))

    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    sock.settimeout(0.2)
    print("capturing", flush=True)
    with open(path, "wb") as file:
        while True:
            try:
                frame = sock.recv(65536)
            except socket.timeout:
                # Packets that came before the signal are still in the socket.
                if ended:
                    return
                continue
            if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP:
                file.write(struct.pack("<I", len(frame)) + frame)


class Packet:
    """One RoCE packet."""

    def __init__(self, frame):
        begin = 14 + 4 * (frame[14] & 15)
        self.to = socket.inet_ntoa(frame[30:34])
        self.port, length = struct.unpack(">HH", frame[begin + 2:begin + 6])
        bth = begin + 8
        self.opcode = frame[bth] if self.port == PORT else None
        self.qpn = int.from_bytes(frame[bth + 5:bth + 8], "big")
        self.psn = int.from_bytes(frame[bth + 9:bth + 12], "big")
        pad = frame[bth + 1] >> 4 & 3
        # The last four bytes are a checksum.
        self.payload = frame[bth + 12:begin + length - 4 - pad]

    def type(self):
        """The type of a message of the control queue; None if it cannot be one."""
        if self.opcode != SEND_ONLY or len(self.payload) < 16:
            return None
        kind, length = struct.unpack("<HH", self.payload[:4])
        return kind if length == len(self.payload) else None


def packets(path):
    """All packets of a capture, in order. The transport may have sent some of them again."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    seen = set()
    while at + 4 <= len(data):
        length = struct.unpack("<I", data[at:at + 4])[0]
        packet = Packet(data[at + 4:at + 4 + length])
        at += 4 + length
        known = packet.to, packet.qpn, packet.psn, packet.opcode, packet.payload
        if packet.opcode is not None and known not in seen:
            seen.add(known)
            yield packet


def controls(path):
    """Address and queue pair number of each end of a control queue."""
    return {(p.to, p.qpn) for p in packets(path) if p.type() in (HELLO, CHALLENGE)}


def regions(path):
    """Prints the lowest address of each key."""
    found = {}
    for packet in packets(path):
        if packet.opcode in HAVE_ADDRESS:
            addr, key = struct.unpack(">QI", packet.payload[:12])
            found[key] = min(addr, found.get(key, addr))
    for key, addr in found.items():
        print(f"{addr:016x} {key:08x}")


def control(path, out):
    """Writes messages one behind the other."""
    ends = controls(path)
    with open(out, "wb") as file:
        for packet in packets(path):
            if packet.opcode == UD_SEND or (packet.opcode <= SEND_LAST and
                                            (packet.to, packet.qpn) in ends):
                file.write(packet.payload)


def bare(path):
    """Prints types of messages without a seal."""
    ends, proven, sealed = controls(path), False, 0
    for packet in packets(path):
        if (packet.to, packet.qpn) not in ends or packet.opcode > SEND_LAST:
            continue
        if proven and packet.type() != SEALED:
            print(packet.type())
        sealed += proven
        proven |= packet.type() == PROOF
    if sealed < 4:
        sys.exit(f"only {sealed} messages follow a PROOF")


def recorded(path, out):
    """Writes messages. Each one has its length in its header."""
    end = None
    with open(out, "wb") as file:
        for packet in packets(path):
            if packet.type() == HELLO:
                end = end or (packet.to, packet.qpn)
            if packet.opcode == SEND_ONLY and (packet.to, packet.qpn) == end:
                file.write(packet.payload)


def clear(path, *words):
    """Prints the words that are in the file."""
    with open(path, "rb") as file:
        data = file.read()
    for word in words:
        raw = bytes.fromhex(word)
        if raw in data or raw[::-1] in data:
            print(word)


def data_queues(path, addr):
    """Prints the number of packets to data queues, and of requests to join."""
    ends = controls(path)
    reached = joins = 0
    for packet in packets(path):
        if packet.to != addr:
            continue
        if packet.opcode == UD_SEND:
            at = packet.payload.find(MAGIC)
            joins += at >= 0 and packet.payload[at + KIND] in (1, 2)
        elif packet.opcode <= READ and (packet.to, packet.qpn) not in ends:
            reached += 1
    print(reached, joins)


COMMANDS = {"capture": capture, "regions": regions, "control": control, "bare": bare,
            "recorded": recorded, "clear": clear, "data": data_queues}
COMMANDS[sys.argv[1]](*sys.argv[2:])
