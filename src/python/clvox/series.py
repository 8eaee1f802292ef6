# SPDX-License-Identifier: Apache-2.0
"""Motion of scans with frames: fMRI, DWI."""
from __future__ import annotations

import ctypes
from typing import List, Optional, Union

import numpy as np

from . import _abi, _results
from ._library import Context, Progress, Watcher, context_or_own, lib, set_options, values, with_options
from ._options import SeriesOptions
from ._typing import Unpack
from .tensor import Gradients, Table
from .volume import ImageLike, optional, volume


class Series(_results.SeriesResult):
    """What register_series() found."""
    frames: List[_results.SeriesFrame]  # type: ignore[assignment]
    directions: Optional[np.ndarray]


@with_options("register series")
def register_series(series: ImageLike, reference: Union[int, ImageLike, None] = None, *, mask: Optional[ImageLike] = None,
                    gradients: Optional[Table] = None, distortion: Optional[ImageLike] = None, progress: Watcher = None,
                    context: Optional[Context] = None, **options: Unpack[SeriesOptions]) -> Series:
    """Corrects the motion of the head between the frames of a scan of 4 axes, as `clvox series`.

    reference: the frame that stays (from 0; None: the middle one, or with gradients the first of the lowest b), or a 3-D
    image. mask: where the reference counts (above 0). gradients: of a DWI, as
    clvox.tensor.fit takes them. distortion: warp of clvox.correct_distortion for the reference, applied in the same
    resampling, with its Jacobian. progress: called with a Step (stage, fraction of the work done, ...); what it raises stops. True: a bar on standard error.
    Returns an object with corrected and mean (Volumes), frames (matrix, shift_mm, rotation, framewise_mm, flags and more, one
    a frame), directions (of gradients: rows x y z b, turned with the head, or None), reference and more, as
    clvox_series_result of include/clvox/series.h documents them."""
    struct, result = _abi.clvox_series_options(), _abi.clvox_series_result()
    lib.clvox_series_defaults(struct)
    set_options("register series", options, struct)
    if isinstance(reference, int):
        struct.reference, reference = reference, None
    scan, warp = volume(series).struct(), optional(distortion)
    if warp is not None:
        struct.distortion = ctypes.pointer(warp)
    table = Gradients(gradients, scan) if gradients is not None else None
    callback = Progress(progress)
    struct.progress = callback.pointer
    callback.call(lib.clvox_register_series, context_or_own(context), scan, optional(reference), optional(mask),
                  table.struct if table else None, struct, result)
    try:
        copy = type(result).from_buffer_copy(result)
        frames = [values(type(result.frame[i]).from_buffer_copy(result.frame[i])) for i in range(result.frames)]
        turned = None
        if result.gradients:
            rows = result.gradients[0]
            turned = np.array([[*rows.direction[i], rows.b[i]] for i in range(rows.count)])
        result.corrected = result.mean = None
    finally:
        lib.clvox_series_result_destroy(result)
    copy.frame = copy.gradients = None
    found = values(copy, Series)
    found.frames, found.directions = frames, turned
    del found.frame, found.gradients
    return found
