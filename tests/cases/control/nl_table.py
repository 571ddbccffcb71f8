#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nl_table.py SPEC: the commands and attributes of the specification as tables in C.

For nl_fuzz.c, which declares the types. So nl_fuzz also sends whatever is added to the
specification.
"""

import sys

import yaml


def numbers(items):
    """(value, item) of a list: one without a value follows the one before, the first is 1."""
    value = 1
    for item in items:
        value = item.get("value", value)
        yield value, item
        value += 1


def limits(item):
    """Smallest and largest value, or the length that the policy checks."""
    checks = item.get("checks", {})
    length = checks.get("exact-len", checks.get("max-len", checks.get("min-len", 0)))
    return int(checks.get("min", 0)), int(checks.get("max", 3)), int(length)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    attributes = dict((item["name"], (value, item)) for value, item in
                      numbers(spec["attribute-sets"][0]["attributes"]))
    print("static const struct attribute attributes[] = {")
    for value, item in attributes.values():
        low, high, length = limits(item)
        kind = item["type"].upper().replace("-", "_")
        print(f"\t{{ {value}, KIND_{kind}, {low}, {high}, {length}, \"{item['name']}\" }},")
    print("};\n\nstatic const struct command commands[] = {")
    for value, item in numbers(spec["operations"]["list"]):
        if "do" not in item:
            continue
        names = item["do"]["request"]["attributes"]
        used = ", ".join(str(attributes[name][0]) for name in names)
        print(f"\t{{ {value}, \"{item['name']}\", {len(names)}, {{ {used} }} }},")
    print("};")


main()
