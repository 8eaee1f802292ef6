#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors beside the truth: clvox and what people denoise diffusion-weighted scans with.

    python3 -m venv build/tensors-env
    build/tensors-env/bin/pip install -r bench/tensors-requirements.txt
    build/tensors-env/bin/python bench/tensors.py --clvox build/src/cli/clvox --data ../shared/data \\
        --markdown bench/tensors.md

clvox runs as its users run it, from file to file; DIPY is called as a library. Rows that OUT/rows.json holds
already are kept, so that several runs can share the work; --renew TEXT makes those again whose method starts
with TEXT.
"""
import argparse
import fcntl
import itertools
import json
import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    from quality import tensor_peers, tensor_real, tensor_report
    from quality.tensor_scan import Scan, measure, phantom, read_tensor
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None

KINDS, SNRS, DIRECTIONS = ("helix", "rings", "steps"), (10, 20, 30), (20, 30)
GRIDS = ("axial", "oblique", "left", "left-oblique")
# Multiples of the noise's lambda for the claim of --lambda auto.
FACTORS = (0.7, 0.85, 1, 1.2, 1.4)
CLVOX = ("wls", "clvox", "clvox-bregman3", "clvox-mppca", "mppca-clvox", "auto", "auto-mppca")


def cases(o):
    """Every SNR and number of directions with each field; the grids take turns."""
    for n, (kind, snr, count) in enumerate(itertools.product(KINDS, SNRS, DIRECTIONS)):
        if (not o.kind or kind in o.kind) and (not o.snr or snr in o.snr):
            yield kind, snr, count, GRIDS[n % len(GRIDS)]


def run(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1])
    return done.stdout


def fit(o, scan, out, *words):
    run([o.clvox, "tensor", "fit", scan.path, "--bval", scan.bval, "--bvec", scan.bvec, "--mask", scan.mask_path,
         "-o", out, "-q", *words])
    return out + "_tensor.nii.gz"


def denoise(o, scan, tensor, out, *words):
    sigma = tensor.replace("_tensor.nii.gz", "_sigma.nii.gz")
    run([o.clvox, "tensor", "denoise", tensor, "-o", out, "--mask", scan.mask_path, "--noise", sigma, "-q", *words])
    return out


def clvox(o, scan, method, out):
    """(parameter, tensor) of a method of ours, one or more."""
    plain = ["--denoise", "mppca"] if "mppca" in method else []
    tensor = fit(o, scan, out, *plain)
    if method in ("wls", "mppca-clvox"):
        yield "", read_tensor(tensor)
        return
    if not method.startswith("auto"):
        more = ["--bregman", "3"] if method == "clvox-bregman3" else []
        yield "", read_tensor(denoise(o, scan, tensor, out + "_tv.nii.gz", *more, *o.option))
        return
    words = [o.clvox, "tensor", "denoise", tensor, "-o", out + "_tv.nii", "--mask", scan.mask_path,
             "--noise", out + "_sigma.nii.gz", "-q"]
    log = json.loads(run([*words, "--json", "-"]))
    yield "1", read_tensor(out + "_tv.nii")
    for factor in FACTORS:
        if factor != 1:
            run([*words, "--lambda", f"{factor * log['denoise']['lambda']:.6g}"])
            yield str(factor), read_tensor(out + "_tv.nii")


class Rows:
    """The rows of OUT/rows.json, which several runs may add to."""

    def __init__(self, path, renew):
        self.path = path
        self.renew = renew

    def read(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    def has(self, name, method):
        return any(r["case"] == name and r["method"] == method for r in self.read())

    def put(self, name, method, rows):
        with open(self.path + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = [r for r in self.read() if (r["case"], r["method"]) != (name, method)]
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(kept + rows, file, indent=0)
            os.replace(self.path + ".new", self.path)


def rows_of(o, scan, case, method):
    """The rows of one phantom and method."""
    kind, snr, count, grid = case
    name = os.path.basename(scan.path).replace("_dwi.nii.gz", "")
    head = {"case": name, "kind": kind, "snr": snr, "directions": count, "grid": grid, "seed": o.seed,
            "method": method}
    rows, before, started = [], cpu(), time.time()
    try:
        made = (tensor_peers.run(scan, method, 1000 / snr) if method in tensor_peers.PEERS
                else clvox(o, scan, method, os.path.join(o.out, name + "_" + method)))
        for parameter, tensor in made:
            rows.append({**head, "parameter": parameter, **measure(tensor, scan),
                         "cpu": cpu() - before, "s": time.time() - started})
            before, started = cpu(), time.time()
    except RuntimeError as failure:
        rows = [{**head, "parameter": "", "note": str(failure)}]
    return rows


def cpu():
    own, child = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + child.ru_utime + child.ru_stime


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    p.add_argument("--option", action="append", default=[], help="a word more for `tensor denoise`; repeat")
    p.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    p.add_argument("--out", default="build/tensors", help="folder for rows.json and the files")
    p.add_argument("--method", action="append", choices=CLVOX + tensor_peers.PEERS, help="repeat (default: all)")
    p.add_argument("--kind", action="append", choices=KINDS, help="repeat (default: all)")
    p.add_argument("--snr", action="append", type=int, choices=SNRS, help="repeat (default: all)")
    p.add_argument("--seed", type=int, default=1, help="of the phantoms (default 1, the one of the tables)")
    p.add_argument("--renew", help="make rows again whose method starts with this")
    p.add_argument("--real", action="store_true", help="the real scan and slice, not the phantoms")
    p.add_argument("--markdown", help="write the table there")
    p.add_argument("--device", help="of clvox's rows, for the table's head (default: the one here)")
    p.add_argument("--picture", help="write MVIRT's slice there: noisy, MVIRT, clvox")
    return p.parse_args()


def main():
    o = arguments()
    os.makedirs(o.out, exist_ok=True)
    rows = Rows(os.path.join(o.out, "rows.json"), o.renew)
    methods = o.method or CLVOX + tensor_peers.PEERS
    if o.real:
        wanted = [m for m in methods if not m.startswith("auto") and m != "wls-dipy"]
        for r in tensor_real.halves(o, wanted, lambda s, m, out: clvox(o, s, m, out)):
            rows.put("halves", r["method"], [r])
            print(r, flush=True)
        made = tensor_real.mvirt(o)
        for r in made:
            rows.put("mvirt", r["method"], [r])
            print(r, flush=True)
    for case in cases(o) if not o.real else ():
        prefix = phantom(o.clvox, o.out, *case, seed=o.seed)
        scan = None
        for method in methods:
            name = os.path.basename(prefix)
            if rows.has(name, method) and not (o.renew and method.startswith(o.renew)):
                continue
            scan = scan or Scan(prefix)
            made = rows_of(o, scan, case, method)
            rows.put(name, method, made)
            for r in made:
                print(name, method, r["parameter"], r.get("note") or
                      f"FA {r['fa']:.4f}, V1 {r['v1']:.2f}, edges {r['edge']:.2f}, {r['cpu']:.1f} s", flush=True)
    if o.markdown:
        tensor_report.write(rows.read(), o)


if __name__ == "__main__":
    main()
