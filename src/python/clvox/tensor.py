# SPDX-License-Identifier: Apache-2.0
"""Diffusion tensors: 6 frames, Dxx Dxy Dxz Dyy Dyz Dzz in RAS, mm^2/s."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _abi, _results
from ._library import Context, Error, Held, Progress, Watcher, call, context_or_own, lib, numbers, set_options, values, with_options, words
from ._options import TensorDenoiseOptions, TensorFitOptions
from ._typing import Unpack
from .volume import ImageLike, Volume, optional, volume


class Gradients(Held):
    """b-values and directions for the library, alive as long as this."""

    def __init__(self, given: Table, dwi: Any) -> None:
        self.read = None
        if isinstance(given, (str, bytes, os.PathLike)):
            self._read(lib.clvox_gradients_read_mrtrix, os.fsencode(given), dwi.frames)
        elif isinstance(given, tuple) and len(given) == 2:
            self._read(lib.clvox_gradients_read_fsl, os.fsencode(given[0]), os.fsencode(given[1]), dwi.grid, dwi.frames)
        else:
            table = numbers(given, "gradients")
            if table.shape != (dwi.frames, 4):
                raise Error(f"gradients: a table of {dwi.frames} rows x y z b is expected, one for each volume of the scan")
            length = np.sqrt((table[:, :3] ** 2).sum(1))
            unit = table[:, :3] / np.where(length > 0, length, 1)[:, None]
            self._kept = np.ascontiguousarray(table[:, 3]), np.ascontiguousarray(unit)
            self.struct = _abi.clvox_gradients(
                count=len(table), b=self._kept[0].ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
                direction=self._kept[1].ctypes.data_as(ctypes.POINTER(ctypes.c_double * 3)))

    def _read(self, function, *arguments):
        self.read = ctypes.POINTER(_abi.clvox_gradients)()
        call(function, *arguments, self.read)
        self.struct = self.read[0]

    def __del__(self):
        if self.read:
            lib.clvox_gradients_destroy(self.read)


Table = Union[str, bytes, os.PathLike[str], Tuple[str, str], npt.ArrayLike]


def mask(dwi: ImageLike) -> Volume:
    """Where a scan shows tissue: a mask, no brain extraction."""
    out = ctypes.POINTER(_abi.clvox_volume)()
    call(lib.clvox_dwi_mask, volume(dwi).struct(), out)
    return Volume._adopt(out)


def denoise_scan(dwi: ImageLike, mask: Optional[ImageLike] = None,  # pylint: disable=redefined-outer-name
                 window: Optional[int] = None, *, progress: Watcher = None, context: Optional[Context] = None) -> Tuple[Volume, Volume]:
    """Takes the noise out of a scan of 4 axes by principal components of its neighbourhoods (MP-PCA), as `clvox filter
    dwi`. window: voxels along an edge of a neighbourhood, odd (None: 5, wider from 125 volumes on). Returns the scan and
    a map of the noise's standard deviation."""
    if window is not None and (window < 3 or window % 2 == 0):
        raise Error(f"denoise_scan: a window of {window} voxels; an odd number from 3 on is needed")
    out, sigma = ctypes.POINTER(_abi.clvox_volume)(), ctypes.POINTER(_abi.clvox_volume)()
    call(lib.clvox_dwi_denoise, context_or_own(context), volume(dwi).struct(), optional(mask), (window or 0) // 2, out, sigma,
         progress=progress)
    return Volume._adopt(out), Volume._adopt(sigma)


@with_options("tensor fit")
def fit(dwi: ImageLike, gradients: Table, mask: Optional[ImageLike] = None, *,  # pylint: disable=redefined-outer-name
        progress: Watcher = None, context: Optional[Context] = None,
        **options: Unpack[TensorFitOptions]) -> _results.TensorFitResult:
    """Fits a tensor in every voxel of the mask (None: everywhere).

    dwi: a scan of 4 axes. gradients: (bval, bvec), the names of FSL's files; the name of MRtrix's table; or an array of
    rows x y z b, directions in RAS.
    Returns an object with tensor, s0, sigma and noise (Volumes), fitted and more, as clvox_tensor_fit_result of
    include/clvox/tensor.h documents them."""
    struct, result = _abi.clvox_tensor_fit_options(), _abi.clvox_tensor_fit_result()
    lib.clvox_tensor_fit_defaults(struct)
    set_options("tensor fit", options, struct)
    held = volume(dwi)
    scan = held.struct()
    table = Gradients(gradients, scan)
    call(lib.clvox_tensor_fit, context_or_own(context), scan, table.struct, optional(mask), struct, result, progress=progress)
    return values(result)


@with_options("tensor denoise")
def denoise(tensor: ImageLike, noise: Optional[ImageLike] = None,
            mask: Optional[ImageLike] = None, *,  # pylint: disable=redefined-outer-name
            progress: Watcher = None, context: Optional[Context] = None,
            **options: Unpack[TensorDenoiseOptions]) -> _results.TensorDenoiseResult:
    """Denoises a tensor image by total variation. noise: the standard deviation that fit() gives as sigma.
    Returns an object with tensor, lambda, energy and more, as clvox_tensor_denoise_result documents them."""
    struct, result = _abi.clvox_tensor_denoise_options(), _abi.clvox_tensor_denoise_result()
    lib.clvox_tensor_denoise_defaults(struct)
    set_options("tensor denoise", options, struct)
    callback = Progress(progress)
    struct.progress = callback.pointer
    callback.call(lib.clvox_tensor_denoise, context_or_own(context), volume(tensor).struct(), optional(noise), optional(mask),
                  struct, result)
    return values(result)


def measures(tensor: ImageLike, mask: Optional[ImageLike] = None,  # pylint: disable=redefined-outer-name
             wanted: Sequence[str] = ("fa", "md"), *, context: Optional[Context] = None) -> Dict[str, Volume]:
    """Maps of a tensor image, by name: fa, md, ad, rd, mode, cl, cp, cs, l1, l2, l3, v1, v2, v3."""
    known = words("CLVOX_MEASURE_")
    for name in wanted:
        if name not in known:
            raise Error(f"measures: {name!r} is not known; the choices are {', '.join(known)}")
    out = (ctypes.POINTER(_abi.clvox_volume) * _abi.CLVOX_MEASURES)()
    call(lib.clvox_tensor_measures, context_or_own(context), volume(tensor).struct(), optional(mask),
         sum(1 << known[name] for name in set(wanted)), out)
    return {name: Volume._adopt(out[known[name]]) for name in wanted}
