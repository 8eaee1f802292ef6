# SPDX-License-Identifier: Apache-2.0
"""clvox, SimpleITK, ANTs and greedy behind one face: files in, arrays (X x Y x Z) out."""
import contextlib
import ctypes
import os
import subprocess
import sys

import nibabel
import numpy as np
import SimpleITK as sitk

PROGRAM = os.environ.get("CLVOX", "clvox")
LIBRARY = []


def clvox(*arguments, both=False):
    """Runs the program; what it prints, with its remarks when both is set."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"clvox {' '.join(map(str, arguments))}: {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr if both else done.stdout


def library():
    """clvox's library, for what would start the program a hundred times; None where it does not lie where it is built."""
    if not LIBRARY:
        path = os.path.join(os.path.dirname(PROGRAM), "..", "libclvox.so")
        LIBRARY.append(ctypes.CDLL(path) if os.path.exists(path) else None)
        if LIBRARY[0]:
            LIBRARY[0].clvox_message.restype = ctypes.c_char_p
    return LIBRARY[0]


def convert(path, out):
    """A volume as clvox reads it and writes it again."""
    lib, volume = library(), ctypes.c_void_p()
    if not lib:
        clvox("apply", "-i", path, "-r", path, "--interp", "nearest", "-o", out, "-q")
        return
    status = lib.clvox_volume_read(path.encode(), ctypes.byref(volume))
    if status >= 0:
        status = lib.clvox_volume_write(volume, out.encode())
    lib.clvox_volume_destroy(ctypes.byref(volume))
    if status < 0:
        raise AssertionError(f"{path} to {out}: {lib.clvox_message().decode()}")


class Link(ctypes.Structure):
    """clvox_link"""
    _fields_ = [("transform", ctypes.c_void_p), ("inverse", ctypes.c_int)]


def apply_here(image, reference, transforms, out):
    """clvox_apply without the half second that opening a device takes: one context serves all."""
    lib = library()
    if not lib:
        return clvox_apply(image, reference, transforms, out)

    def check(status):
        if status < 0:
            raise AssertionError(f"{image}, {transforms}: {lib.clvox_message().decode()}")

    if len(LIBRARY) == 1:
        LIBRARY.append(ctypes.c_void_p())
        check(lib.clvox_context_create(None, ctypes.byref(LIBRARY[1])))
    # A volume begins with its grid, so that a pointer to one points to the other.
    moving, fixed, made = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.clvox_volume_read(image.encode(), ctypes.byref(moving)))
    check(lib.clvox_volume_read(reference.encode(), ctypes.byref(fixed)))
    links = []
    for word in transforms:
        path, inverse = (word[:-3], 1) if word.endswith(",-1") else (word, 0)
        parts, count = (ctypes.c_void_p * 8)(), ctypes.c_int()
        check(lib.clvox_transforms_read(path.encode(), fixed, moving, parts, 8, ctypes.byref(count)))
        links += [Link(part, inverse) for part in list(parts)[:count.value][::-1 if inverse else 1]]
    check(lib.clvox_apply(LIBRARY[1], moving, fixed, (Link * len(links))(*links), len(links), 0, ctypes.c_float(0),
                          ctypes.byref(made)))
    check(lib.clvox_volume_write(made, out.encode()))
    for link in links:
        lib.clvox_transform_destroy(ctypes.byref(ctypes.c_void_p(link.transform)))
    for volume in (moving, fixed, made):
        lib.clvox_volume_destroy(ctypes.byref(volume))
    return load(out)


def load(path):
    return np.asarray(nibabel.load(path).dataobj, dtype=np.float64)


def chain_options(transforms):
    return [word for t in transforms for word in ("-t", t)]


def clvox_apply(image, reference, transforms, out, *more):
    clvox("apply", "-i", image, "-r", reference, *chain_options(transforms), "-o", out, *more)
    return load(out)


def sitk_transform(path):
    """What a file holds, or the transform itself."""
    if isinstance(path, sitk.Transform):
        return path
    if path.endswith((".nii", ".nii.gz")):
        return sitk.DisplacementFieldTransform(sitk.ReadImage(path, sitk.sitkVectorFloat64))
    return sitk.ReadTransform(path)


def sitk_apply(image, reference, transforms, interpolator=sitk.sitkLinear):
    """A chain in ANTs' order, the last applied first to the image, that is last to a position."""
    chain = sitk.CompositeTransform(3)
    for path in reversed(transforms):
        chain.AddTransform(sitk_transform(path))
    out = sitk.Resample(sitk.ReadImage(image, sitk.sitkFloat64), sitk.ReadImage(reference), chain,
                        interpolator, 0.0)
    return sitk.GetArrayFromImage(out).transpose(2, 1, 0)


def ants_apply(image, reference, transforms, interpolator="linear", inverted=None, image_type=0):
    import ants
    out = ants.apply_transforms(ants.image_read(reference), ants.image_read(image), transforms,
                                interpolator=interpolator, whichtoinvert=inverted, imagetype=image_type,
                                singleprecision=False)
    return out.numpy()


@contextlib.contextmanager
def silence():
    """What libraries print, at whatever level, goes nowhere: standard output is TAP."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def greedy(command):
    from picsl_greedy import Greedy3D
    with silence():
        Greedy3D().execute(command + " -threads 2 -V 0")


def greedy_apply(image, reference, transforms, out):
    """transforms: NIfTI warps and 4x4 RAS matrices, FILE,-1 for an inverse."""
    greedy(f"-rf {reference} -rm {image} {out} -r {' '.join(transforms)}")
    return load(out)


def ras_matrix(itk_affine):
    """The 4x4 RAS matrix of an ITK affine, through SimpleITK's eyes."""
    t = sitk.AffineTransform(sitk.ReadTransform(itk_affine))
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(t.GetMatrix(), (3, 3))
    matrix[:3, 3] = t.TransformPoint((0.0, 0.0, 0.0))
    flip = np.diag([-1.0, -1.0, 1.0, 1.0])
    return flip @ matrix @ flip


def farthest(a, b, where):
    """The largest difference inside of `where`, as a share of b's range there."""
    return np.abs(a - b)[where].max() / np.ptp(b[where])
