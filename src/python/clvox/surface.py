# SPDX-License-Identifier: Apache-2.0
"""Surfaces: triangle meshes in RAS millimetres."""
from __future__ import annotations

import ctypes
import os
from typing import Optional, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _results
from ._library import Context, Error, Progress, Watcher, adopted, call, context_or_own, lib, numbers, set_options, sized, values, with_options, word
from ._options import SurfaceDenoiseOptions
from ._typing import Unpack
from .volume import ImageLike, Volume, volume


class Surface:
    """points: n x 3, RAS mm. triangles: m x 3, indices of points, counter-clockwise seen from outside."""

    def __init__(self, points: npt.ArrayLike, triangles: npt.ArrayLike) -> None:
        self.points = numbers(points, "points", order="C")
        self.triangles = numbers(triangles, "triangles", np.int32, "C")
        if self.points.ndim != 2 or self.triangles.ndim != 2 or self.points.shape[1] != 3 or self.triangles.shape[1] != 3:
            raise Error("a surface has points of n x 3 and triangles of m x 3 numbers")

    def __repr__(self):
        return f"<clvox.Surface of {len(self.points)} points, {len(self.triangles)} triangles>"

    def struct(self):
        """As the library takes it; keeps points and triangles alive."""
        points, triangles = numbers(self.points, "points", order="C"), numbers(self.triangles, "triangles", np.int32, "C")
        s = _abi.clvox_surface(vertices=len(points), triangles=len(triangles),
                               points=points.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
                               corners=triangles.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)))
        s.held = points, triangles
        return s

    def write(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes GIFTI, VTK, PLY, STL, OBJ, BYU or FreeSurfer's, by the ending."""
        call(lib.clvox_surface_write, self.struct(), os.fsencode(path))

    def inspect(self) -> _results.SurfaceFacts:
        """Components, Euler characteristic, open edges, area, volume, bounds and more."""
        facts = _abi.clvox_surface_facts()
        call(lib.clvox_surface_inspect, self.struct(), facts)
        return values(facts)


def _adopt(pointer):
    s = pointer[0]
    points = np.ctypeslib.as_array(s.points, (s.vertices, 3)).copy()
    surface = Surface(points, np.ctypeslib.as_array(s.corners, (s.triangles, 3)).copy())
    lib.clvox_surface_destroy(pointer)
    return surface


adopted[ctypes.POINTER(_abi.clvox_surface)] = _adopt


SurfaceLike = Union[Surface, ImageLike]


def read(path: Union[str, os.PathLike[str]]) -> Surface:
    """Reads a surface: GIFTI, FreeSurfer, VTK, PLY, STL, OBJ or BYU."""
    pointer = ctypes.POINTER(_abi.clvox_surface)()
    call(lib.clvox_surface_read, os.fsencode(path), pointer)
    return _adopt(pointer)


def mesh(image: ImageLike, level: float, *, above: bool = False) -> Surface:
    """The surface where the values cross `level`; inside is below it (a signed distance) or, with above, above it."""
    pointer = ctypes.POINTER(_abi.clvox_surface)()
    call(lib.clvox_surface_extract, volume(image).struct(), level, int(above), pointer)
    return _adopt(pointer)


def _source(source):
    if isinstance(source, (str, bytes, os.PathLike)):
        return read(source) if lib.clvox_surface_is_file(os.fsencode(source)) else volume(source)
    return source if isinstance(source, Surface) else volume(source)


def distance(source: SurfaceLike, like: Optional[ImageLike] = None, *, label: Optional[int] = None,
             iso: Optional[float] = None, band: float = float("inf"), context: Optional[Context] = None) -> Volume:
    """The signed distance in mm, negative inside, to a surface on the grid of `like`, or to that of a volume (mask, label
    map, probability or image) on its own grid. band: mm on either side of a Surface where it has to be exact."""
    held = _source(source)
    if not isinstance(held, Volume):
        if like is None or label is not None or iso is not None:
            raise Error("surface distance: the grid of a volume, `like`, is needed for a surface; label and iso are of volumes")
        out = ctypes.POINTER(_abi.clvox_volume)()
        call(lib.clvox_distance_from_surface, context_or_own(context), held.struct(), volume(like).struct().grid, band, None, out)
        return Volume._adopt(out)
    if like is not None:
        raise Error("surface distance: the distance from a volume lies on its own grid; `like` is for surfaces")
    what, level_set, inner = _abi.clvox_level_set_source(), _abi.clvox_level_set(), held.struct()
    lib.clvox_level_set_source_defaults(what)
    what.volume, what.whole = ctypes.pointer(inner), 1
    what.label = -1 if label is None else label
    what.iso = float("nan") if iso is None else iso
    call(lib.clvox_level_set_create, context_or_own(context), what, level_set)
    copy = type(level_set).from_buffer_copy(level_set)
    level_set.distance = None
    lib.clvox_level_set_destroy(level_set)
    return Volume._adopt(copy.distance)


@with_options("surface denoise")
def denoise(source: SurfaceLike, *, label: Optional[int] = None, iso: Optional[float] = None, voxel: Optional[float] = None,
            distance: bool = False, progress: Watcher = None,
            context: Optional[Context] = None, **options: Unpack[SurfaceDenoiseOptions]) -> _results.DenoiseResult:
    """Removes noise and staircases from a surface by non-local means.

    source: a Surface, or a volume (mask, label map, probability, image or signed distance), or a file of either.
    label: of a label map. iso: of an image, inside is above it. voxel: edge of the voxels that a mesh is worked on, mm.
    progress: called with a Step (stage, fraction of the work done, ...); what it raises stops. True: a bar on standard error.
    Returns an object with surface, distance (a Volume where asked for), facts, topology, mean_mm, rounds and more, as
    clvox_denoise_result of include/clvox/surface.h documents them."""
    held = _source(source)
    what, inner = _abi.clvox_level_set_source(), held.struct()
    lib.clvox_level_set_source_defaults(what)
    if isinstance(held, Volume):
        what.volume = ctypes.pointer(inner)
        what.label = -1 if label is None else label
        what.iso = float("nan") if iso is None else iso
    elif label is not None or iso is not None:
        raise Error("surface denoise: label and iso are of volumes")
    else:
        what.surface = ctypes.pointer(inner)
        what.voxel = voxel or 0
    what.whole = int(distance)
    struct = _abi.clvox_denoise_options()
    lib.clvox_denoise_defaults(struct)
    set_options("surface denoise", options, struct)  # before long work
    callback = Progress(progress)
    struct.progress, struct.distance = callback.pointer, int(distance)
    level_set, result = _abi.clvox_level_set(), _abi.clvox_denoise_result()
    call(lib.clvox_level_set_create, context_or_own(context), what, level_set)
    try:
        edge = (ctypes.c_double * 3)()
        lib.clvox_grid_spacing(level_set.distance[0].grid, edge)
        set_options("surface denoise", options, struct, min(edge))
        callback.call(lib.clvox_surface_denoise, context_or_own(context), level_set, struct, result)
    finally:
        lib.clvox_level_set_destroy(level_set)
    return values(result)


class Products(_results.SurfaceProducts, _results.CurrentsReport):
    """Inner products of two shapes, and how they were found."""


def _products(function, a, b, width: float, method: str, error: float, context: Optional[Context], varifold: bool) -> Products:
    """Inner products aa, bb, ab of two shapes, squared_distance, and how they were found."""
    options = sized(_abi.clvox_currents_options, width=width, varifold=int(varifold),
                    method=word("CLVOX_CURRENTS_", method, "method"), error=error)
    found, report = _abi.clvox_surface_products(), _abi.clvox_currents_report()
    call(function, context_or_own(context), a, b, options, found, report)
    how = values(report)
    return Products(**vars(values(found)), **vars(how))


class Difference(_results.SurfaceDifference):
    """What compare() found."""
    dice: float
    currents: Products
    varifold: Products


def compare(a: SurfaceLike, b: SurfaceLike, *, samples: int = 100000, width: Optional[float] = None, method: str = "auto",
            error: float = 1e-5, context: Optional[Context] = None) -> Difference:
    """How far two surfaces are apart, without correspondence between their points.

    Returns mean, rms, percentile95 and largest (Hausdorff) distance in mm ([0] from a to b, [1] back, [2] both), and dice, the
    overlap of what they enclose (NaN where one is open). With width, mm, of the kernel, also currents and varifold, each with
    aa, bb, ab (mm^4), squared_distance, method, spacing, size and error.
    method: "exact" (all pairs), "mesh" (particle mesh, of at most `error`) or "auto", the faster one."""
    first, second = _source(a).struct(), _source(b).struct()
    out, dice = _abi.clvox_surface_difference(), ctypes.c_double(float("nan"))
    call(lib.clvox_surface_compare, first, second, samples, out)
    found = values(out, Difference)
    if not any(facts.open_edges for facts in found.facts):
        call(lib.clvox_surface_overlap, first, second, dice)
    found.dice = dice.value
    if width is not None:
        for name, varifold in (("currents", False), ("varifold", True)):
            setattr(found, name, _products(lib.clvox_surface_currents_with, first, second, width, method, error, context, varifold))
    return found
