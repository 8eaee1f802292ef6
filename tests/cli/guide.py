#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guides' commands on phantoms run as they stand: guide.py CLVOX SOURCE
The blocks of a page that are marked sh run one after another in an empty folder. Prints a TAP line a page."""
import glob
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]


def tried(path):
    """What is wrong with a page, or None."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S))
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(["bash", "-ec", script], cwd=folder, capture_output=True, text=True, check=False,
                             env={**os.environ, "PATH": os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]})
        if run.returncode:
            return f"exit code {run.returncode}: {run.stderr[-600:]}"
    return None


def main():
    pages, failed = sorted(glob.glob(os.path.join(SOURCE, "doc/guide/*.md"))), 0
    for number, path in enumerate(pages, 1):
        said = tried(path)
        failed += said is not None
        for line in (said or "").splitlines():
            print("#", line)
        print("not ok" if said else "ok", number, "-", os.path.basename(path))
    print(f"1..{len(pages)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
