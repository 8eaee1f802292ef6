# SPDX-License-Identifier: Apache-2.0
"""Susceptibility distortion of echo-planar images."""
from __future__ import annotations

import ctypes
import os
from typing import Optional, Sequence, Union

import numpy as np

from . import _abi, _results
from ._library import Context, Error, call, context_or_own, lib, values
from .volume import ImageLike, several, volume


class Distortion(_results.EpiResult):
    """What correct_distortion() found."""


def _encodings(images, pe, readout):
    found = [_abi.clvox_epi_encoding() for _ in images]
    words = [pe] if isinstance(pe, str) else pe
    times = [readout] * len(images) if readout is None or np.ndim(readout) == 0 else readout
    if words is not None and (len(words) != len(images) or len(times) != len(images)):
        raise Error(f"{len(images)} images: pe and readout are as many")
    for i, (image, encoding) in enumerate(zip(images, found)):
        if words is not None:
            if times[i] is None:
                raise Error("pe: readout, the total readout time in seconds, belongs to it")
            call(lib.clvox_epi_encoding_set, words[i].encode(), float(times[i]), encoding)
        elif isinstance(image, (str, bytes, os.PathLike)):
            call(lib.clvox_epi_encoding_read, os.fsencode(image), encoding)
        else:
            raise Error("pe: an image in memory has no sidecar: give its direction, such as 'j-', and readout")
    return found


def correct_distortion(images: Union[ImageLike, Sequence[ImageLike]], pe: Union[str, Sequence[str], None] = None,
                       readout: Union[float, Sequence[float], None] = None, *, to: Optional[ImageLike] = None,
                       field: Optional[ImageLike] = None, field_unit: Optional[str] = None,
                       context: Optional[Context] = None) -> Distortion:
    """Corrects the susceptibility distortion of echo-planar images, as `clvox epi`.

    images: of one volume each, encoded in opposite directions; or one of them and an undistorted image of the same head
    (to) or a field map (field; field_unit "Hz", "rad/s", or "S,S", the echo times in seconds of an unwrapped phase
    difference in radians; None: from the BIDS sidecar of the field's file, else Hz). pe: of each image "i", "j", "k", "i-",
    "j-" or "k-", along the axes of its voxels as stored; readout: the total readout time in seconds, one for all or one each; None: from the images' BIDS sidecars.
    Returns an object with field (Hz), warp (of the first image), corrected and pile_up (Volumes), matrix (of each image,
    from the first one, RAS mm) and more, as clvox_epi_result of include/clvox/epi.h documents them."""
    given = several(images)
    if to is not None and field is not None or (to is not None or field is not None) and len(given) != 1:
        raise Error("to, field: one of them, with one image")
    held = [volume(image).struct() for image in given]
    array = (_abi.clvox_epi_image * len(given))()
    for one, image, encoding in zip(array, held, _encodings(given, pe, readout)):
        one.image, one.encoding = _pointer(image), encoding
    result, device = _abi.clvox_epi_result(), context_or_own(context)
    if to is not None:
        call(lib.clvox_epi_from_anatomy, device, array, volume(to).struct(), result)
    elif field is not None:
        call(lib.clvox_epi_from_field, device, array, volume(field).struct(), _hz(field, field_unit), result)
    else:
        call(lib.clvox_epi_from_blips, device, array, len(given), result)
    found = values(result, Distortion)
    found.matrix = np.array(found.matrix)[:found.images]
    return found


def _hz(field, unit):
    hz = ctypes.c_double(1)
    if unit is not None:
        call(lib.clvox_epi_field_unit, unit.encode(), hz)
    elif isinstance(field, (str, bytes, os.PathLike)):
        call(lib.clvox_epi_field_unit_read, os.fsencode(field), hz)
    return hz.value


def _pointer(struct):
    return type(_abi.clvox_epi_image().image)(struct)
