#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole registrations of clvox and of others in turn, from files to files, on the same pairs and cores.

    build/peers-env/bin/python bench/peers/registration.py --clvox build/src/cli/clvox --pair 'Subj1<-Subj2' \\
        --json bench/results/registration.json

Each round calls everybody once, in the other order every second time, so that a drift of the machine meets all.
The first round warms up and does not count. greedy makes its affine anew in every call, as a user would. Medians
of the wall clock and of CPU seconds; ratios are to clvox's default. Accuracy on the same pairs: bench/accuracy.py.
Needs numpy, scipy and nibabel, and picsl_greedy, antspyx or SimpleITK for their rows."""
import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import texts  # noqa: E402
try:
    from quality import sets, tools
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None
from records import keep  # noqa: E402


def once(pair, method, options):
    """Seconds by the clock and on the processor of one whole registration."""
    folder = os.path.join(pair.folder(options), method)
    os.makedirs(folder, exist_ok=True)
    affine = os.path.join(pair.folder(options), "greedy", "affine.json")
    if method.startswith("greedy") and os.path.exists(affine):
        os.remove(affine)
    result = tools.methods()[method](pair, method, folder, options)
    return result.seconds, result.cpu


def rounds(pair, methods, options):
    rows = [{"pair": pair.name, "set": pair.set, "size": list(pair.fixed().data.shape), "method": method,
             "seconds": [], "cpu_seconds": []} for method in methods]
    for number in range(options.rounds + 1):
        for row in rows[:: -1 if number % 2 else 1]:
            seconds, cpu = once(pair, row["method"], options)
            print(f"{pair.name}, round {number}, {row['method']}: {seconds:.2f} s", file=sys.stderr)
            if number:
                row["seconds"].append(seconds)
                row["cpu_seconds"].append(cpu)
    for row in rows:
        row["wall"] = statistics.median(row["seconds"])
        row["cpu"] = statistics.median(row["cpu_seconds"])
        row["ratio"] = row["wall"] / rows[0]["wall"]
    return rows


def versions():
    found = {}
    for name in ("picsl_greedy", "antspyx", "simpleitk", "nibabel", "numpy", "scipy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    parser.add_argument("--out", default="build/peers", help="folder for the tools' files")
    parser.add_argument("--set", default="nichart", choices=sorted(sets.SETS), help="(default: nichart)")
    parser.add_argument("--pair", action="append", help="only pairs whose name contains this text; repeat")
    parser.add_argument("--method", action="append", choices=sorted(tools.methods()), help="repeat; the first is "
                        "what the others are compared with (default: clvox and greedy by their presets)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    options = parser.parse_args()
    options.clvox_option, options.more, options.spacing, options.seed = [], False, 2, 1
    methods = options.method or [m for m in ("clvox", "clvox-quick", "clvox-best", "greedy-fast",
                                             "greedy-documented", "greedy-best", "ants-mi",
                                             "ants-cc") if tools.available(m)]
    work = os.path.join(options.out, options.set)
    os.makedirs(work, exist_ok=True)
    rows, names = [], []
    for pair in sets.SETS[options.set](options.data, work, options):
        pair.set = options.set
        names.append(pair.name)
        if not options.pair or any(text in pair.name for text in options.pair):
            rows += rounds(pair, methods, options)
    if not rows:
        raise SystemExit(f"registration.py: no pair of {options.set} is called so; there are: {', '.join(names)}")
    listed = subprocess.run([options.clvox, "devices", "--json", "-"], capture_output=True, text=True, check=True)
    record = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "command": sys.argv,
              "devices": json.loads(listed.stdout), "versions": versions(), "threads": options.threads,
              "load_average": os.getloadavg(), "rows": rows}
    keep(options.json, record)
    print(texts.registrations(record), end="")


if __name__ == "__main__":
    main()
