#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings of `clvox register` beside one another, on the labelled sets of accuracy.py:

    bench/settings.py --clvox build/src/cli/clvox --json settings.json < SETTINGS
    bench/settings.py --again settings.json [BEGINNING]       # the table of a record, or of the settings that begin so

SETTINGS has a line for each: NAME | METHOD of accuracy.py | OPTIONS | SETS. The record keeps averages over the pairs of a
set. Needs numpy, scipy and nibabel."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

import records

BENCH = os.path.dirname(os.path.abspath(__file__))
FIGURES = ["dice", "dice_vote", "lncc4", "sd_log_j", "min_j", "folds", "cpu", "epe_mean"]


def averages(rows):
    """Of the figures that all pairs have."""
    return {name: sum(row[name] for row in rows) / len(rows) for name in FIGURES
            if all(isinstance(row.get(name), (int, float)) for row in rows)}


def measured(options, line, folder):
    """The rows of the record that a setting makes, one for each of its sets."""
    name, method, words, sets = (part.strip() for part in line.split("|"))
    out = os.path.join(folder, name.replace(" ", "_"))
    command = [sys.executable, os.path.join(BENCH, "accuracy.py"), "--clvox", options.clvox, "--data", options.data,
               "--out", out, "--method", method, f"--clvox-option={words} --no-picture"]
    done = subprocess.run(command + [w for s in sets.split() for w in ("--set", s)], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise SystemExit(f"settings.py: {name}: {done.stderr.strip()[-300:]}")
    with open(os.path.join(out, "rows.json"), encoding="utf-8") as file:
        rows = json.load(file)
    return [{"setting": name, "method": method, "options": words, "set": s, "pairs": sum(r["set"] == s for r in rows),
             **averages([r for r in rows if r["set"] == s])} for s in sets.split()]


def text(record, beginning="", figure="dice"):
    """The table: a row for each setting, Dice and sd log J of each set, and where the true map is known, the error."""
    rows = [row for row in record["rows"] if row["setting"].startswith(beginning)]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    cells = {(row["setting"], row["set"]): f"{row[figure]:.4f}, {row['sd_log_j']:.3f}"
             + (f", {row['epe_mean']:.2f} mm" if "epe_mean" in row else "") for row in rows if figure in row}
    lines = [f"{record['device']}, {record['date']}; Dice {'by vote' if figure == 'dice_vote' else 'at the nearest voxel'} and sd log J:", "",
             "| setting | " + " | ".join(sets) + " |", "|---" * (len(sets) + 1) + "|"]
    for name in dict.fromkeys(row["setting"] for row in rows):
        lines.append(f"| {name[len(beginning):].strip()} | " + " | ".join(cells.get((name, s), "") for s in sets) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("beginning", nargs="?", default="", help="with --again")
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    parser.add_argument("--device", default="", help="what runs it, for the record")
    parser.add_argument("--at-once", type=int, default=1, help="settings that run beside one another")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    parser.add_argument("--again", metavar="FILE", help="print the table of this record")
    options = parser.parse_args()
    if options.again:
        with open(options.again, encoding="utf-8") as file:
            print(text(json.load(file), options.beginning), end="")
        return
    lines = [line for line in sys.stdin.read().splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        rows = [row for found in pool.map(lambda line: measured(options, line, folder), lines) for row in found]
    record = {"device": options.device, "date": time.strftime("%Y-%m-%d"), "rows": rows}
    if options.json:
        records.keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    main()
