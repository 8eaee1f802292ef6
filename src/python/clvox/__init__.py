# SPDX-License-Identifier: Apache-2.0
"""clvox: registration, surfaces, diffusion tensors and filters of 3-D brain images on OpenCL devices.

    import clvox
    result = clvox.register("subject.nii.gz", "atlas.nii.gz")
    result.warped.write("warped.nii.gz")

Functions take Volumes, file names, nibabel images or pairs (array, affine), and return Volumes (data, affine). Lengths are
millimetres, coordinates RAS. Options are those of the command `clvox`, with _ for -: help(clvox.register) lists them. What
goes wrong is a clvox.Error with the library's sentence. clvox.ants has the names of ANTsPy."""
from . import filter, phantom, surface, tensor  # pylint: disable=redefined-builtin
from ._abi import VERSION as __version__
from ._library import Context, Contexts, Error, Step, devices, options, use
from .batch import Applied, Labelled, Pair, Plan, apply_list, atlas_plan, register_list, segment_list
from .benchmark import bench
from .boundary import Boundary, fit_boundary
from .epi import correct_distortion
from .registration import Registration, register
from .report import Report
from .segmentation import segment
from .series import register_series
from .shape import Cloud, Curves, compare_shapes, read_curves
from .statistics import compare, compare_labels, entropy, stats
from .surface import Surface
from .template import Atlas, Subjects, atlas, atlas_regression, subjects
from .transform import apply, apply_points, compose, inverse, jacobian, read_affine, write_affine
from .volume import Volume, read

__all__ = ["Applied", "Atlas", "Boundary", "Cloud", "Context", "Contexts", "Curves", "Error", "Labelled", "Pair", "Plan", "Registration",
           "Report", "Step", "Subjects", "Surface", "Volume", "apply", "apply_list", "apply_points", "atlas", "atlas_plan",
           "atlas_regression", "bench", "compare", "compare_labels", "compare_shapes", "compose", "correct_distortion", "devices",
           "entropy", "filter", "fit_boundary", "inverse", "jacobian", "options", "phantom", "read", "read_affine", "read_curves",
           "register", "register_list", "register_series", "segment", "segment_list", "stats", "subjects", "surface", "tensor", "use",
           "write_affine"]
