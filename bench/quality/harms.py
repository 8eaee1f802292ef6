# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with an image that is to be registered: a labelled head, harmed in a known way."""
import math
import os

import numpy as np
from scipy.ndimage import zoom

from quality.measures import Volume


class Head:
    """An image in [0, 1] of its brightest tissue, and its labels; moved: where a harm took what was at a place (4x4;
    None: it is nowhere). mask: where the image counts; None: everywhere."""

    def __init__(self, image, labels):
        self.name = os.path.basename(image).split("_")[0].split(".")[0]
        self.image, self.labels, self.moved = Volume.read(image), Volume.read(labels, int), np.eye(4)
        self.mask = None
        x = self.image.data - np.percentile(self.image.data, 2)
        self.image.data = np.clip(x / np.percentile(x[x > .2 * x.max()], 99), 0, 1.2).astype(np.float32)

    def again(self, data=None, affine=None, labels=None):
        """The same head with some of it replaced; labels and voxels stay together when the header changes."""
        other = object.__new__(Head)
        other.name, other.moved, other.mask = self.name, np.eye(4), None
        other.image = Volume(self.image.data if data is None else data, self.image.affine if affine is None else affine)
        other.labels = Volume(self.labels.data if labels is None else labels, self.labels.affine)
        if affine is not None:
            other.moved = affine @ np.linalg.inv(self.image.affine)
            other.labels.affine = other.moved @ self.labels.affine
        return other


def curve(*points):
    """Values of another contrast, piecewise linear in those of T1: dark cerebrospinal fluid near .2, grey matter near
    .5, white matter near .75, fat above."""
    x, y = zip(*points)
    return lambda head, _: head.again(np.interp(head.image.data, x, y).astype(np.float32))


def about_centre(matrix):
    def harm(head, _):
        whole, size = np.eye(4), np.array(head.image.data.shape)
        centre = head.image.affine[:3, :3] @ ((size - 1) / 2) + head.image.affine[:3, 3]
        whole[:3, :3] = matrix
        whole[:3, 3] = centre - matrix @ centre
        return head.again(affine=whole @ head.image.affine)
    return harm


def turn(degrees, axis=(1, 2, 3)):
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = math.radians(degrees)
    return about_centre(np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross)


def shifted(head, _):
    affine = head.image.affine.copy()
    affine[:3, 3] += [60, -40, 35]
    return head.again(affine=affine)


def mirrored(head, _):
    """Left and right exchanged in the voxels, and not in the header."""
    axis = int(np.argmax(np.abs(head.image.affine[0, :3])))
    other = head.again(np.flip(head.image.data, axis).copy(), labels=np.flip(head.labels.data, axis).copy())
    flip = np.eye(4)
    flip[axis, axis], flip[axis, 3] = -1, head.image.data.shape[axis] - 1
    other.moved = head.image.affine @ flip @ np.linalg.inv(head.image.affine)
    return other


def kept(axis, share):
    """The middle share of the field of view along a world axis."""
    def harm(head, _):
        at = int(np.argmax(np.abs(head.image.affine[axis, :3])))
        n = head.image.data.shape[at]
        low, high = round(n * (1 - share) / 2), round(n * (1 + share) / 2)
        cut = [slice(None)] * 3
        cut[at] = slice(low, high)
        affine = head.image.affine.copy()
        affine[:3, 3] += affine[:3, at] * low
        other = head.again(head.image.data[tuple(cut)].copy())
        other.image.affine = affine
        return other
    return harm


def thick(head, _):
    """Slices of 6 mm from below to above."""
    at = int(np.argmax(np.abs(head.image.affine[2, :3])))
    step = max(2, round(6 / np.linalg.norm(head.image.affine[:3, at])))
    n = head.image.data.shape[at] // step * step
    data = np.moveaxis(head.image.data, at, 0)[:n]
    data = np.moveaxis(data.reshape(n // step, step, *data.shape[1:]).mean(1), 0, at)
    affine = head.image.affine.copy()
    affine[:3, 3] += affine[:3, at] * (step - 1) / 2
    affine[:3, at] *= step
    other = head.again(np.ascontiguousarray(data, np.float32))
    other.image.affine = affine
    return other


def blurred(random, shape, coarse):
    """A smooth random field of mean 0 and deviation 1."""
    field = random.standard_normal([coarse] * 3)
    field = zoom(field, [n / coarse for n in shape], order=3)[tuple(slice(n) for n in shape)]
    field = np.pad(field, [(0, n - m) for n, m in zip(shape, field.shape)], mode="edge")
    return (field - field.mean()) / field.std()


def biased(head, random):
    return head.again((head.image.data * np.exp(.6 * blurred(random, head.image.data.shape, 4))).astype(np.float32))


def noisy(head, random):
    """Rician, of a fifth of the brightest tissue."""
    a, b = .2 * random.standard_normal((2, *head.image.data.shape))
    return head.again(np.hypot(head.image.data + a, b).astype(np.float32))


def ball(head, random, radius):
    """Voxels within radius mm of a place in the brain."""
    brain = np.argwhere(head.labels.data > 0)
    centre = brain[random.integers(len(brain))]
    spacing = np.linalg.norm(head.image.affine[:3, :3], axis=0)
    axes = np.meshgrid(*[np.arange(n) for n in head.image.data.shape], indexing="ij")
    return sum(((a - c) * s) ** 2 for a, c, s in zip(axes, centre, spacing)) < radius ** 2


def lesion(head, random):
    data = head.image.data.copy()
    data[ball(head, random, 25)] = .15
    return head.again(data)


def masked_lesion(head, random):
    """The same lesion, left out by a mask."""
    gone = ball(head, random, 25)
    data = head.image.data.copy()
    data[gone] = .15
    other = head.again(data)
    other.mask = Volume((~gone).astype(np.float32), head.image.affine)
    return other


def half(head, _):
    """Everything to the left of the middle of the brain is empty."""
    at = int(np.argmax(np.abs(head.image.affine[0, :3])))
    middle = round(np.argwhere(head.labels.data > 0)[:, at].mean())
    data = np.moveaxis(head.image.data.copy(), at, 0)
    left = slice(middle, None) if head.image.affine[0, at] < 0 else slice(0, middle)
    data[left] = 0
    return head.again(np.moveaxis(data, 0, at).copy())


def unitless(head, _):
    """A header in tenths: a head the size of a mouse's."""
    return head.again(affine=np.diag([.1, .1, .1, 1]) @ head.image.affine)


def unrelated(head, random):
    """Another object of the same size: blobs."""
    other = head.again(np.clip(.5 + .5 * blurred(random, head.image.data.shape, 8), 0, 1).astype(np.float32))
    other.moved = None
    return other


HARMS = {
    "none": lambda head, _: head,
    "T2-like": curve((0, 0), (.08, .05), (.2, 1), (.5, .65), (.75, .4), (1.2, .7)),
    "FLAIR-like": curve((0, 0), (.2, .1), (.5, .8), (.75, .6), (1.2, .9)),
    "proton density": curve((0, 0), (.08, .1), (.2, .85), (.5, .8), (.75, .65), (1.2, .8)),
    "inverted brain": curve((0, 0), (.08, 0), (.15, 1), (.9, .2), (1.2, .05)),
    "not monotonic": curve((0, 0), (.2, .9), (.4, .2), (.6, 1), (.8, .3), (1.2, .8)),
    "turned by 45 degrees": turn(45),
    "turned by 120 degrees": turn(120),
    "turned by 180 degrees, an axis": turn(180, (1, 0, 0)),
    "turned by 180 degrees, oblique": turn(180),
    "shifted by 80 mm": shifted,
    "left and right exchanged": mirrored,
    "a third of the height": kept(2, 1 / 3),
    "6 mm slices": thick,
    "bias field": biased,
    "noise": noisy,
    "resection, 25 mm": lesion,
    "resection, 25 mm, masked": masked_lesion,
    "half missing": half,
    "header in tenths": unitless,
    "unrelated image": unrelated,
}


def slab(axis, mm):
    """So much of the brain's middle along a world axis, off by 30 mm and turned by 30 degrees."""
    def harm(head, random):
        at = int(np.argmax(np.abs(head.image.affine[axis, :3])))
        length = head.image.data.shape[at] * np.linalg.norm(head.image.affine[:3, at])
        cut = kept(axis, min(1, mm / length))(head, random)
        moved = turn(30)(cut, random).moved
        moved[:3, 3] += [20, -20, 10]
        return cut.again(affine=moved @ cut.image.affine)
    return harm


# Partial fields of view, for `--harm`.
SLABS = {f"{plane}, {mm} mm": slab(axis, mm) for axis, plane in enumerate(("sagittal", "coronal", "axial"))
         for mm in (80, 50, 30)}
