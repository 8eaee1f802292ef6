#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the weighted tensor fit of a real scan by clvox's command and by DIPY in turn, on the same cores.

    build/peers-env/bin/python bench/peers/scan.py --clvox build/src/cli/clvox --json bench/results/scan.json \\
        dwi.nii.gz bvals bvecs mask.nii.gz

clvox: the stage "fit" of the command, with its kernels loaded, buffers made and results fetched; DIPY: the call of
fit() and the tensors of it. Neither counts reading and writing. The first round warms up and does not count. Before
any time, mean diffusivities are compared: the median and 99th percentile of the difference, over the median itself.
Needs numpy, nibabel and dipy."""
import argparse
import os
import statistics
import sys
import tempfile
import time

try:
    import dipy
    import nibabel
    import numpy as np
    from dipy.core.gradients import gradient_table
    from dipy.reconst.dti import TensorModel
except ImportError as error:  # --help, too, needs no package
    raise SystemExit(f"{__doc__}\n\nNot here: {error.name}.") from None

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from records import begun, called, keep, markdown, named  # noqa: E402

LARGEST = 1e-3  # of a median difference that rounding explains


class Clvox:
    def __init__(self, options, folder):
        self.prefix, self.folder, self.program = os.path.join(folder, "fit"), folder, options.clvox
        self.words = ["tensor", "fit", options.dwi, "--bval", options.bval, "--bvec", options.bvec, "--mask",
                      options.mask, "--method", "wls", "--order", "nifti", "-o", self.prefix]

    def fit(self):
        self.log, self.whole = called(self.program, self.words, self.folder)
        return self.log["seconds_by_stage"]["fit"]

    def diffusivity(self):
        tensor = nibabel.load(self.prefix + "_tensor.nii.gz").get_fdata().squeeze()
        return (tensor[..., 0] + tensor[..., 2] + tensor[..., 5]) / 3


class Dipy:
    def __init__(self, options):
        self.mask = nibabel.load(options.mask).get_fdata() > 0
        self.scan = nibabel.load(options.dwi).get_fdata(dtype=np.float32)
        directions = np.loadtxt(options.bvec)
        table = gradient_table(np.loadtxt(options.bval), bvecs=directions.T if directions.shape[0] == 3 else directions)
        self.model = TensorModel(table, fit_method="WLS")

    def fit(self):
        start = time.perf_counter()
        self.found = self.model.fit(self.scan, mask=self.mask)
        self.tensors = self.found.quadratic_form
        return time.perf_counter() - start

    def diffusivity(self):
        return np.trace(self.tensors, axis1=-2, axis2=-1) / 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("dwi", "bval", "bvec", "mask"):
        parser.add_argument(name)
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Clvox(options, folder), Dipy(options)
        ours.fit(), theirs.fit()
        found, wanted = (side.diffusivity()[theirs.mask] for side in (ours, theirs))
        middle = statistics.median(wanted)
        off = np.percentile(np.abs(found - wanted), (50, 99)) / middle
        if not off[0] < LARGEST:
            raise SystemExit(f"scan.py: mean diffusivities differ by {off[0]:.2g} of their median: other results")
        rounds = [(ours.fit(), ours.whole, theirs.fit()) for _ in range(options.rounds)]
    fit, whole, dipy_fit = ([float(row[i]) for row in rounds] for i in range(3))
    record = {**begun(ours.log), "device": ours.log["device"], "dipy": dipy.__version__, "inputs": ours.log["inputs"],
              "size": list(theirs.scan.shape), "voxels": int(theirs.mask.sum()), "difference": list(map(float, off)),
              "clvox_fit_seconds": fit, "clvox_command_seconds": whole, "dipy_fit_seconds": dipy_fit}
    keep(options.json, record)
    ratios = [b / a for a, b in zip(fit, dipy_fit)]
    print(f"{named(record['device'])}; clvox {record['version']}, DIPY {record['dipy']}, {record['date'][:10]}; "
          f"{'x'.join(map(str, record['size']))}, {record['voxels']} voxels; medians of {len(fit)}:\n")
    print(markdown(["weighted fit", "clvox, s", "whole command, s", "DIPY, s", "ratio, least to largest"],
                   [["", f"{statistics.median(fit):.3f}", f"{statistics.median(whole):.2f}",
                     f"{statistics.median(dipy_fit):.2f}",
                     f"{statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f})"]]), end="")


if __name__ == "__main__":
    main()
