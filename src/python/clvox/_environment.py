# SPDX-License-Identifier: Apache-2.0
"""The environment that OpenCL drivers read when they are loaded, prepared before that. What the user has set stays, but for
folders in which others could put code."""
import atexit
import ctypes
import glob
import os
import shutil
import site
import sys
import tempfile

VENDORS = "/etc/OpenCL/vendors/*.icd"


def _finds_device(icd):
    """Whether the driver that a file of the system names can be loaded and has a platform."""
    try:
        with open(icd, encoding="utf-8", errors="surrogateescape") as file:
            driver = ctypes.CDLL(file.readline().strip())
        find = driver.clGetExtensionFunctionAddress
        find.restype = ctypes.c_void_p
        address = find(b"clIcdGetPlatformIDsKHR")
    except (OSError, AttributeError):
        return False
    platform, count = ctypes.c_void_p(), ctypes.c_uint()
    ask = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
    return bool(address) and ask(address)(1, ctypes.addressof(platform), ctypes.addressof(count)) == 0 and count.value > 0


def lend_driver():
    """Where the system has no OpenCL driver and PyPI's intel-opencl-rt is installed, takes that; else, where no driver of the
    system finds a device, the PoCL of a wheel, with its linker."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "pocl")
    if os.environ.get("OCL_ICD_VENDORS"):
        return
    installed = glob.glob(VENDORS)
    drivers = [] if installed else [os.path.join(prefix, "lib", "libintelocl.so") for prefix in (sys.prefix, site.getuserbase())]
    for driver in drivers:
        if os.path.exists(driver):
            os.environ["OCL_ICD_VENDORS"] = driver
            return
    found = [name for name in glob.glob(os.path.join(own, "libpocl*")) if not os.path.basename(name).startswith("libpocl-devices")]
    if found and not any(_finds_device(icd) for icd in installed):
        if os.access(os.path.join(own, "bin", "ld"), os.X_OK):
            os.environ["PATH"] = os.pathsep.join(filter(None, [os.path.join(own, "bin"), os.environ.get("PATH")]))
        os.environ["OCL_ICD_VENDORS"] = found[0]


class Folders:
    """Where drivers keep what they build, and run what they find: the user's own folders (clvox_folder_own)."""

    def __init__(self, lib):
        self.lib, self.settled, self.remark = lib, False, ""

    def _own(self, path, make=False, inside=True):
        """Whether it is, and why not; "": it cannot be reached."""
        why = ctypes.create_string_buffer(400)
        own = self.lib.clvox_folder_own(os.fsencode(path), make, inside, why, len(why)) == 1
        return own, why.value.decode(errors="replace")

    def settle(self):
        """Before the first device is opened or listed; once."""
        if self.settled:
            return
        self.settled = True
        self._settle_nvidia()
        self._settle_pocl()

    def _settle_nvidia(self):
        home = os.environ.get("HOME")
        path = os.environ.get("CUDA_CACHE_PATH") or (home is not None and home + "/.nv/ComputeCache")
        if path and self._own(path, inside=False)[1]:
            os.environ["CUDA_CACHE_DISABLE"] = "1"

    def _settle_pocl(self):
        named = os.environ.get("POCL_CACHE_DIR")
        xdg, home = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME"))
        path = named or (xdg + "/pocl" if xdg.startswith("/") else home + "/.cache/pocl" if home.startswith("/") else None)
        own, why = self._own(path) if path else (False, "")
        if path and not why and (named or (own and self._writable(path))):
            if not named and (named is not None or (xdg and not xdg.startswith("/"))):
                os.environ["POCL_CACHE_DIR"] = path  # it would take an empty or relative name, too
            return
        for base in filter(os.path.isabs, (os.environ.get("TMPDIR", ""), "/tmp")):
            place = f"{base}/clvox-pocl-{os.geteuid()}"
            passing = not self._own(place, make=True)[0] or not os.access(place, os.W_OK | os.X_OK)
            if passing:
                try:
                    place = tempfile.mkdtemp(prefix="clvox-pocl-", dir=base)
                except OSError:
                    continue
                atexit.register(shutil.rmtree, place, ignore_errors=True)
            os.environ["POCL_CACHE_DIR"] = place
            if why:
                self.remark = (f"PoCL keeps what it builds in {place}{' until the end' if passing else ''}, as {why}; set "
                               "POCL_CACHE_DIR to a folder that only you can write")
            return

    @staticmethod
    def _writable(path):
        while not os.path.exists(path):
            path = os.path.dirname(path)
        return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)

    def remark_on(self, platform):
        """What to say of the driver of a platform; "": nothing."""
        return self.remark if "Portable Computing Language" in platform else ""
