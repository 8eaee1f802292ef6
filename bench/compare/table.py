# SPDX-License-Identifier: Apache-2.0
"""The comparison as text: for a terminal, and as Markdown for a README."""
import math

from compare.match import SECONDS, TITLES, common_size, letter, unit
from compare.text import binary, markdown, percent, ratio, rounded, si, size

_TIME, _RATIO, _SHARE, _CEILING, _NAME_LEAST, _NAME_MOST = 10, 10, 8, 14, 16, 46
_MARKS = {
    "~": "~ the quartiles of the samples overlap: no difference is shown.\n",
    "*": "* sizes differ: time for the same work (operations, else bytes, else voxels) is compared.\n",
    "sizes": "sizes: they differ, and nothing says how the work grows with them.\n",
    "!": "! the result was not compared with the reference's.\n"}


def _right(text, width):
    """At the right of so many characters, a blank before it at least."""
    return text.rjust(width) if len(text) < width else " " + text


def _time(line, row):
    return rounded(row.seconds * unit(line.group)[1] if row else math.nan)


# ---- a terminal ----------------------------------------------------------------

def _name_width(matched):
    widths = [len(line.name) + (14 if line.own_size() else 0) for line in matched.lines]
    widths += [len(name) for name in matched.ceilings()]
    return max([w for w in widths if w <= _NAME_MOST] + [_NAME_LEAST])


def _records(matched):
    for i, r in enumerate(matched.records):
        d = r.device
        units = f", {d.compute_units:.0f} compute units" if d.compute_units > 0 else ""
        memory = f", {binary(d.global_bytes)}" if d.global_bytes > 0 else ""
        yield (f"{letter(i)}  {d.name} ({d.type}{units}{memory}), {d.platform}, driver {d.driver}; "
               f"clvox {r.version}{' ' if r.sources else ''}{r.sources[:8]}, {r.date[:10]}, {r.file}\n")
        yield from (f"   {remark}\n" for remark in r.remarks)


def _ceilings(matched, width):
    if matched.ceilings():
        letters = "".join(_right(letter(i), _CEILING) for i in range(matched.count))
        yield f"\n{'Ceilings'.ljust(width)}{letters}\n"
    for name in matched.ceilings():
        here = (r.ceilings.get(name) for r in matched.records)
        values = "".join(_right(si(c.value, c.unit) if c else "-", _CEILING) for c in here)
        yield f"{name.ljust(width)}{values}\n"


def _heading(matched, group, width):
    sizes = matched.group_sizes(group)
    common = common_size(sizes)
    told = f", {size(common)}" if common else "".join(
        f", {letter(i)} at {size(own)}" for i, own in enumerate(sizes) if own)
    columns = (_right(letter(i), _TIME) + (_right(letter(i) + "/A", _RATIO) if i else "") +
               _right("of roof", _SHARE)
               for i in range(matched.count))
    return f"\n{TITLES[group]}, {unit(group)[0]}{told}\n" + " " * width + "".join(columns) + "\n"


def _cells(line, used):
    """Enters the marks that were needed into used."""
    for i, row in enumerate(line.rows):
        unverified = "!" if row and not row.verified else ""
        used.add(unverified)
        yield _right(_time(line, row) + unverified, _TIME)
        if i:
            mark = ""
            if math.isfinite(line.speed[i]):
                mark = "~" if line.alike[i] else "*" if line.by[i] != SECONDS else ""
                text = ratio(line.speed[i]) + mark
            elif row and line.rows[0]:
                text = mark = "sizes"
            else:
                text = "-"
            used.add(mark)
            yield _right(text, _RATIO)
        yield _right(percent(row.share if row else math.nan), _SHARE)


def _means(matched, group, width):
    indices = range(matched.count)
    if matched.groups[group][0].is_paper or max(matched.mean(i, group)[1] for i in indices) < 2:
        return ""
    return "geometric mean".ljust(width) + "".join(
        _right("", _TIME) + (_right(ratio(matched.mean(i, group)[0]), _RATIO) if i else "") +
        _right(percent(matched.mean_share(i, group)[0]), _SHARE) for i in indices) + "\n"


def _conclusions(lines):
    """What the paper found, below its table: once where all rows say the same."""
    last = ""
    for line in lines:
        told = line.told()
        if not told:
            continue
        figure = f"{told.value:.6g}" if math.isfinite(told.value) else "gives no figure, here"
        text = f"  {line.name}: the paper {figure} {told.unit} ({told.device})"
        if told.conclusion != last:
            text += f'; "{told.conclusion}"'
        last = told.conclusion
        found = [f"{letter(i)} {'holds' if row.paper.holds else 'does not hold'}" +
                 (f" ({rounded(row.paper.here)})" if math.isfinite(row.paper.here) else "")
                 for i, row in enumerate(line.rows) if row and row.paper]
        yield text + ": " + ", ".join(found) + "\n"


def terminal(matched):
    width, used, out = _name_width(matched), set(), [*_records(matched)]
    out += _ceilings(matched, width)
    for group, lines in matched.groups.items():
        out.append(_heading(matched, group, width))
        for line in lines:
            name = line.name + (f" {size(line.own_size())}" if line.own_size() else "")
            out.append(name.ljust(width) + "".join(_cells(line, used)) + "\n")
        out.append(_means(matched, group, width))
        if lines[0].is_paper:
            out += _conclusions(lines)
    if matched.lines:
        out.append("\n" + ("B/A: how many times as fast as A. " if matched.count > 1 else ""))
        out.append("of roof: share of the ceiling that bounds the row on that device.\n")
        out += [words for mark, words in _MARKS.items() if mark in used]
    return "".join(out)


# ---- a README ------------------------------------------------------------------

def devices(matched):
    lines = matched.pipelines()
    heads = ["device", "driver", "clvox", "date", "copy", "fp32", "operations, mean share"]
    heads += [markdown(line.name) + (f" {size(line.size)}" if line.size else "") for line in lines]
    out = [f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"]
    for i, r in enumerate(matched.records):
        cells = [markdown(r.device.name), f"{markdown(r.device.platform)} {markdown(r.device.driver)}",
                 f"{markdown(r.version)}{' ' if r.sources else ''}{r.sources[:8]}", r.date[:10]]
        ceilings = (r.ceilings.get(name) for name in ("copy", "multiply-add fp32"))
        cells += [si(c.value, c.unit) if c else "-" for c in ceilings]
        cells.append(percent(matched.mean_share(i, "kernels")[0]))
        for line in lines:
            row = line.rows[i]
            cells.append(_time(line, row) + (" s" if row else "") +
                         (f" ({size(row.size)})" if row and not line.size else ""))
        out.append(f"| {' | '.join(cells)} |\n")
    return "".join(out)


def _head(matched, group, *first):
    """A table's first row, a cell a record behind the first ones, and the line below."""
    cells = [*first]
    for r, own in zip(matched.records, matched.group_sizes(group)):
        cells.append(f"{markdown(r.device.name)}, {markdown(r.device.platform)}" +
                     (f", {size(own)}" if own else ""))
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}\n"


def rows(matched):
    tables = []
    for group, lines in matched.groups.items():
        table = _head(matched, group, unit(group)[0])
        for line in lines:
            cells = [markdown(line.name)]
            for row in line.rows:
                share = f" ({percent(row.share)})" if row and math.isfinite(row.share) else ""
                cells.append(_time(line, row) + share)
            table += f"| {' | '.join(cells)} |\n"
        tables.append(table)
    return "\n".join(tables)


def _found(row):
    if not row or not row.paper:
        return "-"
    word = "yes" if row.paper.holds else "no"
    return f"{rounded(row.paper.here)}: {word}" if math.isfinite(row.paper.here) else word


def papers(matched):
    """What papers found, their figures and those of each record."""
    tables = []
    for group, lines in matched.groups.items():
        table = ""
        for line in lines:
            told = line.told()
            if not told:
                continue
            figure = f"{told.value:.3g}" if math.isfinite(told.value) else "none; here"
            cells = [markdown(line.name), markdown(told.conclusion),
                     f"{figure} {markdown(told.unit)}, {markdown(told.device)}", *map(_found, line.rows)]
            table += f"| {' | '.join(cells)} |\n"
        if table:
            head = _head(matched, group, markdown(TITLES[group]), "conclusion", "figure there")
            tables.append(head + table)
    return "\n".join(tables)


MARKDOWN = {"devices": devices, "rows": rows, "papers": papers}
