# SPDX-License-Identifier: Apache-2.0
"""clvox: registration, surfaces, diffusion tensors and filters of 3-D brain images on OpenCL devices.

    import clvox
    result = clvox.register("subject.nii.gz", "atlas.nii.gz")
    result.warped.write("warped.nii.gz")

Functions take Volumes, file names, nibabel images or pairs (array, affine), and return Volumes (data, affine). Lengths are
millimetres, coordinates RAS. Options are those of the command `clvox`, with _ for -: help(clvox.register) lists them. What
goes wrong is a clvox.Error with the library's sentence."""
from . import filter, surface, tensor  # pylint: disable=redefined-builtin
from ._abi import VERSION as __version__
from ._library import Context, Error, devices, options, use
from .registration import Registration, register
from .report import Report
from .series import register_series
from .shape import Cloud, Curves, read_curves
from .statistics import compare, compare_labels, entropy, stats
from .surface import Surface
from .template import Atlas, atlas
from .transform import apply, apply_points, compose, inverse, invert, jacobian, read_affine, write_affine
from .volume import Volume, read

__all__ = ["Atlas", "Cloud", "Context", "Curves", "Error", "Registration", "Report", "Surface", "Volume", "apply", "apply_points", "atlas", "compare",
           "compare_labels", "compose", "devices", "entropy", "filter",
           "inverse", "invert", "jacobian", "options", "read", "read_affine", "read_curves", "register", "register_series", "stats", "surface", "tensor", "use",
           "write_affine"]
