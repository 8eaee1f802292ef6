#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Templates of labelled heads by `clvox atlas` and by build_template of antspyx, and what they are good for:

    bench/templates.py --clvox build/src/cli/clvox --json templates.json [--tool clvox --tool ants --held 1,2 --held 6,7]
    bench/templates.py --again templates.json                                # the table of a record

--tool: all ten subjects' labels are carried onto the tool's template by its maps, at the nearest voxel and by one code for
all tools, and compared pair by pair. --held: the template of the first eight subjects without these labels these, and so
does each of the other subjects alone. Files that OUT holds are not made again. Needs numpy, scipy and nibabel."""
import argparse
import itertools
import json
import os
import statistics
import sys
import time

import records

ROUNDS = 4
# (8, 9 and 10 are one person)
SUBJECTS, PEOPLE = range(1, 11), range(1, 9)
ANTS = """
import json, sys, ants
folder, rounds, images = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
template = ants.build_template(image_list=[ants.image_read(i) for i in images], iterations=rounds, output_dir=folder,
                               random_seed=1)
ants.image_write(template, folder + '/template.nii.gz')
def affine(path):
    t = ants.read_transform(path)
    return [list(t.parameters), list(t.fixed_parameters)]
json.dump({'mean': affine(folder + '/avgAffine.mat'),
           'subjects': [affine(f'{folder}/img{k:04d}/out0GenericAffine.mat') for k in range(len(images))]},
          open(folder + '/affines.json', 'w'))
"""


def image(options, subject, kind=""):
    return os.path.join(options.data, "nichart_2mm_labelled", f"Subj{subject}_T1{kind}.nii.gz")


def ran(options, folder, words):
    """CPU seconds of a command, which is not run where its folder has them; measured where it is."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "cpu.json")
    if not os.path.exists(path):
        _, cpu = tools.run(words, options.threads, os.path.join(folder, "log"))
        with open(path, "w", encoding="ascii") as file:
            json.dump(cpu, file)
    with open(path, encoding="ascii") as file:
        return json.load(file)


# ---- templates, and where the voxels of each lie in every subject ----


def by_clvox(options, folder, subjects, labels=False):
    """CPU seconds and the points by subject, RAS mm."""
    os.makedirs(folder, exist_ok=True)
    table = os.path.join(folder, "subjects.tsv")
    with open(table, "w", encoding="ascii") as file:
        file.write("image\tlabels\n" if labels else "image\n")
        for s in subjects:
            file.write("\t".join(os.path.abspath(image(options, s, k)) for k in ("", "_DLMUSE")[:1 + labels]) + "\n")
    made = os.path.join(folder, "made")
    cpu = ran(options, folder, [options.clvox, "atlas", "-o", made, "--list", table, "--rounds", str(ROUNDS), "--threads",
                                str(options.threads), "-q"])
    template = Volume.read(os.path.join(made, "template.nii.gz"))

    def points(subject):
        name = os.path.join(made, f"Subj{subject}_T1")
        return total_map(template, read_warp(name + "_warp.nii.gz", template), read_itk_affine(name + "_affine.txt"))
    return cpu, points


def by_ants(options, folder, subjects):
    """The last round's maps, and before them the update of the template's shape, as build_template applies it."""
    cpu = ran(options, folder, [sys.executable, "-c", ANTS, folder, str(ROUNDS), *(image(options, s) for s in subjects)])
    template = Volume.read(os.path.join(folder, "template.nii.gz"))
    with open(os.path.join(folder, "affines.json"), encoding="ascii") as file:
        affines = json.load(file)

    def matrix(parts):
        return itk_affine(*(np.array(part) for part in parts))

    def moved(points, name):
        u = read_warp(os.path.join(folder, name), template)
        parts = [sample(Volume(u[..., k], template.affine), points) for k in range(3)]
        return points + np.stack(parts, -1)

    def through(points, affine):
        return points @ affine[:3, :3].T + affine[:3, 3]

    def points(subject):
        k = list(subjects).index(subject)
        at = moved(grid_points(template), "avgWarp.nii.gz")
        at = moved(through(at, np.linalg.inv(matrix(affines["mean"]))), f"img{k:04d}/out1Warp.nii.gz")
        return through(at, matrix(affines["subjects"][k]))
    return cpu, points


def overlap(options, tool):
    """Dice of every two subjects' labels on the template."""
    cpu, points = {"clvox": by_clvox, "ants": by_ants}[tool](options, os.path.join(options.out, tool), SUBJECTS)
    seen = [sample(Volume.read(image(options, s, "_DLMUSE"), int), points(s), 0) for s in SUBJECTS]
    dice = [mean_dice(a, b) for a, b in itertools.combinations(seen, 2)]
    return {"tool": tool, "subjects": len(seen), "pairs": len(dice), "dice": statistics.mean(dice), "worst": min(dice),
            "cpu": cpu, "threads": options.threads}


# ---- held-out subjects ----


def labelled(options, held, moving, labels):
    """Dice of the held-out subject's labels with those that a registration of another image to it carries there."""
    folder = os.path.join(options.out, f"held-{held}", os.path.basename(os.path.dirname(moving)) +
                          os.path.basename(moving).split(".")[0])
    prefix = os.path.join(folder, "made")
    ran(options, folder, [options.clvox, "register", "-f", image(options, held), "-m", moving, "-o", prefix, "--no-picture",
                          "--threads", str(options.threads), "-q"])
    fixed = Volume.read(image(options, held, "_DLMUSE"), int)
    points = total_map(fixed, read_warp(prefix + "_warp.nii.gz", fixed), read_itk_affine(prefix + "_affine.txt"))
    return mean_dice(fixed.data, sample(Volume.read(labels, int), points, 0))


def held_out(options, names):
    """A row for each held-out subject."""
    held = [int(name) for name in names.split(",")]
    others = [s for s in PEOPLE if s not in held]
    folder = os.path.join(options.out, "without-" + names.replace(",", "-"))
    by_clvox(options, folder, others, labels=True)
    rows = []
    for h in held:
        alone = {s: labelled(options, h, image(options, s), image(options, s, "_DLMUSE")) for s in others}
        best = max(alone, key=alone.get)
        rows.append({"held": h, "subjects": len(others),
                     "template": labelled(options, h, os.path.join(folder, "made", "template.nii.gz"),
                                          os.path.join(folder, "made", "template_labels.nii.gz")),
                     "best": alone[best], "best_subject": best, "mean": statistics.mean(alone.values())})
        print(rows[-1], flush=True)
    return rows


def text(record):
    """The tables: tools, and held-out subjects."""
    named = {"clvox": "`clvox atlas`", "ants": "build_template (antspyx)"}
    tools_rows = [row for row in record["rows"] if "tool" in row]
    held = [row for row in record["rows"] if "held" in row]
    out = f"{record['device']}, {record['date']}; {ROUNDS} rounds"
    out += f", with {tools_rows[0]['threads']} threads:\n" if tools_rows else ":\n"
    if tools_rows:
        out += "\n" + records.markdown(
            ["template of ten heads", "Dice between subjects", "worst pair", "CPU s"],
            [[named[r["tool"]], f"{r['dice']:.4f}", f"{r['worst']:.4f}", f"{r['cpu']:.0f}"] for r in tools_rows])
    if held:
        out += "\n" + records.markdown(
            ["held-out subject", "template of six", "best of the six", "mean of the six"],
            [[str(r["held"]), *(f"{r[k]:.4f}" for k in ("template", "best", "mean"))] for r in held])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    parser.add_argument("--out", default="build/templates", help="folder of what the tools write")
    parser.add_argument("--tool", action="append", choices=["clvox", "ants"], default=[])
    parser.add_argument("--held", action="append", default=[], metavar="N,N", help="subjects of 1 to 8; repeat")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="", help="what runs it, for the record")
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    parser.add_argument("--again", metavar="FILE", help="print the tables of this record")
    options = parser.parse_args()
    if options.again:
        with open(options.again, encoding="utf-8") as file:
            print(text(json.load(file)), end="")
        return
    record = {"device": options.device, "date": time.strftime("%Y-%m-%d"), "rows": []}
    for make, of in [(overlap, t) for t in options.tool] + [(held_out, h) for h in options.held]:
        rows = make(options, of)
        record["rows"] += rows if isinstance(rows, list) else [rows]
        records.keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not {"-h", "--help", "--again"} & set(sys.argv):
        import numpy as np
        from quality import tools
        from quality.measures import (Volume, grid_points, itk_affine, mean_dice, read_itk_affine, read_warp, sample,
                                      total_map)
    main()
