# SPDX-License-Identifier: Apache-2.0
"""Scans with gradients, tensors in RAS, and the measures of a tensor field against the truth."""
import os
import subprocess

import nibabel as nib
import numpy as np


class Scan:
    """A DWI with its table in RAS; truth None for a real one. volumes: which to take (None: all)."""

    def __init__(self, prefix=None, dwi=None, mask=None, bval=None, bvec=None):
        self.path = dwi or prefix + "_dwi.nii.gz"
        self.mask_path = mask or prefix + "_mask.nii.gz"
        self.bval, self.bvec = bval or prefix + ".bval", bvec or prefix + ".bvec"
        image = nib.load(self.path)
        self.affine = image.affine
        self.dwi = np.asarray(image.dataobj, np.float32)
        self.mask = np.asarray(nib.load(self.mask_path).dataobj) > 0
        self.b = np.loadtxt(self.bval).ravel()
        voxel = np.loadtxt(self.bvec)
        voxel = voxel.T if voxel.shape[0] == 3 else voxel
        # FSL: along the voxels' axes, x turned round where the determinant is positive.
        axes = self.affine[:3, :3] / np.linalg.norm(self.affine[:3, :3], axis=0)
        axes = axes * np.array([-1 if np.linalg.det(axes) > 0 else 1, 1, 1])
        self.directions = np.nan_to_num(voxel) @ axes.T
        self.truth = read_tensor(prefix + "_truth_tensor.nii.gz") if prefix else None
        self.true_parts = None  # fa_and_v1 of it inside the mask, once known


def phantom(clvox, folder, kind, snr, directions, grid, seed=1):
    """Made by `clvox phantom`, once."""
    prefix = os.path.join(folder, f"{kind}_snr{snr}_{directions}_{grid}" + (f"_seed{seed}" if seed != 1 else ""))
    spacing = {"axial": "2x2x2mm", "oblique": "2x2x2.5mm", "left": "2x2x3mm", "left-oblique": "2x2x2mm"}[grid]
    if not os.path.exists(prefix + "_mask.nii.gz"):
        subprocess.run([clvox, "phantom", "tensor:" + kind, "-o", prefix, "--size", "64x64x40", "--snr", str(snr),
                        "--directions", str(directions), "--direction", grid, "--spacing", spacing,
                        "--seed", str(seed), "-q"], check=True)
    return prefix


def read_tensor(path):
    """Of clvox's own files (NIfTI's lower triangle, RAS): X x Y x Z x 3 x 3."""
    d = np.asarray(nib.load(path).dataobj, float)
    d = d.reshape(d.shape[:3] + (6,))
    return np.stack([d[..., i] for i in (0, 1, 3, 1, 2, 4, 3, 4, 5)], -1).reshape(d.shape[:3] + (3, 3))


def fa_and_v1(tensor):
    values, vectors = np.linalg.eigh(tensor)
    values = np.maximum(values, 0)
    size = np.sqrt((values**2).sum(-1))
    off = np.sqrt(((values - values.mean(-1, keepdims=True))**2).sum(-1))
    return np.sqrt(1.5) * off / np.maximum(size, 1e-12), vectors[..., :, 2], values


def measure(tensor, scan):
    """FA's root mean square error in the mask, the mean angle of V1 where the truth has one, what is left of
    the steps of FA between neighbours, and the error of the tensor, in 1e-3 mm^2/s."""
    mask, truth = scan.mask, scan.truth
    inside = np.nan_to_num(tensor[mask])
    if scan.true_parts is None:
        scan.true_parts = fa_and_v1(truth[mask])
    true_fa, true_v1, values = scan.true_parts
    fa, v1, _ = fa_and_v1(inside)
    clear = (values[:, 2] > 1.2 * values[:, 1]) & (true_fa > 0.2)
    cosine = np.clip(np.abs((v1 * true_v1).sum(-1)), 0, 1)
    along, square = 0.0, 0.0
    field, true_field = np.zeros(mask.shape), np.zeros(mask.shape)
    field[mask], true_field[mask] = fa, true_fa
    for axis in range(3):
        step, true_step = np.diff(field, axis=axis), np.diff(true_field, axis=axis)
        both = np.logical_and(np.take(mask, range(1, mask.shape[axis]), axis),
                              np.take(mask, range(mask.shape[axis] - 1), axis))
        edge = both & (np.abs(true_step) > 0.2)
        along += (step * true_step)[edge].sum()
        square += (true_step**2)[edge].sum()
    rest = 1e3 * (inside - truth[mask])
    return {"fa": float(np.sqrt(((fa - true_fa)**2).mean())),
            "v1": float(np.degrees(np.arccos(cosine[clear])).mean()),
            "edge": float(along / square) if square else float("nan"),
            "d": float(np.sqrt((rest**2).sum((-1, -2)).mean()))}
