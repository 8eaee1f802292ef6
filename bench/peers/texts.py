# SPDX-License-Identifier: Apache-2.0
"""Tables of the records that run.py and registration.py keep."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from records import markdown  # noqa: E402


def head(record, clvox):
    device = record["devices"]["devices"][0]
    return (f"{record['date'][:10]}; clvox {clvox} on {device['name']}, {device['platform']} {device['driver']}, "
            f"{record['threads']} threads; " +
            "; ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".")


def tasks(record):
    body = []
    for row in record["rows"]:
        faster = "" if row["who"].startswith("clvox") else f"{row['wall_ratio']:.1f}, {row['cpu_ratio']:.1f}"
        body.append([row["task"], "x".join(map(str, row["size"])), row["who"], f"{1e3 * row['wall']:.1f}",
                     f"{1e3 * row['cpu']:.1f}", faster, f"{row['difference']:.1g}", row["remark"]])
    said = f" {record['remark']}" if record["remark"] else ""
    return f"{head(record, record['clvox'])}{said}\n\n" + markdown(
        ["task", "size", "who", "wall, ms", "CPU, ms", "clvox is faster (wall, CPU)", "difference", "remark"], body)


def registrations(*records):
    body = [[row["pair"], "x".join(map(str, row["size"])), row["method"], f"{row['wall']:.2f}", f"{row['cpu']:.2f}",
             f"{row['ratio']:.1f}", str(len(row["seconds"]))] for record in records for row in record["rows"]]
    return "".join(f"{line}\n" for line in dict.fromkeys(head(r, r["devices"]["version"]) for r in records)) + "\n" + \
        markdown(["pair", "grid", "who", "wall, s", "CPU, s", "times clvox", "rounds"], body)
