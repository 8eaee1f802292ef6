#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole commands on one device, from files to files with kernels cached.

    bench/commands.py --clvox build/src/cli/clvox --json bench/results/commands-gpu.json \\
        'brains, 1 mm=MNI152_T1_1mm_brain.nii.gz,t1_brain.nii.gz' 'heads, 2 mm=Subj1_T1.nii.gz,Subj2_T1.nii.gz' \\
        'scan=tensor all dwi.nii.gz --bval bvals --bvec bvecs --mask mask.nii.gz -o {out}' \\
        'left white matter=surface denoise lh_wm.ply -o {out}.ply'

NAME=FIXED,MOVING is a registration of these two by each preset, without the picture. NAME=VERB ... is that
command; {out} stands for a name in a folder that is removed afterwards. The first round of each builds kernels
and does not count. Prints a table of medians a verb, in Markdown, by stage as the commands themselves count them;
--json keeps device, driver, version, sizes and every sample."""
import argparse
import shlex
import statistics
import tempfile

from records import begun, called, keep, markdown, named, short, sized

TWO_WORDS = ("filter", "surface", "tensor")  # verbs with a second word
# What a record or a row holds in another place, or not; the rest of a log says what was done.
ELSEWHERE = {"program", "version", "verb", "date", "command", "device", "inputs", "outputs", "options", "wisdom",
             "trace", "profile", "seconds", "seconds_by_stage"}


def wanted(text, presets):
    """Name and words of the commands that an argument stands for."""
    name, _, what = text.partition("=")
    if "{out}" in what:
        return [(name, shlex.split(what))]
    files = what.split(",")
    if len(files) != 2:
        raise SystemExit(f"commands.py: {text}: neither NAME=FIXED,MOVING nor NAME=VERB ... with {{out}} in it")
    return [(name, ["register", "-f", files[0], "-m", files[1], "-o", "{out}", "--no-picture",
                    *([] if preset == "default" else ["--" + preset])]) for preset in presets]


def found(log, name):
    """Every value of this name in the log, by the name of what holds it."""
    values = {}
    for key, part in log.items():
        if isinstance(part, dict):
            values.update({key: part[name]} if name in part else found(part, name))
    return values


def timed(options, name, words, folder):
    call = [word.replace("{out}", folder + "/out") for word in words]
    call += ["--device", options.device] if options.device else []
    logs = [called(options.clvox, call, folder) for _ in range(options.rounds + 1)][1:]
    first = logs[0][0]
    verb = " ".join(words[:2] if words[0] in TWO_WORDS else words[:1])
    sizes, peaks = found(first, "size"), found(first, "peak_device_bytes")
    row = {"verb": verb, "words": words, "size": sizes.get("fixed", sizes.get("grid")), "inputs": first["inputs"],
           "options": first.get("options"), "wisdom": first["wisdom"],
           "peak_device_bytes": next(iter(peaks.values()), None), "wall": [wall for _, wall in logs],
           "all": [log["seconds"] for log, _ in logs],
           "stages": {stage: [log["seconds_by_stage"][stage] for log, _ in logs]
                      for stage in first.get("seconds_by_stage", {})}}
    if verb == "register":
        return first, {"pair": name, "preset": row["options"]["preset"], "moving_size": sizes["moving"], **row}
    return first, {"name": name, **row, "log": {key: first[key] for key in first if key not in ELSEWHERE}}


def table(verb, rows):
    stages = list(dict.fromkeys(stage for row in rows for stage in row["stages"]))
    peaks = [row["peak_device_bytes"] for row in rows]
    pairs = verb == "register"
    body = []
    for row, peak in zip(rows, peaks):
        body.append([sized(row["pair" if pairs else "name"], row["size"]), *([row["preset"]] if pairs else []),
                     f"{statistics.median(row['wall']):.2f}",
                     *(short(statistics.median(row["stages"][stage])) if stage in row["stages"] else ""
                       for stage in stages), *([f"{peak / 2**20:.0f}" if peak else ""] if any(peaks) else [])])
    head = ["pair", "preset"] if pairs else [verb]
    return markdown([*head, "all", *stages, *(["device, MiB"] if any(peaks) else [])], body)


def text(record):
    """The record in Markdown: what ran, and a table a verb."""
    rows = record["rows"]
    verbs = list(dict.fromkeys(row.get("verb", record.get("verb")) for row in rows))
    rounds = " or ".join(str(n) for n in sorted({len(row["wall"]) for row in rows}))
    return "\n".join([f"{named(record['device'])}; clvox {record['version']}, {record['date'][:10]}; seconds, medians "
                      f"of {rounds}:\n"] +
                     [table(verb, [row for row in rows if row.get("verb", record.get("verb")) == verb])
                      for verb in verbs])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", metavar="NAME=FIXED,MOVING or NAME=VERB ...")
    parser.add_argument("--clvox", default="clvox", help="the program (default: clvox in PATH)")
    parser.add_argument("--device", help="as clvox takes it")
    parser.add_argument("--preset", action="append", choices=["default", "quick", "best"],
                        help="of registrations; repeat (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="where the record goes")
    options = parser.parse_args()
    presets = options.preset or ["default", "quick", "best"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, words in [job for what in options.what for job in wanted(what, presets)]:
            log, row = timed(options, name, words, folder)
            rows.append(row)
            record = {**begun(log), "device": log["device"], "rows": rows}
            keep(options.json, record)
    print(text(record), end="")


if __name__ == "__main__":
    main()
