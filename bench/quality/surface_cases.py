# SPDX-License-Identifier: Apache-2.0
"""Shapes with a known surface, and what segmentations and scanners make of them."""
import os
import subprocess

import nibabel
import numpy as np
from scipy import ndimage

from .surface_mesh import Mesh, distance_to, marching_cubes, read_mesh, write_mesh

SIZE = 48
UNIT = np.eye(4)
SOLIDS = {"torus": "surface:torus", "two boxes": "surface:cube", "CSG part": "surface:csg",
          "gyroid": "surface:gyroid"}
# Label, centre (voxels; None: of mass), edge of a sample in voxels, radius of the ball it is cut with in samples.
ANATOMY = {"hippocampus": (17, None, 1.15, None), "white matter": (2, (174, 139, 110), 1.0, 19)}
SHAPES = list(SOLIDS) + list(ANATOMY)
LEVELS = {"noisy edge 0.6": 0.6, "noisy edge 1.0": 1.0, "staircase": 0.0, "vertices 0.2": 0.2,
          "vertices 0.4": 0.4}


def seed_of(shape, level):
    return 100 * SHAPES.index(shape) + list(LEVELS).index(level) + 1


class Case:
    """A shape, how it was spoilt, and its files. Lengths in mm; voxels are 1 mm."""

    def __init__(self, shape, level, folder, clvox):
        self.shape, self.level, self.folder, self.clvox = shape, level, folder, clvox
        self.truth = self.mask = self.mesh = None
        self.affine, self.path = UNIT, ""

    def of_mask(self, mask, affine):
        self.mask, self.affine = mask, affine
        self.path = os.path.join(self.folder, "mask.nii.gz")
        nibabel.save(nibabel.Nifti1Image(mask.astype(np.uint8), affine), self.path)
        self.mesh = marching_cubes(-mask.astype(np.float32), -0.5, affine)
        return self

    def of_mesh(self, mesh, affine):
        self.mesh, self.affine = mesh, affine
        self.path = os.path.join(self.folder, "noisy.ply")
        write_mesh(self.path, mesh)
        return self

    def distance(self):
        """The signed distance of the input on the voxels, by clvox: a Gaussian of the distance starts from it."""
        out = os.path.join(self.folder, "distance.nii.gz")
        grid = os.path.join(self.folder, "grid.nii.gz")
        if not os.path.exists(out):
            nibabel.save(nibabel.Nifti1Image(np.zeros((SIZE,) * 3, np.uint8), self.affine), grid)
            words = [self.clvox, "surface", "distance", self.path, "-o", out, "-q"]
            if self.mask is None:
                words += ["--grid", grid]
            subprocess.run(words, check=True, capture_output=True)
        return np.asarray(nibabel.load(out).dataobj, np.float32)


def solid(shape, folder, clvox):
    """The phantom's truth: its mesh and distance."""
    prefix = os.path.join(folder, "phantom")
    if not os.path.exists(prefix + "_truth.surf.gii"):
        subprocess.run([clvox, "phantom", SOLIDS[shape], "-o", prefix, "-q", "--size", f"{SIZE}x{SIZE}x{SIZE}"],
                       check=True, capture_output=True)
    image = nibabel.load(prefix + "_truth_distance.nii.gz")
    return read_mesh(prefix + "_truth.surf.gii"), np.asarray(image.dataobj, float), image.affine


def turned(angles):
    out = np.eye(3)
    for (i, j), t in zip(((1, 2), (0, 2), (0, 1)), angles):
        m = np.eye(3)
        m[i, i] = m[j, j] = np.cos(t)
        m[i, j], m[j, i] = -np.sin(t), np.sin(t)
        out = out @ m
    return out


def anatomy(shape, data):
    """A label smoothed by a Gaussian of 1 voxel is taken for the truth, and looked at on a grid turned against
    its own; the surface is that of a grid four times finer, its distance exact."""
    label, centre, scale, ball = ANATOMY[shape]
    labels = np.asarray(nibabel.load(os.path.join(data, "fs_bert_1mm", "aparc+aseg.nii.gz")).dataobj) == label
    centre = np.array(centre if centre else ndimage.center_of_mass(labels), float)
    low = np.maximum(np.floor(centre - 0.95 * SIZE).astype(int), 0)
    high = np.ceil(centre + 0.95 * SIZE).astype(int)
    crop = labels[low[0]:high[0], low[1]:high[1], low[2]:high[2]]
    spline = ndimage.spline_filter(ndimage.gaussian_filter(crop.astype(np.float32), 1.0), output=np.float32)

    def value(points):
        inner = points - (SIZE - 1) / 2
        at = scale * inner @ turned((0.3, 0.2, 0.4)).T + (centre - low)
        v = 2.5 * (0.5 - ndimage.map_coordinates(spline, np.moveaxis(at, -1, 0), order=3, prefilter=False))
        return v if ball is None else np.maximum(v, np.linalg.norm(inner, axis=-1) - ball)

    finer, steps = 4, (SIZE - 1) * 4 + 1
    axis = np.arange(steps) / finer
    field = np.empty((steps,) * 3, np.float32)
    for i in range(steps):
        field[i] = value(np.stack(np.meshgrid(axis[i:i + 1], axis, axis, indexing="ij"), -1))[0]
    truth = marching_cubes(field, 0, np.diag([1 / finer] * 3 + [1])).largest()
    coarse = field[::finer, ::finer, ::finer]
    points = np.argwhere(np.abs(coarse) < 1.6)  # the field is steeper than .2 a voxel where it matters
    distance = np.where(coarse < 0, -6.0, 6.0)
    near = distance_to(truth, points.astype(float))[0]
    distance[tuple(points.T)] = np.sign(coarse[tuple(points.T)]) * near
    far = np.abs(distance) >= 6
    outside = ndimage.distance_transform_edt(coarse >= 0) - ndimage.distance_transform_edt(coarse < 0)
    distance[far] = outside[far]
    return truth, distance, UNIT


def make(shape, level, o, known={}):
    """The case; the truth of a shape is made once in a process."""
    folder = os.path.join(o.out, shape.replace(" ", "_"))
    os.makedirs(folder, exist_ok=True)
    if shape not in known:
        known.clear()
        known[shape] = solid(shape, folder, o.clvox) if shape in SOLIDS else anatomy(shape, o.data)
    truth, distance, affine = known[shape]
    folder = os.path.join(folder, level.replace(" ", "_"))
    os.makedirs(folder, exist_ok=True)
    case = Case(shape, level, folder, o.clvox)
    case.truth = truth
    random = np.random.default_rng(seed_of(shape, level))
    sigma = LEVELS[level]
    if level.startswith("vertices"):
        clean = marching_cubes(distance, 0, affine).largest()
        move = random.standard_normal(len(clean.v))[:, None] * sigma
        return case.of_mesh(Mesh(clean.v + clean.vertex_normals() * move, clean.f), affine)
    return case.of_mask(distance + sigma * random.standard_normal(distance.shape) < 0, affine)
