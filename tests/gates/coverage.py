#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of src/ the tests with sanitizers have run, by clang's counters: coverage.py BUILD FLOOR

Prints the files with the most lines left out, and one TAP case: at least FLOOR percent of the lines ran."""
import glob
import os
import shutil
import subprocess
import sys


def llvm(name):
    """The path of one of LLVM's tools, of 15 (tools/setup), whose files clang 14 writes, or of the one in PATH."""
    return shutil.which(name + "-15") or shutil.which(name)


def lines_run(build):
    """{source file: {line: times run}}; a line that several objects hold has its largest count."""
    merged = os.path.join(build, "coverage", "merged")
    raw = glob.glob(os.path.join(build, "coverage", "*.profraw"))
    subprocess.run([llvm("llvm-profdata"), "merge", "--failure-mode=all", "-o", merged, *raw], check=True)
    objects = [os.path.join(build, "src", "cli", "clvox"), "--object=" + os.path.join(build, "src", "libclvox.so")]
    out = subprocess.run([llvm("llvm-cov"), "export", "--format=lcov", "--instr-profile=" + merged, *objects], check=True,
                         capture_output=True, text=True).stdout
    ran, lines = {}, None
    for line in out.split("\n"):
        if line.startswith("SF:"):
            name = os.path.relpath(line[3:])
            lines = ran.setdefault(name, {}) if name.startswith("src" + os.sep) else {}
        elif line.startswith("DA:"):
            number, count = (int(word) for word in line[3:].split(",")[:2])
            lines[number] = max(lines.get(number, 0), count)
    return ran


def main():
    build, floor = sys.argv[1], float(sys.argv[2])
    if not os.path.isdir(os.path.join(build, "coverage")) or not (llvm("llvm-profdata") and llvm("llvm-cov")):
        print("ok 1 - the lines that ran # SKIP there is no clang, llvm-profdata or llvm-cov: tools/setup test")
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
    print(f"{'ok' if percent >= floor else 'not ok'} 1 - the tests run at least {floor:g}% of the lines of src")


main()
