# SPDX-License-Identifier: Apache-2.0
"""Real tensors: one half of a scan, denoised, against the plain fit of the other; and MVIRT's slice."""
import os
import struct
import subprocess
import zlib

import nibabel as nib
import numpy as np

from quality import tensor_peers
from quality.tensor_scan import Scan, fa_and_v1


def half(scan, folder, which):
    """The volumes without weighting and every second of the others, in files of their own."""
    weighted = np.flatnonzero(scan.b > 50)
    keep = np.sort(np.concatenate([np.flatnonzero(scan.b <= 50), weighted[which::2]]))
    path = os.path.join(folder, f"half{which}")
    nib.save(nib.Nifti1Image(scan.dwi[..., keep], scan.affine), path + "_dwi.nii.gz")
    np.savetxt(path + ".bval", scan.b[None, keep], fmt="%g")
    voxel = np.loadtxt(scan.bvec)
    voxel = voxel if voxel.shape[0] == 3 else voxel.T
    np.savetxt(path + ".bvec", voxel[:, keep], fmt="%.8f")
    return Scan(dwi=path + "_dwi.nii.gz", mask=scan.mask_path, bval=path + ".bval", bvec=path + ".bvec")


def angle(a, b, where):
    return float(np.degrees(np.arccos(np.clip(np.abs((a * b).sum(-1)), 0, 1)))[where].mean())


def halves(o, methods, ours):
    """Rows of the real scan; ours(scan, method, out) gives tensors of clvox."""
    folder = os.path.join(o.data, "dti_dsistudio")
    scan = Scan(dwi=os.path.join(folder, "dwi.nii.gz"), mask=os.path.join(folder, "mask.nii.gz"),
                bval=os.path.join(folder, "bvals"), bvec=os.path.join(folder, "bvecs"))
    def tensor(s, method, out):
        if method not in tensor_peers.PEERS:
            return next(iter(ours(s, method, os.path.join(o.out, out))))[1]
        sigma = float(np.median(nib.load(os.path.join(o.out, "whole_noise.nii.gz")).get_fdata()[scan.mask]))
        made = dict(tensor_peers.run(s, method, sigma))
        return made["0.65"] if method == "gauss" else made[""]
    fa = fa_and_v1(tensor(scan, "wls", "whole"))[0]
    white = scan.mask & (fa > 0.3) & (fa < 1)
    parts = [half(scan, o.out, k) for k in (0, 1)]
    plain = [fa_and_v1(tensor(s, "wls", f"half{k}_wls")) for k, s in enumerate(parts)]
    rows = []
    for method in methods:
        try:
            made = [fa_and_v1(tensor(s, method, f"half{k}_{method}")) for k, s in enumerate(parts)]
        except RuntimeError as failure:
            rows.append({"case": "halves", "method": method, "note": str(failure)})
            continue
        rows.append({
            "case": "halves", "method": method,
            "v1": np.mean([angle(made[k][1], plain[1 - k][1], white) for k in (0, 1)]),
            "v1_plain": angle(plain[0][1], plain[1][1], white),
            "fa_white": np.mean([made[k][0][white].mean() for k in (0, 1)]),
            "fa_plain": np.mean([plain[k][0][white].mean() for k in (0, 1)]),
            "fa_whole": fa[white].mean(),
            "fa_rms": np.sqrt(np.mean([((made[k][0] - plain[1 - k][0])[white]**2).mean() for k in (0, 1)]))})
    return [{k: float(v) if isinstance(v, np.floating) else v for k, v in r.items()} for r in rows]


# ---- MVIRT ------------------------------------------------------------------

def mvirt(o):
    """TV in the affine-invariant metric (MVIRT's own result) and ours, as far from the data as that. Camino's
    file is in m^2/s."""
    folder = os.path.join(o.data, "dti_mvirt_camino")
    image = nib.load(os.path.join(folder, "caminoslice28_noisy.nii.gz"))
    noisy = np.asarray(image.dataobj, float)
    theirs = np.asarray(nib.load(os.path.join(folder, "caminoslice28_mvirt_tv1tv2.nii.gz")).dataobj, float)
    inside = (noisy != 0).any(-1)
    path = os.path.join(o.out, "mvirt_noisy.nii.gz")
    out = os.path.join(o.out, "mvirt_ours.nii.gz")
    nib.save(nib.Nifti1Image((noisy * 1e6).astype(np.float32), image.affine), path)
    def far(d):
        return float(np.sqrt(((d - noisy)[inside]**2 * np.array([1, 2, 2, 1, 2, 1])).sum(-1).mean()))
    low, high = 0.1, 100.0
    for _ in range(14):
        middle = float(np.sqrt(low * high))
        done = subprocess.run([o.clvox, "tensor", "denoise", path, "-o", out, "--order", "fsl", "--lambda",
                               f"{middle:.6g}", "-q"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        ours = np.asarray(nib.load(out).dataobj, float) * 1e-6
        low, high = (middle, high) if far(ours) > far(theirs) else (low, middle)
    def square(d):
        return np.stack([d[..., i] for i in (0, 1, 2, 1, 3, 4, 2, 4, 5)], -1).reshape(d.shape[:3] + (3, 3))
    rows = []
    panels = []
    for name, d in (("noisy", noisy), ("MVIRT TV1+TV2", theirs), ("clvox", ours)):
        fa, v1, values = fa_and_v1(square(d))
        panels.append(np.clip(np.abs(v1) * fa[..., None] * 1.4, 0, 1))
        rows.append({"case": "mvirt", "method": name, "distance": far(d) * 1e9,
                     "fa": float(np.median(fa[inside])), "fa_sd": float(fa[inside].std()),
                     "md": float(values[inside].mean() * 1e9),
                     "det": float(np.exp(np.log(np.maximum(values[inside], 1e-13)).mean()) * 1e9),
                     "lambda": middle if name == "clvox" else None})
    if o.picture:
        strip = np.concatenate([np.repeat(np.repeat(np.flip(p[:, :, 0].transpose(1, 0, 2), 0), 3, 0), 3, 1)
                                for p in panels], 1)
        write_png(o.picture, (255 * strip).astype(np.uint8))
    return rows


def write_png(path, rgb):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = rgb.shape[:2]
    lines = b"".join(b"\0" + row.tobytes() for row in rgb)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))
