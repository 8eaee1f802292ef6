# SPDX-License-Identifier: Apache-2.0
"""Points, labels, series and Jacobians beside ANTs and SimpleITK; headers as nibabel sees them."""
import os
import unittest

import nibabel
import numpy as np
import SimpleITK as sitk

import scene
import tools
from test_ours import result

PAIR = ("oblique anisotropic", "left-handed")


def chains(prefix):
    """Ours and ANTs' words for both directions: names, which of them ANTs inverts."""
    warp, affine, inverse = prefix + "_warp.nii.gz", prefix + "_affine.txt", prefix + "_inverse_warp.nii.gz"
    # antspyx inverts only what is called .mat.
    binary = prefix + "_affine.mat"
    tools.clvox("compose", "-t", affine, "-o", binary)
    return {"forward": ([warp, affine], [warp, affine], [False, False]),
            "backward": ([affine + ",-1", inverse], [binary, inverse], [True, False])}


def jacobian(prefix):
    """The determinant of a registration's warp, made once."""
    if not os.path.exists(prefix + "_j.nii.gz"):
        tools.clvox("jacobian", "-t", prefix + "_warp.nii.gz", "-o", prefix + "_j.nii.gz")
    return prefix + "_j.nii.gz"


class Rest(unittest.TestCase):
    """What users carry along."""

    def setUp(self):
        self.prefix = result(*PAIR)
        self.fixed, self.moving = scene.GRIDS[PAIR[0]], scene.GRIDS[PAIR[1]]

    def test_points(self):
        """Points move as ANTs and SimpleITK move them, to the micrometre, both directions"""
        import ants
        import pandas
        inner = {"forward": self.fixed, "backward": self.moving}
        for name, (ours, theirs, inverted) in chains(self.prefix).items():
            grid = inner[name]
            random = np.random.default_rng(3)
            index = random.uniform(0.2, 0.8, (500, 3)) * (np.array(grid.size) - 1)
            points = (index @ grid.affine[:3, :3].T + grid.affine[:3, 3]) * [-1, -1, 1]
            table = pandas.DataFrame(points, columns=["x", "y", "z"])
            table["name"] = [f"p{i}" for i in range(500)]
            table.to_csv("points.csv", index=False, float_format="%.12g")
            tools.clvox("apply", "--points", "points.csv", *tools.chain_options(ours), "-o", "moved.csv")
            moved = pandas.read_csv("moved.csv")
            self.assertEqual(list(moved.columns), ["x", "y", "z", "name"])
            self.assertEqual(list(moved["name"]), list(table["name"]))
            moved = moved[["x", "y", "z"]].to_numpy()
            by_ants = ants.apply_transforms_to_points(3, table[["x", "y", "z"]], theirs,
                                                      whichtoinvert=inverted)
            by_ants = by_ants[["x", "y", "z"]].to_numpy()
            chain = sitk.CompositeTransform(3)
            for path, invert in list(zip(theirs, inverted))[::-1]:
                t = tools.sitk_transform(path)
                chain.AddTransform(t.GetInverse() if invert else t)
            by_sitk = np.array([chain.TransformPoint(p) for p in points])
            print(f"#   {name}: ANTs {np.abs(moved - by_ants).max():.1e} mm, "
                  f"SimpleITK {np.abs(moved - by_sitk).max():.1e} mm, "
                  f"moved by {np.abs(moved - points).mean():.0f} mm")
            self.assertLess(np.abs(moved - by_ants).max(), 1e-3)
            self.assertLess(np.abs(moved - by_sitk).max(), 1e-3)

    def test_backward_image(self):
        """Our inverse warp, applied by ANTs and SimpleITK, brings the fixed image back as we do"""
        ours, theirs, inverted = chains(self.prefix)["backward"]
        f, m = self.prefix + "_f.nii.gz", self.prefix + "_m.nii.gz"
        self.fixed.write("ones.nii.gz", self.fixed.interior(2).astype(np.float32))
        back = tools.clvox_apply(f, m, ours, "back.nii.gz")
        where = self.moving.interior() & (tools.clvox_apply("ones.nii.gz", m, ours, "in.nii.gz") > 0.999)
        self.assertGreater(where.mean(), 0.2)
        affine = sitk.ReadTransform(theirs[0]).GetInverse()
        for name, got in (("ANTs", tools.ants_apply(f, m, theirs, inverted=inverted)),
                          ("SimpleITK", tools.sitk_apply(f, m, [affine, theirs[1]]))):
            gap = tools.farthest(back, got, where)
            print(f"#   {name}: {gap:.1e}")
            self.assertLess(gap, 1e-3)

    def test_there_and_back(self):
        """Through our warp and back through our inverse warp, SimpleITK comes to where it began"""
        inner = self.fixed.interior(6).nonzero()
        points = self.fixed.points()[inner][::53] * [-1, -1, 1]
        warp = tools.sitk_transform(self.prefix + "_warp.nii.gz")
        back = tools.sitk_transform(self.prefix + "_inverse_warp.nii.gz")
        errors = [np.subtract(back.TransformPoint(warp.TransformPoint(p)), p) for p in points]
        errors = np.linalg.norm(errors, axis=1)
        print(f"#   {len(points)} points, mean {errors.mean():.1e} mm, largest {errors.max():.1e} mm")
        self.assertLess(errors.mean(), 0.05)
        self.assertLess(errors.max(), 0.5)

    def test_labels(self):
        """Labels carried by us and by ANTs (genericLabel, nearestNeighbor) hardly differ"""
        f, label = self.prefix + "_f.nii.gz", self.prefix + "_l.nii.gz"
        self.moving.write(label, scene.labels(scene.moving_image(self.moving)))
        ours, theirs, _ = chains(self.prefix)["forward"]
        for method, name in (("label", "genericLabel"), ("nearest", "nearestNeighbor")):
            got = tools.clvox_apply(label, f, ours, "carried.nii.gz", "--interp", method)
            want = np.round(tools.ants_apply(label, f, theirs, interpolator=name))
            self.assertEqual(set(np.unique(got)), {0, 10, 17, 217})
            differ = int((got != want).sum())
            print(f"#   {method} and {name}: {differ} of {got.size} voxels differ")
            self.assertLess(differ, 10)
            self.assertEqual(nibabel.load("carried.nii.gz").get_data_dtype(), np.int16)

    def test_series(self):
        """A 4-D series is carried volume by volume, as ANTs and SimpleITK carry its volumes"""
        f, series = self.prefix + "_f.nii.gz", self.prefix + "_4.nii.gz"
        image = scene.moving_image(self.moving)
        frames = np.stack([image, image[::-1], 100 - image, image**2 / 100], -1).astype(np.float32)
        self.moving.write(series, frames)
        ours, theirs, _ = chains(self.prefix)["forward"]
        carried = tools.clvox_apply(series, f, ours, "carried.nii.gz")
        self.assertEqual(carried.shape, self.fixed.size + (4,))
        by_ants = tools.ants_apply(series, f, theirs, image_type=3)
        inside = tools.sitk_apply(self.prefix + "_ones.nii.gz", f, theirs)
        where = self.fixed.interior() & (inside > 0.999)
        for t in range(4):
            self.moving.write("frame.nii.gz", frames[..., t])
            for name, want in (("ANTs", by_ants[..., t]),
                               ("SimpleITK", tools.sitk_apply("frame.nii.gz", f, theirs))):
                gap = tools.farthest(carried[..., t], want, where)
                print(f"#   volume {t}, {name}: {gap:.1e}")
                self.assertLess(gap, 1e-3)

    def test_compose(self):
        """One warp composed of the chain does in SimpleITK and ANTs what the chain does"""
        f, m = self.prefix + "_f.nii.gz", self.prefix + "_m.nii.gz"
        ours, _, _ = chains(self.prefix)["forward"]
        tools.clvox("compose", "-r", f, *tools.chain_options(ours), "-o", "both.nii.gz")
        warped = tools.load(self.prefix + "_warped.nii.gz")
        inside = tools.sitk_apply(self.prefix + "_ones.nii.gz", f, ["both.nii.gz"])
        where = self.fixed.interior() & (inside > 0.999)
        self.assertGreater(where.mean(), 0.2)
        for got in (tools.sitk_apply(m, f, ["both.nii.gz"]), tools.ants_apply(m, f, ["both.nii.gz"])):
            self.assertLess(tools.farthest(got, warped, where), 1e-3)

    def test_jacobian(self):
        """The Jacobian determinant is NumPy's, and ANTs' but for its fourth order, on every grid"""
        import ants
        for fixed_name, moving_name in scene.PAIRS:
            prefix, grid = result(fixed_name, moving_name), scene.GRIDS[fixed_name]
            warp = prefix + "_warp.nii.gz"
            ours, where = tools.load(jacobian(prefix)), grid.interior(2)
            domain = ants.image_read(prefix + "_f.nii.gz")
            by_ants = ants.create_jacobian_determinant_image(domain, warp).numpy()
            u = tools.load(warp)[..., 0, :] * [-1, -1, 1]
            gaps = []
            for got, weights in ((ours, (0.5, 0)), (by_ants, (8 / 12, -1 / 12))):
                steps = [sum(w * (np.roll(u, -k, a) - np.roll(u, k, a)) for k, w in zip((1, 2), weights))
                         for a in range(3)]
                want = np.linalg.det(np.eye(3) + np.stack(steps, -1) @ np.linalg.inv(grid.affine[:3, :3]))
                gaps.append(np.abs(got - want)[where].max())
            alike = np.corrcoef(ours[where], by_ants[where])[0, 1]
            print(f"#   {fixed_name}: ours {gaps[0]:.1e}, ANTs {gaps[1]:.1e} from NumPy's, "
                  f"correlation {alike:.4f}, range {np.ptp(ours[where]):.2f}")
            self.assertGreater(np.ptp(ours[where]), 0.05)
            self.assertLess(gaps[0], 1e-4)
            self.assertLess(gaps[1], 1e-4)
            self.assertGreater(alike, 0.95)

    def test_two_places(self):
        """A volume whose two forms differ: we go by the sform, as nibabel does, and say so"""
        grid = self.fixed
        image = nibabel.Nifti1Image(scene.fixed_image(grid), grid.affine)
        other = grid.affine.copy()
        other[:3, 3] += [0, 3, 4]
        image.set_sform(grid.affine, 2)
        image.set_qform(other, 1)
        nibabel.save(image, "two.nii.gz")
        said = tools.clvox("info", "two.nii.gz", both=True)
        self.assertIn("up to 5 mm apart", said)
        same = tools.clvox_apply("two.nii.gz", self.prefix + "_f.nii.gz", [], "same.nii.gz")
        self.assertEqual(np.abs(same - scene.fixed_image(grid)).max(), 0)
        # ITK's choice; should it change, the remark may go.
        origin = np.array(sitk.ReadImage("two.nii.gz").GetOrigin()) * [-1, -1, 1]
        self.assertLess(np.abs(origin - other[:3, 3]).max(), 1e-3)

    def test_one_slice(self):
        """A volume of one slice keeps its third axis, for nibabel and for SimpleITK"""
        grid = scene.Grid((40, 33, 1), (1.5, 1.7, 4), turn=12)
        grid.write("slice.nii.gz", scene.fixed_image(grid))
        tools.clvox_apply("slice.nii.gz", "slice.nii.gz", [], "slice_o.nii.gz")
        self.assertEqual(nibabel.load("slice_o.nii.gz").shape, grid.size)
        self.assertEqual(sitk.ReadImage("slice_o.nii.gz").GetSize(), grid.size)
        self.assertLess(np.abs(nibabel.load("slice_o.nii.gz").affine - grid.affine).max(), 1e-4)

    def test_headers(self):
        """nibabel reads all that we write: shape, place, intent, units, type"""
        for fixed_name, moving_name in scene.PAIRS:
            prefix, grid = result(fixed_name, moving_name), scene.GRIDS[fixed_name]
            jacobian(prefix)
            tools.clvox("compose", "-r", prefix + "_f.nii.gz", "-t", prefix + "_affine.txt", "-o",
                        prefix + "_both.nii.gz")
            for end, vectors in (("warped", False), ("j", False), ("warp", True), ("inverse_warp", True),
                                 ("both", True)):
                image = nibabel.load(f"{prefix}_{end}.nii.gz")
                header = image.header
                self.assertEqual(image.shape, grid.size + ((1, 3) if vectors else ()))
                self.assertEqual(int(header["intent_code"]), 1007 if vectors else 0)
                self.assertEqual(header.get_xyzt_units()[0], "mm")
                self.assertEqual(header.get_data_dtype(), np.float32)
                self.assertTrue(np.isfinite(image.get_fdata()).all())
                self.assertLess(np.abs(image.affine - grid.affine).max(), 1e-4)
                # The forms of the input, and the same place by each.
                forms = [get(coded=True) for get in (header.get_qform, header.get_sform)]
                self.assertEqual([code > 0 for _, code in forms],
                                 [grid.codes != "sform", grid.codes != "qform"])
                for form, code in forms:
                    if code > 0:
                        self.assertLess(np.abs(form - grid.affine).max(), 1e-3)
                edges = np.linalg.norm(grid.affine[:3, :3], axis=0)
                np.testing.assert_allclose(header.get_zooms()[:3], edges, rtol=1e-5)
