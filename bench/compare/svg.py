# SPDX-License-Identifier: Apache-2.0
"""What the page's plots are made of: axes, words, marks, and what scrolls."""
import math
from dataclasses import dataclass

from compare.match import letter
from compare.text import html, si

_NARROW, _SLIM, _WIDE, _BROAD = "ijl.,:;'|! ", "tfr()[]-/", "mwMW@%<>=+#", "DGHNOQU"
# Marks of about equal areas; points in units of the radius. The first is a circle.
_SHAPES = (
    "",
    "-.88,-.88 .88,-.88 .88,.88 -.88,.88",
    "0,-1.25 1.15,.8 -1.15,.8",
    "0,-1.3 1.3,0 0,1.3 -1.3,0",
    "0,1.25 1.15,-.8 -1.15,-.8",
    "-.4,-1.2 .4,-1.2 .4,-.4 1.2,-.4 1.2,.4 .4,.4 .4,1.2 -.4,1.2 -.4,.4 -1.2,.4 -1.2,-.4 -.4,-.4",
    "-1.25,0 -.62,-1.08 .62,-1.08 1.25,0 .62,1.08 -.62,1.08",
    "0,-1.3 .35,-.4 1.24,-.4 .53,.17 .76,1.05 0,.5 -.76,1.05 -.53,.17 -1.24,-.4 -.35,-.4")


def _round_to(value, up):
    """The largest of 1, 2 and 5 times a power of ten below value, or the smallest above."""
    power = math.pow(10, math.floor(math.log10(value)))
    steps = [step * power for step in (1, 2, 5, 10)]
    if up:
        return next(step for step in steps if step >= value * (1 - 1e-9))
    return next(step for step in reversed(steps) if step <= value * (1 + 1e-9))


@dataclass
class Axis:
    """Values from low to high at pixels from start to end."""
    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value):
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(value), math.log10(low), math.log10(high)
        share = (value - low) / (high - low) if high > low else 0
        return self.start + min(max(share, 0), 1) * (self.end - self.start)

    def round(self):
        """Widens a logarithmic one so that its ends are 1, 2 or 5 times a power of ten."""
        self.low, self.high = _round_to(self.low, False), _round_to(self.high, True)
        if not self.high > self.low:
            self.high = 10 * self.low

    def ticks(self, most):
        """The values of its ticks, at most so many."""
        values = []
        if not self.log:
            step = _round_to((self.high - self.low) / (6 if most > 6 else most - 1), True)
            value = step * math.ceil(self.low / step - 1e-9)
            while value <= self.high + 1e-9 * step and len(values) < most:
                values.append(0.0 if abs(value) < 1e-9 * step else value)
                value += step
            return values
        decades = math.log10(self.high / self.low)
        skip = math.ceil(decades / (most - 1)) if decades > most - 1 else 1
        between = decades < 2.5 and 3 * (decades + 1) <= most
        for power in range(math.floor(math.log10(self.low) + 1e-9), math.ceil(math.log10(self.high)) + 1):
            for step in (1, 2, 5) if between else (1,):
                value = step * math.pow(10, power)
                within = self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)
                if within and power % skip == 0 and len(values) < most:
                    values.append(value)
        return values


def tick_text(value, unit=""):
    """A tick's number, short: "10 T". Ticks are 1, 2 or 5: zeros behind the point say nothing."""
    number, _, rest = si(value, unit).partition(" ")
    whole, point, places = number.partition(".")
    return f"{whole if point and not places.strip('0') else number} {rest}".rstrip(" ")


def width(text):
    """About how many pixels text takes at 11 pixels, as in DejaVu Sans, which is wide; rather more than
    fewer."""
    total = 0.0
    for c in text:
        total += (11 if c > "\x7f" else 3.6 if c in _NARROW else 4.4 if c in _SLIM else
                  10.4 if c in _WIDE else 8.4 if c in _BROAD else 6.9)
    return total


def word(x, y, anchor, style, text, room=0):
    """A word at a place; anchor "start", "middle" or "end"; where room (pixels, 0: endless) is too small, cut
    with "…"."""
    shown = html(text)
    if room > 0 and width(text) > room:
        cut = 0
        while cut < len(text) and width(text[:cut + 1]) + 11 <= room:
            cut += 1
        shown = f"{html(text[:cut])}…<title>{html(text)}</title>"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{style}">{shown}</text>\n'


def line(style, x1, x2, y1, y2):
    return f'<line class="{style}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'


def image(wide, tall, title, words, content):
    """In a figure, which shrinks no further than to letters that can be read: it belongs into what scrolls.
    Title and words are read aloud."""
    style = "long" if wide > 600 else "half"
    return (f'<svg class="{style}" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" '
            f'preserveAspectRatio="xMinYMin" role="img" aria-label="{html(title)}. {html(words)}">\n'
            f"{content}</svg>\n")


def scroll(label, content):
    """What may be wider than the window scrolls in a region of its own, which keys reach too; its name is
    read aloud."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html(label)}">{content}</div>\n'


def mark(i, x, y, radius):
    """Of record i."""
    if not _SHAPES[i]:
        return f'<circle class="mark s{i}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
    return (f'<polygon class="mark s{i}" transform="translate({x:.1f} {y:.1f}) scale({radius:.1f})" '
            f'points="{_SHAPES[i]}"/>')


def key(i):
    """The mark in running text, with its letter."""
    return ('<span class="key"><svg class="keymark" viewBox="-7 -7 14 14" width="14" height="14" '
            'aria-hidden="true">'
            f"{mark(i, 0, 0, 5)}</svg>{letter(i)}</span>")


def legend(matched):
    """The marks of all records with their devices' names."""
    spans = (f"<span>{key(i)} {html(r.device.name)}</span> " for i, r in enumerate(matched.records))
    return f'<p class="legend">{"".join(spans)}</p>\n'
