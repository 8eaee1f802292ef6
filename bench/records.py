# SPDX-License-Identifier: Apache-2.0
"""What the scripts that keep records share: calling clvox, and what is in every record."""
import json
import os
import subprocess
import sys
import time


def called(program, words, folder, environment=None):
    """The command's own log (kept in the folder), and its seconds from outside."""
    log = os.path.join(folder, "log.json")
    start = time.perf_counter()
    run = subprocess.run([program, *words, "-q", "--json", log], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, check=False, env={**os.environ, **(environment or {})})
    wall = time.perf_counter() - start
    if run.returncode:
        said = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        raise SystemExit(f"{os.path.basename(sys.argv[0])}: {' '.join(words)}: {said[-1]}")
    with open(log, encoding="utf-8") as text:
        return json.load(text), wall


def begun(log):
    """What is in every record, from the log of a command."""
    return {"program": "clvox", "version": log["version"], "date": log["date"], "command": sys.argv,
            "threads": os.cpu_count(), "load_average": os.getloadavg()}


def lines(value, indent=0):
    """JSON for people and for git: each object of a list is one line."""
    def listed(v):
        return isinstance(v, list) and any(isinstance(item, dict) for item in v)

    inner = "\n" + " " * (indent + 1)
    if listed(value):
        return "[" + inner + ("," + inner).join(json.dumps(item, ensure_ascii=False) for item in value) + \
            "\n" + " " * indent + "]"
    if isinstance(value, dict) and any(listed(item) for item in value.values()):
        return "{" + inner + ("," + inner).join(f"{json.dumps(name)}: {lines(item, indent + 1)}"
                                               for name, item in value.items()) + "\n" + " " * indent + "}"
    return json.dumps(value, ensure_ascii=False)


def keep(path, record):
    """Writes the record, a row a line; path None: does nothing. Called as rows come, so that no measurement is lost."""
    if path:
        with open(path, "w", encoding="utf-8") as out:
            out.write(lines(record) + "\n")


def named(device):
    return f"{device['name']}, {device['platform']}, driver {device['driver']}"


def sized(name, size):
    """A row's name with the voxels of its grid, where it has one."""
    return f"{name}, {'x'.join(map(str, size))}" if size else name


def short(value):
    """Two digits, or more where it is large."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def markdown(head, body):
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" --- ", "---")


if __name__ == "__main__":
    # bench/records.py FILE...: rewrites records, those of `clvox bench --json` too, with a row a line.
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as text:
            whole = json.load(text)
        keep(name, whole)
