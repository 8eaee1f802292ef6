# SPDX-License-Identifier: Apache-2.0
"""Comparisons of images, and permutation tests of maps."""
from __future__ import annotations

import ctypes
from typing import List, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _results
from ._library import Context, Error, Progress, Result, Watcher, call, context_or_own, lib, numbers, set_options, values, with_options, words
from ._options import EntropyOptions, StatsOptions
from ._typing import Unpack
from .volume import ImageLike, optional, several, volume


@with_options("stats")
def stats(maps: Union[Sequence[ImageLike], ImageLike], tested: Optional[npt.ArrayLike] = None,
          covariates: Optional[npt.ArrayLike] = None, mask: Optional[ImageLike] = None, *,
          progress: Watcher = None, context: Optional[Context] = None,
          **options: Unpack[StatsOptions]) -> _results.StatsResult:
    """Permutation tests of maps, one a subject, voxel by voxel (Freedman and Lane).

    maps: a list of images on one grid, or one with a frame for each subject.
    tested: a number for each subject, 0 and 1 for two groups; None: the mean against 0.
    covariates: nuisances, an array of subjects x columns. mask: what is above 0 is a family of tests.
    progress: called with a Step (stage, fraction of the work done, ...); what it raises stops. True: a bar on standard error.
    Returns an object with t and tfce (of tfce=True), each with statistic, p and p_fwe (Volumes or None), threshold,
    significant and more, and dof, permutations, exact, tested, as clvox_stats_result of include/clvox/stats.h documents
    them."""
    held = [volume(m).struct() for m in several(maps)]
    subjects = len(held) if len(held) > 1 else held[0].frames if held else 0
    pointers = (ctypes.POINTER(_abi.clvox_volume) * max(len(held), 1))(*[ctypes.pointer(h) for h in held])
    doubles = ctypes.POINTER(ctypes.c_double)
    design = _abi.clvox_stats_design(subjects=subjects)
    if tested is not None:
        column = numbers(tested, "tested", order="C")
        if column.shape != (subjects,):
            raise Error(f"stats: {column.size} numbers are tested, and there are {subjects} maps; give one for each")
        design.tested = column.ctypes.data_as(doubles)
    if covariates is not None:
        columns = numbers(covariates, "covariates")
        columns = columns[:, None] if columns.ndim == 1 else columns
        if columns.ndim != 2 or len(columns) != subjects:
            raise Error(f"stats: covariates are an array of {subjects} rows, one for each map")
        columns = np.asfortranarray(columns)
        design.covariates, design.covariate_count = columns.ctypes.data_as(doubles), columns.shape[1]
    struct, result = _abi.clvox_stats_options(), _abi.clvox_stats_result()
    lib.clvox_stats_defaults(struct)
    set_options("stats", options, struct)
    callback = Progress(progress)
    struct.progress = callback.pointer
    callback.call(lib.clvox_stats, context_or_own(context), pointers, len(held), design, optional(mask), struct, result)
    return values(result)


class Entropy(Result):
    """What entropy() found."""
    lowest: float
    highest: float
    asked: int
    counted: int
    subjects: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray


@with_options("entropy")
def entropy(images: Union[Sequence[ImageLike], ImageLike], mask: Optional[ImageLike] = None, *,
            progress: Watcher = None, **options: Unpack[EntropyOptions]) -> Entropy:
    """Entropy in bits of a template's intensity against the number of its subjects: how many are enough.

    images: a list of images on one grid, or one with a frame for each subject. mask: what is above 0 counts.
    progress: called with a Step (stage, fraction of the work done, ...); what it raises stops. True: a bar on standard error.
    Returns an object with arrays, for 1, 2, ... subjects: subjects, mean and sd over the draws, low and high (the mean's
    95 % interval by bootstrap), and lowest, highest, asked, counted."""
    held = [volume(m).struct() for m in several(images)]
    pointers = (ctypes.POINTER(_abi.clvox_volume) * max(len(held), 1))(*[ctypes.pointer(h) for h in held])
    struct, result = _abi.clvox_entropy_options(), _abi.clvox_entropy_result()
    lib.clvox_entropy_defaults(struct)
    set_options("entropy", options, struct)
    callback = Progress(progress)
    struct.progress = callback.pointer
    callback.call(lib.clvox_entropy, pointers, len(held), optional(mask), struct, result)
    try:
        columns = {name: np.array([getattr(result.row[k], name) for k in range(result.rows)])
                   for name in ("subjects", "mean", "sd", "low", "high")}
    finally:
        lib.clvox_entropy_result_destroy(result)
    return Entropy(lowest=result.lowest, highest=result.highest, asked=result.asked, counted=result.counted, **columns)


class Comparison(_results.ImageComparison, _results.WarpComparison):
    """What compare() found: of images or of warps."""
    ssd: float
    ncc: float
    lncc: float
    mi: float


def compare(a: ImageLike, b: ImageLike, mask: Optional[ImageLike] = None, *, radius: Optional[int] = None,
            bins: Optional[int] = None) -> Comparison:
    """How alike two images, or two warps, on one grid are, where mask is above 0.

    Images: ssd, ncc, lncc (in cubes of 2 radius + 1 voxels), mi and nmi (of so many bins), rms, largest, differing and
    values. Warps: mean_mm, p95_mm, max_mm of the end-point error, the same in voxels, and voxels."""
    first, second = volume(a), volume(b)
    if first.kind == second.kind == "displacement":
        warps = _abi.clvox_warp_comparison()
        call(lib.clvox_compare_warps, first.struct(), second.struct(), optional(mask), warps)
        return values(warps, Comparison)
    options, found = _abi.clvox_compare_options(), _abi.clvox_image_comparison()
    lib.clvox_compare_defaults(options)
    for metric, given in ((_abi.CLVOX_METRIC_LNCC, radius), (_abi.CLVOX_METRIC_MI, bins)):
        if given is not None:
            options.parameter[metric] = given
    call(lib.clvox_compare_images, first.struct(), second.struct(), optional(mask), options, found)
    result = values(found, Comparison)
    for name, at in words("CLVOX_METRIC_").items():
        if np.isfinite(result.metric[at]):
            setattr(result, name, float(result.metric[at]))
    return result


def compare_labels(a: ImageLike, b: ImageLike, mask: Optional[ImageLike] = None) -> List[_results.LabelComparison]:
    """Overlap and distance of two label maps on one grid, a row for each label: label, voxels_a, voxels_b, voxels_both,
    dice, jaccard, hausdorff95 (mm), target_overlap (voxels_both over voxels_b)."""
    rows = ctypes.POINTER(_abi.clvox_label_comparison)()
    count = call(lib.clvox_compare_labels, volume(a).struct(), volume(b).struct(), optional(mask), rows)
    try:
        return [values(rows[i]) for i in range(count)]
    finally:
        lib.clvox_label_comparison_destroy(rows)
