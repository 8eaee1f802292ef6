# SPDX-License-Identifier: Apache-2.0
"""Labels and brain masks from atlases."""
from __future__ import annotations

import ctypes
from typing import Optional, Sequence

from . import _abi, _results
from ._library import Context, Error, Progress, Watcher, call, context_or_own, lib, set_options, values, with_options
from ._options import SegmentOptions
from ._typing import Unpack
from .volume import ImageLike, optional, volume


@with_options("segment")
def segment(head: ImageLike, images: Sequence[ImageLike], labels: Optional[Sequence[ImageLike]] = None,
            masks: Optional[Sequence[ImageLike]] = None, *, registered: bool = False, progress: Watcher = None,
            context: Optional[Context] = None, **options: Unpack[SegmentOptions]) -> _results.SegmentResult:
    """Labels a head by atlases, as `clvox segment`; an atlas that fails is an Error here.

    images: of the atlases; labels: their label maps; masks: their brains; one of the last two may be None. registered: they
    lie on the head's grid already, NaN where an atlas has no say. progress: called with a Step (stage, fraction of the
    atlas, ...); what it raises stops. True: a bar on standard error.
    Returns an object with labels, mask and confidence (Volumes, labels None without label maps), atlases and seconds, as
    clvox_segment_result of include/clvox/segment.h documents them."""
    for maps in (labels, masks):
        if maps is not None and len(maps) != len(images):
            raise Error(f"segment: {len(maps)} maps, and there are {len(images)} atlases; give one for each")
    struct, result = _abi.clvox_segment_options(), _abi.clvox_segment_result()
    lib.clvox_segment_defaults(struct)
    set_options("segment", options, struct)
    callback = Progress(progress)
    struct.progress = callback.pointer
    held, own = ctypes.c_void_p(), context_or_own(context)
    call(lib.clvox_segment_begin, own, volume(head).struct(), struct, ctypes.byref(held))
    try:
        for k, image in enumerate(images):
            given = volume(image).struct(), optional(labels[k] if labels else None), optional(masks[k] if masks else None)
            if registered:
                callback.call(lib.clvox_segment_add_registered, held, *given)
            else:
                callback.call(lib.clvox_segment_add, held, *given, None)
        callback.call(lib.clvox_segment_end, held, result)
    finally:
        lib.clvox_segment_destroy(ctypes.byref(held))
    return values(result)
