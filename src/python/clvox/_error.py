# SPDX-License-Identifier: Apache-2.0
"""The package's exception, which is also the exception that Python has for such a failure."""
from __future__ import annotations

import errno
import os
from typing import Any, Dict, Optional, Tuple, Type

from . import _abi

_FAILURES: Dict[int, Type[Exception]] = {
    _abi.CLVOX_ERROR_ARGUMENT: ValueError, _abi.CLVOX_ERROR_FORMAT: ValueError, _abi.CLVOX_ERROR_DATA: ValueError,
    _abi.CLVOX_ERROR_FILE: OSError, _abi.CLVOX_ERROR_MEMORY: MemoryError, _abi.CLVOX_ERROR_DEVICE: RuntimeError,
    _abi.CLVOX_ERROR_BUILD: RuntimeError}
_FILES: Dict[int, Type[OSError]] = {errno.ENOENT: FileNotFoundError, errno.EACCES: PermissionError, errno.EPERM: PermissionError,
                                    errno.EISDIR: IsADirectoryError, errno.ENOTDIR: NotADirectoryError}


def _number(message: str) -> Optional[int]:
    """The errno whose words end up in a message about a file."""
    return next((number for number in _FILES if os.strerror(number) in message), None)


class Error(Exception):
    """What the library could not do, in its own sentence. `status`: its code, as `_abi.CLVOX_ERROR_DATA`. Each is also what
    Python raises in such a case: a FileNotFoundError, PermissionError or other OSError of a file, a ValueError of an
    argument or of data, a TypeError of a keyword or type, a MemoryError, a RuntimeError of a device."""

    def __new__(cls, message: str = "", status: int = _abi.CLVOX_ERROR_ARGUMENT, kind: Optional[Type[Exception]] = None) -> Error:
        if cls is Error:
            base = kind or _FAILURES.get(status)
            if base is OSError:
                base = _FILES.get(_number(message) or 0, OSError)
            cls = _both(base) if base else cls  # pylint: disable=self-cls-assignment
        return (OSError if issubclass(cls, OSError) else Exception).__new__(cls, message)

    def __init__(self, message: str = "", status: int = _abi.CLVOX_ERROR_ARGUMENT, kind: Optional[Type[Exception]] = None) -> None:
        super().__init__(message)
        self.status, self._kind = status, kind
        if isinstance(self, OSError):
            self.errno = _number(message)

    def __reduce__(self) -> Tuple[Any, ...]:
        return Error, (str(self), self.status, self._kind)


_classes: Dict[Type[Exception], Type[Error]] = {}


def _both(base: Type[Exception]) -> Type[Error]:
    if base not in _classes:
        _classes[base] = type("Error", (Error, base), {"__module__": "clvox", "__doc__": Error.__doc__})
    return _classes[base]


Error.__module__ = "clvox"
