#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Denoised surfaces beside the truth: clvox and the methods people smooth surfaces with.

    python3 -m venv build/surfaces-env
    build/surfaces-env/bin/pip install -r bench/surfaces-requirements.txt
    build/surfaces-env/bin/python bench/surfaces.py --clvox build/src/cli/clvox --data ../shared/data \\
        --markdown bench/surfaces.md --picture doc/surface.png

Every method but clvox runs over a range of its parameter, and the table takes for each noise level the
value that is best on average over the shapes; clvox runs as `clvox surface denoise IN -o OUT`. Rows that
OUT/rows.json holds already are kept; --renew TEXT makes those again whose method starts with TEXT.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    from quality import surface_real, surface_report
    from quality.surface_cases import LEVELS, SHAPES, make
    from quality.surface_mesh import measure, read_mesh
    from quality.surface_peers import PEERS
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None


def clvox(case, o, words=()):
    """The plain command, from file to file."""
    out = os.path.join(case.folder, "denoised.ply")
    run = subprocess.run([o.clvox, "surface", "denoise", case.path, "-o", out, "-q", *words],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError((run.stderr.strip().splitlines() or ["exit code %d" % run.returncode])[-1])
    return read_mesh(out)


def rows_of(case, method, o):
    def row(parameter, mesh):
        return {"shape": case.shape, "level": case.level, "method": method, "parameter": parameter,
                "true_euler": case.truth.parts()[1], **measure(mesh, case.truth)}
    if method == "input":
        return [row("", case.mesh)]
    if method.startswith("clvox"):
        words = [word for text in o.clvox_option for word in text.split()]
        try:
            return [row(" ".join(words), clvox(case, o, words))]
        except RuntimeError as failure:
            return [{"shape": case.shape, "level": case.level, "method": method, "note": str(failure)}]
    return [row(parameter, mesh) for parameter, mesh in PEERS[method](case)]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    p.add_argument("--clvox-option", action="append", default=[], metavar="TEXT",
                   help="words added to every clvox command; name its rows apart with --tag")
    p.add_argument("--tag", default="", help="ending of the names of clvox's rows")
    p.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    p.add_argument("--out", default="build/surfaces", help="folder for rows.json and the files")
    p.add_argument("--shape", action="append", choices=SHAPES, help="repeat (default: all)")
    p.add_argument("--level", action="append", choices=list(LEVELS), help="repeat (default: all)")
    p.add_argument("--method", action="append", choices=["input", "clvox", *PEERS], help="repeat (default: all)")
    p.add_argument("--renew", action="append", default=[], metavar="TEXT")
    p.add_argument("--real", action="store_true", help="also the surfaces of real segmentations")
    p.add_argument("--label", default="", help="a remark for the head of the table")
    p.add_argument("--markdown", help="write the tables there, of all rows that OUT/rows.json holds")
    p.add_argument("--picture", help="write real surfaces before and after there, as PNG")
    return p.parse_args()


def load(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(path, rows):
    """Others may read it meanwhile."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    os.replace(path + ".new", path)


def main():
    o = arguments()
    os.makedirs(o.out, exist_ok=True)
    book = os.path.join(o.out, "rows.json")
    rows = load(book)
    for shape in o.shape or SHAPES:
        for level in o.level or LEVELS:
            case = None
            for method in o.method or ["input", "clvox", *PEERS]:
                shown = method + o.tag if method == "clvox" else method
                mine = [r for r in rows if (r["shape"], r["level"], r["method"]) == (shape, level, shown)]
                if mine and not any(shown.startswith(t) for t in o.renew):
                    continue
                case = case or make(shape, level, o)
                new = [{**r, "method": shown} for r in rows_of(case, method, o)]
                rows = [r for r in rows if r not in mine] + new
                for r in new:
                    print(surface_report.line(r), flush=True)
                save(book, rows)
    real = os.path.join(o.out, "real.json")
    if o.real or o.picture:
        save(real, surface_real.rows(o))
    if o.markdown:
        with open(o.markdown, "w", encoding="utf-8") as file:
            file.write(surface_report.markdown(rows, load(real), o))
    return 0


if __name__ == "__main__":
    sys.exit(main())
