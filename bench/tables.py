#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renews the tables of Markdown files that are made of records, or says whether they are as the records have them:

    bench/tables.py build/src/cli/clvox [--check] [FILE.md...]      (default: those of doc/ and bench/ that hold tables)
    bench/tables.py build/src/cli/clvox --records results/a.json results/b.json      takes these records from now on

A table stands between two comments, of which the first holds the command, run in bench/, or names a script there
and records of it:
    <!-- table: clvox bench compare results/a.json results/b.json --markdown devices -->
    <!-- table: commands results/c.json -->
    <!-- table: forms results/d.json lee2012 force -->
    <!-- end of table -->"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys

import apart
import commands
import forms
import losses
import settings
import suspicion
import templates
from peers import texts

BENCH = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = {"apart": apart.text, "commands": commands.text, "forms": forms.text, "losses": losses.text,
           "worst": losses.worst, "peers": texts.tasks, "settings": settings.text, "suspicion": suspicion.text, "templates": templates.text}
TABLE = re.compile(rf"<!-- table: ((?:clvox bench compare|{'|'.join(SCRIPTS)}) [^\n]*?) -->\n"
                   r".*?<!-- end of table -->", re.S)


def loaded(name):
    with open(os.path.join(BENCH, name), encoding="utf-8") as record:
        return json.load(record)


def made(program, words):
    first, *rest = shlex.split(words)
    if first in SCRIPTS:
        try:
            return SCRIPTS[first](*(loaded(word) if word.endswith(".json") else word for word in rest))
        except OSError as error:
            raise SystemExit(f"tables.py: {words}: {error}") from None
    run = subprocess.run([program, *rest], cwd=BENCH, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"tables.py: {words}: {run.stderr.strip()}")
    return run.stdout


def renewed(program, records, table):
    words = table[1]
    if records:
        words = re.sub(r"(?<=bench compare )(?!-).*?(?= --)", " ".join(records), words)
    return f"<!-- table: {words} -->\n{made(program, words)}<!-- end of table -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clvox", help="the program")
    parser.add_argument("files", nargs="*", metavar="FILE.md",
                        default=[os.path.join(BENCH, os.pardir, "doc", "devices.md"),
                                 *(os.path.join(BENCH, name) for name in ("tables.md", "accuracy.md", "suspicion.md"))])
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 where a table is not so")
    parser.add_argument("--records", nargs="+", help="bench compare: of these, from bench/, instead of those that are named")
    options = parser.parse_intermixed_args()
    stale = 0
    for path in options.files:
        with open(path, encoding="utf-8") as text:
            before = text.read()
        after = TABLE.sub(lambda table: renewed(os.path.abspath(options.clvox), options.records, table), before)
        if before == after:
            continue
        stale += 1
        print(f"{os.path.relpath(path)}: {'not as its records have it' if options.check else 'renewed'}")
        if not options.check:
            with open(path, "w", encoding="utf-8") as out:
                out.write(after)
    return options.check and stale > 0


if __name__ == "__main__":
    sys.exit(main())
