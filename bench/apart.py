#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far apart two devices end: registers each pair on both and compares the whole maps, affine and warp.

    bench/apart.py --clvox build/src/cli/clvox --first cpu --second gpu --json bench/results/apart.json \\
        'heads=Subj1_T1.nii.gz,Subj2_T1.nii.gz,Subj1_T1_DLMUSE.nii.gz' 'brains=MNI152_T1_1mm_brain.nii.gz,t1_brain.nii.gz'
    bench/apart.py --first-env OCL_ICD_VENDORS=/etc/OpenCL/vendors --second-env OCL_ICD_VENDORS=/tmp/icd ...
    bench/apart.py --nudge 1e-5 ...           one device, and again from a start moved by so many mm

A pair is NAME=FIXED,MOVING or NAME=FIXED,MOVING,MASK. --one-affine makes the linear part once, on the first device,
so that the deformation alone is compared. With --nudge both begin at a known start, the second time moved by so much
along the diagonal: at that affine with --one-affine, else where the headers lie, with the linear part after it.

`clvox compose` makes one displacement of affine and warp, `clvox compare` takes the difference (in voxels of the fixed
grid: mean, 95th percentile, largest), everywhere and in the foreground, which is where MASK is above 0 or, without one,
where the fixed image is above its mean. Composed positions are of 32 bits: some 1e-5 voxel. Affines: the largest
difference in mm at the six points 80 mm from the grid's centre along R, A and S. --json keeps devices, drivers, version,
inputs, sizes, options and all figures."""
import argparse
import array
import gzip
import math
import os
import shlex
import statistics
import struct
import sys
import tempfile

from records import begun, called, keep, markdown, named, short, sized

KINDS = {2: "B", 4: "h", 8: "i", 16: "f", 64: "d", 256: "b", 512: "H", 768: "I"}  # of NIfTI, in words of array


class Side:
    """One of the two: a device and what reaches it."""

    def __init__(self, program, device, environment):
        self.program, self.device = program, device
        self.environment = dict(text.split("=", 1) for text in environment)

    def run(self, folder, *words):
        more = ["--device", self.device] if self.device else []
        return called(self.program, [*words, *more], folder, self.environment)[0]

    def register(self, files, out, more):
        return self.run(os.path.dirname(out), "register", "-f", files[0], "-m", files[1], "-o", out, "--no-picture",
                        *more)

    def about(self, log):
        return {"device": log["device"], "selected": self.device, "environment": self.environment}


def above_mean(path, out):
    """Writes a mask of where a NIfTI-1 volume is above its mean."""
    with open(path, "rb") as file:
        raw = file.read()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    order = "<" if raw[:4] == struct.pack("<i", 348) else ">"
    code, = struct.unpack_from(order + "h", raw, 70)
    if raw[344:348] != b"n+1\0" or code not in KINDS:
        raise SystemExit(f"apart.py: {path}: not a NIfTI-1 file of plain numbers; give a mask as NAME=FIXED,MOVING,MASK")
    values = array.array(KINDS[code])
    start, size = int(struct.unpack_from(order + "f", raw, 108)[0]), struct.unpack_from(order + "8h", raw, 40)
    values.frombytes(raw[start:start + math.prod(size[1:4]) * values.itemsize])
    if order != ("<" if sys.byteorder == "little" else ">"):
        values.byteswap()
    mean = statistics.fmean(v for v in values if v - v == 0)
    head = bytearray(raw[:348]) + bytes(4)
    struct.pack_into(order + "8h", head, 40, 3, *size[1:4], 1, 1, 1, 1)
    struct.pack_into(order + "2h", head, 70, 2, 8)
    struct.pack_into(order + "3f", head, 108, 352, 1, 0)
    with open(out, "wb") as file:
        file.write(head + bytes(v > mean for v in values))


def rows_of(side, path, folder):
    """The rows of an affine, RAS mm."""
    text = os.path.join(folder, "rows.txt")
    side.run(folder, "compose", "-t", path, "--format", "mrtrix", "-o", text)
    with open(text, encoding="ascii") as file:
        return [[float(word) for word in line.split()] for line in file if line.strip() and line[0] != "#"]


def moved(rows, by, path):
    """Writes an affine whose images lie so many mm further along the diagonal."""
    with open(path, "w", encoding="ascii") as file:
        for i, row in enumerate(rows):
            row = [*row[:3], row[3] + (by / math.sqrt(3) if i < 3 else 0)]
            file.write(" ".join(map(repr, row)) + "\n")
    return path


def affines_apart(sides, grid, prefixes, folder):
    a, b = [rows_of(sides[0], prefix + "_affine.txt", folder) for prefix in prefixes]
    middle = [sum(grid["to_ras"][i][j] * (grid["size"][j] - 1) / 2 for j in range(3)) + grid["to_ras"][i][3]
              for i in range(3)]
    points = [[middle[i] + (step if i == axis else 0) for i in range(3)] for axis in range(3) for step in (-80, 80)]
    return max(math.hypot(*(sum((a[i][j] - b[i][j]) * x[j] for j in range(3)) + a[i][3] - b[i][3] for i in range(3)))
               for x in points)


def starts(sides, files, options, more, folder):
    """What each of the two calls says of its start."""
    rows = [[float(i == j) for j in range(4)] for i in range(4)]
    if options.one_affine:
        sides[0].register(files, folder + "/linear", [*more, "--deform", "none"])
        rows = rows_of(sides[0], folder + "/linear_affine.txt", folder)
    elif options.nudge is None:
        return [], []
    paths = [moved(rows, by, f"{folder}/start{i}.txt") for i, by in enumerate((0, options.nudge or 0))]
    return [["--init", path, *(["--linear", "none"] if options.one_affine else [])] for path in paths]


def apart(sides, name, files, options, folder):
    """The row of a pair, and the logs of both registrations."""
    more, prefixes = shlex.split(" ".join(options.clvox_option)), [folder + "/first", folder + "/second"]
    logs, wholes = [], []
    for side, prefix, start in zip(sides, prefixes, starts(sides, files, options, more, folder)):
        logs.append(side.register(files, prefix, [*more, *start]))
        warp = prefix + "_warp.nii.gz"
        wholes.append(prefix + "_whole.nii.gz")
        sides[0].run(folder, "compose", "-r", files[0], *(["-t", warp] if warp in logs[-1]["outputs"] else []),
                     "-t", prefix + "_affine.txt", "-o", wholes[-1])
    mask = files[2] if len(files) > 2 else folder + "/mask.nii"
    if len(files) == 2:
        above_mean(files[0], mask)
    grids = logs[0]["plan"]
    return {"pair": name, "size": grids["fixed"]["size"], "moving_size": grids["moving"]["size"],
            "voxel_mm": grids["fixed"]["spacing_mm"], "inputs": logs[0]["inputs"],
            "foreground": mask if len(files) > 2 else "the fixed image above its mean",
            "options": [log["options"] for log in logs], "wisdom": [log["wisdom"] for log in logs],
            "everywhere": sides[0].run(folder, "compare", *wholes)["comparison"],
            "inside": sides[0].run(folder, "compare", *wholes, "--mask", mask)["comparison"],
            "affines_mm": affines_apart(sides, grids["fixed"], prefixes, folder)}, logs


def text(record):
    """The record in Markdown."""
    body = [(sized(row["pair"], row["size"]), row["everywhere"]["mean_voxels"], row["everywhere"]["p95_voxels"],
             row["everywhere"]["max_voxels"], row["inside"]["mean_voxels"], row["affines_mm"])
            for row in record["rows"]]
    if len(body) > 1:
        body.append(("mean", *(statistics.fmean(column) for column in list(zip(*body))[1:])))
    first, second = (named(record[side]["device"]) for side in ("first", "second"))
    what = f"{first} and {second}" if record["nudge_mm"] is None else \
        f"{first}, from a start and from one moved by {record['nudge_mm']:g} mm"
    words = " ".join([*record["clvox_options"], *(["from one affine"] if record["one_affine"] else [])])
    return f"{what}; clvox {record['version']}, {record['date'][:10]}{', ' + words if words else ''}; voxels:\n\n" + \
        markdown(["pair", "mean", "95%", "largest", "mean in the foreground", "affines, mm"],
                 [[row[0], *map(short, row[1:])] for row in body])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="NAME=FIXED,MOVING[,MASK]")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    for which in ("first", "second"):
        parser.add_argument("--" + which, metavar="DEVICE", help="as clvox takes it")
        parser.add_argument(f"--{which}-env", action="append", default=[], metavar="NAME=VALUE",
                            help="set for this one; repeat")
    parser.add_argument("--nudge", type=float, metavar="MM", help="instead of a second device: the start moved")
    parser.add_argument("--one-affine", action="store_true", help="a linear part for both, made on the first")
    parser.add_argument("--clvox-option", action="append", default=[], metavar="TEXT",
                        help="more for clvox register, as --clvox-option=--quick; repeat")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    options = parser.parse_args()
    if options.nudge is not None and (options.second or options.second_env):
        parser.error("--nudge is of one device: give no second one")
    sides = [Side(options.clvox, options.first, options.first_env)]
    sides.append(sides[0] if options.nudge is not None else Side(options.clvox, options.second, options.second_env))
    rows = []
    for pair in options.pairs:
        name, _, files = pair.partition("=")
        if files.count(",") not in (1, 2):
            parser.error(f"{pair}: not NAME=FIXED,MOVING or NAME=FIXED,MOVING,MASK")
        with tempfile.TemporaryDirectory() as folder:
            row, logs = apart(sides, name, files.split(","), options, folder)
        rows.append(row)
        record = {**begun(logs[0]), "clvox_options": options.clvox_option, "nudge_mm": options.nudge,
                  "one_affine": options.one_affine, "first": sides[0].about(logs[0]), "second": sides[1].about(logs[1]),
                  "rows": rows}
        keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    main()
