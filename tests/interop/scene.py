# SPDX-License-Identifier: Apache-2.0
"""Grids of every kind and images on them: one smooth head, sampled where each grid's voxels lie."""
import nibabel
import numpy as np
from scipy.ndimage import map_coordinates

# The world's axis and sign that each letter of an orientation means.
LETTERS = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}


def rotation(degrees, axis):
    """The rotation about an axis (Rodrigues)."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


class Grid:
    """A size and voxels -> RAS mm, its middle near the world's origin; codes: which forms its files have."""

    def __init__(self, size, spacing, axes="RAS", turn=0, about=(1, 2, 3), middle=(0, 0, 0), codes="both",
                 shear=0):
        self.size = tuple(size)
        self.codes = codes
        linear = np.zeros((3, 3))
        for column, letter in enumerate(axes):
            row, sign = LETTERS[letter]
            linear[row, column] = sign * spacing[column]
        linear = rotation(turn, about) @ linear
        linear[:, 1] += shear * linear[:, 0]
        self.affine = np.eye(4)
        self.affine[:3, :3] = linear
        self.affine[:3, 3] = np.asarray(middle) - linear @ ((np.asarray(size) - 1) / 2)

    def points(self):
        """RAS mm of every voxel's centre, X x Y x Z x 3."""
        index = np.stack(np.meshgrid(*[np.arange(n) for n in self.size], indexing="ij"), -1)
        return index @ self.affine[:3, :3].T + self.affine[:3, 3]

    def interior(self, voxels=1):
        """True where a voxel has `voxels` others on each side."""
        inside = np.zeros(self.size, bool)
        inside[tuple(slice(voxels, -voxels) for _ in range(3))] = True
        return inside

    def write(self, path, data):
        """A NIfTI file of data on this grid."""
        image = nibabel.Nifti1Image(data, None if self.codes == "qform" else self.affine)
        if self.codes == "qform":
            image.set_qform(self.affine, 1)
            image.set_sform(None, 0)
        elif self.codes == "sform":
            image.set_qform(None, 0)
            image.set_sform(self.affine, 2)
        else:
            image.set_qform(self.affine, 1)
            image.set_sform(self.affine, 1)
        image.header.set_xyzt_units("mm", "sec")
        # nibabel gives an image without an affine one of its own making.
        if self.codes == "qform":
            assert np.allclose(image.header.get_qform(), self.affine, atol=1e-4)
        nibabel.save(image, path)
        return path


GRIDS = {
    "axial": Grid((31, 35, 27), (2.43, 2.27, 2.58)),
    "oblique anisotropic": Grid((34, 30, 23), (1.95, 2.55, 3.3), turn=24, middle=(3, -5, 2)),
    "left-handed": Grid((30, 33, 29), (2.55, 2.42, 2.67), axes="LAS", turn=11, about=(3, -1, 2),
                        middle=(-60, 40, 25)),
    "PSR": Grid((35, 29, 31), (2.27, 2.52, 2.12), axes="PSR", middle=(15, 10, -20)),
    "qform only, left-handed": Grid((29, 31, 26), (2.67, 2.43, 2.85), axes="RPS", turn=17, codes="qform",
                                    middle=(2, 3, 4)),
    "sform only, oblique": Grid((33, 27, 29), (2.23, 2.89, 2.43), axes="RSA", turn=-31, about=(2, 1, 1),
                                codes="sform", middle=(0, 30, -10)),
}

# What ITK cannot hold: its axes are always at right angles.
SHEARED = Grid((31, 29, 30), (2.37, 2.52, 2.25), axes="LSP", turn=13, codes="sform", shear=0.2,
               middle=(5, 0, -8))

# Fixed and moving grid of each registration: every grid on either side, each with one that differs.
PAIRS = [
    ("axial", "sform only, oblique"),
    ("oblique anisotropic", "left-handed"),
    ("left-handed", "PSR"),
    ("PSR", "oblique anisotropic"),
    ("qform only, left-handed", "axial"),
    ("sform only, oblique", "qform only, left-handed"),
]


def middle(grid):
    return grid.affine[:3, :3] @ ((np.asarray(grid.size) - 1) / 2) + grid.affine[:3, 3]


def sample(data, grid, positions):
    """The values of data on grid at RAS mm, trilinear, 0 outside."""
    inverse = np.linalg.inv(grid.affine)
    index = positions @ inverse[:3, :3].T + inverse[:3, 3]
    return map_coordinates(data.astype(float), np.moveaxis(index, -1, 0), order=1, cval=0.0)


def blobs(x):
    """A head of smooth blobs at positions x (mm from its middle): 0 to about 100, its edge 30 mm out."""
    random = np.random.default_rng(7)
    radius = np.linalg.norm(x / np.array([27, 32, 25]), axis=-1)
    value = 60 / (1 + np.exp((radius - 1) * 12))
    for _ in range(24):
        centre = random.normal(0, 11, 3)
        width = random.uniform(4, 9)
        value += random.uniform(-25, 30) * np.exp(-((x - centre) ** 2).sum(-1) / (2 * width**2))
    return value


def fixed_image(grid):
    return blobs(grid.points() - middle(grid)).astype(np.float32)


def deformed(x):
    """A smooth map of positions: turned, grown, shifted and bent by some millimetres."""
    y = x @ rotation(7, (1, -2, 1)).T * np.array([1.04, 0.97, 1.02]) + np.array([1.5, -2.0, 1.0])
    return y + 2.0 * np.sin(np.roll(x, 1, -1) / 11 + np.array([0.3, 1.1, 2.0]))


def moving_image(grid):
    return blobs(deformed(grid.points() - middle(grid))).astype(np.float32)


def labels(image):
    """Three nested label regions of a head."""
    return (10 * (image > 15) + 7 * (image > 45) + 200 * (image > 65)).astype(np.int16)
