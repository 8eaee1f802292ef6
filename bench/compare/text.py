# SPDX-License-Identifier: Apache-2.0
"""Numbers as tables and pages have them, and text of strangers made harmless."""
import math

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_MARKDOWN = {c: "\\" + c for c in "\\`*_[]|#~"} | {c: _HTML[c] for c in "<&"}
# Controls, marks that turn the direction of writing round, and what is no character.
_HARMFUL = ((0, 0x1f), (0x7f, 0x9f), (0x200b, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0xd800, 0xdfff),
            (0xfeff, 0xfeff))


def html(text):
    """For an element or a quoted attribute."""
    return text.translate(str.maketrans(_HTML))


def markdown(text):
    """For a cell of a table."""
    return text.translate(str.maketrans(_MARKDOWN))


def clean(text, most):
    """Without what could steer a terminal, ? for each byte of it, and of at most so many bytes of UTF-8."""
    out, length = [], 0
    for c in text:
        code = ord(c)  # of a byte that was no text: half of a pair
        bytes_of_it = 1 if 0xd800 <= code < 0xe000 else len(c.encode())
        length += bytes_of_it
        if length > most:
            break
        harmful = code & 0xfffe == 0xfffe or any(low <= code <= high for low, high in _HARMFUL)
        out.append("?" * bytes_of_it if harmful else c)
    return "".join(out)


def rounded(value):
    """Three significant digits without an exponent where that is short: 0.0345, 1.37, 16.6, 12300. NaN: -"""
    if not math.isfinite(value):
        return "-"
    short = f"{value:.2e}"
    if value != 0 and not 1e-5 <= abs(value) < 1e8:
        return short
    return f"{float(short):.{max(2 - int(short.partition('e')[2]), 0)}f}"


def si(value, unit):
    """As above with a prefix of the SI before the unit: "4.12 TB/s"."""
    prefixes, at = ("n", "µ", "m", "", "k", "M", "G", "T", "P"), 3
    while at > 0 and value != 0 and abs(value) < 0.9995:
        value, at = value * 1e3, at - 1
    while at < 8 and abs(value) >= 999.5:
        value, at = value * 1e-3, at + 1
    # "3.00 G/s", not "3.00 G1/s".
    return f"{rounded(value)} {prefixes[at]}{'/s' if unit == '1/s' else unit}"


def binary(count):
    """Memory as it is counted in powers of two: "48.0 KiB"."""
    units, at = ("B", "KiB", "MiB", "GiB", "TiB"), 0
    while at < 4 and count >= 1024:
        count, at = count / 1024, at + 1
    return f"{rounded(count)} {units[at]}"


def ratio(value, sign="x"):
    """How many times as fast: "0.058x"."""
    return rounded(value) + (sign if math.isfinite(value) else "")


def percent(share):
    if not math.isfinite(share):
        return "-"
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{min(100 * share, 1e9):.0f}%"


def size(voxels, sign="x"):
    return sign.join(map(str, voxels))
