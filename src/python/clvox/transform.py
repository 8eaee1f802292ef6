# SPDX-License-Identifier: Apache-2.0
"""Transforms: applying, composing and inverting them. All of them are pull-backs: they say for a point of the fixed image
where in the moving one to look. A transform is a displacement Volume, a 4 x 4 matrix (RAS mm) or the name of a file."""
from __future__ import annotations

import ctypes
import os
from typing import List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _results
from ._library import Context, Error, Held, Result, Watcher, call, context_or_own, fill, lib, numbers, sized, values, word
from .volume import ImageLike, Volume, made, optional, volume

_MOST = 16  # transforms in one file


class Inverse:
    """The inverse of a transform, in a chain."""

    def __init__(self, transform: Union[Volume, np.ndarray, str, bytes, os.PathLike[str]]) -> None:
        self.transform = transform

    def __repr__(self) -> str:
        shown = self.transform
        return f"<clvox.inverse of {shown if isinstance(shown, (Volume, str)) else type(shown).__name__}>"


TransformLike = Union[Volume, np.ndarray, str, bytes, os.PathLike[str], Inverse]
Transforms = Union[TransformLike, Sequence[TransformLike]]


def inverse(transform: TransformLike) -> TransformLike:
    """The inverse of a transform, as an element of a chain: exact for a matrix, numerical for a warp.
    compose(warp, inverse(warp)) is that of a warp as a displacement Volume on its grid."""
    return transform.transform if isinstance(transform, Inverse) else Inverse(transform)


class Mapped(Result):
    """What has a map: matrix (4 x 4, RAS mm), and warp and inverse_warp, displacement Volumes or None."""
    matrix: np.ndarray
    warp: Volume
    inverse_warp: Volume

    @property
    def transforms(self) -> List[TransformLike]:
        """The chain that brings an image from the moving to the fixed space: apply(image, fixed, result.transforms)."""
        return [self.warp, self.matrix] if self.warp is not None else [self.matrix]

    @property
    def inverse_transforms(self) -> List[TransformLike]:
        """The chain back: apply(image, moving, result.inverse_transforms)."""
        if self.warp is None:
            return [inverse(self.matrix)]
        return [inverse(self.matrix), inverse(self.warp) if self.inverse_warp is None else self.inverse_warp]


def _matrix(array):
    given = numbers(array, "a matrix")
    if given.shape != (4, 4):
        raise Error("an affine is a 4 x 4 matrix")
    m = ((ctypes.c_double * 4) * 4)()
    for i in range(4):
        m[i][:] = given[i]
    return m


class _Chain(Held):
    """Links for the library, alive as long as this."""

    def __init__(self, transforms, fixed=None, moving=None):
        if isinstance(transforms, (Volume, Inverse, str, bytes, os.PathLike, np.ndarray)):
            transforms = [transforms]
        self.read, self.kept, links = [], [], []
        for one in transforms:
            turned = isinstance(one, Inverse)
            found = self._transforms(one.transform if turned else one, fixed, moving)
            links += [(t, turned) for t in (reversed(found) if turned else found)]
        self.links = (_abi.clvox_link * max(len(links), 1))()
        self.count = len(links)
        for link, (transform, turned) in zip(self.links, links):
            link.transform, link.inverse = transform, turned

    def _transforms(self, one, fixed, moving):
        if isinstance(one, (str, bytes, os.PathLike)):
            out, count = (ctypes.POINTER(_abi.clvox_transform) * _MOST)(), ctypes.c_int()
            call(lib.clvox_transforms_read, os.fsencode(one), fixed, moving, out, _MOST, count)
            self.read += out[:count.value]
            return out[:count.value]
        if isinstance(one, Volume) or hasattr(one, "dataobj"):
            warp = volume(one)
            if warp.kind != "displacement":
                raise Error(f"a volume of the kind {warp.kind} is no transform; a warp has the kind displacement")
            inner = warp.struct()
            transform = _abi.clvox_transform(is_warp=1, warp=ctypes.pointer(inner))
            self.kept += [warp, inner, transform]
        else:
            array = numbers(one, "a transform")
            if array.shape != (4, 4):
                raise Error("a transform is a displacement volume, a 4 x 4 matrix or a file")
            transform = _abi.clvox_transform(matrix=_matrix(array))
            self.kept.append(transform)
        return [ctypes.pointer(transform)]

    def __del__(self):
        for pointer in getattr(self, "read", []):
            lib.clvox_transform_destroy(pointer)


def apply(image: ImageLike, reference: ImageLike, transforms: Transforms = (), *, interp: str = "auto", outside: float = 0.0,
          progress: Watcher = None, context: Optional[Context] = None) -> Volume:
    """Resamples an image onto the grid of `reference` through a chain of transforms, the last of which is applied first:
    apply(moving, fixed, [warp, matrix]).

    interp: "auto" (label for label maps, else linear), "nearest", "linear", "cubic", "label", "bspline", "lanczos", "gaussian".
    outside: the value of voxels that look beyond the image. progress: called with a Step while the device works; what it
    raises stops. True: a bar on standard error. Returns a Volume."""
    source, target = volume(image).struct(), volume(reference)
    grid = target.struct().grid
    chain = _Chain(transforms, grid, source.grid)
    options = sized(_abi.clvox_apply_options, interpolation=word("CLVOX_INTERPOLATE_", interp, "interp"), outside=outside)
    return made(lib.clvox_apply_with, context_or_own(context), source, grid, chain.links, chain.count, options, progress=progress)


def apply_points(points: npt.ArrayLike, transforms: Transforms) -> np.ndarray:
    """Moves points (n x 3, RAS mm) from the fixed to the moving space: the other way round than images."""
    moved = numbers(points, "points", order="C").reshape(-1, 3).copy()
    chain = _Chain(transforms)
    call(lib.clvox_apply_points, chain.links, chain.count, moved.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), len(moved))
    return moved


def compose(reference: ImageLike, transforms: Transforms, *, progress: Watcher = None,
            context: Optional[Context] = None) -> Volume:
    """One displacement Volume on the grid of `reference` that does what the chain does."""
    grid = volume(reference).struct().grid
    chain = _Chain(transforms, grid)
    return made(lib.clvox_compose, context_or_own(context), grid, chain.links, chain.count, progress=progress)


def jacobian(warp: ImageLike, mask: Optional[ImageLike] = None, *, log: bool = False,
             context: Optional[Context] = None) -> Tuple[Volume, _results.JacobianSummary]:
    """The determinant (or its logarithm) of a warp: above 1 the structure is larger in the moving image. Returns a Volume
    and a summary (smallest, largest, mean_log, sd_log, folded, voxels) inside the mask."""
    out, summary = ctypes.POINTER(_abi.clvox_volume)(), _abi.clvox_jacobian_summary()
    call(lib.clvox_jacobian, context_or_own(context), volume(warp).struct(), optional(mask), int(log), out, summary)
    return Volume._adopt(out), values(summary)


def read_affine(path: Union[str, bytes, os.PathLike[str]]) -> np.ndarray:
    """The 4 x 4 matrix (RAS mm, fixed to moving) of a file that holds one affine."""
    pointer = ctypes.POINTER(_abi.clvox_transform)()
    call(lib.clvox_transform_read, os.fsencode(path), pointer)
    try:
        if pointer[0].is_warp:
            raise Error(f"{os.fsdecode(path)}: is a warp, not an affine")
        return np.array(pointer[0].matrix)
    finally:
        lib.clvox_transform_destroy(pointer)


def write_affine(matrix: npt.ArrayLike, path: Union[str, os.PathLike[str]]) -> None:
    """Writes an affine as ITK reads it (.txt, .mat)."""
    call(lib.clvox_affine_write, _matrix(matrix), _abi.CLVOX_AFFINE_ITK, os.fsencode(path))


def set_matrix(struct, matrix):
    """Sets the field `matrix` of a struct."""
    return fill(struct, matrix=_matrix(matrix))
