# SPDX-License-Identifier: Apache-2.0
"""Rows as a line of progress, as CSV and as Markdown tables."""
import csv
import datetime
import statistics
import subprocess

COLUMNS = ["set", "pair", "method", "dice0", "dice", "dice_vote", "dice_own", "dice_true", "lncc4", "sd_log_j", "min_j", "min_j_all",
           "folds", "epe_mean", "epe_p95", "epe_max", "cpu", "cpu_deform", "seconds", "note"]


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
    text = [f"{datetime.date.today().isoformat()}, {version}", f"device: {device[0].strip() if device else '?'}"]
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


def summary(rows):
    """One row a method: means over the pairs, the worst pair, the median of the seconds."""
    def gather(key):
        return [r[key] for r in rows if r.get(key) is not None]
    out = []
    for key, pick in (("dice0", statistics.mean), ("dice", statistics.mean), ("dice", min),
                      ("dice_vote", statistics.mean), ("dice_own", statistics.mean), ("dice_true", statistics.mean),
                      ("lncc4", statistics.mean), ("sd_log_j", statistics.mean), ("min_j", min), ("folds", sum),
                      ("epe_mean", statistics.mean), ("epe_p95", statistics.mean),
                      ("cpu", statistics.median), ("seconds", statistics.median)):
        values = gather(key)
        out.append(pick(values) if values else None)
    return out


HEAD = ["method", "pairs", "Dice, affine", "Dice", "worst", "Dice, vote", "Dice, own labels", "Dice, true map", "LNCC r4", "sd log J",
        "min J", "folds", "error mm", "95% mm", "CPU s", "s"]


def table(head, body):
    keep = [k for k in range(len(head)) if k < 2 or any(r[k] not in ("", None) for r in body)]
    lines = ["| " + " | ".join(head[k] for k in keep) + " |", "|" + "---|" * len(keep)]
    for r in body:
        lines.append("| " + " | ".join(number(r[k], 1 if head[k] in ("CPU s", "s") else 3) for k in keep) + " |")
    return lines


def markdown(rows, options):
    """The document: a summary for each set, then every pair."""
    text = ["# Accuracy", "", provenance(options) + ".", "", EXPLAIN, ""]
    names = list(dict.fromkeys(r["set"] for r in rows))
    for name in names:
        mine = [r for r in rows if r["set"] == name]
        text += [f"## {name}", ""]
        kinds = list(dict.fromkeys(r["method"] for r in mine if r["method"] != "clvox twice"))
        body = []
        for kind in kinds:
            these = [r for r in mine if r["method"] == kind]
            done = [r for r in these if "sd_log_j" in r]
            body.append([kind, f"{len(done)}" + (f" of {len(these)}" if len(done) < len(these) else "")]
                        + summary(done))
        text += table(HEAD, body) + [""]
        text += [f"Two runs of clvox on {r['pair']}: {r['note']}." for r in mine if r["method"] == "clvox twice"]
        text += [""] if any(r["method"] == "clvox twice" for r in mine) else []
    text += ["## Every pair", ""]
    for name in names:
        mine = [r for r in rows if r["set"] == name and r["method"] != "clvox twice"]
        keys = COLUMNS[1:]
        text += [f"{name}:", ""] + table(keys, [[r.get(k) for k in keys] for r in mine]) + [""]
    return "\n".join(text).rstrip() + "\n"


EXPLAIN = """Made by `bench/accuracy.py`. Every figure is computed from the files that a tool writes, by the
same code for all: labels are looked up at the nearest voxel through affine and warp, Dice is the mean over all
labels that either map has, LNCC is the mean squared local correlation (radius 4) inside the fixed brain, J the
determinant of the warp alone (sd of log J and the smallest J inside the brain, folds on the whole grid), the
error the distance from the true map inside the head. "Own labels" is Dice of the label map that clvox writes.
CPU seconds are summed over threads and hold on a busy machine; s is the time of the whole command or commands."""
