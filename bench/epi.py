#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Distortion correction of made blips of real heads, whose field is known.

    bench/epi.py --clvox build/src/cli/clvox HEAD.nii.gz ...

Both blips of a head have a readout of 50 ms along j. The field reaches 100 Hz; it is sharp above the sinuses and the ears and
smooth elsewhere. Where it folds, signal piles up. The second blip is moved by 1 mm and 1 degree, and both have Rician noise of
1/20 of the mean in the head. Errors are of the field in the head, where both Jacobians exceed 0.2: root mean square, the same
less its mean (a shift along j between the blips is a constant of the field), and the 99th percentile. correlation and rmse, of
the mean in the head, are the corrected image's with the head. Needs numpy, scipy and nibabel."""
import argparse
import os
import resource
import subprocess
import tempfile

try:
    import nibabel as nib
    import numpy as np
    from scipy import ndimage
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None

READOUT, FINE = .05, 16


def field_of(head, affine, rng):
    """Hz at every voxel: sharp sources at the head's edge, low and in front and at both sides, and a smooth remainder."""
    size = np.array(head.shape)
    points = np.argwhere(head)
    low, high = points.min(0), points.max(0)
    grid = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), -1)
    edge = np.linalg.norm(affine[:3, :3], axis=0)
    out = np.zeros(size)
    for where, hz, mm in (((.5, .86, .3), 120, 13), ((.2, .5, .25), 80, 11), ((.8, .5, .25), 80, 11), ((.5, .3, .8), -30, 35)):
        where = low + (high - low) * (np.array(where) + rng.uniform(-.04, .04, 3))
        out += hz * np.exp(-.5 * (((grid - where) * edge) ** 2).sum(-1) / (mm * rng.uniform(.9, 1.15)) ** 2)
    waves = ndimage.gaussian_filter(rng.normal(size=size), 20 / edge)
    out += 12 * waves / np.abs(waves).max()
    return out * 100 / np.abs(out[head]).max()


def rigid(affine, size, rng):
    """World map by 1 mm and 1 degree about the middle."""
    axis, shift = rng.normal(size=3), rng.normal(size=3)
    axis, shift = axis / np.linalg.norm(axis), shift / np.linalg.norm(shift)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    a = np.radians(1)
    out, centre = np.eye(4), (affine @ np.append((np.array(size) - 1) / 2, 1))[:3]
    out[:3, :3] = np.eye(3) + np.sin(a) * k + (1 - np.cos(a)) * k @ k
    out[:3, 3] = centre + shift - out[:3, :3] @ centre
    return out


def moved(volume, affine, motion, order):
    """What a head that has moved shows: volume at motion^-1 x."""
    m = np.linalg.inv(affine) @ np.linalg.inv(motion) @ affine
    return ndimage.affine_transform(volume, m[:3, :3], m[:3, 3], order=order, mode="nearest")


def blip(head, field, sign):
    """Every sample of a line along j lands sign READOUT f voxels away, and voxels add up what lands in them."""
    n = head.shape[1]
    at = (np.arange(n * FINE) + .5) / FINE - .5
    signal = ndimage.spline_filter1d(head, axis=1)
    out = np.zeros_like(head)
    for i in range(head.shape[0]):
        for k in range(head.shape[2]):
            value = ndimage.map_coordinates(signal[i, :, k], [at], order=3, mode="nearest", prefilter=False)
            land = np.rint(at + sign * READOUT * np.interp(at, np.arange(n), field[i, :, k])).astype(int)
            inside = (land >= 0) & (land < n)
            out[i, :, k] = np.bincount(land[inside], value[inside], n) / FINE
    return np.maximum(out, 0)


def make(path, folder, seed):
    image = nib.as_closest_canonical(nib.load(path))
    head = np.asarray(image.dataobj, float)
    head /= np.percentile(head, 99)
    mask = ndimage.binary_fill_holes(ndimage.gaussian_filter(head, 1) > .15)
    rng = np.random.default_rng(seed)
    field = field_of(mask, image.affine, rng)
    motion = rigid(image.affine, head.shape, rng)
    pair = [blip(head, field, 1),
            blip(moved(head, image.affine, motion, 3), moved(field, image.affine, motion, 1), -1)]
    noise = head[mask].mean() / 20
    for name, one in zip(("ap", "pa"), pair):
        one = np.hypot(one + rng.normal(0, noise, one.shape), rng.normal(0, noise, one.shape))
        nib.save(nib.Nifti1Image((1000 * one).astype(np.float32), image.affine), f"{folder}/{name}.nii.gz")
    slope = np.gradient(READOUT * field, axis=1)
    good = mask & (np.abs(slope) < .8)
    return 1000 * head, field, good, mask


def run(what, folder):
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(what, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heads", nargs="+")
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("--keep", help="folder for the blips and results")
    args = parser.parse_args()
    clvox = os.path.abspath(args.clvox) if os.path.sep in args.clvox else args.clvox
    print("| head | rms Hz | less its mean | 99% | uncorrected | correlation | rmse | CPU s |\n|---|---|---|---|---|---|---|---|")
    rows = []
    for seed, path in enumerate(args.heads):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.join(args.keep, str(seed)) if args.keep else folder
            os.makedirs(folder, exist_ok=True)
            head, field, good, mask = make(path, folder, seed)
            seconds = run([clvox, "epi", "--blips", "ap.nii.gz,pa.nii.gz", "--pe", "j,j-",
                           "--readout", str(READOUT), "-o", "out", "-q"], folder)
            found, image = (np.asarray(nib.load(f"{folder}/out_{n}.nii.gz").dataobj) for n in ("field", "corrected"))
            off = (found - field)[good]
            rows.append([np.sqrt((off ** 2).mean()), off.std(), np.percentile(np.abs(off), 99), np.sqrt((field[good] ** 2).mean()),
                         np.corrcoef(image[mask], head[mask])[0, 1],
                         np.sqrt(((image - head)[mask] ** 2).mean()) / head[mask].mean(), seconds])
            print("| {} | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:.4f} | {:.4f} | {:.1f} |".format(
                os.path.basename(path).split(".")[0], *rows[-1]), flush=True)
    print("| mean | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:.4f} | {:.4f} | {:.1f} |".format(*np.mean(rows, 0)))


if __name__ == "__main__":
    main()
