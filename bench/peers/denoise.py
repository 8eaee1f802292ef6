#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clvox filter nlm and tv beside ANTs, DIPY and scikit-image on a phantom of known truth.

denoise.py CLVOX LABELS.nii.gz [varying] [ours|theirs] [times|frames]: a Markdown table of PSNR, SSIM and user CPU seconds. LABELS is a
whole-head label map of FreeSurfer's numbers; varying: the noise is .18 to 1.65 times as strong from place to place, its mean
square the same; ours, theirs: the rows of clvox, or of the peers, alone; times: CPU seconds alone, on the
181x217x181 voxels around the head at SNR 20; frames: four echoes of the head, one by one and together, Gaussian noise. Each peer is told the true noise and shows the best
(by PSNR) of the parameters listed in peers(); what takes one number gets the root of the mean square. clvox runs with its
defaults, or --local-noise, and measures the noise itself. Wants antspyx (left out where it is missing), dipy, scikit-image, nibabel."""
import os
import resource
import subprocess
import sys
import tempfile

os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = "2"
try:
    import ants
except ImportError:
    ants = None
import nibabel as nib
import numpy as np
from dipy.denoise.adaptive_soft_matching import adaptive_soft_matching
from dipy.denoise.nlmeans import nlmeans
from scipy import ndimage
from skimage.metrics import structural_similarity
from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

CROP = (slice(80, 144), slice(70, 130), slice(100, 140))
RANGE = 255
WHITE = 230  # about the brightest tissue: SNR is this over the noise
MEANS = {2: 240, 41: 240, 3: 165, 42: 165, 4: 55, 43: 55, 5: 55, 44: 55, 7: 230, 46: 230, 8: 155, 47: 155, 10: 190,
         49: 190, 11: 175, 50: 175, 12: 180, 51: 180, 13: 205, 52: 205, 14: 55, 15: 55, 16: 215, 17: 168, 53: 168,
         18: 165, 54: 165, 24: 45, 26: 172, 58: 172, 28: 205, 60: 205}


def phantom(path, crop=CROP, echo=0):
    """Means of tissues, a texture of 2%, partial volume, and shading."""
    labels = np.asarray(nib.load(path).dataobj).astype(int)
    random = np.random.default_rng(2)
    table = np.zeros(labels.max() + 1)
    for label in np.unique(labels)[1:]:
        table[label] = MEANS.get(label, random.uniform(40, 250)) * np.exp(-echo * np.random.default_rng(label).uniform(.05, .5))
    texture = ndimage.gaussian_filter(random.standard_normal(labels.shape), 2)
    image = ndimage.gaussian_filter(table[labels] * (1 + 0.02 * texture / texture.std()), 0.5)
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, n) for n in labels.shape], indexing="ij", sparse=True)
    image *= 1 + 0.12 * np.sin(1.3 * x + 0.4) * np.cos(1.1 * y) + 0.06 * z
    return np.ascontiguousarray(image[crop], np.float32)


def add_noise(truth, sigma, rician):
    random = np.random.default_rng(3)
    real = truth + sigma * random.standard_normal(truth.shape)
    image = np.hypot(real, sigma * random.standard_normal(truth.shape)) if rician else real
    return image.astype(np.float32)


def pattern(shape):
    """How strong noise is from place to place."""
    x, z = np.linspace(-1, 1, shape[0])[:, None, None], np.linspace(-1, 1, shape[2])
    gain = 1 + .6 * x * np.ones(shape) + .25 * np.cos(2.5 * z)
    return gain / np.sqrt(np.mean(gain ** 2))


def peers(image, noise, rician, ants_sizes=((1, 1), (1, 2), (1, 3), (2, 2))):
    """Name, parameters, function."""
    wide, kind = image.astype(float), "Rician" if rician else "Gaussian"
    sigma = float(np.sqrt(np.mean(noise ** 2)))
    for p, r in ants_sizes if ants else ():
        yield "ANTs DenoiseImage", f"p {p} r {r}", lambda: ants.denoise_image(
            ants.from_numpy(image), p=p, r=r, noise_model=kind).numpy()

    def means(p, b, method):
        return nlmeans(wide, sigma=noise if method == "classic" else sigma, patch_radius=p, block_radius=b, rician=rician,
                       method=method)
    for method, p, b in (("blockwise", 1, 1), ("blockwise", 1, 3), ("classic", 1, 2), ("classic", 1, 3)):
        yield "DIPY nlmeans", f"{method} {p} {b}", lambda: means(p, b, method)
    for b in (1, 3):
        yield "DIPY adaptive soft matching", f"block {b}", lambda: adaptive_soft_matching(
            wide, means(1, b, "blockwise"), means(2, b, "blockwise"), sigma)
    for w in (0.2, 0.3, 0.45, 0.6, 0.8):
        yield "scikit-image TV", f"weight {w} sigma", lambda: denoise_tv_chambolle(
            image, weight=w * sigma, eps=1e-5, max_num_iter=500)
    for h in (0.1, 0.2, 0.3, 0.4, 0.6):
        yield "scikit-image NLM", f"h {h} sigma", lambda: denoise_nl_means(
            image / RANGE, patch_size=3, patch_distance=3, h=h * sigma / RANGE, sigma=sigma / RANGE) * RANGE


def user(who):
    return resource.getrusage(who).ru_utime


# Name in the table, and words of the command.
OURS = (("clvox filter nlm", "defaults", ("nlm",)), ("clvox filter nlm", "--search 5", ("nlm", "--search", "5")),
        ("clvox filter tv", "defaults", ("tv",)))
LESS = tuple(("clvox filter nlm", f"--search {n}", ("nlm", "--search", str(n))) for n in (1, 2))


def ours(clvox, image, rician, words):
    with tempfile.TemporaryDirectory() as folder:
        nib.save(nib.Nifti1Image(image, np.eye(4)), folder + "/in.nii")
        subprocess.run([clvox, "filter", words[0], folder + "/in.nii", "-o", folder + "/out.nii", "-q", "--noise-kind",
                        "rician" if rician else "gaussian", *words[1:]], check=True, stdout=subprocess.DEVNULL)
        return nib.load(folder + "/out.nii").get_fdata()


def score(truth, image):
    psnr = 10 * np.log10(RANGE ** 2 / np.mean((image - truth.astype(float)) ** 2))
    ssim = structural_similarity(truth, image.astype(np.float32), data_range=RANGE, gaussian_weights=True, sigma=1.5)
    return psnr, ssim


def measure(truth, make, who):
    before = user(who)
    image = make()
    seconds = user(who) - before
    return (*score(truth, image), seconds)


def times(clvox, labels):
    truth = phantom(labels, (slice(37, 218), slice(20, 237), slice(37, 218)))
    image, sigma = add_noise(truth, WHITE / 20, False), WHITE / 20
    print("| method | parameters | PSNR, dB | CPU s |\n|---|---|---|---|")
    for name, parameters, words in LESS + OURS:
        psnr, _, seconds = measure(truth, lambda: ours(clvox, image, False, words), resource.RUSAGE_CHILDREN)
        print(f"| {name} | {parameters} | {psnr:.2f} | {seconds:.2f} |", flush=True)
    wanted = ("p 1 r 1", "blockwise 1 1", "blockwise 1 3", "classic 1 3", "weight 0.6 sigma", "h 0.4 sigma")
    for name, parameters, make in peers(image, np.full(truth.shape, sigma), False):
        if parameters in wanted:
            psnr, _, seconds = measure(truth, make, resource.RUSAGE_SELF)
            print(f"| {name} | {parameters} | {psnr:.2f} | {seconds:.2f} |", flush=True)


def frames(clvox, labels):
    truth = np.stack([phantom(labels, CROP, echo) for echo in range(4)], -1)
    print("| SNR | method | parameters | PSNR, dB | CPU s |\n|---|---|---|---|---|")
    for snr in (5, 10, 20, 30):
        sigma = WHITE / snr
        image = add_noise(truth, sigma, False)
        rows = {}

        def note(name, parameters, make, who):
            before = user(who)
            out = make()
            seconds = user(who) - before
            psnr = 10 * np.log10(RANGE ** 2 / np.mean((out - truth.astype(float)) ** 2))
            if name not in rows or psnr > rows[name][1]:
                rows[name] = parameters, psnr, seconds
        for words in (("nlm",), ("nlm", "--joint"), ("tv",), ("tv", "--joint")):
            note(" ".join(("clvox filter", *words)), "defaults", lambda: ours(clvox, image, False, words),
                 resource.RUSAGE_CHILDREN)
        for method, p, b in (("blockwise", 1, 3), ("classic", 1, 3)):
            note("DIPY nlmeans, each frame", f"{method} {p} {b}", lambda: np.stack([nlmeans(
                image[..., k].astype(float), sigma=sigma, patch_radius=p, block_radius=b, rician=False, method=method)
                for k in range(4)], -1), resource.RUSAGE_SELF)
        for w in (0.6, 0.8, 1.0, 1.2):
            note("scikit-image TV, vectors", f"weight {w} sigma", lambda: denoise_tv_chambolle(
                image, weight=w * sigma, eps=1e-5, max_num_iter=500, channel_axis=-1), resource.RUSAGE_SELF)
        for h in (0.2, 0.3, 0.4, 0.6):
            note("scikit-image NLM, vectors", f"h {h} sigma", lambda: denoise_nl_means(
                image / RANGE, patch_size=3, patch_distance=3, h=h * sigma / RANGE, sigma=sigma / RANGE,
                channel_axis=-1) * RANGE, resource.RUSAGE_SELF)
        for name, (parameters, psnr, seconds) in rows.items():
            print(f"| {snr} | {name} | {parameters} | {psnr:.2f} | {seconds:.2f} |", flush=True)


def main(clvox, labels, *words):
    if "frames" in words:
        return frames(clvox, labels)
    if "times" in words:
        return times(clvox, labels)
    varying, whose = "varying" in words, [w for w in words if w != "varying"]
    truth = phantom(labels)
    own = OURS + ((("clvox filter nlm", "--local-noise", ("nlm", "--local-noise")),) if varying else ())
    for _, _, words in own:
        ours(clvox, add_noise(truth, 10, True), True, words)  # builds the kernels
    print("| noise | SNR | method | parameters | PSNR, dB | SSIM | CPU s |\n|---|---|---|---|---|---|---|")
    for rician in (False, True):
        for snr in (5, 10, 20, 30):
            sigma = WHITE / snr * (pattern(truth.shape) if varying else 1)
            image = add_noise(truth, sigma, rician)
            best = {}
            for name, parameters, words in own if whose != ["theirs"] else ():
                best[name, parameters] = (name, parameters, *measure(
                    truth, lambda: ours(clvox, image, rician, words), resource.RUSAGE_CHILDREN))
            for name, parameters, make in peers(image, sigma, rician) if whose != ["ours"] else ():
                found = (name, parameters, *measure(truth, make, resource.RUSAGE_SELF))
                if name not in best or found[2] > best[name][2]:
                    best[name] = found
            for name, parameters, psnr, ssim, seconds in best.values():
                print(f"| {'Rician' if rician else 'Gaussian'} | {snr} | {name} | {parameters} | {psnr:.2f} | {ssim:.4f} "
                      f"| {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
