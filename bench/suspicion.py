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
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from statistics import mean

from records import keep, markdown, named

try:
    import numpy as np
    from quality.harms import HARMS, SLABS, Head
    from quality.measures import mean_dice, read_itk_affine, read_warp, sample, total_map
except ImportError as error:  # tables and --help need no package
    HARMS, SLABS, MISSING = {}, {}, error.name


POOR = .75


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
           "suspicions": result["suspicions"], "sd_log": result.get("jacobian", {}).get("sd_log"),
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
                     *[f"{mean(row[name] for row in rows if name in row):.3f}" for name in ("dice_affine", "dice")]])
    body.append(["all", str(len(record["rows"])), *map(str, total), "", ""])
    return f"{named(record['device'])}; clvox {record['version']}, {record['date'][:10]}; flagged: of those, called suspicious:\n\n" + \
        markdown(["moving image", "pairs", *[word for name in kinds for word in (name, "flagged")], "Dice, affine", "Dice"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", nargs="*", metavar="IMAGE,LABELS")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--device", help="as clvox takes it")
    parser.add_argument("--harm", action="append", metavar="NAME", help="repeat (default: all but slabs; slabs: those)")
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
    if not HARMS:
        raise SystemExit(f"suspicion.py: needs numpy, scipy and nibabel; not here: {MISSING}")
    heads = [Head(*head.split(",")) for head in options.heads]
    pairs = list(itertools.permutations(range(len(heads)), 2))
    pairs = [pairs[k * 13 % len(pairs)] for k in range(min(options.pairs, len(pairs)))]
    harms = ["none"] + [harm for harm in (SLABS if options.harm == ["slabs"] else options.harm or HARMS) if harm != "none"]
    with tempfile.TemporaryDirectory() as folder:
        jobs, table, affines = [], os.path.join(folder, "pairs.tsv"), {}
        fixed_files = {}
        for k, head in enumerate(heads):
            fixed_files[k] = os.path.join(folder, f"fixed{k}.nii")
            head.image.write(fixed_files[k])
        with open(table, "w", encoding="utf-8") as lines:
            lines.write("fixed\tmoving\tmoving_mask\toutput\n")
            for harm, (f, m) in itertools.product(harms, pairs):
                moving = (HARMS | SLABS)[harm](heads[m], np.random.default_rng(1000 * f + m))
                path = os.path.join(folder, f"moving{len(jobs)}.nii")
                moving.image.write(path)
                mask = ""
                if moving.mask is not None:
                    mask = os.path.join(folder, f"mask{len(jobs)}.nii")
                    moving.mask.write(mask)
                lines.write(f"{fixed_files[f]}\t{path}\t{mask}\tpair{len(jobs)}\n")
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
