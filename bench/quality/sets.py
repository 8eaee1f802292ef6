# SPDX-License-Identifier: Apache-2.0
"""The pairs of each set: files of the data folder, read when they are needed."""
import os

import numpy as np
from scipy.ndimage import binary_closing, binary_dilation

from . import synthetic
from .measures import Volume, brain_mask


class Pair:
    """Two images by path, perhaps with labels and a true map; readers keep nothing in memory."""

    def __init__(self, name, fixed, moving, fixed_labels=None, moving_labels=None, common_labels=False,
                 truth=None, head=None):
        self.set = ""      # filled in by the one who asked for the set
        self.name, self.fixed_path, self.moving_path = name, fixed, moving
        self.fixed_labels_path, self.moving_labels_path = fixed_labels, moving_labels
        self.common_labels = common_labels
        self.truth = truth  # function without arguments: RAS points of the moving image, on the fixed grid
        self.head = head    # path of a mask, where the labels are not it

    def folder(self, options):
        """Where its tools' files go: of its own set, name and grid."""
        return os.path.join(options.out, self.set, self.name.replace("<-", "_").replace(" ", "_"))

    def fixed(self):
        return Volume.read(self.fixed_path)

    def moving(self):
        return Volume.read(self.moving_path)

    def fixed_labels(self):
        return Volume.read(self.fixed_labels_path, int)

    def moving_labels(self):
        return Volume.read(self.moving_labels_path, int)

    def has_labels(self):
        return self.fixed_labels_path is not None

    def mask(self):
        """Where the figures count: the labels without holes, or what is above 0 in a stripped image."""
        if self.head:
            return Volume.read(self.head, int).data > 0
        return brain_mask(self.fixed_labels().data if self.has_labels() else self.fixed().data)


def nichart(data, work, options):
    """Whole heads at 2 mm with the 148 regions of DLMUSE: neighbours in number, so no one pair is twice."""
    folder = os.path.join(data, "nichart_2mm_labelled")
    subjects = [(f, f + 1) for f in range(1, 7)]
    if options.more:
        subjects += [(7, 8), (8, 9), (9, 10), (10, 1), (1, 6), (5, 3)]
    return [Pair(f"Subj{f}<-Subj{m}", *[os.path.join(folder, f"Subj{s}_T1{kind}.nii.gz")
                                        for kind in ("", "_DLMUSE") for s in (f, m)])
            for f, m in subjects]


def crop(volume, box):
    """The part of a volume inside three slices, with the affine that keeps it in place."""
    affine = volume.affine.copy()
    affine[:3, 3] += affine[:3, :3] @ [s.start for s in box]
    return Volume(np.ascontiguousarray(volume.data[box]), affine)


def freesurfer(data, work, options):
    """bert <- swm at 1 mm. bert is stripped; swm is a head, stripped by its labels closed and dilated by
    3 voxels. Both are cut to their brains and 12 voxels around them, as nobody registers 256^3 of nothing.
    """
    pairs = {"bert": ("fs_bert_1mm/norm.nii.gz", "fs_bert_1mm/aparc+aseg.nii.gz"),
             "swm": ("fs_swm_1mm/T1.nii.gz", "fs_swm_1mm/aparc.DKTatlas+aseg.nii.gz")}
    paths = {}
    for name, files in pairs.items():
        paths[name] = [os.path.join(work, f"{name}_{kind}.nii.gz") for kind in ("brain", "labels")]
        if all(os.path.exists(p) for p in paths[name]):
            continue
        image = Volume.read(os.path.join(data, files[0]))
        labels = Volume.read(os.path.join(data, files[1]), int)
        inside = labels.data > 0
        if name == "swm":
            mask = binary_dilation(brain_mask(binary_closing(inside, iterations=4)), iterations=3)
            image.data = np.where(mask, image.data, 0)
        where = np.argwhere((image.data > 0) | inside)
        low, high = np.maximum(where.min(0) - 12, 0), where.max(0) + 13
        box = tuple(slice(a, min(b, n)) for a, b, n in zip(low, high, image.data.shape))
        crop(image, box).write(paths[name][0])
        crop(labels, box).write(paths[name][1])
    order = [("bert", "swm")] + ([("swm", "bert")] if options.more else [])
    return [Pair(f"{f}<-{m}", paths[f][0], paths[m][0], paths[f][1], paths[m][1], common_labels=True)
            for f, m in order]


def hippocampus(data, work, options):
    """Ten pairs of cut-out hippocampi (head and body labelled), each image beside the next by name."""
    folder = os.path.join(data, "msd_hippocampus30")
    names = sorted(n for n in os.listdir(os.path.join(folder, "images")) if n.endswith(".nii.gz"))
    pairs = []
    for k in range(0, min(20, len(names) - 1), 2):
        paths = [os.path.join(folder, kind, names[n]) for kind in ("images", "labels") for n in (k, k + 1)]
        pairs.append(Pair(f"{names[k][12:15]}<-{names[k + 1][12:15]}", *paths))
    return pairs


def cfireants(data, work, options):
    """MNI152 and a brain at 1 mm, both stripped, without labels."""
    folder = os.path.join(data, "pair_cfireants", "medium")
    return [Pair("MNI152<-t1_brain", os.path.join(folder, "MNI152_T1_1mm_brain.nii.gz"),
                 os.path.join(folder, "t1_brain.nii.gz"))]


def known(data, work, options):
    """Whole heads of label maps with a known map, see synthetic.py."""
    return synthetic.pairs_of(data, work, options, Pair)


SETS = {"nichart": nichart, "freesurfer": freesurfer, "hippocampus": hippocampus, "cfireants": cfireants,
        "synthetic": known}
