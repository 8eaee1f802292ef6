# SPDX-License-Identifier: Apache-2.0
"""Known answers of the measuring code itself: bench/accuracy.py --check."""
import os
import tempfile

import nibabel as nib
import numpy as np

from . import measures as m
from . import synthetic


def oblique(shape, spacing=(1.5, 2.0, 2.5)):
    """A left-handed grid turned about all axes."""
    matrix = synthetic.random_affine(np.zeros(3), np.random.default_rng(3))
    matrix[:3, :3] = np.linalg.qr(matrix[:3, :3])[0] @ np.diag([-1, 1, 1])
    matrix[:3, :3] *= np.sign(np.linalg.det(matrix[:3, :3])) * -1
    matrix[:3, :3] = matrix[:3, :3] @ np.diag(spacing)
    matrix[:3, 3] = 7, -20, 31
    return m.Volume(np.zeros(shape, np.float32), matrix)


def near(name, got, wanted, tolerance):
    error = float(np.max(np.abs(np.asarray(got, float) - wanted)))
    print(f"{'ok  ' if error <= tolerance else 'FAIL'} {name}: {error:.2g} (at most {tolerance:g})")
    return error <= tolerance


def check():
    """Prints a line a check; returns how many failed."""
    random = np.random.default_rng(1)
    grid = oblique((21, 23, 19))
    points = m.grid_points(grid)
    ok = []
    # A linear displacement in world space has the same determinant everywhere, whatever the grid.
    slope = np.eye(3) * 0.1 + random.uniform(-0.1, 0.1, (3, 3))
    linear = (points @ slope.T).astype(np.float32)
    ok.append(near("Jacobian of a linear map", m.jacobian(linear, grid.affine),
                   np.linalg.det(np.eye(3) + slope), 1e-4))
    ok.append(near("folds of a mirrored map", m.regularity(
        (points @ np.diag([-2.0, 0, 0])).astype(np.float32), grid.affine,
        np.ones(grid.data.shape, bool))["folds"], grid.data.size, 0))
    # An image of its own world coordinate, sampled through an affine and a warp, gives the map back.
    picture = m.Volume(points[..., 1].astype(np.float32), grid.affine)
    turn = synthetic.random_affine(points.mean((0, 1, 2)), random)
    turn[:3, 3] -= turn[:3, :3] @ linear.mean((0, 1, 2))
    target = m.total_map(grid, 0.1 * linear, turn)
    inside = m.sample(m.Volume(np.ones_like(grid.data), grid.affine), target) > 0.999
    ok.append(near("affine after warp", m.sample(picture, target)[inside], target[..., 1][inside], 1e-2))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "warp.nii.gz")
        vectors = (linear * [-1, -1, 1])[:, :, :, None, :].astype(np.float32)
        nib.save(nib.Nifti1Image(vectors, grid.affine), path)
        ok.append(near("ITK warp to RAS", m.read_warp(path, grid), linear, 1e-5))
        path = os.path.join(folder, "affine.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
                       "Parameters: 0 -1 0 1 0 0 0 0 1 5 6 7\nFixedParameters: 1 2 3\n")
        # ITK: y = M (x - c) + t + c in LPS, by hand for the centre itself
        ok.append(near("ITK affine", m.read_itk_affine(path) @ [-1, -2, 3, 1], [-6, -8, 10, 1], 1e-12))
    a = np.zeros((8, 8, 8), np.int32)
    a[2:6] = 3
    b = np.roll(a, 1, axis=0)
    ok.append(near("Dice of slabs shifted by a quarter", m.mean_dice(a, b), 0.75, 1e-12))
    labels = m.Volume(a, np.eye(4))
    ok.append(near("vote", m.vote(labels, np.array([[1.4, 4, 4], [1.6, 4, 4], [5.4, 4, 4], [5.6, 4, 4]])),
                   [0, 3, 3, 0], 0))
    noise = random.standard_normal((24, 24, 24)) + 5
    everywhere = np.ones(noise.shape, bool)
    ok.append(near("LNCC of a line", m.lncc(noise, 3 * noise + 2, everywhere), 1, 1e-6))
    ok.append(near("LNCC of a negative", m.lncc(noise, -noise, everywhere), [1, -1], 1e-6))
    v = synthetic.velocity((40, 44, 36), 2.0, random)
    forward, back = synthetic.exponential(v), synthetic.exponential(-v)
    axes = np.stack(np.meshgrid(*[np.arange(n) for n in v.shape[1:]], indexing="ij"))
    rest = np.linalg.norm(forward + synthetic.displace(back, axes + forward), axis=0)[8:-8, 8:-8, 8:-8]
    ok.append(near("inverse of the true map, voxels", rest, 0, 0.2))
    ok.append(near("largest true displacement, mm", np.linalg.norm(2 * forward, axis=0).max(), 8, 0.1))
    return ok.count(False)
