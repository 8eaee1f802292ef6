# SPDX-License-Identifier: Apache-2.0
"""Registration of a pair of images."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _results
from ._library import Context, Error, Progress, Watcher, call, context_or_own, lib, numbers, set_options, values, with_options, words
from ._options import RegisterOptions
from ._typing import Unpack
from .boundary import Boundary, fit_boundary
from .shape import Cloud, Curves, shape_struct
from .surface import Surface
from .transform import Mapped, read_affine, set_matrix
from .volume import ImageLike, Volume, optional, several, volume


class Registration(_results.RegisterResult, Mapped):
    """What register() found: matrix (4 x 4, RAS mm, fixed to moving), warp and inverse_warp (displacement Volumes or
    None), warped (the moving image on the fixed grid), metric_before, metric_after, jacobian, suspicions and more, as
    clvox_register_result of include/clvox/registration.h documents them. shapes: for each pair that was given an object
    with carried (the moving one on the fixed image), mean_after, largest_after, energy_after and more, as
    clvox_shape_errors; posteriors (None without): carried, hellinger_after and more, as clvox_posteriors_errors; boundary (None
    without): a Boundary."""

    shapes: List[_results.ShapeErrors]
    posteriors: Optional[_results.PosteriorsErrors]
    boundary: Optional[Boundary] = None

    def _shown(self) -> Iterator[Tuple[str, str]]:
        yield "metric", f"{self.metric} {self.metric_before:.4g} -> {self.metric_after:.4g}"
        yield "ncc", f"{self.ncc_before:.4g} -> {self.ncc_after:.4g}"
        if self.warp is not None:
            yield "warp", f"{'x'.join(map(str, self.warp.shape[:3]))}, {self.largest_mm:.3g} mm at most, {self.jacobian.folded} voxels folded"
        if self.suspicions:
            yield "suspicious", ", ".join(self.suspicious)

    @property
    def suspicious(self) -> List[str]:
        """Why the result may be wrong, a word each: "folds", "overlap", ... Empty: nothing speaks against it."""
        return [name for name, bit in words("CLVOX_SUSPECT_").items() if self.suspicions & bit]


def _points(points):
    array = numbers(points, "points", order="C").reshape(-1, 3)
    return array, array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _shapes(images, pairs):
    """Sets those of images; returns the structs, which are to be kept."""
    if len(pairs) > _abi.CLVOX_MAX_SHAPES:
        raise Error(f"register: {len(pairs)} pairs of shapes; at most {_abi.CLVOX_MAX_SHAPES} are possible")
    structs = [[shape_struct(shape) for shape in pair] for pair in pairs]
    pointer = ctypes.POINTER(_abi.clvox_shape)
    for side, name in enumerate(("fixed_shapes", "moving_shapes")):
        setattr(images, name, (pointer * max(len(pairs), 1))(*[ctypes.pointer(s[side]) for s in structs]))
    images.shapes = len(pairs)
    return structs


def _carried(context, result, struct, shapes, made):
    """What became of the anatomy."""
    found = {"shapes": [], "posteriors": None}
    for a, b in shapes:
        errors = _abi.clvox_shape_errors()
        call(lib.clvox_register_shape, context, result, struct, a, b, errors)
        found["shapes"].append(values(errors))
    if made is not None:
        errors = _abi.clvox_posteriors_errors()
        call(lib.clvox_register_posteriors, context, result, struct, made.fixed, made.moving, None, errors)
        found["posteriors"] = values(errors)
    return found


def preset(struct, given, quick, regular, best):
    """As the command: the model first, then what the preset says of it, then the other options."""
    if quick + regular + best > 1:
        raise Error("quick, regular and best contradict one another")
    lib.clvox_register_defaults(struct)
    if quick:
        struct.deform = _abi.CLVOX_DEFORM_GREEDY
    set_options("register", {"deform": given.get("deform")}, struct)
    lib.clvox_register_preset(struct, _abi.CLVOX_PRESET_QUICK if quick else _abi.CLVOX_PRESET_REGULAR if regular else
                              _abi.CLVOX_PRESET_BEST if best else _abi.CLVOX_PRESET_DEFAULT)


def for_levels(name: str, masks: Optional[Sequence[Any]], struct: Any) -> Optional[Sequence[Any]]:
    """Masks of levels as they are given, of which each level has one or None."""
    levels = 0 if struct.deform == _abi.CLVOX_DEFORM_NONE else struct.levels
    if masks is not None and len(masks) != levels:
        raise Error(f"{name}: {len(masks)} masks for {levels} levels; give a mask or None for each level, coarse to fine")
    return masks


def _edge(volumes: Any) -> float:
    """Of a voxel, for lengths in voxels; 0, which leaves these for later, where the grid is still to be made."""
    return float(np.cbrt(np.prod(volumes[0].spacing))) if volumes else 0.


def _grid(images: Any, o: Any, spacing: Optional[float]) -> Any:
    """Around shapes and points alone."""
    grid = _abi.clvox_grid()
    start = type(o.matrix)()
    call(lib.clvox_shapes_start, images, o, start)
    widths = [o.surface_width[i] for i in range(o.surface_widths)]
    if not spacing and images.shapes and widths and widths[-1] > 0:
        spacing = .4 * widths[-1]
    call(lib.clvox_shapes_grid, images, start, float(spacing or 0), 0., grid)
    edge = grid.to_ras[0][0]
    call(lib.clvox_shapes_grid, images, start, edge, widths[0] if widths and widths[0] > 0 else 2.5 * edge * o.shrink[0],
         grid)
    return grid


@with_options("register")
def register(fixed: Union[ImageLike, Sequence[ImageLike], None] = None, moving: Union[ImageLike, Sequence[ImageLike], None] = None, *,
             fixed_mask: Optional[ImageLike] = None, moving_mask: Optional[ImageLike] = None,
             level_fixed_mask: Optional[Sequence[Optional[ImageLike]]] = None,
             level_moving_mask: Optional[Sequence[Optional[ImageLike]]] = None,
             weight: Optional[Sequence[float]] = None, init: Union[str, bytes, os.PathLike[str], npt.ArrayLike, None] = None,
             quick: bool = False, regular: bool = False, best: bool = False, initial_warp: Optional[ImageLike] = None,
             points: Optional[Tuple[npt.ArrayLike, npt.ArrayLike]] = None,
             shapes: Sequence[Tuple[Union[Surface, Curves, Cloud], Union[Surface, Curves, Cloud]]] = (),
             posteriors: Optional[Tuple[ImageLike, ImageLike]] = None, spacing: Optional[float] = None,
             boundary: Union[Surface, ImageLike, Sequence[Union[Surface, ImageLike]], None] = None,
             boundary_labels: Sequence[int] = (), boundary_contrast: str = "auto",
             progress: Watcher = None, context: Optional[Context] = None,
             **options: Unpack[RegisterOptions]) -> Registration:
    """Registers the moving image to the fixed one: an affine, then a symmetric diffeomorphic map.

    fixed, moving: Volumes, file names, nibabel images or pairs (array, affine); lists of them are channels, of `weight`.
    fixed_mask, moving_mask: what counts is above 0. level_fixed_mask, level_moving_mask: in their place on the levels of the
        deformation, a mask or None for each level, coarse to fine. init: as the option, or a 4 x 4 matrix or a file that holds one.
    quick: faster, less accurate; regular: more regular Jacobians (greedy, syn); best: the highest overlap.
    initial_warp: a displacement Volume to start from.
    points: a pair of n x 3 arrays, corresponding landmarks in RAS mm, for points_weight.
    shapes: pairs (fixed, moving) of two Surfaces, two Curves or two Clouds, for surface_weight, curves_weight, cloud_weight.
    posteriors: a pair of tissue probabilities (a frame a tissue) or label maps, for posteriors_weight; alone, without fixed
        and moving, they are what is registered.
    spacing: mm of a voxel, of shapes and points alone, without images and posteriors: of the grid around them (default: 0.4
        of the finest width, else a 64th of their longest extent). The linear part is then init: a matrix, "centers", "moments";
        by default the identity, or "centers" where the boxes around both sides do not overlap.
    boundary: the white matter of fixed (Surfaces, masks, label maps with boundary_labels) refines the linear transform, as
        fit_boundary; linear is then "rigid" and deform "none" unless given.
    progress: called for each iteration with a Step (level, iteration, metric, fraction of the deformation done); what it
        raises stops the registration. True: a bar on standard error.
    Returns a Registration. Raises clvox.Error."""
    if boundary is not None:
        options = {"linear": "rigid", "deform": "none", **options}
        if options["linear"] not in ("rigid", "affine") or len(several(fixed)) != 1:
            raise Error("register: boundary refines linear='rigid' or 'affine' of one pair of images")
        start = register(fixed, moving, fixed_mask=fixed_mask, moving_mask=moving_mask, init=init, quick=quick, regular=regular,
                         best=best, context=context, **{**options, "deform": "none"})
        found = fit_boundary(boundary, several(moving)[0], start.matrix, labels=boundary_labels, contrast=boundary_contrast,
                             affine=options["linear"] == "affine", context=context)
        result = register(fixed, moving, fixed_mask=fixed_mask, moving_mask=moving_mask, level_fixed_mask=level_fixed_mask,
                          level_moving_mask=level_moving_mask, init=found.matrix, quick=quick, regular=regular, best=best,
                          initial_warp=initial_warp, points=points, shapes=shapes, posteriors=posteriors, progress=progress,
                          context=context, **{**options, "linear": "none"})
        suspect = result.suspicions | start.suspicions | (_abi.CLVOX_SUSPECT_BOUNDARY if found.lost else 0)
        result.__dict__.update(boundary=found, suspicions=suspect)
        return result
    struct = _abi.clvox_register_options()
    preset(struct, options, quick, regular, best)
    struct.by_contrast = 1
    pairs = [[] if image is None else [volume(v) for v in several(image)] for image in (fixed, moving)]
    tissues = None if posteriors is None else [volume(v) for v in posteriors]
    alone = not pairs[0] and not pairs[1] and tissues is None and (points is not None or len(shapes) > 0)
    if alone:
        options = {"linear": "none", **options}
    elif spacing is not None:
        raise Error("register: spacing is for shapes and points without images and posteriors, which have a grid of their own")
    if not alone and len(pairs[0]) != len(pairs[1]) or not alone and not (tissues is None) <= len(pairs[0]) <= _abi.CLVOX_MAX_CHANNELS:
        raise Error(f"register: {len(pairs[0])} fixed and {len(pairs[1])} moving images; a channel is one of each, and there "
                    f"are at most {_abi.CLVOX_MAX_CHANNELS}")
    if isinstance(init, str) and not os.path.exists(init):
        options = {**options, "init": init}
    elif init is not None:
        set_matrix(struct, read_affine(init) if isinstance(init, (str, bytes, os.PathLike)) else init)
        struct.init = _abi.CLVOX_INIT_MATRIX
    set_options("register", options, struct, _edge(pairs[0] or tissues))
    structs = [[v.struct() for v in side] for side in pairs]
    masks = [optional(fixed_mask), optional(moving_mask), optional(initial_warp)]
    images = _abi.clvox_register_images(channels=len(structs[0]))
    for i, (a, b) in enumerate(zip(*structs)):
        images.fixed[i], images.moving[i] = ctypes.pointer(a), ctypes.pointer(b)
        images.weight[i] = 1 if weight is None else weight[i]
    for name, mask in zip(("fixed_mask", "moving_mask", "initial_warp"), masks):
        if mask is not None:
            setattr(images, name, ctypes.pointer(mask))
    of_levels = [("level_fixed_mask", level_fixed_mask, masks[0]), ("level_moving_mask", level_moving_mask, masks[1])]
    images.level_masks = any(given is not None for _, given, _ in of_levels)
    for name, given, otherwise in of_levels if images.level_masks else ():
        chosen = for_levels(name, given, struct)
        for level in range(struct.levels):
            mask = otherwise if chosen is None else optional(chosen[level])
            if mask is not None:
                getattr(images, name)[level] = ctypes.pointer(mask)
    if points is not None:
        (a, images.fixed_points), (b, images.moving_points) = _points(points[0]), _points(points[1])
        if len(a) != len(b):
            raise Error(f"register: {len(a)} points of the fixed and {len(b)} of the moving image; they correspond one to one")
        images.points = len(a)
    structs_of_shapes = _shapes(images, list(shapes))
    if alone:
        grid = _grid(images, struct, spacing)
        images.grid = ctypes.pointer(grid)
        set_options("register", options, struct, grid.to_ras[0][0])
    made = None
    callback = Progress(progress)
    struct.progress = callback.pointer
    result = _abi.clvox_register_result()
    context = context_or_own(context)
    try:
        if tissues is not None:
            made = _abi.clvox_posteriors()
            call(lib.clvox_posteriors_create, tissues[0].struct(), tissues[1].struct(), made)
            images.fixed_posteriors, images.moving_posteriors = made.fixed, made.moving
        callback.call(lib.clvox_register, context, images, struct, result)
        found = _carried(context, result, struct, structs_of_shapes, made)
    finally:
        if made is not None:
            lib.clvox_posteriors_destroy(made)
    registration = values(result, Registration)
    registration.__dict__.update(found, shape_sums=registration.shape_sums[:len(structs_of_shapes)])
    return registration
