# SPDX-License-Identifier: Apache-2.0
"""Rows as a line of progress, as CSV and as Markdown tables."""
import csv
import datetime
import statistics
import subprocess

COLUMNS = ["set", "pair", "method", "dice0", "dice", "dice_vote", "dice_own", "dice_true", "lncc4", "cc4",
           "sd_log_j", "min_j", "min_j_all", "folds", "epe_mean", "epe_p95", "epe_max", "cpu", "cpu_deform",
           "seconds", "note"]
TIMES = ("CPU s", "s", "cpu", "cpu_deform", "seconds")  # one decimal is enough


PEER = "greedy-best"


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def line(row):
    """One row for the terminal."""
    parts = [row["set"], row["pair"], row["method"]]
    parts += [f"{k} {number(row[k])}" for k in COLUMNS[3:-1] if k in row]
    return "  ".join(parts + ([row["note"]] if row.get("note") else []))


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([number(row.get(k), 4) for k in COLUMNS])


def provenance(options):
    """Versions, device and date, as one sentence each."""
    def ask(*words):
        try:
            out = subprocess.run([options.clvox, *words], capture_output=True, text=True, check=False)
            return out.stdout.strip().splitlines()
        except OSError:
            return []
    version = (ask("--version") or ["clvox (not found)"])[0]
    device = [d for d in ask("devices") if "*" in d] or ask("devices")[:1]
    text = [datetime.date.today().isoformat(), version,
            "device: " + (device[0].strip().lstrip("*").strip() if device else "unknown")]
    if options.clvox_option:
        text.append("options of every clvox run: `" + " ".join(options.clvox_option) + "`")
    if options.label:
        text.append(options.label)
    from importlib import metadata
    for package in ("picsl_greedy", "antspyx"):
        try:
            text.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            pass
    return "; ".join(text) + f"; peers with {options.threads} thread" + ("s" if options.threads > 1 else "")


def worst(values):
    return min(values)


mean, median = statistics.mean, statistics.median
SUMMARY = [("Dice, affine", "dice0", mean), ("Dice", "dice", mean), ("worst", "dice", worst),
           ("Dice, vote", "dice_vote", mean), ("Dice, own labels", "dice_own", mean),
           ("Dice, true map", "dice_true", mean), ("LNCC r4", "lncc4", mean), ("CC r4", "cc4", mean),
           ("sd log J", "sd_log_j", mean), ("min J", "min_j", worst), ("folds", "folds", sum),
           ("error mm", "epe_mean", mean), ("95% mm", "epe_p95", mean), ("CPU s", "cpu", median),
           ("s", "seconds", median)]
HEAD = ["method", "pairs", "to " + PEER] + [name for name, _, _ in SUMMARY]


def summary(rows, peer):
    """One row a method: figures over its pairs, and its Dice less the peer's on the pairs that both have."""
    gains = [r["dice"] - peer[r["pair"]] for r in rows if r["pair"] in peer and "dice" in r]
    out = [f"{mean(gains):+.3f}" if gains else None]
    for _, key, pick in SUMMARY:
        values = [r[key] for r in rows if r.get(key) is not None]
        out.append(pick(values) if values else None)
    return out


def table(head, body):
    keep = [k for k in range(len(head)) if k < 2 or any(r[k] not in ("", None) for r in body)]
    lines = ["| " + " | ".join(head[k] for k in keep) + " |", "|" + "---|" * len(keep)]
    for r in body:
        cells = [number(r[k], 1 if head[k] in TIMES else 3) for k in keep]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def rank(method):
    """clvox first, then the peers."""
    return ("clvox", "greedy", "ants").index(method.split("-")[0].split("=")[0]), method


def part(row):
    """What is averaged together: a set, but pairs of one contrast apart from those of two."""
    kind = row["pair"].split()[1:2]
    return row["set"] + (f", {kind[0]} contrast" if kind in (["same"], ["other"]) else "")


def twice(row):
    return row["method"].startswith("clvox-twice")


def markdown(rows, options):
    """The document: a summary for each set."""
    text = ["# Accuracy", "", provenance(options) + ".", "", EXPLAIN, ""]
    names = sorted({part(r) for r in rows})
    for name in names:
        mine = [r for r in rows if part(r) == name]
        text += [f"## {name}", ""]
        kinds = sorted({r["method"] for r in mine if not twice(r)}, key=rank)
        body, peer = [], {r["pair"]: r["dice"] for r in mine if r["method"] == PEER and "dice" in r}
        for kind in kinds:
            these = [r for r in mine if r["method"] == kind]
            done = [r for r in these if "sd_log_j" in r]
            body.append([kind, f"{len(done)}" + (f" of {len(these)}" if len(done) < len(these) else "")]
                        + summary(done, peer))
        text += table(HEAD, body) + [""]
        text += [f"Two runs of clvox on {r['pair']}: {r['note']}." for r in mine if twice(r)]
        text += [""] if any(twice(r) for r in mine) else []
    return "\n".join(text).rstrip() + "\n"


EXPLAIN = """\
Made by `bench/accuracy.py`, which computes every figure from the files that a tool writes, by the same code for all.

- Dice: mean over all labels that either map has, looked up at the nearest voxel through affine and warp; "vote": labels
  chosen by trilinear weights; "own labels": the label map that clvox writes; "true map": with the true deformation;
  "to greedy-best": mean difference on the pairs that both have.
- LNCC and CC: mean squared local correlation (radius 4) inside the fixed brain, and the mean of the correlation itself.
- sd log J and min J: of the determinant of the warp alone, inside the brain; folds: on the whole grid.
- error: distance from the true map, inside the head.
- CPU s: summed over threads; s: wall time of the whole command or commands, files to files."""
