# SPDX-License-Identifier: Apache-2.0
"""Curves, and clouds of points, in RAS millimetres."""
from __future__ import annotations

import ctypes
import os
from typing import Optional, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._library import Context, Error, Result, adopted, call, lib, numbers
from .surface import Products, Surface, _products

_DOUBLES, _INTS = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int32)


def _table(name, values, columns, kind):
    array = numbers(values, name, kind, "C")
    if array.ndim != 2 or array.shape[1] != columns:
        raise Error(f"{name} are a table of {columns} columns")
    return array


def _struct(kind, points, corners, weights=None):
    """As the library takes it; keeps the arrays alive."""
    s = _abi.clvox_shape(kind=kind, vertices=len(points), elements=len(corners), points=points.ctypes.data_as(_DOUBLES),
                         corners=corners.ctypes.data_as(_INTS))
    if weights is not None:
        s.weights = weights.ctypes.data_as(_DOUBLES)
    s.held = points, corners, weights
    return s


class Curves:
    """points: n x 3, RAS mm. segments: m x 2, indices of points; None: one curve through all points."""

    def __init__(self, points: npt.ArrayLike, segments: Optional[npt.ArrayLike] = None) -> None:
        self.points = _table("points", points, 3, np.float64)
        if segments is None:
            first = np.arange(max(len(self.points) - 1, 0))
            segments = np.stack([first, first + 1], axis=1)
        self.segments = _table("segments", segments, 2, np.int32)

    def __repr__(self):
        return f"<clvox.Curves of {len(self.points)} points, {len(self.segments)} segments>"

    def struct(self):
        """As the library takes it."""
        return _struct(_abi.CLVOX_SHAPE_CURVES, self.points, self.segments)

    def write(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes VTK polydata (.vtk) or MRtrix's tracks (.tck)."""
        call(lib.clvox_curves_write, self.struct(), 0, os.fsencode(path))


class Cloud:
    """Points without correspondence. points: n x 3, RAS mm. weights: of each, 0 or more; None: all alike."""

    def __init__(self, points: npt.ArrayLike, weights: Optional[npt.ArrayLike] = None) -> None:
        self.points = _table("points", points, 3, np.float64)
        self.weights = None if weights is None else numbers(weights, "weights", order="C")
        if self.weights is not None and self.weights.shape != (len(self.points),):
            raise Error("a cloud has a weight for each of its points, or none")

    def __repr__(self):
        return f"<clvox.Cloud of {len(self.points)} points>"

    def struct(self):
        """As the library takes it."""
        return _struct(_abi.CLVOX_SHAPE_CLOUD, self.points, np.arange(len(self.points), dtype=np.int32)[:, None], self.weights)


def shape_struct(shape: Union[Surface, Curves, Cloud]):
    """Any of them as the library takes it."""
    if isinstance(shape, Surface):
        return _struct(_abi.CLVOX_SHAPE_SURFACE, _table("points", shape.points, 3, np.float64),
                       _table("triangles", shape.triangles, 3, np.int32))
    if isinstance(shape, (Curves, Cloud)):
        return shape.struct()
    raise Error(f"a Surface, Curves or a Cloud is needed, not {type(shape).__name__}")


def _adopt(pointer):
    s = pointer[0]
    points = np.ctypeslib.as_array(s.points, (s.vertices, 3)).copy()
    corners = np.ctypeslib.as_array(s.corners, (s.elements, s.kind)).copy()
    weights = np.ctypeslib.as_array(s.weights, (s.vertices,)).copy() if s.weights else None
    kind = s.kind
    lib.clvox_shape_destroy(pointer)
    if kind == _abi.CLVOX_SHAPE_CLOUD:
        return Cloud(points, weights)
    return Surface(points, corners) if kind == _abi.CLVOX_SHAPE_SURFACE else Curves(points, corners)


adopted[ctypes.POINTER(_abi.clvox_shape)] = _adopt


def read_curves(path: Union[str, os.PathLike[str]], *, lps: bool = False) -> Curves:
    """Reads the lines of VTK polydata, and tracks of MRtrix (.tck) and TrackVis (.trk). lps: in a VTK file whose coordinates
    are LPS."""
    pointer = ctypes.POINTER(_abi.clvox_shape)()
    call(lib.clvox_curves_read, os.fsencode(path), int(lps), pointer)
    return _adopt(pointer)


class ShapeComparison(Result):
    """What compare_shapes() found."""
    mean: np.ndarray
    largest: np.ndarray
    sizes: np.ndarray
    currents: Products
    varifold: Optional[Products]


def compare_shapes(a: Union[Surface, Curves, Cloud], b: Union[Surface, Curves, Cloud], width: float, *, samples: int = 100000,
                   method: str = "auto", error: float = 1e-5, context: Optional[Context] = None) -> ShapeComparison:
    """How far two Curves, two Clouds or two Surfaces are apart, without correspondence between their points.

    width: of the kernel, mm; method and error as in surface.compare. Returns mean and largest distance in mm ([0] from a to b,
    [1] back, [2] both), sizes (length, weight or area of either), currents and, but for clouds, varifold."""
    first, second = shape_struct(a), shape_struct(b)
    mean, largest, sizes = (ctypes.c_double * 3)(), (ctypes.c_double * 3)(), [ctypes.c_double(), ctypes.c_double()]
    call(lib.clvox_shape_compare, first, second, samples, mean, largest)
    for one, size in zip((first, second), sizes):
        call(lib.clvox_shape_size, one, size)
    found = ShapeComparison(mean=np.array(mean), largest=np.array(largest), sizes=np.array([size.value for size in sizes]))
    found.currents = _products(lib.clvox_shape_currents, first, second, width, method, error, context, False)
    found.varifold = None if isinstance(a, Cloud) else _products(lib.clvox_shape_currents, first, second, width, method, error,
                                                                context, True)
    return found
