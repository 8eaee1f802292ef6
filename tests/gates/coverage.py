#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of src/ the tests have run, by gcov, without and with sanitizers: coverage.py BUILD FLOOR

Prints the files with the most lines left out, and one TAP case: at least FLOOR percent of the
lines ran. FLOOR 0 only reports."""
import glob
import json
import os
import shutil
import subprocess
import sys


def notes(build):
    """Every object of src/ that was compiled for coverage, run or not."""
    for folder, _, files in os.walk(os.path.join(build, "src")):
        for name in sorted(files):
            if name.endswith(".gcno") and "meson-generated" not in name:
                yield os.path.relpath(os.path.join(folder, name), build)


def by_gcc(build):
    """(source file, line, times run) as gcov says."""
    for path in notes(build):
        out = subprocess.run(["gcov", "--json-format", "--stdout", path], cwd=build, check=True,
                             capture_output=True, text=True).stdout
        for report in filter(None, out.split("\n")):
            for source in json.loads(report)["files"]:
                for line in source["lines"]:
                    yield source["file"], line["line_number"], line["count"]


def llvm(name):
    """The path of one of LLVM's tools, of 15 (tools/setup), whose files clang 14 writes, or of the one in PATH."""
    return shutil.which(name + "-15") or shutil.which(name)


def by_clang(build):
    """The same of the program with sanitizers, as clang's counters say."""
    raw, merged = glob.glob(os.path.join(build, "coverage", "*.profraw")), os.path.join(build, "coverage", "merged")
    if not raw:
        return
    subprocess.run([llvm("llvm-profdata"), "merge", "--failure-mode=all", "-o", merged, *raw], check=True)
    out = subprocess.run([llvm("llvm-cov"), "export", "--format=lcov", "--instr-profile=" + merged,
                          os.path.join(build, "src", "cli", "clvox")], check=True, capture_output=True, text=True).stdout
    name = None
    for line in out.split("\n"):
        if line.startswith("SF:"):
            name = line[3:]
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            yield name, int(number), int(count)


def lines_run(build):
    """{source file: {line: times run}} of both builds; a line that several objects hold has its largest count."""
    ran = {}
    for folder, read in ((build, by_gcc), (os.path.join(build, "gate-clang"), by_clang)):
        for source, number, count in read(folder):
            name = os.path.relpath(os.path.join(folder, source))
            if name.startswith("src" + os.sep):
                lines = ran.setdefault(name, {})
                lines[number] = max(lines.get(number, 0), count)
    return ran


def main():
    build, floor = sys.argv[1], float(sys.argv[2])
    if os.path.isdir(os.path.join(build, "gate-clang", "coverage")) and not (llvm("llvm-profdata") and llvm("llvm-cov")):
        print("ok 1 - the lines that ran # SKIP there is no llvm-profdata or llvm-cov: tools/setup test")
        return
    rows = []
    for name, lines in lines_run(build).items():
        rows.append((sum(not count for count in lines.values()), len(lines), name))
    total = sum(row[1] for row in rows)
    left = sum(row[0] for row in rows)
    percent = 100 * (total - left) / total if total else 0
    for missed, count, name in sorted(rows, reverse=True)[:12]:
        if missed:
            print(f"# {name}: {missed} of {count} lines never ran ({100 * (count - missed) / count:.0f}%)")
    print(f"# coverage of src by the tests: {percent:.1f}% of {total} lines")
    if floor:
        good = percent >= floor
        print(f"{'ok' if good else 'not ok'} 1 - the tests run at least {floor:g}% of the lines of src")


main()
