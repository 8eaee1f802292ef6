#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registrations within one person beside neuroreg's, where the truth is known.

    bench/within.py changes --clvox build/src/cli/clvox --neuroreg ENV/bin IMAGE,LABELS...   # heads, changed and moved
    bench/within.py scans --clvox ... --neuroreg ENV/bin IMAGE,LABELS...                     # scans of one person
    bench/within.py epi --clvox ... --neuroreg ENV/bin LABELS...                             # FreeSurfer's labels, 1 mm
    bench/within.py epi --clvox ... --neuroreg ENV/bin T1,LABELS...                          # MUSE's labels
    PYTHONPATH=build/src/python bench/within.py lost T1,LABELS,FLAIR...                      # MUSE's labels

changes: a cavity that pushes tissue aside, of 30 and 113 ml, or a head that nods below the brain, moved by a rigid map;
one cubic interpolation, fresh noise of 2% in both images. Errors are the root mean square over the brain.
scans: Dice of all labels of scans beside each other (nearest voxel), and by how much going round all misses closing.
epi: EPI (3 mm, noise, shading, a region without signal), moved by up to 10 mm and 10 degrees: made of the T1, or with the T1
made of the labels. bbreg starts from mutual information's pose.
lost: how often --boundary reports where it ends, from starts that are right and wrong, by its cost: EPI made of each T1, the
FLAIR, whose truth is mutual information's, and the boundary of the head before.
Seconds are those of whole commands, by the clock and of the processor, and follow --threads. Needs numpy, scipy and
nibabel; neuroreg in an environment of its own."""
import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time

import records

try:
    import nibabel as nib
    import numpy as np
    from scipy import ndimage
    from quality.measures import Volume, grid_points, mean_dice, read_itk_affine, sample, total_map
    from series import rigid
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None

CHANGES = ("30 ml", "113 ml", "nod")


def read_lta(path):
    """The 4x4 RAS map of an LTA, moving to reference."""
    with open(path, encoding="ascii") as file:
        text = file.read().split("\n")
    at = next(k for k, line in enumerate(text) if line.startswith("1 4 4"))
    matrix = np.array([line.split() for line in text[at + 1:at + 5]], float)
    if next(line for line in text if line.startswith("type")).split("=")[1].split()[0] == "1":
        return matrix
    sides = []
    for head in ("src volume info", "dst volume info"):
        lines = text[text.index(head) + 1:]
        of = {line.split("=")[0].strip(): line.split("=")[1].split("#")[0].split() for line in lines[:8] if "=" in line}
        size, edge = np.array(of["volume"], float), np.array(of["voxelsize"], float)
        affine = np.eye(4)
        affine[:3, :3] = np.array([of[axis] for axis in ("xras", "yras", "zras")], float).T * edge
        affine[:3, 3] = np.array(of["cras"], float) - affine[:3, :3] @ (size / 2)
        sides.append(affine)
    return sides[1] @ matrix @ np.linalg.inv(sides[0])


class Runner:
    """Commands, with the seconds that each method took."""

    def __init__(self, options, folder):
        self.options, self.folder, self.seconds = options, folder, {}

    def __call__(self, method, program, *words):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": str(self.options.threads)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"within.py: {method}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        self.seconds.setdefault(method, []).append((time.perf_counter() - start, after.ru_utime + after.ru_stime -
                                                    before.ru_utime - before.ru_stime))
        return done

    def clvox(self, method, *words):
        self(method, self.options.clvox, *words, "-q")

    def neuroreg(self, method, program, *words):
        self(method, os.path.join(self.options.neuroreg, program), *words, "--device", "cpu")

    def pair(self, fixed, moving):
        """Maps from the fixed to the moving image by each method that registers two."""
        for method, more in (("register --linear rigid", []), ("register --robust", ["--robust"])):
            self.clvox(method, "register", "-f", fixed, "-m", moving, "--linear", "rigid", "--deform", "none", "-o", "pair",
                       "--no-picture", *more)
            yield method, read_itk_affine(f"{self.folder}/pair_affine.txt")
        if self.options.neuroreg:
            self.neuroreg("robreg", "robreg", "--mov", moving, "--ref", fixed, "--out", "pair.lta")
            yield "robreg", np.linalg.inv(read_lta(f"{self.folder}/pair.lta"))

    def template(self, scans):
        """Maps from a template of these scans to each of them."""
        self.clvox("atlas --within", "atlas", "-o", "within", "--within", "--deform", "none", *scans)
        names = [os.path.basename(scan).split(".")[0] for scan in scans]
        yield "atlas --within", [read_itk_affine(f"{self.folder}/within/{name}_affine.txt") for name in names]
        if self.options.neuroreg:
            maps = [f"{name}.lta" for name in names]
            self.neuroreg("multireg", "multireg", "--mov", *scans, "--template", "template.nii.gz", "--lta", *maps)
            yield "multireg", [np.linalg.inv(read_lta(f"{self.folder}/{one}")) for one in maps]


def changed(image, brain, kind, motion, rng):
    """The image as it is seen after a change, then moved by motion."""
    centre = (brain @ image.affine[:3, :3].T + image.affine[:3, 3]).mean(0)
    back = np.linalg.inv(motion)
    x = grid_points(image) @ back[:3, :3].T + back[:3, 3]
    filled = 0
    if kind == "nod":
        top = centre[2] - 45
        angle = np.radians(12) * np.clip((top - x[..., 2]) / 40, 0, 1)
        y, z = x[..., 1] - centre[1], np.minimum(x[..., 2] - top, 0)
        below = x[..., 2] < top
        x[..., 1] = np.where(below, centre[1] + y * np.cos(angle) - z * np.sin(angle), x[..., 1])
        x[..., 2] = np.where(below, top + y * np.sin(angle) + z * np.cos(angle), x[..., 2])
    else:
        radius, fades = (19.3, 45) if kind == "30 ml" else (30, 60)
        at = centre + [25, 20, 15]
        away = np.linalg.norm(x - at, axis=-1)
        filled = np.clip((radius - away) / 2 + .5, 0, 1)
        before = fades * np.cbrt(np.clip((away ** 3 - radius ** 3) / (fades ** 3 - radius ** 3), 0, 1))
        x = np.where((away < fades)[..., None], at + (x - at) * (before / np.maximum(away, 1e-6))[..., None], x)
    most = np.percentile(image.data, 99.5)
    seen = sample(image, x, 3)
    seen += filled * (.15 * most - seen)
    return Volume(noisy(seen, .02 * most, rng), image.affine)


def noisy(data, sigma, rng):
    return np.hypot(data + rng.normal(0, sigma, data.shape), rng.normal(0, sigma, data.shape)).astype(np.float32)


def random_rigid(rng, centre, degrees, mm):
    """A rotation and a shift of random direction and of up to that."""
    axis, shift = rng.normal(size=(2, 3))
    return rigid(axis / np.linalg.norm(axis) * np.radians(rng.uniform(.3, 1) * degrees),
                 shift / np.linalg.norm(shift) * rng.uniform(.3, 1) * mm, centre)


def off(found, truth, points):
    d = found - truth
    return np.linalg.norm(points @ d[:3, :3].T + d[:3, 3], axis=-1)


def changes(options, run, folder):
    rows = []
    for number, head in enumerate(options.inputs):
        image, labels = head.split(",")
        image, labels = Volume.read(image), Volume.read(labels, int)
        brain = np.argwhere(labels.data > 0)
        points = (brain @ labels.affine[:3, :3].T + labels.affine[:3, 3])[::7]
        for kind in CHANGES:
            rng = np.random.default_rng([number, CHANGES.index(kind)])
            motion = random_rigid(rng, points.mean(0), 8, 8)
            Volume(noisy(image.data, .02 * np.percentile(image.data, 99.5), rng), image.affine).write(f"{folder}/still.nii")
            changed(image, brain, kind, motion, rng).write(f"{folder}/moved.nii")
            found = list(run.pair("still.nii", "moved.nii"))
            for method, (still, moved) in run.template(["still.nii", "moved.nii"]):
                found.append((method, moved @ np.linalg.inv(still)))
            rows += [{"head": os.path.basename(head).split("_")[0], "kind": kind, "method": method,
                      "mm": float(np.sqrt((off(map_, motion, points) ** 2).mean()))} for method, map_ in found]
            print(rows[-len(found):], file=sys.stderr)
    return rows


def scans(options, run, folder):
    del folder
    images, labels = zip(*[[os.path.abspath(name) for name in one.split(",")] for one in options.inputs])
    labels = [Volume.read(name, int) for name in labels]
    pairs = [(k, (k + 1) % len(images)) for k in range(len(images))]
    found = {}
    for a, b in pairs:
        for method, one in run.pair(images[a], images[b]):
            found.setdefault(method, {})[a, b] = one
    for method, maps in run.template(images):
        found[method] = {(a, b): maps[b] @ np.linalg.inv(maps[a]) for a, b in pairs}
    points = grid_points(labels[0])[labels[0].data > 0][::7]
    rows = []
    for method, maps in found.items():
        around = np.eye(4)
        for pair in pairs:
            around = maps[pair] @ around
        dice = [mean_dice(labels[a].data, sample(labels[b], total_map(labels[a], np.zeros(3), maps[a, b]), 0)) for a, b in pairs]
        rows.append({"method": method, "dice": float(np.mean(dice)), "worst": float(np.min(dice)),
                     "around_mm": float(np.sqrt((off(around, np.eye(4), points) ** 2).mean()))})
        print(rows[-1], file=sys.stderr)
    return rows


def of_labels(labels):
    """T1- and EPI-like images of FreeSurfer's labels, their white matter, and the brain without fluid."""
    seen = labels.data
    white, fluid = np.isin(seen, [2, 41, 7, 46, 16, 28, 60, *range(251, 256)]), np.isin(seen, [4, 5, 14, 15, 24, 43, 44])
    outside = seen >= 257
    grey = (seen > 0) & ~white & ~fluid & ~outside
    t1, epi = np.zeros((2, *seen.shape), np.float32)
    for where, bright, dark in ((white, 110, 60), (grey, 75, 85), (fluid, 25, 120), (outside, 60, 20)):
        t1[where], epi[where] = bright, dark
    epi[np.isin(seen, [11, 12, 13, 50, 51, 52])] = 62
    return t1, epi, white | grey


def of_head(image, brain):
    """An EPI-like image of a T1."""
    epi = 100 * np.interp(image.data / np.percentile(image.data[brain], 99), [0, .1, .25, .5, .65, .95, 1.5],
                          [3, 15, 120, 95, 80, 58, 20])
    epi[~ndimage.binary_dilation(brain, iterations=2)] *= .35
    return epi


def as_freesurfer(labels):
    """MUSE's labels by the numbers of FreeSurfer's aseg."""
    out = np.zeros_like(labels)
    for muse, number in ((4, 14), (11, 15), (23, 58), (30, 26), (31, 54), (32, 18), (35, 16), (36, 50), (37, 11), (38, 47), (39, 8),
                         (40, 46), (41, 7), (46, 24), (47, 53), (48, 17), (49, 44), (50, 5), (51, 43), (52, 4), (55, 52), (56, 13),
                         (57, 51), (58, 12), (59, 49), (60, 10), (61, 60), (62, 28), (69, 85), (71, 8), (72, 8), (73, 8), (75, 28),
                         (76, 60), (95, 251)):
        out[labels == muse] = number
    white, cortex = (labels > 80) & (labels < 95), labels > 99
    out[white] = np.where(labels[white] % 2, 41, 2)
    out[cortex] = np.where(labels[cortex] % 2, 3, 42)
    return out


def seen_by_epi(image, affine, motion, centre, rng):
    """Voxels of 3 mm that show the mean of what is in them, of the image moved by motion about centre."""
    size = np.array([68, 76, 56])
    to = np.diag([3., 3, 3, 1])
    to[:3, 3] = (motion[:3, :3] @ centre + motion[:3, 3]) - 1.5 * (size - 1) + rng.uniform(-1, 1, 3)
    grid = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), -1).astype(float)
    back, seen = np.linalg.inv(affine) @ np.linalg.inv(motion) @ to, np.zeros(size)
    for part in itertools.product((-1 / 3, 0, 1 / 3), repeat=3):
        voxel = (grid + part) @ back[:3, :3].T + back[:3, 3]
        seen += ndimage.map_coordinates(image, np.moveaxis(voxel, -1, 0), order=1) / 27
    x = grid / size - .5
    lost = grid @ to[:3, :3].T + to[:3, 3] - (motion[:3, :3] @ centre + motion[:3, 3]) - [0, 55, -25]
    seen *= 1 - .8 * np.exp(-(lost ** 2).sum(-1) / (2 * 14 ** 2))
    seen *= 1 + .15 * x[..., 0] - .2 * x[..., 1] + .1 * x[..., 2]
    return Volume(noisy(seen, 6, rng), to)


def epi(options, run, folder):
    rows = []
    for number, head in enumerate(options.inputs):
        *images, name = map(os.path.abspath, head.split(","))
        labels, rng = Volume.read(name, int), np.random.default_rng([7, number])
        if images:
            image, brain = Volume.read(images[0]), labels.data > 0
            t1, bold = image.data / np.percentile(image.data[brain], 99) * 110, of_head(image, brain)
            name = f"{folder}/aseg.nii"
            Volume(as_freesurfer(labels.data), labels.affine).write(name)
        else:
            t1, bold, brain = of_labels(labels)
            t1, bold = ndimage.gaussian_filter(t1, .5), ndimage.gaussian_filter(bold, .4)
        points = (np.argwhere(brain) @ labels.affine[:3, :3].T + labels.affine[:3, 3])[::17]
        motion = random_rigid(rng, points.mean(0), 10, 10)
        Volume(noisy(t1, 3, rng), labels.affine).write(f"{folder}/t1.nii")
        seen_by_epi(bold, labels.affine, motion, points.mean(0), rng).write(f"{folder}/epi.nii")
        ours = ["register", "-f", "t1.nii", "-m", "epi.nii", "--linear", "rigid", "--deform", "none", "-o", "epi", "--no-picture"]
        found = []
        for method, more in (("register --linear rigid", []),
                             ("register --boundary", ["--boundary", name, "--boundary-labels", "2,41"])):
            run.clvox(method, *ours, *more)
            found.append((method, read_itk_affine(f"{folder}/epi_affine.txt")))
            if not more and options.neuroreg:
                run("lta", os.path.join(options.neuroreg, "lta"), "convert", "--in-format", "itk", "--src-img", "epi.nii", "--dst-img",
                    "t1.nii", "epi_affine.txt", "start.lta")
        if options.neuroreg:
            for method, more in (("bbreg", []), ("bbreg --slope .05", ["--slope", ".05"])):
                run.neuroreg(method, "bbreg", "--mov", "epi.nii", "--seg", name, "--init-lta", "start.lta", "--out", "epi.lta", *more)
                found.append((method, np.linalg.inv(read_lta(f"{folder}/epi.lta"))))
        rows += [{"head": os.path.basename(head).split(".")[0].split("_DLMUSE")[0], "method": method,
                  "mm": float(off(map_, motion, points).mean())} for method, map_ in found]
        print(rows[-len(found):], file=sys.stderr)
    return rows


def lost(options, run, folder):
    """Ends of fits: right within 2 mm of the truth (mean over the brain)."""
    del run, folder
    import clvox  # pylint: disable=import-outside-toplevel
    white, before, rows = range(81, 96), None, []
    for head in options.inputs:
        t1, labels, flair = (os.path.abspath(name) for name in head.split(","))
        name, image, labels = os.path.basename(t1).split("_")[0], Volume.read(t1), Volume.read(labels, int)
        brain, rng = labels.data > 0, np.random.default_rng([31, int("".join(filter(str.isdigit, os.path.basename(t1).split("_")[0])))])
        points = (np.argwhere(brain) @ labels.affine[:3, :3].T + labels.affine[:3, 3])[::17]
        motion = random_rigid(rng, points.mean(0), 10, 10)
        seen = seen_by_epi(of_head(image, brain), image.affine, motion, points.mean(0), rng)
        own = clvox.Volume(np.isin(labels.data, white).astype(np.float32), labels.affine)
        boundaries = [("own", own)]
        if before:
            to = clvox.register(t1, before[0], linear="rigid", deform="none").matrix
            boundaries.append(("another's", clvox.Volume(before[1].data, np.linalg.inv(to) @ before[1].affine)))
        before = t1, own
        for kind, moving, truth in (("EPI", clvox.Volume(seen.data, seen.affine), motion),
                                    ("FLAIR", clvox.read(flair), clvox.register(t1, flair, linear="rigid", deform="none").matrix)):
            for (whose, boundary), (mm, degrees, times) in itertools.product(boundaries, (
                    (0, 0, 1), (4, 4, 2), (8, 8, 3), (15, 15, 3), (25, 25, 3), (40, 0, 2), (0, 60, 2))):
                for _ in range(times if whose == "own" or mm + degrees < 10 else 0):
                    axis, shift = rng.normal(size=(2, 3))
                    start = truth @ rigid(axis / np.linalg.norm(axis) * np.radians(degrees), shift / np.linalg.norm(shift) * mm,
                                          points.mean(0))
                    fit = clvox.fit_boundary(boundary, moving, start)
                    rows.append({"head": name, "kind": kind, "boundary": whose, "cost": fit.cost_after, "reported": fit.lost,
                                 "mm": float(off(fit.matrix, truth, points).mean())})
    return rows


def text_of_lost(rows):
    body = []
    for kind, whose in itertools.product(("EPI", "FLAIR"), ("own", "another's")):
        ends = [[row for row in rows if (row["kind"], row["boundary"], row["mm"] < 2) == (kind, whose, right)] for right in (1, 0)]
        body.append([f"{kind}, {whose} boundary", *[text for one in ends for text in (
            str(len(one)), str(sum(row["reported"] for row in one)),
            f"{min(row['cost'] for row in one):.2f} to {max(row['cost'] for row in one):.2f}" if one else "")]])
    return records.markdown(["", "right", "reported", "cost", "wrong", "reported", "cost"], body)


def text(record):
    if record["what"] == "lost":
        return text_of_lost(record["rows"])
    methods = list(dict.fromkeys(row["method"] for row in record["rows"]))
    spent = {row["method"]: [f"{row['wall']:.1f}", f"{row['cpu']:.1f}"] for row in record["seconds"]}

    def table(head, cells):
        return records.markdown(["", *head, "s", "CPU s"], [[m, *cells(m), *spent[m]] for m in methods])

    def mm(column, names):
        return table([f"{name}, mm" for name in names], lambda m: [
            " ".join(f"{row['mm']:.3f}" for row in record["rows"] if (row["method"], row[column]) == (m, name)) for name in names])

    if record["what"] == "changes":
        return mm("kind", CHANGES)
    if record["what"] == "epi":
        return mm("head", list(dict.fromkeys(row["head"] for row in record["rows"])))
    return table(["Dice", "worst pair", "around, mm"], lambda m: next(
        [f"{row['dice']:.4f}", f"{row['worst']:.4f}", f"{row['around_mm']:.3f}"]
        for row in record["rows"] if row["method"] == m))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["changes", "scans", "epi", "lost"])
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--neuroreg", metavar="FOLDER", help="of robreg, multireg and bbreg (default: without)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    options = parser.parse_args()
    options.clvox = os.path.abspath(options.clvox) if os.path.sep in options.clvox else options.clvox
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(options, folder)
        rows = {"changes": changes, "scans": scans, "epi": epi, "lost": lost}[options.what](options, run, folder)
    seconds = [{"method": method, "wall": float(np.median([s[0] for s in all_])), "cpu": float(np.median([s[1] for s in all_]))}
               for method, all_ in run.seconds.items()]
    record = {"program": "clvox", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": options.what,
              "load_average": os.getloadavg(), "rows": rows, "seconds": seconds}
    records.keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    main()
