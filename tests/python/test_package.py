#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: its declarations against the compiler's, its results against the command's.
    test_package.py BUILD SOURCE PROGRAM
Prints a TAP line a case."""
import base64
import csv
import ctypes
import glob
import hashlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import typing
import zipfile

import numpy as np

BUILD, SOURCE, PROGRAM = sys.argv[1:4]
sys.path.insert(0, os.path.join(BUILD, "src/python"))
import clvox  # noqa: E402  pylint: disable=wrong-import-position
from clvox import _abi  # noqa: E402  pylint: disable=wrong-import-position

CASES = []
AFFINE = np.array([[0.9, 0.2, 0, -3], [-0.2, 1.1, 0.1, 4], [0, -0.1, 1.3, 5], [0, 0, 0, 1]])
FEW = {"linear": "rigid", "shrink": "2x1", "iterations": (5, 5)}
TYPED = ["--linear", "rigid", "--shrink", "2x1", "--iterations", "5x5"]


def case(name):
    def add(function):
        CASES.append((name, function))
        return function
    return add


def command(*words):
    subprocess.run([PROGRAM, *words, "-q"], check=True, stdout=subprocess.DEVNULL)


def refused(words, function, *arguments, **more):
    """The sentence of the Error, which has these words."""
    try:
        function(*arguments, **more)
    except clvox.Error as error:
        assert all(w in str(error) for w in words), str(error)
        return
    raise AssertionError(f"no error that says {words}")


def equal(volume, path):
    other = clvox.read(path)
    return np.array_equal(np.asarray(volume), other.data, equal_nan=True) and np.allclose(volume.affine, other.affine, atol=1e-5)


@case("structs lie as the compiler lays them, and constants and functions are those of the headers")
def layout():
    if not shutil.which("cc"):
        return
    lines, mine = [], []
    for name, kind in vars(_abi).items():
        if name.startswith("clvox_") and isinstance(kind, type) and issubclass(kind, ctypes.Structure):
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            mine.append(ctypes.sizeof(kind))
            for field, _ in kind._fields_:
                lines.append(f'printf("%zu %zu\\n", offsetof({name}, {field}), sizeof(({name} *)0)->{field});')
                mine += [getattr(kind, field).offset, getattr(kind, field).size]
        elif name.startswith("CLVOX_"):
            lines.append(f'printf("%lld\\n", (long long){name});')
            mine.append(kind)
    with open("layout.c", "w", encoding="utf-8") as file:
        file.write("#include <clvox/clvox.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
                   + "\n".join(lines) + "\n}\n")
    subprocess.run(["cc", "-I", os.path.join(SOURCE, "include"), "layout.c", "-o", "layout"], check=True)
    theirs = [int(n) for n in subprocess.run(["./layout"], check=True, capture_output=True, text=True).stdout.split()]
    assert len(mine) > 500 and mine == theirs
    text = "".join(open(h, encoding="utf-8").read() for h in glob.glob(os.path.join(SOURCE, "include/clvox/*.h")))
    declared = re.findall(r"CLVOX_API [^;(#]*?(clvox_\w+)\(([^;]*)\)", text)
    assert set(_abi.FUNCTIONS) == {name for name, parameters in declared if "..." not in parameters}


@case("arrays become volumes, without a copy where they are laid out like them, and files")
def volumes():
    for shape in ((7, 5, 3), (1, 6, 2), (4, 3, 2, 5)):
        array = np.asfortranarray(np.random.default_rng(1).normal(size=shape).astype(np.float32))
        v = clvox.Volume(array, AFFINE)
        assert np.shares_memory(v.data, array) and v.shape == shape
        v.write("v.nii.gz")
        again = clvox.read("v.nii.gz")
        assert np.array_equal(again.data, array) and np.allclose(again.affine, AFFINE, atol=1e-5)
        assert np.array_equal(clvox.Volume(np.ascontiguousarray(array), AFFINE).data, array)
    data = again.data
    del again
    assert np.array_equal(data, array)  # an array outlives its volume
    refused(["3 axes"], clvox.Volume, np.zeros((2, 2)), AFFINE)
    refused(["4 x 4"], clvox.Volume, np.zeros((2, 2, 2)), np.eye(3))
    refused(["2^24"], clvox.Volume, np.full((2, 2, 2), 2**24 + 1), AFFINE, "label")
    refused(["nowhere.nii"], clvox.read, "nowhere.nii")
    refused(["list"], clvox.filter.sobel, [1, 2])
    if importlib.util.find_spec("nibabel"):
        import nibabel  # pylint: disable=import-outside-toplevel
        integers = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
        image = nibabel.Nifti1Image(integers, AFFINE)
        assert np.array_equal(clvox.filter.median(image, 0).to_nibabel().get_fdata(), integers)


@case("a registration has the command's bits, tells its progress, and stops where that raises")
def registration():
    command("phantom", "pair", "--size", "22x19x17", "-o", "p")
    command("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "r", "--no-picture", *TYPED)
    told = []
    fixed = clvox.read("p_fixed.nii.gz")
    r = clvox.register(fixed, "p_moving.nii.gz", inverse=True, progress=lambda *a: told.append(a), **FEW)
    assert equal(r.warped, "r_warped.nii.gz") and equal(r.warp, "r_warp.nii.gz")
    assert equal(r.inverse_warp, "r_inverse_warp.nii.gz")
    assert np.allclose(r.matrix, clvox.read_affine("r_affine.txt"), atol=1e-6)
    assert told and told[-1][3] == 1 and r.metric_after > r.metric_before and r.suspicious == []

    def stop(*_):
        raise KeyboardInterrupt
    try:
        clvox.register(fixed, "p_moving.nii.gz", progress=stop, **FEW)
        raise AssertionError("not stopped")
    except KeyboardInterrupt:
        pass
    clvox.write_affine(r.matrix, "m.txt")
    started = clvox.register(fixed, "p_moving.nii.gz", init="m.txt", linear="none", deform="none")
    assert np.allclose(started.matrix, r.matrix, atol=1e-6) and started.warp is None
    moved = clvox.apply("p_moving.nii.gz", fixed, r.transforms)
    assert np.array_equal(moved.data, r.warped.data)
    command("apply", "-i", "p_moving_labels.nii.gz", "-r", "p_fixed.nii.gz", "-t", "r_warp.nii.gz", "-t", "r_affine.txt", "-o", "l.nii.gz")
    assert equal(clvox.apply("p_moving_labels.nii.gz", fixed, ["r_warp.nii.gz", "r_affine.txt"]), "l.nii.gz")
    points = np.array([[0.5, 1, -1], [2, 0, 1]])
    there = clvox.apply_points(points, r.transforms)
    assert np.allclose(clvox.apply_points(there, [clvox.inverse(r.matrix), clvox.inverse(r.warp)]), points, atol=0.05)
    whole = clvox.compose(fixed, r.transforms)
    det, summary = clvox.jacobian(whole)
    assert whole.kind == "displacement" and summary.folded == 0 and abs(np.log(det.data).mean() - summary.mean_log) < 1e-4


@case("anatomy: surfaces, curves, clouds and tissues have the command's bits and are carried")
def anatomy():
    angle = np.arange(13) * (2 * np.pi / 13)
    ring = np.stack([2 * np.cos(angle), 2 * np.sin(angle), 0 * angle], axis=1)
    closed = np.stack([np.arange(13), (np.arange(13) + 1) % 13], axis=1)
    here, there = clvox.Curves(ring, closed), clvox.Curves(ring + [.6, 0, 0], closed)
    here.write("here.vtk")
    there.write("there.vtk")
    assert np.array_equal(clvox.read_curves("there.vtk").segments, closed)
    assert np.allclose(clvox.read_curves("there.vtk", lps=True).points, there.points * [-1, -1, 1], atol=1e-6)
    points, weights = np.array([[1., 2, 0], [-2, 0, 1], [3, -1, 1]]), [1, 2, .5]
    clouds = clvox.Cloud(points, weights), clvox.Cloud(points[::-1] - [0, .5, 0], weights[::-1])
    for name, cloud in zip(("here.csv", "there.csv"), clouds):
        rows = (",".join(f"{v!r}" for v in (*row, weight)) for row, weight in zip(cloud.points.tolist(), cloud.weights.tolist()))
        with open(name, "w", encoding="ascii") as file:
            file.write("x,y,z,weight\n" + "\n".join(rows) + "\n")
    ball = clvox.surface.mesh(clvox.Volume(np.linalg.norm(np.indices((11, 11, 11)) - 5, axis=0) - 3.3,
                                           [[1, 0, 0, -5], [0, 1, 0, -5], [0, 0, 1, -5], [0, 0, 0, 1]]), 0)
    moved = clvox.Surface(ball.points + [0, 0, .5], ball.triangles)
    ball.write("here.ply")
    moved.write("there.ply")
    words = ["--surface", "here.ply,there.ply", "--curves", "here.vtk,there.vtk", "--cloud", "here.csv,there.csv", "--frames", "ras",
             "--posteriors", "p_fixed_labels.nii.gz,p_moving_labels.nii.gz", "--width", "4mm", "--curves-weight", "3"]
    command("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "ra", "--no-picture", *TYPED, *words)
    surfaces = [clvox.surface.read(name) for name in ("here.ply", "there.ply")]
    curves = [clvox.read_curves(name) for name in ("here.vtk", "there.vtk")]
    r = clvox.register("p_fixed.nii.gz", "p_moving.nii.gz", shapes=[surfaces, curves, clouds], width=4, curves_weight=3,
                       posteriors=("p_fixed_labels.nii.gz", "p_moving_labels.nii.gz"), **FEW)
    assert equal(r.warp, "ra_warp.nii.gz") and equal(r.posteriors.carried, "ra_posteriors.nii.gz")
    assert [type(shape.carried) for shape in r.shapes] == [clvox.Surface, clvox.Curves, clvox.Cloud]
    carried = clvox.read_curves("ra_curves_1.vtk")
    assert np.allclose(carried.points, r.shapes[1].carried.points, atol=1e-5)
    assert np.array_equal(carried.segments, r.shapes[1].carried.segments) and list(r.shapes[2].carried.weights) == weights[::-1]
    assert r.shapes[1].energy_after < r.shapes[1].energy_linear and 0 < r.posteriors.hellinger_after < 1
    alone = clvox.register(posteriors=("p_fixed_labels.nii.gz", "p_moving_labels.nii.gz"), **FEW)
    assert alone.warped is None and alone.warp is not None and alone.posteriors.hellinger_after < alone.posteriors.hellinger_before
    command("register", "-o", "rs", "--no-picture", "--surface", "here.ply,there.ply", "--frames", "ras", "--width", "4mm",
            *TYPED[2:])
    alone = clvox.register(shapes=[surfaces], width=4, **{k: v for k, v in FEW.items() if k != "linear"})
    assert alone.warped is None and equal(alone.warp, "rs_warp.nii.gz")
    assert alone.shapes[0].mean_after < alone.shapes[0].mean_linear
    refused(["have a grid of their own"], clvox.register, "p_fixed.nii.gz", "p_moving.nii.gz", spacing=2)
    first = surfaces[0]
    gone = clvox.Surface(np.asarray(first.points) + [90, 0, 0], first.triangles)
    for init in (None, "centers", "moments"):  # without init as the command has it where they lie apart
        alone = clvox.register(shapes=[(first, gone)], width=4, init=init, **{k: v for k, v in FEW.items() if k != "linear"})
        assert np.allclose(alone.matrix[:3, 3], [90, 0, 0]) and alone.shapes[0].mean_linear < 1e-6
    refused(["too coarse"], clvox.register, shapes=[surfaces], spacing=50)
    refused(["0 fixed", "0 moving"], clvox.register)
    refused(["Surface, Curves or a Cloud"], clvox.register, "p_fixed.nii.gz", "p_moving.nii.gz", shapes=[(1, 2)])
    refused(["another kind"], clvox.register, "p_fixed.nii.gz", "p_moving.nii.gz", shapes=[(here, clouds[0])])
    refused(["a weight for each"], clvox.Cloud, points, [1, 2])
    refused(["add up to"], clvox.register, posteriors=("p_fixed.nii.gz", "p_moving_labels.nii.gz"))


@case("options are the command's; what is wrong with them is said")
def options():
    said = json.loads(subprocess.run([PROGRAM, "register", "--describe-options"], check=True, capture_output=True, text=True).stdout)
    theirs = {o["name"]: o["help"] for o in said["options"]}
    known = clvox.options("register")
    assert len(known) > 20 and "lambda_" in known
    assert all(theirs[row.name] == row.help for row in known.values())
    assert "update_sigma" in clvox.register.__doc__ and "neighbours" in clvox.surface.denoise.__doc__
    v = clvox.Volume(np.ones((3, 3, 3)), np.eye(4))
    refused(["metrik", "metric"], clvox.register, v, v, metrik="ssd")
    refused(["metric", "ssd", "lncc"], clvox.register, v, v, metric="cor")
    refused(["levels"], clvox.register, v, v, shrink=(2, 1), iterations=(1, 2, 3))
    refused(["n4", "True"], clvox.register, v, v, n4="yes")
    refused(["quick", "best"], clvox.register, v, v, quick=True, best=True)
    refused(["1 fixed", "2 moving"], clvox.register, v, [v, v])
    refused(["interp", "bspline"], clvox.apply, v, v, interp="sinc")
    refused(["scalar"], clvox.apply, v, v, [v])


@case("surfaces, tensors and filters have the command's bits")
def others():
    command("phantom", "surface:sphere", "--size", "20x18x16", "--noise", "0.2vox", "-o", "s")
    command("surface", "denoise", "s_noisy_mask.nii.gz", "-o", "s.surf.gii", "--rounds", "1", "--neighbours", "8")
    result = clvox.surface.denoise("s_noisy_mask.nii.gz", rounds=1, neighbours=8)
    other = clvox.surface.read("s.surf.gii")
    assert np.array_equal(result.surface.triangles, other.triangles)
    assert np.allclose(result.surface.points, other.points, atol=1e-4) and result.rounds == 1
    assert result.surface.inspect().euler == result.facts.euler and result.distance is None
    again = clvox.Surface(other.points + [0, 0, 1], other.triangles)
    assert 0.2 < clvox.surface.compare(other, again, samples=1000).largest[2] <= 1.01
    refused(["label"], clvox.surface.denoise, other, label=3)
    refused(["patch"], clvox.surface.denoise, other, patch=4)

    command("phantom", "tensor:helix", "--size", "9x8x7", "--directions", "8", "-o", "t")
    command("tensor", "fit", "t_dwi.nii.gz", "--bval", "t.bval", "--bvec", "t.bvec", "--mask", "t_mask.nii.gz",
            "--method", "ols", "-o", "f")
    found = clvox.tensor.fit("t_dwi.nii.gz", ("t.bval", "t.bvec"), "t_mask.nii.gz", method="ols")
    assert found.tensor.kind == "tensor" and equal(found.tensor, "f_tensor.nii.gz")
    table = np.loadtxt("t.b")
    third = clvox.tensor.fit("t_dwi.nii.gz", table, "t_mask.nii.gz", method="ols")
    assert np.allclose(third.tensor.data, found.tensor.data, atol=1e-8)
    refused(["x y z b"], clvox.tensor.fit, "t_dwi.nii.gz", table[1:])
    maps = clvox.tensor.measures(found.tensor, wanted=("fa", "v1"))
    assert 0 <= np.nanmin(maps["fa"].data) and maps["v1"].shape == (9, 8, 7, 3)
    refused(["fb"], clvox.tensor.measures, found.tensor, wanted=("fb",))

    image = clvox.Volume(np.random.default_rng(2).normal(100, 9, (11, 9, 7)), AFFINE)
    image.write("i.nii.gz")
    image = clvox.read("i.nii.gz")  # whose affine is float32
    for words, out in ((["gaussian", "--sigma", "1.5vox"], clvox.filter.gaussian(image, "1.5vox")),
                       (["gaussian", "--sigma", "2mm"], clvox.filter.gaussian(image, 2)),
                       (["median"], clvox.filter.median(image)), (["nlm"], clvox.filter.nlm(image))):
        command("filter", words[0], "i.nii.gz", *words[1:], "-o", "o.nii.gz")
        assert equal(out, "o.nii.gz"), words
    refused(["right angles"], clvox.filter.tv, image)
    clvox.Volume(image.data, np.diag([1, 1.2, 2, 1])).write("i.nii.gz")
    command("filter", "tv", "i.nii.gz", "-o", "o.nii.gz", "--strength", "2")
    assert equal(clvox.filter.tv("i.nii.gz", strength=2), "o.nii.gz")
    refused(["label"], clvox.filter.gaussian, clvox.Volume(np.ones((3, 3, 3)), AFFINE, "label"), 1)


@case("templates, statistics and comparisons have the command's bits")
def population():
    few = ["--linear", "rigid", "--deform", "greedy", "--shrink", "2", "--iterations", "3", "--rounds", "1", "--linear-rounds", "1"]
    images, told = ["p_fixed.nii.gz", "p_moving.nii.gz"], []
    command("atlas", "-o", "a", *images, *few, "--average", "trimmed")
    found = clvox.atlas(images, linear="rigid", deform="greedy", shrink=(2,), iterations=(3,), rounds=1, linear_rounds=1,
                        average="trimmed", labels=["p_fixed_labels.nii.gz", "p_moving_labels.nii.gz"],
                        progress=lambda *a: told.append(a))
    warp = found.maps[0].warp
    assert equal(found.average, "a/template.nii.gz") and equal(warp, "a/p_fixed_warp.nii.gz")
    assert len(found.maps) == 2 and len(found.rounds) == 2 and told[-1][1] == 1 and found.labels.kind == "label"
    again = clvox.apply(images[1], found.average, [found.maps[1].warp, found.maps[1].matrix])
    assert again.shape == found.average.shape
    del found
    assert equal(warp, "a/p_fixed_warp.nii.gz")  # outlives what it came with
    refused(["1 masks", "2 images"], clvox.atlas, images, masks=[None])
    refused(["averige", "average"], clvox.atlas, images, averige="mean")
    refused(["quick", "best"], clvox.atlas, images, quick=True, best=True)

    def stop(*_):
        raise KeyboardInterrupt
    try:
        clvox.atlas(images, shrink=(2,), iterations=(3,), progress=stop)
        raise AssertionError("not stopped")
    except KeyboardInterrupt:
        pass

    maps = np.random.default_rng(3).normal(0.4, 1, (5, 4, 3, 6)).astype(np.float32)
    clvox.Volume(maps, AFFINE).write("maps.nii.gz")
    command("stats", "-i", "maps.nii.gz", "--test", "mean", "--tfce", "-o", "u")
    result = clvox.stats("maps.nii.gz", tfce=True)
    assert equal(result.t.statistic, "u_t.nii.gz") and equal(result.t.p_fwe, "u_p_fwe.nii.gz")
    assert equal(result.tfce.p, "u_tfce_p.nii.gz") and result.permutations == 64 and result.exact
    groups = clvox.stats([clvox.Volume(maps[..., i], AFFINE) for i in range(6)], [0, 0, 0, 1, 1, 1], [3, 1, 2, 2, 1, 4], seed=3)
    x = np.column_stack([np.ones(6), [3, 1, 2, 2, 1, 4], [0, 0, 0, 1, 1, 1]])
    fit, rest = np.linalg.lstsq(x, maps[2, 1, 1].astype(float), rcond=None)[:2]
    t = fit[2] / np.sqrt(rest[0] / 3 * np.linalg.inv(x.T @ x)[2, 2])
    assert abs(groups.t.statistic.data[2, 1, 1] - t) < 1e-3 and groups.dof == 3 and groups.tfce.p is None
    refused(["2 numbers", "6 maps"], clvox.stats, "maps.nii.gz", [0, 1])
    refused(["6 rows"], clvox.stats, "maps.nii.gz", None, [1, 2])

    command("stats", "--entropy", "-i", "maps.nii.gz", "--draws", "9", "--bins", "12", "-o", "n")
    said = json.load(open("n.json", encoding="utf-8"))["result"]["rows"]
    found = clvox.entropy("maps.nii.gz", draws=9, bins=12)
    assert np.allclose(found.mean, [row["entropy_mean"] for row in said], rtol=1e-13, atol=0) and list(found.subjects) == [1, 2, 3, 4, 5, 6]
    assert found.sd[-1] == 0 and found.sd[0] > 0 and found.counted == 60
    refused(["draws"], clvox.entropy, "maps.nii.gz", draws=0)

    page = clvox.Report("a <page>")
    one, labels = clvox.Volume(maps[..., 0], AFFINE), clvox.Volume(maps[..., 1] > 0, AFFINE, "label")
    page.warn("look & see")
    page.images({"one": one, "two": (maps[..., 2], AFFINE)}, outlines={"labels": labels}, signed={"change": one}, mask=labels)
    page.section("Numbers")
    page.facts({"a": 1.23456789, "b": "two"})
    page.table("t", ["x", "y"], [[1, "<2>"]])
    page.histogram("h", one, labels)
    page.curves("c", [0, 1, 2], {"up": [1, np.nan, 3]}, x_name="x")
    page.write("page.html")
    text = open("page.html", encoding="utf-8").read()
    assert all(word in text for word in ("<h1>a &lt;page&gt;</h1>", "look &amp; see", "1.23457", "&lt;2&gt;", '"name":"labels"', "polyline"))
    wrong = clvox.Report("none")
    wrong.images({}, outlines={"labels": labels})
    refused(["image"], wrong.write, "none.html")
    assert not os.path.exists("none.html")

    command("compare", *images, "--radius", "2", "--json", "c.json")
    said = json.load(open("c.json", encoding="utf-8"))["comparison"]
    alike = clvox.compare(*images, radius=2)
    assert np.allclose([alike.ncc, alike.lncc, alike.mi, alike.nmi, alike.rms],
                       [said[k] for k in ("NCC", "LNCC", "MI", "NMI", "RMS")], rtol=1e-12, atol=0)
    rows = clvox.compare_labels("p_fixed_labels.nii.gz", "p_moving_labels.nii.gz")
    assert [r.label for r in rows] == [1, 2, 3, 4] and 0.5 < rows[0].dice < 1
    assert clvox.compare(warp, warp).max_mm == 0
    refused(["radius"], clvox.compare, *images, radius=0)


@case("series, distances and scans have the command's bits")
def scans():
    truth = clvox.read("p_fixed.nii.gz")
    moved = np.stack([np.roll(truth.data, k, 0) for k in (0, 0, 1, 0)], -1)
    clvox.Volume(moved, truth.affine).write("m.nii.gz")
    command("register", "--series", "m.nii.gz", "-o", "n", "--reference", "0")
    told = []
    found = clvox.register_series("m.nii.gz", 0, progress=lambda *a: told.append(a))
    assert equal(found.mean, "n_mean.nii.gz")
    assert found.corrected.shape == moved.shape and len(found.frames) == 4 and told[-1][1] > 0.5 and found.directions is None
    apart = np.linalg.norm(found.frames[2].matrix[:3, 3] - found.frames[0].matrix[:3, 3])
    assert abs(apart - truth.spacing[0]) < 0.2, apart
    table = np.loadtxt("t.b")
    scan = clvox.register_series("t_dwi.nii.gz", gradients=table)
    assert scan.directions.shape == table.shape and np.allclose(scan.directions[:, 3], table[:, 3])
    refused(["x y z b"], clvox.register_series, "t_dwi.nii.gz", gradients=table[1:])

    command("surface", "distance", "s_noisy_mask.nii.gz", "-o", "d.nii.gz")
    assert equal(clvox.surface.distance("s_noisy_mask.nii.gz"), "d.nii.gz")
    command("surface", "distance", "s_truth.surf.gii", "--grid", "s_mask.nii.gz", "--band", "9mm", "-o", "e.nii.gz")
    mesh = clvox.surface.read("s_truth.surf.gii")
    assert equal(clvox.surface.distance(mesh, "s_mask.nii.gz", band=9), "e.nii.gz")
    refused(["like"], clvox.surface.distance, mesh)
    refused(["window of 4"], clvox.tensor.denoise_scan, "t_dwi.nii.gz", window=4)

    command("filter", "dwi", "t_dwi.nii.gz", "-o", "q.nii.gz", "--noise", "z.nii.gz")
    scan, noise = clvox.tensor.denoise_scan("t_dwi.nii.gz")
    assert equal(scan, "q.nii.gz") and equal(noise, "z.nii.gz")


@case("a context tells what its kernels took")
def profile():
    context = clvox.Context(profile=True)
    clvox.filter.sobel(clvox.Volume(np.ones((5, 4, 3)), np.eye(4)), context=context)
    rows = context.timings()
    assert not rows or any(r.label.startswith("sobel") and r.calls == 1 for r in rows)
    assert clvox.Context().timings() == [] and context.bandwidth() > 0


@case("everything public says its types")
def hints():
    assert os.path.exists(os.path.join(BUILD, "src/python/clvox/py.typed"))
    seen = 0
    for module in (clvox, clvox.filter, clvox.surface, clvox.tensor):
        for name, thing in vars(module).items():
            if name.startswith("_") or not (thing.__module__ == module.__name__ if module is not clvox and
                                            hasattr(thing, "__module__") else name in clvox.__all__):
                continue
            functions = [thing] if inspect.isfunction(thing) else []
            if inspect.isclass(thing):
                functions = [f.fget if isinstance(f, property) else f for n, f in vars(thing).items()
                             if n != "struct" and (n == "__init__" or not n.startswith("_"))
                             and (inspect.isfunction(f) or isinstance(f, property))]
            for function in functions:
                seen += 1
                known = typing.get_type_hints(function)
                missing = [p for p in inspect.signature(function).parameters if p not in known and p != "self"]
                assert not missing and ("return" in known or function.__name__ == "__init__"), (name, function, missing)
    assert seen > 40, seen


@case("the Python lines of README.md run")
def readme():
    text = open(os.path.join(SOURCE, "README.md"), encoding="utf-8").read()
    block = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)[1]
    for name, source in (("subject", "p_fixed"), ("atlas", "p_moving"), ("atlas_labels", "p_moving_labels"), ("mask", "s_noisy_mask"),
                         ("dwi", "t_dwi")):
        shutil.copy(source + ".nii.gz", name + ".nii.gz")
    shutil.copy("t.bval", "dwi.bval")
    shutil.copy("t.bvec", "dwi.bvec")
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python")})
    assert run.returncode == 0, run.stderr
    assert os.path.exists("warped.nii.gz")


@case("a wheel is whole and runs where it is unpacked")
def wheel():
    run = subprocess.run([os.path.join(SOURCE, "tools/package"), "wheel", "out", "--build", BUILD], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    with zipfile.ZipFile(run.stdout.split()[-1]) as packed:
        names = set(packed.namelist())
        record = next(n for n in names if n.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(packed.read(record).decode().splitlines()))
        assert {r[0] for r in rows} == names and "clvox/py.typed" in names
        for name, digest, size in rows:
            data = packed.read(name)
            wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert name == record or (digest == wanted and int(size) == len(data)), name
        packed.extractall("site packages")
    code = ("import clvox, numpy; print(clvox.Volume(numpy.ones((2, 2, 2)), numpy.eye(4)).shape);"
            "print(''.join(l for l in open('/proc/self/maps') if 'libclvox' in l))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": os.path.abspath("site packages")})
    assert run.returncode == 0 and "site packages/clvox/lib/libclvox.so.0" in run.stdout, run.stderr + run.stdout


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, (name, function) in enumerate(CASES, 1):
            try:
                function()
                print("ok", number, "-", name)
            except Exception:  # pylint: disable=broad-except
                failures += 1
                print("#", traceback.format_exc().strip().replace("\n", "\n# "))
                print("not ok", number, "-", name)
        os.chdir("/")
    print(f"1..{len(CASES)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
