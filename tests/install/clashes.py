#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that the libraries loaded with clvox export and that OpenSSL's libcrypto, zlib or libpng export, too: who calls one
gets that of the library that comes first. clashes.py LIBRARY PROGRAM..."""
import os
import re
import shutil
import subprocess
import sys

LIBRARY, BINARIES = sys.argv[1], sys.argv[1:]
VICTIMS = ("libcrypto.so", "libz.so", "libpng16.so")
# What the linker puts into each, and what sanitizers and coverage do.
OF_ALL = re.compile(r"^(_init|_fini|_edata|_end|__bss_start|__gcov_.*|mangle_path|__(a|l|ub)san.*|__sanitizer.*)$")
failures = 0


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True).stdout


def closure(binary):
    """The libraries that are loaded with it, itself first."""
    return [binary] + [w[2] for w in map(str.split, said("ldd", binary).splitlines()) if len(w) > 2 and w[2].startswith("/")]


def exported(library):
    names = (line.split()[-1].split("@")[0] for line in said("nm", "-D", "--defined-only", library).splitlines()
             if line.split()[-2] != "A")  # a version
    return {name for name in names if not OF_ALL.match(name)}


def is_victim(path):
    return os.path.basename(path).startswith(VICTIMS)


def victims(loaded):
    """Those that are loaded, and the system's: a program may bring them."""
    found = {os.path.realpath(path) for path in loaded if is_victim(path)}
    system = said(shutil.which("ldconfig", path="/sbin:/usr/sbin:" + os.environ.get("PATH", "")) or "true", "-p")
    return found | {os.path.realpath(line.split(" => ")[1]) for line in system.splitlines()
                    if " => /" in line and is_victim(line.split()[0])}


def clashes(loaded):
    taken = {path: exported(path) for path in victims(loaded)}
    found = []
    for library in sorted(set(map(os.path.realpath, loaded)) - set(taken)):
        names = exported(library)
        for victim, its in taken.items():
            found += [f"{library} and {victim} both have {name}" for name in sorted(names & its)]
    return found


def case(number, name, wrong):
    global failures
    failures += bool(wrong)
    for line in wrong[:20]:
        print("# " + line)
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}")


def linked():
    return sorted({line for binary in BINARIES for line in clashes(closure(binary))})


# Run in a process of its own: opens the library that LIBRARY opens by itself, then looks for each of its names from outside.
OPENED = '''
import ctypes, os, sys
loaded = ctypes.CDLL(sys.argv[1])
linked = {os.path.realpath(line.split()[-1]) for line in open("/proc/self/maps") if ".so" in line}
loaded.clvox_clfft_missing.restype = ctypes.c_char_p
print("missing", loaded.clvox_clfft_missing().decode())
for path in {os.path.realpath(line.split()[-1]) for line in open("/proc/self/maps") if ".so" in line} - linked:
    print("opened", path)
class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
for name in sys.stdin.read().split():
    for scope in (ctypes.CDLL(None), loaded):
        info = Info()
        if hasattr(scope, name) and ctypes.CDLL(None).dladdr(ctypes.cast(getattr(scope, name), ctypes.c_void_p), ctypes.byref(info)):
            print("seen", name, os.path.realpath(info.file.decode()))
'''


def opened():
    """Of libraries that are opened later a clash does no harm where nobody sees their names."""
    def run(names):
        done = subprocess.run([sys.executable, "-c", OPENED, LIBRARY], input=" ".join(names), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()[-3:]
    code, first, errors = run([])
    if code:
        return errors or [f"ended by {code}"]
    later = [line.split(" ", 1)[1] for line in first if line.startswith("opened ")]
    print("# opened by itself:", " ".join(later) or "nothing; " + first[0])
    names = {line.rsplit(" ", 1)[1] for line in clashes(later)}
    code, lines, errors = run(sorted(names))
    return errors if code else [line for line in lines if line.startswith("seen ") and line.split()[2] in later]


RIGHT = {"md5": "9dd4e461268c8034f5c8564e155c67a6", "sha1": "11f6ad8ec52a2984abaafd7c3b516503785c2072"}


def digests():
    """OpenSSL in the process of the library, in any order."""
    load = "import ctypes, sys; c = ctypes.CDLL(sys.argv[1]); c.clvox_clfft_missing()"
    take = "import hashlib; got = {n: hashlib.new(n, b'x').hexdigest() for n in ('md5', 'sha1')}"
    wrong = []
    for order in ((load, take), (take, load, take), (load, "import zlib, uuid; uuid.uuid3(uuid.NAMESPACE_DNS, 'x')", take)):
        done = subprocess.run([sys.executable, "-c", "; ".join(order) + "; print(got)", LIBRARY], capture_output=True, text=True, check=False)
        if done.returncode or eval(done.stdout) != RIGHT:  # pylint: disable=eval-used
            wrong.append(f"exit code {done.returncode}: {done.stdout.strip()} {done.stderr.strip()[-200:]}")
    return wrong


if b"__asan_init" in open(LIBRARY, "rb").read():
    print("1..0 # SKIP a library with sanitizers is not loaded by Python")
    sys.exit()
case(1, "what clvox is linked with has no name of libcrypto, libz or libpng", linked())
case(2, "what it opens later keeps its names to itself", opened())
case(3, "OpenSSL's digests are right beside the library, in any order", digests())
print("1..3")
sys.exit(failures > 0)
