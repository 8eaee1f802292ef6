# SPDX-License-Identifier: Apache-2.0
"""What is timed, by whom, and how far apart the results may lie. Every task holds the same input for all;
its first entry, clvox, is what the others are compared with. An entry is a function without arguments whose
result `fetch` turns into an array; what it allocates for its result counts, turning it into an array does not."""
import os
import subprocess

import nibabel
import numpy as np


class Task:
    def __init__(self, name, margin, note=""):
        self.name, self.margin, self.note, self.entries = name, margin, note, []

    def add(self, who, call, fetch, tolerance, release=None, fitted=False, remark=""):
        self.entries.append({"who": who, "call": call, "fetch": fetch, "tolerance": tolerance,
                             "release": release, "fitted": fitted, "scale": 1.0, "remark": remark})


def image(size):
    """A smooth image with fine texture, z y x, in about [0, 1]."""
    z, y, x = np.meshgrid(*[np.arange(n, dtype=np.float32) for n in size[::-1]], indexing="ij")
    waves = .5 + .2 * np.sin(.11 * x) + .2 * np.sin(.13 * y + 1) + .1 * np.sin(.07 * z + 2)
    noise = np.random.default_rng(1).standard_normal(waves.shape, dtype=np.float32)
    return np.ascontiguousarray(waves + .05 * noise, dtype=np.float32)


def field(size, most=3.0):
    """Displacements in voxels along x, y, z, 0 at the border: frame z y x."""
    axes = [np.arange(n, dtype=np.float32) / max(n - 1, 1) for n in size[::-1]]
    z, y, x = np.meshgrid(*axes, indexing="ij")
    window = np.sin(np.pi * x) * np.sin(np.pi * y) * np.sin(np.pi * z)
    waves = [np.sin(9 * y + 7 * z + 1), np.sin(8 * x + 6 * z + 2), np.sin(7 * x + 9 * y + 3)]
    return np.ascontiguousarray([most * window * w for w in waves], dtype=np.float32)


def gaussians(ours, a, sigma):
    import pyclesperanto
    import SimpleITK
    import skimage.filters
    from scipy import ndimage
    task = Task(f"Gaussian {sigma:g}", int(4 * sigma) + 1, "SimpleITK's discrete kernel is Bessel's; recursions "
                "and kernels cut elsewhere differ by what the column says")
    radius = int(np.ceil(3 * sigma))
    volume, itk = ours.volume(a), SimpleITK.GetImageFromArray(a)
    task.add("clvox", lambda: ours.gaussian(volume, sigma), ours.take, 0, ours.release)
    task.add("SimpleITK, recursive", lambda: SimpleITK.SmoothingRecursiveGaussian(itk, sigma),
             SimpleITK.GetArrayFromImage, .02)
    task.add("SimpleITK, discrete",
             lambda: SimpleITK.DiscreteGaussian(itk, sigma ** 2, 2 * radius + 1, .001, False),
             SimpleITK.GetArrayFromImage, .02)
    task.add("SciPy", lambda: ndimage.gaussian_filter(a, sigma, mode="nearest", radius=radius), np.asarray, 1e-5,
             remark="one thread")
    task.add("scikit-image", lambda: skimage.filters.gaussian(a, sigma, mode="nearest", truncate=radius / sigma,
                                                              preserve_range=True), np.asarray, 1e-5,
             remark="one thread")
    task.add("pyclesperanto", lambda: pyclesperanto.pull(pyclesperanto.gaussian_blur(
        pyclesperanto.push(a), sigma_x=sigma, sigma_y=sigma, sigma_z=sigma)), np.asarray, .02, remark="OpenCL, PoCL")
    return task


def edges(ours, a):
    import pyclesperanto
    import SimpleITK
    import skimage.filters
    task = Task("gradient, Sobel", 2, "scikit-image divides by the root of three; what is scaled is so by the factor that "
                "fits best")
    volume, itk = ours.volume(a), SimpleITK.GetImageFromArray(a)
    task.add("clvox", lambda: ours.sobel(volume), ours.take, 0, ours.release)
    task.add("SimpleITK", lambda: SimpleITK.SobelEdgeDetection(itk), SimpleITK.GetArrayFromImage, .1,
             fitted=True, remark="other weights: 1 3 1, 3 6 3, 1 3 1; scaled")
    task.add("scikit-image", lambda: skimage.filters.sobel(a), np.asarray, 1e-5, fitted=True,
             remark="one thread; scaled")
    task.add("pyclesperanto", lambda: pyclesperanto.pull(pyclesperanto.sobel(pyclesperanto.push(a))), np.asarray, 1e-5,
             fitted=True, remark="OpenCL, PoCL; scaled")
    return task


def resampling(ours, a, u):
    import SimpleITK
    from scipy import ndimage
    task = Task("linear, through a field", 1)
    volume, warp = ours.volume(a), ours.volume(u, kind=2)
    itk = SimpleITK.GetImageFromArray(a)
    vectors = np.ascontiguousarray(np.moveaxis(u, 0, -1), dtype=np.float64)
    transform = SimpleITK.DisplacementFieldTransform(SimpleITK.GetImageFromArray(vectors, isVector=True))
    base = np.indices(a.shape, dtype=np.float32)
    task.add("clvox", lambda: ours.warp(volume, warp), ours.take, 0, ours.release)
    task.add("SimpleITK", lambda: SimpleITK.Resample(itk, itk, transform, SimpleITK.sitkLinear, 0.0),
             SimpleITK.GetArrayFromImage, 1e-4)
    task.add("SciPy", lambda: ndimage.map_coordinates(a, base + u[::-1], order=1, mode="nearest"), np.asarray, 1e-4,
             remark="one thread; indices made before")
    return task


def determinant(ours, u):
    import SimpleITK
    task = Task("Jacobian determinant", 1)
    warp = ours.volume(u, kind=2)
    itk = SimpleITK.GetImageFromArray(np.ascontiguousarray(np.moveaxis(u, 0, -1)), isVector=True)
    task.add("clvox", lambda: ours.jacobian(warp), ours.take, 0, ours.release, remark="with the summary")
    task.add("SimpleITK", lambda: SimpleITK.DisplacementFieldJacobianDeterminant(itk), SimpleITK.GetArrayFromImage,
             1e-4)
    return task


def fitting(ours, program, folder, size):
    from dipy.core.gradients import gradient_table
    from dipy.reconst.dti import TensorModel
    prefix = os.path.join(folder, "scan")
    subprocess.run([program, "phantom", "tensor:helix", "-o", prefix, "--size", "x".join(map(str, size)), "-q"],
                   check=True)
    loaded = nibabel.load(prefix + "_dwi.nii.gz")
    dwi, mask = loaded.get_fdata(dtype=np.float32), nibabel.load(prefix + "_mask.nii.gz").get_fdata() > 0
    table = gradient_table(np.loadtxt(prefix + ".bval"), bvecs=np.loadtxt(prefix + ".bvec").T)
    planar = np.ascontiguousarray(np.transpose(dwi, (3, 2, 1, 0)))
    inside = np.ascontiguousarray(mask.T, dtype=np.float32)
    volume, where = ours.volume(planar, to_ras=loaded.affine), ours.volume(inside, to_ras=loaded.affine)
    gradients = ours.gradients(prefix + ".bval", prefix + ".bvec", volume.grid, planar.shape[0])
    task = Task("tensor fit, WLS", 0, "mean diffusivity is compared")
    task.add("clvox", lambda: ours.fit(volume, gradients, where),
             lambda t: (lambda d: (d[0] + d[3] + d[5]) / 3)(ours.take(t)), 0, ours.release)
    model = TensorModel(table, fit_method="WLS")
    task.add("DIPY", lambda: model.fit(dwi, mask=mask), lambda fit: np.nan_to_num(fit.md * mask).T, 1e-3,
             remark="one thread")
    return task


def variation_energy(u, f, weight):
    """weight sum |grad u| + 1/2 sum (u - f)^2 with forward differences, 0 across the border."""
    square = np.zeros(u.shape)
    for axis in range(u.ndim):
        ends = [(0, int(a == axis)) for a in range(u.ndim)]
        square += np.pad(np.diff(u, axis=axis), ends) ** 2
    return weight * np.sqrt(square).sum() + .5 * ((u - f) ** 2).sum()


def variation(ours, a, weight=.1):
    """For D = d I, |grad D|_F = sqrt(3) |grad d| and |D - F|_F^2 = 3 (d - f)^2, so that sum |grad D|_F +
    lambda/2 sum |D - F|_F^2 is scikit-image's weight sum |grad d| + 1/2 sum (d - f)^2 times 3 lambda, with weight =
    1 / (sqrt(3) lambda). scikit-image takes as many iterations as it needs to come to the energy that clvox ends at."""
    from skimage.restoration import denoise_tv_chambolle
    lam = 1 / (3 ** .5 * weight)

    def tensor_of(f):
        field = np.zeros((6,) + f.shape, dtype=np.float32)
        field[[0, 3, 5]] = 1e-3 * f
        return ours.volume(field, kind=4)

    def image_of(pointer):
        return ours.take(pointer)[0] * 1e3

    def iterations(f, count):
        wanted = variation_energy(image_of(ours.variation(tensor_of(f), lam)).astype(np.float64), f, weight)
        while variation_energy(denoise_tv_chambolle(f, weight, eps=0, max_num_iter=count).astype(np.float64), f,
                               weight) > wanted:
            count = max(count + 1, count * 9 // 8)
            if count > 5000:
                raise SystemExit("tasks.py: scikit-image's total variation does not come to clvox's energy")
        return count

    f = np.ascontiguousarray(1 + a)
    tensor = tensor_of(f)
    count = iterations(f, iterations(np.ascontiguousarray(f[:40, :40, :40]), 4) * 3 // 4)  # a corner says about how many
    task = Task("total variation", 0, "tensors d I, whose energy is that of d; energies at the end are alike")
    task.add("clvox, tensors", lambda: ours.variation(tensor, lam), image_of, 0, ours.release,
             remark="six components")
    task.add("scikit-image, Chambolle", lambda: denoise_tv_chambolle(f, weight, eps=0, max_num_iter=count),
             np.asarray, .03, remark=f"one thread; the image alone, {count} iterations to the same energy")
    return task


# ---- commands, from file to file ----

def command(words):
    return lambda: subprocess.run(list(map(str, words)), check=True, capture_output=True)


def from_file(path, turn=lambda values: values):
    return lambda done: turn(nibabel.load(path).get_fdata(dtype=np.float32)).T


def smoothing(program, folder, a, sigma, threads):
    source, ours, theirs = (os.path.join(folder, name) for name in ("in.nii", "ours.nii", "theirs.nii"))
    nibabel.save(nibabel.Nifti1Image(a.T, np.eye(4)), source)
    task = Task(f"command: Gaussian {sigma:g}", int(4 * sigma) + 1)
    task.add("clvox filter", command([program, "filter", "gaussian", source, "-o", ours, "--sigma", f"{sigma}vox", "-q",
                                      "--device", "cpu"]), from_file(ours), 0)
    task.add("MRtrix mrfilter", command(["mrfilter", source, "smooth", "-stdev", sigma, theirs, "-force", "-quiet",
                                         "-nthreads", threads]), from_file(theirs), .02)
    return task


def fit_commands(program, folder, threads):
    prefix = os.path.join(folder, "scan")
    out, theirs = os.path.join(folder, "fit"), os.path.join(folder, "fit-mrtrix.nii")
    task = Task("command: tensor fit, WLS", 0, "mean diffusivity is compared; MRtrix weights by the measured signal")
    mask = nibabel.load(prefix + "_mask.nii.gz").get_fdata() > 0
    task.add("clvox tensor fit",
             command([program, "tensor", "fit", prefix + "_dwi.nii.gz", "--grad", prefix + ".b", "--mask",
                      prefix + "_mask.nii.gz", "-o", out, "--order", "mrtrix", "-q", "--device", "cpu"]),
             from_file(out + "_tensor.nii.gz", lambda d: mask * d[..., :3].mean(-1)), 0)
    task.add("MRtrix dwi2tensor",
             command(["dwi2tensor", prefix + "_dwi.nii.gz", theirs, "-grad", prefix + ".b", "-mask",
                      prefix + "_mask.nii.gz", "-iter", 0, "-force", "-quiet", "-nthreads", threads]),
             from_file(theirs, lambda d: mask * d[..., :3].mean(-1)), .1, remark="-iter 0")
    return task
