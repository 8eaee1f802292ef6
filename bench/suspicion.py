#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often a registration is wrong, and how often it says so: labelled heads, the moving one harmed in a known way.

    bench/suspicion.py --clvox build/src/cli/clvox --json bench/results/suspicion.json \\
        Subj1_T1.nii.gz,Subj1_T1_DLMUSE.nii.gz Subj2_T1.nii.gz,Subj2_T1_DLMUSE.nii.gz ...
    bench/suspicion.py --again bench/results/suspicion.json       # the tables of a record

Every harm meets --pairs pairs of the heads. The affine is wrong if it lies --far mm or more (mean over the labels) from
that of the unharmed pair, the harm to the header allowed for; a deformation is worse than the affine if the labels
overlap less after it, and poor if their Dice is below 3/4 of the unharmed pair's. Labels are looked up at the nearest
voxel. Needs numpy, scipy and nibabel."""
import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from records import keep, markdown, named

try:
    import numpy as np
    from scipy.ndimage import gaussian_filter, zoom
    from quality.measures import Volume, mean_dice, read_itk_affine, read_warp, sample, total_map
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None


POOR = .75


class Head:
    """An image in [0, 1] of its brightest tissue, and its labels; moved: where a harm took what was at a place (4x4;
    None: it is nowhere)."""

    def __init__(self, image, labels):
        self.name = os.path.basename(image).split("_")[0].split(".")[0]
        self.image, self.labels, self.moved = Volume.read(image), Volume.read(labels, int), np.eye(4)
        x = self.image.data - np.percentile(self.image.data, 2)
        self.image.data = np.clip(x / np.percentile(x[x > .2 * x.max()], 99), 0, 1.2).astype(np.float32)

    def again(self, data=None, affine=None, labels=None):
        """The same head with some of it replaced; labels and voxels stay together when the header changes."""
        other = object.__new__(Head)
        other.name, other.moved = self.name, np.eye(4)
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
    "half missing": half,
    "header in tenths": unitless,
    "unrelated image": unrelated,
}


def outcome(job):
    """Figures of one result. reference: the affine of the unharmed pair."""
    fixed, moving, prefix, reference = job
    if not os.path.exists(prefix + ".json"):
        return {"failed": True}
    with open(prefix + ".json", encoding="utf-8") as file:
        result = json.load(file).get("result")
    if not result:
        return {"failed": True}
    affine = read_itk_affine(prefix + "_affine.txt")
    warp = prefix + "_warp.nii.gz"
    start = total_map(fixed.labels, np.zeros(3, np.float32), affine)
    points = total_map(fixed.labels, read_warp(warp if os.path.exists(warp) else None, fixed.labels), affine)
    seen = set(np.unique(fixed.labels.data)) & set(np.unique(moving.labels.data))
    brain = fixed.labels.data > 0
    row = {"dice_affine": mean_dice(fixed.labels.data, sample(moving.labels, start, 0), seen),
           "dice": mean_dice(fixed.labels.data, sample(moving.labels, points, 0), seen),
           "suspicions": result["suspicions"], "sd_log": result["jacobian"]["sd_log"],
           "scale": result["linear"].get("scale")}
    for name in ("metric_before", "metric_linear", "metric_after", "ncc_before", "ncc_linear", "ncc_after"):
        row[name] = result[name]
    row["affine_off_mm"] = 1e3
    if moving.moved is not None:
        wanted = total_map(fixed.labels, np.zeros(3, np.float32), moving.moved @ reference)
        row["affine_off_mm"] = float(np.linalg.norm(start - wanted, axis=-1)[brain].mean())
    return row


def kind(row, record, unharmed):
    """How a result ended."""
    if row.get("failed"):
        return "failed"
    if row["affine_off_mm"] >= record["far"]:
        return "affine wrong"
    if row["dice"] < row["dice_affine"]:
        return "worse than the affine"
    return "poor" if row["dice"] < POOR * unharmed[row["fixed"], row["moving"]] else "right"


def text(record):
    kinds = ["affine wrong", "worse than the affine", "poor", "right"]
    unharmed = {(row["fixed"], row["moving"]): row["dice"] for row in record["rows"] if row["harm"] == "none"}
    body, total = [], [0] * (2 * len(kinds))
    for harm in dict.fromkeys(row["harm"] for row in record["rows"]):
        rows = [row for row in record["rows"] if row["harm"] == harm]
        ends = {name: [row for row in rows if kind(row, record, unharmed) == name] for name in kinds}
        figures = [count for name in kinds for count in (len(ends[name]), sum(bool(row["suspicions"]) for row in ends[name]))]
        total = [a + b for a, b in zip(total, figures)]
        body.append([harm, str(len(rows)), *map(str, figures),
                     *[f"{np.mean([row[name] for row in rows if name in row]):.3f}" for name in ("dice_affine", "dice")]])
    body.append(["all", str(len(record["rows"])), *map(str, total), "", ""])
    return f"{named(record['device'])}; clvox {record['version']}, {record['date'][:10]}; said: of those, called suspicious:\n\n" + \
        markdown(["moving image", "pairs", *[word for name in kinds for word in (name, "said")], "Dice, affine", "Dice"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", nargs="*", metavar="IMAGE,LABELS")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--device", help="as clvox takes it")
    parser.add_argument("--harm", action="append", choices=list(HARMS), help="repeat (default: all)")
    parser.add_argument("--pairs", type=int, default=28, help="of the heads for each harm (default 28)")
    parser.add_argument("--far", type=float, default=6, help="mm (default 6)")
    parser.add_argument("--clvox-option", default="", metavar="TEXT", help="more for clvox register")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    parser.add_argument("--again", metavar="FILE", help="print the tables of this record")
    options = parser.parse_args()
    if options.again:
        with open(options.again, encoding="utf-8") as file:
            print(text(json.load(file)), end="")
        return
    heads = [Head(*head.split(",")) for head in options.heads]
    pairs = list(itertools.permutations(range(len(heads)), 2))
    pairs = [pairs[k * 13 % len(pairs)] for k in range(min(options.pairs, len(pairs)))]
    harms = ["none"] + [harm for harm in options.harm or HARMS if harm != "none"]
    with tempfile.TemporaryDirectory() as folder:
        jobs, table, affines = [], os.path.join(folder, "pairs.tsv"), {}
        fixed_files = {}
        for k, head in enumerate(heads):
            fixed_files[k] = os.path.join(folder, f"fixed{k}.nii")
            head.image.write(fixed_files[k])
        with open(table, "w", encoding="utf-8") as lines:
            lines.write("fixed\tmoving\toutput\n")
            for harm, (f, m) in itertools.product(harms, pairs):
                moving = HARMS[harm](heads[m], np.random.default_rng(1000 * f + m))
                path = os.path.join(folder, f"moving{len(jobs)}.nii")
                moving.image.write(path)
                lines.write(f"{fixed_files[f]}\t{path}\tpair{len(jobs)}\n")
                jobs.append((harm, f, m, moving))
        out = os.path.join(folder, "out")
        done = subprocess.run([options.clvox, "register", "-q", "--list", table, "-o", out, "--no-picture",
                               *(["--device", options.device] if options.device else []), *options.clvox_option.split()],
                              capture_output=True, text=True, check=False)
        if not os.path.exists(os.path.join(out, "summary.tsv")):
            raise SystemExit(f"suspicion.py: {done.stderr.strip()}")
        work = []
        for k, (harm, f, m, moving) in enumerate(jobs):
            prefix = os.path.join(out, f"pair{k}")
            if harm == "none":
                affines[f, m] = read_itk_affine(prefix + "_affine.txt")
            work.append((heads[f], moving, prefix, affines[f, m]))
        with ThreadPoolExecutor() as pool:
            figures = list(pool.map(outcome, work))
        with open(os.path.join(out, "pair0.json"), encoding="utf-8") as file:
            log = json.load(file)
    rows = [{"harm": harm, "fixed": heads[f].name, "moving": heads[m].name, **figure}
            for (harm, f, m, _), figure in zip(jobs, figures)]
    record = {"program": "clvox", "version": log["version"], "date": log["date"], "command": sys.argv,
              "device": log["device"], "far": options.far, "clvox_option": options.clvox_option, "rows": rows}
    keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    main()
