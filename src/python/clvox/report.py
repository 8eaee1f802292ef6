# SPDX-License-Identifier: Apache-2.0
"""Pages by which a person judges a result: one HTML file without network."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

import numpy.typing as npt

from . import _abi
from ._library import Error, Held, call, lib, numbers, word
from .volume import ImageLike, optional, volume


def _text(value: Any) -> bytes:
    return os.fsencode(value) if isinstance(value, (str, os.PathLike)) else str(value).encode()


class Report(Held):
    """A page being made. Warnings stand at the top, the rest in the order in which it is added.

        page = clvox.Report("subject on atlas")
        page.images({"fixed": fixed, "warped": result.warped}, outlines={"labels": labels}, signed={"log J": logj})
        page.facts({"NCC": result.ncc_after})
        page.write("page.html")"""

    def __init__(self, title: str) -> None:
        self._as_parameter_ = ctypes.c_void_p()
        self._held: List[Any] = []
        call(lib.clvox_report_create, _text(title), ctypes.byref(self._as_parameter_))

    def __del__(self):
        if getattr(self, "_as_parameter_", None):
            lib.clvox_report_destroy(ctypes.byref(self._as_parameter_))

    def warn(self, sentence: str) -> None:
        """A sentence in the box of warnings at the top."""
        lib.clvox_report_warn(self, _text(sentence))

    def section(self, heading: str) -> None:
        """A heading, with a link to it at the top."""
        lib.clvox_report_section(self, _text(heading))

    def text(self, text: str) -> None:
        """A paragraph."""
        lib.clvox_report_text(self, _text(text))

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Names and values."""
        for name, value in facts.items():
            lib.clvox_report_fact(self, _text(name), _text(f"{value:.6g}" if isinstance(value, float) else value))

    def table(self, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """A table; each row has as many values as there are columns, and the first one heads it."""
        count = len(columns)
        lib.clvox_report_table(self, _text(caption), (ctypes.c_char_p * count)(*map(_text, columns)), count)
        for row in rows:
            if len(row) != count:
                raise Error(f"a row of {len(row)} values in a table of {count} columns")
            lib.clvox_report_row(self, (_abi.clvox_report_cell * count)(*[_abi.clvox_report_cell(text=_text(v)) for v in row]))

    def images(self, images: Mapping[str, ImageLike], *, outlines: Optional[Mapping[str, ImageLike]] = None,
               contours: Optional[Mapping[str, ImageLike]] = None, signed: Optional[Mapping[str, ImageLike]] = None,
               mask: Optional[ImageLike] = None) -> None:
        """Images to leaf through in three planes of the first one's grid, any two swiped or in turn.

        images: in grey, or of kind "colour" as red, green and blue. Laid over them: the outlines of label maps, contours
        where values become negative, and values of either sign in colours inside mask (hidden at first). On any grid."""
        layers = [(name, volume(image), "grey") for name, image in images.items()]
        layers = [(name, v, "colour" if v.kind == "colour" else look) for name, v, look in layers]
        for look, more in (("outlines", outlines), ("contour", contours), ("signed", signed)):
            layers += [(name, volume(image), look) for name, image in (more or {}).items()]
        array = (_abi.clvox_report_layer * max(len(layers), 1))()
        for at, (name, v, look) in enumerate(layers):
            struct, label = v.struct(), _text(name)
            array[at].name, array[at].look = label, word("CLVOX_REPORT_", look, "look")
            array[at].volume, array[at].hidden = ctypes.pointer(struct), look == "signed"
            self._held += [struct, label]
        inside = optional(mask)
        self._held += [array, inside]
        lib.clvox_report_images(self, array, len(layers), inside)

    def histogram(self, title: str, image: ImageLike, mask: Optional[ImageLike] = None, *, log_scale: bool = False) -> None:
        """The distribution of an image where mask, on its grid, is above 0. log_scale: the values are logarithms."""
        lib.clvox_report_histogram(self, _text(title), volume(image).struct(), optional(mask), int(log_scale))

    def curves(self, title: str, x: npt.ArrayLike, curves: Mapping[str, npt.ArrayLike], *, x_name: str = "", y_name: str = "") -> None:
        """Curves over common x; NaN are gaps."""
        across = numbers(x, title, order="C")
        doubles = ctypes.POINTER(ctypes.c_double)
        array, held = (_abi.clvox_report_curve * max(len(curves), 1))(), []
        for at, (name, values) in enumerate(curves.items()):
            up = numbers(values, name, order="C")
            if up.shape != across.shape or up.ndim != 1:
                raise Error(f"the curve {name} has {up.size} values for {across.size} of x")
            held.append(up)
            array[at].name, array[at].count = _text(name), up.size
            array[at].x, array[at].y = across.ctypes.data_as(doubles), up.ctypes.data_as(doubles)
        lib.clvox_report_curves(self, _text(title), _text(x_name), _text(y_name), array, len(curves))

    def write(self, path: Union[str, os.PathLike[str]]) -> None:
        """Draws and writes the page. Raises what was wrong with what was added."""
        call(lib.clvox_report_write, self, os.fsencode(path))
