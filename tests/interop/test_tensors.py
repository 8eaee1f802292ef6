# SPDX-License-Identifier: Apache-2.0
"""Tensors fitted by clvox and by DIPY from the same files."""
import os
import unittest

import nibabel
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.denoise.localpca import mppca
from dipy.reconst import dti

import tools

DATA = os.environ.get("CLVOX_DATA", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                 "..", "..", "..", "shared", "data"))
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def by_dipy(dwi, bval, bvec, mask, method):
    """The six components in the axes of the bvecs, and where every eigenvalue is well above 0."""
    table = gradient_table(np.loadtxt(bval), bvecs=np.loadtxt(bvec).T, b0_threshold=50)
    fit = dti.TensorModel(table, fit_method=method, min_signal=1e-4).fit(dwi, mask=mask)
    tensor = fit.quadratic_form
    positive = np.linalg.eigvalsh(tensor)[..., 0] > 1.1e-5
    return np.stack([tensor[..., i, j] for i, j in UPPER], -1), positive


class Tensors(unittest.TestCase):
    def both(self, dwi, bval, bvec, mask, method):
        """Our tensors and DIPY's, in 1e-3 mm^2/s, of voxels that both can fit."""
        tools.clvox("tensor", "fit", dwi, "--bval", bval, "--bvec", bvec, "--mask", mask, "--method",
                    method.lower(), "--order", "fsl", "-o", "t", "-q")
        ours, scan, inside = tools.load("t_tensor.nii.gz"), tools.load(dwi), tools.load(mask) > 0
        theirs, positive = by_dipy(scan, bval, bvec, inside, method)
        where = inside & positive & (scan > 0).all(-1)
        self.assertGreater(where.sum(), 500)
        return 1e3 * ours, 1e3 * theirs, where

    def compare(self, files, method, limit):
        ours, theirs, where = self.both(*files, method)
        gap = np.abs(ours - theirs)[where].max()
        print(f"#   {method}: {where.sum()} voxels, largest difference {gap:.1e} of 1e-3 mm^2/s")
        self.assertLess(gap, limit)

    def test_phantoms(self):
        """DIPY's tensors of noisy scans on grids of both hands, by FSL's files"""
        for direction in ("axial", "oblique", "left-oblique"):
            tools.clvox("phantom", "tensor:helix", "-o", "p", "--size", "24x22x18", "--spacing", "2x2x2.5mm",
                        "--direction", direction, "--snr", 20, "--directions", 20, "-q")
            files = "p_dwi.nii.gz", "p.bval", "p.bvec", "p_mask.nii.gz"
            for method, limit in (("OLS", 5e-5), ("NLLS", 1e-3)):
                self.compare(files, method, limit)
            # DIPY finds the weights by an unweighted fit, clvox by one weighted by the signal.
            *fits, where = self.both(*files, "WLS")
            truth = 1e3 * tools.load("p_truth_tensor.nii.gz").reshape(fits[0].shape)
            ours, theirs = (np.sqrt(np.square(fit - truth)[where].mean()) for fit in fits)
            print(f"#   WLS: rms error {ours:.5f} and {theirs:.5f} of 1e-3 mm^2/s")
            self.assertLess(ours, 1.01 * theirs)

    @unittest.skipUnless(os.path.isdir(os.path.join(DATA, "dti_dsistudio")), "no dti_dsistudio")
    def test_scan(self):
        """DIPY's tensors of a real scan"""
        folder = os.path.join(DATA, "dti_dsistudio")
        files = [os.path.join(folder, name) for name in ("dwi.nii.gz", "bvals", "bvecs", "mask.nii.gz")]
        self.compare(files, "OLS", 5e-5)

    def denoise(self, dwi, bval, bvec, mask):
        tools.clvox("tensor", "fit", dwi, "--bval", bval, "--bvec", bvec, "--mask", mask, "--denoise",
                    "mppca", "--save-denoised", "clean.nii.gz", "-o", "c", "-q")
        scan, inside = tools.load(dwi), tools.load(mask) > 0
        with np.errstate(invalid="ignore"): # DIPY divides 0 by 0 where no window reaches
            theirs, noise = mppca(scan.astype(float), mask=inside, patch_radius=2, return_sigma=True)
        where = inside & np.isfinite(theirs).all(-1)
        self.assertGreater(where.sum(), 500)
        gap = np.abs(tools.load("clean.nii.gz") - theirs)[where].max() / noise[where].mean()
        gap_noise = np.abs(tools.load("c_mppca_noise.nii.gz") / np.where(where, noise, 1) - 1)[where].max()
        print(f"#   PCA: {where.sum()} voxels differ by {gap:.1e} of the noise, the noise by {gap_noise:.1e}")
        self.assertLess(gap, 1e-2)
        self.assertLess(gap_noise, 5e-3)

    def test_denoising(self):
        """DIPY's Marchenko-Pastur PCA of a phantom and of a crop of a real scan"""
        tools.clvox("phantom", "tensor:helix", "-o", "d", "--size", "20x18x13", "--spacing", "2mm", "--snr",
                    20, "--directions", 30, "-q")
        self.denoise("d_dwi.nii.gz", "d.bval", "d.bvec", "d_mask.nii.gz")
        folder = os.path.join(DATA, "dti_dsistudio")
        if not os.path.isdir(folder):
            return
        for name in ("dwi", "mask"):
            image = nibabel.load(os.path.join(folder, name + ".nii.gz"))
            part = np.asarray(image.dataobj)[26:46, 26:46, 13:23].astype(np.float32)
            nibabel.save(nibabel.Nifti1Image(part, image.affine), f"crop_{name}.nii.gz")
        self.denoise("crop_dwi.nii.gz", os.path.join(folder, "bvals"), os.path.join(folder, "bvecs"),
                     "crop_mask.nii.gz")
