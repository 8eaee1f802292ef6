#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guides' commands run as they stand: guide.py CLVOX SOURCE
The blocks of a page that are marked sh run one after another in an empty folder, those marked `sh heads` in one of real
heads, if there are any. Prints a TAP line a page."""
import array
import csv
import glob
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
HEADS = os.path.join(os.path.abspath(os.environ.get("CLVOX_DATA", os.path.join(SOURCE, "../shared/data"))), "nichart_2mm_labelled")
AGES = {1: 82.3, 2: 79.5, 3: 81.8, 4: 75.8, 5: 95.6}
ATLASES = (6, 7, 8)


def blocks(path, mark):
    """The commands of a page."""
    with open(path, encoding="utf-8") as file:
        return "\n".join(re.findall(rf"^```{mark}\n(.*?)^```$", file.read(), re.M | re.S))


def put_heads(folder):
    """Five people and three atlases of others, with the tables that volumes.md wants."""
    def table(name, *rows):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    os.mkdir(os.path.join(folder, "raw"))
    for s in AGES:
        os.symlink(f"{HEADS}/Subj{s}_T1.nii.gz", f"{folder}/raw/sub-0{s}_T1w.nii.gz")
    table("subjects.tsv", ("image", "mask", "age"),
          *((f"n4/sub-0{s}_T1w.nii.gz", f"labelled/sub-0{s}_mask.nii.gz", age) for s, age in AGES.items()))
    table("heads.tsv", ("image", "output"), *((f"n4/sub-0{s}_T1w.nii.gz", f"sub-0{s}") for s in AGES))
    table("atlases.tsv", ("image", "labels"),
          *((f"{HEADS}/Subj{s}_T1.nii.gz", f"{HEADS}/Subj{s}_T1_DLMUSE.nii.gz") for s in ATLASES))


def integral(path):
    """The sum of a map of float32 times the volume of a voxel, in ml."""
    with gzip.open(path) as file:
        data = file.read()
    edges, offset = struct.unpack_from("<3f", data, 80), int(struct.unpack_from("<f", data, 108)[0])
    return sum(array.array("f", data[offset:])) * edges[0] * edges[1] * edges[2] / 1000


def wrong_volumes(folder):
    """A modulated map has the volume of the brain that it was made from."""
    with open(os.path.join(folder, "labelled/summary.tsv"), encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name, brain = os.path.basename(row["output"]), float(row["brain_ml"])
            carried = integral(os.path.join(folder, f"modulated/{name}_T1w.nii.gz"))
            if not 1000 < brain < 1800 or abs(carried - brain) > 1e-3 * brain:
                return f"{name}: {brain} ml, and {carried:.1f} after modulation"
    return None


def tried(script, heads):
    """What is wrong with the commands of a page, or None."""
    with tempfile.TemporaryDirectory() as folder:
        if heads:
            put_heads(folder)
        run = subprocess.run(["bash", "-ec", script], cwd=folder, capture_output=True, text=True, check=False,
                             env={**os.environ, "PATH": os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"]})
        if run.returncode:
            return f"exit code {run.returncode}: {run.stderr[-600:]}"
        return wrong_volumes(folder) if heads else None


def main():
    pages, failed = sorted(glob.glob(os.path.join(SOURCE, "doc/guide/*.md"))), 0
    runs = [(path, blocks(path, "sh"), False) for path in pages]
    runs += [(path, blocks(path, "sh heads"), True) for path in pages if blocks(path, "sh heads")]
    for number, (path, script, heads) in enumerate(runs, 1):
        name = os.path.basename(path)
        if heads and not os.path.isdir(HEADS):
            print(f"ok {number} - {name}, on heads # SKIP there is no {HEADS}")
            continue
        said = tried(script, heads)
        failed += said is not None
        for line in (said or "").splitlines():
            print("#", line)
        print("not ok" if said else "ok", number, "-", name + (", on heads" if heads else ""))
    print(f"1..{len(runs)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
