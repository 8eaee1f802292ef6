#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: its declarations against the compiler's, its results against the command's.
    test_package.py BUILD SOURCE PROGRAM
Prints a TAP line a case."""
import contextlib
import ctypes
import glob
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np

from harness import BUILD, PROGRAM, SOURCE, case, command, instead, main, refused, warned
import clvox
import clvox.ants
from clvox import _abi, _library
from clvox.volume import several

AFFINE = np.array([[0.9, 0.2, 0, -3], [-0.2, 1.1, 0.1, 4], [0, -0.1, 1.3, 5], [0, 0, 0, 1]])
FEW = {"linear": "rigid", "shrink": "2x1", "iterations": (5, 5)}
TYPED = ["--linear", "rigid", "--shrink", "2x1", "--iterations", "5x5"]


def equal(volume, path):
    other = clvox.read(path)
    return np.array_equal(np.asarray(volume), other.data, equal_nan=True) and np.allclose(volume.affine, other.affine, atol=1e-5)


def close(mine, logged):
    """What a log keeps of doubles: 15 digits."""
    return np.allclose(mine, logged, rtol=1e-13, atol=0)


@case("structs lie as the compiler lays them, and constants and functions are those of the headers")
def layout():
    if not shutil.which("cc"):
        raise unittest.SkipTest("there is no C compiler to lay the structs out")
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
    values, one = np.ones((2, 2, 2)), clvox.Volume(np.ones((2, 2, 2)), AFFINE)
    for pair in ((values, AFFINE), (values.tolist(), AFFINE.tolist()), (memoryview(values), AFFINE)):  # whatever holds the values
        assert len(several(pair)) == 1
    for channels in ((one, one), ("a.nii", "b.nii"), ((values, AFFINE), (values, AFFINE)), [one, (values, AFFINE)], (one, (values, AFFINE))):
        assert len(several(channels)) == 2
    if importlib.util.find_spec("nibabel"):
        import nibabel  # pylint: disable=import-outside-toplevel
        integers = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
        image = nibabel.Nifti1Image(integers, AFFINE)
        place = np.diag([2, 3, 4, 1.])
        image.set_sform(place, 4)
        image.set_qform(place, 2)
        median = clvox.filter.median(image, 0).to_nibabel()
        assert np.array_equal(median.get_fdata(), integers)
        assert median.header["sform_code"] == 4 and median.header["qform_code"] == 2


@case("what has no progress of its own tells it to the context, and stops where that raises")
def watched_by_a_context():
    told = []
    series = clvox.Volume(np.arange(9. * 8 * 7 * 2, dtype="f4").reshape(9, 8, 7, 2), AFFINE)
    smooth = clvox.filter.gaussian(series, "2mm", context=clvox.Context(progress=told.append))
    assert np.array_equal(np.asarray(smooth), np.asarray(clvox.filter.gaussian(series, "2mm")))
    assert told[-1].fraction == 1 and {s.stage for s in told} == {"filtering"} and told[0].level is None

    def stop(*_):
        raise KeyboardInterrupt
    context = clvox.Context(progress=stop)
    for _ in range(2):
        try:
            clvox.filter.gaussian(series, "2mm", context=context)
            raise AssertionError("not stopped")
        except KeyboardInterrupt:
            pass
@case("filters, resampling and fits tell their progress with the same bits, and stop where that raises")
def watched():
    image = clvox.Volume(np.random.default_rng(2).random((13, 11, 9, 4)).astype(np.float32), AFFINE)
    for work in (lambda **more: clvox.filter.gaussian(image, 2, **more), lambda **more: clvox.filter.nlm(image, **more),
                 lambda **more: clvox.filter.median(image, **more), lambda **more: clvox.apply(image, image, [np.eye(4)], **more),
                 lambda **more: clvox.tensor.denoise_scan(image, window=3, **more)[0]):
        told = []
        plain = work()
        assert np.array_equal(plain.data, work(progress=told.append).data) and told
        assert [t.fraction for t in told] == sorted(t.fraction for t in told)
        for last in range(len(told)):
            left = [last]

            def stop(_, left=left):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
            try:
                work(progress=stop)
                raise AssertionError("not stopped")
            except KeyboardInterrupt:
                pass
        assert np.array_equal(plain.data, work().data)


@case("a registration has the command's bits, tells its progress, and stops where that raises")
def registration():
    command("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "r", "--no-picture", *TYPED)
    told = []
    fixed = clvox.read("p_fixed.nii.gz")
    r = clvox.register(fixed, "p_moving.nii.gz", inverse=True, progress=told.append, **FEW)
    assert equal(r.warped, "r_warped.nii.gz") and equal(r.warp, "r_warp.nii.gz")
    assert equal(r.inverse_warp, "r_inverse_warp.nii.gz")
    assert np.allclose(r.matrix, clvox.read_affine("r_affine.txt"), atol=1e-6)
    assert told[-1].fraction == 1 and (told[0].level, told[0].stage) == (0, "deformation")
    assert r.metric_after > r.metric_before and r.suspicious == []

    def stop(*_):
        raise KeyboardInterrupt
    try:
        clvox.register(fixed, "p_moving.nii.gz", progress=stop, **FEW)
        raise AssertionError("not stopped")
    except KeyboardInterrupt:
        pass
    command("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "rm", "--no-picture", "--level-fixed-mask", "none",
            "--level-fixed-mask", "p_fixed_labels.nii.gz", *TYPED)
    masked = clvox.register(fixed, "p_moving.nii.gz", level_fixed_mask=[None, "p_fixed_labels.nii.gz"], **FEW)
    assert equal(masked.warp, "rm_warp.nii.gz") and not np.array_equal(masked.warp.data, r.warp.data)
    refused(["level_moving_mask: 1 masks for 2 levels"], clvox.register, fixed, "p_moving.nii.gz", level_moving_mask=[None], **FEW)
    twice = clvox.register([fixed, fixed], ["p_moving.nii.gz", "p_moving.nii.gz"], metric="mi,lncc/mi", **FEW)
    assert not np.array_equal(twice.warp.data, r.warp.data)
    refused(["metrics for 2 channels, and there are 1"], clvox.register, fixed, "p_moving.nii.gz", metric="lncc/mi", **FEW)
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


def write_shapes():
    """Writes here and there as .vtk, .csv and .ply: what the .vtk have, and the clouds."""
    angle = np.arange(13) * (2 * np.pi / 13)
    ring = np.stack([2 * np.cos(angle), 2 * np.sin(angle), 0 * angle], axis=1)
    closed = np.stack([np.arange(13), (np.arange(13) + 1) % 13], axis=1)
    here, there = clvox.Curves(ring, closed), clvox.Curves(ring + [.6, 0, 0], closed)
    here.write("here.vtk")
    there.write("there.vtk")
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
    return here, there, clouds


@case("anatomy: surfaces, curves, clouds and tissues have the command's bits and are carried")
def anatomy():
    here, there, clouds = write_shapes()
    closed, weights = there.segments, [1, 2, .5]
    assert np.array_equal(clvox.read_curves("there.vtk").segments, closed)
    assert np.allclose(clvox.read_curves("there.vtk", lps=True).points, there.points * [-1, -1, 1], atol=1e-6)
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
    refused(["a weight for each"], clvox.Cloud, clouds[0].points, [1, 2])
    refused(["add up to"], clvox.register, posteriors=("p_fixed.nii.gz", "p_moving_labels.nii.gz"))


@case("options are the command's; wrong ones are refused with a sentence")
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
    refused(["median", "1.9", "whole number"], clvox.filter.median, image, 1.9)
    refused(["median", "whole number"], clvox.filter.median, image, (1, 2))
    assert np.array_equal(clvox.filter.median(image, np.int64(1)).data, clvox.filter.median(image, (1, 1, 1)).data)


@case("templates, statistics and comparisons have the command's bits")
def population():
    few = ["--linear", "rigid", "--deform", "greedy", "--shrink", "2", "--iterations", "3", "--rounds", "1", "--linear-rounds", "1"]
    images, told = ["p_fixed.nii.gz", "p_moving.nii.gz"], []
    command("atlas", "-o", "a", *images, *few, "--average", "trimmed")
    found = clvox.atlas(images, linear="rigid", deform="greedy", shrink=(2,), iterations=(3,), rounds=1, linear_rounds=1,
                        average="trimmed", labels=["p_fixed_labels.nii.gz", "p_moving_labels.nii.gz"],
                        progress=told.append)
    warp = found.maps[0].warp
    assert equal(found.average, "a/template.nii.gz") and equal(warp, "a/p_fixed_warp.nii.gz")
    assert len(found.maps) == 2 and len(found.rounds) == 2 and told[-1].fraction == 1 and told[0].level is None and found.labels.kind == "label"
    own = found.maps[1].labels  # back on the image's grid, and alive without what it came with
    assert own.kind == "label" and own.shape == clvox.read(images[1]).shape and 0 < own.data.mean() < own.data.max()
    again = clvox.apply(images[1], found.average, [found.maps[1].warp, found.maps[1].matrix])
    assert again.shape == found.average.shape
    del found
    assert equal(warp, "a/p_fixed_warp.nii.gz")  # outlives what it came with
    few = dict(linear="rigid", deform="greedy", shrink=(2,), iterations=(3,), rounds=1, linear_rounds=1)
    two = clvox.atlas(images, further=[images], channel_weights=(1, 0), average="trimmed", **few)
    assert equal(two.average, "a/template.nii.gz") and len(two.further) == 1 and equal(two.further[0], "a/template.nii.gz")
    shared = clvox.atlas(images, average="trimmed", context=clvox.Contexts(",".join([os.environ.get("CLVOX_DEVICE", "0")] * 2), threads=1),
                         device_memory=1 << 30, **few)
    assert equal(shared.average, "a/template.nii.gz") and equal(shared.maps[0].warp, "a/p_fixed_warp.nii.gz")
    assert len(clvox.Contexts(at_once=3)) == 3 and shared.resident == 2
    refused(["none-such"], clvox.Contexts, "0,none-such")
    refused(["Contexts", "give a Context"], clvox.register, images[0], images[1], context=clvox.Contexts())
    begun = clvox.atlas(images, start=images[0], further=[images[::-1]], further_start=[images[0]], linear="none", deform="none")
    assert np.array_equal(begun.further[0].data, clvox.read(images[0]).data)
    refused(["2 images in further_start", "1 further"], clvox.atlas, images, further=[images], further_start=[None, images[0]])
    refused(["1 images of a further channel", "2 images"], clvox.atlas, images, further=[images[:1]])
    refused(["2 channels", "3 channel_weights"], clvox.atlas, images, further=[images], channel_weights=(1, 2, 3))
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
    pair = clvox.Volume(maps[..., 0], AFFINE), clvox.Volume(maps[..., 1], AFFINE)
    assert np.array_equal(clvox.stats(pair).t.statistic.data, clvox.stats(list(pair)).t.statistic.data, equal_nan=True)
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
    assert [r.label for r in rows] == [1, 2, 3, 4] and 0.5 < rows[0].dice < 1 and 0.5 < rows[0].target_overlap <= 1
    assert clvox.compare(warp, warp).max_mm == 0
    refused(["radius"], clvox.compare, *images, radius=0)


@case("labels from atlases are the command's, and registered ones are taken as they lie")
def segmentation():
    with open("atlases.tsv", "w", encoding="utf-8") as file:
        file.write("image\tlabels\np_moving.nii.gz\tp_moving_labels.nii.gz\n")
    command("segment", "-i", "p_fixed.nii.gz", "--atlases", "atlases.tsv", "-o", "g", "--preset", "quick")
    atlas = ["p_moving.nii.gz"], ["p_moving_labels.nii.gz"]
    found = clvox.segment("p_fixed.nii.gz", *atlas, preset="quick")
    assert found.atlases == 1 and all(equal(getattr(found, n), f"g_{n}.nii.gz") for n in ("labels", "mask", "confidence"))
    same = clvox.segment("p_moving.nii.gz", *atlas, registered=True, method="majority")
    assert np.array_equal(same.labels.data, clvox.read("p_moving_labels.nii.gz").data) and same.confidence.data.min() == 1
    brain = clvox.segment("p_moving.nii.gz", atlas[0], masks=atlas[1], registered=True)
    assert brain.labels is None and brain.mask.data.max() == 1
    heads = [("p_fixed.nii.gz", "a_"), {"image": "gone.nii.gz", "output": "b"}]
    made = clvox.segment_list(heads, "atlases.tsv", "labelled", preset="quick")
    assert [head.state for head in made] == ["done", "failed"] and "gone.nii.gz: cannot be opened" in made[1].message
    assert made[0].output == "labelled/a" and made[0].files[-1] == "labelled/a.json" and made[0].atlases == 1 and made[0].labels == 4
    assert equal(clvox.read("labelled/a_labels.nii.gz"), "g_labels.nii.gz")
    assert clvox.segment_list(heads[:1], "atlases.tsv", "labelled", preset="quick")[0].state == "present"
    refused(["no age"], clvox.segment_list, [{"image": "a", "age": "b"}], "atlases.tsv", "labelled")
    refused(["two heads have the output"], clvox.segment_list, heads[:1] * 2, "atlases.tsv", "labelled")
    refused(["2 maps"], clvox.segment, "p_fixed.nii.gz", atlas[0], atlas[1] * 2)
    refused(["another grid"], clvox.segment, "p_fixed.nii.gz", [clvox.phantom.image("ball", (9, 8, 7))], atlas[1], registered=True)


@case("series, distances and scans have the command's bits")
def scans():
    truth = clvox.read("p_fixed.nii.gz")
    moved = np.stack([np.roll(truth.data, k, 0) for k in (0, 0, 1, 0)], -1)
    clvox.Volume(moved, truth.affine).write("m.nii.gz")
    command("series", "m.nii.gz", "-o", "n", "--reference", "0")
    told = []
    found = clvox.register_series("m.nii.gz", 0, progress=told.append)
    assert equal(found.mean, "n_mean.nii.gz")
    assert found.corrected.shape == moved.shape and len(found.frames) == 4 and told[-1].fraction > 0.5 and found.directions is None
    apart = np.linalg.norm(found.frames[2].matrix[:3, 3] - found.frames[0].matrix[:3, 3])
    assert abs(apart - truth.spacing[0]) < 0.2, apart
    table = np.loadtxt("t.b")
    scan = clvox.register_series("t_dwi.nii.gz", gradients=table)
    assert scan.directions.shape == table.shape and np.allclose(scan.directions[:, 3], table[:, 3])
    refused(["x y z b"], clvox.register_series, "t_dwi.nii.gz", gradients=table[1:])

    blips = clvox.read("m.nii.gz")
    pair = [clvox.Volume(np.ascontiguousarray(blips.data[..., i]), blips.affine) for i in (0, 2)]
    for name, one in zip(("ap", "pa"), pair):
        one.write(name + ".nii.gz")
    command("epi", "--blips", "ap.nii.gz,pa.nii.gz", "--pe", "i,i-", "--readout", ".05", "-o", "e")
    found = clvox.correct_distortion(pair, ("i", "i-"), .05)
    assert equal(found.corrected, "e_corrected.nii.gz") and equal(found.field, "e_field.nii.gz") and equal(found.warp, "e_warp.nii.gz")
    assert found.matrix.shape == (2, 4, 4) and found.difference_after < found.difference_before
    again = clvox.correct_distortion(pair[0], "i", .05, field=found.field)
    assert np.allclose(again.warp.data, found.warp.data, atol=1e-4)
    phase = clvox.Volume(2 * np.pi * .0025 * found.field.data, found.field.affine)
    other = clvox.correct_distortion(pair[0], "i", .05, field=phase, field_unit=".005,.0075")
    assert np.allclose(other.field.data, again.field.data, atol=1e-3) and np.abs(again.field.data).max() > 1
    refused(['"ppm"'], clvox.correct_distortion, pair[0], "i", .05, field=phase, field_unit="ppm")
    still = clvox.register_series("m.nii.gz", 0, distortion=found.warp)
    assert not np.array_equal(still.mean.data, clvox.read("n_mean.nii.gz").data)
    refused(["needs both directions"], clvox.correct_distortion, pair, ("i", "i"), .05)
    refused(["no sidecar"], clvox.correct_distortion, pair)

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


@case("templates along a covariate have the command's bits")
def regression():
    names = [f"g{i}" for i in range(3)]
    for i, name in enumerate(names):
        command("phantom", "warp", "--size", "13x12x11", "--spacing", "3mm", "--seed", "5", "--amplitude", str(.3 + .5 * i), "-o", "w.nii.gz")
        command("phantom", "textured", "--size", "13x12x11", "--spacing", "3mm", "-o", "u.nii.gz")
        command("apply", "-i", "u.nii.gz", "-r", "u.nii.gz", "-t", "w.nii.gz", "-o", name + ".nii.gz")
    with open("g.tsv", "w", encoding="ascii") as file:
        file.write("image\tage\n" + "".join(f"{name}.nii.gz\t{age}\n" for name, age in zip(names, (2, 5, 9))))
    few = {"linear": "rigid", "deform": "greedy", "shrink": (2,), "iterations": (3,), "rounds": 1, "linear_rounds": 1}
    command("atlas", "-o", "g", "--list", "g.tsv", "--regress", "age", "--at", "3,8", "--bandwidth", "1.5", "--linear", "rigid",
            "--deform", "greedy", "--shrink", "2", "--iterations", "3", "--rounds", "1", "--linear-rounds", "1")
    images = [name + ".nii.gz" for name in names]
    told = []
    found = clvox.atlas_regression(images, (2, 5, 9), [3, 8], 1.5, progress=told.append, **few)
    assert len(found) == 2 and equal(found[0].average, "g/template_3.nii.gz") and equal(found[1].average, "g/template_8.nii.gz")
    assert not np.array_equal(found[0].average.data, found[1].average.data) and told[-1].fraction == 1
    assert equal(found[1].maps[2].warp, "g/g2_8_warp.nii.gz") and found[0].maps[2].share == 0 < found[0].maps[0].share
    listed = clvox.subjects("g.tsv", covariate="age")
    assert listed.covariate == [2, 5, 9] and listed.table == {"age": ["2", "5", "9"]} and not listed.further and listed.names == names
    again = clvox.atlas_regression(listed, listed.covariate, [3], 1.5, **few)
    assert equal(again[0].average, "g/template_3.nii.gz")
    for name in names:
        os.makedirs(f"bids/sub-{name}/anat")
        shutil.copy(name + ".nii.gz", f"bids/sub-{name}/anat/sub-{name}_T2w.nii.gz")
    assert clvox.subjects("bids", "T2w").table == {"participant_id": ["sub-" + name for name in names]}
    few_too = few | {"linear": "none", "deform": "none"}
    assert np.array_equal(clvox.atlas(clvox.subjects("bids", "T2w"), **few_too).average.data, clvox.atlas(images, **few_too).average.data)
    refused(["bids", "_T1w.nii.gz"], clvox.atlas, "bids")
    refused(["no column `weight`"], clvox.subjects, "g.tsv", covariate="weight")
    copies = clvox.atlas_regression(images, (2, 5, 9), [3], 1.5, further=[images], channel_weights=np.array([1, 0]),
                                    context=clvox.Contexts(at_once=2), **few)
    assert equal(copies[0].average, "g/template_3.nii.gz") and equal(copies[0].further[0], "g/template_3.nii.gz")
    refused(["2 values", "3 images"], clvox.atlas_regression, images, (1, 2), [3], 1)
    refused(["bandwidth"], clvox.atlas_regression, images, (1, 2, 3), [3], 0)


@case("a list of pairs has the command's files, and is taken up where it was left")
def lists():
    for seed in (1, 2):
        command("phantom", "pair", "-o", f"q{seed}", "--size", "13x12x11", "--spacing", "3x3x3.5mm", "--seed", str(seed))
    few = {"quick": True, "linear": "rigid", "shrink": "2x1", "iterations": (3, 3), "step": "0.3vox", "picture": False}
    typed = ["--quick", "--linear", "rigid", "--shrink", "2x1", "--iterations", "3x3", "--step", "0.3vox", "--no-picture"]
    pairs = [("q1_fixed.nii.gz", "q1_moving.nii.gz", "a_"),
             {"fixed": "q2_fixed.nii.gz", "moving": "q2_gone.nii.gz", "output": "b/c", "labels": "q2_moving_labels.nii.gz"}]
    planned = clvox.register_list(pairs, "list", dry_run=True, **few)
    assert [pair.state for pair in planned] == ["waiting"] * 2 and not os.path.exists("list")
    assert "list/b/c_labels.nii.gz" in planned[1].files and planned[0].output == "list/a"
    made = clvox.register_list(pairs, "list", **few)
    assert [pair.state for pair in made] == ["done", "failed"] and "q2_gone.nii.gz: cannot be opened" in made[1].message
    assert made[0].message is None and made[0].ncc > 0.9 and made[0].suspicions == [] and not made[0].folded
    command("register", "-f", "q1_fixed.nii.gz", "-m", "q1_moving.nii.gz", "-o", "qs", *typed)
    for end in ("warp.nii.gz", "warped.nii.gz", "affine.txt"):
        with open(f"list/a_{end}", "rb") as ours, open(f"qs_{end}", "rb") as theirs:
            assert ours.read() == theirs.read(), end
    shutil.copy("q2_moving.nii.gz", "q2_gone.nii.gz")
    with open("pairs.tsv", "w", encoding="utf-8") as file:
        file.write("fixed\tmoving\toutput\tlabels\nq1_fixed.nii.gz\tq1_moving.nii.gz\ta\t\n")
        file.write("q2_fixed.nii.gz\tq2_gone.nii.gz\tb/c\tq2_moving_labels.nii.gz\n")
    command("register", "--list", "pairs.tsv", "-o", "list", "--json", "list.json", *typed)
    with open("list.json", encoding="utf-8") as file:
        assert json.load(file)["result"] == {"pairs": 2, "done": 1, "present": 1, "failed": 0}
    again = clvox.register_list("pairs.tsv", "list", context=clvox.Contexts(at_once=2), **few)
    assert [pair.state for pair in again] == ["present"] * 2 and again[0].ncc == made[0].ncc
    command("register", "-f", "q1_fixed.nii.gz", "-m", "q1_moving.nii.gz", "-o", "qm", "--level-moving-mask", "none",
            "--level-moving-mask", "q1_moving_labels.nii.gz", *typed)
    clvox.register_list(pairs[:1], "masked", level_moving_mask=[None, "q1_moving_labels.nii.gz"], **few)
    with open("masked/a_warp.nii.gz", "rb") as ours, open("qm_warp.nii.gz", "rb") as theirs:
        assert ours.read() == theirs.read()
    steps = []

    def interrupt(step):
        steps.append(step)
        raise KeyboardInterrupt
    try:
        clvox.register_list("pairs.tsv", "list", progress=interrupt, **few | {"step": "0.4vox"})
        raise AssertionError("it went on")
    except KeyboardInterrupt:
        assert len(steps) == 1 and steps[0].stage == "pair 1 of 2"
    refused(["no age"], clvox.register_list, [{"fixed": "a", "age": "b"}], "list")
    refused(["two pairs have the output"], clvox.register_list, [pairs[0], pairs[0]], "list")
    refused(["folder"], clvox.register_list, pairs)


@case("a list of images has the command's files, and is taken up where it was left")
def applied():
    command("phantom", "pair", "-o", "al", "--size", "13x12x11", "--spacing", "3x3x3.5mm")
    images = [("al_moving.nii.gz", "applied/a.nii", None, ["al_truth_warp.nii.gz"]),
              {"input": "al_gone.nii.gz", "output": "applied/deep/b.nii", "transforms": clvox.inverse("al_truth_warp.nii.gz")}]
    rest = {"reference": "al_fixed.nii.gz", "summary": "applied.tsv"}
    made = clvox.apply_list(images, **rest)
    assert [one.state for one in made] == ["done", "failed"] and "al_gone.nii.gz: cannot be opened" in made[1].message
    assert made[1].transforms == ["al_truth_warp.nii.gz,-1"] and made[0].message is None
    command("apply", "-i", "al_moving.nii.gz", "-r", "al_fixed.nii.gz", "-t", "al_truth_warp.nii.gz", "-o", "al.nii")
    assert equal(clvox.read("applied/a.nii"), "al.nii")
    shutil.copy("al_moving.nii.gz", "al_gone.nii.gz")
    assert [one.state for one in clvox.apply_list(images, **rest)] == ["present", "done"]
    with open("applied_rows.tsv", "w", encoding="utf-8") as file:
        file.write("input\toutput\ttransforms\nal_moving.nii.gz\tapplied/a.nii\tal_truth_warp.nii.gz\n")
    assert clvox.apply_list("applied_rows.tsv", **rest)[0].state == "present"
    assert clvox.apply_list("applied_rows.tsv", **rest, interp="nearest")[0].state == "done"
    command("apply", "-i", "al_fixed.nii.gz", "-r", "al_moving.nii.gz", "-t", "al_truth_warp.nii.gz", "--forward", "--mass", "-o", "al.nii")
    clvox.apply_list([("al_fixed.nii.gz", "applied/f.nii")], "al_moving.nii.gz", "al_truth_warp.nii.gz", forward="mass")
    assert equal(clvox.read("applied/f.nii"), "al.nii")

    def interrupt(step):
        assert step.stage == "image 1 of 1"
        raise KeyboardInterrupt
    try:
        clvox.apply_list("applied_rows.tsv", **rest, progress=interrupt)
        raise AssertionError("it went on")
    except KeyboardInterrupt:
        pass
    refused(["no age"], clvox.apply_list, [{"input": "a", "age": "b"}])
    refused(["two images have the output"], clvox.apply_list, [images[0]] * 2, "al_fixed.nii.gz")
    refused(["there is no reference"], clvox.apply_list, [("a", "b")])


@case("what a template takes is predicted")
def atlas_plans():
    few = {"quick": True, "linear": "translation", "iterations": (2, 2), "shrink": "2x1", "rounds": 1, "linear_rounds": 1}
    images = [clvox.phantom.pair(seed=seed, size=(9, 11, 8), spacing=(1, 1.5, 2))[0] for seed in (1, 2, 3)]
    here, four = clvox.atlas_plan(images, devices=(4,), subjects=40, **few)
    assert (here.devices, here.processes, here.subjects) == (1, 1, 40) and (four.devices, four.processes) == (4, 4)
    assert here.all > 0 and here.deformable > four.deformable > 0 and here.host_bytes > 0 and here.writing == 0
    refused(["1 masks", "3 images"], clvox.atlas_plan, images, masks=[None], **few)


@case("the boundary of white matter refines a rigid transform as the command does")
def boundary():
    command("phantom", "ball", "-o", "ball.nii", "--size", "25x24x23", "--labels", "ball_mask.nii.gz")
    command("register", "-f", "ball.nii", "-m", "ball.nii", "-o", "bbr", "--boundary", "ball_mask.nii.gz", "--boundary-labels", "1",
            "--no-picture")
    r = clvox.register("ball.nii", "ball.nii", boundary="ball_mask.nii.gz", boundary_labels=[1])
    assert np.allclose(r.matrix, clvox.read_affine("bbr_affine.txt"), atol=1e-9) and r.warp is None
    with open("bbr.json", encoding="utf-8") as file:
        logged = json.load(file)["result"]["boundary"]
    assert close(r.boundary.cost_after, logged["cost_after"]) and r.boundary.contrast == "t1" and not r.boundary.lost
    rows = [("ball.nii", "ball.nii", "a", None, None, None, "ball_mask.nii.gz"), {"fixed": "ball.nii", "moving": "ball.nii", "output": "b"}]
    few = {"boundary_labels": [1], "picture": False}
    made = clvox.register_list(rows, "whites", boundary=["ball_mask.nii.gz"], **few)
    assert [pair.boundary for pair in made] == [["ball_mask.nii.gz"]] * 2 and "whites/a_warp.nii.gz" not in made[0].files
    assert all(np.array_equal(clvox.read_affine(f"whites/{name}_affine.txt"), clvox.read_affine("bbr_affine.txt")) for name in "ab")
    refused(["pair 1", "rigid or affine"], clvox.register_list, rows, "whites", linear="none", **few)
    refused(["none of the labels"], clvox.register, "ball.nii", "ball.nii", boundary="ball_mask.nii.gz", boundary_labels=[7])
    refused(["rigid"], clvox.register, "ball.nii", "ball.nii", boundary="ball_mask.nii.gz", linear="none")
    refused(["auto, t2, t1"], clvox.fit_boundary, "ball_mask.nii.gz", "ball.nii", np.eye(4), contrast="pd")


@case("phantoms have the command's bits")
def phantoms():
    p, grid = clvox.phantom, {"size": (9, 11, 8), "spacing": (1, 1.5, 2)}
    typed = ["--size", "9x11x8", "--spacing", "1x1.5x2mm"]
    command("phantom", "shells", *typed, "--direction", "oblique", "--noise", "3", "--labels", "hl.nii.gz", "-o", "h.nii.gz")
    assert equal(p.image("shells", oblique=True, noise=3, **grid), "h.nii.gz")
    assert equal(p.labels("shells", oblique=True, **grid), "hl.nii.gz") and p.labels(like="h.nii.gz").kind == "label"
    command("phantom", "warp", *typed, "--seed", "4", "--inverse", "hi.nii.gz", "-o", "hw.nii.gz")
    assert equal(p.warp(seed=4, **grid), "hw.nii.gz") and equal(p.warp(seed=4, inverse=True, **grid), "hi.nii.gz")
    command("phantom", "pair", *typed, "--seed", "3", "--noise", "1", "-o", "hp")
    pair = p.pair(seed=3, noise=1, **grid)
    for field, name in zip(pair, ("fixed", "moving", "truth_warp", "truth_inverse_warp", "fixed_labels", "moving_labels")):
        assert equal(field, f"hp_{name}.nii.gz"), name
    command("phantom", "surface:torus", "--size", "17x18x19", "--noise", "0.4mm", "-o", "ht")
    grid = {"size": (17, 18, 19)}
    distance = p.distance("torus", **grid)
    assert equal(distance, "ht_truth_distance.nii.gz") and equal(p.mask(distance), "ht_mask.nii.gz")
    assert equal(p.mask(distance, .4), "ht_noisy_mask.nii.gz")
    for mesh, name in ((p.mesh("torus", **grid), "truth"), (p.mesh("torus", refined=1, noise=.4, **grid), "noisy")):
        other = clvox.surface.read(f"ht_{name}.surf.gii")
        assert np.array_equal(mesh.triangles, other.triangles) and np.allclose(mesh.points, other.points, atol=1e-5), name
    command("phantom", "tensor:rings", "--size", "9x8x7", "--directions", "7", "--seed", "2", "--snr", "30", "-o", "hd")
    tensor, fa, mask = p.tensor("rings", (9, 8, 7), seed=2)
    assert equal(tensor, "hd_truth_tensor.nii.gz") and equal(fa, "hd_truth_fa.nii.gz") and equal(mask, "hd_mask.nii.gz")
    scan, table = p.dwi("rings", (9, 8, 7), directions=7, seed=2, snr=30)
    assert equal(scan, "hd_dwi.nii.gz") and np.allclose(table, np.loadtxt("hd.b"), atol=1e-6)
    for function in (p.tensor, p.dwi):  # words of other things that tensors have are no kinds
        for kind in ("fsl", "auto", "ols", "model_log"):
            refused([f"'{kind}'", "helix, rings, steps"], function, kind, (5, 5, 5))
    freed, destroy = [], clvox.phantom.lib.clvox_surface_destroy
    with instead(clvox.phantom.lib, clvox_phantom_shake=lambda *_: _abi.CLVOX_ERROR_MEMORY,
                 clvox_surface_destroy=lambda pointer: freed.append(destroy(pointer))):
        refused([], p.mesh, "sphere", noise=.1, **grid)
    assert len(freed) == 1
    refused(["kind", "textured"], p.image, "head")
    refused(["solid", "torus"], p.mesh, "ball")
    refused(["three numbers"], p.image, "ball", (3, 4))
    refused(["amplitude"], p.warp, (9, 9, 9), amplitude=50)


@case("currents, varifolds and distances of shapes are the command's")
def currents():
    write_shapes()
    a, b = clvox.surface.read("here.ply"), clvox.surface.read("there.ply")
    for words, given in (([], {}), (["--method", "exact"], {"method": "exact"}), (["--method", "mesh"], {"method": "mesh", "error": 1e-4})):
        command("surface", "compare", "here.ply", "there.ply", "--width", "2mm", *words, *(["--error", "1e-4"] if "error" in given else []),
                "--json", "k.json")
        said, found = json.load(open("k.json", encoding="utf-8"))["result"], clvox.surface.compare(a, b, width=2, **given)
        assert close([found.mean[2], found.largest[2], found.dice], [said[k] for k in ("mean_distance_mm", "hausdorff_mm", "dice")])
        for name in ("currents", "varifold"):
            mine, theirs = getattr(found, name), said[f"{name}_products"]
            assert close([mine.aa, mine.bb, mine.ab], [theirs[k] for k in ("AA", "BB", "AB")]) and mine.method == theirs["method"]
            assert close(mine.squared_distance, said[name]) and said[name] > 0
    assert not hasattr(clvox.surface.compare(a, b, samples=100), "currents")
    for names, shapes in ((("here.vtk", "there.vtk"), [clvox.read_curves(n) for n in ("here.vtk", "there.vtk")]),
                          (("here.csv", "there.csv"), [clvox.Cloud(np.loadtxt(n, delimiter=",", skiprows=1)[:, :3],
                                                                   np.loadtxt(n, delimiter=",", skiprows=1)[:, 3])
                                                       for n in ("here.csv", "there.csv")])):
        command("surface", "compare", *names, "--width", "3mm", "--frames", "ras", "--json", "k.json")
        said, found = json.load(open("k.json", encoding="utf-8"))["result"], clvox.compare_shapes(*shapes, 3)
        assert close([found.mean[2], found.largest[2]], [said["mean_distance_mm"], said["hausdorff_mm"]])
        assert close(found.currents.squared_distance, said["currents" if names[0].endswith("vtk") else "measure"])
        assert (found.varifold is None) == names[0].endswith("csv")
        assert close(found.sizes[0], said.get("length_a_mm", said.get("weight_a")))
    refused(["one kind"], clvox.compare_shapes, *[a, clvox.read_curves("here.vtk")], 3)
    refused(["method", "mesh"], clvox.surface.compare, a, b, width=2, method="grid")
    refused(["width"], clvox.surface.compare, a, b, width=0)


@case("ANTsPy's calls give its result names, and files that the command applies to the same bits")
def shim():
    from clvox import ants  # pylint: disable=import-outside-toplevel
    fixed, moving = ants.image_read("p_fixed.nii.gz"), ants.image_read("p_moving.nii.gz")
    r = ants.registration(fixed, moving, "SyN", outprefix="shim_", reg_iterations=(0, 20, 10))
    assert list(r) == ["warpedmovout", "fwdtransforms", "invtransforms", "warpedfixout"]
    assert r["fwdtransforms"] == ["shim_1Warp.nii.gz", "shim_0GenericAffine.mat"]
    assert r["invtransforms"] == ["shim_0GenericAffine.mat", "shim_1InverseWarp.nii.gz"]
    command("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "rq", "--no-picture", "--shrink", "2x1", "--iterations",
            "20x10")
    assert equal(r["warpedmovout"], "rq_warped.nii.gz")
    again = ants.apply_transforms(fixed, moving, r["fwdtransforms"])
    command("apply", "-i", "p_moving.nii.gz", "-r", "p_fixed.nii.gz", "-t", "shim_1Warp.nii.gz", "-t", "shim_0GenericAffine.mat", "-o",
            "sa.nii.gz")
    assert equal(again, "sa.nii.gz")
    back = ants.apply_transforms(moving, fixed, r["invtransforms"])
    command("apply", "-i", "p_fixed.nii.gz", "-r", "p_moving.nii.gz", "-t", "shim_0GenericAffine.mat,-1", "-t",
            "shim_1InverseWarp.nii.gz", "-o", "sb.nii.gz")
    assert equal(back, "sb.nii.gz") and np.array_equal(back.data, r["warpedfixout"].data)
    here, there = moving.data.ravel(), fixed.data.ravel()
    assert np.corrcoef(back.data.ravel(), here)[0, 1] > np.corrcoef(there, here)[0, 1]
    labels = ants.apply_transforms(fixed, "p_moving_labels.nii.gz", r["fwdtransforms"], interpolator="genericLabel")
    assert set(np.unique(labels.data)) <= {0, 1, 2, 3, 4}
    command("jacobian", "-t", "shim_1Warp.nii.gz", "--log", "-o", "sj.nii.gz")
    assert equal(ants.create_jacobian_determinant_image(fixed, "shim_1Warp.nii.gz", True), "sj.nii.gz")
    affine = ants.registration(fixed, moving, "Rigid", outprefix="shim_r_")
    assert affine["fwdtransforms"] == affine["invtransforms"] == ["shim_r_0GenericAffine.mat"]

    class Image:  # as ANTsPy's: LPS
        spacing, origin, direction = (1., 2., 3.), (4., 5., 6.), np.eye(3)

        def numpy(self):
            return np.zeros((3, 4, 5), np.float32)
    assert np.array_equal(ants._own(Image()).affine, [[-1, 0, 0, -4], [0, -2, 0, -5], [0, 0, 3, 6], [0, 0, 0, 1]])
    with warned("aff_sampling"):
        ants.registration(fixed, moving, "Translation", aff_sampling=32)
    with warned("pixeltype"):
        ants.image_read("p_fixed.nii.gz", pixeltype="float")
    with warned("ri"):
        ants.image_write(fixed, "written.nii.gz", ri=True)
    with warned("reg_iterations"):
        ants.registration(fixed, moving, "Translation", reg_iterations=(9, 9))
    Image.spacing, Image.origin, Image.direction = (1., 2.), (4., 5.), np.eye(2)
    refused(["2-D images are not supported"], ants.registration, Image(), moving)
    refused(["type_of_transform", "SyN"], ants.registration, fixed, moving, "Syn")
    refused(["metric", "mattes"], ants.registration, fixed, moving, syn_metric="lncc9")
    refused(["interpolator", "bspline"], ants.apply_transforms, fixed, moving, [], interpolator="cubic")
    refused(["2 values", "1 transforms"], ants.apply_transforms, fixed, moving, "shim_1Warp.nii.gz", whichtoinvert=[0, 1])


@case("ANTsPy's arguments mean what they mean there, or are refused")
def meaning():
    from clvox import ants  # pylint: disable=import-outside-toplevel
    fixed, moving = clvox.read("p_fixed.nii.gz"), clvox.read("p_moving.nii.gz")
    asked = []

    def register(*arguments, **options):
        asked.append(options)
        return clvox.register(*arguments, **options)

    def registration(kind, **more):
        return ants.registration(fixed, moving, kind, **more)
    with instead(ants, register=register):
        for kind, metrics in (("SyNCC", "mi,lncc:4"), ("TVMSQ", "mi,ssd"), ("TVMSQC", "mi,ssd")):
            registration(kind, reg_iterations=(1,))
            assert asked[-1]["metric"] == metrics, asked[-1]
        registration("SyNCC", reg_iterations=(1,), aff_metric="GC")
        assert asked[-1]["metric"] == "ncc,lncc:4"
        registration("SyN", reg_iterations=(1,), syn_metric="demons")
        assert asked[-1]["metric"] == "mi,ssd"
    by_mi = clvox.register(fixed, moving, metric="mi", deform="none").matrix
    assert np.allclose(clvox.read_affine(registration("SyNCC", reg_iterations=(1,))["fwdtransforms"][1]), by_mi, atol=1e-6)
    for kind in ("SyN", "SyNOnly", "SyNAggro", "SyNCC", "TVMSQ", "antsRegistrationSyNQuick[s]"):
        assert len(registration(kind, reg_iterations=(0, 0, 0))["fwdtransforms"]) == 1, kind

    turn, shift = np.eye(4), np.eye(4)
    turn[:2, :2], shift[:3, 3] = [[0, -1], [1, 0]], [3, 1, 2]
    clvox.write_affine(turn, "turn.mat")
    clvox.write_affine(shift, "shift.mat")
    for start, matrix in ((["turn.mat", "shift.mat"], shift @ turn), (("shift.mat", turn), turn @ shift),
                          (["identity", "shift.mat", "shift.mat"], shift @ shift), (["turn.mat"], turn), ([], None), (turn.tolist(), turn)):
        found, known = ants._start(start), isinstance(matrix, np.ndarray)
        found = clvox.read_affine(found) if isinstance(found, str) else found
        assert np.allclose(found, matrix) if known else found is None, start
    points = [[1., 2, 3]]
    assert np.allclose(clvox.apply_points(points, ["turn.mat", "shift.mat"]), clvox.apply_points(points, ants._start(["turn.mat", "shift.mat"])))
    with instead(ants, register=register):
        registration("SyNOnly", reg_iterations=(0,), initial_transform=["shift.mat", "shift.mat"])
    assert np.allclose(asked[-1]["init"], shift @ shift)
    refused(["initial_transform", "p_truth_warp.nii.gz", "warp"], registration, "SyN", initial_transform=["p_truth_warp.nii.gz", "turn.mat"])
    refused(["initial_transform", "nowhere.mat"], registration, "SyN", initial_transform=["turn.mat", "nowhere.mat"])
    refused(["initial_transform", "Volume"], registration, "SyN", initial_transform=["turn.mat", fixed])

    refused(["write_composite_transform", "clvox.compose"], registration, "SyN", write_composite_transform=True)
    refused(["compose", "clvox.compose"], ants.apply_transforms, fixed, moving, ["turn.mat"], compose="whole_")
    with warned():
        ants.apply_transforms(fixed, moving, ["turn.mat"], compose=None)
    corrected, field = clvox.filter.n4(fixed)
    assert np.array_equal(ants.n4_bias_field_correction(fixed).data, corrected.data)
    assert np.array_equal(ants.n4_bias_field_correction(fixed, return_bias_field=True).data, field.data)


@case("a context has threads and a log of its own, and progress can be a bar")
def contexts():
    lines = []
    context = clvox.Context(threads=1, verbosity=2, log=lambda level, line: lines.append((level, line)))
    image = clvox.phantom.image("ball", (9, 8, 7))
    one, two = clvox.filter.gaussian(image, 2, context=context), clvox.filter.gaussian(image, 2)
    assert np.array_equal(one.data, two.data) and lines and all(level in (1, 2) and line for level, line in lines)
    plain = unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None})
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), plain:
        clvox.register(image, image, quick=True, iterations=(2,), shrink=(1,), progress=True)
    assert "deformation 100%, level 1" in shown.getvalue() and shown.getvalue().endswith("\n") and shown.getvalue().count("\n") == 1
    for most, told, result in ((1 - 1e-16, True, 0), (.5, True, 0), (.5, True, _abi.CLVOX_ERROR_STOPPED), (.5, None, 0), (.5, lambda _: 0, 0)):
        with plain:
            shown, progress = io.StringIO(), _library.Progress(told)
        step = ctypes.pointer(_abi.clvox_step(stage=b"work", fraction=most, level=-1))

        def work(progress=progress, step=step, result=result):
            return progress.pointer(None, step) or result
        with contextlib.redirect_stderr(shown):
            try:
                progress.call(work)
                assert result == 0
            except clvox.Error:
                assert result < 0
        assert shown.getvalue().count("\n") == (told is True) and (not shown.getvalue() or shown.getvalue().endswith("\n"))
    with open("broken-wisdom.txt", "w", encoding="ascii") as file:
        file.write("no wisdom\n")
    for verbosity, heard in ((None, True), (1, True), (0, False)):
        lines.clear()
        before = os.environ.get("CLVOX_WISDOM")
        os.environ["CLVOX_WISDOM"] = os.path.abspath("broken-wisdom.txt")
        try:
            clvox.Context(log=lambda level, line: lines.append((level, line)), **({} if verbosity is None else {"verbosity": verbosity}))
        finally:
            del os.environ["CLVOX_WISDOM"]
            if before is not None:
                os.environ["CLVOX_WISDOM"] = before
        assert any("broken-wisdom" in line for _, line in lines) == heard, (verbosity, lines)


@case("bench tells what the kernels of a call took")
def measured():
    image = clvox.phantom.image("ball", (9, 8, 7))
    image.write("ball.nii.gz")
    found = clvox.bench(clvox.filter.gaussian, "ball.nii.gz", 2, repeat=2)
    assert found.seconds > 0 and found.bandwidth > 0
    command("filter", "gaussian", "ball.nii.gz", "--sigma", "2mm", "-o", "o.nii.gz", "--profile", "--json", "o.json")
    theirs = json.load(open("o.json", encoding="utf-8")).get("profile", {}).get("kernels", [])
    assert bool(theirs) == bool(found.kernels)
    if found.kernels:  # the device times its kernels
        assert sum(row.seconds for row in found.kernels) == found.device_seconds > 0
        assert all(row.calls >= 1 and row.bytes > 0 for row in found.kernels)
        mine = {row.label: (row.calls, row.bytes) for row in found.kernels}
        assert mine == {row["kernel"]: (row["calls"], row["bytes"]) for row in theirs}, (mine, theirs)
    refused(["0 calls"], clvox.bench, clvox.filter.gaussian, image, 2, repeat=0)


@case("a context tells what its kernels took")
def profile():
    context = clvox.Context(profile=True)
    clvox.filter.sobel(clvox.Volume(np.ones((5, 4, 3)), np.eye(4)), context=context)
    rows = context.timings()
    assert not rows or any(r.label.startswith("sobel") and r.calls == 1 for r in rows)
    assert clvox.Context().timings() == [] and context.bandwidth() > 0


@case("the Python lines of doc/python.md run")
def page():
    blocks = re.findall(r"^```python\n(.*?)^```$", open(os.path.join(SOURCE, "doc/python.md"), encoding="utf-8").read(), re.M | re.S)
    assert len(blocks) == 3
    for name, source in (("subject", "p_fixed"), ("atlas", "p_moving"), ("fixed", "p_fixed"), ("moving", "p_moving"), ("atlas_labels", "p_moving_labels"), ("mask", "s_noisy_mask"),
                         ("dwi", "t_dwi")):
        shutil.copy(source + ".nii.gz", name + ".nii.gz")
    shutil.copy("t.bval", "dwi.bval")
    shutil.copy("t.bvec", "dwi.bvec")
    for block in blocks:
        run = subprocess.run([sys.executable, "-c", block], capture_output=True, encoding="utf-8", check=False,
                             env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python")})
        assert run.returncode == 0, run.stderr
    assert os.path.exists("warped.nii.gz")


if __name__ == "__main__":
    sys.exit(main("pair --size 22x19x17 -o p", "surface:sphere --size 20x18x16 --noise 0.2vox -o s",
                  "tensor:helix --size 9x8x7 --directions 8 -o t"))
