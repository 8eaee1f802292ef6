# SPDX-License-Identifier: Apache-2.0
"""Rows of bench/surfaces.py as lines of progress and as Markdown tables."""
import datetime
import statistics
import subprocess
from importlib import metadata

from .surface_cases import LEVELS, SHAPES

COLUMNS = [("rms", 3), ("normal", 1), ("volume", 2), ("components", 0), ("euler", 0), ("p95", 3)]


def line(row):
    words = [f"{k} {row[k]:.{d}f}" for k, d in COLUMNS if k in row]
    return "  ".join([row["shape"], row["level"], row["method"], row.get("parameter", ""), *words,
                      row.get("note", "")])


def best_parameters(rows):
    """(level, method) -> the rows, by shape, of the parameter whose rms is smallest in the mean of the shapes.
    A parameter counts that all of the method's shapes have."""
    groups = {}
    for r in rows:
        if "rms" in r:
            groups.setdefault((r["level"], r["method"]), {}).setdefault(r["parameter"], {})[r["shape"]] = r
    best = {}
    for key, by_parameter in groups.items():
        most = max(len(v) for v in by_parameter.values())
        whole = [v for v in by_parameter.values() if len(v) == most]
        best[key] = min(whole, key=lambda v: statistics.mean(r["rms"] for r in v.values()))
    return best


def is_peer(method):
    return method != "input" and not method.startswith("clvox")


def best_peer(best, level, shape, figure):
    """The smallest figure of a peer in one case, and whose it is."""
    found = [(v[shape][figure], m) for (l, m), v in best.items() if l == level and is_peer(m) and shape in v]
    return min(found) if found else None


def table(head, body):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(r) + " |" for r in body), ""]


def names(best):
    found = {m for _, m in best}
    ours = sorted(m for m in found if m.startswith("clvox"))
    return [m for m in ["input"] if m in found] + ours + sorted(m for m in found if is_peer(m))


def wrong(rows, truth_euler):
    return sum(r["components"] != 1 or r["euler"] != truth_euler[r["shape"]] for r in rows)


def level_table(best, level, truth_euler):
    body = []
    for m in names(best):
        rows = list(best.get((level, m), {}).values())
        if rows:
            mean = {k: statistics.mean(abs(r[k]) if k == "volume" else r[k] for r in rows) for k, _ in COLUMNS}
            body.append([m, rows[0]["parameter"], f"{mean['rms']:.3f}", f"{mean['p95']:.3f}",
                         f"{mean['normal']:.1f}", f"{mean['volume']:.2f}",
                         str(max(r["components"] for r in rows)), f"{wrong(rows, truth_euler)} of {len(rows)}"])
    return table(["method", "parameter", "rms", "95%", "normals", "volume %", "most components",
                  "wrong topology"], body)


def case_rows(best, method, figure):
    """(level, shape, ours, best peer's, its name) of the cases that both have."""
    out = []
    for level in LEVELS:
        for shape in SHAPES:
            ours = best.get((level, method), {}).get(shape)
            peer = best_peer(best, level, shape, figure)
            if ours and peer:
                out.append((level, shape, ours, *peer))
    return out


def verdict(best, method):
    lines = []
    for figure, name in (("rms", "rms distance"), ("normal", "normal error")):
        ratios = [(r[2][figure] / r[3], r) for r in case_rows(best, method, figure)]
        if not ratios:
            continue
        noisy = [q for q, r in ratios if r[0].startswith("noisy")]
        worst, at = max(ratios, key=lambda q: q[0])
        text = (f"{method}, {name} against the best peer of each case: smaller in "
                f"{sum(q < 1 for q, _ in ratios)} of {len(ratios)} cases, "
                f"{statistics.mean(q for q, _ in ratios):.2f} times it in the mean")
        if noisy:
            text += f" ({statistics.mean(noisy):.2f} on noisy edges)"
        lines.append(text + f", at worst {worst:.2f} times ({at[1]}, {at[0]}).")
    return lines


# How near the results of both searches are, measured by hand.
NEARBY = ("whose surfaces lie .016 to .031 voxel (rms) from those of a search through the whole band (torus, CSG part, "
          "gyroid with\nnoise .4, this hippocampus) and 1, 3 and 4% farther from the truth.")

# Further segmentations, made by the same build as the table, by hand.
OTHERS = ["Marching cubes had cut 0.4 to 1.0% off the volume of the labels' voxels, to which the results come within 0.01 to "
          "0.15%. Placing the level",
          "would give one hippocampus 1.23% back; of a mesh with the steps of voxels it is 0.95% at most, before the last "
          "meshing. Two meshes do not fit",
          "together (edges of four triangles): the topology that is kept is that of their signed distance on the grid (2 "
          "components and -2 of the ventricle; 3 and -8",
          "of the white matter, which gets -10, as it has places narrower than voxels of 1/4 edge).",
          "Eight labels of fs_bert_1mm and fs_swm_1mm (17, 53, 4, 43), closed all, keep the volume of their voxels "
          "within 0.03%; six of them keep",
          "their topology. The two ventricles of bert have an island of fewer than 27 voxels each, as masks with noise of "
          ".2 voxels have, and lose it; with",
          "`--topology keep` they do not (label 4 by voxels of 1/4 edge). Places as narrow as a voxel are no sign of noise: "
          "eighty masks with noise of .2",
          "to .4 voxels come out alike whether they are taken for one or not."]


def real_verdict(real):
    done = [r for r in real if "faces" in r]
    if not done:
        return "None was made."
    same = sum(r["components"][0] == r["components"][1] and r["euler"][0] == r["euler"][1] for r in done)
    return (f"Closed: {sum(r['closed'] for r in done)} of {len(done)}; components and Euler characteristic of the "
            f"input: {same} of {len(done)}; volume within {max(abs(r['volume']) for r in done):.2f}% of the input's.")


def provenance(o):
    def ask(*words):
        try:
            run = subprocess.run([o.clvox, *words], capture_output=True, text=True, check=False)
            return run.stdout.strip().splitlines()
        except OSError:
            return []
    device = [d for d in ask("devices") if "*" in d] or ["unknown"]
    text = [datetime.date.today().isoformat(), (ask("--version") or ["clvox (not found)"])[0],
            "device: " + device[0].strip().lstrip("0* ")]
    if o.label:
        text.append(o.label)
    return "; ".join(text + [f"{p} {metadata.version(p)}" for p in ("numpy", "scipy", "vtk")])


# Figures are rms distances beside the best peer's, of the cases above, while the defaults were looked for.
TRIED = """## What was tried

Kept:

- Where the level lies: by a mesh's vertices, which lie on both sides alike, the volume of noisy meshes is off by
  0.0 to 0.5% of the truth instead of 0.2 to 1.6% (the mesh itself cuts corners off). By the voxels of a noisy mask,
  inside as often as not at the surface, by 0.5 to 2.3% instead of 0.2 to 3.5%: how much of that could be known is
  told below. On clean staircases that rule is worse than the count of voxels (-1.2 against +0.2% of the torus) and
  not used.
- A guided second round for noise of vertices (from 0.16 voxels of the grid on): the first result tells which patches
  are alike, those of the input are averaged. Vertices 0.4: torus 0.103 to 0.097, boxes 0.129 to 0.109, CSG part 0.138
  to 0.131, gyroid 0.142 to 0.135, hippocampus 0.156 to 0.154, white matter 0.172 to 0.172. With vertices 0.2 boxes
  gain 12%, the hippocampus loses 5%: there one round stays.
- A mesh that crosses itself by its noise has the level placed by its vertices, too: CSG part, vertices 0.4, -0.52 to
  +0.41% of the volume, white matter, vertices 0.2, -0.45 to -0.05%.
- Loops, islands and cavities of strong noise (above 0.23 voxels) go that a shift of the level by twice the noise
  takes away: noise pierces the thin white matter so that a hole stays which closes 0.45 voxels further out. Each is
  tried by itself, so that nothing is joined or cut off; shifting the level as a whole breaks white matter into 4 parts
  at 0.4 voxels further in.
- Voxels of 0.7 of a mesh's edges instead of 1: hippocampus and white matter with vertices 0.2 go from 1.22 to 1.00
  times the best peer, with 0.4 white matter from 1.34 to 1.14; 0.8 gives up half of that, 0.6 loses on 0.4 again.
- Quadratics of 7^3 and 9^3 voxels after those of 5^3, by exp(-(e / scale)^2), which is sharper than exp(-e / scale):
  torus 1.03 to 0.89, gyroid 1.13 to 1.07 (vertices 0.4), boxes 0.85 to 0.81 (0.2).
- What averaging took away comes back where its mean over 0.8 voxel is larger than noise leaves it: staircases of
  hippocampus and white matter 1.11 to 1.01. Not on noisy masks: their noise is alike over neighbours, too.
- `--search radius` compares patches less their planes as the global search does: noisy torus 0.176 (global 0.168),
  boxes 0.236 (0.227), CSG part 0.236 (0.230), gyroid 0.238 (0.225), hippocampus 0.277 (0.277), white matter 0.317
  (0.301), all with the true topology. The two surfaces are 0.040 voxels (rms) apart for torus and hippocampus, at most
  0.2 and 0.4. A radius of 20 voxels instead of 12 is no nearer (torus 0.188, hippocampus 0.276).

Not kept, as it did not help:

- Strength: 1 instead of 1.5 gains 2 to 5% on anatomy at coarse voxels and nothing at fine ones; 2.5 the other way
  round. 192 neighbours instead of 96: 1%.
- A patch counting fully in its own mean (weight 1) instead of as its nearest neighbour does: 5% better on the
  hippocampus with vertices 0.2, 15% worse on the torus.
- All of the low-pass of what was taken away coming back instead of Wiener's share: hippocampus 1.03 to 0.95, but
  torus 0.89 to 1.03, and 1.16 with vertices 0.4.
- Plane share of 0.4 instead of 0.7 in the search: 0 to 5% worse. Patches of 7^3 were too slow here to be measured.
- The mesh from the grid itself instead of one twice as fine: a quarter of the triangles, 2% worse, 0.5% volume lost.
- Patches in the local frame of the normal. As the cube's 48 symmetries, so that nothing is interpolated (the copy is
  taken whose slope has 0 <= x <= y <= z): noisy torus 0.168 to 0.159, but boxes 0.227 to 0.286, CSG part 0.230 to
  0.266, gyroid 0.225 to 0.230, hippocampus 0.277 to 0.275, white matter 0.297 to 0.304; staircases and vertices 0.4 of
  hippocampus and gyroid 2 to 5% worse. With planes averaged only where they are alike in the grid's frame: torus
  0.168, boxes 0.262. With frames of the normal and the principal directions, by cubic interpolation: torus 0.165.
  Where more patches are at hand, the 96 nearest are those whose noise is alike, and it stays.
- A guided second round, weights from the first result and values from the input, on noisy masks: boxes 0.227 to 0.217,
  but torus 0.168 to 0.175, gyroid 0.225 to 0.236, CSG part 0.230 to 0.234, hippocampus 0.277 to 0.278; on staircases
  of the hippocampus 0.124 to 0.139. c2 of 3, 6 and 10 to 12 times the first result's noise are alike, of 1 far worse.
- Other fits of the level to a noisy mask (normal instead of logistic, voxels within 1, 2, 3 or 4 of the surface, or
  the count of voxels that noise leads to expect): within 0.1% of volume of one another in the mean.

One build beside another:

- Of the 24 cases above, one moved by more than 2% since the build of the table before: two boxes, noisy edge, rms
  0.227 to 0.235, normals 12.0 to 12.5 degrees. Re-distancing now goes one step to the level from the place that it
  knows, also where the level set of a noisy mask is not smooth, instead of looking for the place again (which gives
  0.228). On 21 noisy masks (boxes, torus and CSG part six each, gyroid three) that is 0.5% of rms in the mean, on the
  six of the boxes 1.0% (-0.5 to +3.3%). With steps only where it is smooth the boxes have 0.227 and the gyroid stays
  behind, so that it was left as it is.

## What is known of the volume

A clean mask holds what it holds: that of the hippocampus has 2768 voxels, 0.63% less than the shape it was drawn from, and
so has the surface that clvox makes of it (2768.03 mm^3, -0.63%). In all other cases without noise at the edges the volume
is within 0.5%.

Of a mask with white noise of 1 voxel nobody can know the volume to 0.5%. The level by itself, shape and noise known,
can be told to 1 / sqrt(1.81 area) voxels (Cramer and Rao), which makes the volume uncertain by what stands first; it
is how far the likeliest level of the true shape is off on four masks; then clvox on the first of them, and over six
masks, all of one component and the true Euler characteristic. Noise also
makes 3 to 7% more voxels inside than are, by the bend of the surface, which the rule above corrects but for what
averaging takes of the bend: clvox ends 0.4% of volume above the likeliest level of the true shape in the mean
(-0.1 to 0.9%), on the same mask.

| shape | area / volume | standard deviation at best | shape known, four masks | clvox, the first | clvox, six masks, rms |
|---|---|---|---|---|---|
| torus | 0.44 | 0.74 | +0.28, -1.17, -0.04, -1.40 | @torus@ | 0.52 |
| two boxes | 0.43 | 0.75 | -0.75, +0.18, +1.02, +0.45 | @two boxes@ | 0.89 |
| CSG part | 0.48 | 0.73 | +0.18, -0.34, -1.78, -0.18 | @CSG part@ | 0.67 |
| gyroid | 0.40 | 0.47 | +0.81, -0.52, +0.96, +0.46 | @gyroid@ | 0.93 |
| hippocampus | 0.57 | 1.06 | +1.41, +0.06, -1.08, +0.84 | @hippocampus@ | 1.33 |
| white matter | 0.44 | 0.42 | -0.32, +0.56, +0.33, -0.40 | @white matter@ | 0.45 |

Vertices 0.4 tell the level to 0.4 / sqrt(vertices): volume to 0.19% (white matter) to 0.47% (hippocampus) at best;
the mean true distance of the vertices is off by 0.02 to 0.72% on two meshes of each shape.
"""


def markdown(rows, real, o):
    best = best_parameters(rows)
    truth_euler = {r["shape"]: r["true_euler"] for r in rows if "true_euler" in r}
    out = ["# Denoised surfaces", "", provenance(o) + ".", "",
           "Made by `bench/surfaces.py`, fixed seeds. Six shapes with a known surface on 48^3 voxels of 1 mm: "
           "solids of `clvox phantom surface:...`,",
           "and a hippocampus and a piece of white matter whose labels, smoothed by a Gaussian of 1 voxel, are "
           "taken for the truth.",
           "Noisy edge S: the mask of (true distance + S voxels of white normal noise) < 0. Staircase: the mask "
           "without noise. Vertices S: the",
           "marching-cubes mesh of the true distance, vertices moved along their normals by S voxels of normal "
           "noise. Distances in voxels, both ways,",
           "of the largest component; normals in degrees; volume against the truth, of the whole result; "
           "wrong topology: more than one component or",
           "another Euler characteristic than the truth. Every peer has at each noise level the parameter that "
           "is best in the mean of the shapes;",
           "clvox is the plain command `clvox surface denoise IN -o OUT`.", ""]
    for method in [m for m in names(best) if m.startswith("clvox")]:
        out += verdict(best, method)
    out.append("")
    out += ["## Means over the shapes", ""]
    for level in LEVELS:
        if any(l == level for l, _ in best):
            out += [f"{level}:", "", *level_table(best, level, truth_euler)]
    if real:
        out += ["## Real segmentations", ""]
        out += table(["surface", "triangles", "components", "Euler", "closed", "volume %", "normals turn"],
                     [[r["surface"], f"{r['faces'][0]} to {r['faces'][1]}",
                       f"{r['components'][0]} to {r['components'][1]}", f"{r['euler'][0]} to {r['euler'][1]}",
                       "yes" if r["closed"] else "no", f"{r['volume']:+.2f}",
                       f"{r['bend'][0]:.1f} to {r['bend'][1]:.1f}"] if "faces" in r
                      else [r["surface"], r["note"], "", "", "", "", ""] for r in real])
        out += ["Normals turn: mean angle in degrees between triangles that share an edge (the result has "
                "smaller ones). White matter with `--search radius`,", NEARBY, real_verdict(real),
                *OTHERS, ""]
    out += ["## Every case", ""]
    shown = names(best)
    for figure, digits, title in (("rms", 3, "rms distance"), ("normal", 1, "normal error"),
                                  ("volume", 2, "volume %")):
        out += [f"{title}:", ""]
        body = []
        for level in LEVELS:
            for shape in SHAPES:
                cells = [best.get((level, m), {}).get(shape) for m in shown]
                if any(cells):
                    body.append([level, shape, *(f"{c[figure]:.{digits}f}" if c else "" for c in cells)])
        out += table(["level", "shape", *shown], body)
    out += ["components, Euler characteristic (truth: "
            + ", ".join(f"{s} {e}" for s, e in truth_euler.items()) + "):", ""]
    body = []
    for level in LEVELS:
        for shape in SHAPES:
            cells = [best.get((level, m), {}).get(shape) for m in shown]
            if any(cells):
                body.append([level, shape, *(f"{c['components']}, {c['euler']}" if c else "" for c in cells)])
    out += table(["level", "shape", *shown], body)
    tried = TRIED
    for shape in SHAPES:
        ours = best.get(("noisy edge 1.0", "clvox"), {}).get(shape)
        tried = tried.replace(f"@{shape}@", f"{ours['volume']:+.2f}" if ours else "")
    out += tried.split("\n")
    failed = [r for r in rows if "note" in r]
    out += [f"- {r['shape']}, {r['level']}, {r['method']}: {r['note']}" for r in failed]
    return "\n".join(out).rstrip() + "\n"
