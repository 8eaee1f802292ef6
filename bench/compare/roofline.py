# SPDX-License-Identifier: Apache-2.0
"""Two roofs of each record. Where rows state operations and bytes: operations a second over operations a
byte, below the multiply-add rate and the bandwidth (Williams, Waterman and Patterson 2009). Where they state
bytes: bytes a second over the bytes of a call, below the bandwidth and what the launch of a kernel leaves of
it."""
import math
from dataclasses import dataclass

from compare.svg import Axis, image, key, line, mark, scroll, tick_text, width, word
from compare.text import html, percent, si

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, _POINTS = 545, 372, 54, 14, 14, 46, 400
_BOLD = 1.11  # how much wider bold letters are
# Where a name may stand beside its point: the text's corner nearest to it, in units of the distance; 1: text
# begins there, -1: it ends there, 0: it is centred.
_WAYS = ((1, 0, 1), (-1, 0, -1), (0, -1.4, 0), (0, 1.4, 0), (.8, -1, 1), (.8, 1, 1), (-.8, -1, -1),
         (-.8, 1, -1))


@dataclass(frozen=True)
class Kind:
    """What the two plots of a record differ in."""
    both: bool  # rows that state operations and bytes, else those that state bytes alone
    x_unit: str
    y_unit: str
    x_title: str
    heading: str
    title: str
    words: str


_ROOFLINE = Kind(True, "", "FLOP/s", "operations a byte (FLOP/B)", "Operations a second (FLOP/s)", "Roofline",
                 "Operations a second over operations a byte, both logarithmic.")
_BANDWIDTH = Kind(False, "B", "B/s", "bytes that a call must move", "Bytes a second (B/s)", "Bandwidth",
                  "Bytes a second over the bytes of a call, both logarithmic.")


@dataclass(frozen=True)
class Point:
    """A row's place in a plot."""
    row: object
    x: float
    y: float


class Plot:
    """Of the points of record i, with room that its labels have taken."""

    def __init__(self, kind, i, points, x, y):
        self.kind, self.record, self.points = kind, i, points
        self.x = Axis(*x, _LEFT, _WIDTH - _RIGHT, log=True)
        self.y = Axis(*y, _HEIGHT - _BOTTOM, _TOP, log=True)
        self.x.round()
        self.y.round()
        self.taken, self.out = [], []
        self._axes()

    def _is_free(self, x0, y0, x1, y1):
        if x0 < _LEFT + 3 or x1 > _WIDTH - _RIGHT - 3 or y0 < _TOP + 2 or y1 > _HEIGHT - _BOTTOM - 2:
            return False
        return not any(x0 < c and x1 > a and y0 < d and y1 > b for a, b, c, d in self.taken)

    def _label(self, x, y, away, style, text):
        """Writes text beside a place where there is room, else not at all."""
        wide = width(text)
        for dx, dy, side in _WAYS:
            start = x + dx * away - (wide if side < 0 else 0 if side else wide / 2)
            middle = y + dy * (away + 1)
            box = start, middle - 6.5, start + wide, middle + 6.5
            if self._is_free(*box):
                self.taken.append(box)
                self.out.append(word(start, middle + 3.8, "start", style, text))
                return

    def _axes(self):
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for tick in self.x.ticks(9):
            at = self.x.at(tick)
            text = tick_text(tick, self.kind.x_unit) if self.kind.x_unit else f"{tick:.4g}"
            self.out.append(line("grid", f"{at:.1f}", f"{at:.1f}", _TOP, bottom))
            self.out.append(word(min(at, _WIDTH - 2 - width(text) / 2), bottom + 17, "middle", "tick", text))
        for tick in self.y.ticks(9):
            at = self.y.at(tick)
            self.out.append(line("grid", _LEFT, right, f"{at:.1f}", f"{at:.1f}"))
            self.out.append(word(_LEFT - 7, at + 4, "end", "tick", tick_text(tick)))
        self.out.append(word((_LEFT + right) / 2, _HEIGHT - 8, "middle", "axis", self.kind.x_title))
        self.out.append(f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" '
                        f'height="{bottom - _TOP}"/>\n')

    def roof(self, style, value, slope, x0, x1):
        """The line y = value (slope 0) or y = value x (slope 1) from x0 to x1, within the frame."""
        y0, y1 = (value * x0, value * x1) if slope else (value, value)
        if slope and y0 < self.y.low:
            x0, y0 = self.y.low / value, self.y.low
        if slope and y1 > self.y.high:
            x1, y1 = self.y.high / value, self.y.high
        if not x1 > x0:
            return
        ax, ay, bx, by = self.x.at(x0), self.y.at(y0), self.x.at(x1), self.y.at(y1)
        self.out.append(f'<line class="{style}" x1="{ax:.1f}" y1="{ay:.1f}" x2="{bx:.1f}" y2="{by:.1f}"/>\n')
        # Labels keep off the line.
        steps = int(math.hypot(bx - ax, by - ay) / 5) + 1
        for i in range(steps + 1):
            x, y = ax + (bx - ax) * i / steps, ay + (by - ay) * i / steps
            self.taken.append((x - 3, y - 1.5, x + 3, y + 1.5))

    def name_level(self, value, name, unit):
        """A roof's name, without its value where that is too long, beside a level line, near its right
        end."""
        y = self.y.at(value)
        for i in range(24):
            text = f"{name[:60]} {si(value, unit) if i < 12 else ''}"
            wide = _BOLD * width(text)
            x = _WIDTH - _RIGHT - 6 - wide - 20 * (i % 12 // 2)
            box = (x, y + 3, x + wide, y + 16) if i % 2 else (x, y - 16, x + wide, y - 3)
            if self._is_free(*box):
                self.taken.append(box)
                self.out.append(word(x, y + 13 if i % 2 else y - 6, "start", "roofname", text))
                return

    def name_slope(self, value, top, name, unit):
        """A slanted roof's name along it: above it where there is room, else below, as far down as can be."""
        steps, away = 40, 11
        text = f"{name[:60]} {si(value, unit)}"
        half = _BOLD * width(text) / 2
        dx = (self.x.end - self.x.start) / math.log10(self.x.high / self.x.low)
        dy = (self.y.end - self.y.start) / math.log10(self.y.high / self.y.low)
        decade = math.hypot(dx, dy)
        dx, dy = dx / decade, dy / decade
        for i in range(1, 2 * steps):
            level = self.y.low * math.pow(self.y.high / self.y.low, i % steps / steps)
            side = away if i < steps else -away
            end = level * math.pow(10, (half + 4) / decade)
            if not (level / value > self.x.low and end / value < self.x.high and end < top):
                continue
            x, y = self.x.at(level / value) + side * dy, self.y.at(level) - side * dx
            along = [-half + 5 * k for k in range(int(2 * half / 5) + 1)]
            if not all(self._is_free(x + at * dx - 4, y + at * dy - 4, x + at * dx + 4, y + at * dy + 4)
                       for at in along):
                continue
            self.taken += [(x + at * dx - 6, y + at * dy - 6, x + at * dx + 6, y + at * dy + 6)
                           for at in along[::2]]
            self.out.append(f'<g transform="translate({x:.1f} {y:.1f}) '
                            f'rotate({math.atan2(dy, dx) * 180 / math.pi:.2f})">'
                            f'{word(0, 4, "middle", "roofname", text)}</g>\n')
            return

    def take_points(self):
        """Keeps the names of roofs off the points."""
        for point in self.points:
            x, y = self.x.at(point.x), self.y.at(point.y)
            self.taken.append((x - 4, y - 4, x + 4, y + 4))

    def put_points(self):
        """Those farthest below their roof are named first."""
        points = sorted(self.points, key=lambda p: p.row.share if math.isfinite(p.row.share) else math.inf)
        for p in points:
            text = f"{html(p.row.name)}: {si(p.y, self.kind.y_unit)} at "
            text += si(p.x, self.kind.x_unit or "FLOP/B")
            if math.isfinite(p.row.share):
                text += f", {percent(p.row.share)} of {html(p.row.ceiling)}"
            place = mark(self.record, self.x.at(p.x), self.y.at(p.y), 3.6)
            self.out.append(f"<g><title>{text}</title>{place}</g>\n")
        for p in points:
            # A name that would be cut is of no use among points: the table has it.
            if width(p.row.name) < 150:
                self._label(self.x.at(p.x), self.y.at(p.y), 7, "pointname", p.row.name)

    def whole(self, device):
        label = f"{self.kind.title}: {device}"
        plot = image(_WIDTH, _HEIGHT, label, self.kind.words, "".join(self.out))
        return f"<div><h4>{self.kind.heading}</h4>\n{scroll('Plot: ' + label, plot)}</div>\n"


# ---- what lies in them ---------------------------------------------------------

def _bandwidth_of(record):
    """The level that rows of bytes are measured against: the ceiling in bytes a second that most of them
    name, else the copy's."""
    best, most = None, 0
    for ceiling in record.ceilings.values():
        if ceiling.unit != "B/s":
            continue
        named = sum(row.ceiling == ceiling.name for row in record.rows)
        if named > most or (not best and ceiling.name.startswith("copy")):
            best, most = ceiling, named
    return best


def _rates(record):
    return [ceiling for ceiling in record.ceilings.values() if ceiling.unit == "FLOP/s"]


def _like(record, unit, part):
    return next((c for c in record.ceilings.values() if c.unit == unit and part in c.name), None)


def _points(matched, i, both):
    """Representatives of the lines that state bytes, and (both) operations. Those that are bounded by a
    ceiling that is no roof of these plots, a copy within the host, say, are left out."""
    record, found = matched.records[i], []
    bandwidth = _bandwidth_of(record)
    for of in matched.lines:
        row = of.rows[i]
        if not row or of.is_variant or not math.isfinite(row.bytes) or both != math.isfinite(row.operations):
            continue
        own = record.ceilings.get(row.ceiling)
        if row.ceiling and bandwidth and own is not bandwidth and not (own and own.unit == "FLOP/s"):
            continue
        found.append(Point(row, row.operations / row.bytes, row.operations / row.seconds) if both else
                     Point(row, row.bytes, row.bytes / row.seconds))
    return found[:_POINTS]


def _ranges(matched, both):
    """Axes that hold every record's roofs and points, so that plots can be laid side by side."""
    xs, ys = [], []
    for i, record in enumerate(matched.records):
        points, bandwidth = _points(matched, i, both), _bandwidth_of(record)
        for p in points:
            xs += [p.x / (5 if both else 1.5), p.x * 1.5]  # room for the names of the roofs
            ys += [p.y / 1.5, p.y * 1.5]
        if points and both:
            ys += [2.5 * rate.value for rate in _rates(record)]
            xs += [3 * rate.value / bandwidth.value for rate in _rates(record) if bandwidth]
        elif points and bandwidth:
            ys.append(2.5 * bandwidth.value)
    return [(min(values), max(values)) if values else None for values in (xs, ys)]


def _roofline(matched, i, ranges):
    record, points = matched.records[i], _points(matched, i, True)
    if not points:
        return ""
    plot = Plot(_ROOFLINE, i, points, *ranges)
    bandwidth, local, rates = _bandwidth_of(record), _like(record, "B/s", "local"), _rates(record)
    # On a CPU local memory is memory like any other.
    if local and bandwidth and local.value <= bandwidth.value:
        local = None
    top = max((rate.value for rate in rates), default=plot.y.high)
    for rate in rates:
        start = rate.value / bandwidth.value if bandwidth else plot.x.low
        plot.roof("roof lower" if rate.value < top else "roof", rate.value, 0,
                  min(max(start, plot.x.low), plot.x.high), plot.x.high)
    slanted = [(style, c) for style, c in (("roof", bandwidth), ("roof lower", local)) if c]
    for style, ceiling in slanted:
        plot.roof(style, ceiling.value, 1, plot.x.low, min(top / ceiling.value, plot.x.high))
    plot.take_points()
    for rate in rates:
        plot.name_level(rate.value, rate.name, "FLOP/s")
    for _, ceiling in slanted:
        plot.name_slope(ceiling.value, top, ceiling.name, "B/s")
    plot.put_points()
    return plot.whole(record.device.name)


def _bandwidth(matched, i, ranges):
    record, points = matched.records[i], _points(matched, i, False)
    if not points:
        return ""
    plot = Plot(_BANDWIDTH, i, points, *ranges)
    bandwidth, launch = _bandwidth_of(record), _like(record, "s", "launch")
    bend = bandwidth.value * launch.value if bandwidth and launch else 0
    if bandwidth:
        plot.roof("roof", bandwidth.value, 0, min(max(bend, plot.x.low), plot.x.high), plot.x.high)
    if launch:
        plot.roof("roof", 1 / launch.value, 1, plot.x.low,
                  min(bend, plot.x.high) if bandwidth else plot.x.high)
    plot.take_points()
    if bandwidth:
        plot.name_level(bandwidth.value, bandwidth.name, "B/s")
    plot.put_points()
    return plot.whole(record.device.name)


def has_any(matched):
    return any(_points(matched, i, both) for i in range(matched.count) for both in (True, False))


def rooflines(matched):
    rooflines_in, bandwidths_in, out = _ranges(matched, True), _ranges(matched, False), ""
    for i, record in enumerate(matched.records):
        plots = _roofline(matched, i, rooflines_in) + _bandwidth(matched, i, bandwidths_in)
        if plots:
            out += (f'<figure class="roofs">\n<h3>{key(i)} {html(record.device.name)}</h3>\n'
                    f'<div class="columns">\n{plots}</div>\n'
                    "</figure>\n")
    return out
