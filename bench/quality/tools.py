# SPDX-License-Identifier: Apache-2.0
"""The tools compared: each runs as its own process and leaves an affine and a warp."""
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.io import loadmat

from .measures import itk_affine, mean_dice, read_itk_affine, read_warp, sample, total_map

LOST = 0.35  # below this Dice an affine has lost the pair


class Failure(Exception):
    """A tool did not do its work; the text says what it said."""


class Result:
    """Files and time of one registration."""

    def __init__(self, affine, warp, seconds, cpu, note=""):
        self.affine, self.warp, self.seconds, self.cpu, self.note = affine, warp, seconds, cpu, note
        self.extra = {}


def run(arguments, threads, log):
    """Runs a command to its end; returns its seconds by the clock and on the processor."""
    environment = dict(os.environ, ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=str(threads),
                       OMP_NUM_THREADS=str(threads))
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(log, "wb") as out:
        status = subprocess.run(arguments, stdout=out, stderr=subprocess.STDOUT, env=environment,
                                check=False).returncode
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            said = file.read().strip().splitlines() or [""]
        raise Failure(f"exit code {status}: {said[-1]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ---- clvox ------------------------------------------------------------------

CLVOX = {"clvox": [], "clvox-quick": ["--quick"], "clvox-regular": ["--regular"], "clvox-best": ["--best"],
         "clvox-lddmm": ["--deform", "lddmm"], "clvox-shooting": ["--deform", "shooting"],
         "clvox-affine": ["--deform", "none"]}
AFTER = "-after-greedy"  # the same presets started from greedy's affine: the deformable stage alone
CLVOX.update({k + AFTER: CLVOX[k] + ["--linear", "none"] for k in ("clvox", "clvox-quick", "clvox-best")})


def clvox(pair, method, folder, options):
    """One command, from files to files. The labels go along, to compare its own interpolation of them."""
    prefix = os.path.join(folder, "clvox")
    arguments = [options.clvox, "register", "-f", pair.fixed_path, "-m", pair.moving_path, "-o", prefix, "-q"]
    arguments += CLVOX[method] + [word for text in options.clvox_option for word in text.split()]
    if pair.has_labels():
        arguments += ["--labels", pair.moving_labels_path]
    if method.endswith(AFTER):
        arguments += ["--init", greedy_affine(pair, options)[0]]
    seconds, cpu = run(arguments, options.threads, prefix + ".log")
    result = Result(read_itk_affine(prefix + "_affine.txt"),
                    prefix + "_warp.nii.gz" if os.path.exists(prefix + "_warp.nii.gz") else None,
                    seconds, cpu)
    if pair.has_labels():
        result.extra["labels"] = prefix + "_labels.nii.gz"
    if os.path.exists(prefix + ".json"):
        with open(prefix + ".json", encoding="utf-8") as file:
            result.extra["json"] = json.load(file)
    return result


def outputs(folder):
    """What a run of clvox wrote that must be the same bytes in the next."""
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if n.startswith("clvox") and n.endswith((".nii.gz", "_affine.txt"))]


# ---- greedy -----------------------------------------------------------------

GREEDY = {"greedy-affine": None,
          "greedy-documented": "-m WNCC 2x2x2 -sv -n 100x50x10",
          "greedy-fast": "-m NCC 2x2x2 -n 100x50x10 -s 1.5vox 0.5vox",
          "greedy-best": "-m WNCC 2x2x2 -n 100x100x40 -s 1.5vox 0.5vox"}


def greedy_execute(text, log, options):
    script = "import sys; from picsl_greedy import Greedy3D; Greedy3D().execute(sys.argv[1])"
    common = f"-d 3 -threads {options.threads} -seed 1 "
    return run([sys.executable, "-c", script, common + text], options.threads, log)


def affine_dice(pair, affine):
    """Dice after an affine alone; NaN where there are no labels."""
    if not pair.has_labels():
        return float("nan")
    target, source = pair.fixed_labels(), pair.moving_labels()
    only = set(np.unique(target.data)) & set(np.unique(source.data)) if pair.common_labels else None
    points = total_map(target, np.zeros(3), affine)
    return mean_dice(target.data, sample(source, points, 0), only)


def greedy_affine(pair, options):
    """greedy's affine, made once for all its settings; ANTs' where greedy's has lost the pair."""
    folder = os.path.join(pair.folder(options), "greedy")
    os.makedirs(folder, exist_ok=True)
    path, times = os.path.join(folder, "affine.mat"), os.path.join(folder, "affine.json")
    if not os.path.exists(times):
        seconds, cpu = greedy_execute(
            f"-a -dof 12 -m WNCC 2x2x2 -ia-image-centers -n 100x50x10 -i {pair.fixed_path} "
            f"{pair.moving_path} -o {path}", os.path.join(folder, "affine.log"), options)
        record = {"seconds": seconds, "cpu": cpu, "note": "", "own": affine_dice(pair, np.loadtxt(path))}
        if record["own"] < LOST and available("ants"):
            inner = os.path.join(folder, "rescue")
            os.makedirs(inner, exist_ok=True)
            np.savetxt(path, ants(pair, "ants-affine", inner, options).affine, fmt="%.9g")
            record["note"] = f"greedy's affine lost it (Dice {record['own']:.2f}): started from ANTs'"
        with open(times, "w", encoding="ascii") as file:
            json.dump(record, file)
    with open(times, encoding="ascii") as file:
        return path, json.load(file)


def greedy(pair, method, folder, options):
    path, record = greedy_affine(pair, options)
    warp, seconds, cpu = None, 0.0, 0.0
    if GREEDY[method]:
        warp = os.path.join(folder, "warp.nii.gz")
        seconds, cpu = greedy_execute(f"{GREEDY[method]} -wp 0 -i {pair.fixed_path} {pair.moving_path} "
                                      f"-it {path} -o {warp}", os.path.join(folder, "deform.log"), options)
    result = Result(np.loadtxt(path), warp, record["seconds"] + seconds, record["cpu"] + cpu, record["note"])
    result.extra["cpu_deform"] = cpu
    return result


# ---- ANTs -------------------------------------------------------------------

ANTS = {"ants-affine": "Affine", "ants-mi": "SyN", "ants-cc": "antsRegistrationSyN[s]",
        "ants-quick": "antsRegistrationSyNQuick[s]"}
IN_PLACE = {"clvox-ants": "antsRegistrationSyN.sh", "clvox-ants-quick": "antsRegistrationSyNQuick.sh"}

ANTS_SCRIPT = """
import sys, json, ants
fixed, moving = ants.image_read(sys.argv[1]), ants.image_read(sys.argv[2])
out = ants.registration(fixed, moving, sys.argv[3], outprefix=sys.argv[4], random_seed=1)
files = out['fwdtransforms']
t = ants.read_transform(files[-1])
json.dump({'warp': files[0] if len(files) > 1 else None, 'parameters': list(t.parameters),
           'centre': list(t.fixed_parameters)}, open(sys.argv[4] + 'out.json', 'w'))
"""


def ants(pair, method, folder, options):
    prefix = os.path.join(folder, "ants_")
    seconds, cpu = run([sys.executable, "-c", ANTS_SCRIPT, pair.fixed_path, pair.moving_path, ANTS[method],
                        prefix], options.threads, prefix + "log")
    with open(prefix + "out.json", encoding="ascii") as file:
        out = json.load(file)
    return Result(itk_affine(np.array(out["parameters"]), np.array(out["centre"])), out["warp"], seconds, cpu)


def in_place(pair, method, folder, options):
    """clvox in the place of ANTs' scripts."""
    prefix = os.path.join(folder, "ants_")
    seconds, cpu = run([options.clvox, "ants", IN_PLACE[method], "-d", "3", "-f", pair.fixed_path, "-m", pair.moving_path,
                        "-o", prefix], options.threads, prefix + "log")
    mat = loadmat(prefix + "0GenericAffine.mat")
    return Result(itk_affine(mat["AffineTransform_double_3_3"].ravel(), mat["fixed"].ravel()), prefix + "1Warp.nii.gz",
                  seconds, cpu)


# ---- ITK: mutual information with B-splines (Rueckert et al. 1999) -------------

ITK = {"itk-bspline": 20}  # mm between control points

ITK_SCRIPT = """
import sys, json, SimpleITK as sitk
fixed, moving = (sitk.Cast(sitk.ReadImage(name), sitk.sitkFloat32) for name in sys.argv[1:3])
def method(levels):
    m = sitk.ImageRegistrationMethod()
    m.SetMetricAsMattesMutualInformation(50)
    m.SetMetricSamplingStrategy(m.RANDOM)
    m.SetMetricSamplingPercentage(.2, 1)
    m.SetInterpolator(sitk.sitkLinear)
    m.SetShrinkFactorsPerLevel(levels)
    m.SetSmoothingSigmasPerLevel([k / 2 for k in levels])
    m.SmoothingSigmasAreSpecifiedInPhysicalUnitsOff()
    return m
affine = sitk.CenteredTransformInitializer(fixed, moving, sitk.AffineTransform(3),
                                           sitk.CenteredTransformInitializerFilter.MOMENTS)
affine = sitk.AffineTransform(affine)
m = method([4, 2, 1])
m.SetOptimizerAsRegularStepGradientDescent(1, 1e-3, 200)
m.SetOptimizerScalesFromPhysicalShift()
m.SetInitialTransform(affine, True)
m.Execute(fixed, moving)
mesh = [max(1, round(n * s / float(sys.argv[3]))) for n, s in zip(fixed.GetSize(), fixed.GetSpacing())]
spline = sitk.BSplineTransformInitializer(fixed, mesh)
m = method([2, 1])
m.SetOptimizerAsLBFGSB(1e-5, 100)
m.SetMovingInitialTransform(affine)
m.SetInitialTransform(spline, True)
m.Execute(fixed, moving)
field = sitk.TransformToDisplacementField(spline, sitk.sitkVectorFloat64, fixed.GetSize(), fixed.GetOrigin(),
                                          fixed.GetSpacing(), fixed.GetDirection())
sitk.WriteImage(sitk.Cast(field, sitk.sitkVectorFloat32), sys.argv[4] + 'warp.nii.gz')
json.dump({'parameters': affine.GetParameters(), 'centre': affine.GetFixedParameters()},
          open(sys.argv[4] + 'out.json', 'w'))
"""


def itk(pair, method, folder, options):
    prefix = os.path.join(folder, "itk_")
    seconds, cpu = run([sys.executable, "-c", ITK_SCRIPT, pair.fixed_path, pair.moving_path, str(ITK[method]),
                        prefix], options.threads, prefix + "log")
    with open(prefix + "out.json", encoding="ascii") as file:
        out = json.load(file)
    return Result(itk_affine(np.array(out["parameters"]), np.array(out["centre"])), prefix + "warp.nii.gz",
                  seconds, cpu)


# ---- all --------------------------------------------------------------------

def available(method):
    """Whether the tool behind a method can be used here."""
    if method.endswith(AFTER):
        method = "greedy"
    module = {"greedy": "picsl_greedy", "ants": "ants", "itk": "SimpleITK"}.get(method.split("-")[0])
    return module is None or importlib.util.find_spec(module) is not None


USUAL = ["clvox", "clvox-quick", "clvox-regular", "clvox-best", "greedy-documented", "greedy-best", "ants-cc"]


def methods():
    return {**{k: clvox for k in CLVOX}, **{k: greedy for k in GREEDY}, **{k: ants for k in ANTS},
            **{k: in_place for k in IN_PLACE}, **{k: itk for k in ITK}}


def displacement(result, fixed):
    return read_warp(result.warp, fixed)
