# SPDX-License-Identifier: Apache-2.0
"""Volumes in the formats beside NIfTI: nibabel's and SimpleITK's files read, ours read by them."""
import bz2
import gzip
import json
import os
import unittest

import nibabel
import numpy as np
import SimpleITK as sitk

import scene
import tools

# Odd, prime and thin sizes; every kind of axes.
GRIDS = {"axial": scene.Grid((7, 5, 3), (1.6, 1.5, 1.7), middle=(4, -7, 30)),
         "oblique": scene.Grid((5, 11, 1), (1.3, 1.7, 2.3), turn=24, middle=(3, -5, 2)),
         "left-handed": scene.Grid((13, 2, 6), (0.7, 1.6, 3), axes="LAS", turn=11, about=(3, -1, 2)),
         "PSR": scene.Grid((3, 4, 5), (1.5, 1.7, 1.4), axes="PSR", turn=170, middle=(15, 10, -20))}
FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])


def values(grid, frames=1, kind=np.float32):
    random = np.random.default_rng(3)
    shape = grid.size if frames == 1 else grid.size + (frames,)
    if kind in (np.float32, np.float64):
        return random.normal(0, 100, shape).astype(kind)
    return random.integers(0, 100, shape).astype(kind)


def read(path):
    """A volume through clvox: its values and voxels -> RAS."""
    tools.convert(path, "out.nii")
    image = nibabel.load("out.nii")
    return np.asarray(image.dataobj), image.affine


def itk_image(data, grid, vector=False):
    """SimpleITK's image of an array X x Y x Z (x components)."""
    axes = (2, 1, 0, 3)[:data.ndim]
    image = sitk.GetImageFromArray(np.ascontiguousarray(data.transpose(axes)), isVector=vector)
    lps = FLIP @ grid.affine
    spacing = np.linalg.norm(lps[:3, :3], axis=0)
    image.SetSpacing(spacing.tolist())
    image.SetOrigin(lps[:3, 3].tolist())
    image.SetDirection((lps[:3, :3] / spacing).ravel().tolist())
    return image


def itk_affine(image):
    m = np.eye(4)
    m[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    m[:3, 3] = image.GetOrigin()
    return FLIP @ m


class Formats(unittest.TestCase):
    """Values and places, both directions."""

    def same(self, data, affine, wanted, grid):
        self.assertEqual(data.shape, wanted.shape)
        np.testing.assert_allclose(data, wanted, rtol=1e-6)
        corners = np.array(np.meshgrid(*[(0, n - 1) for n in grid.size], [1], indexing="ij")).reshape(4, -1)[:4]
        gap = np.abs((affine - grid.affine) @ corners).max()
        self.assertLess(gap, 1e-4)

    def test_nifti_in(self):
        """NIfTI of SimpleITK and ANTs: every type, files, compressed ones and pairs, one frame and several"""
        import ants
        kinds = (np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
        for name, grid in GRIDS.items():
            for kind in kinds:
                data = values(grid, 1, kind)
                for path in ("s.nii", "s.nii.gz", "s.hdr"):
                    sitk.WriteImage(itk_image(data, grid), path)
                    with self.subTest(grid=name, kind=kind.__name__, path=path):
                        self.same(*read(path), data, grid)
            frames = values(grid, 3, np.int16)
            series = sitk.JoinSeries([itk_image(np.ascontiguousarray(frames[..., t]), grid) for t in range(3)])
            sitk.WriteImage(series, "s4.nii.gz")
            with self.subTest(grid=name, frames=3):
                self.same(*read("s4.nii.gz"), frames, grid)
            for kind in (np.uint8, np.uint32, np.float32, np.float64):
                data = values(grid, 1, kind)
                sitk.WriteImage(itk_image(data, grid), "s.nii")
                ants.image_write(ants.image_read("s.nii", pixeltype=None), "a.nii.gz")
                with self.subTest(grid=name, kind=kind.__name__, by="ANTs"):
                    self.same(*read("a.nii.gz"), data, grid)

    def test_nifti_forms(self):
        """NIfTI-2, the other byte order and Analyze, as nibabel writes them"""
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int16, np.float32, np.float64):
                data = values(grid, 2, kind)
                nibabel.save(nibabel.Nifti2Image(data, grid.affine), "two.nii")
                big = nibabel.Nifti1Header(endianness=">")
                big.set_data_dtype(np.dtype(kind).newbyteorder(">"))
                nibabel.save(nibabel.Nifti1Image(data, grid.affine, big), "big.nii.gz")
                for path in ("two.nii", "big.nii.gz"):
                    with self.subTest(grid=name, kind=kind.__name__, path=path):
                        self.same(*read(path), data, grid)
        grid = GRIDS["axial"]
        data = values(grid, 1, np.int16)
        nibabel.save(nibabel.AnalyzeImage(data, np.diag([1.6, 1.5, 1.7, 1])), "old.hdr")
        ours, affine = read("old.hdr")
        np.testing.assert_array_equal(ours, data)
        np.testing.assert_allclose(np.linalg.norm(affine[:3, :3], axis=0), (1.6, 1.5, 1.7), rtol=1e-6)

    def test_nifti_out(self):
        """NIfTI of clvox, of every type, compressed and not, as SimpleITK and ANTs read it"""
        import ants
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64):
                data = values(grid, 1, kind)
                sitk.WriteImage(itk_image(data, grid), "s.nrrd")
                for path in ("o.nii", "o.nii.gz"):
                    tools.convert("s.nrrd", path)
                    with self.subTest(grid=name, kind=kind.__name__, path=path):
                        image = sitk.ReadImage(path)
                        self.assertEqual(sitk.GetArrayViewFromImage(image).dtype, kind)
                        self.same(sitk.GetArrayFromImage(image).T, itk_affine(image), data, grid)
            image = ants.image_read("o.nii.gz")
            with self.subTest(grid=name, by="ANTs"):
                place = np.eye(4)
                place[:3, :3] = image.direction * image.spacing
                place[:3, 3] = image.origin
                self.same(image.numpy(), FLIP @ place, data, grid)

    def test_mgh_in(self):
        """MGH and MGZ of nibabel: every type, one frame and several"""
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int16, np.int32, np.float32):
                for frames in (1, 3):
                    data = values(grid, frames, kind)
                    path = "n.mgz" if frames == 1 else "n.mgh"
                    nibabel.save(nibabel.MGHImage(data, grid.affine), path)
                    with self.subTest(grid=name, kind=kind.__name__, frames=frames):
                        self.same(*read(path), data, grid)

    def test_mgh_out(self):
        """MGH and MGZ of clvox, as nibabel reads them"""
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int8, np.int16, np.uint16, np.int32, np.float32, np.float64):
                data = values(grid, 2, kind)
                nibabel.save(nibabel.Nifti1Image(data, grid.affine), "n.nii")
                for path in ("o.mgz", "o.mgh"):
                    tools.convert("n.nii", path)
                    with self.subTest(grid=name, kind=kind.__name__, path=path):
                        image = nibabel.load(path)
                        self.same(np.asarray(image.dataobj), image.affine, data, grid)

    def test_nrrd(self):
        """NRRD of SimpleITK: types, compressed and not, attached and detached"""
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int16, np.uint32, np.float32, np.float64):
                data = values(grid, 1, kind)
                for path in ("s.nrrd", "s.nhdr"):
                    for packed in (False, True):
                        sitk.WriteImage(itk_image(data, grid), path, packed)
                        with self.subTest(grid=name, kind=kind.__name__, path=path, packed=packed):
                            self.same(*read(path), data, grid)

    def test_meta(self):
        """MetaImage of SimpleITK: types, compressed and not, .mha and .mhd, and clvox' own read by it"""
        for name, grid in GRIDS.items():
            for kind in (np.uint8, np.int8, np.int16, np.uint32, np.int64, np.float32, np.float64):
                data = values(grid, 1, kind)
                for path in ("s.mha", "s.mhd"):
                    for packed in (False, True):
                        sitk.WriteImage(itk_image(data, grid), path, packed)
                        with self.subTest(grid=name, kind=kind.__name__, path=path, packed=packed):
                            self.same(*read(path), data, grid)
                tools.convert("s.mha", "o.mha")
                with self.subTest(grid=name, kind=kind.__name__, path="o.mha"):
                    image = sitk.ReadImage("o.mha")
                    self.assertEqual(sitk.GetArrayViewFromImage(image).dtype, kind)
                    self.same(sitk.GetArrayFromImage(image).T, itk_affine(image), data, grid)

    def test_nrrd_spaces(self):
        """NRRD in RAS and LAS, axes of components first and last, whole files compressed, beside SimpleITK"""
        grid = GRIDS["left-handed"]
        data = values(grid, 3, np.int16)
        for space, sign in (("right-anterior-superior", (1, 1, 1)), ("LAS", (-1, 1, 1)), ("LPS", (-1, -1, 1))):
            m = np.diag(sign + (1,)) @ grid.affine
            vectors = [str(tuple(m[:3, i])).replace(" ", "").replace("np.float64", "") for i in range(3)]
            vectors = ["(" + ",".join(repr(float(x)) for x in m[:3, i]) + ")" for i in range(3)]
            origin = "(" + ",".join(repr(float(x)) for x in m[:3, 3]) + ")"
            for first in (True, False):
                order = ["none"] + vectors if first else vectors + ["none"]
                size = (3,) + grid.size if first else grid.size + (3,)
                kinds = "list domain domain domain" if first else "domain domain domain list"
                head = (f"NRRD0005\n# made by hand\ntype: short\ndimension: 4\nspace: {space}\n"
                        f"sizes: {' '.join(map(str, size))}\nspace directions: {' '.join(order)}\nkinds: {kinds}\n"
                        f"endian: big\nencoding: raw\nspace origin: {origin}\nwho:=me: you\n\n").encode()
                body = (data.transpose(3, 0, 1, 2) if first else data).astype(">i2").tobytes(order="F")
                with open("h.nrrd", "wb") as file:
                    file.write(head + body)
                with gzip.open("h.nrrd.gz", "wb") as file:
                    file.write(head + body)
                with self.subTest(space=space, first=first):
                    self.same(*read("h.nrrd"), data, grid)
                    self.same(*read("h.nrrd.gz"), data, grid)
                    if first:
                        theirs = sitk.ReadImage("h.nrrd")
                        np.testing.assert_allclose(itk_affine(theirs), grid.affine, atol=1e-5)

    def test_nrrd_encodings(self):
        """NRRD as text and hexadecimal digits, as SimpleITK reads it, and by bzip2"""
        grid = GRIDS["oblique"]
        for kind, word in ((np.float32, "float"), (np.int16, "short")):
            data = values(grid, 1, kind)
            sitk.WriteImage(itk_image(data, grid), "s.nrrd")
            with open("s.nrrd", "rb") as file:
                head, raw = file.read().split(b"\n\n", 1)
            text = "\n".join(repr(v.item()) for v in data.ravel(order="F")).encode()
            for encoding, body in ((b"ascii", text), (b"hex", raw.hex(" ").encode()), (b"bzip2", bz2.compress(raw))):
                with open("e.nrrd", "wb") as file:
                    file.write(head.replace(b"encoding: raw", b"encoding: " + encoding) + b"\n\n" + body)
                with self.subTest(type=word, encoding=encoding):
                    ours, affine = read("e.nrrd")
                    self.same(ours, affine, data, grid)
                    if encoding != b"bzip2":
                        np.testing.assert_array_equal(ours, sitk.GetArrayFromImage(sitk.ReadImage("e.nrrd")).T)

    def test_nrrd_warp(self):
        """A displacement that SimpleITK wrote as NRRD moves points as in SimpleITK"""
        grid = GRIDS["left-handed"]
        field = (values(grid, 3) / 50).astype(np.float64)
        sitk.WriteImage(itk_image(field, grid, True), "w.nrrd")
        transform = sitk.DisplacementFieldTransform(sitk.ReadImage("w.nrrd"))
        self.points(["w.nrrd"], transform, grid)

    def points(self, chain, transform, grid, where=0.9):
        """Points inside of a grid, by clvox and by SimpleITK."""
        random = np.random.default_rng(5)
        index = random.uniform(1 - where, where, (200, 3)) * (np.array(grid.size) - 1)
        points = (index @ grid.affine[:3, :3].T + grid.affine[:3, 3]) * [-1, -1, 1]
        np.savetxt("p.csv", points, delimiter=",", header="x,y,z", comments="", fmt="%.12g")
        tools.clvox("apply", "--points", "p.csv", *tools.chain_options(chain), "-o", "q.csv", "-q")
        ours = np.loadtxt("q.csv", delimiter=",", skiprows=1)
        theirs = np.array([transform.TransformPoint(p) for p in points])
        self.assertGreater(np.abs(theirs - points).max(), 0.1)
        self.assertLess(np.abs(ours - theirs).max(), 1e-4)

    def test_mif(self):
        """MIF by MRtrix's own description: strides, signs, scaling, bits, detached and compressed"""
        layouts = ["+0,+1,+2,+3", "-0,-1,+2,+3", "+1,-2,-3,+0", "-3,+0,-1,+2"]
        for name, grid in GRIDS.items():
            spacing = np.linalg.norm(grid.affine[:3, :3], axis=0)
            scanner = np.column_stack([grid.affine[:3, :3] / spacing, grid.affine[:3, 3]])
            for layout in layouts:
                for kind, word in ((np.float32, "Float32LE"), (">i2", "Int16BE"), (np.uint8, "Bit")):
                    data = values(grid, 2, np.int16) % (2 if word == "Bit" else 1000)
                    stored = data
                    ranks = [abs(int(t)) for t in layout.split(",")]
                    for axis, token in enumerate(layout.split(",")):
                        stored = np.flip(stored, axis) if token[0] == "-" else stored
                    stored = stored.transpose(np.argsort(ranks)).ravel(order="F")
                    raw = np.packbits(stored).tobytes() if word == "Bit" else stored.astype(kind).tobytes()
                    head = (f"mrtrix image\ndim: {','.join(map(str, data.shape))}\n"
                            f"vox: {','.join(repr(float(s)) for s in spacing)},2.5\nlayout: {layout}\n"
                            f"datatype: {word}\n" + "".join(
                                "transform: " + ",".join(repr(float(x)) for x in row) + "\n" for row in scanner) +
                            "scaling: 3,2\ncommand_history: x: y\n")
                    attached = (head + "file: . 1024\nEND\n").encode().ljust(1024, b"\0") + raw
                    for path, content in (("m.mif", attached), ("m.mif.gz", gzip.compress(attached)),
                                          ("m.mih", (head + "file: m.dat 5\nEND\n").encode())):
                        with open(path, "wb") as file:
                            file.write(content)
                        with open("m.dat", "wb") as file:
                            file.write(b"12345" + raw)
                        with self.subTest(grid=name, layout=layout, type=word, path=path):
                            self.same(*read(path), 3 + 2 * data.astype(float), grid)

    def test_colours(self):
        """Colours, in NIfTI and NRRD, are told as colours and keep their places when resampled"""
        grid = GRIDS["axial"]
        data = values(grid, 3, np.uint8)
        rgb = np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")])
        nibabel.save(nibabel.Nifti1Image(data.copy().view(rgb)[..., 0], grid.affine), "c.nii")
        sitk.WriteImage(itk_image(data, grid, True), "c.nrrd")
        with open("c.nrrd", "rb") as file:
            content = file.read()
        with open("c.nrrd", "wb") as file:
            file.write(content.replace(b"kinds: vector", b"kinds: RGB-color"))
        for path in ("c.nii", "c.nrrd"):
            with self.subTest(path=path):
                told = json.loads(tools.clvox("info", path, "--json", "-"))["files"][0]
                self.assertEqual((told["kind"], told["type"], told["frames"]), ("colour", "uint8", 3))
                tools.clvox("apply", "-i", path, "-r", path, "--interp", "nearest", "-o", "o.nii.gz", "-q")
                back = np.asarray(nibabel.load("o.nii.gz").dataobj)
                self.assertEqual(back.dtype, rgb)
                np.testing.assert_array_equal(np.stack([back[c] for c in "RGB"], -1), data)

    def test_real(self):
        """FreeSurfer's own files and Slicer's, beside nibabel and SimpleITK"""
        data = os.environ.get("CLVOX_DATA", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data"))
        for name in ("fs_bert_1mm/norm.mgz", "formats_nibabel/test.mgz"):
            path = os.path.join(data, name)
            if not os.path.exists(path):
                self.skipTest("there are no real files")
            image = nibabel.load(path)
            ours, affine = read(path)
            np.testing.assert_allclose(ours, np.asarray(image.dataobj))
            np.testing.assert_allclose(affine, image.affine, atol=1e-4)
        path = os.path.join(data, "dti_slicer_helix/CLI/DWIToDTIEstimation/Data/helix-DWI.nhdr")
        image = sitk.ReadImage(path)
        ours, affine = read(path)
        np.testing.assert_allclose(ours, sitk.GetArrayFromImage(image).transpose(2, 1, 0, 3), rtol=1e-6)
        np.testing.assert_allclose(affine, itk_affine(image), atol=1e-4)
