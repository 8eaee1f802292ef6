#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a finished meson test run as TAP: programs.py LOG programs|cases

programs: one case a test program. cases: the cases of programs that print TAP themselves."""
import json
import os
import re
import sys

CASE = re.compile(r"(not ok|ok) \d+ - (.*)")


def program(record):
    """(lines of TAP that lack their number, whether all is well) of one test program."""
    name, result = record["name"], record["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        return [("ok", name)], True
    if result == "SKIP":
        return [("ok", f"{name} # SKIP {name} does not run here")], True
    text = (record.get("stdout") or "") + "\n" + (record.get("stderr") or "")
    return [("#", line) for line in text.strip().split("\n")[-60:]] + [("not ok", f"{name}: {result}")], False


def cases(record):
    """The same of each of its cases."""
    lines, name = [], record["name"].split(" / ")[-1]
    for line in (record.get("stdout") or "").split("\n"):
        case = CASE.match(line)
        if case:
            lines.append((case.group(1), f"{name}: {case.group(2)}"))
        elif line.startswith("#"):
            lines.append(("#", line[1:].strip()))
    good = record["result"] in ("OK", "EXPECTEDFAIL", "SKIP")
    if not lines or not good and not any(line[0] == "not ok" for line in lines):
        return program(record)
    return lines, good


def main():
    path, each = sys.argv[1], cases if sys.argv[2] == "cases" else program
    number = failures = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as log:
            for record in map(json.loads, filter(str.strip, log)):
                lines, good = each(record)
                failures += not good
                for kind, text in lines:
                    number += kind != "#"
                    print(f"# {text}" if kind == "#" else f"{kind} {number} - {text}")
    if not number:
        number, failures = 1, 1
        print("not ok 1 - no test ran")
    print(f"1..{number}")
    return 1 if failures else 0


sys.exit(main())
