# SPDX-License-Identifier: Apache-2.0
"""ANTsPy's calls and result names, so that a script can be tried with clvox by changing its import:

    import clvox.ants as ants
    reg = ants.registration(fixed, moving, "SyN")
    warped = ants.apply_transforms(fixed, moving, reg["fwdtransforms"])

Images are those of clvox (Volume, file names, nibabel images, pairs) or of ANTsPy; what comes back are Images, Volumes with
numpy(), spacing, origin and direction as ANTsPy's have them. The computation is clvox.register's, with its defaults: results differ from those of ANTs. Arguments that have no counterpart are passed over
with a warning."""
from __future__ import annotations

import inspect
import operator
import os
import re
import tempfile
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _mask
from . import filter as filters
from ._library import Context, Error, numbers
from .registration import register
from .statistics import compare_labels
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
                  "gaussian": "gaussian", "bspline": "bspline", "lanczoswindowedsinc": "lanczos", "welchwindowedsinc": "lanczos",
                  "hammingwindowedsinc": "lanczos", "cosinewindowedsinc": "lanczos"}


_FLIP = np.diag([-1., -1, 1])  # between RAS and LPS


class Image(Volume):
    """A Volume with what images of ANTsPy have: a frame in LPS, and arithmetic with images and numbers."""
    dimension = 3

    @classmethod
    def of(cls, image: Volume) -> Image:
        """The same values."""
        self = cls.__new__(cls)
        self.__dict__.update(vars(image))
        return self

    @property
    def spacing(self) -> Tuple[float, ...]:  # type: ignore[override]
        """Edges of a voxel in mm."""
        return tuple(map(float, super().spacing))

    @property
    def origin(self) -> Tuple[float, ...]:
        """The place of the first voxel in LPS mm."""
        return tuple(map(float, _FLIP @ self.affine[:3, 3]))

    @property
    def direction(self) -> np.ndarray:
        """The directions of the axes in LPS, a column each."""
        return _FLIP @ self.affine[:3, :3] / np.array(self.spacing)

    def numpy(self) -> np.ndarray:
        """A copy of the values."""
        return self.data.copy()

    def new_image_like(self, data: Any) -> Image:
        """Other values in its place."""
        return Image(data, self.affine)

    def __getitem__(self, at: Any) -> Any:
        return self.data[at]

    def _by(self, function: Callable[..., Any], *others: Any) -> Image:
        return self.new_image_like(function(self.data, *[np.asarray(o) if isinstance(o, Volume) else o for o in others]))

    def __add__(self, other: Any) -> Image:
        return self._by(operator.add, other)

    def __sub__(self, other: Any) -> Image:
        return self._by(operator.sub, other)

    def __mul__(self, other: Any) -> Image:
        return self._by(operator.mul, other)

    def __truediv__(self, other: Any) -> Image:
        return self._by(operator.truediv, other)

    def __gt__(self, other: Any) -> Image:
        return self._by(operator.gt, other)

    def __lt__(self, other: Any) -> Image:
        return self._by(operator.lt, other)

    def mean(self) -> float:
        """The mean of the values."""
        return float(self.data.mean(dtype=np.float64))

    def min(self) -> float:
        """The least value."""
        return float(self.data.min())

    def max(self) -> float:
        """The largest value."""
        return float(self.data.max())


def from_numpy(data: Any, origin: Optional[Sequence[float]] = None, spacing: Optional[Sequence[float]] = None,
               direction: Optional[Any] = None) -> Image:
    """An image of an array (x, y, z), in a frame of LPS."""
    if np.ndim(data) != 3:
        raise Error(f"clvox.ants: images have 3 axes; this array has {np.ndim(data)}")
    affine = np.eye(4)
    affine[:3, :3] = _FLIP @ (np.eye(3) if direction is None else numbers(direction, "direction")) @ np.diag(spacing or np.ones(3))
    affine[:3, 3] = _FLIP @ (np.zeros(3) if origin is None else numbers(origin, "origin"))
    return Image(data, affine)


def _own(image: Any) -> Any:
    """An image of ANTsPy as a Volume; others as they are."""
    if image is None or isinstance(image, Volume) or not all(hasattr(image, name) for name in ("numpy", "spacing", "origin", "direction")):
        return image
    if len(image.spacing) < 3:
        raise Error("clvox.ants: 2-D images are not supported")
    frame = from_numpy(np.zeros((1, 1, 1)), image.origin[:3], image.spacing[:3], np.asarray(image.direction)[:3, :3])
    return Image(image.numpy(), frame.affine)


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
        return numbers(one, "a matrix")
    if not isinstance(one, (str, bytes, os.PathLike)):
        raise Error(f"registration: initial_transform has a {type(one).__name__}; a list is of files with an affine, matrices "
                    "and \"identity\"")
    try:
        return read_affine(one)
    except Error as error:
        raise Error(f"registration: a list as initial_transform is of affines, which become one: {error}", error.status) from None


def image_read(filename: Union[str, os.PathLike[str]], **more: Any) -> Image:
    """Reads an image."""
    _passed_over("image_read", more)
    return Image.of(read(filename))


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

    warpedmovout: moving on the grid of fixed; warpedfixout: fixed on the grid of moving (Images);
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
    return {"warpedmovout": Image.of(result.warped), "fwdtransforms": forward, "invtransforms": backward,
            "warpedfixout": apply_transforms(moving_image, fixed_image, backward, whichtoinvert=[True, False][:len(backward)],
                                             context=context)}


def apply_transforms(fixed: ImageLike, moving: ImageLike, transformlist: Chain, interpolator: str = "linear",
                     imagetype: int = 0, whichtoinvert: Optional[Sequence[bool]] = None, defaultvalue: float = 0.0,
                     verbose: bool = False, compose: Optional[str] = None, *, context: Optional[Context] = None,
                     **more: Any) -> Image:
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
    return Image.of(apply(_own(moving), _own(fixed), chain, interp=_INTERPOLATORS[interpolator.lower()], outside=defaultvalue,
                          context=context))


def create_jacobian_determinant_image(domain_image: ImageLike, tx: Union[str, os.PathLike[str], Volume], do_log: bool = False,
                                      geom: bool = False, *, context: Optional[Context] = None) -> Image:
    """The determinant of a warp's Jacobian, or its logarithm, on the warp's grid, which is that of domain_image."""
    del domain_image
    if geom:
        _passed_over("create_jacobian_determinant_image", {"geom": geom})
    return Image.of(jacobian(tx, log=do_log, context=context)[0])


def n4_bias_field_correction(image: ImageLike, mask: Optional[ImageLike] = None, return_bias_field: bool = False, *,
                             context: Optional[Context] = None, **more: Any) -> Image:
    """An image without its bias field, or the field."""
    _passed_over("n4_bias_field_correction", more)
    return Image.of(filters.n4(_own(image), _own(mask), context=context)[int(bool(return_bias_field))])


def get_mask(image: ImageLike, low_thresh: Optional[float] = None, high_thresh: Optional[float] = None, cleanup: int = 2) -> Image:
    """1 where an image is from low_thresh (None: its mean) to high_thresh (None: its largest value). cleanup: radius in voxels
    of the ball that first shrinks this, before its largest component is grown again and its holes are filled; a smaller one
    where nothing is left; 0: none."""
    held = Image.of(volume(_own(image)))
    inside = (held.data >= (held.mean() if low_thresh is None else low_thresh)) & (
        held.data <= (held.max() if high_thresh is None else high_thresh))
    found = inside
    for radius in range(int(cleanup), 0, -1):
        found = _mask.filled(_mask.grown(_mask.largest(_mask.shrunk(inside, radius)), radius))
        if found.any() and not found.all():
            break
        found = inside
    return held.new_image_like(found)


def resample_image(image: ImageLike, resample_params: Sequence[float], use_voxels: bool = False, interp_type: int = 1, *,
                   context: Optional[Context] = None) -> Image:
    """An image on voxels of other edges (mm), or with use_voxels on so many of them, its first voxel staying in its place.
    interp_type: 0 linear, 1 nearest neighbour, 3 windowed sinc, 4 B-spline."""
    kinds = {0: "linear", 1: "nearest", 3: "lanczos", 4: "bspline"}
    if interp_type not in kinds:
        raise Error(f"resample_image: interp_type {interp_type!r} has no counterpart; there are 0, 1, 3 and 4")
    if len(resample_params) != 3 or min(resample_params) <= 0:
        raise Error("resample_image: resample_params are three numbers above 0")
    held = Image.of(volume(_own(image)))
    count, edge = np.array(held.shape[:3]), np.array(held.spacing)
    if use_voxels:  # the last voxel stays in its place, too
        size = np.array(resample_params, dtype=int)
        spacing = np.where(size > 1, (count - 1) * edge / np.maximum(size - 1, 1), count * edge)
    else:
        size, spacing = np.maximum((count * edge / resample_params + .5).astype(int), 1), np.array(resample_params)
    grid = from_numpy(np.zeros(size, np.float32), held.origin, tuple(spacing), held.direction)
    return Image.of(apply(held, grid, interp=kinds[interp_type], context=context))


def label_overlap_measures(source_image: ImageLike, target_image: ImageLike) -> Any:
    """Overlap of two label maps on one grid: a table of pandas, or where that is not installed a dictionary of columns, with a
    row "All" and one for each label."""
    source = volume(_own(source_image))
    rows, voxels = compare_labels(source, _own(target_image)), source.data.size
    counts = [(str(r.label), voxels, r.voxels_a, r.voxels_b, r.voxels_both) for r in rows]
    counts.insert(0, ("All", *(sum(row[k] for row in counts) for k in range(1, 5))))  # type: ignore[arg-type]

    def share(part: float, whole: float) -> float:
        return part / whole if whole else float("nan")
    table = {"Label": [name for name, *_ in counts],
             "TotalOrTargetOverlap": [share(both, b) for _, n, a, b, both in counts],
             "UnionOverlap": [share(both, a + b - both) for _, n, a, b, both in counts],
             "MeanOverlap": [share(2 * both, a + b) for _, n, a, b, both in counts],
             "VolumeSimilarity": [share(2 * (a - b), a + b) for _, n, a, b, both in counts],
             "FalseNegativeError": [share(b - both, b) for _, n, a, b, both in counts],
             "FalsePositiveError": [share(a - both, n - b) for _, n, a, b, both in counts]}
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError:
        return table
    return pandas.DataFrame(table)


__all__ = [name for name, thing in list(globals().items()) if inspect.isfunction(thing) and not name.startswith("_") and
           thing.__module__ == __name__]
