#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renews the tables of Markdown files that are made of records, or says whether they are as the records have them:

    bench/tables.py build/src/cli/clvox [--check] [FILE.md...]      (default: README.md and bench/README.md)

A table stands between two comments, of which the first holds the command, run in bench/:
    <!-- table: clvox bench compare results/a.json results/b.json --markdown devices -->
    <!-- end of table -->"""
import os
import re
import shlex
import subprocess
import sys

BENCH = os.path.dirname(os.path.abspath(__file__))
TABLE = re.compile(r"(<!-- table: clvox (bench compare [^\n]*?) -->\n).*?(<!-- end of table -->)", re.S)


def made(program, words):
    run = subprocess.run([program, *shlex.split(words)], cwd=BENCH, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"tables.py: clvox {words}: {run.stderr.strip()}")
    return run.stdout


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if not words or words[0].startswith("-"):
        raise SystemExit(__doc__)
    program, files = os.path.abspath(words[0]), words[1:]
    stale = 0
    for path in files or [os.path.join(BENCH, os.pardir, "README.md"), os.path.join(BENCH, "README.md")]:
        with open(path, encoding="utf-8") as text:
            before = text.read()
        after = TABLE.sub(lambda table: table[1] + made(program, table[2]) + table[3], before)
        if before == after:
            continue
        stale += 1
        print(f"{os.path.relpath(path)}: {'not as its records have it' if '--check' in sys.argv else 'renewed'}")
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as out:
                out.write(after)
    return "--check" in sys.argv and stale > 0


if __name__ == "__main__":
    sys.exit(main())
