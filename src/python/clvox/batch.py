# SPDX-License-Identifier: Apache-2.0
"""Many images at once: lists of pairs, of images to resample and of heads to label, and what a template will take."""
from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _abi, _results
from ._library import (Context, Contexts, Error, Progress, Result, Watcher, call, context_or_own, lib, one_of, option_texts, set_options,
                       sized, values, with_options, word, words)
from ._options import AtlasOptions, RegisterOptions, SegmentOptions
from ._typing import Unpack
from .registration import for_levels, preset
from .template import Subjects, _opened, _Run
from .transform import Inverse
from .volume import ImageLike, optional

Path = Union[str, os.PathLike[str]]
_NOTHING = lib.clvox_atlas_measure.argtypes[5]  # the callback
_FILES = ("fixed", "moving", "output", "fixed_mask", "moving_mask", "labels")
_PAIR = (*_FILES, "boundary")


class Pair(Result):
    """A pair of register_list(): fixed, moving, fixed_mask, moving_mask, labels, boundary and output (what its files begin with);
    files (those that it writes); state ("done", "present": an earlier run has made it, "failed", "waiting"); message (why it failed,
    or None); suspicions (a word each); metric_before, metric_after, ncc, folded, seconds (NaN: not known)."""
    fixed: str
    moving: str
    fixed_mask: Optional[str]
    moving_mask: Optional[str]
    labels: Optional[str]
    boundary: List[str]
    output: str
    files: List[str]
    state: str
    message: Optional[str]
    suspicions: List[str]
    metric_before: float
    metric_after: float
    ncc: float
    folded: float
    seconds: float


def _text(path: Optional[Path]) -> Optional[bytes]:
    return None if path is None else os.fsencode(path)


def _name(text: Optional[bytes]) -> Optional[str]:
    return None if text is None else os.fsdecode(text)


def _pair(row: Any) -> Pair:
    found = {name: _name(getattr(row, name)) for name in _FILES}
    numbers = {name: getattr(row, name) for name in ("metric_before", "metric_after", "ncc", "folded", "seconds")}
    return Pair(**found, **numbers, files=[_name(row.file[i]) for i in range(row.files)], message=_name(row.message),
                boundary=[_name(row.boundary[i]) for i in range(row.boundaries)],
                state=lib.clvox_pair_state_name(row.state).decode(), suspicions=(_name(row.suspicions) or "").split(",")
                if row.suspicions else [])


def _listed(rows: Any, struct: Any, found: Any, verb: str, noun: str, keys: Sequence[str], row_type: Any, read: Any, make: Any) -> None:
    """The list of a table, or of dictionaries and sequences."""
    if isinstance(rows, (str, os.PathLike)):
        call(read, os.fsencode(rows), struct, found)
        return
    made = (row_type * max(len(rows), 1))()
    for to, row in zip(made, rows):
        row = dict(row) if isinstance(row, dict) else dict(zip(keys, row))
        strange = [key for key in row if key not in keys]
        if strange:
            raise Error(f"{verb}: {noun} has no {strange[0]}; it has {', '.join(keys)}", kind=TypeError)
        if "transforms" in keys:
            to.transform, to.transforms = _words(row.pop("transforms", ()))
        if "boundary" in keys:
            to.boundary, to.boundaries = _words(row.pop("boundary", None) or ())
        for key, path in row.items():
            setattr(to, key, _text(path))
    call(make, made, len(rows), struct, found)


def _contexts(context: Union[Context, Contexts, None]) -> Any:
    """As many handles as there are, and their number."""
    if isinstance(context, Contexts):
        return context.all, len(context)
    return (ctypes.c_void_p * 1)(context_or_own(context)._as_parameter_), 1  # pylint: disable=protected-access


@with_options("register")
def register_list(pairs: Union[Path, Sequence[Union[Sequence[Path], Dict[str, Path]]]], folder: Optional[Path] = None, *,
                  derivatives: Optional[Path] = None, space: Optional[str] = None, summary: Optional[Path] = None,
                  fixed_mask: Optional[Path] = None, moving_mask: Optional[Path] = None, labels: Optional[Path] = None,
                  linear_fixed_mask: Optional[Path] = None, linear_moving_mask: Optional[Path] = None,
                  level_fixed_mask: Optional[Sequence[Optional[Path]]] = None, level_moving_mask: Optional[Sequence[Optional[Path]]] = None,
                  boundary: Union[Path, Sequence[Path]] = (), boundary_labels: Sequence[int] = (), boundary_contrast: str = "auto",
                  initial_warp: Optional[Path] = None, init: Optional[str] = None, quick: bool = False, regular: bool = False, best: bool = False,
                  picture: bool = True, report: bool = False, strict: bool = False, clobber: bool = True, jobs: int = 0,
                  dry_run: bool = False, progress: Watcher = None, context: Union[Context, Contexts, None] = None,
                  **options: Unpack[RegisterOptions]) -> List[Pair]:
    """Registers many pairs of files, and writes for each what `clvox register --list` writes: affine, warps, warped image, picture and
    log. What an earlier run has made from the same inputs by the same options stays as it is.

    pairs: a table with the columns fixed, moving, output and, if wanted, fixed_mask, moving_mask, labels, boundary; or a list of
    dictionaries or sequences of these, boundary being a file or several. folder: of the outputs. derivatives: instead of it, a folder of BIDS derivatives, in
    which names are made from the moving images'; space: the name of the fixed images' space there. summary: the table of the
    outcome (None: summary.tsv in the folder). fixed_mask, moving_mask, labels, boundary: of pairs that have none; boundary_labels,
    boundary_contrast: as of register(), and pairs with a boundary are registered as it does; linear_fixed_mask,
    linear_moving_mask: for the linear part of all, or "none"; level_fixed_mask, level_moving_mask: a file or None for each level of
    the deformation of all, coarse to fine. initial_warp: of all; WARP or [WARP,1], its inverse. init: as the option.
    picture, report: whether PNGs, and pages of HTML, are written. strict: suspicious results are failures. clobber: False: a
    pair of which a file is there fails. jobs: pairs written at once beside each registration (0: the threads, at most 4).
    dry_run: only finds what is there already. context: with Contexts several devices share the pairs. progress: called with a
    Step; what it raises stops, and the same call then goes on. True: a bar on standard error.
    Returns a Pair for each; of those that failed the message says why."""
    texts: Dict[str, Any] = {**options, "init": init}
    registration, struct = _abi.clvox_register_options(), sized(_abi.clvox_pairs_options)
    preset(registration, texts, quick, regular, best)
    registration.by_contrast = 1
    set_options("register", texts, registration)
    model = _abi.clvox_deform_text()
    if lib.clvox_deform_describe(registration.deform, model) and model.gives_inverse:
        registration.inverse = 1
    given = (ctypes.c_char_p * _abi.CLVOX_MAX_OPTIONS)()
    for name, text in zip(*option_texts("register", texts)):
        given[lib.clvox_option_find(lib.clvox_register_table(), name)] = text
    callback = Progress(progress)
    struct.registration, struct.given, struct.progress = ctypes.pointer(registration), given, callback.pointer
    struct.preset = b"quick" if quick else b"regular" if regular else b"best" if best else b"default"
    for name, path in (("folder", folder), ("derivatives", derivatives), ("space", space), ("summary", summary), ("fixed_mask", fixed_mask),
                       ("moving_mask", moving_mask), ("labels", labels), ("linear_fixed_mask", linear_fixed_mask),
                       ("linear_moving_mask", linear_moving_mask), ("initial_warp", initial_warp)):
        setattr(struct, name, _text(path))
    for name, masks in (("level_fixed_mask", level_fixed_mask), ("level_moving_mask", level_moving_mask)):
        for level, path in enumerate(for_levels(name, masks, registration) or ()):
            getattr(struct, name)[level] = b"none" if path is None else _text(path)
    struct.no_picture, struct.report, struct.strict, struct.no_clobber = not picture, report, strict, not clobber
    struct.jobs, struct.dry_run = jobs, dry_run
    struct.boundary, struct.boundaries = _words(boundary)
    struct.boundary_label, struct.boundary_labels = (ctypes.c_int * max(len(boundary_labels), 1))(*boundary_labels), len(boundary_labels)
    struct.boundary_contrast = one_of(words("CLVOX_BOUNDARY_"), boundary_contrast, "boundary_contrast")
    found = ctypes.POINTER(_abi.clvox_pairs)()
    _listed(pairs, struct, found, "register_list", "a pair", _PAIR, _abi.clvox_pair, lib.clvox_pairs_read, lib.clvox_pairs_make)
    try:
        handles, count = _contexts(context)
        try:
            callback.call(lib.clvox_register_list, found, struct, handles, count)
        except Error as error:
            if error.status != _abi.CLVOX_ERROR_DATA:  # of pairs that failed, their rows say so
                raise
        return [_pair(found[0].pair[i]) for i in range(found[0].count)]
    finally:
        lib.clvox_pairs_destroy(found)


_ROW = ("input", "output", "reference", "transforms")


class Applied(Result):
    """An image of apply_list(): input, output, reference, transforms; state ("done", "present": an earlier run has made it, "failed",
    "waiting"); message (why it failed, or None)."""
    input: str
    output: str
    reference: str
    transforms: List[str]
    state: str
    message: Optional[str]


def _words(transforms: Any) -> Any:
    """Files of a chain as the library reads them, and how many."""
    if isinstance(transforms, (str, bytes, os.PathLike, Inverse)):
        transforms = [transforms]
    found = [os.fsencode(one.transform) + b",-1" if isinstance(one, Inverse) else os.fsencode(one) for one in transforms]
    return (ctypes.c_char_p * max(len(found), 1))(*found), len(found)


def apply_list(images: Union[Path, Sequence[Union[Sequence[Any], Dict[str, Any]]]], reference: Optional[Path] = None,
               transforms: Any = (), *, interp: str = "auto", outside: float = 0.0, frame: Optional[int] = None,
               forward: Optional[str] = None, summary: Optional[Path] = None, jobs: int = 0, progress: Watcher = None,
               context: Optional[Context] = None) -> List[Applied]:
    """Resamples many files, as `clvox apply --list` does; the next is read and the last ones are written meanwhile.

    images: a table with the columns input, output and, if wanted, reference and transforms; or a list of dictionaries or sequences
    of these, transforms being files or inverse() of one. reference, transforms: of images that have none. interp, outside: as of
    apply(). frame: only this volume of a series. forward: "mean" or "mass" carry the voxels through the chain instead, from fixed to
    moving. summary: a table of the outcome, by which a later call passes over what is complete. jobs: images written at once (0: the
    threads, at most 4). progress: called with a Step; what it raises stops, and the same call then goes on. True: a bar on standard
    error. Returns an Applied for each; of those that failed the message says why."""
    how = sized(_abi.clvox_apply_options, interpolation=word("CLVOX_INTERPOLATE_", interp, "interp"), outside=outside)
    callback = Progress(progress)
    struct = sized(_abi.clvox_apply_list_options, apply=ctypes.pointer(how), frame=-1 if frame is None else frame, reference=_text(reference),
                   summary=_text(summary), jobs=jobs, progress=callback.pointer)
    struct.transform, struct.transforms = _words(transforms)
    if forward is not None:
        struct.forward, struct.landing = 1, word("CLVOX_LANDING_", forward, "forward")
    found = ctypes.POINTER(_abi.clvox_apply_rows)()
    _listed(images, struct, found, "apply_list", "an image", _ROW, _abi.clvox_apply_row, lib.clvox_apply_rows_read,
            lib.clvox_apply_rows_make)
    try:
        try:
            callback.call(lib.clvox_apply_list, found, struct, context_or_own(context))
        except Error as error:
            if error.status != _abi.CLVOX_ERROR_DATA:  # of images that failed, their rows say so
                raise
        rows = [found[0].row[i] for i in range(found[0].count)]
        return [Applied(input=_name(row.input), output=_name(row.output), reference=_name(row.reference),
                        transforms=[_name(row.transform[i]) for i in range(row.transforms)],
                        state=lib.clvox_pair_state_name(row.state).decode(), message=_name(row.message)) for row in rows]
    finally:
        lib.clvox_apply_rows_destroy(found)


_HEAD = ("image", "output")


class Labelled(Result):
    """A head of segment_list(): image, output (what its files begin with); files (those that it writes); state ("done", "present": an
    earlier run has made it, "failed", "waiting"); message (why it failed, or None); atlases (that were used) and labels (0: not known);
    brain_ml and seconds (NaN: not known)."""
    image: str
    output: str
    files: List[str]
    state: str
    message: Optional[str]
    atlases: int
    labels: int
    brain_ml: float
    seconds: float


@with_options("segment")
def segment_list(heads: Union[Path, Sequence[Union[Sequence[Path], Dict[str, Path]]]], atlases: Path, folder: Optional[Path] = None, *,
                 names: Optional[Path] = None, derivatives: Optional[Path] = None, summary: Optional[Path] = None,
                 clobber: bool = True, jobs: int = 0, progress: Watcher = None, context: Union[Context, Contexts, None] = None,
                 **options: Unpack[SegmentOptions]) -> List[Labelled]:
    """Labels many files by the same atlases, and writes for each what `clvox segment --list` writes. What an earlier run has made from
    the same files by the same options stays as it is.

    heads: a table with the columns image and output; or a list of dictionaries or sequences of these. atlases: a table with the columns
    image, labels and mask. names: a table of the labels' names. folder: of the outputs. derivatives: instead of it, a folder of BIDS
    derivatives. summary: the table of the outcome (None: summary.tsv in the folder). clobber: False: a head of which a file is there
    fails. jobs: heads written at once beside each that is labelled (0: the threads, at most 4). context: with Contexts several devices
    share the heads. progress: called with a Step; what it raises stops, and the same call then goes on. True: a bar on standard error.
    Returns a Labelled for each; of those that failed the message says why."""
    how = _abi.clvox_segment_options()
    lib.clvox_segment_defaults(how)
    set_options("segment", options, how)
    callback = Progress(progress)
    struct = sized(_abi.clvox_segment_list_options, segment=ctypes.pointer(how), atlases=_text(atlases), names=_text(names), folder=_text(folder),
                   derivatives=_text(derivatives), summary=_text(summary), no_clobber=not clobber, jobs=jobs, progress=callback.pointer)
    found = ctypes.POINTER(_abi.clvox_segment_rows)()
    _listed(heads, struct, found, "segment_list", "a head", _HEAD, _abi.clvox_segment_row, lib.clvox_segment_rows_read,
            lib.clvox_segment_rows_make)
    try:
        handles, count = _contexts(context)
        try:
            callback.call(lib.clvox_segment_list, found, struct, handles, count)
        except Error as error:
            if error.status != _abi.CLVOX_ERROR_DATA or not found[0].summary_written:  # of heads that failed, their rows say so
                raise
        rows = [found[0].row[i] for i in range(found[0].count)]
        return [Labelled(image=_name(row.image), output=_name(row.output), files=[_name(row.file[i]) for i in range(row.files)],
                         state=lib.clvox_pair_state_name(row.state).decode(), message=_name(row.message), atlases=row.atlases,
                         labels=row.labels, brain_ml=row.brain_ml, seconds=row.seconds) for row in rows]
    finally:
        lib.clvox_segment_rows_destroy(found)


class Plan(_results.AtlasPlan):
    """What a template will take, as atlas_plan() predicts it: devices, processes, subjects; seconds of the parts, reading,
    opening, once, linear, deformable, centring, averaging, waiting, writing, and of all; host_bytes and disk_bytes of a
    process, state_bytes of a subject in `state`."""


@with_options("atlas")
def atlas_plan(images: Union[Sequence[ImageLike], Subjects, Path], *, devices: Sequence[int] = (), subjects: Optional[int] = None,
               masks: Optional[Sequence[Optional[ImageLike]]] = None, labels: Optional[Sequence[Optional[ImageLike]]] = None,
               further: Optional[Sequence[Sequence[ImageLike]]] = None, channel_weights: Optional[Sequence[float]] = None,
               start: Optional[ImageLike] = None, quick: bool = False, regular: bool = False, best: bool = False,
               device_memory: Optional[int] = None, progress: Watcher = None, context: Union[Context, Contexts, None] = None,
               **options: Unpack[AtlasOptions]) -> List[Plan]:
    """Registers a few of the subjects and predicts what atlas() of all of them takes: a Plan for the devices of `context`, then one
    for each number in devices, a process each. subjects: predict for so many (None: those given). The other parameters are
    atlas()'s; files are not written, and their seconds not counted."""
    mark = time.monotonic()
    run = _Run(images, masks, labels, None, None, (quick, regular, best), None, progress, options, further, channel_weights)
    costs = _abi.clvox_atlas_costs(at_once=1, reading=(time.monotonic() - mark) / max(run.count, 1))
    first = _opened(context, device_memory, run.struct)
    here = len(context) if isinstance(context, Contexts) else 1
    run.callback.call(lib.clvox_atlas_measure, first, run.subjects, run.count, optional(start), run.struct, _NOTHING(), costs)
    plans = []
    for count, processes in [(here, 1)] + [(n, n) for n in devices]:
        plan = _abi.clvox_atlas_plan(devices=count, processes=processes, subjects=subjects or run.count)
        lib.clvox_atlas_predict(costs, run.struct, None, run.count, plan)
        plans.append(values(plan, Plan))
    return plans
