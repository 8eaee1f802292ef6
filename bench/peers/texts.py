# SPDX-License-Identifier: Apache-2.0
"""Tables of the records that run.py keeps."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from records import markdown  # noqa: E402


def head(record):
    device = record["devices"]["devices"][0]
    return (f"{record['date'][:10]}; clvox {record['clvox']} on {device['name']}, {device['platform']} {device['driver']}, "
            f"{record['threads']} threads; " +
            "; ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".")


def tasks(record):
    body = []
    for row in record["rows"]:
        faster = "" if row["who"].startswith("clvox") else f"{row['wall_ratio']:.1f}, {row['cpu_ratio']:.1f}"
        body.append([row["task"], "x".join(map(str, row["size"])), row["who"], f"{1e3 * row['wall']:.1f}",
                     f"{1e3 * row['cpu']:.1f}", faster, f"{row['difference']:.1g}", row["remark"]])
    said = f" {record['remark']}" if record["remark"] else ""
    return f"{head(record)}{said}\n\n" + markdown(
        ["task", "size", "who", "wall, ms", "CPU, ms", "clvox is faster (wall, CPU)", "difference", "remark"], body)
