#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package where it runs: beside other libraries, without a home, and as a wheel.
    test_wheel.py BUILD SOURCE PROGRAM
Prints a TAP line a case."""
import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from harness import BUILD, SOURCE, case, main


@case("OpenSSL's digests are right beside the package, in any order")
def digests():
    md5 = "assert hashlib.md5(b'x').hexdigest() == '9dd4e461268c8034f5c8564e155c67a6'"
    for code in ("import clvox, hashlib", "import hashlib, clvox", f"import hashlib; {md5}; import clvox"):
        run = subprocess.run([sys.executable, "-c", f"{code}; {md5}; clvox.Context(); {md5}"], capture_output=True, text=True,
                             check=False, env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python")})
        assert run.returncode == 0, (code, run.returncode, run.stderr[-300:])


@case("where no home is set a context says once that kernels are not kept, and takes no folder of others")
def homeless():
    code = "import clvox; clvox.Context(); clvox.Context(); clvox.Context(verbosity=0)"
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "CLVOX_CACHE_DIR", "POCL_CACHE_DIR")}
    with tempfile.TemporaryDirectory() as folder:
        before = os.path.exists("/tmp/pocl")
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                             env={**env, "TMPDIR": folder, "PYTHONPATH": os.path.join(BUILD, "src/python")})
        assert run.returncode == 0 and run.stderr.count("built kernels are not kept") == 1, run.stderr
        assert os.path.exists("/tmp/pocl") == before


@case("PoCL's folder is not one that others could write, and a context says which it is")
def open_folder():
    code = "import clvox; clvox.devices(); print(clvox.Context().name); clvox.Context()"
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "open"))
        os.chmod(os.path.join(folder, "open"), 0o777)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                             env={**os.environ, "TMPDIR": folder, "POCL_CACHE_DIR": os.path.join(folder, "open"),
                                  "PYTHONPATH": os.path.join(BUILD, "src/python")})
        assert run.returncode == 0, run.stderr
        assert not os.listdir(os.path.join(folder, "open"))
        if run.stdout.startswith(("pthread", "cpu")):
            assert run.stderr.count(f"PoCL keeps what it builds in {folder}/clvox-pocl-") == 1 and "/open can be written" in run.stderr, run.stderr


@case("a wheel is whole and runs where it is unpacked")
def wheel():
    run = subprocess.run([os.path.join(SOURCE, "tools/package"), "wheel", "out", "--build", BUILD], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    with zipfile.ZipFile(run.stdout.split()[-1]) as packed:
        names = set(packed.namelist())
        record = next(n for n in names if n.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(packed.read(record).decode().splitlines()))
        assert {r[0] for r in rows} == names and "clvox/py.typed" in names
        for name, digest, size in rows:
            data = packed.read(name)
            wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert name == record or (digest == wanted and int(size) == len(data)), name
        packed.extractall("site packages")
    code = ("import clvox, numpy; print(clvox.Volume(numpy.ones((2, 2, 2)), numpy.eye(4)).shape);"
            "print(''.join(l for l in open('/proc/self/maps') if 'libclvox' in l))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": os.path.abspath("site packages")})
    assert run.returncode == 0 and "site packages/clvox/lib/libclvox.so.0" in run.stdout, run.stderr + run.stdout


@case("a wheel with PoCL runs kernels by its own linker")
def wheel_with_pocl():
    if not shutil.which("patchelf"):
        raise unittest.SkipTest("there is no patchelf")
    run = subprocess.run([os.path.join(SOURCE, "tools/package"), "wheel", "out", "--pocl", "--build", BUILD], capture_output=True,
                         text=True, check=False)
    assert run.returncode == 0, run.stderr
    subprocess.run([sys.executable, "-m", "zipfile", "-e", run.stdout.split()[-1], "pocl"], check=True)
    inside = os.path.abspath("pocl/clvox/lib/pocl")
    for name in ("bin/ld", "bin/ld.bfd"):
        os.chmod(os.path.join(inside, name), 0o755)  # as pip does
    code = ("import clvox, numpy; v = clvox.Volume(numpy.full((9, 8, 7), 2, 'f4'), numpy.eye(4));"
            "print(abs(numpy.asarray(clvox.filter.gaussian(v, 1)) - 2).max() < 1e-5);"
            "print(''.join(l for l in open('/proc/self/maps') if 'libpocl.so' in l))")
    # The system's driver would come first.
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                         env={"PYTHONPATH": os.path.abspath("pocl"), "HOME": os.path.abspath("."), "PATH": os.path.join(inside, "bin") + ":/bin",
                              "OCL_ICD_VENDORS": os.path.join(inside, "libpocl.so.2")})
    assert run.returncode == 0 and run.stdout.startswith("True") and inside in run.stdout, run.stderr + run.stdout


if __name__ == "__main__":
    sys.exit(main())
