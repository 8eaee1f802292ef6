# SPDX-License-Identifier: Apache-2.0
"""Unbiased templates of populations."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional, Sequence, Union

from . import _abi
from ._library import Context, Error, Progress, Result, context_or_own, lib, set_options, table_options, values, with_options
from .registration import preset
from .volume import ImageLike, optional, volume


class Atlas(Result):
    """What atlas() made: average (a Volume, the template), labels (the vote of the subjects' labels, or None), maps (one a
    subject: matrix, warp, inverse_warp, likeness, displacement_mm, share, left_out), rounds (removed_voxels, left_voxels,
    spread_mm, change, sharpness), resumed and more, as clvox_atlas_result of include/clvox/atlas.h documents them. A map
    leads from the template to the subject: apply(subject, template, [map.warp, map.matrix])."""


def _taken(struct: ctypes.Structure, *pointers: str) -> Result:
    """A struct's values, of which these volumes are no longer the struct's own."""
    copy = type(struct).from_buffer_copy(struct)
    for name in pointers:
        setattr(struct, name, None)
    return values(copy)


def _each(what: str, given: Optional[Sequence[Any]], count: int) -> Sequence[Any]:
    if given is not None and len(given) != count:
        raise Error(f"atlas: {len(given)} {what} for {count} images; give one for each, or none")
    return given if given is not None else [None] * count


@with_options("atlas")
def atlas(images: Sequence[ImageLike], *, masks: Optional[Sequence[Optional[ImageLike]]] = None,
          labels: Optional[Sequence[Optional[ImageLike]]] = None, weights: Optional[Sequence[float]] = None,
          names: Optional[Sequence[str]] = None, start: Optional[ImageLike] = None, quick: bool = False, regular: bool = False,
          best: bool = False, state: Union[str, os.PathLike[str], None] = None,
          progress: Optional[Callable[[str, float], Any]] = None, context: Optional[Context] = None, **options: Any) -> Atlas:
    """Builds the unbiased template of a population: rounds of registering every subject to the template, removing the mean
    map, and averaging.

    images: one a subject, on any grids. masks, labels, weights, names: lists with one for each, or None.
    start: an image to begin with, whose grid the template has (None: the mean of the subjects).
    quick, regular, best: presets of the registrations. state: a folder from which a run that was stopped goes on.
    progress: called with (stage, fraction of the work done); what it raises stops.
    Takes the options of register(), too. Returns an Atlas."""
    count = len(images)
    struct = _abi.clvox_atlas_options()
    lib.clvox_atlas_defaults(struct)
    own, theirs = table_options("atlas"), table_options("register")
    of_register = {key: value for key, value in options.items() if key in theirs and key not in own}
    preset(struct.registration, of_register, quick, regular, best)
    set_options("register", of_register, struct.registration)
    set_options("atlas", {key: value for key, value in options.items() if key not in of_register}, struct)
    if state is not None:
        struct.state = os.fsencode(state)
    subjects, held = (_abi.clvox_atlas_subject * max(count, 1))(), []
    for subject, image, mask, label, weight, name in zip(
            subjects, images, _each("masks", masks, count), _each("label maps", labels, count),
            _each("weights", weights, count), _each("names", names, count)):
        parts = volume(image).struct(), optional(mask), optional(label)
        held.append(parts)
        for field, part in zip(("image", "mask", "labels"), parts):
            if part is not None:
                setattr(subject, field, ctypes.pointer(part))
        subject.weight = 1 if weight is None else weight
        subject.name = (name or f"image {len(held)}").encode()
    callback = Progress(dict(struct._fields_)["progress"], progress)
    struct.progress = callback.pointer
    result = _abi.clvox_atlas_result()
    callback.call(lib.clvox_atlas, context_or_own(context), subjects, count, optional(start), struct, result)
    try:
        maps = [_taken(result.map[i], "warp", "inverse_warp") for i in range(result.subjects)]
        rounds = [values(result.round[i]) for i in range(result.rounds)]
        whole = _taken(result, "average", "labels")
    finally:
        lib.clvox_atlas_result_destroy(result)
    return Atlas(average=whole.average, labels=whole.labels, maps=maps, rounds=rounds, resumed=whole.resumed,
                 device_bytes=whole.device_bytes)
