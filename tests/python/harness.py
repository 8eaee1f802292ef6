# SPDX-License-Identifier: Apache-2.0
"""What the programs of tests of the Python package share: they take BUILD SOURCE PROGRAM, and print a TAP line a case."""
import contextlib
import fnmatch
import os
import random
import subprocess
import sys
import tempfile
import traceback
import unittest
import warnings

BUILD, SOURCE, PROGRAM = sys.argv[1:4]
sys.path.insert(0, os.path.join(BUILD, "src/python"))
import clvox  # noqa: E402  pylint: disable=wrong-import-position

CASES = []


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def command(*words):
    subprocess.run([PROGRAM, *words, "-q"], check=True, stdout=subprocess.DEVNULL)


def refused(words, function, *arguments, **more):
    """The sentence of the Error, which has these words."""
    try:
        function(*arguments, **more)
    except clvox.Error as error:
        assert all(w in str(error) for w in words), str(error)
        return
    raise AssertionError(f"no error that says {words}")


@contextlib.contextmanager
def instead(place, **things):
    """Other things under these names, until the end of the block."""
    kept = {name: getattr(place, name) for name in things}
    try:
        for name, thing in things.items():
            setattr(place, name, thing)
        yield
    finally:
        for name, thing in kept.items():
            setattr(place, name, thing)


@contextlib.contextmanager
def warned(*words):
    """As many warnings as words, each with its word."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    texts = [str(w.message) for w in said]
    assert len(texts) == len(words) and all(w in t for w, t in zip(words, texts)), texts


def chosen():
    """The cases of CLVOX_TEST_ONLY in the order of CLVOX_TEST_SHUFFLE, as tests/check.h has them."""
    cases = [c for c in CASES if fnmatch.fnmatchcase(c[0], os.environ.get("CLVOX_TEST_ONLY", "*"))]
    if "CLVOX_TEST_SHUFFLE" in os.environ:
        random.Random(os.environ["CLVOX_TEST_SHUFFLE"]).shuffle(cases)
    return cases


def main(*phantoms):
    """Runs the cases in a folder that has these phantoms."""
    failures, cases = 0, chosen()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for words in phantoms:
            command("phantom", *words.split())
        for number, (name, function) in enumerate(cases, 1):
            try:
                function()
                print("ok", number, "-", name)
            except unittest.SkipTest as why:
                print("ok", number, "-", name, "# SKIP", why)
            except Exception:  # pylint: disable=broad-except
                failures += 1
                print("#", traceback.format_exc().strip().replace("\n", "\n# "))
                print("not ok", number, "-", name)
        os.chdir("/")
    print(f"1..{len(cases)}")
    return 1 if failures else 0
