#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes records of `clvox bench --json` with known figures: bench_compare_records.py FOLDER

gpu.json, cpu.json and third.json are of three devices; after.json is gpu.json with one row changed;
many-*.json are eight; bad-*.json must be refused, and WORD in bad-*.txt must be in the message."""
import copy
import json
import os
import sys

MARKUP = "<script>document.title='taken'</script>\"'&amp;<img src=http://nobody.example/x.png>"
OPERATIONS = [  # name, bytes a voxel, operations a voxel (0: not stated), share of the ceiling on the GPU and a CPU
    ("copy", 8, 0, .95, 1.21), ("blend", 40, 0, 1.04, 1.25), ("pointwise a+b", 12, 0, .99, .69),
    ("reduce sum", 4, 0, .71, 2.4), ("histogram 256", 4, 0, .59, .32), ("moments", 4, 12, .5, .3),
    ("gradient", 16, 6, .79, .60), ("sobel", 8, 90, .61, .2), ("jacobian", 16, 40, .65, .45),
    ("inverse", 24, 0, .55, .3), ("warp linear", 20, 36, .70, .34), ("warp cubic", 20, 420, .20, .07),
    ("compose", 36, 58, .63, .29), ("gaussian 1.7 scalar", 24, 0, .83, .51), ("gaussian 1.7 field", 72, 0, .88, .52),
    ("recursive 5 field", 72, 0, .4, .3), ("redistance 8", 8, 0, .3, .1), ("mesh distance", 5.25, 2200, .3, .4),
    ("tensor tv local", 73, 0, .7, .2), ("tensor fit, weighted", 28, 1900, .21, .33),
    ("tensor measures, with all of the eigenvectors", 44, 150, .6, .22), ("force", 32, 158, .26, .12),
    ("energy", 20, 0, .5, .3), ("metric MI 32", 24, 0, .20, .1), ("lncc 2", 44, 0, .25, .1),
    ("fluid rate", 60, 0, .65, .48), ("fluid update", 36, 0, 1.04, 1.30), ("fluid iteration", 200, 0, .60, .36)]


def samples(seconds, spread=.02):
    """Whose median is `seconds` and whose quartiles lie spread * seconds apart."""
    return [seconds * (1 + spread * k / 2) for k in (-2, -1, 0, 1, 2)]


def row(group, name, size, seconds, **more):
    return {"group": group, "name": name, "size": size, "seconds": seconds, "spread": .02,
            "samples": samples(seconds), "verified": True, **more}


def operations(size, copy_rate, peak, share, factor):
    """Rows whose time is what the share of the ceiling says."""
    voxels = size[0] * size[1] * size[2]
    for at, (name, size_bytes, count, *shares) in enumerate(OPERATIONS):
        bound = "multiply-add fp32" if count > 100 * size_bytes / 8 else "copy"
        work = voxels * (count if bound != "copy" else size_bytes)
        reached = round(shares[share] * (factor if at % 2 else 1), 4)
        seconds = work / reached / (peak if bound != "copy" else copy_rate)
        more = {"operations": count * voxels} if count else {}
        if at % 3 == 0:
            more.update(variant="march" if share == 0 else "row", tile="32x8x1,16" if share == 0 else "1x1x1",
                        registers=32 + at, occupancy=.5, limit="registers", device_seconds=.97 * seconds)
        yield row("kernels", name, size, seconds, bytes=size_bytes * voxels, ceiling=bound, share=reached, **more)
        if name == "force":
            for tile, longer in ("8x8x4", 1.5), ("16x16x1", 1.1):
                yield row("kernels", f"  force/reuse {tile}", size, longer * seconds, bytes=size_bytes * voxels,
                          ceiling=bound, share=reached / longer)


def papers(size, recompute, reuse):
    conclusion = "Computing each product once and sharing it in local memory is three times as fast as computing it anew."
    for name, seconds in ("recompute", recompute), ("reuse", reuse):
        for tile, factor in ("16x16x1", 1.25), ("32x8x1", 1):
            more = {}
            if name == "reuse" and factor == 1:
                more["paper"] = {"value": 3, "here": recompute / reuse, "unit": "times recompute", "device": "GTX 480", "conclusion": conclusion,
                                 "holds": recompute > reuse}
            yield row("lee2012", name, size, factor * seconds, variant=name, tile=tile, registers=64, **more)


def record(name, kind, vendor, size, copy_rate, peak, share, whole, factor=1):
    ceilings = [("copy", "B/s", copy_rate), ("copy, 4-byte accesses", "B/s", .9 * copy_rate),
                ("local memory", "B/s", 7 * copy_rate), ("multiply-add fp32", "FLOP/s", peak),
                ("multiply-add fp64", "FLOP/s", peak / 2), ("launch", "s", 4e-6 if share == 0 else 2e-5),
                ("host to device, pinned", "B/s", 5e10), ("atomics", "1/s", 3e9)]
    if kind == "cpu":
        ceilings = [c for c in ceilings if "local" not in c[0]]
    rows = list(operations(size, copy_rate, peak, share, factor))
    for at, pipeline in enumerate(["register default", "register quick", "tensor fit, denoise, measures", "surface denoise"]):
        edges = [101, 103, 107] if at == 3 else size
        rows.append(row("pipelines", pipeline, edges, whole * (1, .4, 1.5, .7)[at]))
        if at == 0:
            rows.append(row("pipelines", pipeline + ": deformation", size, .5 * whole,
                            bytes=.25 * whole * copy_rate, ceiling="copy", share=.5))
    pairs = 2 * 125 * 60000 ** 2
    rows.append(row("nlm", "all pairs", [60000, 1, 1], pairs / .47 / peak, operations=pairs,
                    ceiling="multiply-add fp32", share=.47))
    rows += papers(size, .03 * whole, .03 * whole * (.9 if share == 0 else 1.3))
    return {"program": "clvox", "version": "0.1.0", "verb": "bench", "schema": 1, "date": "2026-11-21T19:00:00Z",
            "command": ["clvox", "bench"],
            "device": {"name": name, "vendor": vendor, "platform": "Platform of " + vendor, "driver": "580.159.04",
                       "version": "OpenCL 3.0", "architecture": "sm_90" if share == 0 else "", "type": kind,
                       "compute_units": 132 if share == 0 else 2, "clock_mhz": 1980, "global_bytes": 150e9,
                       "local_bytes": 49152},
            "ceilings": [{"name": n, "unit": u, "value": v, "samples": samples(v)} for n, u, v in ceilings],
            "rows": rows}


def bad(good):
    """(name, word of the message, contents)"""
    def changed(**more):
        return json.dumps({**good, **more})

    def in_row(**more):
        rows = copy.deepcopy(good["rows"])
        rows[3].update(more)
        return changed(rows=rows)

    text = json.dumps(good)
    yield "cut", "cut off", text[:len(text) // 2]
    yield "empty", "cut off", ""
    yield "zero", "cut off", text[:500] + "\0" + text[500:]
    yield "list", "not a JSON object", "[1, 2]"
    yield "foreign", "not from clvox", '{"name": "left-pad", "version": "1.0.0"}'
    yield "verb", "another verb", changed(verb="register")
    yield "comparison", "a comparison", changed(comparison={})
    yield "former", "before records had a schema", json.dumps({k: v for k, v in good.items() if k != "schema"})
    yield "newer", "schema 2", changed(schema=2, version="9.9.0")
    yield "remarks", "remarks is not", changed(remarks=[1])
    yield "rows", "rows is not a list", changed(rows=3)
    yield "objects", "not a list of objects", changed(rows=[3])
    yield "nothing", "neither ceilings nor rows", changed(rows=[], ceilings=[])
    yield "device", "device is missing", json.dumps({k: v for k, v in good.items() if k != "device"})
    yield "seconds", r"rows\[3\].seconds is not a number above 0", in_row(seconds=-1)
    yield "text", r"rows\[3\].seconds", in_row(seconds="1")
    yield "infinite", r"rows\[3\].bytes", in_row(bytes=12345678).replace("12345678", "1e999")
    yield "size", r"rows\[3\].size", in_row(size=[1, 2])
    yield "size4", r"rows\[3\].size", in_row(size=[1, 2, 3, 4])
    yield "edge", r"rows\[3\].size", in_row(size=[1, 2.5, 3])
    yield "samples", r"rows\[3\].samples", in_row(samples=[])
    yield "verified", r"rows\[3\].verified", in_row(verified="yes")
    yield "paper", r"rows\[3\].paper.unit is missing", in_row(paper={"value": 1})
    yield "here", r"rows\[3\].paper.here is not a number above 0", in_row(paper={
        "value": 1, "here": 0, "unit": "times", "device": "a", "conclusion": "b", "holds": True})
    yield "registers", r"rows\[3\].registers is not a whole number", in_row(registers=32.5)
    yield "registers0", r"rows\[3\].registers is not a number above 0", in_row(registers=0)
    yield "occupancy", r"rows\[3\].occupancy is above 1", in_row(occupancy=1.01)
    yield "occupancy0", r"rows\[3\].occupancy is not a number above 0", in_row(occupancy=0)
    yield "share", r"rows\[4\].share is without a ceiling", json.dumps({**good, "rows": [
        {k: v for k, v in r.items() if k != "ceiling" or at != 4} for at, r in enumerate(good["rows"])]})
    yield "group", r"rows\[3\].group is none", in_row(group="new")
    yield "group0", r"rows\[3\].group is empty", in_row(group="")
    for at, tile in enumerate(("32x8", "32x8x1,", "32x8x", "32x8x1,16,2", "axbxc", " 32x8x1", "32x8x1<b>")):
        yield f"tile{at}", r"rows\[3\].tile is not of the form", in_row(tile=tile)
    yield "median", r"rows\[3\].seconds is not the median of its samples", in_row(seconds=1.00001, samples=[2, 1, .5])
    for at, date in enumerate(("2026-11-21", "2026-11-21T19:00:00", "2026-11-21 19:00:00Z", "<b>6-11-21T19:00:00Z", "")):
        yield f"date{at}", "date is not of the form", changed(date=date)
    yield "version", "version is empty", changed(version="")
    yield "type", "device.type is none of", changed(device={**good["device"], "type": "fpga"})
    yield "units", "device.compute_units is not a whole number", changed(device={**good["device"], "compute_units": 1.5})
    ceiling = {"name": "copy", "unit": "B/s", "value": 1, "samples": [1]}
    for name, word, more in (("missing", "samples is missing", None), ("empty", "samples is not a list", []),
                             ("text", "samples is not a list", ["1"]), ("mapping", "samples is not a list", {"a": 1}),
                             ("median", "value is not the median", [1, 2, 3])):
        one = {**ceiling, "samples": more} if more is not None else {k: v for k, v in ceiling.items() if k != "samples"}
        yield f"ceiling-{name}", rf"ceilings\[0\].{word}", changed(ceilings=[one])
    yield "ceiling-twice", r"ceilings\[1\].name is that of another", changed(ceilings=[ceiling, ceiling])
    yield "ceiling-name", r"ceilings\[0\].name is empty", changed(ceilings=[{**ceiling, "name": ""}])
    yield "sources", "sources is not", changed(sources="<script>alert()")
    yield "unit", r"ceilings\[0\].unit", changed(ceilings=[{"name": "copy", "unit": "B", "value": 1, "samples": [1]}])


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)

    def write(name, contents):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(contents if isinstance(contents, str) else json.dumps(contents))

    gpu = record("NVIDIA H200", "gpu", "NVIDIA Corporation", [256, 256, 256], 4e12, 6e13, 0, .5)
    cpu = record("cpu-haswell-AMD EPYC", "cpu", "AuthenticAMD", [256, 256, 256], 4e10, 1.2e11, 1, 25)
    third = record("Intel(R) Arc(TM) A770", "gpu", "Intel", [128, 128, 128], 4.8e11, 1.7e13, 0, .8, .8)
    third["remarks"] = ["double precision: this device has none"]
    third["rows"] = [r for r in third["rows"] if r["name"] not in ("inverse", "surface denoise")]
    for r in third["rows"]:
        r.get("paper", {}).pop("here", None) # as records were before
    write("gpu.json", gpu)
    write("cpu.json", cpu)
    write("third.json", third)
    after = copy.deepcopy(gpu)
    for r in after["rows"]:
        if r["name"] == "warp linear":
            r.update(seconds=r["seconds"] / 2, samples=samples(r["seconds"] / 2), share=2 * r["share"])
        if r["name"] == "energy":
            r["verified"] = False
    write("after.json", after)
    hostile = copy.deepcopy(third)
    for part in [hostile, hostile["device"], *hostile["rows"], *hostile["ceilings"]]:
        for key, value in part.items():
            if isinstance(value, str) and key not in ("program", "verb", "unit", "group", "date", "type", "tile"):
                part[key] = value + MARKUP
    hostile["remarks"] = [MARKUP]
    hostile["rows"][0].update(name="\u202e\u001b[31mred " + 300 * "long ", remark=MARKUP)
    hostile["rows"][1]["ceiling"] = "unknown " + MARKUP
    write("hostile.json", hostile)
    write("ceilings.json", {**gpu, "rows": []})
    for i in range(8):
        write(f"many-{i}.json", record(f"Device of a long name, number {i}", "cpu", "Somebody", [128, 128, 96],
                                       1e10 * 2 ** i, 1e11 * 2 ** i, i % 2, 40 / 2 ** i))
    for name, word, contents in bad(gpu):
        write(f"bad-{name}.json", contents)
        write(f"bad-{name}.txt", word)


main()
