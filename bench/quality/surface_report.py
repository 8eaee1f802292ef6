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
    """(level, method) -> the rows, by shape, of the parameter whose rms is smallest on average over the shapes.
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
        text = (f"- {method}, {name} relative to the best peer of each case: smaller in "
                f"{sum(q < 1 for q, _ in ratios)} of {len(ratios)} cases, "
                f"{statistics.mean(q for q, _ in ratios):.2f} times on average")
        if noisy:
            text += f" ({statistics.mean(noisy):.2f} on noisy edges)"
        lines.append(text + f", at worst {worst:.2f} times ({at[1]}, {at[0]}).")
    return lines


# Measured by hand.
SEARCHES = """The white matter was denoised with `--search radius`, which ends 1 to 4% farther from the truth than the global search on three shapes
with noise of 0.4 voxels."""

# Further segmentations, measured by hand.
OTHERS = """Marching cubes cuts off 0.4 to 1.0% of the labels' voxel volume; the denoised surfaces are within 0.01 to 0.15% of it.

Two input meshes are not manifold (edges shared by four triangles); the topology of the signed distance is kept there."""


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


DEFAULTS = """## How well the volume can be known

A noise-free mask keeps its voxel volume. With 1 voxel of white edge noise no method can know the volume to 0.5%: even if shape and
noise are known, the level is uncertain by at least 1 / sqrt(1.81 area) voxels (Cramer-Rao bound). The table has, in % of the
volume, that bound, the error of the most likely level of the true shape on four masks, and clvox on the first mask and, as rms, on
six. All results have one component and the true Euler characteristic.

| shape | area / volume | lowest standard deviation | true shape, four masks | clvox, the first | clvox, six masks, rms |
|---|---|---|---|---|---|
| torus | 0.44 | 0.74 | +0.28, -1.17, -0.04, -1.40 | @torus@ | 0.52 |
| two boxes | 0.43 | 0.75 | -0.75, +0.18, +1.02, +0.45 | @two boxes@ | 0.89 |
| CSG part | 0.48 | 0.73 | +0.18, -0.34, -1.78, -0.18 | @CSG part@ | 0.67 |
| gyroid | 0.40 | 0.47 | +0.81, -0.52, +0.96, +0.46 | @gyroid@ | 0.93 |
| hippocampus | 0.57 | 1.06 | +1.41, +0.06, -1.08, +0.84 | @hippocampus@ | 1.33 |
| white matter | 0.44 | 0.42 | -0.32, +0.56, +0.33, -0.40 | @white matter@ | 0.45 |
"""

HEAD = """Made by `bench/surfaces.py` with fixed seeds. Six shapes with a known surface on 48^3 voxels of 1 mm: solids of
`clvox phantom surface:...`, and a hippocampus and a piece of white matter whose labels, smoothed by a Gaussian of 1
voxel, serve as the truth.

- Noisy edge S: the mask of (true distance + S voxels of white Gaussian noise) < 0.
- Staircase: the mask without noise.
- Vertices S: the marching-cubes mesh of the true distance, its vertices moved along their normals by S voxels of
  Gaussian noise.

Distances are symmetric, in voxels, on the largest component; normals are errors in degrees; the volume is that of the
whole result, relative to the truth. Wrong topology: more than one component, or another Euler characteristic than the
truth. Each peer has at each noise level the parameter that is best on average over the shapes; clvox runs as
`clvox surface denoise IN -o OUT`.
"""


def markdown(rows, real, o):
    best = best_parameters(rows)
    truth_euler = {r["shape"]: r["true_euler"] for r in rows if "true_euler" in r}
    out = ["# Denoised surfaces", "", provenance(o) + ".", "",
           HEAD]
    for method in [m for m in names(best) if m.startswith("clvox")]:
        out += verdict(best, method)
    out.append("")
    out += ["## Averages over the shapes", ""]
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
        out += ["Normals turn: mean angle in degrees between triangles that share an edge; the result's triangles are "
                "smaller.", real_verdict(real), "", SEARCHES, "", OTHERS, ""]
    defaults = DEFAULTS
    for shape in SHAPES:
        ours = best.get(("noisy edge 1.0", "clvox"), {}).get(shape)
        defaults = defaults.replace(f"@{shape}@", f"{ours['volume']:+.2f}" if ours else "")
    out += defaults.split("\n")
    failed = [r for r in rows if "note" in r]
    out += [f"- {r['shape']}, {r['level']}, {r['method']}: {r['note']}" for r in failed]
    return "\n".join(out).rstrip() + "\n"
