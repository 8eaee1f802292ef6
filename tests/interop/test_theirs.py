# SPDX-License-Identifier: Apache-2.0
"""Transforms that ANTs, greedy and SimpleITK wrote, applied by clvox apply."""
import os
import unittest

import numpy as np
import SimpleITK as sitk

import scene
import tools

PAIRS = [("oblique anisotropic", "left-handed"), ("PSR", "qform only, left-handed"),
         ("sform only, oblique", "axial")]


def pair(tool, fixed_name, moving_name):
    """The images of a pair on disk: prefix, fixed and moving grid."""
    prefix = f"{tool}-{fixed_name}-{moving_name}".replace(" ", "_").replace(",", "")
    fixed, moving = scene.GRIDS[fixed_name], scene.GRIDS[moving_name]
    # One place in the world: these tools find each other's middles less often than they promise.
    there = scene.Grid(moving.size, (1, 1, 1))
    there.affine, there.codes = moving.affine.copy(), moving.codes
    there.affine[:3, 3] += scene.middle(fixed) - scene.middle(moving) + np.array([4.0, -3.0, 2.0])
    fixed.write(prefix + "_f.nii.gz", scene.fixed_image(fixed))
    there.write(prefix + "_m.nii.gz", scene.moving_image(there))
    fixed.write(prefix + "_f_ones.nii.gz", fixed.interior(2).astype(np.float32))
    there.write(prefix + "_m_ones.nii.gz", there.interior(2).astype(np.float32))
    return prefix, fixed, there


class Theirs(unittest.TestCase):
    """Each tool's own result is ours."""

    def check(self, name, ours, theirs, where, least=0.2, gap=1e-3):
        self.assertGreater(where.mean(), least)
        got = tools.farthest(ours, theirs, where)
        print(f"#   {name}: largest difference {got:.1e} of the range, {100 * where.mean():.0f}% compared")
        self.assertLess(got, gap)

    def aligned(self, prefix, ours, where):
        fixed = tools.load(prefix + "_f.nii.gz")
        self.assertGreater(np.corrcoef(fixed[where], ours[where])[0, 1], 0.95)

    def ants(self, fixed_name, moving_name):
        import ants
        prefix, fixed, moving = pair("ants", fixed_name, moving_name)
        f, m = prefix + "_f.nii.gz", prefix + "_m.nii.gz"
        done = ants.registration(ants.image_read(f), ants.image_read(m), "SyN", outprefix=prefix,
                                 aff_iterations=(60, 30), aff_shrink_factors=(2, 1),
                                 aff_smoothing_sigmas=(1, 0), reg_iterations=(15, 5), aff_sampling=16,
                                 syn_sampling=16, random_seed=1)
        warp, affine = done["fwdtransforms"]
        inside = tools.apply_here(prefix + "_m_ones.nii.gz", f, [warp, affine], prefix + "_in.nii.gz")
        where = fixed.interior() & (inside > 0.999)
        ours = tools.clvox_apply(m, f, [warp, affine], prefix + "_o.nii.gz")
        self.check("forward", ours, tools.ants_apply(m, f, [warp, affine]), where)
        self.aligned(prefix, ours, where)
        affine, inverse = done["invtransforms"]
        back = [affine + ",-1", inverse]
        inside = tools.apply_here(prefix + "_f_ones.nii.gz", m, back, prefix + "_in.nii.gz")
        where = moving.interior() & (inside > 0.999)
        theirs = tools.ants_apply(f, m, [affine, inverse], inverted=[True, False])
        self.check("inverse", tools.apply_here(f, m, back, prefix + "_o.nii.gz"), theirs, where)

    def greedy(self, fixed_name, moving_name):
        prefix, fixed, moving = pair("greedy", fixed_name, moving_name)
        f, m = prefix + "_f.nii.gz", prefix + "_m.nii.gz"
        affine, warp, inverse = prefix + ".mat", prefix + "_w.nii.gz", prefix + "_iw.nii.gz"
        tools.greedy(f"-a -m NCC 2x2x2 -i {f} {m} -o {affine} -n 30x15 -ia-image-centers")
        tools.greedy(f"-m NCC 2x2x2 -i {f} {m} -it {affine} -o {warp} -oinv {inverse} -n 20x10")
        inside = tools.apply_here(prefix + "_m_ones.nii.gz", f, [warp, affine], prefix + "_in.nii.gz")
        where = fixed.interior() & (inside > 0.999)
        ours = tools.clvox_apply(m, f, [warp, affine], prefix + "_o.nii.gz")
        self.check("forward", ours, tools.greedy_apply(m, f, [warp, affine], prefix + "_g.nii.gz"), where)
        self.aligned(prefix, ours, where)
        back = [affine + ",-1", inverse]
        inside = tools.apply_here(prefix + "_f_ones.nii.gz", m, back, prefix + "_in.nii.gz")
        where = moving.interior() & (inside > 0.999)
        theirs = tools.greedy_apply(f, m, back, prefix + "_g.nii.gz")
        self.check("inverse", tools.apply_here(f, m, back, prefix + "_o.nii.gz"), theirs, where)

    def test_sitk_affines(self):
        """Every affine kind that SimpleITK writes, as text and as .mat, is applied as SimpleITK does"""
        grid = scene.GRIDS["oblique anisotropic"]
        image = grid.write("kinds.nii.gz", scene.fixed_image(grid))
        grid.write("kinds_ones.nii.gz", grid.interior(2).astype(np.float32))
        centre, axis, scales = (3.0, -4.0, 5.0), (0.3, 0.2, 0.9), (1.1, 0.9, 1.05)
        affine = sitk.AffineTransform(3)
        affine.SetMatrix((scene.rotation(8, (1, 2, -1)) @ np.diag([1.1, 0.9, 1.05])).ravel())
        affine.SetTranslation((1, 2, -3))
        euler = sitk.Euler3DTransform(centre, 0.1, -0.15, 0.2, (2, -1, 3))
        turned = sitk.Euler3DTransform(euler)
        turned.SetComputeZYX(True)
        versor = sitk.VersorRigid3DTransform(axis, 0.2, (1, 2, 3), centre)
        similar = sitk.Similarity3DTransform(1.1, (0.3, -0.2, 0.9), 0.15, (1, 2, 3), centre)
        for t in (affine, euler, similar):
            t.SetCenter(centre)
        kinds = {"affine": affine, "euler": euler, "euler zyx": turned, "versor": versor,
                 "similarity": similar, "translation": sitk.TranslationTransform(3, (4, -3, 2)),
                 "scale": sitk.ScaleTransform(3, scales),
                 "unit versor": sitk.VersorTransform(axis, 0.2, centre),
                 "scale versor": sitk.ScaleVersor3DTransform(scales, axis, 0.2, (1, 2, 3), centre),
                 "scale skew versor": sitk.ScaleSkewVersor3DTransform(
                     scales, (0.01, -0.02, 0.03, 0.04, -0.05, 0.06), axis, 0.2, (1, 2, 3), centre),
                 "composed scale skew versor": sitk.ComposeScaleSkewVersor3DTransform(
                     scales, (0.05, -0.04, 0.03), axis, 0.2, (1, 2, 3), centre),
                 "identity": sitk.Transform(3, sitk.sitkIdentity)}
        points = grid.points()[::5, ::7, ::6].reshape(-1, 3) * [-1, -1, 1]
        np.savetxt("kind_p.csv", points, delimiter=",", header="x,y,z", comments="", fmt="%.12g")
        for name, transform in kinds.items():
            for end in ("txt", "tfm", "mat"):
                path = f"kind.{end}"
                sitk.WriteTransform(transform, path)
                tools.clvox("apply", "--points", "kind_p.csv", "-t", path, "-o", "kind_q.csv", "-q")
                ours = np.loadtxt("kind_q.csv", delimiter=",", skiprows=1)
                theirs = np.array([transform.TransformPoint(p) for p in points])
                self.assertLess(np.abs(ours - theirs).max(), 1e-5, f"{name}.{end}")
            inside = tools.sitk_apply("kinds_ones.nii.gz", image, [transform]) > 0.999
            self.check(name, tools.apply_here(image, image, [path], "k_o.nii.gz"),
                       tools.sitk_apply(image, image, [transform]), grid.interior() & inside)

    def test_sitk_warp(self):
        """Displacement fields of another grid that SimpleITK wrote, alone and in chains"""
        grid, shape = scene.GRIDS["left-handed"], scene.GRIDS["sform only, oblique"]
        field = scene.Grid(shape.size, (1, 1, 1))
        field.affine = shape.affine.copy()
        field.affine[:3, :3] *= 1.3
        field.affine[:3, 3] += scene.middle(grid) - scene.middle(field)
        image = grid.write("field_f.nii.gz", scene.fixed_image(grid))
        ones = grid.write("field_ones.nii.gz", grid.interior(2).astype(np.float32))
        cover = field.write("field_cover.nii.gz", field.interior(2).astype(np.float32))
        index = np.stack(np.meshgrid(*[np.arange(n) for n in field.size], indexing="ij"), -1)
        vectors = 3 * np.sin(index / np.array([6.0, 7.0, 8.0])) + np.array([1, -2, 1.5])
        affine = sitk.AffineTransform(3)
        affine.SetMatrix((scene.rotation(6, (1, 0, -1)) @ np.diag([1.05, 1, 0.95])).ravel())
        affine.SetCenter(tuple(scene.middle(grid) * np.array([-1, -1, 1])))
        sitk.WriteTransform(affine, "field.txt")
        for precision in (np.float32, np.float64):
            warp = sitk.GetImageFromArray(vectors.transpose(2, 1, 0, 3).astype(precision), isVector=True)
            warp.CopyInformation(sitk.ReadImage(cover))
            sitk.WriteImage(warp, "field.nii.gz")
            for chain in (["field.nii.gz"], ["field.nii.gz", "field.txt"], ["field.txt", "field.nii.gz"]):
                # Beyond the field's last voxels the tools differ, each in its own way.
                before = chain[:chain.index("field.nii.gz")]
                where = tools.sitk_apply(cover, image, before) > 0.999
                where &= grid.interior() & (tools.sitk_apply(ones, image, chain) > 0.999)
                self.check(f"{precision.__name__}, {' '.join(chain)}",
                           tools.apply_here(image, image, chain, "field_o.nii.gz"),
                           tools.sitk_apply(image, image, chain), where)


def case(tool, fixed_name, moving_name):
    def body(self):
        getattr(self, tool)(fixed_name, moving_name)
    body.__doc__ = (f"clvox applies what {tool} made as {tool} does, both directions: "
                    f"fixed {fixed_name}, moving {moving_name}")
    setattr(Theirs, f"test_{tool}_{len(dir(Theirs)):03d}", body)


for tool in ("ants", "greedy"):
    for names in PAIRS:
        case(tool, *names)
