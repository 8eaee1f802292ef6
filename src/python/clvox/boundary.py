# SPDX-License-Identifier: Apache-2.0
"""Boundary-based registration."""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, Union

import numpy.typing as npt

from . import _abi, _results
from ._library import Context, call, context_or_own, lib, one_of, sized, values, words
from .surface import Surface, _adopt
from .transform import set_matrix
from .volume import ImageLike, several, volume


class Boundary(_results.BoundaryResult):
    """What fit_boundary() found: matrix (4 x 4, RAS mm, fixed to moving), cost_before, cost_after, moved_mm, lost and more, as
    clvox_boundary_result of include/clvox/boundary.h documents them."""

    matrix: npt.NDArray[Any]


def _surface(source: Any, labels: Sequence[int], context: Context) -> Surface:
    if isinstance(source, Surface):
        return source
    pointer = ctypes.POINTER(_abi.clvox_surface)()
    numbers = (ctypes.c_int * max(len(labels), 1))(*labels)
    call(lib.clvox_boundary_of, context, volume(source).struct(), numbers if labels else None, len(labels), pointer)
    return _adopt(pointer)


def fit_boundary(boundary: Union[Surface, ImageLike, Sequence[Union[Surface, ImageLike]]], moving: ImageLike,
                 matrix: npt.ArrayLike, *, labels: Sequence[int] = (), contrast: str = "auto", affine: bool = False,
                 context: Optional[Context] = None) -> Boundary:
    """Refines a matrix (4 x 4, RAS mm, fixed to moving) so that the moving image rises or falls everywhere across the boundary
    of white matter (Greve and Fischl 2009).

    boundary: Surfaces in the fixed image's world, masks, or label maps of which these `labels` count; one or a list.
    contrast: which is brighter in the moving image: "t2", grey matter; "t1", white matter; "auto", what it is at the start.
    affine: 12 degrees of freedom instead of 6."""
    context = context_or_own(context)
    held = [_surface(one, labels, context).struct() for one in several(boundary)]
    pointer = ctypes.POINTER(_abi.clvox_surface)
    options, result = sized(_abi.clvox_boundary_options), _abi.clvox_boundary_result()
    lib.clvox_boundary_defaults(options)
    options.contrast = one_of(words("CLVOX_BOUNDARY_"), contrast, "contrast")
    options.affine = int(affine)
    start = _abi.clvox_register_options()
    set_matrix(start, matrix)
    call(lib.clvox_boundary_fit, context, (pointer * len(held))(*[ctypes.pointer(s) for s in held]), len(held),
         volume(moving).struct(), options, start.matrix, result)
    found = values(result, Boundary)
    found.__dict__["matrix"] = values(start).matrix
    return found
