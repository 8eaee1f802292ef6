#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether records of `clvox bench` hold to their schema: record.py SCHEMA RECORD...

Knows the part of JSON Schema that doc/bench-schema.json uses and refuses any other word, so that
the schema cannot ask for what is not looked at. Then what no schema can say: values are medians of
their samples, shares belong to ceilings that are there."""
import json
import re
import statistics
import sys

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float)}
IDLE = {"$schema", "title", "description"}


def is_kind(value, kind):
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, (int, float)) and float(value).is_integer()
    return isinstance(value, KINDS[kind])


def limits(schema, value, where):
    checks = {
        "const": lambda limit: value == limit,
        "enum": lambda limit: value in limit,
        "minLength": lambda limit: len(value) >= limit,
        "pattern": lambda limit: re.search(limit, value),
        "minimum": lambda limit: value >= limit,
        "maximum": lambda limit: value <= limit,
        "exclusiveMinimum": lambda limit: value > limit,
        "minItems": lambda limit: len(value) >= limit,
        "maxItems": lambda limit: len(value) <= limit,
        "required": lambda limit: set(limit) <= set(value),
        "dependentRequired": lambda limit: all(set(more) <= set(value) for name, more in limit.items() if name in value),
    }
    for word, limit in schema.items():
        if word in checks and not checks[word](limit):
            yield f"{where}: {json.dumps(value)[:60]} is not {word} {json.dumps(limit)}"
        elif word not in checks and word not in IDLE | {"type", "properties", "items", "additionalProperties"}:
            yield f"the schema says {word}, which is not looked at"


def errors(schema, value, where="record"):
    if "type" in schema and not is_kind(value, schema["type"]):
        yield f"{where}: {json.dumps(value)[:60]} is no {schema['type']}"
        return
    yield from limits(schema, value, where)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in value:
            if name in known:
                yield from errors(known[name], value[name], f"{where}.{name}")
            elif schema.get("additionalProperties", True) is False:
                yield f"{where}: {name} is not in the schema"
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            yield from errors(schema["items"], item, f"{where}[{i}]")


def inconsistencies(record):
    rates = {c["name"]: c["value"] for c in record["ceilings"]}
    for ceiling in record["ceilings"]:
        if abs(statistics.median(ceiling["samples"]) / ceiling["value"] - 1) > 1e-9:
            yield f"{ceiling['name']}: not the median of its samples"
    for row in record["rows"]:
        if abs(statistics.median(row["samples"]) / row["seconds"] - 1) > 1e-9:
            yield f"{row['name']}: not the median of its samples"
        if "share" in row:
            if row["ceiling"] not in rates:
                yield f"{row['name']}: there is no ceiling {row['ceiling']}"
                continue
            copied, read = row["ceiling"].startswith("copy"), row["ceiling"].startswith("reads")
            amount = row["bytes" if copied else "reads" if read else "operations"]
            if abs(amount / row["seconds"] / rates[row["ceiling"]] / row["share"] - 1) > 1e-6:
                yield f"{row['name']}: a share of {row['share']} does not follow from its time"


def main():
    schema = json.load(open(sys.argv[1], encoding="utf-8"))
    wrong = 0
    for path in sys.argv[2:]:
        record = json.load(open(path, encoding="utf-8"))
        found = list(errors(schema, record)) or list(inconsistencies(record))
        for error in found[:8]:
            print(f"{path}: {error}", file=sys.stderr)
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
