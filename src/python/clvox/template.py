# SPDX-License-Identifier: Apache-2.0
"""Unbiased templates of populations."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from . import _abi, _results
from ._library import Context, Contexts, Error, Progress, Result, Watcher, call, context_or_own, lib, numbers, set_options, table_options, values, with_options
from ._options import AtlasOptions
from ._typing import Unpack
from .registration import preset
from .transform import Mapped
from .volume import ImageLike, Volume, optional, volume


_READY = {field[0]: field[1] for field in _abi.clvox_atlas_regression._fields_}["ready"]


class AtlasMap(_results.AtlasMap, Mapped):
    """The map of a subject."""


class Atlas(Result):
    """What atlas() made: average (a Volume, the template), further (those of further channels), labels (the vote of the
    subjects' labels, or None), maps (one a subject: matrix, warp, inverse_warp, labels (the template's on its own grid),
    likeness, displacement_mm, share, left_out), rounds (removed_voxels, left_voxels, spread_mm, change, sharpness), resumed and
    more, as clvox_atlas_result of include/clvox/atlas.h documents them. A map leads from the template to the subject:
    apply(subject, template, map.transforms)."""
    average: Volume
    further: List[Volume]
    labels: Optional[Volume]
    maps: List[AtlasMap]
    rounds: List[_results.AtlasRound]
    resumed: int
    device_bytes: int
    resident: int
    unkept: str


class Subjects(Result):
    """The subjects that a folder of BIDS or a table names, as subjects() finds them: lists with one for each of them, names,
    images, masks, labels (names of files, or None), weights and covariate (NaN where it is not known); further, such a list of
    images for each further channel; table, a list of words for each column of the table."""
    names: List[str]
    images: List[str]
    masks: List[Optional[str]]
    labels: List[Optional[str]]
    weights: List[float]
    covariate: List[float]
    further: List[List[str]]
    table: Dict[str, List[str]]


def subjects(path: Union[str, os.PathLike[str]], suffix: str = "T1w", covariate: Optional[str] = None) -> Subjects:
    """Reads which subjects a template has, for atlas(), and with a covariate for atlas_regression(): those of a BIDS folder,
    whose images end in _suffix.nii.gz ("T1w,T2w": one for each channel), with the columns of participants.tsv; or those of
    a table with the columns image, mask, labels, weight, image2 to image4 and its own. covariate: a column of numbers."""
    found = ctypes.POINTER(_abi.clvox_list)()
    call(lib.clvox_list_read, os.fsencode(path), suffix.encode(), None if covariate is None else covariate.encode(), found)

    def name(text: Optional[bytes]) -> Optional[str]:
        return None if text is None else os.fsdecode(text)
    try:
        of = found[0]
        rows = [of.subject[i] for i in range(of.count)]
        return Subjects(names=[name(r.name) for r in rows], images=[name(r.image) for r in rows], masks=[name(r.mask) for r in rows],
                        labels=[name(r.labels) for r in rows], weights=[r.weight for r in rows], covariate=[r.covariate for r in rows],
                        further=[[name(r.further[c]) for r in rows] for c in range(of.channels - 1)],
                        table={name(of.column[c]): [name(r.field[c]) for r in rows] for c in range(of.columns)})
    finally:
        lib.clvox_list_destroy(found)


def _taken(struct: ctypes.Structure, *pointers: str, into: Any = None) -> Any:
    """A struct's values, of which these volumes are no longer the struct's own."""
    copy = type(struct).from_buffer_copy(struct)
    for name in pointers:
        several = getattr(struct, name)
        if isinstance(several, ctypes.Array):
            for place in range(len(several)):
                several[place] = type(several[place])()
        else:
            setattr(struct, name, None)
    return values(copy, into)


def _each(what: str, given: Optional[Sequence[Any]], count: int) -> Sequence[Any]:
    if given is not None and len(given) != count:
        raise Error(f"atlas: {len(given)} {what} for {count} images; give one for each, or none")
    return given if given is not None else [None] * count


def _opened(context, device_memory, struct):
    """The context of the call; the options have the others."""
    if device_memory is not None:
        struct.device_bytes = max(int(device_memory), 1)  # 0: the library's default
    if not isinstance(context, Contexts):
        return context_or_own(context)
    handle = ctypes.POINTER(ctypes.c_void_p)
    struct.more = ctypes.cast(ctypes.addressof(context.all.contents) + ctypes.sizeof(ctypes.c_void_p), handle)
    struct.more_count = len(context) - 1
    return ctypes.c_void_p(context.all[0])


class _Run:
    """What both functions give the library; alive as long as this."""

    def __init__(self, images, masks, labels, weights, names, presets, state, progress, options, further=None,
                 channel_weights=None, further_start=None):
        if isinstance(images, (str, os.PathLike)):
            images = subjects(images)
        if isinstance(images, Subjects):
            masks, labels, weights, names, further = (
                theirs if ours is None else ours for ours, theirs in
                zip((masks, labels, weights, names, further),
                    (images.masks, images.labels, images.weights, images.images, images.further)))
            images = images.images
        self.count = count = len(images)
        self.further = further = [] if further is None else list(further)
        self.struct = struct = _abi.clvox_atlas_options()
        lib.clvox_atlas_defaults(struct)
        if options.pop("within", False):
            lib.clvox_atlas_within(struct)
        own, theirs = table_options("atlas"), table_options("register")
        of_register = {key: value for key, value in options.items() if key in theirs and key not in own}
        preset(struct.registration, of_register, *presets)
        set_options("register", of_register, struct.registration)
        set_options("atlas", {key: value for key, value in options.items() if key not in of_register}, struct)
        if state is not None:
            struct.state = os.fsencode(state)
        most = _abi.CLVOX_ATLAS_CHANNELS
        channel_weights = () if channel_weights is None else channel_weights
        if len(further) >= most or len(channel_weights) not in (0, len(further) + 1):
            raise Error(f"atlas: {len(further) + 1} channels and {len(channel_weights)} channel_weights; give up to {most}, "
                        "and a weight for each or none")
        struct.channels = len(further) + 1
        for place, one in enumerate(channel_weights):
            struct.channel_weight[place] = one
        self.starts = [optional(one) for one in further_start or ()]
        if len(self.starts) > len(further):
            raise Error(f"atlas: {len(self.starts)} images in further_start for {len(further)} further channels")
        for place, one in enumerate(self.starts):
            if one is not None:
                struct.further_start[place] = ctypes.pointer(one)
        self.subjects, self.held, self.others = (_abi.clvox_atlas_subject * max(count, 1))(), [], []
        for subject, image, mask, label, weight, name in zip(
                self.subjects, images, _each("masks", masks, count), _each("label maps", labels, count),
                _each("weights", weights, count), _each("names", names, count)):
            parts = volume(image).struct(), optional(mask), optional(label)
            self.held.append(parts)
            for field, part in zip(("image", "mask", "labels"), parts):
                if part is not None:
                    setattr(subject, field, ctypes.pointer(part))
            for place, channel in enumerate(further):
                part = volume(_each("images of a further channel", channel, count)[len(self.held) - 1]).struct()
                self.others.append(part)
                subject.further[place] = ctypes.pointer(part)
            subject.weight = 1 if weight is None else weight
            subject.name = (name or f"image {len(self.held)}").encode()
        self.callback = Progress(progress)
        struct.progress = self.callback.pointer


def _parts(result):
    """The maps and rounds of a template."""
    maps = [_taken(result.map[i], "warp", "inverse_warp", "labels", into=AtlasMap) for i in range(result.subjects)]
    return {"maps": maps, "rounds": [values(result.round[i]) for i in range(result.rounds)], "resumed": result.resumed,
            "device_bytes": result.device_bytes, "resident": result.resident, "unkept": result.unkept.decode(errors="replace")}


def _copy(pointer):
    """A Volume of its own of one that stays the library's."""
    if not pointer:
        return None
    v = pointer[0]
    shape = tuple(v.grid.size) + ((v.frames,) if v.frames != 1 else ())
    data = np.ctypeslib.as_array(v.data, (int(np.prod(shape)),)).reshape(shape, order="F").copy(order="F")
    kind = "label" if v.kind == _abi.CLVOX_KIND_LABEL else "scalar"
    return Volume(data, np.array(v.grid.to_ras), kind)._codes(v.grid.sform_code, v.grid.qform_code)


@with_options("atlas")
def atlas(images: Union[Sequence[ImageLike], Subjects, str, os.PathLike[str]], *, masks: Optional[Sequence[Optional[ImageLike]]] = None,
          labels: Optional[Sequence[Optional[ImageLike]]] = None, weights: Optional[Sequence[float]] = None,
          names: Optional[Sequence[str]] = None, start: Optional[ImageLike] = None,
          further: Optional[Sequence[Sequence[ImageLike]]] = None, channel_weights: Optional[Sequence[float]] = None,
          further_start: Optional[Sequence[Optional[ImageLike]]] = None,
          quick: bool = False, regular: bool = False, best: bool = False,
          state: Union[str, os.PathLike[str], None] = None, device_memory: Optional[int] = None, progress: Watcher = None,
          context: Union[Context, Contexts, None] = None, **options: Unpack[AtlasOptions]) -> Atlas:
    """Builds the unbiased template of a population: rounds of registering every subject to the template, removing the mean
    map, and averaging.

    images: one a subject, on any grids; or what subjects() has found, or its path, a folder of BIDS. masks, labels, weights, names: lists with one for each, or None.
    start: an image to begin with, whose grid the template has (None: the mean of the subjects).
    further: a list for each further channel, with an image for each subject; all channels are registered together, by
    channel_weights (None: equal). further_start: an image to begin with for each of them, or None, on the grid of start.
    within: True for scans of one person (clvox_atlas_within); other options override what it sets.
    quick, regular, best: presets of the registrations. state: a folder from which a run that was stopped goes on.
    context: with Contexts("gpu:all") several devices share the subjects, with the same bits. device_memory: bytes of the
    warps on each device (None: on GPUs half of what the registrations leave, on CPUs 0); the others are in host memory.
    progress: called with a Step (stage, fraction of the work done, ...); what it raises stops. True: a bar on standard error.
    Takes the options of register(), too. Returns an Atlas."""
    run = _Run(images, masks, labels, weights, names, (quick, regular, best), state, progress, options, further, channel_weights,
               further_start)
    result = _abi.clvox_atlas_result()
    first = _opened(context, device_memory, run.struct)
    run.callback.call(lib.clvox_atlas, first, run.subjects, run.count, optional(start), run.struct, result)
    try:
        parts = _parts(result)
        whole = _taken(result, "average", "labels", "further")
    finally:
        lib.clvox_atlas_result_destroy(result)
    return Atlas(average=whole.average, further=whole.further[:len(run.further)], labels=whole.labels, **parts)


@with_options("atlas")
def atlas_regression(images: Union[Sequence[ImageLike], Subjects], covariate: Sequence[float], at: Sequence[float], bandwidth: float, *,
                     masks: Optional[Sequence[Optional[ImageLike]]] = None,
                     labels: Optional[Sequence[Optional[ImageLike]]] = None, weights: Optional[Sequence[float]] = None,
                     names: Optional[Sequence[str]] = None, start: Optional[ImageLike] = None,
                     further: Optional[Sequence[Sequence[ImageLike]]] = None,
                     channel_weights: Optional[Sequence[float]] = None,
                     further_start: Optional[Sequence[Optional[ImageLike]]] = None, quick: bool = False,
                     regular: bool = False, best: bool = False, device_memory: Optional[int] = None, progress: Watcher = None,
                     context: Union[Context, Contexts, None] = None, **options: Unpack[AtlasOptions]) -> List[Atlas]:
    """Templates along a covariate (age, say) by kernel regression: as atlas(), a template for each value of `at`, in which a
    subject's weight is exp(-(covariate - at)^2 / (2 bandwidth^2)). All lie on one grid.

    covariate: a number for each image, as subjects(path, covariate="age").covariate. bandwidth: in its unit. The other parameters are atlas()'s.
    Returns a list of Atlas, in the order of `at`; subjects of too little weight for a template have share 0 there."""
    run = _Run(images, masks, labels, weights, names, (quick, regular, best), None, progress, options, further,
               channel_weights, further_start)
    known = numbers(_each("values of the covariate", covariate, run.count), "covariate", order="C")
    wanted = numbers(at, "at", order="C").ravel()
    double = ctypes.POINTER(ctypes.c_double)
    found: List[Atlas] = []
    failed: List[BaseException] = []

    def ready(_, __, result):
        try:
            one = result[0]
            found.append(Atlas(average=_copy(one.average), further=[_copy(one.further[i]) for i in range(len(run.further))],
                               labels=_copy(one.labels), **_parts(one)))
            return 0
        except BaseException as error:  # pylint: disable=broad-except
            failed.append(error)
            return _abi.CLVOX_ERROR_STOPPED
    regression = _abi.clvox_atlas_regression(covariate=known.ctypes.data_as(double), at=wanted.ctypes.data_as(double),
                                             count=len(wanted), bandwidth=bandwidth)
    regression.ready = _READY(ready)
    first = _opened(context, device_memory, run.struct)
    try:
        run.callback.call(lib.clvox_atlas_regress, first, run.subjects, run.count, optional(start), run.struct, regression)
    except Error:
        if failed:
            raise failed[0] from None
        raise
    return found
