# SPDX-License-Identifier: Apache-2.0
"""Reads records. They may come from anybody: every member is checked, and text that could steer a terminal is
made harmless here, once for all outputs."""
import json
import math
import os
import re
import stat
from types import SimpleNamespace

from compare.text import clean

SCHEMA = 1  # of doc/bench-schema.json; raised when a reader of an older record would misunderstand a new one
GROUPS = ("pipelines", "kernels", "nlm", "lee2012", "moazeni2009", "ha2011", "mueller2008")
_BYTES, _ROWS, _CEILINGS, _NAME, _TEXT = 64 << 20, 10000, 1000, 120, 1000
_LEAST, _MOST = 1e-30, 1e30  # of what is measured, so that quotients of it are numbers, too
_TILE = re.compile(r"[0-9]+x[0-9]+x[0-9]+(,[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


class Refused(Exception):
    """One sentence for the user."""


class Part:
    """An object of a record. What it leaves out is "" or NaN, where it may be left out."""

    def __init__(self, path, where, members):
        self.path, self.where = path, where
        self.members = members if isinstance(members, dict) else {}

    def wrong(self, name, what):
        return Refused(f"{self.path}: {self.where}{name} is {what}; the record is damaged, or was changed by "
                       "hand")

    def has(self, name):
        return name in self.members

    def member(self, name):
        if name not in self.members:
            raise self.wrong(name, "missing")
        return self.members[name]

    def text(self, name, needed=True, most=_NAME):
        if not needed and not self.has(name):
            return ""
        value = self.member(name)
        if not isinstance(value, str):
            raise self.wrong(name, "not text")
        return clean(value, most)

    def word(self, name):
        """Text that is not empty."""
        value = self.text(name)
        if not value:
            raise self.wrong(name, "empty")
        return value

    def number(self, name, needed=True, least=_LEAST):
        """At least that; numbers are floats, as decode() has them."""
        if not needed and not self.has(name):
            return math.nan
        value = self.member(name)
        if not isinstance(value, float) or not least <= value < math.inf:
            raise self.wrong(name, "not a number above 0" if least > 0 else "not a number from 0 on")
        if value > _MOST:
            raise self.wrong(name, "too large a number")
        return value

    def whole(self, name, needed=True, least=0):
        value = self.number(name, needed, least)
        if not math.isnan(value) and value != math.floor(value):
            raise self.wrong(name, "not a whole number")
        return value

    def truth(self, name):
        value = self.member(name)
        if not isinstance(value, bool):
            raise self.wrong(name, "neither true nor false")
        return value

    def size(self):
        value = self.member("size")
        if not isinstance(value, list) or len(value) != 3 or not all(
                isinstance(edge, float) and 1 <= edge < 2 ** 31 and edge == math.floor(edge)
                for edge in value):
            raise self.wrong("size", "not three whole numbers above 0")
        return tuple(map(int, value))

    def quartiles(self, of, value):
        """Of the samples of `of`, whose value must be their median; and their count."""
        samples = self.member("samples")
        if not isinstance(samples, list) or not samples or not all(
                isinstance(sample, float) and 0 < sample < math.inf for sample in samples):
            raise self.wrong("samples", "not a list of numbers above 0")
        samples = sorted(samples)
        if not abs(quantile(samples, 0.5) - value) <= 1e-6 * value:
            raise self.wrong(of, "not the median of its samples")
        return quantile(samples, 0.25), quantile(samples, 0.75), len(samples)

    def objects(self, name, most):
        """A list of objects, of at most so many."""
        value = self.members.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "not a list")
        if len(value) > most:
            raise self.wrong(name, "endless")
        if not all(isinstance(item, dict) for item in value):
            raise self.wrong(name, "not a list of objects")
        return [Part(self.path, f"{name}[{number}].", item) for number, item in enumerate(value)]


def quantile(values, share):
    """Where a share (0.25: the first quartile) of sorted values lies, linear between them."""
    at = share * (len(values) - 1)
    below = int(at)
    above = min(below + 1, len(values) - 1)
    return values[below] + (at - below) * (values[above] - values[below])


# ---- parts ---------------------------------------------------------------------

def _paper(part):
    value = part.number("value", False, 0)
    return SimpleNamespace(
        value=value if value > 0 else math.nan,  # the paper may give no figure
        here=part.number("here", False), unit=part.text("unit"), device=part.text("device"),
        conclusion=part.text("conclusion", most=_TEXT), holds=part.truth("holds"))


def _row(part):
    row = SimpleNamespace(
        group=part.word("group"), name=part.word("name"), size=part.size(),
        variant=part.text("variant", False),
        tile=part.text("tile", False), seconds=part.number("seconds"), spread=part.number("spread", least=0))
    row.low, row.high, row.samples = part.quartiles("seconds", row.seconds)
    for name in "device_seconds", "bytes", "operations", "reads":
        setattr(row, name, part.number(name, False))
    row.ceiling, row.share = part.text("ceiling", False), part.number("share", False)
    row.registers, row.occupancy = part.whole("registers", False, 1), part.number("occupancy", False)
    row.limit, row.verified = part.text("limit", False), part.truth("verified")
    row.remark = part.text("remark", False, _TEXT)
    row.paper = _paper(Part(part.path, part.where + "paper.",
                            part.member("paper"))) if part.has("paper") else None
    if row.group not in GROUPS:
        raise part.wrong("group", "none that this version knows")
    if row.tile and not _TILE.fullmatch(row.tile):
        raise part.wrong("tile", "not of the form 32x8x1 or 32x8x1,16")
    if math.isfinite(row.share) and not row.ceiling:
        raise part.wrong("share", "without a ceiling")
    if row.occupancy > 1:
        raise part.wrong("occupancy", "above 1")
    return row


def _ceiling(part):
    ceiling = SimpleNamespace(name=part.word("name"), unit=part.text("unit"), value=part.number("value"))
    part.quartiles("value", ceiling.value)
    if ceiling.unit not in ("B/s", "FLOP/s", "s", "1/s"):
        raise part.wrong("unit", "none of B/s, FLOP/s, s and 1/s")
    return ceiling


def _device(part):
    device = SimpleNamespace(**{name: part.text(name) for name in (
        "name", "vendor", "platform", "driver", "version", "architecture", "type")})
    for name in "compute_units", "clock_mhz", "global_bytes", "local_bytes":
        setattr(device, name, part.whole(name))  # 0: unknown
    if device.type not in ("cpu", "gpu", "accelerator"):
        raise part.wrong("type", "none of cpu, gpu and accelerator")
    device.name = device.name or "nameless device"
    return device


def _remarks(top):
    """What could not be measured there, and why; a record without any leaves them out."""
    value = top.members.get("remarks", [])
    if not isinstance(value, list) or len(value) > _CEILINGS:
        raise top.wrong("remarks", "not a list")
    if not all(isinstance(item, str) for item in value):
        raise top.wrong("remarks", "not a list of sentences")
    return [clean(item, _TEXT) for item in value]


def _check_kind(top, program):
    """Whether this is a record, and one that this version understands."""
    path, tree = top.path, top.members
    writes = "`clvox bench --json FILE` writes records"
    if tree.get("program") != "clvox":
        raise Refused(f"{path}: is JSON, but not from clvox; {writes}")
    if tree.get("verb") != "bench":
        raise Refused(f"{path}: is the log of another verb of clvox; {writes}")
    if "comparison" in tree:
        raise Refused(f"{path}: is a comparison of records, not a record; name what it compared")
    version = top.text("version")
    if "schema" not in tree:
        raise Refused(f"{path}: was made by clvox bench before records had a schema (version {version}); run "
                      "the bench again")
    schema = tree["schema"] if isinstance(tree["schema"], float) else 0
    if schema != SCHEMA:
        raise Refused(f"{path}: has schema {schema:.6g}, from clvox {version}; this is {program}, which "
                      f"reads schema {SCHEMA}")


# ---- a file --------------------------------------------------------------------

def _contents(path):
    try:
        # A pipe must not be waited for.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                kind = "a directory" if stat.S_ISDIR(info.st_mode) else "a pipe or a device"
                raise Refused(f"{path}: is {kind}, not a file")
            if info.st_size > _BYTES:
                raise Refused(f"{path}: is too large ({info.st_size} bytes) for a file of this kind")
            return file.read()
    except OSError as error:
        if os.path.isdir(path):
            raise Refused(f"{path}: is a directory, not a file") from None
        raise Refused(f"{path}: cannot be opened ({error.strerror})") from None


def _first_of(pairs):
    """Where a name stands twice, what it stands for first."""
    return dict(reversed(pairs))


def _no_number(word):
    raise ValueError(f"{word} is not JSON")


def decode(contents):
    """The object that JSON holds, all numbers as floats; None: it is none."""
    try:
        tree = json.loads(contents.decode("utf-8", "surrogateescape").removeprefix("\ufeff"), strict=False,
                          parse_int=float,
                          parse_constant=_no_number, object_pairs_hook=_first_of)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) and b"\0" not in contents else None


def record(path, version="", contents=None):
    """The record of a file, or Refused. version: of the clvox that reads it."""
    tree = decode(_contents(path) if contents is None else contents)
    if tree is None:
        raise Refused(f"{path}: is not a JSON object, or was cut off; `clvox bench --json FILE` writes "
                      "records")
    top = Part(path, "", tree)
    _check_kind(top, f"clvox {version}".strip())
    out = SimpleNamespace(path=path, file=clean(os.path.basename(path) or path, _NAME),
                          version=top.word("version"),
                          sources=top.text("sources", False))  # the kernels' hash, "" in records of before
    if out.sources and not re.fullmatch("[0-9a-f]{16}", out.sources):
        raise top.wrong("sources", "not 16 hexadecimal digits")
    out.date = top.text("date")
    if not _DATE.fullmatch(out.date):
        raise top.wrong("date", "not of the form 2026-11-22T18:00:00Z")
    out.device = _device(Part(path, "device.", top.member("device")))
    out.remarks = _remarks(top)
    ceilings, rows = top.objects("ceilings", _CEILINGS), top.objects("rows", _ROWS)
    out.ceilings = {}
    for part in ceilings:
        ceiling = _ceiling(part)
        if ceiling.name in out.ceilings:
            raise part.wrong("name", "that of another ceiling as well")
        out.ceilings[ceiling.name] = ceiling
    out.rows = [_row(part) for part in rows]
    if not out.rows and not out.ceilings:
        raise Refused(f"{path}: holds neither ceilings nor rows; was the bench interrupted?")
    return out
