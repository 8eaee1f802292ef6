# SPDX-License-Identifier: Apache-2.0
"""The page's tables."""
import math

from compare.match import NOTHING, SECONDS, TITLES, common_size, letter, unit
from compare.svg import key, scroll
from compare.text import binary, html, percent, ratio, rounded, si, size

_UNVERIFIED = '<abbr class="mk" title="not compared with the reference">!</abbr>'
_ALIKE = '<abbr class="mk" title="the quartiles of the samples overlap">~</abbr>'
_UNKNOWN = "–"


def number(value):
    return rounded(value) if math.isfinite(value) else _UNKNOWN


def speed(value):
    return ratio(value, "×") if math.isfinite(value) else _UNKNOWN


def _cell(text, style="", more=""):
    """Of markup."""
    kind = f' class="{style}"' if style else ""
    return f"<td{kind}{more}>{text}</td>"


def _heads(*texts):
    """Of columns; "n:" before those of numbers."""
    return "".join(f'<th scope="col" class="n">{text[2:]}</th>' if text.startswith("n:")
                   else f'<th scope="col">{text}</th>'
                   for text in texts)


def _name(line):
    """A row's heading, with the size where that is needed."""
    style = ' class="part"' if line.is_variant or line.is_stage else ""
    own = f" <small>{size(line.own_size(), '×')}</small>" if line.own_size() else ""
    return f'<tr><th scope="row"{style}>{html(line.name)}{own}</th>'


def _device(matched, i, columns):
    return (f'<th scope="colgroup" colspan="{columns}" class="device">{key(i)} <span class="light">'
            f"{html(matched.records[i].device.name)}</span></th>")


# ---- devices -------------------------------------------------------------------

def _known(value, after=""):
    """A whole number; the schema has 0 for unknown."""
    return f"{value:.0f}{after}" if value > 0 else _UNKNOWN


def devices(matched):
    out = ('<table class="devices">\n<caption>The records and the devices that they were made '
           'on</caption>\n<thead><tr><td></td>' +
           _heads("Device", "Kind", "n:Units", "n:Clock", "n:Memory", "n:Local", "Platform", "Driver",
                  "clvox", "Date", "Record") +
           "</tr></thead>\n<tbody>\n")
    for i, r in enumerate(matched.records):
        d = r.device
        made_by = html(d.vendor) + (f", {html(d.architecture)}" if d.architecture else "")
        cells = [_cell(key(i)), f'<th scope="row">{html(d.name)}<br><small>{made_by}</small></th>',
                 _cell(html(d.type)),
                 _cell(_known(d.compute_units), "n"), _cell(_known(d.clock_mhz, " MHz"), "n")]
        cells += [_cell(binary(count) if count > 0 else _UNKNOWN, "n")
                  for count in (d.global_bytes, d.local_bytes)]
        cells += [_cell(html(text) or _UNKNOWN, style) for text, style in (
            (d.platform, "free"), (d.driver, "free"), (f"{r.version[:40]} {r.sources[:6]}", "free short"),
            (r.date[:10], ""), (r.file, "free"))]
        out += f"<tr>{''.join(cells)}</tr>\n"
    out = scroll("Table of devices", out + "</tbody></table>")
    out += "".join(f"<p>{key(i)} {html(remark)}</p>\n" for i, r in enumerate(matched.records)
                   for remark in r.remarks)
    return out + (_ceilings(matched) if matched.ceilings() else "")


def _ceiling_ratio(here, first):
    """How many times as fast: a rate is better where it is higher, a time where it is lower. NaN: cannot be
    compared."""
    if not here or not first or here.unit != first.unit:
        return math.nan
    return first.value / here.value if here.unit == "s" else here.value / first.value


def _ceilings(matched):
    relative = ""
    if matched.count > 1:
        relative = "; behind it, relative to A: above 1 is faster, also where a time is stated"
    heads = "".join(_device(matched, i, 2 if i else 1) for i in range(matched.count))
    out = ("<table>\n<caption>What each device reaches at most, measured in the same run as its "
           f"rows{relative}.</caption>\n"
           f"<thead><tr>{_heads('Ceiling')}{heads}</tr></thead>\n<tbody>\n")
    for name in matched.ceilings():
        here = [r.ceilings.get(name) for r in matched.records]
        out += f'<tr><th scope="row">{html(name)}</th>'
        for i, ceiling in enumerate(here):
            out += _cell(si(ceiling.value, ceiling.unit) if ceiling else _UNKNOWN, "n edge")
            out += _cell(speed(_ceiling_ratio(ceiling, here[0])), "n light") if i else ""
        out += "</tr>\n"
    return scroll("Table of ceilings", out + "</tbody></table>")


# ---- lines ---------------------------------------------------------------------

def _time(row):
    if not row:
        return _cell(_UNKNOWN, "n edge")
    return _cell(rounded(row.seconds * unit(row.group)[1]) + ("" if row.verified else _UNVERIFIED), "n edge")


def _speed(line, i):
    if line.rows[0] and line.rows[i] and line.by[i] == NOTHING:
        return _cell("sizes", "n")
    text = speed(line.speed[i])
    if math.isfinite(line.speed[i]):
        text += _ALIKE if line.alike[i] else ""
        if line.by[i] != SECONDS:
            text += f'<abbr class="mk" title="sizes differ: {line.by[i]}">*</abbr>'
    return _cell(text, "n")


def _share(row):
    of = f' title="of {html(row.ceiling)}"' if row and row.ceiling else ""
    return _cell(percent(row.share) if row and math.isfinite(row.share) else _UNKNOWN, "n light", of)


def _head(matched, group):
    sizes, indices = matched.group_sizes(group), range(matched.count)
    common = common_size(sizes)
    told = f", {size(common, '×')}" if common else "".join(
        f", {letter(i)} at {size(own, '×')}" for i, own in enumerate(sizes) if own)
    keys = "".join(_device(matched, i, 3 if i else 2) for i in indices)
    columns = "".join('<th scope="col" class="n edge">time</th>' + (_heads("n:speed") if i else "") +
                      _heads("n:of roof") for i in indices)
    return (f"<table>\n<caption><b>{html(TITLES[group])}</b>{told}; times in "
            f"{'seconds' if group == 'pipelines' else 'milliseconds'}</caption>\n<thead><tr><td></td>"
            f"{keys}</tr>\n<tr>{_heads('Row')}{columns}</tr></thead>\n<tbody>\n")


def _means(matched, group):
    out = '<tfoot><tr><th scope="row">Geometric mean</th>'
    for i in range(matched.count):
        share, shares = matched.mean_share(i, group)
        out += _cell("", "edge") + (_cell(speed(matched.mean(i, group)[0]), "n") if i else "")
        out += _cell(percent(share) if shares else _UNKNOWN, "n light")
    return out + "</tr></tfoot>"


def _lines(matched, group):
    out, lines = _head(matched, group), matched.groups[group]
    for line in lines:
        out += _name(line)
        for i, row in enumerate(line.rows):
            out += _time(row) + (_speed(line, i) if i else "") + _share(row)
        out += "</tr>\n"
    out += "</tbody>"
    if not lines[0].is_paper and matched.mean(0, group)[1] > 1:
        out += _means(matched, group)
    return scroll(f"Table of rows: {TITLES[group]}", out + "</table>")


def all_lines(matched):
    return "".join(_lines(matched, group) for group, lines in matched.groups.items() if not lines[0].is_paper)


# ---- papers --------------------------------------------------------------------

def _finding(line):
    told = line.told()
    figure = f"{told.value:.6g}" if math.isfinite(told.value) else "none; here"
    out = _name(line) + _cell(f"{figure} {html(told.unit)}") + _cell(html(told.device))
    out += _cell(html(told.conclusion), "wide")
    for row in line.rows:
        if not row or not row.paper:
            out += _cell(_UNKNOWN, "light edge")
            continue
        here = f"{rounded(row.paper.here)} " if math.isfinite(row.paper.here) else ""
        told, style = ("✓ holds", "holds") if row.paper.holds else ("✗ does not hold", "fails")
        out += _cell(here + told, style + " edge")
    return out + "</tr>\n"


def _findings(matched, group):
    """Each statement of a paper with the figure, and what holds where."""
    lines = [line for line in matched.groups[group] if line.told()]
    if not lines:
        return ""
    keys = "".join(f'<th scope="col" class="device">{key(i)}</th>' for i in range(matched.count))
    return scroll(
        f"Table of findings: {TITLES[group]}",
        '<table class="findings">\n<caption>What the paper found, and whether it holds '
        'here</caption>\n<thead><tr>'
        + _heads("Row", "The paper's figure", "Its device", "Its conclusion") +
        f"{keys}</tr></thead>\n<tbody>\n{''.join(map(_finding, lines))}</tbody></table>")


def papers(matched):
    return "".join(f"<h3>{html(TITLES[group])}</h3>\n{_findings(matched, group)}{_lines(matched, group)}"
                   for group, lines in matched.groups.items() if lines[0].is_paper)


# ---- rows ----------------------------------------------------------------------

def _row(r):
    def known(value, text):
        return text(value) if math.isfinite(value) else _UNKNOWN
    remark = f"<br><small>{html(r.remark)}</small>" if r.remark else ""
    return (f'<tr><th scope="row">{html(r.name)}{remark}</th>' + "".join((
        _cell(size(r.size, "×"), "n"), _cell(html(r.variant) or _UNKNOWN), _cell(r.tile or _UNKNOWN),
        _cell(si(r.seconds, "s") + ("" if r.verified else _UNVERIFIED), "n"),
        _cell(known(r.device_seconds, lambda seconds: si(seconds, "s")), "n"),
        _cell(f"{100 * min(r.spread, 1e6):.1f}%", "n"), _cell(r.samples, "n"),
        _cell(known(r.bytes / r.seconds, lambda rate: si(rate, "B/s")), "n"),
        _cell(known(r.operations / r.seconds, lambda rate: si(rate, "FLOP/s")), "n"), _share(r),
        _cell(known(r.registers, lambda count: f"{min(count, 1e6):.0f}"), "n"),
        _cell(known(r.occupancy, percent), "n"),
        _cell(html(r.limit) or _UNKNOWN))) + "</tr>\n")


def all_rows(matched):
    """As each record has them."""
    out = ""
    for i, r in enumerate(matched.records):
        table = (f'<table class="small">\n<caption>{key(i)} <b>{html(r.device.name)}</b>, '
                 f'{html(r.file)}</caption>\n<thead><tr>' +
                 _heads("Row", "n:size", "variant", "tile", "n:median", "n:device", "n:spread", "n:samples",
                        "n:bytes", "n:operations", "n:of roof", "n:registers", "n:occupancy", "limit") +
                 "</tr></thead>\n")
        last = None
        for row in r.rows:
            if row.group != last:
                table += ("</tbody>\n" if last else "") + "<tbody>\n"
                title = html(TITLES[row.group])
                table += f'<tr><th scope="rowgroup" colspan="14" class="group">{title}</th></tr>\n'
                last = row.group
            table += _row(row)
        if r.rows:
            out += scroll(f"Table of what was recorded, {letter(i)}: {r.device.name}",
                          table + "</tbody></table>")
    return out
