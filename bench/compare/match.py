# SPDX-License-Identifier: Apache-2.0
"""Which rows of several records are one line, and how fast each is."""
import math
import re
from collections import Counter

from compare.read import GROUPS

MOST = 8  # records, as many as there are colours and marks
TITLES = {
    "pipelines": "Pipelines", "kernels": "Operations", "nlm": "Search for nearest patches",
    "lee2012": "Lee et al. 2012: registration",
    "moazeni2009": "Moazeni et al. 2009: total variation of tensors",
    "ha2011": "Ha et al. 2011: image processing", "mueller2008": "Mueller et al. 2008: convolution"}
PAPERS = GROUPS[3:]
# What a line's times are divided by before they are compared, because its sizes differ between records.
SECONDS, OPERATIONS, BYTES, VOXELS = "", "time an operation", "time a byte", "time a voxel"
NOTHING = "not comparable"
# The field of work that an operation belongs to, from the first word of its name.
FIELDS = {
    "Copies and arithmetic": "copy blend pointwise",
    "Sums and histograms": "reduce statistics histogram linear affine longest",
    "Derivatives": "gradient sobel jacobian",
    "Smoothing": "gaussian smooth recursive unsharp median",
    "Warping": "warp resample downsample compose inverse advance compositive_step push metric_force",
    "Forces and metrics": "force energy likeness metric lncc fluid",
    "Surfaces": "redistance nlm mesh level surface",
    "Tensors": "tensor mppca",
    "Others": ""}
_FIELD_OF = {word: field for field, words in FIELDS.items() for word in words.split()}


def letter(i):
    """Of record i."""
    return chr(ord("A") + i)


def unit(group):
    """Pipelines take seconds, all else is shown in milliseconds: the unit, and times in it of a second."""
    return ("s", 1) if group == "pipelines" else ("ms", 1e3)


def cost(row, basis):
    """What the basis makes of a row's time."""
    if basis == OPERATIONS:
        return row.seconds / row.operations
    if basis == BYTES:
        return row.seconds / row.bytes
    if basis == VOXELS:
        return row.seconds / row.size[0] / row.size[1] / row.size[2]
    return row.seconds if basis == SECONDS else math.nan


class Line:
    """One row as all records have it; lists have a place for each record."""

    def __init__(self, row, count, sizes):
        self.group, self.name = row.group, row.name
        self.sizes = sizes                # one record has it at several sizes: the size belongs to the name
        self.size = row.size              # None where it differs between records
        self.rows = [None] * count        # None: not in that record
        self.more = [0] * count           # further variants of it in that record
        self.usual = [None] * count       # the size that most rows of its group have there
        self.basis = SECONDS              # by which all records can be compared
        self.by = [SECONDS] * count       # and each with the first
        self.speed = [math.nan] * count   # times as fast as the first record; NaN: no telling
        self.alike = [False] * count      # the quartiles of both overlap
        self.is_paper = self.group in PAPERS
        # A variant of the operation above it ("  name/variant tile"), or a stage of a pipeline ("name:
        # stage"): shown, but not counted as work of its own.
        self.is_variant = self.name.startswith(" ")
        self.is_stage = self.group == "pipelines" and ": " in self.name

    def there(self):
        return [row for row in self.rows if row]

    def enter(self, i, row):
        """Of several variants an operation is represented by the first, which the planner chose; a line of a
        paper by the one that has the paper's figure, else by the fastest, as the papers did."""
        have = self.rows[i]
        self.more[i] += have is not None
        if not have or (self.is_paper and
                        (row.paper is not None, -row.seconds) > (have.paper is not None, -have.seconds)):
            self.rows[i] = row

    def judge(self):
        first = self.rows[0]
        self.basis = _choose_basis(self.group, self.there())
        if self.basis != SECONDS:
            self.size = None
        for i, row in enumerate(self.rows):
            if not row or not first:
                continue
            self.by[i] = _choose_basis(self.group, [first, row])
            here, against = cost(row, self.by[i]), cost(first, self.by[i])
            self.speed[i] = against / here
            scale, other = here / row.seconds, against / first.seconds
            self.alike[i] = (i > 0 and row.low * scale <= first.high * other and
                             first.low * other <= row.high * scale)

    def own_size(self):
        """The size to be told with the line's name, because it is not that of its group; else None."""
        own = self.sizes or any(row and row.size != usual for row, usual in zip(self.rows, self.usual))
        return self.there()[0].size if own else None

    def has_share(self):
        """A share to plot: some record states one, and the line is neither a variant nor a paper's."""
        own = not self.is_variant and not self.is_paper
        return own and any(math.isfinite(row.share) for row in self.there())

    def told(self):
        """The paper's conclusion, of the first record that has it; None: none."""
        return next((row.paper for row in self.there() if row.paper), None)


def _choose_basis(group, rows):
    if all(row.size == rows[0].size for row in rows):
        return SECONDS
    if all(math.isfinite(row.operations) for row in rows):
        return OPERATIONS
    if all(math.isfinite(row.bytes) for row in rows):
        return BYTES
    return VOXELS if group in ("kernels", "pipelines") else NOTHING


class Matched:
    """Records, and their lines by group, in the order of the first record that has them."""

    def __init__(self, records):
        self.records, self.count = records, len(records)
        several, lines = _sizes(records), {}
        for i, record in enumerate(records):
            for row in record.rows:
                key = row.group, row.name
                line = lines.setdefault((key, row.size if several[key] else None),
                                        Line(row, self.count, several[key]))
                line.enter(i, row)
        self.lines = sorted(lines.values(), key=lambda line: GROUPS.index(line.group))
        self.groups = {}
        for line in self.lines:
            line.judge()
            self.groups.setdefault(line.group, []).append(line)
        for group in self.groups.values():
            usual = [_usual(group, i) for i in range(self.count)]
            for line in group:
                line.usual = usual

    def group_sizes(self, group):
        """The size that most rows of a group have in each record; None: it has none of them."""
        return self.groups[group][0].usual

    def mean(self, i, group, field=None):
        """The geometric mean of the speeds of record i over the lines of a group (field: only those of it),
        and over how many. NaN: none."""
        return _mean(line.speed[i] for line in self.groups.get(group, ()) if not line.is_variant and
                     not line.is_stage and field in (None, field_of(line.name)))

    def mean_share(self, i, group):
        """The same for the shares of ceilings."""
        return _mean(line.rows[i].share for line in self.groups.get(group, ())
                     if line.rows[i] and not line.is_variant)

    def pipelines(self):
        """Without their stages."""
        return [line for line in self.groups.get("pipelines", ()) if not line.is_stage]

    def ceilings(self):
        """Names, in the order of the first record that has them."""
        return list(dict.fromkeys(name for record in self.records for name in record.ceilings))


def _sizes(records):
    """Whether some record has a row of this group and name at several sizes."""
    several = {}
    for record in records:
        first = {}
        for row in record.rows:
            key = row.group, row.name
            several[key] = several.get(key, False) or first.setdefault(key, row.size) != row.size
    return several


def _usual(lines, i):
    sizes = Counter(line.rows[i].size for line in lines if line.rows[i])
    return max(sizes, key=sizes.get, default=None)


def _mean(values):
    logarithms = [math.log(value) for value in values if math.isfinite(value)]
    total = 0.0
    for value in logarithms:  # in order: sum() of newer versions of Python rounds otherwise
        total += value
    return (math.exp(total / len(logarithms)) if logarithms else math.nan), len(logarithms)


def field_of(name):
    return _FIELD_OF.get(re.split("[ ,/]", name, maxsplit=1)[0], "Others")


def common_size(sizes):
    """The size of a group in all records, or None."""
    return sizes[0] if all(size == sizes[0] for size in sizes) else None


def comparison(matched):
    """For the log: what was compared, and the ratios."""
    def number(value):
        return value if math.isfinite(value) else None
    return {
        "records": [{"file": r.path, "device": r.device.name, "date": r.date} for r in matched.records],
        "rows": [{"group": line.group, "name": line.name, "same_size": line.basis == SECONDS,
                  "seconds": [row.seconds if row else None for row in line.rows],
                  "speed": [number(speed) for speed in line.speed]} for line in matched.lines]}
