# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of a volume."""
from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np


def _png(grey: np.ndarray) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *grey.shape[::-1], 8, 0, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _planes(data: np.ndarray, affine: np.ndarray) -> np.ndarray:
    """The three planes through the middle, side by side, in mm: the patient's left on the right, as in clvox's figures."""
    spacing = np.sqrt((affine[:3, :3] ** 2).sum(0))
    left, order = np.abs(affine[:3, :3] / spacing), [0, 0, 0]
    for _ in range(3):  # the axis of voxels for each of RAS, the clearest first
        ras, axis = np.unravel_index(left.argmax(), left.shape)
        order[ras], left[ras], left[:, axis] = int(axis), -1, -1
    data, edge = data.transpose(order), spacing[order]
    data = data[tuple(slice(None, None, 1 if affine[k, order[k]] > 0 else -1) for k in range(3))]
    tall, step = max(data.shape * edge), edge.min()
    planes = []
    for a, b, plane in ((0, 1, data[:, :, data.shape[2] // 2]), (0, 2, data[:, data.shape[1] // 2]), (1, 2, data[data.shape[0] // 2])):
        rows, columns = (np.minimum((np.arange(int(n * e / step)) * step / e).astype(int), n - 1)
                         for n, e in ((plane.shape[1], edge[b]), (plane.shape[0], edge[a])))
        picture_of = plane[columns[::-1] if a == 0 else columns][:, rows[::-1]].T
        planes.append(np.pad(picture_of, ((0, int(tall / step) - len(picture_of)), (0, 1))))
    return np.hstack(planes)


def picture(volume: Any) -> str:
    """HTML of a volume: what it is, and three planes of its first frame."""
    data = volume.data[..., 0] if volume.data.ndim == 4 else volume.data
    shown = np.nan_to_num(_planes(data, volume.affine), nan=0, posinf=0, neginf=0)
    low, high = np.percentile(shown, (0.5, 99.5)) if shown.size else (0, 0)
    grey = (np.clip((shown - low) / (high - low or 1), 0, 1) * 255).astype(np.uint8)
    coded = base64.b64encode(_png(grey)).decode()
    return f"<div>{repr(volume)[1:-1]}<br><img alt='three planes' src='data:image/png;base64,{coded}'></div>"
