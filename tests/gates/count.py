#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the cases of a meson test run, says what each part took and names the slowest tests: count.py BUILD [TAP FILE...]

A program that prints TAP or the plain output of cmocka counts once a case, any other once. A program that ends badly without
a failed case of its own (a crash, a time-out, no output) counts as one failure."""
import json
import os
import re
import sys

LINE = re.compile(r"(not )?ok\b(.*)")
CMOCKA = re.compile(r"\[ +(OK|FAILED|ERROR|SKIPPED) +\] (.*)")
SLOWEST = 15
REASON = re.compile(r"#\s*skip\S*\s*(.*)", re.I)


def cases(record):
    """(passed, failed, skipped, reasons for what was skipped, names of what failed) of one program."""
    passed = failed = skipped = 0
    why, bad = [], []
    text = record.get("stdout") or ""
    reason = "no reason given"
    for line in text.split("\n"):
        case, plain = LINE.match(line), CMOCKA.match(line)
        if plain:
            how, name = plain.groups()
            if how == "OK":
                passed += 1
            elif how == "SKIPPED":
                skipped += 1
                why.append(reason)
            else:
                failed += 1
                bad.append(name.strip())
            reason = "no reason given"
        elif line.startswith("# SKIP "):
            reason = line[len("# SKIP "):].strip()
        elif case:
            directive = REASON.search(case.group(2))
            if case.group(1):
                failed += 1
                bad.append(case.group(2).strip())
            elif directive:
                skipped += 1
                why.append(directive.group(1).strip())
            else:
                passed += 1
        elif re.match(r"1\.\.0\b", line) and REASON.search(line):
            skipped += 1
            why.append(REASON.search(line).group(1).strip())
    result = record["result"]
    if result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"):
        if not failed:
            failed = 1
            bad.append(f"ended as {result}, status {record.get('returncode')}")
    elif passed + failed + skipped == 0 and result != "TAP":
        if result == "SKIP":
            skipped = 1
            lines = text.strip().split("\n")
            why.append(lines[-1] or "no reason given")
        else:
            passed = 1
    return passed, failed, skipped, why, bad


def complaint(record, bad):
    """What a program said of its failed cases: comments of TAP and of cmocka's cases before them, and errors."""
    lines, said = [], []
    for line in (record.get("stdout") or "").split("\n"):
        plain = CMOCKA.match(line)
        if line.startswith("not ok") or plain and plain.group(1) in ("FAILED", "ERROR"):
            said += lines[-12:]
        if LINE.match(line) or plain:
            lines = []
        elif line.strip() and not line.startswith(("[ RUN", "[=====")):
            lines.append(line)
    if bad and not said:
        said = lines[-12:]
    return said[:40] + [line for line in (record.get("stderr") or "").split("\n") if line.strip()][:20]


def main():
    log = os.path.join(sys.argv[1], "meson-logs", "testlog.json")
    total = [0, 0, 0]
    reasons, failures = {}, []
    records = []
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as text:
            records.append({"name": os.path.basename(path), "stdout": text.read(), "result": "TAP"})
    for record in records:
        *counts, why, bad = cases(record)
        total = [a + b for a, b in zip(total, counts)]
        for reason in why:
            reasons[reason] = reasons.get(reason, 0) + 1
        failures += [(f"{record['name']}: {name}", []) for name in bad[:-1]]
        failures += [(f"{record['name']}: {name}", complaint(record, bad)) for name in bad[-1:]]
    for reason, count in sorted(reasons.items()):
        print(f"skipped {count}: {reason}")
    for failure, said in failures:
        print(f"FAILED {failure}")
        for line in said:
            print(f"    {line}")
    if not total[0] + total[1]:
        print("Nothing ran: that is a failure.")
        total[1] += 1
    timed = sorted((record for record in records if "duration" in record), key=lambda record: -record["duration"])
    if timed:
        parts = {}
        for record in timed:
            part = record["name"].split(" / ")[0].split(":")[-1].split("+")[-1]
            parts.setdefault(part, []).append(record["duration"])
        print("Tests and their seconds, of which two or more pass at a time: " + ", ".join(
            f"{part} {len(taken)} in {sum(taken):.0f} s" for part, taken in sorted(parts.items(), key=lambda p: -sum(p[1]))))
        print("The slowest: " + ", ".join(f"{r['name'].split(' / ')[-1]} {r['duration']:.0f} s" for r in timed[:SLOWEST]))
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


sys.exit(main())
