# SPDX-License-Identifier: Apache-2.0
"""clvox ants: what its programs write, read and compared by ANTs."""
import unittest

import numpy as np

import scene
import tools


def ants(*words):
    return tools.clvox("ants", *words)


def register(fixed_name, moving_name):
    """Images on two grids, registered to a composite and to single files; the prefix of all."""
    prefix = "programs_" + f"{fixed_name}-{moving_name}".replace(" ", "_").replace(",", "")
    fixed, moving = scene.GRIDS[fixed_name], scene.GRIDS[moving_name]
    fixed.write(prefix + "_f.nii.gz", scene.fixed_image(fixed))
    moving.write(prefix + "_m.nii.gz", scene.moving_image(moving))
    moving.write(prefix + "_ones.nii.gz", moving.interior(2).astype(np.float32))
    pair = f"[ {prefix}_f.nii.gz, {prefix}_m.nii.gz, 1, 32, Regular, 0.25 ]"
    for end, more in (("c", ["--write-composite-transform", "1"]), ("s", [])):
        ants("antsRegistration", "-d", "3", "--float", "1", "-r", f"[{prefix}_f.nii.gz,{prefix}_m.nii.gz,1]",
             "-t", "Affine[ 0.1 ]", "-m", "Mattes" + pair, "-c", "[ 100x50, 1e-6, 10 ]", "-f", "2x1", "-s", "1x0vox",
             "-t", "SyN[ 0.1, 3, 0 ]", "-m", "CC" + pair, "-c", "[ 20x10, 1e-6, 10 ]", "-f", "2x1", "-s", "1x0vox",
             "-o", f"[ {prefix}{end}, {prefix}{end}_warped.nii.gz, {prefix}{end}_back.nii.gz ]", *more)
    return prefix


class Programs(unittest.TestCase):
    """Each on grids whose axes differ."""

    def check(self, theirs, ours, where, least=0.2):
        self.assertGreater(where.mean(), least)
        self.assertLess(tools.farthest(theirs, ours, where), 1e-3)

    def n4(self):
        """N4BiasFieldCorrection with weights and rescaling, beside ANTs'"""
        import ants as peer
        grid = scene.GRIDS["axial"]
        points = grid.points()
        truth = np.exp(0.004 * points[..., 0] - 0.003 * points[..., 1])
        tissue = np.where(np.floor(points[..., 2] / 9) % 2, 100, 60) * (np.linalg.norm(points, axis=-1) < 33)
        weight = np.where(points[..., 0] > 12, 0.0, 2.0)
        image = tissue * truth * np.where(weight, 1, 1.4)  # what has no weight would mislead
        for name, data in (("i", image), ("m", tissue > 0), ("w", weight)):
            grid.write(f"n4_{name}.nii.gz", data.astype(np.float32))
        ants("N4BiasFieldCorrection", "-d", "3", "-i", "n4_i.nii.gz", "-x", "n4_m.nii.gz", "-w", "n4_w.nii.gz", "-r", "1", "-s", "2",
             "-c", "[ 50x50, 1e-7 ]", "-b", "[ 100 ]", "-o", "n4.nii.gz")
        ours = tools.load("n4.nii.gz")
        theirs = peer.n4_bias_field_correction(
            peer.image_read("n4_i.nii.gz"), mask=peer.image_read("n4_m.nii.gz"), weight_mask=peer.image_read("n4_w.nii.gz"),
            rescale_intensities=True, shrink_factor=2, convergence={"iters": [50, 50], "tol": 1e-7}, spline_param=100).numpy()
        inside = tissue > 0
        for corrected in (ours, theirs):
            self.assertAlmostEqual(corrected[inside].max(), image[inside].max(), delta=0.1)
            self.assertAlmostEqual(corrected[inside].min(), image[inside].min(), delta=0.1)
        counts = (tissue == 100) & (weight > 0)
        before, *left = [np.std(v[counts]) / np.mean(v[counts]) for v in (image, ours, theirs)]
        print(f"#   variation of a tissue {before:.4f}, after clvox {left[0]:.4f}, after ANTs {left[1]:.4f}")
        self.assertTrue((ours[~inside] == image[~inside]).all())
        self.assertLess(left[0], min(1.2 * left[1] + 0.005, before / 2))

    def gaussian(self):
        """ANTs' and clvox's Gaussian interpolation agree"""
        fixed, moving = scene.GRIDS["axial"], scene.GRIDS["oblique anisotropic"]
        fixed.write("gauss_f.nii.gz", scene.fixed_image(fixed))
        moving.write("gauss_m.nii.gz", scene.moving_image(moving))
        moving.write("gauss_ones.nii.gz", moving.interior(2).astype(np.float32))
        ants("antsApplyTransforms", "-d", "3", "-i", "gauss_m.nii.gz", "-r", "gauss_f.nii.gz", "-n", "Gaussian", "-t",
             "identity", "-o", "gauss.nii.gz")
        where = fixed.interior() & (tools.sitk_apply("gauss_ones.nii.gz", "gauss_f.nii.gz", []) > 0.999)
        self.check(tools.ants_apply("gauss_m.nii.gz", "gauss_f.nii.gz", [], "gaussian"), tools.load("gauss.nii.gz"), where)


def case(fixed_name, moving_name):
    def run(self):
        prefix = register(fixed_name, moving_name)
        f, m, ones = prefix + "_f.nii.gz", prefix + "_m.nii.gz", prefix + "_ones.nii.gz"
        grid = scene.GRIDS[fixed_name]
        for chain, back, end in (([prefix + "cComposite.h5"], [prefix + "cInverseComposite.h5"], "c"),
                                 ([prefix + "s1Warp.nii.gz", prefix + "s0GenericAffine.mat"],
                                  [prefix + "s0GenericAffine.mat", prefix + "s1InverseWarp.nii.gz"], "s")):
            where = grid.interior() & (tools.sitk_apply(ones, f, chain) > 0.999)
            self.check(tools.ants_apply(m, f, chain), tools.load(f"{prefix}{end}_warped.nii.gz"), where)
            inverted = [True, False] if end == "s" else None
            theirs = tools.ants_apply(f, m, back, inverted=inverted)
            ours = tools.load(f"{prefix}{end}_back.nii.gz")
            inside = scene.GRIDS[moving_name].interior(3) & (ours != 0) & (theirs != 0)
            self.assertLess(np.quantile(np.abs(theirs - ours)[inside], 0.99), 2e-3 * np.ptp(ours[inside]))
        warped, fixed = tools.load(prefix + "c_warped.nii.gz"), tools.load(f)
        self.assertGreater(np.corrcoef(fixed[where], warped[where])[0, 1], 0.97)

    run.__doc__ = f"antsRegistration from {moving_name} to {fixed_name}: ANTs applies both forms of the result"
    return run


for at, names in enumerate((("axial", "PSR"), ("sform only, oblique", "left-handed"), ("PSR", "oblique anisotropic"))):
    setattr(Programs, f"test_registration_{at}", case(*names))
Programs.test_gaussian = Programs.gaussian
Programs.test_n4 = Programs.n4
