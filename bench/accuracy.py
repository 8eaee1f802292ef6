#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of clvox beside the tools people use, on labelled pairs and on pairs with a known map.

    bench/accuracy.py --clvox build/src/cli/clvox --data ../shared/data --set nichart --set synthetic \\
        --method clvox --method greedy-best --out build/accuracy --markdown bench/accuracy.md

Needs numpy, scipy and nibabel; greedy (picsl_greedy) and ANTs (antspyx) are used where Python has them.
Rows that OUT/rows.json holds already are kept, so that a run can be continued and several can run at once;
--renew TEXT makes those again whose method starts with TEXT.
"""
import argparse
import fcntl
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import numpy as np
    from quality import check, report, sets, tools
    from quality.measures import Volume, mean_dice, measure, read_warp
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None


def one(pair, method, folder, options):
    """The row of one pair and method."""
    row = {"pair": pair.name, "method": method}
    try:
        result = tools.methods()[method](pair, method, folder, options)
        row.update(measure(pair, result.affine, tools.displacement(result, pair.fixed())))
        if "labels" in result.extra and pair.has_labels():
            row["dice_own"] = own_labels(pair, result.extra["labels"])
        row.update(seconds=result.seconds, cpu=result.cpu, note=result.note)
        if "cpu_deform" in result.extra:
            row["cpu_deform"] = result.extra["cpu_deform"]
        row["affine"] = [list(map(float, r)) for r in result.affine]
        row["warp"] = result.warp
    except tools.Failure as failure:
        row["note"] = f"failed: {failure}"
    return row


def measure_again(row, pair):
    """The figures of a row computed anew from the files it kept."""
    if row.get("warp") and os.path.exists(row["warp"]):
        row.update(measure(pair, np.array(row["affine"]), read_warp(row["warp"], pair.fixed())))


def own_labels(pair, path):
    """Dice of the labels that the tool itself has warped."""
    fixed, warped = pair.fixed_labels().data, Volume.read(path, int).data
    only = None
    if pair.common_labels:
        only = set(fixed.ravel()) & set(pair.moving_labels().data.ravel())
    return mean_dice(fixed, warped, only)


def repeat(pair, folder, options):
    """Whether a second run of clvox writes the same bytes: a row of its own."""
    again = folder + "_again"
    os.makedirs(again, exist_ok=True)
    try:
        tools.clvox(pair, "clvox", folder, options)
        tools.clvox(pair, "clvox", again, options)
        names = [os.path.basename(p) for p in tools.outputs(folder)]
        different = [n for n in names if read(os.path.join(folder, n)) != read(os.path.join(again, n))]
        note = "differs: " + ", ".join(different) if different else f"{len(names)} files equal byte for byte"
    except tools.Failure as failure:
        note = f"failed: {failure}"
    shutil.rmtree(again, ignore_errors=True)
    return {"pair": pair.name, "method": "clvox-twice", "note": note}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    p.add_argument("--clvox-option", action="append", default=[], metavar="TEXT",
                   help="words added to every clvox command, as --clvox-option='--metric lncc:3'")
    p.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    p.add_argument("--out", default="build/accuracy", help="folder for rows.json and the tools' files")
    p.add_argument("--set", action="append", dest="sets", choices=sorted(sets.SETS), metavar="NAME",
                   help="one of " + ", ".join(sorted(sets.SETS)) + "; repeat (default: all)")
    p.add_argument("--method", action="append", dest="methods", choices=sorted(tools.methods()),
                   metavar="NAME", help="one of " + ", ".join(sorted(tools.methods())) + "; repeat")
    p.add_argument("--pair", action="append", help="only pairs whose name contains this text; repeat")
    p.add_argument("--more", action="store_true", help="further pairs of the sets that have them")
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="of the peers (default: all cores)")
    p.add_argument("--spacing", type=float, default=2, help="synthetic pairs: mm (default 2)")
    p.add_argument("--seed", type=int, default=1, help="synthetic pairs")
    p.add_argument("--repeat", action="store_true", help="run clvox twice on each set's first pair")
    p.add_argument("--tag", default="",
                   help="ending of the names of clvox's rows, as =syn, to tell them from others")
    p.add_argument("--keep", action="store_true", help="keep the warps and warped images")
    p.add_argument("--measure", action="store_true", help="compute kept rows anew from kept warps")
    p.add_argument("--renew", action="append", default=[], metavar="TEXT",
                   help="make the rows again whose method starts with this; repeat")
    p.add_argument("--check", action="store_true", help="test the measuring code with known answers, and end")
    p.add_argument("--label", default="", help="a remark for the head of the table, as the device's name")
    p.add_argument("--markdown", help="write the tables there, of all rows that OUT/rows.json holds")
    p.add_argument("--csv", help="write the rows there")
    return p.parse_args()


def clean(folder):
    """Removes what is large; transforms of greedy's linear stage stay for its other settings."""
    for name in os.listdir(folder):
        if name.endswith(".nii.gz"):
            os.remove(os.path.join(folder, name))


def key(row):
    return row["set"], row["pair"], row["method"]


def load(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(book, new, o):
    """Puts rows into the book and returns all; others may be writing to it."""
    with open(book + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = {key(r): r for r in load(book)}
        rows.update({key(r): r for r in new})
        rows = sorted(rows.values(), key=lambda r: (r["set"], r["pair"]))
        with open(book + ".new", "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
        os.replace(book + ".new", book)
        if o.csv:
            report.write_csv(o.csv, rows)
    return rows


def work_through(name, pairs, wanted, rows, o):
    """Makes the rows of one set that the book lacks."""
    book = os.path.join(o.out, "rows.json")
    known = {key(r): r for r in rows}
    for pair in pairs:
        pair.set = name
        jobs = wanted + (["clvox-twice"] if o.repeat and pair is pairs[0] else [])
        for method in jobs:
            shown = method + o.tag if method.startswith("clvox") else method
            row = known.get((name, pair.name, shown))
            if row and o.measure:
                measure_again(row, pair)
                save(book, [row], o)
            if row and not any(shown.startswith(t) for t in o.renew):
                continue
            folder = os.path.join(pair.folder(o), shown)
            os.makedirs(folder, exist_ok=True)
            row = repeat(pair, folder, o) if method == "clvox-twice" else one(pair, method, folder, o)
            row.update(set=name, method=shown)
            print(report.line(row), flush=True)
            if not o.keep:
                clean(folder)
            save(book, [row], o)


def main():
    o = arguments()
    if o.check:
        return 1 if check.check() else 0
    os.makedirs(o.out, exist_ok=True)
    wanted = o.methods or tools.USUAL
    for missing in [m for m in wanted if not tools.available(m)]:
        print(f"{missing}: its peer is not installed here, left out", file=sys.stderr)
    wanted = [m for m in wanted if tools.available(m)]
    for name in o.sets or sorted(sets.SETS):
        work = os.path.join(o.out, name)
        os.makedirs(work, exist_ok=True)
        pairs = [p for p in sets.SETS[name](o.data, work, o)
                 if not o.pair or any(t in p.name for t in o.pair)]
        work_through(name, pairs, wanted, load(os.path.join(o.out, "rows.json")), o)
    rows = save(os.path.join(o.out, "rows.json"), [], o)
    text = report.markdown(rows, o)
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
