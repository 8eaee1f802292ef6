# SPDX-License-Identifier: Apache-2.0
"""How good a registration is, computed from its files alone and by none of the tools compared.

A registration is a pull-back: an affine A (4x4, RAS millimetres) and a displacement u on the fixed grid;
the fixed point x is looked up at A (x + u(x)) in the moving image. The displacement is an ITK file (LPS
millimetres). Every tool's images and labels are warped here, by the same code, so that no tool gains by its
interpolation.
"""
import nibabel as nib
import numpy as np
from scipy.ndimage import binary_fill_holes, map_coordinates, uniform_filter

FLIP = np.diag([-1.0, -1.0, 1.0, 1.0])  # LPS to RAS and back


class Volume:
    """A 3-D image in memory with the affine from voxels to RAS millimetres."""

    def __init__(self, data, affine):
        self.data, self.affine = data, np.asarray(affine, float)

    @classmethod
    def read(cls, path, kind=np.float32):
        image = nib.load(path)
        data = np.asanyarray(image.dataobj)
        if data.ndim > 3:
            data = data.reshape(data.shape[:3])
        return cls(np.rint(data).astype(np.int32) if kind is int else data.astype(kind), image.affine)

    def write(self, path):
        image = nib.Nifti1Image(self.data, self.affine)
        image.set_sform(self.affine, 1)
        image.set_qform(self.affine, 1)
        nib.save(image, path)


def read_itk_affine(path):
    """The 4x4 RAS matrix of an ITK text transform, of a plain 4x4 text file, or the identity for None."""
    if path is None:
        return np.eye(4)
    with open(path, encoding="ascii") as file:
        text = file.read()
    if not text.startswith("#Insight"):
        return np.array(text.split(), float).reshape(4, 4)
    rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    parameters = np.array(rows["Parameters"].split(), float)
    return itk_affine(parameters, np.array(rows["FixedParameters"].split(), float))


def itk_affine(parameters, centre):
    """The 4x4 RAS matrix of ITK's 12 parameters about a centre."""
    matrix = np.eye(4)
    matrix[:3, :3] = parameters[:9].reshape(3, 3)
    matrix[:3, 3] = parameters[9:12] + centre - matrix[:3, :3] @ centre
    return FLIP @ matrix @ FLIP


def read_warp(path, fixed):
    """Displacement in RAS millimetres, shape (X, Y, Z, 3); zero for None. It must lie on the fixed grid."""
    if path is None:
        return np.zeros(fixed.data.shape + (3,), np.float32)
    image = nib.load(path)
    u = np.asarray(image.dataobj, np.float32).reshape(image.shape[:3] + (3,))
    if u.shape[:3] != fixed.data.shape or not np.allclose(image.affine, fixed.affine, atol=1e-3):
        raise ValueError(f"{path}: not on the grid of the fixed image")
    u[..., :2] *= -1
    return u


def grid_points(volume):
    """RAS millimetres of every voxel's centre, shape (X, Y, Z, 3)."""
    axes = np.meshgrid(*[np.arange(n, dtype=np.float64) for n in volume.data.shape], indexing="ij")
    a = volume.affine
    return np.stack([sum(a[i, j] * axes[j] for j in range(3)) + a[i, 3] for i in range(3)], -1)


def total_map(fixed, u, affine):
    """Where each voxel of the fixed grid looks, in RAS millimetres of the moving image."""
    return (grid_points(fixed) + u) @ affine[:3, :3].T + affine[:3, 3]


def sample(moving, points, order=1):
    """The moving image at RAS points: linear, or nearest with order 0. 0 outside."""
    inverse = np.linalg.inv(moving.affine)
    voxel = points @ inverse[:3, :3].T + inverse[:3, 3]
    return map_coordinates(moving.data, np.moveaxis(voxel, -1, 0), order=order, mode="constant", cval=0)


def vote(labels, points):
    """A label map at RAS points by trilinear weights: the label of the eight corners that has most."""
    inverse = np.linalg.inv(labels.affine)
    voxel = points.reshape(-1, 3) @ inverse[:3, :3].T + inverse[:3, 3]
    low = np.floor(voxel).astype(np.int32)
    part = (voxel - low).astype(np.float32)
    seen, weight = [], []
    for corner in np.ndindex(2, 2, 2):
        at = low + corner
        inside = np.all((at >= 0) & (at < labels.data.shape), axis=1)
        at[~inside] = 0
        seen.append(np.where(inside, labels.data[at[:, 0], at[:, 1], at[:, 2]], 0))
        weight.append(np.prod(np.where(corner, part, 1 - part), axis=1))
    best, most = seen[0].copy(), np.full(len(voxel), -1, np.float32)
    for k in range(8):
        total = sum(np.where(seen[n] == seen[k], weight[n], 0) for n in range(8))
        better = total > most + 1e-6
        best[better], most[better] = seen[k][better], total[better]
    return best.reshape(points.shape[:-1])


def dice(fixed, warped, only=None):
    """Dice of each label present in either map, 0 being background; only: the labels that count."""
    top = int(max(fixed.max(), warped.max())) + 1
    a, b = np.bincount(fixed.ravel(), minlength=top), np.bincount(warped.ravel(), minlength=top)
    both = np.bincount(fixed[fixed == warped].ravel(), minlength=top)
    labels = [k for k in range(1, top) if a[k] + b[k] > 0 and (only is None or k in only)]
    return {k: 2.0 * both[k] / (a[k] + b[k]) for k in labels}


def mean_dice(fixed, warped, only=None):
    values = list(dice(fixed, warped, only).values())
    return float(np.mean(values)) if values else float("nan")


def lncc(a, b, mask, radius=4):
    """Means of the squared and of the signed local correlation inside a mask: cubes of 2 radius + 1 voxels,
    cut at the border.
    """
    def box(x):
        return uniform_filter(x, 2 * radius + 1, mode="constant")
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = a / (np.abs(a).max() or 1), b / (np.abs(b).max() or 1)
    weight = box(np.ones_like(a))
    ma, mb = box(a) / weight, box(b) / weight
    va, vb = box(a * a) / weight - ma * ma, box(b * b) / weight - mb * mb
    cross = box(a * b) / weight - ma * mb
    known = (va > 1e-9) & (vb > 1e-9)
    value = np.where(known, cross / np.sqrt(np.where(known, va * vb, 1)), 0)[mask]
    value = np.clip(value, -1, 1)
    return float((value * value).mean()), float(value.mean())


def jacobian(u, affine):
    """Determinant of the derivative of x + u(x): central differences, one-sided at the border."""
    inverse = np.linalg.inv(affine[:3, :3])
    d = np.stack([np.gradient(u, axis=k) if u.shape[k] > 1 else np.zeros_like(u) for k in range(3)], -1)
    return np.linalg.det(np.eye(3) + d.astype(np.float64) @ inverse)


def brain_mask(labels):
    """The labelled region with its holes filled."""
    return binary_fill_holes(labels > 0)


def regularity(u, affine, mask):
    """sd_log_j, min_j in the mask, and over the whole grid the smallest determinant and folded voxels."""
    j = jacobian(u, affine)
    inside = j[mask]
    return {"sd_log_j": float(np.std(np.log(np.maximum(inside, 1e-6)))), "min_j": float(inside.min()),
            "min_j_all": float(j.min()), "folds": int((j <= 0).sum())}


def measure(pair, affine, u):
    """Every figure of one registration. pair: see sets.Pair."""
    fixed, moving = pair.fixed(), pair.moving()
    row = {}
    points = total_map(fixed, u, affine)
    mask = pair.mask()
    if pair.has_labels():
        target, source = pair.fixed_labels(), pair.moving_labels()
        only = None
        if pair.common_labels:
            only = set(np.unique(target.data)) & set(np.unique(source.data))
        start = total_map(fixed, np.zeros(3, np.float32), affine)
        row["dice0"] = mean_dice(target.data, sample(source, start, 0), only)
        row["dice"] = mean_dice(target.data, sample(source, points, 0), only)
        row["dice_vote"] = mean_dice(target.data, vote(source, points), only)
    row["lncc4"], row["cc4"] = lncc(fixed.data, sample(moving, points), mask)
    row.update(regularity(u, fixed.affine, mask))
    if pair.truth is not None:
        true = pair.truth()
        error = np.linalg.norm(points - true, axis=-1)[mask]
        if pair.has_labels():
            row["dice_true"] = mean_dice(target.data, sample(source, true, 0), only)
        row.update(epe_mean=float(error.mean()), epe_p95=float(np.percentile(error, 95)),
                   epe_max=float(error.max()))
    return row
