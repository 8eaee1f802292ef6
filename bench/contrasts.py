#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registration across real contrasts: T1 of one person to FLAIR of another, judged by labels.

    bench/contrasts.py prepare FOLDER                     # truth, once; needs numpy, nibabel, antspyx, picsl_greedy
    bench/contrasts.py run FOLDER --half first --json contrasts.json < SETTINGS
    bench/contrasts.py peers FOLDER --json peers.json     # ANTs and greedy on six pairs of the second half, ANTs' CC on three
    bench/contrasts.py within FOLDER          # rigid maps of each person's T1 to the FLAIR, from 8 headers that were turned and shifted
    bench/contrasts.py table contrasts.json...

A person's labels are those of the T1, carried to the FLAIR by a rigid map within the person: the median of clvox's, ANTs' and
greedy's, where all three agree within 1 mm on the brain; other people are left out. SETTINGS has a line for each: NAME | OPTIONS of
`clvox register`; `same` as OPTIONS registers T1 to T1 and carries the result by the rigid map, which is what one contrast
reaches. Halves: people 1, 3, 5, 7, to choose on; 2, 4, 6 and 8, 9, 10, who are one person, to report on. All ordered pairs of
different people. Dice: mean over the labels that either map has, at the nearest voxel; centroids: the mean over labels of
their shift, as a vector, which a lost pair has large. run needs Python alone and takes files that are there as they are."""
import argparse
import array
import collections
import concurrent.futures
import gzip
import itertools
import json
import math
import os
import struct
import subprocess
import sys
import time

HALVES = {"first": [1, 3, 5, 7], "second": [2, 4, 6, 8, 9, 10]}
ONE = {8, 9, 10}  # one person
AGREE = 1.0  # mm


def prepare(options):
    """Copies the images of people whose rigid maps agree, with the truth, to the folder."""
    import shutil

    import numpy as np

    from quality import tools
    from quality.measures import Volume, itk_affine, read_itk_affine

    ants = tools.ANTS_SCRIPT.replace("out['fwdtransforms']", "out['fwdtransforms'][:1]")
    source = os.path.join(options.data, "nichart_2mm_labelled")
    os.makedirs(options.folder, exist_ok=True)
    for person in range(1, 11):
        paths = {kind: os.path.join(source, f"Subj{person}_{kind}.nii.gz") for kind in ("FL", "T1", "T1_DLMUSE")}
        prefix = os.path.join(options.folder, f"Subj{person}_")
        maps = {}
        subprocess.run([options.clvox, "register", "-f", paths["FL"], "-m", paths["T1"], "-o", prefix + "clvox", "-q", "--linear",
                        "rigid", "--deform", "none", "--no-picture"], check=True)
        maps["clvox"] = read_itk_affine(prefix + "clvox_affine.txt")
        tools.run([sys.executable, "-c", ants, paths["FL"], paths["T1"], "Rigid", prefix + "ants_"], 2, prefix + "ants.log")
        with open(prefix + "ants_out.json", encoding="ascii") as file:
            out = json.load(file)
        maps["ants"] = itk_affine(np.array(out["parameters"]), np.array(out["centre"]))
        options.threads = 2
        tools.greedy_execute(f"-a -dof 6 -m NMI -ia-image-centers -n 100x50x10 -i {paths['FL']} {paths['T1']} -o {prefix}greedy.mat",
                             prefix + "greedy.log", options)
        maps["greedy"] = np.loadtxt(prefix + "greedy.mat")
        # Points of the brain in the FLAIR's space, from the T1's labels through the first map backwards.
        labels = Volume.read(paths["T1_DLMUSE"], int)
        brain = np.argwhere(labels.data > 0)[::37] @ labels.affine[:3, :3].T + labels.affine[:3, 3]
        points = (brain - maps["clvox"][:3, 3]) @ np.linalg.inv(maps["clvox"][:3, :3]).T
        ends = np.array([points @ m[:3, :3].T + m[:3, 3] for m in maps.values()])
        middle = np.median(ends, axis=0)
        apart = {name: float(np.sqrt(((end - middle) ** 2).sum(1).max())) for name, end in zip(maps, ends)}
        print(f"Subj{person}: mm from the median: " + ", ".join(f"{k} {v:.2f}" for k, v in apart.items()), flush=True)
        if max(apart.values()) > AGREE:
            continue
        # The rigid map nearest to the median (Kabsch).
        a, b = points.mean(0), middle.mean(0)
        u, _, vt = np.linalg.svd((points - a).T @ (middle - b))
        turn = (u @ np.diag([1, 1, np.sign(np.linalg.det(u @ vt))]) @ vt).T
        shift = b - turn @ a
        flip = np.diag([-1, -1, 1])
        lps, moved = flip @ turn @ flip, flip @ shift
        with open(prefix + "rigid.txt", "w", encoding="ascii") as file:
            file.write("#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\nParameters: "
                       + " ".join(f"{v:.12g}" for v in [*lps.ravel(), *moved]) + "\nFixedParameters: 0 0 0\n")
        for kind, path in paths.items():
            shutil.copy(path, f"{prefix}{kind}.nii.gz")
        subprocess.run([options.clvox, "apply", "-i", paths["T1_DLMUSE"], "-r", paths["FL"], "-t", prefix + "rigid.txt",
                        "--interp", "nearest", "-o", prefix + "truth.nii.gz"], check=True)


def labels_of(path):
    """(labels, size, affine) of a NIfTI-1 file of whole numbers."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    size = struct.unpack_from("<3h", data, 42)
    code = struct.unpack_from("<h", data, 70)[0]
    values = array.array({2: "B", 4: "h", 8: "i", 16: "f", 256: "b", 512: "H"}[code])
    start = int(struct.unpack_from("<f", data, 108)[0])
    values.frombytes(data[start:start + values.itemsize * math.prod(size)])
    return values, size, struct.unpack_from("<12f", data, 280)


def centroids(values, size, affine):
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    nx, nxy = size[0], size[0] * size[1]
    for k, label in enumerate(values):
        if label:
            s = sums[label]
            s[0] += 1
            s[1] += k % nx
            s[2] += k % nxy // nx
            s[3] += k // nxy
    out = {}
    for label, (n, *at) in sums.items():
        x = [v / n for v in at] + [1]
        out[label] = [sum(affine[4 * r + c] * x[c] for c in range(4)) for r in range(3)]
    return out


def judged(truth, b):
    """Mean Dice, and the length of the mean shift of centroids in mm; b: labels of every voxel."""
    a, size, affine = labels_of(truth)
    both = collections.Counter(zip(a, b))
    left, right, same = collections.Counter(), collections.Counter(), {}
    for (p, q), n in both.items():
        left[p] += n
        right[q] += n
        if p == q:
            same[p] = n
    names = (set(left) | set(right)) - {0}
    dice = sum(2 * same.get(k, 0) / (left[k] + right[k]) for k in names) / len(names)
    ca, cb = centroids(a, size, affine), centroids(b, size, affine)
    common = set(ca) & set(cb)
    shift = [sum(cb[k][d] - ca[k][d] for k in common) / len(common) for d in range(3)] if common else [math.inf]
    return dice, math.hypot(*shift)


def one(options, folder, name, words, fixed, moving):
    """The row of one pair."""
    def at(person, kind):
        return os.path.join(options.folder, f"Subj{person}_{kind}")

    same = words.split()[:1] == ["same"]
    words = words.split()[1:] if same else words.split()
    out = os.path.join(folder, f"{fixed}_{moving}")
    start = time.monotonic()
    done = subprocess.run([options.clvox, "register", "-f", at(fixed, "T1.nii.gz" if same else "FL.nii.gz"), "-m", at(moving, "T1.nii.gz"),
                           "-o", out, "-q", "--no-picture", *words], capture_output=True, text=True, check=False)
    row = {"setting": name, "fixed": fixed, "moving": moving, "seconds": round(time.monotonic() - start, 3),
           "said": done.stderr.strip()}
    if done.returncode:
        return row
    with open(out + ".json", encoding="utf-8") as file:
        result = json.load(file)["result"]
    row["mirrored"] = "mirrored" in json.dumps(result.get("suspicions", []))
    row["sd_log_j"] = result.get("jacobian", {}).get("sd_log")
    row["suspicions"] = len(result.get("suspicions", []))
    maps = [at(fixed, "rigid.txt")] if same else []
    maps += [w for w in (out + "_warp.nii.gz", out + "_affine.txt") if os.path.exists(w)]
    subprocess.run([options.clvox, "apply", "-i", at(moving, "T1_DLMUSE.nii.gz"), "-r", at(fixed, "FL.nii.gz"),
                    *[w for t in maps for w in ("-t", t)], "--interp", "nearest", "-o", out + "_nearest.nii"], check=True,
                   capture_output=True)
    dice, shift = judged(at(fixed, "truth.nii.gz"), labels_of(out + "_nearest.nii")[0])
    row.update(dice=round(dice, 4), centroids=round(shift, 2))
    for f in os.listdir(folder):
        if f.startswith(f"{fixed}_{moving}"):
            os.remove(os.path.join(folder, f))
    return row


def run(options):
    """The rows of all settings, written as they come."""
    people = [p for p in HALVES[options.half] if os.path.exists(os.path.join(options.folder, f"Subj{p}_truth.nii.gz"))]
    pairs = [(f, m) for f, m in itertools.permutations(people, 2) if not {f, m} <= ONE]
    record = {"half": options.half, "device": options.device, "date": time.strftime("%Y-%m-%d"), "rows": []}
    os.makedirs(options.work, exist_ok=True)
    for line in sys.stdin.read().splitlines():
        name, words = (part.strip() for part in line.split("|"))
        folder = os.path.join(options.work, name.replace(" ", "_"))
        os.makedirs(folder, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            record["rows"] += pool.map(lambda pair: one(options, folder, name, words, *pair), pairs)
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(record, file)
        print(table(record, name)[-1], flush=True)


def peers(options):
    """The rows of other programs."""
    import types

    import numpy as np

    from quality import tools
    from quality.measures import Volume, read_warp, sample, total_map

    def greedy(metric):
        def by(pair, folder):
            affine, warp = os.path.join(folder, "affine.mat"), os.path.join(folder, "warp.nii.gz")
            images = f"-m {metric} -i {pair.fixed_path} {pair.moving_path}"
            log = os.path.join(folder, "log")
            seconds = sum(tools.greedy_execute(text, log, options)[0] for text in (
                f"-a -dof 12 -ia-image-centers -n 100x50x10 {images} -o {affine}",
                f"-n 100x100x40 -s 1.5vox 0.5vox -wp 0 {images} -it {affine} -o {warp}"))
            return tools.Result(np.loadtxt(affine), warp, seconds, 0)
        return by

    programs = {"ANTs SyN, MI": (6, lambda *a: tools.ants(a[0], "ants-mi", a[1], options)),
                "greedy, NMI": (6, greedy("NMI")), "greedy, NCC": (6, greedy("NCC 2x2x2")),
                "ANTs SyN, CC": (3, lambda *a: tools.ants(a[0], "ants-cc", a[1], options))}
    options.threads = os.cpu_count()
    pairs = [(2, 4), (4, 6), (6, 8), (9, 2), (10, 6), (4, 9)]
    record = {"half": "peers", "device": options.device, "date": time.strftime("%Y-%m-%d"), "rows": []}
    for name, (count, program) in programs.items():
        for fixed, moving in pairs[:count]:
            folder = os.path.join(options.work, f"{name} {fixed} {moving}".replace(" ", "_").replace(",", ""))
            os.makedirs(folder, exist_ok=True)
            path = f"{options.folder}/Subj{{}}_{{}}.nii.gz".format
            pair = types.SimpleNamespace(fixed_path=path(fixed, "FL"), moving_path=path(moving, "T1"))
            result = program(pair, folder)
            truth = Volume.read(path(fixed, "truth"), int)
            points = total_map(truth, read_warp(result.warp, truth), result.affine)
            labels = sample(Volume.read(path(moving, "T1_DLMUSE"), int), points, 0).astype(int)
            dice, shift = judged(path(fixed, "truth"), labels.ravel("F").tolist())
            record["rows"].append({"setting": name, "fixed": fixed, "moving": moving, "seconds": round(result.seconds, 1),
                                   "dice": round(dice, 4), "centroids": round(shift, 2), "sd_log_j": None, "mirrored": False})
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(record, file)
        print(table(record, name)[-1], flush=True)


def within(options):
    """How far rigid maps within a person lie from the truth, over the brain."""
    import nibabel
    import numpy as np

    from quality.measures import read_itk_affine

    random, starts = np.random.default_rng(1), 8
    os.makedirs(options.work, exist_ok=True)
    here = os.path.join(options.work, "within")
    for person in sorted(sum(HALVES.values(), [])):
        prefix = os.path.join(options.folder, f"Subj{person}_")
        if not os.path.exists(prefix + "rigid.txt"):
            continue
        truth, labels, image = read_itk_affine(prefix + "rigid.txt"), nibabel.load(prefix + "truth.nii.gz"), nibabel.load(prefix + "T1.nii.gz")
        brain = np.argwhere(np.asarray(labels.dataobj) > 0)[::37] @ labels.affine[:3, :3].T + labels.affine[:3, 3]
        found = []
        for _ in range(starts):
            axis, angle = random.normal(size=3), np.radians(random.uniform(5, 20))
            axis /= np.linalg.norm(axis)
            k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
            moved = np.eye(4)
            moved[:3, :3] += np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
            moved[:3, 3] = random.uniform(-20, 20, 3)
            nibabel.Nifti1Image(np.asarray(image.dataobj), moved @ image.affine).to_filename(here + ".nii.gz")
            subprocess.run([options.clvox, "register", "-f", prefix + "FL.nii.gz", "-m", here + ".nii.gz", "-o", here, "-q", "--linear", "rigid",
                            "--deform", "none", "--no-picture"], check=True, capture_output=True)
            off = read_itk_affine(here + "_affine.txt") @ np.linalg.inv(moved @ truth)
            ends = brain @ (moved @ truth)[:3, :3].T + (moved @ truth)[:3, 3]
            apart = np.linalg.norm(ends @ off[:3, :3].T + off[:3, 3] - ends, axis=1)
            turn = np.degrees(np.arccos(np.clip((np.trace(off[:3, :3]) - 1) / 2, -1, 1)))
            found.append((apart.mean(), apart.max(), turn))
        mean, most, turn = np.array(found).max(0)
        print(f"| {person} | {mean:.2f} | {most:.2f} | {turn:.2f} |", flush=True)


def table(record, only=None):
    lines = []
    for name in dict.fromkeys(row["setting"] for row in record["rows"]):
        rows = [row for row in record["rows"] if row["setting"] == name]
        good = [row for row in rows if "dice" in row]
        if only in (None, name) and good:
            mean = {k: sum(r[k] or 0 for r in good) / len(good) for k in ("dice", "centroids", "sd_log_j", "seconds")}
            lines.append(f"| {name} | {len(good)} of {len(rows)} | {mean['dice']:.4f} | {min(r['dice'] for r in good):.3f} | "
                         f"{mean['centroids']:.2f} | {max(r['centroids'] for r in good):.1f} | {mean['sd_log_j']:.3f} | "
                         f"{sum(r['mirrored'] for r in good)} | {mean['seconds']:.2f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "peers", "within", "table"])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("--data", default=os.environ.get("CLVOX_DATA", "../shared/data"))
    parser.add_argument("--half", choices=list(HALVES), default="first")
    parser.add_argument("--device", default="", help="what runs it, for the record")
    parser.add_argument("--at-once", type=int, default=1, help="pairs that run beside one another")
    parser.add_argument("--work", default="build/contrasts", help="where results lie until they are judged")
    parser.add_argument("--json", default="contrasts.json", metavar="FILE")
    options = parser.parse_args()
    if options.what == "table":
        print("| setting | pairs | Dice | lowest | centroids, mm | largest | sd log J | mirrored | s |\n|" + "---|" * 9)
        for path in options.folder:
            with open(path, encoding="utf-8") as file:
                print("\n".join(table(json.load(file))))
        return
    options.folder = options.folder[0]
    {"prepare": prepare, "run": run, "peers": peers, "within": within}[options.what](options)


if __name__ == "__main__":
    main()
