# SPDX-License-Identifier: Apache-2.0
"""Arguments, and where results go."""
import argparse
import json
import os
import sys
import tempfile

from compare import match, page, read, table

ABOUT = """Puts records that `clvox bench --json` wrote on any devices beside one another: each row's
time, how many times as fast as in the first record, and its share of the ceiling that was
measured on the same device. Two records of one device are before and after.
Where sizes differ, time for the same work is compared and marked."""


def answer(paths, markdown, with_page, version):
    """Table, page ("": none) and comparison, or read.Refused."""
    matched = match.Matched([read.record(path, version) for path in paths])
    text = (table.MARKDOWN[markdown] if markdown else table.terminal)(matched)
    if not text:
        raise read.Refused(
            ("none of the records has " if len(paths) > 1 else "the record lacks ") +
            ("what a paper concludes" if markdown == "papers" else "rows of operations or pipelines") +
            f"; give records of `clvox bench{' papers' if markdown == 'papers' else ''} --json FILE`")
    return {"table": text, "page": page.page(matched, version) if with_page else "",
            "comparison": match.comparison(matched)}


def _keep(path, text, records):
    """The whole file or none, and never in a record's place."""
    if any(os.path.exists(path) and os.path.samefile(path, record) for record in records):
        raise read.Refused(f"{path}: would be overwritten, and is an input")
    part = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(path) or ".",
                                         delete=False) as out:
            part = out.name
            out.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except OSError as error:
        if part:
            os.remove(part)
        raise read.Refused(f"{path}: cannot be written ({error.strerror})") from None


def main(words):
    parser = argparse.ArgumentParser(prog="clvox bench compare", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", metavar="A.json")
    parser.add_argument("-o", "--output", metavar="PAGE.html",
                        help="also a page with plots, in one file that needs no network")
    parser.add_argument("--markdown", choices=list(table.MARKDOWN), help="print a table for a README instead")
    parser.add_argument("--answer", metavar="VERSION", help=argparse.SUPPRESS)
    # Behind -- names may begin with -, which intermixed ones may not.
    asked = parser.parse_args(words) if "--" in words else parser.parse_intermixed_args(words)
    if len(asked.records) > match.MOST:
        parser.error(f"at most {match.MOST} records can be compared")
    out = sys.stdout.buffer
    try:
        made = answer(asked.records, asked.markdown, asked.output is not None, asked.answer or "")
        if asked.output is not None and asked.answer is None:
            _keep(asked.output, made["page"], asked.records)
    except read.Refused as error:
        if asked.answer is None:
            print(f"clvox bench compare: {error}", file=sys.stderr)
        else:
            made = {"error": str(error)}
            out.write(json.dumps(made, ensure_ascii=False).encode("utf-8", "surrogateescape"))
        return 1
    text = made["table"] if asked.answer is None else json.dumps(made, ensure_ascii=False, allow_nan=False)
    out.write(text.encode("utf-8", "surrogateescape"))
    return 0
