#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Overlap against regularity of settings of `clvox register`, all pairs of the labelled sets in one list each:

    bench/front.py --clvox build/src/cli/clvox --json front.json < SETTINGS     # a line each: NAME | OPTIONS
    bench/front.py --plot doc/front.png bench/results/front-h200-2026-11-28.json

Dice is by vote, as clvox writes labels; sd log J is that of the warp inside the fixed image's labels. The record is written
as settings are done. Needs numpy, scipy and nibabel; the plot matplotlib."""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types

import records
import settings

SETS = {"nichart": "six pairs of heads, 2 mm", "hippocampus": "ten pairs of hippocampi", "freesurfer": "a pair of brains, 1 mm"}
CURVE = re.compile(r"([0-9x]+), total ")  # the iterations
PRESETS = {"quick": "--quick", "default": "default", "regular": "--regular", "best": "--best"}


def pairs_of(data, folder):
    from quality import sets  # pylint: disable=import-outside-toplevel
    return [(name, pair) for name in SETS for pair in sets.SETS[name](data, folder, types.SimpleNamespace(more=False))]


def measured(pair, prefix):
    """Dice by vote, sd log J and smallest J of a pair that was registered to prefix."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    from quality import measures as m  # pylint: disable=import-outside-toplevel
    fixed = pair.fixed_labels()
    only = set(np.unique(fixed.data)) & set(np.unique(pair.moving_labels().data)) if pair.common_labels else None
    warped = m.Volume.read(prefix + "_labels.nii.gz", int)
    j = m.jacobian(m.read_warp(prefix + "_warp.nii.gz", fixed), fixed.affine)[fixed.data > 0]
    return {"dice_vote": m.mean_dice(fixed.data, warped.data, only),
            "sd_log_j": float(np.std(np.log(np.maximum(j, 1e-6)))), "min_j": float(j.min())}


def run(o, lines):
    """Measures all settings, and keeps what is done after each of them."""
    record = {"device": o.device, "date": time.strftime("%Y-%m-%d"), "rows": []}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor() as pool:
        pairs = pairs_of(o.data, folder)
        table = os.path.join(folder, "pairs.tsv")
        with open(table, "w", encoding="utf-8") as out:
            out.write("fixed\tmoving\toutput\tlabels\n")
            for k, (_, p) in enumerate(pairs):
                out.write("\t".join([*map(os.path.abspath, (p.fixed_path, p.moving_path)), f"p{k}",
                                     os.path.abspath(p.moving_labels_path)]) + "\n")
        for n, line in enumerate(lines):
            name, _, options = (part.strip() for part in line.partition("|"))
            out = os.path.join(folder, str(n))
            subprocess.run([o.clvox, "register", "--list", table, "-o", out, "--no-picture", "-q", *options.split()],
                           check=True)
            found = list(pool.map(measured, [p for _, p in pairs], [os.path.join(out, f"p{k}") for k in range(len(pairs))]))
            for name_of_set in SETS:
                own = [f for f, (s, _) in zip(found, pairs) if s == name_of_set]
                record["rows"].append({"setting": name, "options": options, "set": name_of_set, "pairs": len(own),
                                       **{key: round(sum(f[key] for f in own) / len(own), 5) for key in own[0]}})
            records.keep(o.json, record)
    print(settings.text(record, figure="dice_vote"), end="")


def plot(record, path):
    """A curve for each number of iterations along the elastic sigma, and the presets."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(1, len(SETS), figsize=(12, 4.2), constrained_layout=True)
    for ax, (name, title) in zip(axes, SETS.items()):
        rows = [r for r in record["rows"] if r["set"] == name]
        curves = list(dict.fromkeys(CURVE.match(r["setting"])[1] for r in rows if CURVE.match(r["setting"])))
        for shade, curve in enumerate(curves):
            points = [r for r in rows if r["setting"].startswith(curve + ", total")]
            ax.plot([r["sd_log_j"] for r in points], [r["dice_vote"] for r in points], "o-", ms=3, lw=1,
                    color=pyplot.get_cmap("viridis")(shade / len(curves)), label=curve)
        for preset, shown in PRESETS.items():
            for r in (r for r in rows if r["setting"] == preset):
                ax.plot(r["sd_log_j"], r["dice_vote"], "r*", ms=9)
                ax.annotate(shown, (r["sd_log_j"], r["dice_vote"]), textcoords="offset points", xytext=(6, -10), color="r",
                            fontsize=8)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("sd of log J")
        ax.grid(alpha=.3)
    axes[0].set_ylabel("mean Dice")
    axes[0].legend(title="--iterations", fontsize=8, title_fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", nargs="?", help="with --plot")
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    parser.add_argument("--device", default="", help="what runs it, for the record")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    parser.add_argument("--plot", metavar="FILE.png", help="draw a record")
    o = parser.parse_args()
    if not o.plot:
        run(o, [line for line in sys.stdin.read().splitlines() if line.strip()])
        return
    with open(o.record, encoding="utf-8") as file:
        plot(json.load(file), o.plot)


if __name__ == "__main__":
    main()
