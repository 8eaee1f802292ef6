#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clvox filter nlm, tv and dwi beside ANTs, DIPY, scikit-image and MRtrix on real scans that exist twice.

halves.py CLVOX DATA [DWIDENOISE]: two Markdown tables. One half is denoised and compared with the other as it is, whose noise
is independent: E|d(a) - b|^2 - sigma^2 is the error that is left; its root is given over sigma, where 1 is no denoising.
1. DATA/formats_nibabel/example4d.nii.gz: two acquisitions of one EPI, both ways; sigma^2 is half the mean square of a - b.
2. DATA/dti_dsistudio: b = 2000, 20 directions once: the ten odd ones (without b = 0) are denoised and compared with what the
tensor of the even ones and b = 0 predicts in their directions, and the reverse; what raw halves give is no denoising, and a
part of the difference is the tensor's own error, the same for all.
Peers are told sigma and show the best of the parameters listed; clvox measures it. User CPU seconds, those of clvox and
dwidenoise with reading and writing. Wants antspyx (left out where it is missing), dipy, scikit-image, nibabel."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import nibabel as nib
from dipy.denoise.localpca import mppca

import denoise

FOUND = []
# Of denoise.peers, what is worth its time.
WANTED = {"p 1 r 1", "blockwise 1 1", "blockwise 1 3", "classic 1 2", "classic 1 3", "block 1", "weight 0.2 sigma", "weight 0.3 sigma",
          "weight 0.45 sigma", "h 0.1 sigma", "h 0.3 sigma", "h 0.4 sigma"}


def command(words, image):
    """The output of a program that takes IN and OUT in its words."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"IN": folder + "/in.nii", "OUT": folder + "/out.nii"}
        nib.save(nib.Nifti1Image(image, np.diag([2, 2, 2, 1])), files["IN"])
        subprocess.run([files.get(w, w) for w in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return nib.load(files["OUT"]).get_fdata()


def each(filter, image):
    return np.stack([filter(np.ascontiguousarray(image[..., k])) for k in range(image.shape[3])], -1)


def measured(name, parameters, make, whose, error):
    before = denoise.user(whose)
    seconds = lambda: denoise.user(whose) - before
    out = make()
    taken = seconds()
    FOUND.append((name, parameters, error(out), taken))


def table(title, raw):
    print(f"\n{title}\n\n| method | parameters | error left | CPU s |\n|---|---|---|---|")
    best = {}
    for name, parameters, error, seconds in FOUND:
        key = name if not name.startswith("clvox") else (name, parameters)
        if key not in best or error < best[key][2]:
            best[key] = (name, parameters, error, seconds)
    for name, parameters, error, seconds in [("none", "", raw, 0), *best.values()]:
        print(f"| {name} | {parameters} | {error:.3f} | {seconds:.2f} |", flush=True)
    FOUND.clear()


def scalar_peers(images, sigma, error):
    """What takes one volume at a time, told sigma."""
    names = {}
    here = denoise.resource.RUSAGE_SELF
    for k in range(images.shape[3]):
        for name, parameters, make in denoise.peers(np.ascontiguousarray(images[..., k]), np.full(images.shape[:3], sigma), True,
                                                    ((1, 1),)):
            if parameters not in WANTED:
                continue
            before = denoise.user(here)
            out = make()
            seconds, stack = names.setdefault((name, parameters), ([], []))
            seconds.append(denoise.user(here) - before)
            stack.append(out)
    for (name, parameters), (seconds, stack) in names.items():
        FOUND.append((name, parameters, error(np.stack(stack, -1)), sum(seconds)))


def repeated(clvox, path):
    both = np.asarray(nib.load(path).dataobj).astype(np.float32)
    mask = both.mean(-1) > both.mean()
    difference = (both[..., 0] - both[..., 1])[mask].astype(float)
    sigma = np.sqrt(np.mean(difference ** 2) / 2)

    def error(out):
        left = np.mean([np.mean((out[..., k] - both[..., 1 - k])[mask].astype(float) ** 2) for k in (0, 1)]) - sigma ** 2
        return np.sqrt(max(left, 0)) / sigma
    child = denoise.resource.RUSAGE_CHILDREN
    for words in (["nlm"], ["nlm", "--local-noise"], ["nlm", "--search", "5"], ["tv"]):
        measured("clvox filter " + words[0], " ".join(words[1:]) or "defaults", lambda: each(lambda v: command(
            [clvox, "filter", words[0], "IN", "-o", "OUT", "-q", *words[1:]], v), both), child, error)
    scalar_peers(both, sigma, error)
    signal = both[mask].mean()
    table(f"Two acquisitions of one EPI, {both.shape[:3]}, sigma {sigma:.2f}, mean of the brain {signal:.0f}", error(both))


def directions(clvox, folder, dwidenoise):
    scan = np.asarray(nib.load(folder + "/dwi.nii.gz").dataobj).astype(np.float32)
    bvals, bvecs = np.loadtxt(folder + "/bvals"), np.loadtxt(folder + "/bvecs")
    bvecs = bvecs if bvecs.shape[0] == len(bvals) else bvecs.T
    mask = np.asarray(nib.load(folder + "/mask.nii.gz").dataobj)[..., :] > 0
    mask = mask.reshape(scan.shape[:3]) & (scan.min(-1) > 0)
    weighted = np.flatnonzero(bvals > 100)
    halves = [weighted[0::2], weighted[1::2]]

    def design(which):
        g, b = bvecs[which], bvals[which, None]
        return np.hstack([np.ones((len(which), 1)), -b * np.stack(
            [g[:, 0] ** 2, g[:, 1] ** 2, g[:, 2] ** 2, 2 * g[:, 0] * g[:, 1], 2 * g[:, 0] * g[:, 2], 2 * g[:, 1] * g[:, 2]], -1)])

    def predicted(own, other):
        which = np.concatenate([np.flatnonzero(bvals <= 100), other])
        logs, x = np.log(scan[mask][:, which].astype(float)), design(which)
        first = logs @ np.linalg.pinv(x).T
        w = np.exp(first @ x.T) ** 2
        fit = np.stack([np.linalg.lstsq(x * np.sqrt(w[i])[:, None], logs[i] * np.sqrt(w[i]), rcond=None)[0]
                        for i in range(len(logs))])
        return np.exp(fit @ design(own).T)
    targets = [predicted(halves[0], halves[1]), predicted(halves[1], halves[0])]
    parts = [np.ascontiguousarray(scan[..., h]) for h in halves]
    all_parts = np.concatenate(parts, -1)
    raw = np.sqrt(np.mean([np.mean((parts[k][mask] - targets[k]) ** 2) for k in (0, 1)]))

    def error(out):
        n = parts[0].shape[3]
        return np.sqrt(np.mean([np.mean((out[..., k * n:(k + 1) * n][mask] - targets[k]) ** 2) for k in (0, 1)])) / raw
    child, here = denoise.resource.RUSAGE_CHILDREN, denoise.resource.RUSAGE_SELF
    both = lambda run: np.concatenate([run(p) for p in parts], -1)
    for words in (["nlm"], ["nlm", "--local-noise"], ["nlm", "--joint"], ["tv"], ["tv", "--joint"], ["dwi"]):
        measured("clvox filter " + words[0], " ".join(words[1:]) or "defaults", lambda: both(lambda p: command(
            [clvox, "filter", words[0], "IN", "-o", "OUT", "-q", *words[1:]], p)), child, error)
    if dwidenoise:
        for extent in ("3", "5"):
            measured("MRtrix dwidenoise", "extent " + extent, lambda: both(lambda p: command(
                [dwidenoise, "-nthreads", "2", "-extent", extent, "IN", "OUT"], p)), child, error)
    for radius in (1, 2):
        measured("DIPY mppca", f"radius {radius}", lambda: both(lambda p: mppca(p, patch_radius=radius)), here, error)
    quiet = [denoise_noise(p) for p in parts]
    scalar_peers(all_parts, float(np.mean(quiet)), error)
    table(f"b = 2000, ten directions against the tensor of ten others, {parts[0].shape}, sigma {np.mean(quiet):.2f}", 1)


def denoise_noise(part):
    """What the median absolute mixed difference says of the noise, frame by frame."""
    d = part.astype(float)
    for axis in range(3):
        d = np.diff(d, axis=axis)
    return np.median(np.abs(d)[part[1:, 1:, 1:].min(-1) > 0]) / .6745 / np.sqrt(8)


if __name__ == "__main__":
    repeated(sys.argv[1], sys.argv[2] + "/formats_nibabel/example4d.nii.gz")
    directions(sys.argv[1], sys.argv[2] + "/dti_dsistudio", sys.argv[3] if len(sys.argv) > 3 else None)
