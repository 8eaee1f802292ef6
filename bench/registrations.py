#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole registrations of one device, from .nii.gz to .nii.gz with kernels cached and without the picture.

    bench/registrations.py --clvox build/src/cli/clvox --json bench/results/register-gpu.json \\
        'brains, 1 mm=MNI152_T1_1mm_brain.nii.gz,t1_brain.nii.gz' 'heads, 2 mm=Subj1_T1.nii.gz,Subj2_T1.nii.gz'

Each argument names a pair, its fixed and its moving image. The first round of each preset builds kernels and
does not count. Prints the medians in Markdown, by stage as the command itself counts them; --json keeps device,
driver, version, sizes and every sample."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

STAGES = ("read", "prepare", "linear", "deform", "finish", "write")


def once(options, preset, fixed, moving, folder):
    """The command's own log, and its seconds from outside."""
    log = os.path.join(folder, "log.json")
    words = [options.clvox, "register", "-f", fixed, "-m", moving, "-o", os.path.join(folder, "out"), "--no-picture",
             "-q", "--json", log] + ([] if preset == "default" else ["--" + preset])
    start = time.perf_counter()
    subprocess.run(words + (["--device", options.device] if options.device else []), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    with open(log, encoding="utf-8") as text:
        return json.load(text), wall


def timed(options, name, files, preset, folder):
    logs = [once(options, preset, *files, folder) for _ in range(options.rounds + 1)][1:]
    first = logs[0][0]
    row = {"pair": name, "preset": preset, "size": first["plan"]["fixed"]["size"],
           "moving_size": first["plan"]["moving"]["size"], "inputs": first["inputs"], "options": first["options"],
           "wisdom": first["wisdom"], "peak_device_bytes": first["result"]["peak_device_bytes"],
           "wall": [wall for _, wall in logs], "all": [log["seconds"] for log, _ in logs],
           "stages": {stage: [log["seconds_by_stage"][stage] for log, _ in logs]
                      for stage in first["seconds_by_stage"]}}
    return first, row


def table(rows):
    lines = ["| pair | preset | all | " + " | ".join(STAGES) + " |",
             "|---|---|---" + "|---" * len(STAGES) + "|"]
    for row in rows:
        stages = [f"{statistics.median(row['stages'][stage]):.2g}" for stage in STAGES]
        lines.append(f"| {row['pair']}, {'x'.join(map(str, row['size']))} | {row['preset']} | "
                     f"{statistics.median(row['wall']):.2f} | {' | '.join(stages)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="NAME=FIXED,MOVING")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--device", help="as clvox takes it")
    parser.add_argument("--preset", action="append", choices=["default", "quick", "best"], help="(default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in options.pairs:
            name, files = pair.split("=", 1)
            for preset in options.preset or ["default", "quick", "best"]:
                first, row = timed(options, name, files.split(","), preset, folder)
                rows.append(row)
                record = {"program": "clvox", "version": first["version"], "verb": "register", "date": first["date"],
                          "command": sys.argv, "device": first["device"], "threads": os.cpu_count(),
                          "load_average": os.getloadavg(), "rows": rows}
                if options.json:  # as it goes, so that what was measured is not lost
                    with open(options.json, "w", encoding="utf-8") as out:
                        json.dump(record, out, indent=1)
    print(f"{record['device']['name']}, driver {record['device']['driver']}, clvox {record['version']}, "
          f"{record['date'][:10]}; medians of {options.rounds}, seconds\n\n{table(rows)}")


if __name__ == "__main__":
    main()
