# SPDX-License-Identifier: Apache-2.0
"""Bars of how fast each record is beside the first, and of the pipelines' times; and the shares of the
ceilings."""
import math

from compare.match import BYTES, FIELDS, NOTHING, OPERATIONS, SECONDS, TITLES, VOXELS, cost, letter
from compare.svg import Axis, image, legend, line, mark, scroll, word
from compare.text import html, percent, rounded, si, size

_WIDE, _HALF = 1120, 545


def _grid(axis, ticks, top, bottom, after):
    out = ""
    for tick in ticks:
        at = axis.at(tick)
        out += line("grid", f"{at:.1f}", f"{at:.1f}", f"{top:.1f}", f"{bottom:.1f}")
        out += word(at, top - 7, "middle", "tick", f"{tick:.4g}{after}")
    return out


# ---- speeds --------------------------------------------------------------------

def _speed_rows(matched):
    """Those that have something to show: title, whether it is of all, and (speed, rows) of each record but
    the first."""
    rows = [("All pipelines", True, "pipelines", None), ("All operations", True, "kernels", None)]
    rows += [(field, False, "kernels", field) for field in FIELDS]
    rows.append((TITLES["nlm"], False, "nlm", None))
    for title, of_all, group, field in rows:
        means = [matched.mean(i, group, field) for i in range(1, matched.count)]
        if any(there for _, there in means):
            yield title, of_all, means


def speeds(matched):
    """Speed relative to the first record by field of work."""
    bar, gap, space, top, left, right = 11, 3, 13, 30, 206, 180
    rows = list(_speed_rows(matched))
    if not rows:
        return ""
    shown = [speed for *_, means in rows for speed, there in means if there]
    axis = Axis(min(shown + [0.8]), max(shown + [1.25]), left, _WIDE - right, log=True)
    axis.round()
    tall = (bar + gap) * (matched.count - 1) + space
    height, one, first = top + len(rows) * tall + 8, axis.at(1), sum(row[1] for row in rows)
    content = _grid(axis, axis.ticks(12), top - 4, height - 6, "×")
    for r, (title, _, means) in enumerate(rows):
        y = top + r * tall + space / 2
        style = "name strong" if r < first else "name"
        content += word(left - 14, y + (tall - space) / 2 + 2.5, "end", style, title, left - 20)
        for i, (speed, there) in enumerate(means, 1):
            if there:
                end, base = axis.at(speed), y + bar - 1.5
                content += (f'<rect class="s{i}" x="{min(end, one):.1f}" y="{y:.1f}" '
                            f'width="{max(abs(end - one), 1):.1f}" height="{bar}"/>\n')
                content += word(_WIDE - right + 26, base, "middle", "value", letter(i))
                content += word(_WIDE - right + 104, base, "end", "value", rounded(speed) + "×")
                content += word(_WIDE - 4, base, "end", "tick",
                                "of 1 row" if there == 1 else f"of {there} rows")
            y += bar + gap
    content += line("base", f"{one:.1f}", f"{one:.1f}", top - 4, height - 6) + "\n"
    plot = image(_WIDE, height, "Speed relative to A",
                 "Bars of the geometric mean of speeds by field of work; the numbers are at the right.",
                 content)
    return (f"<figure>\n{legend(matched)}{scroll('Plot of speed relative to A', plot)}"
            "<figcaption>How many times as fast as A: geometric means over the rows that both records have, "
            "on a logarithmic axis. Bars to the right of 1× are faster than A, to the left slower."
            "</figcaption>\n</figure>\n")


# ---- pipelines -----------------------------------------------------------------

_AFTER = {OPERATIONS: "s/operation", BYTES: "s/byte", VOXELS: "s/voxel"}


def _pipeline(matched, of, y):
    bar, step, left, right = 15, 21, 34, 290
    basis = SECONDS if of.basis == NOTHING else of.basis
    most = max(cost(row, basis) for row in of.there())
    if matched.count == 1:  # the pipelines are compared with one another
        most = max(other.rows[0].seconds for other in matched.pipelines())
    axis = Axis(0, most, left, _WIDE - right)
    told = (size(of.size, "×") if of.size else "sizes differ: not comparable" if of.basis == NOTHING else
            "sizes differ: bars are time for the same work")
    out = word(0, y + 12, "start", "name strong", of.name, 700) + word(_WIDE - 4, y + 12, "end", "tick", told)
    y += 20
    for i, row in enumerate(of.rows):
        if not row:
            continue
        here, base, middle = cost(row, basis), y + bar - 3.5, f"{y + bar / 2:.1f}"
        out += mark(i, 7, y + bar / 2, 4.6) + word(20, base, "middle", "value", letter(i))
        long = max(axis.at(here) - left, 1)
        out += f'<rect class="s{i}" x="{left}" y="{y:.1f}" width="{long:.1f}" height="{bar}"/>\n'
        # The whisker: the quartiles of the samples.
        low, high = (axis.at(here * quartile / row.seconds) for quartile in (row.low, row.high))
        if high - low > 2:
            out += line("base", f"{low:.1f}", f"{high:.1f}", middle, middle) + "\n"
        out += word(_WIDE - 94, base, "end", "value", si(row.seconds, "s"))
        if basis != SECONDS:
            out += word(_WIDE - 176, base, "end", "tick", si(here, _AFTER[basis]))
        if i and math.isfinite(of.speed[i]):
            out += word(_WIDE - 4, base, "end", "value",
                        f"{rounded(of.speed[i])}×{' ~' if of.alike[i] else ''}")
        y += step
    return out


def pipelines(matched):
    """An image a pipeline, so that paper breaks between them; one region, so that they scroll together."""
    figures = ""
    for of in matched.pipelines():
        plot = image(_WIDE, 28 + 21 * len(of.there()), of.name,
                     "Bars of time from 0; the numbers are at the right.", _pipeline(matched, of, 2))
        figures += f'<figure class="tight">\n{plot}</figure>\n'
    return scroll("Plots of pipelines", figures)


# ---- shares --------------------------------------------------------------------

_ROW, _TOP, _MOST = 17, 28, 40


def _share_marks(of, axis, y):
    places = [axis.at(100 * row.share) if row and math.isfinite(row.share) else None for row in of.rows]
    known = [place for place in places if place is not None]
    out = ""
    if known and max(known) > min(known):
        out += line("link", f"{min(known):.1f}", f"{max(known):.1f}", f"{y:.1f}", f"{y:.1f}")
    for i in reversed(range(len(places))):
        if places[i] is None:
            continue
        # A mark that would hide another steps down, the next one up.
        hides = sum(place is not None and abs(place - places[i]) < 7 for place in places[:i])
        aside = 0 if hides == 0 else 5 if hides % 2 else -5
        out += (f"<g><title>{letter(i)}, {html(of.name)}: {percent(of.rows[i].share)} of "
                f"{html(of.rows[i].ceiling)}</title>"
                f"{mark(i, places[i], y + aside, 4.4)}</g>\n")
    return out


def _share_rows(lines, most):
    left, right = 222, 18
    height = _TOP + len(lines) * _ROW + 8
    axis = Axis(0, 100 * most, left, _HALF - right)
    full = f"{axis.at(100):.1f}"
    content = _grid(axis, axis.ticks(8), _TOP - 4, height - 6, "%")
    content += line("base", full, full, _TOP - 4, height - 6) + "\n"
    for k, of in enumerate(lines):
        y = _TOP + (k + 0.5) * _ROW
        content += word(left - 12, y + 4, "end", "name", of.name, left - 18) + _share_marks(of, axis, y)
    return scroll(f"Plot of shares, from {lines[0].name} on",
                  image(_HALF, height, "Share of the ceiling by operation",
                        "The numbers are in the table of all rows.", content))


def shares(matched):
    """Shares of the ceilings, all records in one plot."""
    lines = [of for of in matched.lines if of.has_share()]
    most = max([1] + [row.share for of in lines for row in of.there() if math.isfinite(row.share)])
    most = math.ceil(4 * min(most, 2) - 1e-9) / 4
    # Two columns of equal length, or an even number of them of which each fits on paper.
    parts = 1 if len(lines) <= 12 else 2 * math.ceil(len(lines) / (2 * _MOST))
    each = math.ceil(len(lines) / parts)
    plots = "".join(_share_rows(lines[k:k + each], most) for k in range(0, len(lines), each))
    beyond = "; marks at the right border lie at 200% or beyond" if most >= 2 else ""
    return (f'<figure>\n{legend(matched)}<div class="columns">\n{plots}</div>\n'
            "<figcaption>Share of the ceiling that bounds the row, measured on the same device in the same "
            "run: for rows that stream, of the bandwidth of a copy; for rows that compute, of the "
            "multiply-add rate. Above 100% a cache helps, or "
            f"work is left out{beyond}.</figcaption>\n</figure>\n")
