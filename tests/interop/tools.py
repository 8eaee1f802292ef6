# SPDX-License-Identifier: Apache-2.0
"""clvox, SimpleITK, ANTs and greedy behind one face: files in, arrays (X x Y x Z) out."""
import contextlib
import os
import subprocess
import sys

import nibabel
import numpy as np
import SimpleITK as sitk

PROGRAM = os.environ.get("CLVOX", "clvox")


def clvox(*arguments, both=False):
    """Runs the program; what it prints, with its remarks when both is set."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"clvox {' '.join(map(str, arguments))}: {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr if both else done.stdout


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
