# SPDX-License-Identifier: Apache-2.0
"""What people do to diffusion-weighted scans before the fit, in DIPY."""
import numpy as np
from scipy.ndimage import gaussian_filter

# Standard deviations in voxels; every width is measured and the best is reported.
WIDTHS = (0.5, 0.65, 0.8, 1.0)


def wls(scan, dwi):
    """DIPY's weighted fit with the directions in RAS: tensors in RAS, mm^2/s."""
    from dipy.core.gradients import gradient_table
    from dipy.reconst.dti import TensorModel
    table = gradient_table(scan.b, bvecs=scan.directions, b0_threshold=50)
    model = TensorModel(table, fit_method="WLS", min_signal=1e-4 * float(np.median(dwi[..., 0][scan.mask])))
    return np.nan_to_num(model.fit(dwi, mask=scan.mask).quadratic_form)


def mppca(scan):
    from dipy.denoise.localpca import mppca as denoise
    return denoise(scan.dwi, mask=scan.mask, patch_radius=2, suppress_warning=True)


def nlm(scan, sigma):
    """Volume by volume, told the true noise (real scans: as estimated)."""
    from dipy.denoise.nlmeans import nlmeans
    return nlmeans(scan.dwi, sigma, mask=scan.mask, patch_radius=1, block_radius=2, rician=True, num_threads=1)


def gauss(scan, width):
    return gaussian_filter(scan.dwi, (width, width, width, 0))


def run(scan, method, sigma):
    """(parameter, tensor) of a method, one or more."""
    if method == "wls-dipy":
        yield "", wls(scan, scan.dwi)
    elif method == "mppca-dipy":
        yield "", wls(scan, mppca(scan))
    elif method == "nlm":
        yield "", wls(scan, nlm(scan, sigma))
    elif method == "gauss":
        for width in WIDTHS:
            yield str(width), wls(scan, gauss(scan, width))


PEERS = ("wls-dipy", "gauss", "nlm", "mppca-dipy")
