#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the package behaves as Python's users expect: errors, types, Ctrl-C, processes, copies, notebooks.
    test_manners.py BUILD SOURCE PROGRAM
Prints a TAP line a case."""
import contextlib
import copy
import importlib.util
import inspect
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import types
import typing
import unittest
import unittest.mock

import numpy as np

from harness import BUILD, case, main, refused
import clvox
import clvox.ants
from clvox import _library, _options

AFFINE = np.array([[0.9, 0.2, 0, -3], [-0.2, 1.1, 0.1, 4], [0, -0.1, 1.3, 5], [0, 0, 0, 1]])
OPTIONS = {"register": clvox.register, "register series": clvox.register_series, "segment": clvox.segment,
           "atlas": clvox.atlas, "stats": clvox.stats, "entropy": clvox.entropy, "surface denoise": clvox.surface.denoise, "tensor fit": clvox.tensor.fit,
           "tensor denoise": clvox.tensor.denoise, "filter nlm": clvox.filter.nlm, "filter tv": clvox.filter.tv,
           "filter n4": clvox.filter.n4}


def ball():
    return clvox.phantom.image("ball", (9, 8, 7))


def python(code, **more):
    """What a program of its own does."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python")}, **more)


@case("errors are also what Python raises in such a case, and survive pickling")
def errors():
    image = ball()
    os.mkdir("folder.nii")
    kinds = ((FileNotFoundError, lambda: clvox.read("nowhere.nii")), (FileNotFoundError, lambda: image.write("nowhere/a.nii")),
             (FileNotFoundError, lambda: clvox.surface.read("nowhere.ply")), (OSError, lambda: clvox.read("folder.nii")),
             (ValueError, lambda: clvox.filter.median(image, -1)), (ValueError, lambda: clvox.phantom.image("head")),
             (ValueError, lambda: clvox.register(image, image, metric="cor")), (TypeError, lambda: clvox.register(image, image, quikc=True)),
             (TypeError, lambda: clvox.filter.sobel([1, 2])), (RuntimeError, lambda: clvox.Context("no such device")))
    for kind, wrong in kinds:
        try:
            wrong()
            raise AssertionError(f"no {kind}")
        except clvox.Error as error:
            assert isinstance(error, kind) and type(error).__name__ == "Error", (kind, type(error).__mro__)
            again = pickle.loads(pickle.dumps(error))
            assert str(again) == str(error) and isinstance(again, kind) and again.status == error.status
    with open("broken.nii", "wb") as file:
        file.write(b"no image" * 99)
    refused(["broken.nii"], clvox.read, "broken.nii")
    assert isinstance(clvox.Error("full", _library._abi.CLVOX_ERROR_MEMORY), MemoryError)


@case("arrays that are no real numbers are refused, wherever they are given")
def arrays():
    shape = (3, 3, 3)
    for wrong in (np.ones(shape, complex), np.full(shape, "1.5"), np.full(shape, b"1"), np.zeros(shape, "M8[D]"), np.zeros(shape, "m8[s]"),
                  np.zeros(shape, [("r", "u1"), ("g", "u1")])):
        refused(["real numbers", str(wrong.dtype)], clvox.Volume, wrong, AFFINE)
        flat = wrong.reshape(9, 3)
        for function, arguments in ((clvox.Cloud, (flat,)), (clvox.Curves, (flat,)), (clvox.Surface, (flat, [[0, 1, 2]])),
                                    (clvox.Surface, (np.eye(3), flat)), (clvox.apply_points, (flat, [np.eye(4)])),
                                    (clvox.filter.gaussian, ((wrong, AFFINE), 1))):
            refused(["real numbers"], function, *arguments)
    refused(["real numbers"], clvox.Volume, np.array([[[1j]]], object), AFFINE)
    refused(["real numbers"], clvox.Volume, np.ones(shape), AFFINE.astype(complex))
    refused(["real numbers"], clvox.write_affine, AFFINE.astype(str), "a.txt")
    volume = ball()
    with contextlib.suppress(clvox.Error):
        volume.data = np.ones(shape, complex)
    assert volume.shape == (9, 8, 7)
    for kind in (bool, np.int8, np.uint16, np.int64, np.float16, np.float64, object):
        assert clvox.Volume(np.ones(shape, kind), AFFINE).data.dtype == np.float32


@case("contexts and what else holds a device or memory cannot be copied; volumes, surfaces and results can")
def copies():
    context = clvox.Context()
    for held in (context, clvox.Contexts(), clvox.Report("page")):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            try:
                way(held)
                raise AssertionError(f"{held} was copied")
            except TypeError as error:
                assert type(held).__name__ in str(error)
    image = clvox.read("p_fixed.nii.gz")  # the library's memory
    for volume in (image, clvox.Volume(image.data > 50, AFFINE, "label"), clvox.filter.sobel(image, context=context),
                   clvox.ants.image_read("p_fixed.nii.gz")):
        for again in (copy.copy(volume), copy.deepcopy(volume), pickle.loads(pickle.dumps(volume))):
            assert type(again) is type(volume) and again.kind == volume.kind and repr(again) == repr(volume)
            assert np.array_equal(again.data, volume.data) and np.array_equal(again.affine, volume.affine)
            again.write("again.nii.gz")
            volume.write("first.nii.gz")
            assert open("again.nii.gz", "rb").read() == open("first.nii.gz", "rb").read()
    result = clvox.register("p_fixed.nii.gz", "p_moving.nii.gz", quick=True, shrink=(2,), iterations=(3,), context=context)
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is clvox.Registration and np.array_equal(again.warp.data, result.warp.data)
    moved = clvox.apply("p_moving.nii.gz", image, again.transforms)
    assert np.array_equal(moved.data, result.warped.data)
    inverse = pickle.loads(pickle.dumps(clvox.inverse(result.matrix)))
    assert np.allclose(clvox.apply_points([[1, 2, 3]], [result.matrix, inverse]), [[1, 2, 3]])


@case("results are short when printed, have no fields but their own, and words for what is one of several")
def results():
    r = clvox.register("p_fixed.nii.gz", "p_moving.nii.gz", quick=True, shrink=(2,), iterations=(3,), inverse=True)
    assert len(repr(r)) < 200 and f"{r.ncc_after:.4g}" in repr(r) and "22x19x17" in repr(r), repr(r)
    assert r.metric == "lncc" and r.shape_sums == [] and not hasattr(r, "nonsense")
    assert clvox.devices()[0].type in ("cpu", "gpu", "accelerator") and len(repr(clvox.devices()[0])) < 300
    for shown in (r, r.warped, r.warp, clvox.filter.sobel(ball()), r.jacobian):
        page = shown._repr_html_()
        assert page.count("<") == page.count(">") and len(page) > 60
    turned = clvox.Volume(np.arange(60.).reshape(3, 4, 5), [[0, 0, -2, 9], [1, 0, 0, 5], [0, -3, 0, 2], [0, 0, 0, 1]])
    from clvox import _html  # pylint: disable=import-outside-toplevel
    planes = _html._planes(turned.data, turned.affine)
    assert planes.shape[0] == 12 and (planes[0, 0], planes[0, 9]) == (turned.data[2, 1, 0], turned.data[2, 1, 4]), planes
    # the way back
    fixed, moving = clvox.read("p_fixed.nii.gz"), clvox.read("p_moving.nii.gz")
    back = clvox.apply(fixed, moving, r.inverse_transforms)
    r.inverse_warp = None
    solved = clvox.apply(fixed, moving, r.inverse_transforms)
    assert np.corrcoef(back.data.ravel(), solved.data.ravel())[0, 1] > .999
    assert np.corrcoef(back.data.ravel(), moving.data.ravel())[0, 1] > np.corrcoef(fixed.data.ravel(), moving.data.ravel())[0, 1]
    points = clvox.apply_points([[1, 2, 3]], r.transforms)
    assert np.allclose(clvox.apply_points(points, r.inverse_transforms), [[1, 2, 3]], atol=.05)
    both = clvox.compose(r.warp, clvox.inverse(r.warp))
    assert both.kind == "displacement" and both.shape == r.warp.shape


@case("signatures have each option with its type, as the library's tables have them")
def signatures():
    for verb, function in OPTIONS.items():
        typed, rows = _options.OF[verb].__annotations__, clvox.options(verb)
        own = {name for name, p in inspect.signature(inspect.unwrap(function)).parameters.items()}
        assert set(rows) - {"init"} <= set(typed), verb
        assert set(typed) <= own and not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
        code = function.__code__
        given = set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
        assert not given & set(typed), (verb, given & set(typed))
        for key, row in rows.items():
            hint = str(typed.get(key))
            assert key == "init" or ("bool" in hint) == (row.type == "flag"), (verb, key, hint)
    for verb, function in (("register", clvox.register_list), ("segment", clvox.segment_list), ("atlas", clvox.atlas_regression),
                           ("atlas", clvox.atlas_plan)):
        assert set(_options.OF[verb].__annotations__) <= set(inspect.signature(function).parameters), function
    v = ball()
    for wrong in ({"metric": 2}, {"deform": 2}, {"linear": True}, {"metric": ("mi", 2)}):
        refused([next(iter(wrong))], clvox.register, v, v, **wrong)
    refused(["interp"], clvox.apply, v, v, interp=1)
    assert set(_library.TABLES) == set(OPTIONS) == set(_options.OF)


PROGRAM_OF_TYPES = """import clvox
import clvox.ants
f = clvox.read("f.nii.gz")
r = clvox.register(f, f, quick=True, metric="mi,lncc", shrink=(2, 1), update_sigma="1.7vox")
r.warped.write("w.nii.gz")
x: float = r.metric_after + r.jacobian.mean_log
t = clvox.apply(f, f, r.inverse_transforms)
a = clvox.atlas([f, f], rounds=1, metric="ncc").maps[0].warp.shape
m = clvox.ants.get_mask(f).numpy()
d = clvox.devices()[0].global_bytes
pairs = clvox.register_list([("f.nii.gz", "f.nii.gz", "a")], "out", shrink=(2, 1), init="centers")[0].files[0].split("/")
plan: float = clvox.atlas_plan([f, f], devices=(4,), rounds=1)[0].all
with_bar = clvox.filter.nlm(f, progress=True, search=2)
"""
WRONG = ("clvox.register(f, f, quikc=True)", "r.nonsense", "clvox.register(f, f, deform=2)", "clvox.register(f, f, linear='afine')",
         "clvox.atlas([f], averige='mean')", "r.jacobian.foldet", "clvox.filter.nlm(f, serch=2)", "clvox.stats([f], seed='one')",
         "clvox.devices()[0].nmae", "clvox.register_list('p.tsv', 'out', itrations=3)", "clvox.register_list('p.tsv', 'out')[0].stat")


@case("mypy --strict takes a right program, and refuses each wrong line")
def checked():
    if not importlib.util.find_spec("mypy"):
        raise unittest.SkipTest("there is no mypy")
    lines = PROGRAM_OF_TYPES.splitlines()
    with open("typed.py", "w", encoding="ascii") as file:
        file.write("\n".join(lines + list(WRONG)) + "\n")
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", os.devnull, "typed.py"],
                         capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": os.path.join(BUILD, "src/python")})
    found = {int(n) for n in re.findall(r"typed.py:(\d+): error", run.stdout)}
    assert found == set(range(len(lines) + 1, len(lines) + len(WRONG) + 1)), run.stdout + run.stderr


@case("Ctrl-C is KeyboardInterrupt wherever it comes, in a loop that goes on after errors, too")
def interrupted():
    code = """
import clvox, os, signal, threading, time
p = clvox.phantom.pair((16, 16, 16), 1.5, seed=2)
work = lambda: clvox.register(p.fixed, p.moving, quick=True, shrink=(2, 1), iterations=(9, 9))
work()
def strike():
    while not done:
        time.sleep(.003)
        os.kill(os.getpid(), signal.SIGINT)
done, came, wrong = [], 0, []
threading.Thread(target=strike, daemon=True).start()
while came < 40:
    try:
        try:
            work()
        except clvox.Error as error:
            wrong.append(str(error))
    except KeyboardInterrupt:
        came += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
done.append(1)
time.sleep(.01)
print("came", came, wrong[:1])
"""
    run = python(code)
    assert run.stdout == "came 40 []\n" and "Exception ignored" not in run.stderr, run.stdout + run.stderr[-2000:]
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:  # a handler that does not raise stops nothing
        image = ball()
        r = clvox.register(image, image, quick=True, shrink=(1,), iterations=(3,), progress=lambda _: os.kill(os.getpid(), signal.SIGINT))
        assert heard and r.warped is not None and signal.getsignal(signal.SIGINT) is not before
    finally:
        signal.signal(signal.SIGINT, before)


FORKED = """
import clvox, multiprocessing as mp, sys
def work(_):
    try:
        return clvox.filter.gaussian(clvox.phantom.image("ball", (9, 8, 7)), 2).data.sum()
    except RuntimeError as error:
        return str(error)
if __name__ == "__main__":
    mine = work(0)
    for way in sys.argv[1:]:
        with mp.get_context(way).Pool(2) as pool:
            theirs = pool.map_async(work, [1, 2]).get(timeout=100)
            print(way, [one if isinstance(one, str) else bool(one == mine) for one in theirs])
"""


@case("a process that was forked after a device was used says so at once; spawned ones work")
def forked():
    with open("forked.py", "w", encoding="ascii") as file:
        file.write(FORKED)
    run = subprocess.run([sys.executable, "forked.py", "fork", "forkserver", "spawn"], capture_output=True, text=True, check=False,
                         timeout=200, env={**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python")})
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and len(lines) == 3, run.stdout + run.stderr[-2000:]
    assert lines[0].count("forked") == 2 and "spawn" in lines[0] and lines[1:] == ["forkserver [True, True]", "spawn [True, True]"], lines
    child = python("import os, clvox\nv = clvox.phantom.image('ball', (5, 5, 5))\npid = os.fork()\n"
                   "ok = clvox.filter.sobel(v).shape == (5, 5, 5)\nif pid: ok = ok and os.waitpid(pid, 0)[1] == 0\nos._exit(0 if ok else 1)")
    assert child.returncode == 0, child.stderr  # forked before that


@case("progress=True is tqdm's bar where tqdm is installed, else a line; both end")
def bars():
    bars_made = []

    class Bar:
        def __init__(self, total, bar_format):
            self.n, self.total, self.closed, self.said = 0, total, 0, []
            assert "{bar}" in bar_format
            bars_made.append(self)

        def set_description_str(self, text, refresh):
            assert not refresh
            self.said.append(text)

        def set_postfix_str(self, text, refresh):
            assert not refresh
            self.said.append(text)

        def update(self, more):
            self.n += more

        def close(self):
            self.closed += 1
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    image = ball()
    with unittest.mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": auto}):
        clvox.register(image, image, quick=True, iterations=(2,), shrink=(1,), progress=True)
        clvox.filter.gaussian(image, 2, progress=True)
        clvox.filter.gaussian(image, 2, context=clvox.Context(progress=True))
        assert len(bars_made) == 3 and all(bar.closed == 1 and bar.n <= bar.total for bar in bars_made)
        assert "deformation" in bars_made[0].said and abs(bars_made[0].n - 100) < 1e-6 and any("level 1" in text for text in bars_made[0].said)
    shown = io.StringIO()
    with unittest.mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), contextlib.redirect_stderr(shown):
        clvox.filter.gaussian(image, 2, progress=True)
    assert "filtering" in shown.getvalue() and shown.getvalue().count("\n") == 1 and len(bars_made) == 3


@case("images of clvox.ants are like ANTsPy's, with its masks, resampling and overlaps")
def shim():
    from clvox import ants  # pylint: disable=import-outside-toplevel
    turn = np.array([[0, -1., 0], [1, 0, 0], [0, 0, 1]])
    array = np.random.default_rng(1).random((5, 6, 7)).astype("f4")
    image = ants.from_numpy(array, origin=(1, 2, 3), spacing=(2, 3, 4), direction=turn)
    assert image.origin == (1, 2, 3) and image.spacing == (2, 3, 4) and np.allclose(image.direction, turn)
    assert np.allclose(image.affine, [[0, 3, 0, -1], [-2, 0, 0, -2], [0, 0, 4, 3], [0, 0, 0, 1]])
    got = image.numpy()
    got[0] = 9
    assert np.array_equal(image.numpy(), array) and image[1, 2, 3] == array[1, 2, 3] and image.dimension == 3
    assert np.allclose((image * 2 + image).numpy(), 3 * array) and (image > .5).numpy().sum() == (array > .5).sum()
    ants.image_write(image, "i.nii.gz")
    again = ants.image_read("i.nii.gz")
    assert isinstance(again, ants.Image) and np.allclose(again.origin, image.origin) and np.allclose(again.direction, turn)

    solid = np.zeros((20, 19, 18))
    solid[3:15, 3:15, 3:15] = 1
    holed = solid.copy()
    holed[9, 9, 9] = 0
    holed[17, 17, 16] = 1  # a speck
    mask = ants.get_mask(ants.from_numpy(holed)).numpy()
    assert mask[9, 9, 9] == 1 and mask[17, 17, 16] == 0 and set(np.unique(mask)) == {0, 1} and mask.sum() <= solid.sum()
    assert np.array_equal(ants.get_mask(ants.from_numpy(holed), cleanup=0).numpy(), holed)
    assert ants.get_mask(ants.from_numpy(holed), low_thresh=.5, high_thresh=.9, cleanup=0).numpy().sum() == 0
    noise = np.random.default_rng(4).random((9, 8, 7)) > .7
    parts = clvox.ants._mask.components(noise)
    for axis in range(3):
        here, there = np.moveaxis(parts, axis, 0)[:-1], np.moveaxis(parts, axis, 0)[1:]
        assert np.array_equal(here[(here > 0) & (there > 0)], there[(here > 0) & (there > 0)])
    assert len(np.unique(parts)) - 1 == parts.max() and np.array_equal(parts > 0, noise) and parts.max() > 20

    finer = ants.resample_image(image, (1, 1, 2), interp_type=0)
    assert finer.shape == (10, 18, 14) and finer.spacing == (1, 1, 2) and np.allclose(finer.origin, image.origin)
    assert np.allclose(finer.numpy()[::2, ::3, ::2], array, atol=1e-5)
    voxels = ants.resample_image(image, (5, 3, 7), use_voxels=True)
    assert voxels.shape == (5, 3, 7) and voxels.spacing == (2, 7.5, 4) and np.allclose(voxels.numpy()[:, [0, 2]], array[:, [0, 5]])
    refused(["interp_type", "2"], ants.resample_image, image, (1, 1, 1), interp_type=2)
    refused(["three numbers"], ants.resample_image, image, (1, 0, 1))

    first, second = np.zeros((4, 4, 4)), np.zeros((4, 4, 4))
    first[:2], second[1:3], first[3, 3, 3] = 1, 1, 2
    for without in ({}, {"pandas": None}):
        with unittest.mock.patch.dict(sys.modules, without):
            found = ants.label_overlap_measures(ants.from_numpy(first), ants.from_numpy(second))
        assert list(found["Label"]) == ["All", "1", "2"]
        row = {name: list(found[name])[1] for name in found if name != "Label"}
        assert row == {"TotalOrTargetOverlap": .5, "UnionOverlap": 1 / 3, "MeanOverlap": .5, "VolumeSimilarity": 0,
                       "FalseNegativeError": .5, "FalsePositiveError": .5}, row
    if importlib.util.find_spec("ants"):
        import ants as theirs  # pylint: disable=import-outside-toplevel,import-error
        values = clvox.phantom.image("textured", (19, 18, 17), 3, noise=4).data
        for cleanup in (0, 1, 2):
            assert np.array_equal(ants.get_mask(ants.from_numpy(values), cleanup=cleanup).numpy(),
                                  theirs.get_mask(theirs.from_numpy(values), cleanup=cleanup).numpy())
        for asked, voxels in (((2, 1.5, .7), False), ((11, 9, 13), True)):
            one, other = (m.resample_image(m.from_numpy(values, spacing=(1, 2, 3)), asked, voxels, 0) for m in (ants, theirs))
            assert one.spacing == other.spacing and np.allclose(one.numpy(), other.numpy(), atol=1e-3)
        labels = np.random.default_rng(3).integers(0, 4, (2, 8, 7, 6))
        mine = ants.label_overlap_measures(*map(ants.from_numpy, labels.astype("f4")))
        known = theirs.label_overlap_measures(*(theirs.from_numpy(one.astype("f4")).clone("unsigned int") for one in labels))
        assert all(np.allclose(list(mine[name]), list(known[name])) for name in known if name != "Label"), (mine, known)


NULLS = """
import ctypes, os, signal
from clvox import _abi, _library
POINTER = type(ctypes.POINTER(ctypes.c_int))
LEFT = {"clvox_parallel", "clvox_fail_in"}  # they call, and read, what the program has just written down

def is_pointer(kind):
    return kind in (ctypes.c_void_p, ctypes.c_char_p) or isinstance(kind, POINTER)

def empty(kind):
    return None if is_pointer(kind) else kind() if issubclass(kind, (ctypes.Structure, ctypes._CFuncPtr)) else kind(1)

for name, (result, kinds) in sorted(_abi.FUNCTIONS.items()):
    if name in LEFT or not any(map(is_pointer, kinds)):
        continue
    child = os.fork()
    if not child:
        signal.alarm(60)
        value = getattr(_library.lib, name)(*map(empty, kinds))
        said = _library.lib.clvox_message()
        os._exit(2 if result is ctypes.c_int and value < 0 and not said else 0)
    state = os.waitpid(child, 0)[1]
    if state:
        print(name, state)
"""


@case("functions of the library refuse NULL where they need something, and do not crash")
def nulls():
    run = python(NULLS)
    assert run.returncode == 0 and not run.stdout, run.stdout + run.stderr[-500:]


@case("everything public says its types")
def hints():
    assert os.path.exists(os.path.join(BUILD, "src/python/clvox/py.typed"))
    seen = 0
    for module in (clvox, clvox.ants, clvox.filter, clvox.phantom, clvox.surface, clvox.tensor):
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


if __name__ == "__main__":
    sys.exit(main("pair --size 22x19x17 -o p"))
