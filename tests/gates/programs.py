#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a finished meson test run as TAP, one case a test program: programs.py BUILD"""
import json
import os
import sys


def main():
    log = os.path.join(sys.argv[1], "meson-logs", "testlog.json")
    number = failures = 0
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as lines:
            for record in map(json.loads, filter(str.strip, lines)):
                number += 1
                name, result = record["name"], record["result"]
                if result in ("OK", "EXPECTEDFAIL"):
                    print(f"ok {number} - {name}")
                elif result == "SKIP":
                    print(f"ok {number} - {name} # SKIP {name} does not run here")
                else:
                    failures += 1
                    text = (record.get("stdout") or "") + "\n" + (record.get("stderr") or "")
                    for line in text.strip().split("\n")[-60:]:
                        print(f"# {line}")
                    print(f"not ok {number} - {name}: {result}")
    if not number:
        number, failures = 1, 1
        print("not ok 1 - no test ran")
    print(f"1..{number}")
    return 1 if failures else 0


sys.exit(main())
