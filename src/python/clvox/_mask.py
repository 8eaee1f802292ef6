# SPDX-License-Identifier: Apache-2.0
"""Masks in three dimensions: balls that grow and shrink them, components and holes."""
from __future__ import annotations

import itertools

import numpy as np


def grown(mask: np.ndarray, radius: int) -> np.ndarray:
    """By ITK's ball of that radius in voxels."""
    out, near = np.zeros(mask.shape, bool), range(-radius, radius + 1)
    for offset in itertools.product(near, repeat=3):
        if sum(o * o for o in offset) <= (radius + .5) ** 2:
            to = tuple(slice(max(o, 0), n + min(o, 0)) for o, n in zip(offset, mask.shape))
            at = tuple(slice(max(-o, 0), n + min(-o, 0)) for o, n in zip(offset, mask.shape))
            out[to] |= mask[at]
    return out


def shrunk(mask: np.ndarray, radius: int) -> np.ndarray:
    """By that ball; what lies beyond the border counts as inside."""
    return ~grown(~mask, radius)


def components(mask: np.ndarray) -> np.ndarray:
    """A number above 0 for each part of a mask whose voxels share faces, 0 outside."""
    number = np.cumsum(mask).reshape(mask.shape) - 1  # of the voxels inside
    pairs = []  # of neighbours inside
    for axis in range(3):
        there, here = np.moveaxis(mask, axis, 0), np.moveaxis(number, axis, 0)
        both = there[:-1] & there[1:]
        pairs.append((here[:-1][both], here[1:][both]))
    low, high = (np.concatenate(side) for side in zip(*pairs))
    parent = np.arange(np.count_nonzero(mask))
    while True:
        first, second = parent[low], parent[high]
        apart = first != second
        if not apart.any():
            break
        low, high, first, second = low[apart], high[apart], first[apart], second[apart]
        parent[np.maximum(first, second)] = np.minimum(first, second)
        while not np.array_equal(parent[parent], parent):
            parent = parent[parent]
    out = np.zeros(mask.shape, int)
    out[mask] = np.unique(parent, return_inverse=True)[1] + 1
    return out


def largest(mask: np.ndarray) -> np.ndarray:
    """Its largest component."""
    parts = components(mask)
    return parts == 1 + np.bincount(parts[mask])[1:].argmax() if mask.any() else mask


def filled(mask: np.ndarray) -> np.ndarray:
    """With its holes: what does not reach the border."""
    outside = components(~mask)
    faces = [np.take(outside, (0, -1), axis).ravel() for axis in range(3)]
    return ~np.isin(outside, np.setdiff1d(np.concatenate(faces), 0))
