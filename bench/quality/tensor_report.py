# SPDX-License-Identifier: Apache-2.0
"""The page of bench/tensors.py."""
import datetime
import importlib.metadata
import json
import subprocess

HEAD = """# Tensor denoising against the truth

{date}; clvox {version}; device: {device}; DIPY {dipy}, one thread.

Made by `bench/tensors.py` from files that `clvox phantom tensor:helix|rings|steps` writes (64x64x40, b 1000,
Rician noise; grids axial, oblique, left-handed and both, with cubic and other voxels). All methods are measured by the
same code:

- FA rmse: root mean square error of FA in the mask;
- V1: mean angular error where the truth is anisotropic;
- edges: how much of the steps of FA between neighbours is left (1: all; noise alone lowers it too, through FA's bias);
- D rmse: root mean square error of the tensor in 1e-3 mm^2/s;
- CPU s: for one phantom; clvox from files to tensors (host only where the device is a GPU), DIPY the denoising and fit
  alone.

clvox runs with its defaults: `tensor fit` (in the last row with `--denoise mppca`), then `tensor denoise --noise
PREFIX_sigma.nii.gz`. The constants behind `--lambda auto` and MP-PCA's residual noise come from these phantoms and the
real scan below. Gaussian smoothing has whichever width ({widths} voxels) gives the smallest
average error of FA, which no user could know; NLM is told the true noise.
"""

NAMES = (("wls", "plain weighted fit (clvox)"), ("wls-dipy", "plain weighted fit (DIPY)"),
         ("gauss", "Gaussian of the DWI, then WLS"), ("nlm", "NLM of the DWI (DIPY), then WLS"),
         ("mppca-dipy", "MP-PCA (DIPY), then WLS"), ("clvox", "**clvox, plain command**"),
         ("clvox-bregman3", "clvox with --bregman 3"),
         ("mppca-clvox", "MP-PCA (clvox), then WLS"), ("clvox-mppca", "**clvox with --denoise mppca**"))


def mean(rows, key):
    return sum(r[key] for r in rows) / len(rows)


def chosen(rows, method):
    """The rows of a method; of several parameters the best on average."""
    mine = [r for r in rows if r["method"] == method and "fa" in r]
    parameters = {r["parameter"] for r in mine}
    if not mine:
        return []
    best = min(parameters, key=lambda p: mean([r for r in mine if r["parameter"] == p], "fa"))
    return [r for r in mine if r["parameter"] == best]


def tables(rows):
    lines = []
    for count in sorted({r["directions"] for r in rows}):
        for snr in sorted({r["snr"] for r in rows}):
            here = [r for r in rows if r["directions"] == count and r["snr"] == snr]
            peer = chosen(here, "mppca-dipy")
            lines += [f"\n## SNR {snr}, {count} directions\n",
                      "| method | phantoms | FA rmse | to MP-PCA (DIPY) | V1, degrees | edges | D rmse | CPU s |",
                      "|---|---|---|---|---|---|---|---|"]
            for method, name in NAMES:
                mine = chosen(here, method)
                if not mine:
                    continue
                both = {r["case"] for r in peer} & {r["case"] for r in mine}
                gap = ""
                if both and method != "mppca-dipy":
                    gap = "%+.0f%%" % (100 * (mean([r for r in mine if r["case"] in both], "fa") /
                                              mean([r for r in peer if r["case"] in both], "fa") - 1))
                word = f" ({mine[0]['parameter']})" if method == "gauss" else ""
                lines.append(f"| {name}{word} | {len(mine)} | {mean(mine, 'fa'):.4f} | {gap} | {mean(mine, 'v1'):.2f} "
                             f"| {mean(mine, 'edge'):.2f} | {mean(mine, 'd'):.3f} | {mean(mine, 'cpu'):.1f} |")
    return lines


def excess_of(rows, method):
    """By how much, in %, auto's error of FA is above the best one's, and the best multiple: of each phantom."""
    excess = {}
    for case in sorted({r["case"] for r in rows}):
        mine = {float(r["parameter"]): r["fa"] for r in rows
                if r["case"] == case and r["method"] == method and "fa" in r}
        if 1.0 in mine:
            best = min(mine, key=mine.get)
            excess[case] = (100 * (mine[1.0] / mine[best] - 1), best)
    return excess


def automatic(rows):
    lines = []
    for method, name in (("auto", "plain command"), ("auto-mppca", "with --denoise mppca")):
        for own in (True, False):
            excess = excess_of([r for r in rows if (r.get("seed", 1) == 1) == own], method)
            if excess:
                worst = max(excess, key=lambda c: excess[c][0])
                lines.append(f"| {name} | {'as above' if own else 'other seeds'} | {len(excess)} "
                             f"| {sum(e[0] for e in excess.values()) / len(excess):.1f}% | {excess[worst][0]:.1f}% "
                             f"| {worst.replace('_', ' ')}, best at {excess[worst][1]:g} |")
    if not lines:
        return []
    used = sorted({float(r["parameter"]) for r in rows if r["method"].startswith("auto") and "fa" in r})
    return ["\n## --lambda auto\n",
            f"How much larger the error of FA is with auto than with the best of {len(used)} fixed values "
            f"({', '.join('%g' % u for u in used)} times auto's), by phantom. The rule's constants come from the phantoms of "
            "the tables above, none from those with other seeds.\n",
            "| | phantoms | number | larger by, on average | at worst | phantom |", "|---|---|---|---|---|---|", *lines]


def real(rows):
    mine = [r for r in rows if r["case"] == "halves" and "v1" in r]
    lines = []
    if mine:
        lines += ["\n## A real scan (dti_dsistudio, b 2000)\n",
                  "Each half of the directions (10 and b 0), denoised, is compared with the plain fit of the other half, in "
                  "white matter (FA above 0.3 in the plain fit of all directions); mean of both ways. Two denoised "
                  "halves are not compared, as they would agree the better the more they are smoothed.\n",
                  "| method | V1, degrees from the other half | FA in white matter | change of FA | FA, rms difference |",
                  "|---|---|---|---|---|"]
        for method, name in NAMES:
            for r in mine:
                if r["method"] == method:
                    lines.append(f"| {name} | {r['v1']:.2f} | {r['fa_white']:.4f} "
                                 f"| {100 * (r['fa_white'] / r['fa_plain'] - 1):+.1f}% | {r['fa_rms']:.4f} |")
    slices = {r["method"]: r for r in rows if r["case"] == "mvirt"}
    if slices:
        lines += ["\n## The same slice in another metric (dti_mvirt_camino)\n",
                  "MVIRT minimises TV1 + TV2 in the affine-invariant metric of positive matrices, clvox TV of D in "
                  "the Frobenius norm, with a lambda that takes it as far from the data as MVIRT.\n",
                  "| | Frobenius distance to the data | median FA | sd of FA | mean diffusivity | root of "
                  "det, cubic |", "|---|---|---|---|---|---|"]
        for r in slices.values():
            lines.append(f"| {r['method']} | {r['distance']:.4f} | {r['fa']:.4f} | {r['fa_sd']:.4f} | {r['md']:.4f} "
                         f"| {r['det']:.4f} |")
        noisy, theirs, ours = (slices.get(k) for k in ("noisy", "MVIRT TV1+TV2", "clvox"))
        if noisy and theirs and ours:
            def change(r, key):
                return f"{100 * (r[key] / noisy[key] - 1):+.1f}%"
            lines += ["\nUnits of 1e-9 m^2/s, means over the slice's tensors (det: geometric mean). The affine-invariant "
                      f"metric averages logarithms: it keeps determinants ({change(theirs, 'det')}) and lowers the "
                      f"mean diffusivity ({change(theirs, 'md')}); the Frobenius norm keeps the mean "
                      f"diffusivity ({change(ours, 'md')}) and raises determinants ({change(ours, 'det')}). TV2 "
                      "draws ramps where TV alone draws steps, so MVIRT's result is smoother inside bundles and "
                      "clvox keeps sharper plateaus."]
    return lines


def write(rows, o):
    done = subprocess.run([o.clvox, "devices", "--json", "-"], capture_output=True, text=True, check=False)
    try:
        log = json.loads(done.stdout)
        device = (log.get("devices") or [{}])[0].get("name", "unknown")
    except ValueError:
        log, device = {}, "unknown"
    phantoms = [r for r in rows if r["case"] not in ("halves", "mvirt")]
    from quality.tensor_peers import WIDTHS
    text = HEAD.format(date=datetime.date.today(), version=log.get("version", "?"), device=o.device or device,
                       dipy=importlib.metadata.version("dipy"), widths=", ".join(map(str, WIDTHS)))
    first = [r for r in phantoms if r.get("seed", 1) == 1]
    lines = tables(first) + automatic(phantoms) + real(rows)
    with open(o.markdown, "w", encoding="utf-8") as file:
        file.write(text + "\n".join(lines) + "\n")
