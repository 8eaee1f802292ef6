# SPDX-License-Identifier: Apache-2.0
"""Unpack, by which type checkers know the keywords of a function: of Python 3.11; before that nothing reads it at run time."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:
    Unpack = None

__all__ = ["Unpack"]
