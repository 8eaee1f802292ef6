# SPDX-License-Identifier: Apache-2.0
"""Pairs with a known map: whole-head label maps given random contrasts, one of them warped.

The true pull-back of the fixed point x is T(x) = A exp(v)(x): v a smooth stationary velocity (two widths of
Gaussian, largest displacement 8 mm, 4 to 5 on average), integrated by scaling and squaring; A an affine of
up to 10 degrees about each axis, 10 mm and 8% of scale along each axis. The moving image shows the labels at
T^-1(y) = exp(-v)(A^-1 y) on a grid of its own, in RAS order whatever the fixed grid's.
"""
import itertools
import os

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from .measures import Volume, grid_points, sample

LARGEST = 8.0  # mm of the deformation
# Structures that both halves of the brain have, by FreeSurfer's numbers.
MIRROR = [*zip((2, 3, 4, 5, 7, 8, 10, 11, 12, 13, 17, 18, 25, 26, 28, 30, 136, 163),
               (41, 42, 43, 44, 46, 47, 49, 50, 51, 52, 53, 54, 57, 58, 60, 62, 137, 164))]
FILES = ("fixed.nii.gz", "moving.nii.gz", "fixed_labels.nii.gz", "moving_labels.nii.gz", "truth.npy")


def displace(u, at):
    """A displacement field in voxels, (3, X, Y, Z), at points in voxels, (3, ...); the border goes on."""
    return np.stack([map_coordinates(c, at, order=3, mode="nearest") for c in u])


def exponential(v, steps=7):
    """exp(v) - id in voxels by scaling and squaring."""
    axes = np.stack(np.meshgrid(*[np.arange(n, dtype=np.float32) for n in v.shape[1:]], indexing="ij"))
    u = v / 2 ** steps
    for _ in range(steps):
        u = u + displace(u, axes + u)
    return u


def velocity(shape, spacing, random):
    """A smooth velocity in voxels whose exponential moves nothing by more than LARGEST mm."""
    v = np.zeros((3,) + shape, np.float32)
    for share, width in ((0.6, 14.0), (0.4, 7.0)):
        part = [gaussian_filter(random.standard_normal(shape).astype(np.float32), width / spacing) for _ in v]
        v += share * np.stack(part) / np.std(part)
    length = np.sqrt((v ** 2).sum(0)) + 1e-6
    v *= LARGEST / spacing * np.tanh(length / (1.2 * length.mean())) / length  # large in many places, not one
    reached = np.sqrt((exponential(v) ** 2).sum(0)).max() * spacing
    return v * (LARGEST / reached)


def random_affine(centre, random):
    """Rotation, scale and shift about a centre, 4x4 in RAS millimetres."""
    matrix = np.eye(4)
    for axis in range(3):
        angle = np.deg2rad(random.uniform(-10, 10))
        turn = np.eye(3)
        k, n = (axis + 1) % 3, (axis + 2) % 3
        turn[[k, k, n, n], [k, n, k, n]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        matrix[:3, :3] = turn @ matrix[:3, :3]
    matrix[:3, :3] = matrix[:3, :3] @ np.diag(random.uniform(0.92, 1.08, 3))
    matrix[:3, 3] = centre + random.uniform(-10, 10, 3) - matrix[:3, :3] @ centre
    return matrix


def parts(atlas, place):
    """The atlas' labels in the eight parts of every voxel whose centre looks at place: a list of eight."""
    slope = [np.gradient(place, axis=k) for k in range(3)]
    return [sample(atlas, place + sum(s * d for s, d in zip(signs, slope)) / 4, 0).astype(np.int16)
            for signs in itertools.product((-1, 1), repeat=3)]


def majority(maps):
    """The label that most of the maps have at each voxel; of equals the first."""
    best, most = maps[0].copy(), np.zeros(maps[0].shape, np.int8)
    for candidate in maps:
        count = sum((m == candidate).astype(np.int8) for m in maps)
        better = count > most
        best[better], most[better] = candidate[better], count[better]
    return best


def render(maps, texture, values, gain, random):
    """An image of labels in the parts of each voxel: their values' mean, texture, blur, bias field and noise,
    from 0 to 255.
    """
    shape = texture.shape
    image = sum(values[m] + np.where(m > 0, gain * texture, 0) for m in maps) / len(maps)
    image = gaussian_filter(image.astype(np.float32), 0.5)
    bias = gaussian_filter(random.standard_normal(shape).astype(np.float32), [n / 4 for n in shape])
    image *= np.exp(0.2 * bias / np.abs(bias).max())
    noise = random.normal(0, 4, shape)
    return np.clip(np.sqrt((image + noise) ** 2 + random.normal(0, 4, shape) ** 2), 0, 255).astype(np.float32)


def contrast(top, random):
    """A value for each label: anything from dark to bright, left as right, background black."""
    values = random.uniform(25, 225, top + 1)
    for left, right in MIRROR:
        values[right] = values[left]
    values[0] = 0
    return values.astype(np.float32)


def grid(low, high, spacing, order):
    """An empty volume over a box of RAS points; order: the axis of RAS along each voxel axis, with a sign."""
    shape, affine = [], np.eye(4)
    affine[:3, :3] = 0
    for k, (axis, sign) in enumerate(order):
        shape.append(int(np.ceil((high[axis] - low[axis]) / spacing)) + 1)
        affine[axis, k] = sign * spacing
        affine[axis, 3] = low[axis] if sign > 0 else low[axis] + (shape[-1] - 1) * spacing
    return Volume(np.zeros(shape, np.int16), affine)


def make(source, names, spacing, seed, other):
    """Writes one pair: names of fixed, moving, their labels and the true map (.npy)."""
    random = np.random.default_rng(seed)
    atlas = Volume.read(source, int)
    corners = np.argwhere(atlas.data > 0)
    box = np.array(list(itertools.product(*zip(corners.min(0), corners.max(0)))))
    box = box @ atlas.affine[:3, :3].T + atlas.affine[:3, 3]
    low, high = box.min(0) - 12, box.max(0) + 12
    fixed = grid(low, high, spacing, [(0, -1), (2, -1), (1, 1)])
    v = velocity(fixed.data.shape, spacing, random)
    affine = random_affine((low + high) / 2, random)
    axes = np.stack(np.meshgrid(*[np.arange(n) for n in fixed.data.shape], indexing="ij"))
    rotation = fixed.affine[:3, :3]
    points = grid_points(fixed)
    truth = (points + np.moveaxis(exponential(v), 0, -1) @ rotation.T) @ affine[:3, :3].T + affine[:3, 3]
    reached = truth[(sample(atlas, points, 0) > 0)]
    moving = grid(reached.min(0) - 6, reached.max(0) + 6, spacing, [(0, 1), (1, 1), (2, 1)])
    back = grid_points(moving) @ np.linalg.inv(affine)[:3, :3].T + np.linalg.inv(affine)[:3, 3]
    inverse = np.linalg.inv(fixed.affine)
    at = np.moveaxis(back @ inverse[:3, :3].T + inverse[:3, 3], -1, 0)
    back = np.moveaxis(at + displace(exponential(-v), at), 0, -1) @ rotation.T + fixed.affine[:3, 3]
    fine = gaussian_filter(random.standard_normal(axes.shape[1:]).astype(np.float32), 2.5 / spacing)
    texture = Volume(fine * (8 / fine.std()), fixed.affine)
    top = int(atlas.data.max())
    values = contrast(top, random), contrast(top, random)
    images = []
    for volume, place, kind in ((fixed, points, 0), (moving, back, 1 if other else 0)):
        maps = parts(atlas, place)
        volume.data = majority(maps)
        gain = random.choice([-1.0, 1.0]) if kind else 1.0
        image = render(maps, sample(texture, place), values[kind], gain, random)
        images.append(Volume(image, volume.affine))
    for volume, name in zip((*images, fixed, moving), names):
        volume.write(name)
    np.save(names[4], truth.astype(np.float32))


def pairs_of(data, work, options, pair):
    """Each of the four heads with its warped self, in the same and in another contrast."""
    out = []
    for k, other in itertools.product(range(1, 5), (False, True)):
        name = f"head{k} {'other' if other else 'same'}"
        stem = f"h{k}{'o' if other else 's'}_{options.spacing:g}mm_{options.seed}_"
        if options.spacing != 2 or options.seed != 1:
            name += f" {options.spacing:g}mm seed{options.seed}"
        names = [os.path.join(work, stem + n) for n in FILES]
        if not all(os.path.exists(n) for n in names):
            make(os.path.join(data, "synthseg_labels_1mm", f"training_seg_0{k}.nii.gz"), names,
                 options.spacing, 1000 * options.seed + 10 * k + other, other)
        out.append(pair(name, *names[:4], truth=lambda path=names[4]: np.load(path)))
    return out
