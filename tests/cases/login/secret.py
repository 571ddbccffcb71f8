#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""secret.py KEYFILE FILE...: is anything of the key in the files?

Prints the names of files that have four bytes of the key in a row, as they are, in
hexadecimal with or without something between the bytes, or in base64. Status 1 if there are any.
"""

import base64
import re
import sys

WINDOW = 4


def shapes(secret):
    """Patterns of each part of the secret."""
    for begin in range(len(secret) - WINDOW + 1):
        part = secret[begin:begin + WINDOW]
        yield re.escape(part)
        yield b"[ :,-]?(?:0x)?".join(b"%02x" % byte for byte in part)
        yield b"[ :,-]?(?:0x)?".join(b"%02X" % byte for byte in part)
    text = base64.b64encode(secret).rstrip(b"=")
    for begin in range(0, len(text) - 2 * WINDOW + 1):
        yield re.escape(text[begin:begin + 2 * WINDOW])


def main(key_file, *files):
    """The exit status."""
    with open(key_file, "rb") as file:
        secret = base64.b64decode(file.read().split(b":")[2])[:32]
    assert len(secret) == 32
    found = re.compile(b"|".join(shapes(secret)))
    status = 0
    for name in files:
        with open(name, "rb") as file:
            if found.search(file.read()):
                print(name)
                status = 1
    return status


sys.exit(main(*sys.argv[1:]))
