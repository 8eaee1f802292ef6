# SPDX-License-Identifier: Apache-2.0
"""Warps written for MRtrix and for FSL, read by their conventions: here by NumPy, FSL's also by fslpy."""
import os
import unittest

import numpy as np

import scene
import tools
from test_ours import grid_of, result

# Those of the registrations, and sheared grids on either side.
PAIRS = scene.PAIRS + [("sheared", "left-handed"), ("oblique anisotropic", "sheared")]


def fsl_affine(grid):
    """Voxels -> FSL's coordinates: mm along the axes, the first one counted from its end where the
    determinant is positive."""
    edges = np.linalg.norm(grid.affine[:3, :3], axis=0)
    matrix = np.diag([*edges, 1.0])
    if np.linalg.det(grid.affine[:3, :3]) > 0:
        matrix[0, 0], matrix[0, 3] = -edges[0], (grid.size[0] - 1) * edges[0]
    return matrix


def export(prefix, form):
    out = f"{prefix}_{form}.nii.gz"
    if os.path.exists(out):
        return out
    more = ["--moving", prefix + "_m.nii.gz"] if form == "fsl" else []
    tools.clvox("compose", "-r", prefix + "_f.nii.gz", "-t", prefix + "_warp.nii.gz", "-t",
                prefix + "_affine.txt", "--format", form, *more, "-o", out)
    return out


class Exports(unittest.TestCase):
    """Each pair of grids: what the other program would make of our file is our warped image."""

    def compare(self, pair, prefix, made):
        warped = tools.load(prefix + "_warped.nii.gz")
        fixed = grid_of(pair[0])
        inside = scene.sample(grid_of(pair[1]).interior(2), grid_of(pair[1]), self.positions(pair, prefix))
        where = fixed.interior() & (inside > 0.999)
        self.assertGreater(where.mean(), 0.2)
        gap = tools.farthest(made, warped, where)
        print(f"#   fixed {pair[0]}, moving {pair[1]}: largest difference {gap:.1e}")
        self.assertLess(gap, 1e-3)

    def positions(self, pair, prefix):
        """Where warp and affine send each voxel's centre, RAS mm, by NumPy from the ITK files."""
        u = tools.load(prefix + "_warp.nii.gz")[..., 0, :] * [-1, -1, 1]
        matrix = tools.ras_matrix(prefix + "_affine.txt")
        return (grid_of(pair[0]).points() + u) @ matrix[:3, :3].T + matrix[:3, 3]

    def test_itk(self):
        """ITK's files by NumPy, sheared grids among them"""
        for pair in PAIRS:
            prefix = result(*pair)
            moving = tools.load(prefix + "_m.nii.gz")
            self.compare(pair, prefix, scene.sample(moving, grid_of(pair[1]), self.positions(pair, prefix)))

    def test_mrtrix(self):
        """A deformation for mrtransform -warp: four dimensions, RAS positions in the moving image"""
        for pair in PAIRS:
            prefix = result(*pair)
            warp = tools.load(export(prefix, "mrtrix"))
            self.assertEqual(warp.shape, grid_of(pair[0]).size + (3,))
            self.assertLess(np.nanmax(np.abs(warp - self.positions(pair, prefix))), 1e-3)
            moving = tools.load(prefix + "_m.nii.gz")
            self.compare(pair, prefix, scene.sample(moving, grid_of(pair[1]), np.nan_to_num(warp, nan=1e6)))

    def test_mrtrix_back(self):
        """clvox takes the deformation for MRtrix as it takes the files that it came from"""
        for pair in PAIRS:
            prefix = result(*pair)
            made = tools.apply_here(prefix + "_m.nii.gz", prefix + "_f.nii.gz", [export(prefix, "mrtrix")],
                                     prefix + "_o.nii.gz")
            self.compare(pair, prefix, made)

    def test_fsl(self):
        """A warp for applywarp: four dimensions, displacements from FSL's to FSL's coordinates"""
        for pair in PAIRS:
            prefix = result(*pair)
            warp = tools.load(export(prefix, "fsl"))
            fixed, moving = grid_of(pair[0]), grid_of(pair[1])
            self.assertEqual(warp.shape, fixed.size + (3,))
            there = scene.Grid(fixed.size, (1, 1, 1))
            there.affine = fsl_affine(fixed)
            here = scene.Grid(moving.size, (1, 1, 1))
            here.affine = fsl_affine(moving)
            image = tools.load(prefix + "_m.nii.gz")
            self.compare(pair, prefix, scene.sample(image, here, there.points() + warp))

    def test_rounded(self):
        """Rounded warps: SimpleITK and ANTs take points where the others take them, to .0068 mm"""
        import ants
        import pandas
        for pair in PAIRS[:3]:
            prefix = result(*pair)
            warps = ("long.nii.gz", "rounded.nii.gz")
            for path, more in zip(warps, ([], ["--warp-type", "rounded"])):
                tools.clvox("compose", "-r", prefix + "_f.nii.gz", "-t", prefix + "_warp.nii.gz", *more, "-o", path)
            grid = grid_of(pair[0])
            index = np.random.default_rng(3).integers(2, np.array(grid.size) - 2, (200, 3))
            points = (index @ grid.affine[:3, :3].T + grid.affine[:3, 3]) * [-1, -1, 1]
            table = pandas.DataFrame(points, columns=["x", "y", "z"])
            by_sitk = [np.array([t.TransformPoint(p) for p in points]) for t in map(tools.sitk_transform, warps)]
            by_ants = [ants.apply_transforms_to_points(3, table, [w])[["x", "y", "z"]].to_numpy() for w in warps]
            for long, rounded in (by_sitk, by_ants):
                self.assertGreater(np.abs(long - points).max(), 0.3)
                gap = np.linalg.norm(rounded - long, axis=1).max()
                self.assertTrue(0.001 < gap < 0.0069, gap)

    def test_affines(self):
        """One affine composed: ITK's binary form, rows for greedy and MRtrix, and FLIRT's for fslpy"""
        from fsl.data.image import Image
        from fsl.transform import flirt
        for pair in PAIRS:
            prefix = result(*pair)
            f, m, affine = prefix + "_f.nii.gz", prefix + "_m.nii.gz", prefix + "_affine.txt"
            chain = ["-t", affine, "-t", affine, "-t", affine + ",-1"]
            want = tools.ras_matrix(affine)
            tools.clvox("compose", *chain, "-o", "one.mat")
            self.assertLess(np.abs(tools.ras_matrix("one.mat") - want).max(), 1e-9)
            tools.clvox("compose", *chain, "--format", "mrtrix", "-o", "one.txt")
            self.assertLess(np.abs(np.loadtxt("one.txt") - want).max(), 1e-9)
            tools.clvox("compose", *chain, "-r", f, "--moving", m, "--format", "fsl", "-o", "flirt.mat")
            world = flirt.fromFlirt(flirt.readFlirt("flirt.mat"), Image(m), Image(f), "world", "world")
            self.assertLess(np.abs(np.linalg.inv(world) - want).max(), 1e-4)

    def test_fslpy(self):
        """The warp for applywarp, recognised and applied by FSL's own Python library"""
        from fsl.data.image import Image
        from fsl.transform import fnirt, nonlinear
        for pair in PAIRS:
            prefix = result(*pair)
            moving = Image(prefix + "_m.nii.gz")
            field = fnirt.readFnirt(export(prefix, "fsl"), moving, Image(prefix + "_f.nii.gz"))
            self.assertEqual(field.deformationType, "relative")
            made = nonlinear.applyDeformation(moving, field, order=1, mode="constant", cval=0)
            self.compare(pair, prefix, made)
