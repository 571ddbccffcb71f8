#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""secret.py KEYFILE... -- FILE...: do the files have bytes of the keys?

Prints the names of files that have four bytes of a key in a row: raw, in hexadecimal with or
without separators between the bytes, or in base64. Status 1 if there are any.
"""

import base64
import re
import sys

WINDOW = 4


def read(name):
    """The bytes of a file."""
    with open(name, "rb") as file:
        return file.read()


def windows(data, size):
    """All parts of the data with that size."""
    return [data[begin:begin + size] for begin in range(len(data) - size + 1)]


def is_shown(secret, data):
    """Whether the data has a part of the secret."""
    text = base64.b64encode(secret).rstrip(b"=")
    digits = re.sub(rb"[ :,-]|0[xX]", b"", data).lower()
    return any(part in data for part in windows(secret, WINDOW)) or \
        any(part in data for part in windows(text, 2 * WINDOW)) or \
        any(part.hex().encode() in digits for part in windows(secret, WINDOW))


def main(args):
    """The exit status."""
    split = args.index("--")
    secrets = [base64.b64decode(read(name).split(b":")[2])[:32] for name in args[:split]]
    assert secrets and all(len(secret) == 32 for secret in secrets)
    status = 0
    for name in args[split + 1:]:
        data = read(name)
        if any(is_shown(secret, data) for secret in secrets):
            print(name)
            status = 1
    return status


sys.exit(main(sys.argv[1:]))
