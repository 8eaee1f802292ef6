# SPDX-License-Identifier: Apache-2.0
"""Filters of volumes. All of them return a Volume on the same grid, frames being filtered one by one.
progress: called with a Step while a device works; what it raises stops. True: a bar on standard error."""
from __future__ import annotations

import ctypes
import operator
import re
from typing import Optional, Sequence, Tuple, Union

import numpy as np

from . import _abi
from ._library import Context, Error, Watcher, call, context_or_own, lib, set_options, with_options
from ._options import N4Options, NlmOptions, TvOptions
from ._typing import Unpack
from .volume import ImageLike, Volume, made, optional, volume


def _lengths(given):
    """Three lengths and whether they are voxels, of 2, "2mm", "2x2x1vox" or (2, 2, 1)."""
    unit = "mm"
    if isinstance(given, str):
        match = re.fullmatch(r"([\d.]+(?:x[\d.]+)*)(mm|vox)?", given)
        if not match:
            raise Error(f"sigma: {given!r} is not a length, as '2mm' or '1.5vox'")
        unit = match[2] or "mm"
        given = match[1].split("x")
    numbers = [float(n) for n in (given if isinstance(given, (tuple, list)) else [given])]
    if len(numbers) not in (1, 3):
        raise Error("sigma: one length, or one for each of three axes")
    return (ctypes.c_double * 3)(*(numbers * 3)[:3]), int(unit == "vox")


Lengths = Union[str, float, Sequence[float]]


def gaussian(image: ImageLike, sigma: Lengths, *, progress: Watcher = None, context: Optional[Context] = None) -> Volume:
    """Gaussian smoothing. sigma: in mm, or as "1.5vox"; one, or three for x, y and z."""
    return made(lib.clvox_filter_gaussian, context_or_own(context), volume(image).struct(), *_lengths(sigma),
                progress=progress)


def sobel(image: ImageLike, *, progress: Watcher = None, context: Optional[Context] = None) -> Volume:
    """The length of the gradient, per mm."""
    return made(lib.clvox_filter_sobel, context_or_own(context), volume(image).struct(), progress=progress)


def unsharp(image: ImageLike, sigma: Lengths, amount: float = 1.0, *,
            progress: Watcher = None, context: Optional[Context] = None) -> Volume:
    """image + amount (image - its Gaussian)."""
    return made(lib.clvox_filter_unsharp, context_or_own(context), volume(image).struct(), *_lengths(sigma), amount,
                progress=progress)


def median(image: ImageLike, radius: Union[int, Sequence[int]] = 1, *,
           progress: Watcher = None, context: Optional[Context] = None) -> Volume:
    """The median of the box of 2 radius + 1 voxels; one radius, or three for x, y and z."""
    try:
        radii = [operator.index(r) for r in np.broadcast_to(np.asarray(radius), 3)]
    except (TypeError, ValueError):
        raise Error(f"median: radius {radius!r} is not a whole number of voxels, or three") from None
    return made(lib.clvox_filter_median, context_or_own(context), volume(image).struct(), (ctypes.c_int * 3)(*radii),
                progress=progress)


@with_options("filter nlm")
def nlm(image: ImageLike, mask: Optional[ImageLike] = None, noise_map: Optional[ImageLike] = None, *, progress: Watcher = None,
        context: Optional[Context] = None, **options: Unpack[NlmOptions]) -> Volume:
    """Non-local means, by the noise that it measures, or by its standard deviation in each voxel; joint: of all frames."""
    struct, out = _abi.clvox_nlm_options(), ctypes.POINTER(_abi.clvox_volume)()
    lib.clvox_nlm_defaults(struct)
    set_options("filter nlm", options, struct)
    held = optional(noise_map)
    if held is not None:
        struct.noise_map = ctypes.pointer(held)
    call(lib.clvox_filter_nlm, context_or_own(context), volume(image).struct(), optional(mask), struct, out, None,
         progress=progress)
    return Volume._adopt(out)


@with_options("filter tv")
def tv(image: ImageLike, mask: Optional[ImageLike] = None, *, progress: Watcher = None, context: Optional[Context] = None,
       **options: Unpack[TvOptions]) -> Volume:
    """Total variation, by the noise that it measures."""
    struct, out = _abi.clvox_tv_options(), ctypes.POINTER(_abi.clvox_volume)()
    lib.clvox_tv_defaults(struct)
    set_options("filter tv", options, struct)
    call(lib.clvox_filter_tv, context_or_own(context), volume(image).struct(), optional(mask), struct, out, None,
         progress=progress)
    return Volume._adopt(out)


@with_options("filter n4")
def n4(image: ImageLike, mask: Optional[ImageLike] = None, weight: Optional[ImageLike] = None, *, progress: Watcher = None,
       context: Optional[Context] = None, **options: Unpack[N4Options]) -> Tuple[Volume, Volume]:
    """Corrects uneven brightness; weight: how much voxels count. Returns the corrected image and the field that it was divided by."""
    struct, out, field = _abi.clvox_bias_options(), ctypes.POINTER(_abi.clvox_volume)(), ctypes.POINTER(_abi.clvox_volume)()
    lib.clvox_bias_defaults(struct)
    held = volume(image)
    set_options("filter n4", options, struct, float(min(held.spacing)))
    weights = optional(weight)
    if weights is not None:
        struct.weight = ctypes.pointer(weights)
    call(lib.clvox_filter_bias, context_or_own(context), held.struct(), optional(mask), struct, out, field, None,
         progress=progress)
    return Volume._adopt(out), Volume._adopt(field)


def winsorize(image: ImageLike, low: float = 0.005, high: float = 0.995, mask: Optional[ImageLike] = None) -> Volume:
    """Clips values at these quantiles."""
    return made(lib.clvox_filter_winsorize, volume(image).struct(), optional(mask), low, high)


def match(image: ImageLike, reference: ImageLike) -> Volume:
    """Maps the values so that the histogram becomes that of reference."""
    return made(lib.clvox_filter_match, volume(image).struct(), volume(reference).struct(), None)
