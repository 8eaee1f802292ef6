# SPDX-License-Identifier: Apache-2.0
"""Files of transforms beside text: ITK's composites and B-splines, FreeSurfer's LTA, FNIRT's fields and coefficients.
Points go where the programs that wrote them, or read ours, take them."""
import unittest

import nibabel
import numpy as np
import SimpleITK as sitk

import scene
import tools
from test_formats import GRIDS, itk_image, values

RANDOM = np.random.default_rng(11)
FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def lps_points(grid, count=200, reach=0.9):
    index = RANDOM.uniform(1 - reach, reach, (count, 3)) * (np.array(grid.size) - 1)
    return (index @ grid.affine[:3, :3].T + grid.affine[:3, 3]) * [-1, -1, 1]


def moved(points, *chain):
    """Points through clvox."""
    np.savetxt("p.csv", points, delimiter=",", header="x,y,z", comments="", fmt="%.12g")
    tools.clvox("apply", "--points", "p.csv", *tools.chain_options(chain), "-o", "q.csv", "-q")
    return np.loadtxt("q.csv", delimiter=",", skiprows=1)


def euler():
    t = sitk.Euler3DTransform()
    t.SetCenter((4.0, -3.0, 9.0))
    t.SetRotation(0.1, -0.2, 0.3)
    t.SetTranslation((3.0, 1.0, -2.0))
    return t


def affine():
    t = sitk.AffineTransform(3)
    t.SetMatrix((np.eye(3) + RANDOM.normal(0, 0.1, (3, 3))).ravel().tolist())
    t.SetTranslation(RANDOM.normal(0, 5, 3).tolist())
    t.SetCenter((1.0, 2.0, 3.0))
    return t


def field(grid):
    u = RANDOM.normal(0, 2, grid.size + (3,))
    return sitk.DisplacementFieldTransform(itk_image(u, grid, True))


def composite(*parts):
    t = sitk.CompositeTransform(3)
    for part in parts:
        t.AddTransform(part)
    return t


def bspline(grid, mesh):
    t = sitk.BSplineTransformInitializer(itk_image(values(grid), grid), mesh, 3)
    t.SetParameters(RANDOM.normal(0, 3, len(t.GetParameters())).tolist())
    return t


class TransformFiles(unittest.TestCase):
    """In and out."""

    def near(self, ours, theirs, points, within=1e-4):
        self.assertGreater(np.abs(theirs - points).max(), 0.1)
        self.assertLess(np.abs(ours - theirs).max(), within)

    def test_composites_in(self):
        """SimpleITK's composites, in HDF5 and as text: affine, rigid and field in any order, and inverted"""
        for name, grid in GRIDS.items():
            points = lps_points(grid)
            for parts in ([affine()], [euler(), affine()], [affine(), field(grid)], [field(grid), euler()],
                          [euler(), field(grid), affine(), field(grid)],
                          [euler() for _ in range(12)]):  # more than eight: HDF5 keeps their names in a heap
                t = composite(*parts) if len(parts) > 1 else parts[0]
                theirs = np.array([t.TransformPoint(p) for p in points])
                for path in ("c.h5", "c.tfm"):
                    sitk.WriteTransform(t, path)
                    with self.subTest(grid=name, parts=len(parts), path=path):
                        self.near(moved(points, path), theirs, points)
                    if len(parts) == 2 and not any("Displacement" in p.GetName() for p in parts):
                        back = np.array([t.GetInverse().TransformPoint(p) for p in points])
                        self.near(moved(points, path + ",-1"), back, points)
                        self.near(moved(points, f"[{path},1]"), back, points)
                        self.assertIn("affine", tools.clvox("info", path))

    def test_composites_out(self):
        """clvox's composite of an affine and a warp, read by SimpleITK and by ANTs"""
        import ants
        import pandas
        for name, grid in GRIDS.items():
            if min(grid.size) < 2:
                continue
            points = lps_points(grid)
            parts = [affine(), field(grid)]
            sitk.WriteTransform(parts[0], "a.mat")
            sitk.WriteImage(parts[1].GetDisplacementField(), "w.nii.gz")
            parts[1] = sitk.DisplacementFieldTransform(sitk.ReadImage("w.nii.gz", sitk.sitkVectorFloat64))
            tools.clvox("compose", "-t", "w.nii.gz", "-t", "a.mat", "-o", "o.h5", "-q")
            want = np.array([composite(*parts).TransformPoint(p) for p in points])
            read = sitk.ReadTransform("o.h5")
            table = pandas.DataFrame(points, columns=["x", "y", "z"])
            by_ants = ants.apply_transforms_to_points(3, table, ["o.h5"])[["x", "y", "z"]].to_numpy()
            with self.subTest(grid=name):
                for got in (np.array([read.TransformPoint(p) for p in points]), by_ants, moved(points, "o.h5")):
                    self.near(got, want, points, 1e-3)  # displacements are rounded to 2^-10 mm
            tools.clvox("compose", "-t", "a.mat,-1", "-o", "i.h5", "-q")
            back = sitk.ReadTransform("i.h5")
            self.assertLess(np.abs([np.subtract(back.TransformPoint(parts[0].TransformPoint(p)), p) for p in points]).max(),
                            1e-6)

    def test_mat(self):
        """0GenericAffine.mat of ANTs and of SimpleITK, and clvox's read by both"""
        import ants
        points = lps_points(GRIDS["oblique"])
        t = ants.create_ants_transform(transform_type="AffineTransform", dimension=3,
                                       matrix=np.eye(3) + RANDOM.normal(0, 0.1, (3, 3)), offset=[3.0, -2.0, 1.0],
                                       center=[5.0, 6.0, 7.0])
        ants.write_transform(t, "0GenericAffine.mat")
        theirs = np.array([ants.apply_ants_transform_to_point(t, p) for p in points])
        self.near(moved(points, "0GenericAffine.mat"), theirs, points)
        self.near(moved(points, "[0GenericAffine.mat,0]"), theirs, points)
        tools.clvox("compose", "-t", "0GenericAffine.mat", "-o", "o.mat", "-q")
        back = ants.read_transform("o.mat")
        self.near(np.array([ants.apply_ants_transform_to_point(back, p) for p in points]), theirs, points)
        read = sitk.ReadTransform("o.mat")
        self.near(np.array([read.TransformPoint(p) for p in points]), theirs, points)

    def test_bsplines(self):
        """SimpleITK's B-splines, in HDF5 and as text, to 0.002 mm, and not beyond their domain"""
        for name, mesh in (("axial", (1, 2, 3)), ("left-handed", (4, 1, 2)), ("PSR", (3, 3, 3))):
            grid = GRIDS[name]
            points = lps_points(grid)
            outside = points + np.sign(points - points.mean(0)) * 3 * np.ptp(points, axis=0)
            t = bspline(grid, mesh)
            theirs = np.array([t.TransformPoint(p) for p in points])
            for path in ("b.h5", "b.tfm"):
                sitk.WriteTransform(t, path)
                with self.subTest(grid=name, path=path):
                    self.near(moved(points, path), theirs, points, 2e-3)
                    np.testing.assert_allclose(moved(outside, path), outside, atol=1e-6)

    def test_lta(self):
        """LTA between voxels, millimetres from the first voxel, RAS and tkRAS, and register.dat, of any two volumes"""
        source, target = GRIDS["PSR"], GRIDS["oblique"]
        points = lps_points(target)
        world = np.eye(4)  # target -> source, RAS
        world[:3, :3] = scene.rotation(13, (1, 2, 3)) * 1.1
        world[:3, 3] = (4, -5, 6)
        want = (FLIP @ world @ FLIP @ np.column_stack([points, np.ones(len(points))]).T)[:3].T

        def tk(grid):
            header = nibabel.freesurfer.MGHImage(np.zeros(grid.size, np.float32), grid.affine).header
            return header.get_vox2ras_tkr()

        def scaled(grid):
            return np.diag([*np.linalg.norm(grid.affine[:3, :3], axis=0), 1.0])

        def info(grid):
            edge = np.linalg.norm(grid.affine[:3, :3], axis=0)
            axes = grid.affine[:3, :3] / edge
            c = (grid.affine @ np.append(np.array(grid.size) / 2, 1))[:3]
            rows = "".join(f"{a}ras   = {' '.join(repr(float(x)) for x in v)}\n" for a, v in zip("xyzc", [*axes.T, c]))
            return ("valid = 1  # volume info valid\nfilename = some.mgz\nvolume = " + " ".join(map(str, grid.size)) +
                    "\nvoxelsize = " + " ".join(repr(float(x)) for x in edge) + "\n" + rows)

        forward = np.linalg.inv(world)
        kinds = {0: np.linalg.inv(target.affine) @ forward @ source.affine, 1: forward,
                 2: scaled(target) @ np.linalg.inv(target.affine) @ forward @ source.affine @ np.linalg.inv(scaled(source)),
                 21: tk(target) @ np.linalg.inv(target.affine) @ forward @ source.affine @ np.linalg.inv(tk(source))}
        kinds[14] = np.linalg.inv(kinds[21])  # as in register.dat: from the target to the source
        for kind, matrix in kinds.items():
            with open("t.lta", "w", encoding="ascii") as file:
                file.write(f"# transform file x.lta\ntype      = {kind}\nnxforms   = 1\nmean      = 0.0 0.0 0.0\n"
                           "sigma     = 1.0\n1 4 4\n")
                np.savetxt(file, matrix, fmt="%.15e")
                file.write(f"src volume info\n{info(source)}dst volume info\n{info(target)}subject me\nfscale 0.1\n")
            with self.subTest(type=kind):
                self.near(moved(points, "t.lta"), want, points)
        target.write("ref.nii", values(target))
        source.write("src.nii", values(source))
        with open("register.dat", "w", encoding="ascii") as file:
            file.write("somebody\n1.5\n1.4\n0.15\n")
            np.savetxt(file, kinds[14], fmt="%.15e")
            file.write("round\n")
        tools.clvox("compose", "-r", "ref.nii", "--moving", "src.nii", "-t", "register.dat", "-o", "r.nii.gz", "-q")
        ours = tools.load("r.nii.gz")[:, :, :, 0] * [-1, -1, 1]
        there = target.points() @ world[:3, :3].T + world[:3, 3] - target.points()
        np.testing.assert_allclose(ours, there, atol=1e-4)

    def check_fnirt(self, path, fixed, moving):
        """The warp that clvox makes of FNIRT's, at every voxel, beside fslpy."""
        from fsl.data.image import Image
        from fsl.transform import fnirt
        tools.clvox("compose", "-r", "ref.nii", "--moving", "src.nii", "-t", path, "-o", "ours.nii.gz", "-q")
        ours = tools.load("ours.nii.gz")[:, :, :, 0] * [-1, -1, 1] + fixed.points()
        there = fnirt.readFnirt(path, Image("src.nii"), Image("ref.nii"))
        theirs = there.transform(fixed.points().reshape(-1, 3), "world", "world").reshape(ours.shape)
        good = np.isfinite(theirs).all(-1)
        self.assertGreater(good.mean(), 0.5)
        self.near(ours[good], theirs[good], fixed.points()[good], 2e-4)
        self.assertGreater(np.abs(moving.affine).max(), 0)

    def test_fnirt_fields(self):
        """FNIRT's fields, relative and absolute, between images of either handedness, as fslpy reads them"""
        for f, m in (("axial", "left-handed"), ("left-handed", "PSR"), ("PSR", "axial")):
            fixed, moving = GRIDS[f], GRIDS[m]
            fixed.write("ref.nii", values(fixed))
            moving.write("src.nii", values(moving))
            u = RANDOM.normal(0, 1, fixed.size + (3,)).astype(np.float32)
            frame = np.diag(list(np.linalg.norm(fixed.affine[:3, :3], axis=0)) + [1.0])
            if np.linalg.det(fixed.affine) > 0:
                frame = np.array([[-1, 0, 0, (fixed.size[0] - 1) * frame[0, 0]], [0, 1, 0, 0], [0, 0, 1, 0],
                                  [0, 0, 0, 1]]) @ frame
            place = np.stack(np.meshgrid(*[np.arange(n) for n in fixed.size], indexing="ij"), -1)
            place = place @ frame[:3, :3].T + frame[:3, 3]
            for absolute in (False, True):
                image = nibabel.Nifti1Image((u + place * absolute).astype(np.float32), fixed.affine)
                image.header.set_intent(2006, allow_unknown=True)
                nibabel.save(image, "f.nii.gz")
                with self.subTest(fixed=f, moving=m, absolute=absolute):
                    self.check_fnirt("f.nii.gz", fixed, moving)

    def fnirt_coefficients(self, code, fixed, coefficients, knots, premat):
        """A file as FNIRT writes it: knots, sizes and FLIRT's matrix in the places of other things."""
        header = nibabel.Nifti1Header()
        header.set_data_dtype(np.float32)
        image = nibabel.Nifti1Image(coefficients.astype(np.float32), None, header)
        size = np.eye(4)
        size[:3, 3] = fixed.size
        image.set_qform(size, 1)
        image.set_sform(premat, 1)
        image.header["pixdim"][1:4] = knots
        image.header["intent_code"] = code
        edge = np.linalg.norm(fixed.affine[:3, :3], axis=0)
        image.header["intent_p1"], image.header["intent_p2"], image.header["intent_p3"] = edge
        nibabel.save(image, "c.nii.gz")
        return "c.nii.gz"

    def test_fnirt_coefficients(self):
        """FNIRT's cubic coefficients with an affine, as fslpy reads them"""
        fixed, moving = scene.Grid((13, 11, 9), (2, 2.5, 3), axes="LAS", turn=10), GRIDS["axial"]
        fixed.write("ref.nii", values(fixed))
        moving.write("src.nii", values(moving))
        knots = (4, 3, 5)
        shape = tuple(int(np.ceil((n + 1) / k)) + 2 for n, k in zip(fixed.size, knots))
        premat = np.eye(4)
        premat[:3, :3] = scene.rotation(8, (3, 1, 2))
        premat[:3, 3] = (2, -3, 4)
        path = self.fnirt_coefficients(2007, fixed, RANDOM.normal(0, 2, shape + (3,)), knots, premat)
        self.check_fnirt(path, fixed, moving)

    def test_fnirt_other_coefficients(self):
        """FNIRT's quadratic splines and cosines, summed up by SciPy's B-splines and inverse DCT"""
        from scipy.fft import idctn
        from scipy.interpolate import BSpline
        for axes in ("LAS", "RAS"):
            fixed = scene.Grid((13, 11, 9), (2, 2.5, 3), axes=axes, turn=10)
            fixed.write("ref.nii", values(fixed))
            edge = np.linalg.norm(fixed.affine[:3, :3], axis=0)
            flip = np.eye(4)  # voxels as FSL counts them, there and back
            if np.linalg.det(fixed.affine) > 0:
                flip[0, 0], flip[0, 3] = -1, fixed.size[0] - 1
            knots = (4, 3, 5)
            shape = tuple(n // k + 2 for n, k in zip(fixed.size, knots))
            splines = RANDOM.normal(0, 2, shape + (3,))
            spline = BSpline.basis_element(np.arange(4) - 1.5, extrapolate=False)
            weights = [np.nan_to_num(spline(np.arange(n)[:, None] / k - (np.arange(m) - 1)))
                       for n, k, m in zip(fixed.size, knots, shape)]
            cosines = RANDOM.normal(0, 9, (4, 3, 5, 3))
            padded = np.pad(cosines, [(0, n - m) for n, m in zip(fixed.size, cosines.shape)] + [(0, 0)])
            for code, numbers, u in ((2009, splines, np.einsum("xa,yb,zc,abcd->xyzd", *weights, splines)),
                                     (2008, cosines, idctn(padded, axes=(0, 1, 2), norm="ortho"))):
                path = self.fnirt_coefficients(code, fixed, numbers, knots, np.eye(4))
                tools.clvox("compose", "-r", "ref.nii", "--moving", "ref.nii", "-t", path, "-o", "ours.nii.gz", "-q")
                if flip[0, 0] < 0:
                    u = u[::-1]
                want = (u / edge) @ (fixed.affine @ flip)[:3, :3].T
                with self.subTest(axes=axes, code=code):
                    np.testing.assert_allclose(tools.load("ours.nii.gz")[:, :, :, 0] * [-1, -1, 1], want, atol=1e-5)
