#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far off a linear registration may start: perturbs the moving image's header by seeded random turns,
shifts and sizes, runs `clvox register --deform none` and counts the runs that end within a voxel of what the
same program gives from the unperturbed start. Needs numpy and nibabel.

  bench/capture.py --clvox build/src/cli/clvox -n 40 -f fixed.nii.gz -m moving.nii.gz [-- --linear rigid]"""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import nibabel
    import numpy
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None


def perturbation(random, center, degrees, shift, scale):
    axis = random.standard_normal(3)
    axis /= numpy.linalg.norm(axis)
    angle = numpy.radians(random.uniform(0, degrees))
    cross = numpy.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = numpy.eye(3) + numpy.sin(angle) * cross + (1 - numpy.cos(angle)) * cross @ cross
    size = numpy.exp(random.uniform(numpy.log(1 / scale), numpy.log(scale)))
    way = random.standard_normal(3)
    way *= random.uniform(0, shift) / numpy.linalg.norm(way)
    matrix = numpy.eye(4)
    matrix[:3, :3] = size * turn
    matrix[:3, 3] = center + way - matrix[:3, :3] @ center
    return matrix, numpy.degrees(angle), numpy.linalg.norm(way), size


def register(program, fixed, moving, folder, more):
    """The map fixed -> moving in RAS mm, from the ITK file."""
    prefix = os.path.join(folder, "out")
    subprocess.run([program, "register", "-q", "-f", fixed, "-m", moving, "-o", prefix, "--deform", "none",
                    "--no-picture", *more], check=True, stdout=subprocess.DEVNULL)
    numbers = {}
    for line in open(prefix + "_affine.txt", encoding="ascii"):
        if ":" in line:
            name, rest = line.split(":", 1)
            numbers[name] = rest.split()
    p = numpy.array(numbers["Parameters"], float)
    center = numpy.array(numbers["FixedParameters"], float)
    matrix = numpy.eye(4)
    matrix[:3, :3] = p[:9].reshape(3, 3)
    matrix[:3, 3] = p[9:] + center - matrix[:3, :3] @ center
    flip = numpy.diag([-1, -1, 1, 1])
    return flip @ matrix @ flip


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--clvox", default="clvox")
    parser.add_argument("-f", "--fixed", required=True)
    parser.add_argument("-m", "--moving", required=True)
    parser.add_argument("-n", "--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--degrees", type=float, default=60)
    parser.add_argument("--shift", type=float, default=60)
    parser.add_argument("--scale", type=float, default=1.25)
    parser.add_argument("more", nargs="*", help="options for clvox register, after --")
    args = parser.parse_args()
    fixed, moving = nibabel.load(args.fixed), nibabel.load(args.moving)
    values = numpy.squeeze(fixed.get_fdata(dtype=numpy.float32))
    inside = numpy.argwhere(values > values.mean())[::17]
    points = numpy.c_[inside, numpy.ones(len(inside))] @ fixed.affine.T
    voxel = abs(numpy.linalg.det(fixed.affine[:3, :3])) ** (1 / 3)
    center = (moving.affine @ numpy.r_[(numpy.array(moving.shape[:3]) - 1) / 2, 1])[:3]
    random = numpy.random.default_rng(args.seed)
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        reference = register(args.clvox, args.fixed, args.moving, folder, args.more)
        path = os.path.join(folder, "moving.nii")
        for trial in range(args.trials):
            matrix, angle, shift, size = perturbation(random, center, args.degrees, args.shift, args.scale)
            image = nibabel.Nifti1Image(numpy.asanyarray(moving.dataobj), matrix @ moving.affine)
            nibabel.save(image, path)
            found = numpy.linalg.inv(matrix) @ register(args.clvox, args.fixed, path, folder, args.more)
            error = numpy.linalg.norm((points @ (found - reference).T)[:, :3], axis=1).mean() / voxel
            good += error < 1
            start = f"{angle:.0f} degrees, {shift:.0f} mm, size {size:.2f}"
            print(f"trial {trial}: {start}: {error:.3f} voxels off", flush=True)
    print(f"{good} of {args.trials} within a voxel ({100 * good / max(args.trials, 1):.1f}%)")
    return 0 if good == args.trials else 1


if __name__ == "__main__":
    sys.exit(main())
