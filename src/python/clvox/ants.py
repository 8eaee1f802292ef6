# SPDX-License-Identifier: Apache-2.0
"""ANTsPy's calls and result names, so that a script can be tried with clvox by changing its import:

    import clvox.ants as ants
    reg = ants.registration(fixed, moving, "SyN")
    warped = ants.apply_transforms(fixed, moving, reg["fwdtransforms"])

Images are those of clvox (Volume, file names, nibabel images, pairs) or of ANTsPy; what comes back are Volumes. The computation
is clvox.register's, with its defaults: results differ from those of ANTs. Arguments that have no counterpart are passed over
with a warning."""
from __future__ import annotations

import inspect
import os
import re
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from . import filter as filters
from ._library import Context, Error
from .registration import register
from .transform import apply, inverse, jacobian, read_affine, write_affine
from .volume import ImageLike, Volume, is_matrix, read, volume

Chain = Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]

# Of each type: the options of register. The linear part goes by MI, as that of ANTs.
_TYPES: Dict[str, Dict[str, Any]] = {
    "Translation": {"linear": "translation", "deform": "none"}, "Rigid": {"linear": "rigid", "deform": "none"},
    "QuickRigid": {"linear": "rigid", "deform": "none"}, "DenseRigid": {"linear": "rigid", "deform": "none"},
    "BOLDRigid": {"linear": "rigid", "deform": "none"}, "Similarity": {"linear": "similarity", "deform": "none"},
    "Affine": {"deform": "none"}, "AffineFast": {"deform": "none"}, "BOLDAffine": {"deform": "none"}, "TRSAA": {"deform": "none"},
    "SyN": {}, "SyNRA": {}, "ElasticSyN": {}, "SyNCC": {"metric": "mi,lncc:4"}, "SyNabp": {"metric": "mi"},
    "SyNBold": {"linear": "rigid"}, "SyNBoldAff": {}, "SyNAggro": {"best": True}, "SyNOnly": {"linear": "none"},
    "TVMSQ": {"deform": "lddmm", "metric": "mi,ssd"}, "TVMSQC": {"deform": "lddmm", "metric": "mi,ssd"},
}
_LETTERS: Dict[str, Dict[str, Any]] = {
    "t": {"linear": "translation", "deform": "none"}, "r": {"linear": "rigid", "deform": "none"}, "a": {"deform": "none"}, "s": {},
    "sr": {"linear": "rigid"}, "so": {"linear": "none"}, "b": {}, "br": {"linear": "rigid"}, "bo": {"linear": "none"}}
_METRICS = {"mattes": "mi", "mi": "mi", "gc": "ncc", "meansquares": "ssd", "demons": "ssd", "cc": "lncc"}
_INTERPOLATORS = {"linear": "linear", "nearestneighbor": "nearest", "multilabel": "label", "genericlabel": "label",
                  "bspline": "bspline", "lanczoswindowedsinc": "lanczos", "welchwindowedsinc": "lanczos",
                  "hammingwindowedsinc": "lanczos", "cosinewindowedsinc": "lanczos"}


def _own(image: Any) -> Any:
    """An image of ANTsPy as a Volume; others as they are."""
    if image is None or not all(hasattr(image, name) for name in ("numpy", "spacing", "origin", "direction")):
        return image
    if len(image.spacing) < 3:
        raise Error("clvox.ants: 2-D images are not supported")
    direction, flip = np.asarray(image.direction, dtype=np.float64), np.diag([-1., -1, 1])
    affine = np.eye(4)
    affine[:3, :3] = flip @ direction[:3, :3] @ np.diag(image.spacing[:3])
    affine[:3, 3] = flip @ np.asarray(image.origin, dtype=np.float64)[:3]
    return Volume(image.numpy(), affine)


def _passed_over(function: str, given: Dict[str, Any]) -> None:
    for name in given:
        warnings.warn(f"clvox.ants.{function}: {name} has no counterpart and is passed over", stacklevel=3)


def _type(name: str) -> Dict[str, Any]:
    if name in _TYPES:
        return dict(_TYPES[name])
    match = re.fullmatch(r"antsRegistrationSyN(Quick)?(?:Repro)?\[(\w+)(?:,[\d,]+)?\]", name)
    if match and match[2] in _LETTERS:
        options = dict(_LETTERS[match[2]])
        if match[1] and "deform" not in options:
            options.update(quick=True, deform="syn")
        return options
    raise Error(f"registration: type_of_transform {name!r} has no counterpart; there are {', '.join(_TYPES)} and "
                "antsRegistrationSyN[s], antsRegistrationSyNQuick[s] with t, r, a, s, sr, so, b, br, bo")


def _metric(name: str, radius: Optional[int]) -> str:
    if name.lower() not in _METRICS:
        raise Error(f"registration: the metric {name!r} has no counterpart; there are {', '.join(_METRICS)}")
    own = _METRICS[name.lower()]
    return f"{own}:{radius}" if radius and own == "lncc" else own


def _start(given: Any) -> Any:
    """initial_transform as register takes it: the affines of a list as one."""
    if isinstance(given, (list, tuple)) and not is_matrix(given):
        if len(given) > 1:
            matrix = np.eye(4)
            for one in given:  # as in a chain, images go through the last one first, and points through the first
                matrix = _affine(one) @ matrix
            return matrix
        given = given[0] if given else None
    return "identity" if isinstance(given, str) and given.lower() == "identity" else given


def _affine(one: Any) -> np.ndarray:
    if isinstance(one, str) and one.lower() == "identity":
        return np.eye(4)
    if is_matrix(one):
        return np.asarray(one, dtype=np.float64)
    if not isinstance(one, (str, bytes, os.PathLike)):
        raise Error(f"registration: initial_transform has a {type(one).__name__}; a list is of files with an affine, matrices "
                    "and \"identity\"")
    try:
        return read_affine(one)
    except Error as error:
        raise Error(f"registration: a list as initial_transform is of affines, which become one: {error}", error.status) from None


def image_read(filename: Union[str, os.PathLike[str]], **more: Any) -> Volume:
    """Reads an image."""
    _passed_over("image_read", more)
    return read(filename)


def image_write(image: Any, filename: Union[str, os.PathLike[str]], **more: Any) -> None:
    """Writes an image."""
    _passed_over("image_write", more)
    volume(_own(image)).write(filename)


def registration(fixed: ImageLike, moving: ImageLike, type_of_transform: str = "SyN", initial_transform: Any = None,
                 outprefix: str = "", mask: Optional[ImageLike] = None, moving_mask: Optional[ImageLike] = None,
                 aff_metric: Optional[str] = None, syn_metric: Optional[str] = None, syn_sampling: Optional[int] = None,
                 reg_iterations: Optional[Sequence[int]] = None, restrict_transformation: Optional[Sequence[float]] = None,
                 verbose: bool = False, write_composite_transform: bool = False, *, context: Optional[Context] = None,
                 **more: Any) -> Dict[str, Any]:
    """Registers moving to fixed. Returns a dictionary:

    warpedmovout: moving on the grid of fixed; warpedfixout: fixed on the grid of moving (Volumes);
    fwdtransforms: names of files, for apply_transforms(fixed, moving, ...), as ANTs reads them: OUTPREFIX1Warp.nii.gz and
    OUTPREFIX0GenericAffine.mat; invtransforms: those of the way back, the affine and OUTPREFIX1InverseWarp.nii.gz.
    outprefix: "": files in a temporary folder. initial_transform: a file with an affine, or "identity"; of a
    list the affines become one, the last of which is applied first. reg_iterations: of the deformation; none above 0: there is
    none."""
    _passed_over("registration", more)
    if write_composite_transform:
        raise Error("registration: write_composite_transform is not supported; clvox.compose makes one warp of fwdtransforms, "
                    "and its write() a file")
    fixed_image, moving_image = volume(_own(fixed)), volume(_own(moving))
    options = _type(type_of_transform)
    metrics = [_metric(aff_metric, None) if aff_metric else None, _metric(syn_metric, syn_sampling) if syn_metric else None]
    if any(metrics):
        own = str(options.get("metric", "mi,lncc")).split(",")
        options["metric"] = ",".join([metrics[0] or own[0], metrics[1] or own[-1]])
    if reg_iterations is not None and options.get("deform") == "none":
        warnings.warn(f"clvox.ants.registration: {type_of_transform} has no deformation; reg_iterations is passed over", stacklevel=2)
    elif reg_iterations is not None:
        counts = list(reg_iterations)
        steps = [2 ** (len(counts) - 1 - i) for i in range(len(counts))]
        kept = [(n, s) for n, s in zip(counts, steps) if n > 0]
        options.update({"iterations": [n for n, _ in kept], "shrink": [s for _, s in kept]} if kept else {"deform": "none"})
    if restrict_transformation is not None:
        options["restrict"] = "x".join(str(v) for v in restrict_transformation)
    linear = options.get("deform") == "none"
    result = register(fixed_image, moving_image, init=_start(initial_transform), fixed_mask=_own(mask), moving_mask=_own(moving_mask),
                      inverse=not linear, progress=verbose, context=context, **options)
    prefix = os.fspath(outprefix) or os.path.join(tempfile.mkdtemp(prefix="clvox"), "")
    affine, warp, back = (prefix + end for end in ("0GenericAffine.mat", "1Warp.nii.gz", "1InverseWarp.nii.gz"))
    write_affine(result.matrix, affine)
    if result.warp is not None:
        result.warp.write(warp)
        result.inverse_warp.write(back)
    forward = [affine] if result.warp is None else [warp, affine]
    backward = [affine] if result.warp is None else [affine, back]
    return {"warpedmovout": result.warped, "fwdtransforms": forward, "invtransforms": backward,
            "warpedfixout": apply_transforms(moving_image, fixed_image, backward, whichtoinvert=[True, False][:len(backward)],
                                             context=context)}


def apply_transforms(fixed: ImageLike, moving: ImageLike, transformlist: Chain, interpolator: str = "linear",
                     imagetype: int = 0, whichtoinvert: Optional[Sequence[bool]] = None, defaultvalue: float = 0.0,
                     verbose: bool = False, compose: Optional[str] = None, *, context: Optional[Context] = None,
                     **more: Any) -> Volume:
    """moving on the grid of fixed, through files of transforms, the last of which is applied first. whichtoinvert: affines
    that are to be inverted; None: of an affine followed by a warp the affine, as ANTsPy does."""
    del imagetype, verbose
    _passed_over("apply_transforms", more)
    if compose:
        raise Error("apply_transforms: compose is not supported; clvox.compose makes one warp of transforms, and its write() a file")
    if interpolator.lower() not in _INTERPOLATORS:
        raise Error(f"apply_transforms: the interpolator {interpolator!r} has no counterpart; there are "
                    f"{', '.join(_INTERPOLATORS)}")
    files = [transformlist] if isinstance(transformlist, (str, os.PathLike)) else list(transformlist)
    affine = [os.fspath(name).endswith((".mat", ".txt")) for name in files]
    turned = list(whichtoinvert) if whichtoinvert is not None else (
        [True, False] if affine == [True, False] else [False] * len(files))
    if len(turned) != len(files):
        raise Error(f"apply_transforms: whichtoinvert has {len(turned)} values for {len(files)} transforms")
    chain: List[Any] = [inverse(name) if back else name for name, back in zip(files, turned)]
    return apply(_own(moving), _own(fixed), chain, interp=_INTERPOLATORS[interpolator.lower()], outside=defaultvalue,
                 context=context)


def create_jacobian_determinant_image(domain_image: ImageLike, tx: Union[str, os.PathLike[str], Volume], do_log: bool = False,
                                      geom: bool = False, *, context: Optional[Context] = None) -> Volume:
    """The determinant of a warp's Jacobian, or its logarithm, on the warp's grid, which is that of domain_image."""
    del domain_image
    if geom:
        _passed_over("create_jacobian_determinant_image", {"geom": geom})
    return jacobian(tx, log=do_log, context=context)[0]


def n4_bias_field_correction(image: ImageLike, mask: Optional[ImageLike] = None, return_bias_field: bool = False, *,
                             context: Optional[Context] = None, **more: Any) -> Volume:
    """An image without its bias field, or the field."""
    _passed_over("n4_bias_field_correction", more)
    return filters.n4(_own(image), _own(mask), context=context)[int(bool(return_bias_field))]


__all__ = [name for name, thing in list(globals().items()) if inspect.isfunction(thing) and not name.startswith("_") and
           thing.__module__ == __name__]
