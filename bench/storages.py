#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a registration depends on how the voxels are stored: axes in any order and direction are 48 storages.

    bench/storages.py --clvox build/src/cli/clvox --json bench/results/storages.json \\
        'heads=Subj1_T1.nii.gz,Subj2_T1.nii.gz' 'brains=MNI152_T1_1mm_brain.nii.gz,t1_brain.nii.gz'
    bench/storages.py --model syn --preset default --storages 8 --header float32 --longest 60 ...

Every pair is registered as it is, then with the fixed image in each of the other storages, then with the moving one.
What is compared is the whole map, affine after warp, at the places of the fixed image's voxels, in mm: the mean and the
largest difference inside of the foreground (where the fixed image is above its mean), and in how many storages the
warp, the affine, the inverse warp and the warped image are the same bits once brought to one storage. The headers are
rounded to single precision, as NIfTI keeps them; --header exact first brings every image to a header whose numbers
are multiples of 1/64, so that all storages say exactly the same.
--storages N takes N of them, of other axes and directions each; --longest N keeps every second or third or ... voxel along each
axis, so that no axis has more than N; --turn DEGREES makes headers oblique, about the axis (1, 2, 3), which leaves the values as they are. Needs numpy and nibabel."""
import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

from records import keep, markdown, named, short

try:
    import nibabel as nib
    import numpy as np
    from quality.measures import read_itk_affine
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None

MODELS = ["none", "unbiased", "greedy", "syn", "lddmm", "shooting"]
STORAGES = [(axes, flips) for axes in itertools.permutations(range(3)) for flips in itertools.product((0, 1), repeat=3)]


def stored(data, affine, storage):
    """Data and affine of the same image in another storage."""
    axes, flips = storage
    to = np.eye(4)
    to[:3, :3] = 0
    for new, (old, flip) in enumerate(zip(axes, flips)):
        to[old, new] = -1 if flip else 1
        to[old, 3] = data.shape[old] - 1 if flip else 0
    rest = tuple(range(3, data.ndim))
    moved = np.transpose(data, axes + rest)
    for new, flip in enumerate(flips):
        moved = np.flip(moved, new) if flip else moved
    return moved, affine @ to


def back(data, storage):
    axes, flips = storage
    for new, flip in enumerate(flips):
        data = np.flip(data, new) if flip else data
    return np.transpose(data, tuple(np.argsort(axes)) + tuple(range(3, data.ndim)))


def turned(degrees):
    """The 4x4 of a turn about (1, 2, 3)."""
    x, y, z = np.array([1, 2, 3]) / math.sqrt(14)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle, out = math.radians(degrees), np.eye(4)
    out[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    return out


def load(path, options):
    image = nib.load(path)
    data, affine = np.asanyarray(image.dataobj), image.affine
    data = np.asarray(data.reshape(data.shape[:3]))
    if data.dtype not in (np.uint8, np.int16, np.uint16, np.float32):
        data = data.astype(np.float32)
    n = max(1, *(-(-size // options.longest) for size in data.shape)) if options.longest else 1
    data, affine = data[::n, ::n, ::n], affine @ np.diag([n, n, n, 1.0])
    affine = turned(options.turn) @ affine
    return data, np.rint(affine * 64) / 64 if options.header == "exact" else affine


def write(path, data, affine):
    image = nib.Nifti1Image(np.ascontiguousarray(data), affine)
    image.set_sform(affine, 1)
    image.set_qform(None, 0)
    nib.save(image, path)


class Outcome:
    """What a registration leaves, in the storage of the fixed image as it is."""

    def __init__(self, prefix, storage):
        self.affine = read_itk_affine(prefix + "_affine.txt")
        self.files = [open(prefix + "_affine.txt", "rb").read()]
        self.warp = None
        for name in ("warp", "inverse_warp", "warped"):
            path = f"{prefix}_{name}.nii.gz"
            if os.path.exists(path):
                data = back(np.asarray(nib.load(path).dataobj), storage)
                self.files.append(data.tobytes())
                if name == "warp":
                    self.warp = data.reshape(data.shape[:3] + (3,)).astype(np.float64) * [-1, -1, 1]

    def places(self, points):
        moved = points if self.warp is None else points + self.warp
        return moved @ self.affine[:3, :3].T + self.affine[:3, 3]


def write_all(folder, name, image):
    """The image in every storage, by storage."""
    paths = {}
    for storage in STORAGES:
        axes, flips = storage
        paths[storage] = os.path.join(folder, f"{name}-{''.join(map(str, axes + flips))}.nii")
        write(paths[storage], *stored(*image, storage))
    return paths


def register(options, folder, images, pairs, words):
    """The prefixes of what comes of the pairs of storages, and the log of the first."""
    files = [write_all(folder, name, image) for name, image in zip(("fixed", "moving"), images)]
    table = os.path.join(folder, "pairs.tsv")
    with open(table, "w", encoding="utf-8") as rows:
        rows.write("fixed\tmoving\toutput\n")
        for number, pair in enumerate(pairs):
            rows.write("\t".join([files[0][pair[0]], files[1][pair[1]], f"pair{number}"]) + "\n")
    out = os.path.join(folder, "out")
    done = subprocess.run([options.clvox, "register", "-q", "--list", table, "-o", out, "--no-picture",
                           *(["--device", options.device] if options.device else []), *words],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"storages.py: {' '.join(words)}: {done.stderr.strip()}")
    prefixes = [os.path.join(out, f"pair{number}") for number in range(len(pairs))]
    with open(prefixes[0] + ".json", encoding="utf-8") as file:
        return prefixes, json.load(file)


def row_of(options, name, images, model, preset):
    words = ["--deform", model, *([] if preset == "default" else ["--" + preset]), *options.clvox_option.split()]
    data, affine = images[0]
    grid = np.stack(np.meshgrid(*[np.arange(n, dtype=float) for n in data.shape], indexing="ij"), -1)
    points = grid @ affine[:3, :3].T + affine[:3, 3]
    inside = np.isfinite(data) & (data > np.nanmean(data))
    same, apart, affines, plain = 0, [], [], STORAGES[0]
    chosen = [STORAGES[11 * k % len(STORAGES)] for k in range(options.storages)]
    others = [storage for storage in chosen if storage != plain]
    pairs = [(plain, plain)] + [(storage, plain) for storage in others] + [(plain, storage) for storage in others]
    with tempfile.TemporaryDirectory() as folder:
        prefixes, log = register(options, folder, images, pairs, words)
        first = Outcome(prefixes[0], plain)
        start = first.places(points)
        for prefix, pair in list(zip(prefixes, pairs))[1:]:
            other = Outcome(prefix, pair[0])
            same += other.files == first.files
            apart.append(np.linalg.norm(other.places(points) - start, axis=-1)[inside])
            affines.append(np.abs(other.affine - first.affine).max())
    return {"pair": name, "size": list(data.shape), "model": model, "preset": preset, "storages": len(apart), "same": same,
            "mean_mm": max(float(a.mean()) for a in apart), "mean_of_means_mm": float(np.mean([a.mean() for a in apart])),
            "largest_mm": max(float(a.max()) for a in apart), "affine": float(max(affines))}, log


def text(record):
    body = [[row["pair"] + ", " + "x".join(map(str, row["size"])), row["model"], row["preset"],
             f"{row['same']} of {row['storages']}", short(row["mean_of_means_mm"]), short(row["mean_mm"]),
             short(row["largest_mm"])] for row in record["rows"]]
    words = [f"headers {record['header']}"] + ([f"turned by {record['turn']:g} degrees"] if record["turn"] else [])
    return f"{named(record['device'])}; clvox {record['version']}, {record['date'][:10]}, {', '.join(words)}; mm:\n\n" + \
        markdown(["pair", "model", "preset", "the same bits", "mean", "mean of the worst", "largest"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="NAME=FIXED,MOVING")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--device", help="as clvox takes it")
    parser.add_argument("--model", action="append", choices=MODELS, help="repeat (default: all)")
    parser.add_argument("--preset", action="append", choices=["quick", "default", "best"], help="repeat (default: default)")
    parser.add_argument("--storages", type=int, default=48, help="of either image (default 48)")
    parser.add_argument("--header", choices=["float32", "exact"], default="float32")
    parser.add_argument("--longest", type=int)
    parser.add_argument("--turn", type=float, default=0)
    parser.add_argument("--clvox-option", default="", metavar="TEXT", help="more for clvox register")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    options = parser.parse_args()
    rows, record = [], None
    for pair in options.pairs:
        name, _, files = pair.partition("=")
        images = [load(path, options) for path in files.split(",")]
        for model in options.model or MODELS:
            for preset in options.preset or ["default"]:
                row, log = row_of(options, name, images, model, preset)
                rows.append(row)
                record = {"program": "clvox", "version": log["version"], "date": log["date"],
                          "command": sys.argv, "device": log["device"], "header": options.header,
                          "turn": options.turn, "longest": options.longest, "clvox_option": options.clvox_option,
                          "rows": rows}
                keep(options.json, record)
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(text(record), end="")


if __name__ == "__main__":
    main()
