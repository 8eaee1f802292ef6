# SPDX-License-Identifier: Apache-2.0
"""Surfaces that nibabel writes and clvox reads, and the other way round, through libclvox itself."""
import ctypes
import itertools
import os
import unittest

import nibabel
import numpy as np
from nibabel import gifti
from nibabel.freesurfer import read_geometry, write_geometry

from tools import clvox

LIBRARY = os.path.join(os.path.dirname(os.environ["CLVOX"]), "..", "libclvox.so")


class Surface(ctypes.Structure):
    _fields_ = [("vertices", ctypes.c_size_t), ("triangles", ctypes.c_size_t),
                ("points", ctypes.POINTER(ctypes.c_double)), ("corners", ctypes.POINTER(ctypes.c_int32))]


def library():
    lib = ctypes.CDLL(LIBRARY)
    lib.clvox_message.restype = ctypes.c_char_p
    return lib


def check(lib, status):
    if status < 0:
        raise AssertionError(lib.clvox_message().decode())


def read(path):
    lib, out = library(), ctypes.POINTER(Surface)()
    check(lib, lib.clvox_surface_read(path.encode(), ctypes.byref(out)))
    s = out.contents
    points = np.array(s.points[:3 * s.vertices]).reshape(-1, 3)
    corners = np.array(s.corners[:3 * s.triangles], dtype=np.int32).reshape(-1, 3)
    lib.clvox_surface_destroy(ctypes.byref(out))
    return points, corners


def write(points, corners, path):
    lib = library()
    points, corners = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(corners, np.int32)
    s = Surface(len(points), len(corners), points.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
                corners.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)))
    check(lib, lib.clvox_surface_write(ctypes.byref(s), path.encode()))


def body():
    """An ellipsoid off the origin, its vertices as float32 holds them."""
    rings, around = 23, 31
    theta = np.linspace(0, np.pi, rings + 2)[1:-1, None]
    phi = np.arange(around)[None] * 2 * np.pi / around
    middle = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi),
                       np.cos(theta) + 0 * phi], -1).reshape(-1, 3)
    points = np.vstack([middle, [[0, 0, 1], [0, 0, -1]]]) * [31, 42, 27] + [11, -17, 23]
    top, bottom, corners = len(middle), len(middle) + 1, []
    for i in range(around):
        j = (i + 1) % around
        corners += [[top, i, j], [bottom, (rings - 1) * around + j, (rings - 1) * around + i]]
        for r in range(rings - 1):
            a, b = r * around, (r + 1) * around
            corners += [[a + i, b + i, b + j], [a + i, b + j, a + j]]
    return points.astype(np.float32), np.array(corners, np.int32)


def apply(matrix, points):
    return points @ matrix[:3, :3].T + matrix[:3, 3]


@unittest.skipUnless(os.path.exists(LIBRARY), "libclvox.so is not beside the program")
class Surfaces(unittest.TestCase):
    def same(self, found, points, corners, tolerance=0.0):
        self.assertEqual(found[0].shape, points.shape)
        gap = np.abs(found[0] - points).max()
        print(f"#   largest difference {gap:.1e} mm")
        self.assertLessEqual(gap, tolerance)
        np.testing.assert_array_equal(found[1], corners)

    def test_our_gifti(self):
        """nibabel reads our GIFTI: vertices, triangles, and a space that needs no matrix"""
        points, corners = body()
        write(points, corners, "ours.surf.gii")
        image = nibabel.load("ours.surf.gii")
        self.same(image.agg_data(("pointset", "triangle")), points, corners)
        space = image.get_arrays_from_intent("pointset")[0].coordsys
        self.assertEqual((space.dataspace, space.xformspace), (1, 1))
        np.testing.assert_array_equal(space.xform, np.eye(4))

    def test_our_freesurfer(self):
        """nibabel reads our FreeSurfer surface, and a geometry whose tkRAS is RAS"""
        points, corners = body()
        write(points, corners, "lh.ours")
        found = read_geometry("lh.ours", read_metadata=True)
        self.same(found[:2], points, corners)
        self.assertEqual(found[2]["cras"].tolist(), [0, 0, 0])
        np.testing.assert_array_equal([found[2]["xras"], found[2]["yras"], found[2]["zras"]],
                                      [[-1, 0, 0], [0, 0, -1], [0, 1, 0]])

    def test_their_gifti(self):
        """we read nibabel's GIFTI in every encoding, byte order and type"""
        points, corners = body()
        for encoding, big, kind in itertools.product(("ASCII", "B64BIN", "B64GZ"), (False, True), "fd"):
            order = ">" if big else "<"
            arrays = [gifti.GiftiDataArray(points.astype(order + kind), "NIFTI_INTENT_POINTSET",
                                           "NIFTI_TYPE_FLOAT" + ("64" if kind == "d" else "32"),
                                           endian="big" if big else "little", encoding=encoding),
                      gifti.GiftiDataArray(corners.astype(order + "i4"), "NIFTI_INTENT_TRIANGLE",
                                           "NIFTI_TYPE_INT32", endian="big" if big else "little",
                                           encoding=encoding)]
            # "force": float64, which the format's makers did not foresee, but others write.
            nibabel.save(gifti.GiftiImage(darrays=arrays), "theirs.surf.gii", mode="force")
            # In text, nibabel writes six decimals.
            self.same(read("theirs.surf.gii"), points, corners, 1e-5 if encoding == "ASCII" else 0)

    def test_their_spaces(self):
        """a matrix from an unknown space to the scanner's is applied, one to a template's is not"""
        points, corners = body()
        matrix = np.array([[0.8, -0.6, 0, 5], [0.6, 0.8, 0, -7], [0, 0, 1.1, 3], [0, 0, 0, 1]])
        for space, other, applied in ((0, 1, True), (0, 2, True), (0, 3, False), (0, 4, False), (1, 4, False)):
            place = gifti.GiftiCoordSystem(dataspace=space, xformspace=other, xform=matrix)
            arrays = [gifti.GiftiDataArray(points, "NIFTI_INTENT_POINTSET", coordsys=place),
                      gifti.GiftiDataArray(corners, "NIFTI_INTENT_TRIANGLE")]
            nibabel.save(gifti.GiftiImage(darrays=arrays), "placed.surf.gii")
            wanted = apply(matrix, points.astype(float)) if applied else points
            self.same(read("placed.surf.gii"), wanted, corners, 1e-4 if applied else 0)

    def test_their_freesurfer(self):
        """we read nibabel's FreeSurfer surfaces, and place them as its volume's two matrices do"""
        points, corners = body()
        write_geometry("lh.theirs", points, corners)
        self.same(read("lh.theirs"), points, corners)
        header = nibabel.freesurfer.mghformat.MGHHeader()
        header.set_data_shape((181, 217, 256))
        header.set_zooms((1.1, 0.9, 1.2))
        header["Mdc"] = np.array([[-0.8, 0.6, 0], [0, 0, -1], [0.6, 0.8, 0]])
        header["Pxyz_c"] = [4.5, -18.25, 21]
        placed = header.get_affine() @ np.linalg.inv(header.get_vox2ras_tkr())
        axes = np.asarray(header["Mdc"])
        info = {"head": np.array([2, 0, 20]), "valid": "1  # volume info valid", "filename": "orig.mgz",
                "volume": np.array([181, 217, 256]), "voxelsize": np.array([1.1, 0.9, 1.2]), "xras": axes[0],
                "yras": axes[1], "zras": axes[2], "cras": np.asarray(header["Pxyz_c"])}
        write_geometry("lh.placed", points, corners, volume_info=info)
        self.same(read("lh.placed"), apply(placed, points.astype(float)), corners, 1e-4)


class Tracks(unittest.TestCase):
    def test_their_tracks(self):
        """we read nibabel's .tck and .trk in any storage, and it reads our .tck"""
        draw = np.random.default_rng(1)
        lines = [(draw.normal(size=(n, 3)) * 20 + [30, -40, 10]).astype(np.float32) for n in (5, 1, 7, 2)]
        np.savetxt("one.txt", np.eye(4))
        for order, sign, turn in ("RAS", 1, 0), ("LPS", -1, 0), ("LAS", 1, .3), ("LAS", -1, .2):
            c, s = np.cos(turn), np.sin(turn)
            place = np.eye(4)
            place[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.diag([2 * sign, 2.5, 3])
            place[:3, 3] = [-90, -120, -60]
            header = {"voxel_to_rasmm": place.astype(np.float32), "voxel_sizes": (2, 2.5, 3), "dimensions": (90, 100, 80),
                      "voxel_order": order}
            theirs = nibabel.streamlines.Tractogram(lines, affine_to_rasmm=np.eye(4))
            nibabel.streamlines.save(theirs, "theirs.trk", header=header)
            nibabel.streamlines.save(theirs, "theirs.tck")
            for name in "theirs.trk", "theirs.tck":
                clvox("apply", "--curves", name, "-t", "one.txt", "-o", "ours.tck")
                ours, wanted = (nibabel.streamlines.load(f).streamlines for f in ("ours.tck", name))
                self.assertEqual([len(line) for line in ours], [len(line) for line in wanted])
                for a, b in zip(ours, wanted):
                    np.testing.assert_allclose(a, b, atol=2e-5)
