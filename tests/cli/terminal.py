#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command on a terminal: bars of what has no callback of its own.
    terminal.py PROGRAM
Prints a TAP line a case."""
import filecmp
import os
import pty
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
WIPED = "\r\033[K"


def on_terminal(*words, term="xterm"):
    """Exit code, standard output, and what a terminal got as standard error."""
    here, there = pty.openpty()
    with subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=there, env={**os.environ, "TERM": term}) as run:
        os.close(there)
        shown = b""
        while True:
            try:
                more = os.read(here, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        out = run.stdout.read()
    os.close(here)
    return run.returncode, out, shown.decode()


def command(*words):
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def bar_of_frames():
    command("filter", "nlm", "rings_dwi.nii.gz", "-o", "plain.nii")
    code, out, shown = on_terminal("filter", "nlm", "rings_dwi.nii.gz", "-o", "t.nii")
    assert code == 0 and "] denoising " in shown and shown.endswith(WIPED), repr(shown)
    assert b"denoising" not in out and filecmp.cmp("plain.nii", "t.nii", shallow=False)


def nothing_where_nobody_looks():
    code, _, shown = on_terminal("filter", "nlm", "rings_dwi.nii.gz", "-o", "q.nii", "-q")
    assert code == 0 and shown == "", repr(shown)
    code, _, shown = on_terminal("filter", "nlm", "rings_dwi.nii.gz", "-o", "d.nii", term="dumb")
    assert code == 0 and "denoising" not in shown, repr(shown)


def a_failure_on_a_line_of_its_own():
    code, _, shown = on_terminal("filter", "nlm", "rings_dwi.nii.gz", "-o", "none/t.nii")
    assert code == 1 and WIPED not in shown.splitlines()[-1] and shown.splitlines()[-1].startswith("clvox filter"), repr(shown)


CASES = [("a bar of the frames of a filter stands on a terminal and is wiped; the file is the same", bar_of_frames),
         ("none with -q or on a terminal that cannot move back", nothing_where_nobody_looks),
         ("a failure has a line of its own", a_failure_on_a_line_of_its_own)]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        command("phantom", "tensor:rings", "-o", "rings", "--size", "15x14x13", "--directions", "6")
        for number, (name, function) in enumerate(CASES, 1):
            try:
                function()
                print("ok", number, "-", name)
            except AssertionError as error:
                failures += 1
                print("#", error)
                print("not ok", number, "-", name)
        os.chdir("/")
    print(f"1..{len(CASES)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
