#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Motion correction of a 4-D scan beside ANTs', on a series whose motion is known.

    bench/series.py --clvox build/src/cli/clvox --image T1w.nii.gz --markdown bench/series.md
    bench/series.py --method clvox --option='--smooth 1vox' ...

The series is made from a real 3-D image: each frame is the image moved by a rigid map (a drift, jumps), seen through
voxels of --mm (a Gaussian of their width, cubic interpolation), times a slow drift of the signal of 1%, with Gaussian
noise of --noise of the mean inside the head. Errors are the root mean square, over the head, of the distance between
the found and the true place of a point, by frame, after both are taken relative to the reference frame (against the mean as
target only differences between frames are known). Needs numpy, scipy and nibabel; ANTs (antspyx) where Python has it. CPU seconds are those of the whole command, ANTs' those of the call."""
import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

try:
    import nibabel as nib
    import numpy as np
    from scipy import ndimage
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None


def rigid(angles, shift, center):
    """T(center + shift) Rz Ry Rx T(-center), radians and mm."""
    x, y, z = angles
    rx = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
    ry = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    rz = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
    out = np.eye(4)
    out[:3, :3] = rz @ ry @ rx
    out[:3, 3] = center + shift - out[:3, :3] @ center
    return out


def motion(frames, rng, center):
    """A drift, jitter, and two jumps; frame 0 has not moved."""
    walk = np.cumsum(rng.normal(0, [.004, .003, .003, .15, .15, .25], (frames, 6)), axis=0)
    walk[frames // 3:] += [.02, -.01, .015, .8, -.6, 1.8]
    walk[2 * frames // 3:] += [-.035, .01, .01, -1, .5, -1.2]
    walk -= walk[0]
    return [rigid(w[:3], w[3:], center) for w in walk]


def make(path, mm, frames, noise, seed):
    """The series and the true maps, from the reference space (frame 0's) to each frame."""
    image = nib.as_closest_canonical(nib.load(path))
    data = np.asarray(image.dataobj, dtype=np.float64)
    edge = np.linalg.norm(image.affine[:3, :3], axis=0)
    step = np.array(mm, float)
    size = np.ceil(np.array(data.shape) * edge / step).astype(int)
    rng = np.random.default_rng(seed)
    # An oblique grid around the image's centre, as scanners are set.
    tilt = rigid([.12, .05, -.04], np.zeros(3), np.zeros(3))[:3, :3]
    middle = image.affine @ np.append((np.array(data.shape) - 1) / 2, 1)
    affine = np.eye(4)
    affine[:3, :3] = tilt * step
    affine[:3, 3] = middle[:3] - affine[:3, :3] @ ((size - 1) / 2)
    # What a voxel sees: a Gaussian as wide as it.
    soft = ndimage.gaussian_filter(data, .42 * step / edge)
    coefficients = ndimage.spline_filter(soft, order=3)
    index = np.stack(np.meshgrid(*[np.arange(n) for n in size], indexing="ij")).reshape(3, -1)
    places = affine[:3, :3] @ index + affine[:3, 3:]
    truth = motion(frames, rng, middle[:3])
    out = np.zeros(tuple(size) + (frames,), np.float32)
    head = None
    for i, matrix in enumerate(truth):
        inverse = np.linalg.inv(matrix)
        at = inverse[:3, :3] @ places + inverse[:3, 3:]
        to_voxel = np.linalg.inv(image.affine)
        voxel = to_voxel[:3, :3] @ at + to_voxel[:3, 3:]
        values = ndimage.map_coordinates(coefficients, voxel, order=3, prefilter=False).reshape(size)
        if head is None:
            head = values > .25 * np.percentile(values, 99)
            level = values[head].mean()
        out[..., i] = values * (1 + .01 * i / frames) + rng.normal(0, noise * level, size)
    series = nib.Nifti1Image(out, affine)
    series.header.set_zooms(tuple(step) + (2.0,))
    series.header.set_xyzt_units("mm", "sec")
    series.set_sform(affine, 1)
    series.set_qform(affine, 1)
    return series, truth, places.reshape((3,) + tuple(size))[:, head]


def errors(found, truth, points, reference):
    """By frame, mm: rms over the points, both relative to the reference frame's."""
    out = []
    f0, t0 = np.linalg.inv(found[reference]), np.linalg.inv(truth[reference])
    for f, t in zip(found, truth):
        d = f @ f0 - t @ t0
        moved = d[:3, :3] @ points + d[:3, 3:]
        out.append(np.sqrt((moved ** 2).sum(axis=0).mean()))
    return np.delete(np.array(out), reference)


def read_transforms(path):
    """The matrices (RAS) of an ITK text file, one for each frame."""
    out, flip = [], np.diag([-1., -1, 1, 1])
    for line in open(path, encoding="ascii"):
        if line.startswith("Parameters:"):
            p = np.array(line.split()[1:], float)
            m = np.eye(4)
            m[:3, :3], m[:3, 3] = p[:9].reshape(3, 3), p[9:]
            out.append(flip @ m @ flip)
    return out


def cpu(who):
    use = resource.getrusage(who)
    return use.ru_utime + use.ru_stime


def clvox(series, reference, folder, args, *options):
    command = [args.clvox, "series", series, "-o", os.path.join(folder, "out"), "-q",
               "--reference", str(reference), *options, *" ".join(args.option).split()]
    before, start = cpu(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.time() - start
    return read_transforms(os.path.join(folder, "out_transforms.txt")), cpu(resource.RUSAGE_CHILDREN) - before, seconds


def ants(series, reference, folder, args, mean=False):
    import ants as a
    image = a.image_read(series)
    fixed = None if mean else a.slice_image(image, axis=3, idx=reference)
    before, start = cpu(resource.RUSAGE_SELF), time.time()
    done = a.motion_correction(image, fixed=fixed, type_of_transform="BOLDRigid",
                               outprefix=os.path.join(folder, "ants"))
    seconds, used = time.time() - start, cpu(resource.RUSAGE_SELF) - before
    found, flip = [], np.diag([-1., -1, 1, 1])
    for names in done["motion_parameters"]:
        m = np.eye(4)
        for name in [names] if isinstance(names, str) else names:
            if name == "NA":
                continue
            t = a.read_transform(name)
            p, c = np.array(t.parameters), np.array(t.fixed_parameters)
            one = np.eye(4)
            one[:3, :3] = p[:9].reshape(3, 3)
            one[:3, 3] = p[9:] + c - one[:3, :3] @ c
            m = one @ m
        found.append(flip @ m @ flip)
    return found, used, seconds


METHODS = {
    "clvox": lambda *a: clvox(*a),
    "clvox --to mean": lambda *a: clvox(*a, "--to", "mean"),
    "ants": lambda *a: ants(*a),
    "ants, to the mean": lambda *a: ants(*a, mean=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clvox", default="build/src/cli/clvox")
    parser.add_argument("--image", action="append", required=True, help="3-D images to make series from")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--option", action="append", default=[], help="further options of clvox")
    parser.add_argument("--mm", default="3x3x3.5")
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--noise", type=float, default=.02)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    args = parser.parse_args()
    rows = []
    for path in args.image:
        series, truth, points = make(path, [float(m) for m in args.mm.split("x")], args.frames, args.noise, args.seed)
        identity = [np.eye(4)] * args.frames
        reference = args.frames // 2
        still = errors(identity, truth, points, reference)
        rows.append({"image": os.path.basename(path), "method": "none", "mean": still.mean(), "max": still.max()})
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "series.nii.gz")
            nib.save(series, name)
            for method in args.method or METHODS:
                try:
                    found, used, seconds = METHODS[method](name, reference, folder, args)
                except ImportError:
                    continue
                e = errors(found, truth, points, reference)
                rows.append({"image": os.path.basename(path), "method": method, "mean": e.mean(), "max": e.max(),
                             "cpu": used, "seconds": seconds})
                print(json.dumps(rows[-1]), file=sys.stderr)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"date": str(datetime.date.today()), "size": series.shape, "rows": rows}, file, indent=1)
    lines = [f"Voxels of {args.mm} mm, {args.frames} frames, noise {args.noise}:", "",
             "| image | method | mean rms mm | largest rms mm | CPU s | s |", "|---|---|---|---|---|---|"]
    for r in rows:
        times = f"{r['cpu']:.1f} | {r['seconds']:.1f}" if "cpu" in r else " | "
        lines.append(f"| {r['image']} | {r['method']} | {r['mean']:.4f} | {r['max']:.4f} | {times} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.markdown:
        with open(args.markdown, "a", encoding="utf-8") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
