# SPDX-License-Identifier: Apache-2.0
"""Ways of doing one thing beside one another, from a record of `clvox bench --json`: bench/tables.py's table `forms`."""
from records import markdown, named

# Heading, and what a row of the record says there; a column that no row fills is left out.
COLUMNS = {
    "form": lambda row: row["name"],
    "tile": lambda row: row.get("tile", ""),
    "registers": lambda row: str(row.get("registers", "")),
    "occupancy": lambda row: f"{100 * row['occupancy']:.0f}%" if "occupancy" in row else "",
    "by": lambda row: row.get("limit", ""),
    "ms": lambda row: f"{1e3 * row['seconds']:.3g}",
    "of the ceiling": lambda row: f"{100 * row['share']:.0f}%" if "share" in row else "",
    "remark": lambda row: row.get("remark", ""),
}


def text(record, group, *words):
    """Rows of a group (a paper's name) whose names begin with one of the words, in the record's order."""
    rows = [row for row in record["rows"] if row["group"] == group and row["name"].startswith(words)]
    if not rows:
        raise SystemExit(f"forms: no row of {group} begins with {' or '.join(words)}")
    sizes = " and ".join(dict.fromkeys("x".join(map(str, row["size"])) for row in rows))
    cells = [[say(row) for say in COLUMNS.values()] for row in rows]
    kept = [at for at in range(len(COLUMNS)) if any(line[at] for line in cells)]
    return (f"{named(record['device'])}; clvox {record['version']}, {record['date'][:10]}; {sizes}:\n\n" +
            markdown([list(COLUMNS)[at] for at in kept], [[line[at] for at in kept] for line in cells]))
