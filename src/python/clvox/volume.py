# SPDX-License-Identifier: Apache-2.0
"""Volumes: arrays with a place in space."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, List, Protocol, Sequence, Tuple, Type, Union

import numpy as np
import numpy.typing as npt

from . import _abi
from ._html import picture
from ._library import Error, Held, adopted, call, lib, numbers, word, words


class _Owned(Held):
    """Memory of a volume that the library made: an array of it keeps this alive, and the end of this frees it."""

    def __init__(self, pointer):
        self.pointer = pointer
        v = pointer[0]
        shape = tuple(v.grid.size) + ((v.frames,) if v.frames != 1 else ())
        strides = tuple(4 * int(np.prod(shape[:i])) for i in range(len(shape)))
        self.__array_interface__ = {"version": 3, "typestr": "<f4", "shape": shape, "strides": strides,
                                    "data": (ctypes.addressof(v.data.contents), False)}

    def __del__(self):
        lib.clvox_volume_destroy(self.pointer)


class Volume:
    """An image, label map, warp or tensor image in memory.

    data: float32, (x, y, z) or (x, y, z, frame), x fastest in memory (Fortran order): what already is like that is not
        copied.
    affine: 4 x 4, from voxel indices to RAS millimetres, as nibabel's.
    kind: "scalar", "label" (never interpolated linearly), "displacement" (3 frames, RAS mm), "vector", "tensor" (Dxx Dxy
        Dxz Dyy Dyz Dzz in RAS) or "colour".
    """

    def __init__(self, data: npt.ArrayLike, affine: npt.ArrayLike, kind: str = "scalar") -> None:
        self._owned = None
        self._header = _abi.clvox_volume(kind=word("CLVOX_KIND_", kind, "kind"))
        self.data = data  # type: ignore[assignment]
        self.affine = affine  # type: ignore[assignment]

    @classmethod
    def _adopt(cls, pointer):
        self = cls.__new__(cls)
        self._owned = _Owned(pointer)
        self._header = pointer[0]
        self._data = np.asarray(self._owned)
        self._affine = np.array(pointer[0].grid.to_ras)
        return self

    @property
    def data(self) -> np.ndarray:
        """The values."""
        return self._data

    @data.setter
    def data(self, array: npt.ArrayLike) -> None:
        given = np.asanyarray(array)
        if given.ndim not in (3, 4):
            raise Error(f"a volume has 3 axes, or 4 with frames; this array has {given.ndim}")
        if self._header.kind == _abi.CLVOX_KIND_LABEL and given.dtype.kind in "iuf" and given.size and np.abs(given).max() > 2**24:
            raise Error("labels above 2^24 are not told apart as float32; renumber them")
        self._data = numbers(given, "a volume", np.float32, "F")

    @property
    def affine(self) -> np.ndarray:
        """From voxel indices to RAS mm."""
        return self._affine

    @affine.setter
    def affine(self, matrix: npt.ArrayLike) -> None:
        given = numbers(matrix, "affine")
        if given.shape != (4, 4):
            raise Error("the affine of a volume is a 4 x 4 matrix")
        self._affine = given.copy()
        self._codes(0, 0)

    def _codes(self, sform, qform):
        """Names the space as NIfTI does; 0 and 0: nothing is known."""
        self._header.grid.sform_code, self._header.grid.qform_code = sform, qform
        return self

    @property
    def kind(self) -> str:
        """What the values are."""
        return next(name for name, value in words("CLVOX_KIND_").items() if value == self._header.kind)

    @property
    def shape(self) -> Tuple[int, ...]:
        """Voxels along x, y and z, and frames where there are several."""
        return self._data.shape

    @property
    def spacing(self) -> np.ndarray:
        """Edges of a voxel in mm."""
        return np.sqrt((self._affine[:3, :3] ** 2).sum(0))

    def __array__(self, dtype=None, copy=None):
        array = self._data if dtype is None else self._data.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __reduce__(self) -> Tuple[Callable[..., Volume], Tuple[Any, ...]]:
        header = _abi.clvox_volume.from_buffer_copy(self._header)
        header.data = header.names = header.store = None
        return _restored, (type(self), self._data, self._affine, bytes(header))

    def _repr_html_(self) -> str:
        return picture(self)

    def __repr__(self) -> str:
        return f"<clvox.Volume {self.kind} {'x'.join(map(str, self.shape))}, {'x'.join(f'{s:.4g}' for s in self.spacing)} mm>"

    def struct(self):
        """As the library takes it; keeps the values alive."""
        v = _abi.clvox_volume()
        ctypes.pointer(v)[0] = self._header
        for i in range(3):
            v.grid.size[i] = self._data.shape[i]
        v.frames = self._data.shape[3] if self._data.ndim == 4 else 1
        for i in range(4):
            for k in range(4):
                v.grid.to_ras[i][k] = self._affine[i, k]
        v.data = self._data.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        v.held = self, self._data
        return v

    def write(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes NIfTI (.nii, .nii.gz), MGH (.mgh, .mgz) or MetaImage (.mha); displacements as ITK and ANTs have them."""
        write = lib.clvox_warp_write if self.kind == "displacement" else lib.clvox_volume_write
        call(write, self.struct(), os.fsencode(path))

    def to_nibabel(self) -> Any:
        """A nibabel.Nifti1Image of the same values; needs nibabel."""
        import nibabel  # pylint: disable=import-outside-toplevel
        image, grid = nibabel.Nifti1Image(self._data, self._affine), self._header.grid
        if grid.sform_code > 0 or grid.qform_code > 0:
            image.set_sform(self._affine, max(grid.sform_code, 0))
            try:
                image.set_qform(self._affine, max(grid.qform_code, 0), strip_shears=False)
            except nibabel.spatialimages.HeaderDataError:  # sheared: no qform says it
                image.set_qform(None)
        return image


def _restored(kind: Type[Volume], data: np.ndarray, affine: np.ndarray, header: bytes) -> Volume:
    """A volume that was pickled."""
    made_of = kind.__new__(kind)
    made_of._owned, made_of._header = None, _abi.clvox_volume.from_buffer_copy(header)
    made_of._data, made_of._affine = np.asfortranarray(data), affine
    return made_of


class SpatialImage(Protocol):
    """An image of nibabel."""
    dataobj: Any
    affine: np.ndarray


ImageLike = Union[Volume, str, bytes, os.PathLike[str], SpatialImage, Tuple[np.ndarray, np.ndarray]]

adopted[ctypes.POINTER(_abi.clvox_volume)] = Volume._adopt


def made(function, *arguments, progress=None):
    """Calls a function of the library whose last argument receives a volume."""
    out = ctypes.POINTER(_abi.clvox_volume)()
    call(function, *arguments, out, progress=progress)
    return Volume._adopt(out)


def read(path: Union[str, bytes, os.PathLike[str]]) -> Volume:
    """Reads a volume: NIfTI, Analyze, FreeSurfer .mgz, NRRD, MetaImage or MRtrix .mif."""
    return made(lib.clvox_volume_read, os.fsencode(path))


def _codes_of(image):
    """The codes of a nibabel image, where it is NIfTI; a qform that lies elsewhere takes the sform's, as in files."""
    try:
        sform, qform = (int(image.header[key]) for key in ("sform_code", "qform_code"))
        if sform > 0 and qform > 0 and not np.allclose(image.get_qform(), image.affine, atol=1e-3):
            qform = sform
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return 0, 0
    return (sform, qform) if sform <= 0 and qform <= 0 else (sform or -1, qform or -1)


def volume(image: ImageLike) -> Volume:
    """A Volume of what may stand for one: a Volume, the name of a file, a nibabel image, or a pair (array, affine)."""
    if isinstance(image, Volume):
        return image
    if isinstance(image, (str, bytes, os.PathLike)):
        return read(image)
    if isinstance(image, tuple):
        if len(image) == 2:
            return Volume(*image)
    elif hasattr(image, "dataobj") and hasattr(image, "affine"):
        return Volume(np.asanyarray(image.dataobj), image.affine)._codes(*_codes_of(image))
    raise Error(f"{type(image).__name__}: a volume is a clvox.Volume, a file name, a nibabel image or (array, affine)", kind=TypeError)


def is_matrix(thing: Any) -> bool:
    """Whether it has the shape of an affine."""
    try:
        return np.shape(thing) == (4, 4)
    except ValueError:  # nested sequences that are no array
        return False


def several(images: Union[ImageLike, Sequence[ImageLike]]) -> List[ImageLike]:
    """One image, or a list or tuple of them, as a list. A pair (array, affine) is one image."""
    if isinstance(images, list) or (isinstance(images, tuple) and not (len(images) == 2 and is_matrix(images[1]))):
        return list(images)
    return [images]  # type: ignore[list-item]


def optional(image):
    """The struct of a volume that may be left out, and what keeps it alive."""
    return volume(image).struct() if image is not None else None
