# SPDX-License-Identifier: Apache-2.0
"""Results of functions: objects with named fields, short when they are printed."""
from __future__ import annotations

import html
from typing import Any, Iterator, Tuple

import numpy as np

_MOST = 8  # fields that are printed


def _said(value: Any) -> str:
    """A value in few characters."""
    if isinstance(value, str):
        return value if len(value) <= 32 else value[:29] + "..."
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return f"{value:.5g}"
    if isinstance(value, Result):
        return "..."
    if isinstance(value, (list, tuple, dict)):
        return f"{len(value)} x {type(next(iter(value))).__name__}" if len(value) else "none"
    if isinstance(value, np.ndarray) and value.size <= 4:
        return "[" + " ".join(f"{v:.5g}" for v in value.ravel()) + "]"
    shape = getattr(value, "shape", None)
    return "x".join(map(str, shape)) if shape is not None else repr(value)


class Result:
    """What a function found: its fields are those of the library's result struct, as include/clvox documents them."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def _shown(self) -> Iterator[Tuple[str, str]]:
        """Names and values of the fields that are worth a look."""
        for name, value in vars(self).items():
            if value is not None and not (isinstance(value, (list, str)) and not value):
                yield name, _said(value)

    def __repr__(self) -> str:
        shown = list(self._shown())
        more = [f"... {len(shown) - _MOST} more"] if len(shown) > _MOST else []
        return f"<clvox.{type(self).__name__} {', '.join([f'{n}={v}' for n, v in shown[:_MOST]] + more)}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(n)}</th><td>{html.escape(v)}</td></tr>" for n, v in self._shown())
        return f"<b>clvox.{type(self).__name__}</b><table>{rows}</table>"
