# SPDX-License-Identifier: Apache-2.0
"""Images, warps, surfaces and scans whose truth is known, as `clvox phantom` makes them: the same on every machine for one
seed. Grids are given by size (voxels) and spacing (mm), oblique or not, or by `like`, an image whose grid is taken."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._library import Error, call, lib, numbers, one_of, word
from .surface import Surface, _adopt as _surface
from .volume import ImageLike, Volume, made, volume

Size = Sequence[int]
Spacing = Union[float, Sequence[float]]

_TENSORS = {"helix": _abi.CLVOX_TENSOR_HELIX, "rings": _abi.CLVOX_TENSOR_RINGS, "steps": _abi.CLVOX_TENSOR_STEPS}


def _grid(size: Size, spacing: Spacing, oblique: bool, like: Optional[ImageLike]) -> Any:
    grid = _abi.clvox_grid()
    if like is not None:
        return volume(like).struct().grid
    edges = np.broadcast_to(numbers(spacing, "spacing"), 3)
    if len(size) != 3 or min(size) < 1 or edges.min() <= 0:
        raise Error("phantom: size is three numbers of voxels, spacing one or three lengths above 0")
    lib.clvox_phantom_grid((ctypes.c_int * 3)(*size), (ctypes.c_double * 3)(*edges), int(oblique), grid)
    return grid


def _amplitude(grid: Any, seed: int, amplitude: Optional[float]) -> float:
    if amplitude is not None:
        return amplitude
    found = ctypes.c_double()
    call(lib.clvox_phantom_amplitude, grid, seed, found)
    return found.value


def _image(kind, grid, seed, noise, noise_seed, matrix, amplitude, labels=False):
    p = _abi.clvox_phantom()
    lib.clvox_phantom_defaults(p)
    p.kind, p.grid, p.seed, p.noise, p.noise_seed, p.amplitude = (word("CLVOX_PHANTOM_", kind, "kind"), grid, seed, noise,
                                                                  noise_seed, amplitude)
    if matrix is not None:
        for i, row in enumerate(numbers(matrix, "matrix")):
            p.matrix[i][:] = row
    return made(lib.clvox_phantom_labels if labels else lib.clvox_phantom_image, p)


def image(kind: str = "textured", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
          like: Optional[ImageLike] = None, seed: int = 1, noise: float = 0.0, matrix: Optional[npt.ArrayLike] = None) -> Volume:
    """An image. kind: "textured" (a head of smooth random texture), "ball", "shells" (nested ellipsoids of 100 to 400) or
    "constant". noise: standard deviation. matrix: 4 x 4, RAS mm, by which it is pulled back."""
    return _image(kind, _grid(size, spacing, oblique, like), seed, noise, 1, matrix, 0)


def labels(kind: str = "shells", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
           like: Optional[ImageLike] = None, seed: int = 1, matrix: Optional[npt.ArrayLike] = None) -> Volume:
    """The labels of that image: 1 to 4 of shells, else 1 inside and 0 outside."""
    return _image(kind, _grid(size, spacing, oblique, like), seed, 0, 1, matrix, 0, True)


def warp(size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False, like: Optional[ImageLike] = None,
         seed: int = 1, amplitude: Optional[float] = None, inverse: bool = False) -> Volume:
    """A smooth displacement that never folds and is 0 at the border, or its inverse. amplitude: its longest vector, mm (None:
    5, or less where that could fold)."""
    grid = _grid(size, spacing, oblique, like)
    return made(lib.clvox_phantom_warp, grid, _amplitude(grid, seed, amplitude), seed, int(inverse))


class Pair(NamedTuple):
    """Two images with moving(matrix(warp(x))) = fixed(x), and what is true of them."""
    fixed: Volume
    moving: Volume
    warp: Volume
    inverse_warp: Volume
    fixed_labels: Volume
    moving_labels: Volume


def pair(size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False, like: Optional[ImageLike] = None,
         seed: int = 1, noise: float = 0.0, amplitude: Optional[float] = None,
         matrix: Optional[npt.ArrayLike] = None) -> Pair:
    """Two textured heads of which the true map is known: apply(moving, fixed, [warp, matrix]) is fixed but for noise and
    interpolation. Labels are those of shells."""
    grid = _grid(size, spacing, oblique, like)
    longest = _amplitude(grid, seed, amplitude)
    return Pair(_image("textured", grid, seed, noise, 1, matrix, longest), _image("textured", grid, seed, noise, 2, None, 0),
                made(lib.clvox_phantom_warp, grid, longest, seed, 0), made(lib.clvox_phantom_warp, grid, longest, seed, 1),
                _image("shells", grid, seed, 0, 1, matrix, longest, True), _image("shells", grid, seed, 0, 2, None, 0, True))


def distance(solid: str = "sphere", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
             like: Optional[ImageLike] = None) -> Volume:
    """The signed distance to a solid, mm, negative inside, true everywhere. solid: "sphere", "torus", "cube", "csg" (a
    machined part) or "gyroid"."""
    return made(lib.clvox_phantom_distance, word("CLVOX_SOLID_", solid, "solid"), _grid(size, spacing, oblique, like))


def mesh(solid: str = "sphere", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
         like: Optional[ImageLike] = None, refined: int = 2, noise: float = 0.0, seed: int = 1) -> Surface:
    """A mesh whose vertices lie on the solid's surface, on the grid refined so many times. noise: mm by which vertices are
    moved along their normals (standard deviation); the command's noisy mesh is refined once."""
    pointer = ctypes.POINTER(_abi.clvox_surface)()
    call(lib.clvox_phantom_mesh, word("CLVOX_SOLID_", solid, "solid"), _grid(size, spacing, oblique, like), refined, pointer)
    if noise > 0:
        try:
            call(lib.clvox_phantom_shake, pointer, noise, seed)
        except Error:
            lib.clvox_surface_destroy(pointer)
            raise
    return _surface(pointer)


def mask(of: ImageLike, noise: float = 0.0, correlation: float = 0.0, seed: int = 1) -> Volume:
    """1 where a distance plus noise is below 0. noise: mm; correlation: voxels of a Gaussian that smooths the noise."""
    return made(lib.clvox_phantom_mask, volume(of).struct(), noise, correlation, seed if noise > 0 else 0)


def tensor(kind: str = "helix", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
           like: Optional[ImageLike] = None, seed: int = 1) -> Tuple[Volume, Volume, Volume]:
    """True tensors (RAS, mm^2/s), their FA, and the mask. kind: "helix" (a bundle), "rings" (which cross) or "steps"."""
    out = [ctypes.POINTER(_abi.clvox_volume)() for _ in range(3)]
    call(lib.clvox_phantom_tensor, one_of(_TENSORS, kind, "kind"), _grid(size, spacing, oblique, like), seed, *out)
    found = [Volume._adopt(pointer) for pointer in out]
    return found[0], found[1], found[2]


def dwi(kind: str = "helix", size: Size = (64, 64, 64), spacing: Spacing = 1.0, *, oblique: bool = False,
        like: Optional[ImageLike] = None, directions: int = 30, b: float = 1000.0, snr: float = 20.0, rician: bool = True,
        seed: int = 1) -> Tuple[Volume, np.ndarray]:
    """A scan of these tensors, and its table of rows x y z b (RAS), one volume without weighting for every ten directions,
    these first. snr: that of the unweighted signal; 0: no noise. rician: noise as in magnitude images, else added."""
    grid, table = _grid(size, spacing, oblique, like), ctypes.POINTER(_abi.clvox_gradients)()
    call(lib.clvox_phantom_gradients, directions, b, seed, table)
    try:
        scan = made(lib.clvox_phantom_dwi, one_of(_TENSORS, kind, "kind"), grid, table, snr if snr > 0 else float("inf"),
                    int(rician), seed)
        rows = np.array([[*table[0].direction[i], table[0].b[i]] for i in range(table[0].count)])
    finally:
        lib.clvox_gradients_destroy(table)
    return scan, rows
