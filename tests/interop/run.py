#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests beside it and prints TAP: run.py PROGRAM [WORD...]

PROGRAM is the clvox to test; with WORDs only the cases whose names hold one of them."""
import os
import sys
import tempfile
import time
import unittest


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


class Tap(unittest.TestResult):
    """One line a case."""

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()
        self.told = None

    def say(self, good, test, note=""):
        text = test.shortDescription() or test.id()
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {text}{note}", flush=True)
        print(f"#   {time.monotonic() - self.begun:.1f} s", flush=True)

    def complain(self, test, error):
        for line in self._exc_info_to_string(error, test).strip().split("\n"):
            print(f"# {line}")
        self.say(False, test)

    def addSuccess(self, test):
        self.say(True, test)

    def addError(self, test, err):
        super().addError(test, err)
        self.complain(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.complain(test, err)

    def addSubTest(self, test, subtest, err):
        """The first part that fails tells for the case."""
        super().addSubTest(test, subtest, err)
        if err and self.told != test:
            self.told = test
            print(f"# {subtest._subDescription()}")
            self.complain(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(True, test, f" # SKIP {reason}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ["CLVOX"] = os.path.abspath(sys.argv[1])
    os.environ.setdefault("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "2")
    with tempfile.TemporaryDirectory(prefix="clvox-interop-") as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder  # what libraries leave there goes with it
        # Kernels are built once for all cases, and not among the user's.
        os.environ["CLVOX_CACHE_DIR"] = os.path.join(folder, "kernels")
        os.chdir(folder)
        sys.path.insert(0, here)
        tests = list(flatten(unittest.TestLoader().discover(here)))
        words = sys.argv[2:]
        if words:
            tests = [t for t in tests if any(w in t.id() or w in str(t.shortDescription()) for w in words)]
        result = Tap()
        unittest.TestSuite(tests).run(result)
        print(f"1..{result.testsRun}")
        os.chdir(here)
    return 0 if result.wasSuccessful() and result.testsRun else 1


sys.exit(main())
