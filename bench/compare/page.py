# SPDX-License-Identifier: Apache-2.0
"""The comparison as one HTML page: no scripts, no network, light and dark, on paper too. Every text of a
record is escaped."""
import os
import re

from compare import bars, cells, roofline
from compare.match import NOTHING, SECONDS
from compare.svg import key
from compare.text import html, percent

_HERE = os.path.dirname(os.path.abspath(__file__))
# Beside this file where it is installed; in the sources where the library has it.
_STYLES = [os.path.join(_HERE, name) for name in ("page.css", "../../src/report/page.css")]
_STYLE = """\
.key{white-space:nowrap;font-weight:650}.legend .key{margin-right:.2em}
svg .strong{font-weight:650}
svg .pointname,svg .roofname{font-size:11px;paint-order:stroke;stroke:var(--bg);stroke-width:3px;\
stroke-linejoin:round}
svg .roofname{fill:var(--soft);font-weight:600}
.roof{stroke:var(--ink);stroke-width:1.6}.roof.lower{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:5 3}
.devices th,.devices td{padding-left:.45rem;padding-right:.45rem}.devices th,td.free{overflow-wrap:anywhere}\
td.free{white-space:normal;min-width:8.5rem}td.short{min-width:3.2rem}
.edge{padding-left:1.8rem}th.device{padding-left:1.8rem;white-space:normal}
.device .light{font-weight:400;font-size:.92em}
tbody th.part{padding-left:1rem;color:var(--soft)}
.group{font-weight:650!important;padding-top:.9rem!important}
.holds{color:var(--good)}.fails{color:var(--bad)}
@media print{.roofs{margin:.4rem 0}.roofs svg:not(.keymark){max-height:66mm}\
.edge,.device{padding-left:1.1rem}}
"""


def _style():
    """That of all pages of clvox, and what is of this one alone."""
    path = next(path for path in _STYLES if os.path.exists(path))
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^/\*.*?\*/\n", "", file.read(), flags=re.M | re.S) + _STYLE


def _short(matched):
    """What a reader came for, in sentences."""
    out = '<ul class="plain">\n'
    for i, record in enumerate(matched.records):
        operations, rows = matched.mean(i, "kernels")
        share, shares = matched.mean_share(i, "kernels")
        whole, pipelines = matched.mean(i, "pipelines")
        words = ""
        if i and pipelines:
            words += f"pipelines run {cells.speed(whole)} as fast as on A"
        if i and rows:
            words += (", operations " if words else "operations run ") + cells.speed(operations)
            words += "" if pipelines else " as fast as on A"
        if shares:
            words += ("; " if words else "") + (
                f"operations reach {percent(share)} of their ceilings on average over {shares} rows")
        if not words:
            words = f"{len(record.rows)} rows{', none of them in A too' if i else ''}"
        out += f"<li>{key(i)} {html(record.device.name)}: {words}.</li>\n"
    return out + "</ul>\n" + bars.speeds(matched)


def _notes(matched):
    lines, rows = matched.lines, [row for line in matched.lines for row in line.there()]
    unverified, alike = sum(not row.verified for row in rows), sum(sum(line.alike) for line in lines)
    nothing, variants = sum(line.basis == NOTHING for line in lines), sum(sum(line.more) for line in lines)
    rates = sum(line.basis not in (SECONDS, NOTHING) for line in lines)
    alone = sum(None in line.rows for line in lines)
    notes = [
        (True,
         "Time is the median of the samples by the wall clock, one call. Spread is the distance between "
         "the quartiles over the median."),
        (True,
         "Of roof: the share of the ceiling that bounds the row. Ceilings are measured, not taken from "
         "data sheets. Bytes are those that must cross device memory, each input read once and each output "
         "written once; a multiply-add is two operations."),
        (matched.count > 1,
         "Speed: how many times as fast as record A, so above 1 is faster."),
        (alike,
         f"~ stands at {alike} speeds where the quartiles of both sets of samples overlap: they show no "
         "difference."),
        (rates,
         f"* stands where sizes differ between records ({rates} rows). Then the time for the same work is "
         "compared: an operation where all records state operations, else a byte that must be moved, else "
         "a voxel. What a call costs at any size, and caches that hold small volumes, are in it: such "
         "speeds say less than those of equal sizes."),
        (nothing,
         f"{nothing} rows have other sizes in other records, and nothing says how their work grows; no "
         "speed is given."),
        (alone,
         f"{alone} rows are not in every record (–): not run, or not possible, there."),
        (variants,
         f"{variants} further variants and tiles of these rows are under “As recorded”. An operation is "
         "represented by the first, which the planner chose; a line of a paper by the one with the paper's "
         "figure, else by the fastest."),
        (unverified,
         f"<b>!</b> stands at {unverified} times whose results were not compared with the reference's."),
        (lines and not unverified,
         "Every result was compared with the reference's before its time was taken."),
        (roofline.has_any(matched),
         "Rooflines (Williams, Waterman and Patterson, 2009): the left plots have the rows that state both "
         "operations and bytes, the right ones those that state bytes only, under the copy's bandwidth "
         "and, slanted, the time that the launch of a kernel takes. Rows that another ceiling bounds, such "
         "as a copy within the host, are in neither. All records have the same axes. A plot that is "
         "missing has no rows."),
        (True,
         "Every number can be traced to the records named above, which hold each sample.")]
    return f"<ul>\n{''.join(f'<li>{note}</li>{chr(10)}' for wanted, note in notes if wanted)}</ul>\n"


def _parts(matched):
    """(name, word of the navigation, title, sentence, content) of each section that has something to show."""
    several, lines = matched.count > 1, bool(matched.lines)
    yield "devices", "Devices", "Devices", "", cells.devices(matched)
    if lines:
        yield "speed", "In short", "In short", "", _short(matched)
    if "pipelines" in matched.groups:
        yield "pipelines", "Pipelines", "Pipelines", (
            "Each pipeline has an axis of its own that begins at 0; shorter is faster. The last column is "
            "the speed relative to A."
            if several else ""), bars.pipelines(matched)
    if any(line.has_share() for line in matched.lines):
        yield "shares", "Shares of ceilings", "Shares of ceilings", "", bars.shares(matched)
    if roofline.has_any(matched):
        yield "roofs", "Rooflines", "Rooflines", "", roofline.rooflines(matched)
    if any(line.is_paper for line in matched.lines):
        yield "papers", "The papers", "The papers’ comparisons", "", cells.papers(matched)
    if lines:
        yield "lines", "All rows", "All rows", "", cells.all_lines(matched)
        yield "records", "As recorded", "As recorded", "", cells.all_rows(matched)
    yield "notes", "How to read this", "How to read this", "", _notes(matched)


def page(matched, version):
    """The whole page; version: of the clvox that it was made by."""
    parts = list(_parts(matched))
    names = ", ".join(html(record.device.name) for record in matched.records)
    heading = f"{matched.count} records beside one another" if matched.count > 1 else "one record"
    relative = "Speeds are relative to record A." if matched.count > 1 else ""
    navigation = "".join(f'<a href="#{name}">{short}</a>' for name, short, *_ in parts)
    sections = ""
    for name, _, title, words, content in parts:
        sentence = f'<p class="light">{words}</p>\n' if words else ""
        sections += (f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n{sentence}{content}'
                     "</section>\n")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        'style-src \'unsafe-inline\'; img-src data:">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>clvox bench: {names}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<header>\n"
        f"<h1>clvox bench, {heading}</h1>\n"
        f'<p class="light">Made by <code>clvox bench compare</code> {version} '
        f"from what <code>clvox bench --json</code> recorded. {relative}</p>\n"
        f'<nav aria-label="Sections">{navigation}</nav>\n</header>\n'
        f"<main>\n{sections}</main>\n</body>\n</html>\n")
