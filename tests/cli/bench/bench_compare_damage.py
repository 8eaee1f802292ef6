#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile records in the Python of `clvox bench compare`: bench_compare_damage.py BENCH [SECONDS]

Each is refused in one sentence, or makes tables without control characters and a page without markup but
its own. Members are left out, have other types and other numbers; bytes are cut, changed and exchanged,
from a seed (default: for 4 s)."""
import copy
import json
import math
import random
import sys
import time
from html.parser import HTMLParser

sys.path.insert(0, sys.argv[1])
from compare import match, page, read, table  # noqa: E402  pylint: disable=wrong-import-position

ELEMENTS = set("""html head meta link title style body header h1 h2 h3 h4 p code nav a main section div table
    caption thead tbody tfoot tr th td small br ul li b abbr figure figcaption svg g line rect circle polygon
    text span""".split())
OTHERS = [None, True, "", "text", "\u202e\x1b[31m<script>", "x" * 5000, "\ud800", [], [1], {}, {"name": 1},
          0, -1, -0.0, .5, 1, 2 ** 31, 1e-300, 1e300, 10 ** 400, math.nan, math.inf, -math.inf]
DEVICE = {"name": "a", "vendor": "b", "platform": "c", "driver": "d", "version": "e", "architecture": "",
          "type": "gpu", "compute_units": 4, "clock_mhz": 1000, "global_bytes": 1e9, "local_bytes": 32768}
ROW = {"group": "kernels", "name": "force, \u00b5", "size": [9, 8, 7], "variant": "march", "tile": "8x8x1,4",
       "seconds": 1e-3, "spread": 0.1, "samples": [1e-3, 9e-4, 1.1e-3], "device_seconds": 9e-4, "bytes": 1e6,
       "operations": 1e7, "ceiling": "copy", "share": 0.5, "registers": 32, "occupancy": 0.5,
       "limit": "registers", "verified": True, "remark": "<b>",
       "paper": {"value": 3, "here": 2, "unit": "times", "device": "GTX 480", "conclusion": "it is so",
                 "holds": True}}
BYTES = {k: v for k, v in ROW.items() if k not in ("operations", "paper")}
CEILINGS = {"copy": "B/s", "local memory": "B/s", "multiply-add fp32": "FLOP/s", "launch": "s",
            "atomics": "1/s"}
WHOLE = {
    "program": "clvox", "version": "1", "verb": "bench", "schema": 1, "sources": "0123456789abcdef",
    "date": "2026-11-21T19:00:00Z", "command": ["clvox", "bench"], "device": DEVICE, "remarks": ["so"],
    "ceilings": [{"name": name, "unit": unit, "value": 1e10, "samples": [1e10]}
                 for name, unit in CEILINGS.items()],
    "rows": [*({**ROW, "group": group} for group in ("kernels", "pipelines", "nlm", "lee2012", "lee2012")),
             {**BYTES, "name": "copy"}, {**BYTES, "name": "copy", "size": [1, 1, 1]},
             {**ROW, "name": "  force/march 8x8x1"}, {**ROW, "group": "pipelines", "name": "register: level"},
             {**ROW, "group": "ha2011", "seconds": 1e-9, "samples": [1e-9]}]}


class Page(HTMLParser):
    """What a page has that it must not have, and whether it is whole."""

    def __init__(self, text):
        super().__init__()
        self.foreign, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in ELEMENTS or any(name.startswith("on") or
                                      (name == "href" and value[:1] not in ("#", "d"))
                                      for name, value in attrs):
            self.foreign.append((tag, attrs))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag not in ELEMENTS:
            self.foreign.append((tag, attrs))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.foreign.append("/" + tag)


def complaint(contents):
    """Why this record, beside itself with other sizes, is treated wrongly; None: it is not. "": it was
    refused."""
    try:
        first, other = (read.record("<r>.json", "1", contents) for _ in range(2))
    except read.Refused as error:
        said = str(error)
        return "" if said.startswith("<r>.json: ") and said.isprintable() else f"the sentence is {said!r}"
    for row in other.rows[::2]:
        row.size = (1 + row.size[0] // 2, *row.size[1:])
    for records in [first], [first, other]:
        matched = match.Matched(records)
        texts = [table.terminal(matched), *(make(matched) for make in table.MARKDOWN.values())]
        harmful = [c for text in texts for c in text if not c.isprintable() and c not in "\n\xa0\u3000"]
        if harmful:
            return f"it prints {harmful[0]!r}"
        html = Page(page.page(matched, "1"))
        if html.foreign or html.open:
            return f"the page has {(html.foreign or html.open)[:3]}"
        json.dumps(match.comparison(matched), allow_nan=False)
    return None


def places(value, way=()):
    """The ways to all members."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield way + (name,)
        yield from places(item, way + (name,))


def changed(way, *new):
    """The whole record with another value, or without the member."""
    out = copy.deepcopy(WHOLE)
    at = out
    for name in way[:-1]:
        at = at[name]
    if new:
        at[way[-1]] = new[0]
    else:
        del at[way[-1]]
    return json.dumps(out).encode()


def marked(value):
    """With markup in every text that is free."""
    if isinstance(value, dict):
        fixed = "program", "verb", "schema", "sources", "date", "type", "group", "tile"
        return {name: item if name in fixed or item in ("B/s", "FLOP/s", "s", "1/s") else marked(item)
                for name, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return value + "<script x='\">&<b>|*" if isinstance(value, str) else value


def spoilt(chance, contents):
    """Some bytes cut, changed or exchanged."""
    data = bytearray(contents)
    for _ in range(chance.randint(1, 4)):
        start, length = chance.randrange(len(data)), chance.choice((1, 1, 2, 9, 60))
        kind = chance.randrange(4)
        if kind == 0:
            del data[start:start + length]
        elif kind == 1:
            data[start:start] = data[chance.randrange(len(data)):][:length]
        elif kind == 2:
            data[start:start + length] = chance.randbytes(length)
        else:
            data[start:start + 1] = chance.choice((b'"', b"}", b"0", b"e9", b"-", b"NaN", b"\\u202e",
                                                   b"\xff", b"<", b"["))
        data = data or bytearray(b"{")
    return bytes(data)


def case(number, name, bad):
    for contents, why in bad[:5]:
        print(f"# {why}: {contents[:300]!r}")
    print(f"{'not ok' if bad else 'ok'} {number} - {name}")
    return bool(bad)


def tried(inputs):
    """Inputs with why they were treated wrongly; and how many were refused, of how many."""
    bad, refused, count = [], 0, 0
    for contents in inputs:
        try:
            why = complaint(contents)
        except Exception as error:  # pylint: disable=broad-except
            why = f"{type(error).__name__}: {error}"
        refused += why == ""
        count += 1
        if why:
            bad.append((contents, why))
    return bad, refused, count


def main_of_test():
    whole = json.dumps(WHOLE).encode()
    failures = case(1, "a record with every member is read",
                    [(whole, "refused")] if complaint(whole) is not None else [])
    ways = list(places(WHOLE))
    bad, refused, count = tried(changed(way) for way in ways)
    failures += case(2, f"each of {count} members missing, {refused} of them refused",
                     bad if refused > 100 else [(b"", "few")])
    bad, refused, count = tried(changed(way, other) for way in ways if len(way) < 3 or way[1] == 3
                                for other in OTHERS)
    failures += case(3, f"other types and numbers in {count} places, {refused} of them refused",
                     bad if refused > count / 2 else [(b"", "few")])
    odd = [b"", b"[" * 100000, b"{}", b"null", b"\xef\xbb\xbf" + whole, whole + b"x", whole[:-1],
           whole.replace(b"clvox", b"cl\0vox"),
           whole.replace(b'"seconds": 0.001', b'"seconds": NaN'),
           whole.replace(b'"name": "a"', b'"name": "\xc0\xaf\xed\xa0\x80"'),
           whole.replace(b'"name": "a"', b'"name": "a", "name": 3'),
           whole.replace(b'"name": "a"', b'"name": "\x01\x7f\xc2\x9b"')]
    bad, refused, count = tried(odd)
    failures += case(4, "no JSON, NaN, a mark of UTF-8, bytes that are no text, names that stand twice",
                     bad if refused == 8 else bad + [(b"", f"{refused} of {count} refused")])
    chance, end = random.Random(1), time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 4)

    def until_then():
        while time.monotonic() < end:
            yield spoilt(chance, whole)
    bad, refused, count = tried(until_then())
    failures += case(5, f"{count} times other bytes, {refused} of them refused", bad)
    cleaned = {"\u202e\x1b\xad\ufffe\U0001ffff\udc80a": "???" "?" "\xad" "???" "????" "?" "a",
               "\u00b5" * 100: "\u00b5" * 60}
    failures += case(6, "text is cleaned byte by byte and cut between characters", [
        (ascii(text), ascii(read.clean(text, 121))) for text, wanted in cleaned.items()
        if read.clean(text, 121) != wanted])
    text = json.dumps(marked(WHOLE)).encode()
    failures += case(7, "markup in every text stays text",
                     [(text, why) for why in [complaint(text)] if why is not None])
    eight = page.page(match.Matched([read.record("r.json", "1", whole)] * match.MOST), "1")
    failures += case(8, "as many records as there are marks",
                     [] if 'class="mark s7"' in eight else [(b"", "a mark is missing")])
    print("1..8")
    return failures > 0


sys.exit(main_of_test())
