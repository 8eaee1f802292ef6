#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far choices of variants and tiles are from the best, from records of `clvox tune --json`.

    bench/losses.py results/tune-*.json

Geometric means over the kernels of time / time of the best: of the planner's own choice, of the choice by the occupancy
equations alone (of all variants and tiles those that fill half of a compute unit's lanes, of these the least halo; on
CPU devices the least halo, then an item alone, then the largest group; without the order of the tables), of the highest
occupancy with the registers that the compiler gave, of a candidate at random, and of the worst."""
import argparse
import json
import math
import sys

from records import markdown, named

ENOUGH = 0.5  # of a compute unit's lanes, as in src/runtime/plan/plan.c


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def by_equations(candidates, width):
    """width: lanes of a warp; 0: a CPU device."""
    if not width:
        return min(candidates, key=lambda c: (c["waste"], c["items"] != 1, -c["items"]))

    def place(candidate):
        items = candidate["items"]
        filled = candidate["most"] * items / (math.ceil(items / width) * width)
        return (0, candidate["waste"]) if filled >= ENOUGH else (1, -filled)
    return min(candidates, key=place)


def losses(record):
    """A list for each kind of choice, an entry a kernel, and the number of candidates."""
    kinds = {"planner": [], "equations": [], "occupancy": [], "random": [], "worst": []}
    count = 0
    for kernel in record["tune"]:
        runs = [c for c in kernel["candidates"] if c["runs"] and c["automatic"]]
        best = min(c["seconds"] for c in runs)
        known = all(c.get("occupancy", -1) > 0 for c in runs)
        width = record.get("warp", 32) if known else 0  # records of before hold no width: they are NVIDIA's
        count += len(runs)
        kinds["planner"].append(kernel["candidates"][kernel["planned"]]["seconds"] / best)
        kinds["equations"].append(by_equations(runs, width)["seconds"] / best)
        if known:
            kinds["occupancy"].append(max(runs, key=lambda c: c["occupancy"])["seconds"] / best)
        kinds["random"].append(mean([c["seconds"] / best for c in runs]))
        kinds["worst"].append(max(c["seconds"] / best for c in runs))
    return kinds, count


def text(*records):
    body = []
    for record in records:
        kinds, count = losses(record)
        means = {kind: f"{mean(values):.3f}" if values else "" for kind, values in kinds.items()}
        body.append([f"{named(record['device'])}, {'x'.join(map(str, record['size']))}, {record['date'][:10]}",
                     f"{len(kinds['planner'])}, {count}", f"**{means['planner']}**", f"{max(kinds['planner']):.2f}",
                     means["equations"], means["occupancy"], means["random"], means["worst"]])
    return markdown(["device, volume", "kernels, candidates", "planner's loss", "at worst", "equations alone",
                     "occupancy alone", "a candidate at random", "the worst"], body)


def worst(record):
    """The kernels whose planned choice takes longest beside the best, down to a loss of 1.08."""
    body = []
    for kernel in sorted(record["tune"], key=lambda k: -k["loss"]):
        if kernel["loss"] < 1.08:
            break
        planned, best = (kernel["candidates"][kernel[which]] for which in ("planned", "best"))
        build = f" `{kernel['build']}`" if kernel["build"] else ""
        body.append([f"{kernel['kernel']}{build}, {kernel['row']}"] +
                    [cell for c in (planned, best) for cell in (f"{c['variant']} {c['tile']}", f"{1e3 * c['seconds']:.3g}")] +
                    [f"{kernel['loss']:.2f}"])
    body.append([f"{len(record['tune']) - len(body)} others", "", "", "", "", "below 1.08"])
    return markdown([f"kernel, {named(record['device'])}, {'x'.join(map(str, record['size']))}", "planned", "ms", "best",
                     "ms", "loss"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", metavar="RECORD.json")
    loaded = []
    for path in parser.parse_args().records:
        with open(path, encoding="utf-8") as file:
            loaded.append(json.load(file))
    print(text(*loaded), end="")


if __name__ == "__main__":
    sys.exit(main())
