# SPDX-License-Identifier: Apache-2.0
"""What clvox register writes, applied by SimpleITK, by ANTs and by greedy."""
import os
import unittest

import numpy as np

import scene
import tools


def grid_of(name):
    return scene.SHEARED if name == "sheared" else scene.GRIDS[name]


def result(fixed_name, moving_name):
    """Registers once for all cases; the prefix of what was written."""
    prefix = f"{fixed_name}-{moving_name}".replace(" ", "_").replace(",", "")
    if not os.path.exists(prefix + "_warped.nii.gz"):
        fixed, moving = grid_of(fixed_name), grid_of(moving_name)
        fixed.write(prefix + "_f.nii.gz", scene.fixed_image(fixed))
        moving.write(prefix + "_m.nii.gz", scene.moving_image(moving))
        moving.write(prefix + "_ones.nii.gz", moving.interior(2).astype(np.float32))
        tools.clvox("register", "-f", prefix + "_f.nii.gz", "-m", prefix + "_m.nii.gz", "-o", prefix,
                    "--inverse", "--no-picture", "-q", "--iterations", "30x20x10")
    return prefix


class Ours(unittest.TestCase):
    """Every pair of grids, each tool."""

    def check(self, name, theirs, prefix, grid, inside):
        warped = tools.load(prefix + "_warped.nii.gz")
        where = grid.interior() & (inside > 0.999)
        self.assertGreater(where.mean(), 0.2)
        gap = tools.farthest(theirs, warped, where)
        print(f"#   {name}: largest difference {gap:.1e} of the range, {100 * where.mean():.0f}% compared")
        self.assertLess(gap, 1e-3)
        # The transforms do something, so that the comparison means something.
        fixed = tools.load(prefix + "_f.nii.gz")
        self.assertGreater(np.corrcoef(fixed[where], warped[where])[0, 1], 0.97)


def case(fixed_name, moving_name):
    grid = scene.GRIDS[fixed_name]

    def by_sitk(self):
        prefix = result(fixed_name, moving_name)
        chain = [prefix + "_warp.nii.gz", prefix + "_affine.txt"]
        inside = tools.sitk_apply(prefix + "_ones.nii.gz", prefix + "_f.nii.gz", chain)
        theirs = tools.sitk_apply(prefix + "_m.nii.gz", prefix + "_f.nii.gz", chain)
        self.check("SimpleITK", theirs, prefix, grid, inside)

    def by_ants(self):
        prefix = result(fixed_name, moving_name)
        chain = [prefix + "_warp.nii.gz", prefix + "_affine.txt"]
        inside = tools.sitk_apply(prefix + "_ones.nii.gz", prefix + "_f.nii.gz", chain)
        theirs = tools.ants_apply(prefix + "_m.nii.gz", prefix + "_f.nii.gz", chain)
        self.check("ANTs", theirs, prefix, grid, inside)

    def by_greedy(self):
        prefix = result(fixed_name, moving_name)
        np.savetxt(prefix + ".mat", tools.ras_matrix(prefix + "_affine.txt"), fmt="%.17g")
        inside = tools.sitk_apply(prefix + "_ones.nii.gz", prefix + "_f.nii.gz",
                                  [prefix + "_warp.nii.gz", prefix + "_affine.txt"])
        theirs = tools.greedy_apply(prefix + "_m.nii.gz", prefix + "_f.nii.gz",
                                    [prefix + "_warp.nii.gz", prefix + ".mat"], prefix + "_g.nii.gz")
        self.check("greedy", theirs, prefix, grid, inside)

    pair = f"fixed {fixed_name}, moving {moving_name}"
    for tool, body in (("SimpleITK", by_sitk), ("ANTs", by_ants), ("greedy", by_greedy)):
        body.__doc__ = f"{tool} applies our transforms as we do: {pair}"
        setattr(Ours, f"test_{len(dir(Ours)):03d}_{tool}", body)


for names in scene.PAIRS:
    case(*names)
