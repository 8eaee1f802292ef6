#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times clvox and what people use today on the same inputs, one after the other in turn.

    python3 -m venv build/peers-env
    build/peers-env/bin/pip install -r bench/peers/requirements.txt
    build/peers-env/bin/python bench/peers/run.py --clvox build/src/cli/clvox --library build/src/libclvox.so.0.1.0 \\
        --json bench/results/peers.json

Library calls go from arrays in host memory to arrays in host memory, clvox's transfers to its device included;
commands from file to file. Results are compared before anything is timed, as the largest difference over the
range of clvox's result away from the border; a peer whose result lies further off than its entry in tasks.py
allows ends the run. Each round calls everybody once; medians count, of the wall clock and of CPU seconds over
all threads (of the children, for commands), which mean something on a busy machine too. Prints a table in
Markdown; --json keeps every sample."""
import argparse
import importlib.metadata
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import texts
from records import keep

PACKAGES = ("dipy", "nibabel", "numpy", "pyclesperanto", "scikit-image", "scipy", "simpleitk")


def cpu_seconds():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                         resource.RUSAGE_CHILDREN)))


def differences(task, np):
    """Sets each entry's difference from the first; raises where one is too large."""
    cut = (slice(task.margin, -task.margin) if task.margin else slice(None),) * 3
    want = None
    for entry in task.entries:
        got = np.asarray(entry["fetch"](entry["call"]()), dtype=np.float64)[cut]
        if want is None:
            want = got
        if entry["fitted"]:
            entry["scale"] = float((want * got).sum() / (got * got).sum())
        entry["difference"] = float(np.abs(got * entry["scale"] - want).max() / (want.max() - want.min()))
        if not entry["difference"] <= entry["tolerance"]:
            raise SystemExit(f"run.py: {task.name}: {entry['who']} differs by {entry['difference']:.2g} of the "
                             f"range, more than {entry['tolerance']:g}; nothing is timed")


def rounds(task, count):
    for entry in task.entries:
        entry["seconds"], entry["cpu_seconds"] = [], []
    for number in range(count + 1):
        for entry in task.entries[:: -1 if number % 2 else 1]:
            wall, cpu = time.perf_counter(), cpu_seconds()
            result = entry["call"]()
            wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
            if entry["release"]:
                entry["release"](result)
            if number:  # the first round warms up
                entry["seconds"].append(wall)
                entry["cpu_seconds"].append(cpu)


def put_rows(record, task, size):
    first = None
    for entry in task.entries:
        row = {"task": task.name, "note": task.note, "who": entry["who"], "size": list(size),
               "wall": statistics.median(entry["seconds"]), "cpu": statistics.median(entry["cpu_seconds"]),
               "difference": entry["difference"], "scale": entry["scale"], "remark": entry["remark"],
               "seconds": entry["seconds"], "cpu_seconds": entry["cpu_seconds"]}
        first = first or row
        row["wall_ratio"], row["cpu_ratio"] = row["wall"] / first["wall"], row["cpu"] / max(first["cpu"], 1e-9)
        record["rows"].append(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clvox", required=True, help="the program")
    parser.add_argument("--library", required=True, help="libclvox.so of the same build")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--task", help="only tasks whose name contains this text")
    parser.add_argument("--busy", action="store_true", help="say that others used the machine too")
    parser.add_argument("--json")
    o = parser.parse_args()
    if o.size < 48:
        parser.error("--size: at least 48, as margins of 21 voxels are not compared")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT",
                 "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"):
        os.environ[name] = str(o.threads)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import numpy as np
    import SimpleITK
    import library
    import tasks
    SimpleITK.ProcessObject.SetGlobalDefaultNumberOfThreads(o.threads)
    ours, size = library.Library(os.path.abspath(o.library), o.device), (o.size,) * 3
    scan = (o.size // 2, o.size // 2, max(o.size // 3, 8))
    listed = json.loads(subprocess.run([o.clvox, "devices", "--json", "-"], capture_output=True, text=True,
                                       check=True).stdout)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    if shutil.which("mrfilter"):
        said = subprocess.run(["mrfilter", "-version"], capture_output=True, text=True, check=True).stdout
        versions["MRtrix"] = said.split()[2]
    record = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "command": sys.argv,
              "clvox": ours.lib.clvox_version().decode(), "device": o.device, "devices": listed,
              "threads": o.threads, "processor": platform.processor() or platform.machine(),
              "versions": versions, "load_average": os.getloadavg(), "rows": [],
              "remark": "Busy machine: CPU seconds count." if o.busy else ""}
    a, u = tasks.image(size), tasks.field(size)
    with tempfile.TemporaryDirectory() as folder:
        made = [("Gaussian 1.7", size, lambda: tasks.gaussians(ours, a, 1.7)),
                ("Gaussian 5", size, lambda: tasks.gaussians(ours, a, 5.0)),
                ("gradient, Sobel", size, lambda: tasks.edges(ours, a)),
                ("linear, through a field", size, lambda: tasks.resampling(ours, a, u)),
                ("Jacobian determinant", size, lambda: tasks.determinant(ours, u)),
                ("total variation", size, lambda: tasks.variation(ours, a)),
                ("tensor fit, WLS", scan, lambda: tasks.fitting(ours, o.clvox, folder, scan))]
        if "MRtrix" in versions:
            made += [("command: Gaussian 1.7", size, lambda: tasks.smoothing(o.clvox, folder, a, 1.7, o.threads)),
                     ("command: tensor fit, WLS", scan, lambda: tasks.fit_commands(o.clvox, folder, o.threads))]
        for name, of, make in made:
            if o.task and o.task not in name:
                continue
            task = make()
            differences(task, np)
            rounds(task, o.rounds)
            put_rows(record, task, of)
            print(f"{task.name}: done", file=sys.stderr)
    if not record["rows"]:
        raise SystemExit(f"run.py: no task has {o.task} in its name; there are: {', '.join(m[0] for m in made)}")
    keep(o.json, record)
    print(texts.tasks(record), end="")


if __name__ == "__main__":
    main()
