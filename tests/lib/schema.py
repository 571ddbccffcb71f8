#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""schema.py {SCHEMA FILE...}...: do the files follow a schema of Documentation/json?

The name of a schema ends in .schema.json; it holds for the files up to the next one. A file
has one JSON value, or one in each line. Exit status: 0 if all do, 1 if one does not, 77
without python3-jsonschema.
"""

import json
import pathlib
import sys

COMMON = 'rdmablk-common.schema.json'


def load(path):
    """The JSON value of a file."""
    return json.loads(path.read_text(encoding='utf-8'))


def validator(path):
    """A validator for the schema of a file."""
    import jsonschema

    path = pathlib.Path(path)
    schema = load(path)
    # Other schemas refer to this file, as a part of them, by its $id.
    schema.setdefault('$defs', {})['common'] = load(path.with_name(COMMON))
    return jsonschema.Draft202012Validator(schema)


def values(path):
    """The JSON values of a file: one, or one in each line."""
    text = pathlib.Path(path).read_text(encoding='utf-8')
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def main(args):
    """Checks the files; returns the exit status."""
    status, check = 0, None
    for name in args:
        if name.endswith('.schema.json'):
            try:
                check = validator(name)
            except ImportError:
                return 77
            continue
        for error in (error for value in values(name) for error in check.iter_errors(value)):
            print(f'{name}: {error.message}', file=sys.stderr)
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
