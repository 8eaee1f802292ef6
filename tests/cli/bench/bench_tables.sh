#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables of doc/devices.md, bench/tables.md and bench/suspicion.md that are made of records say what these hold.
#   bench_tables.sh PROGRAM TABLES      TABLES: bench/tables.py
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=$2

begin "every table is as its records have it"
exits 0 python3 "$tables" "$program" --check
silent

begin "a table that is not is found, and renewed"
records=$here/records
name=$records/gpu.json
{ echo before; echo "<!-- table: clvox bench compare $name --markdown devices -->"; echo old
  echo "<!-- end of table -->"; echo after; } > page.md
exits 1 python3 "$tables" "$program" --check page.md; prints 'page.md'
exits 0 python3 "$tables" "$program" page.md
exits 0 python3 "$tables" "$program" --check page.md; silent
cp page.md log/out
prints '^before$'; prints '^| device | driver |'; prints '^after$'
grep -q '^old$' page.md && complain "the old table is still there"

begin "other records from now on"
other=$records/cpu.json
exits 0 python3 "$tables" "$program" page.md --records "$other" "$name"
grep -q "^<!-- table: clvox bench compare $other $name --markdown devices -->$" page.md ||
    complain "the comment names other records"
exits 0 python3 "$tables" "$program" --check page.md; silent
exits 0 python3 "$tables" "$program" page.md --records "$name"

begin "losses of choices: the planner's, the equations', by occupancy, at random and the worst"
python3 - <<'P'
import json
def candidate(items, waste, most, occupancy, seconds, runs=True):
    return dict(variant="v", tile="t", automatic=True, items=items, waste=waste, most=most, occupancy=occupancy, runs=runs,
                seconds=seconds)
# The equations take the third: the first fills too little, the second has more halo. Occupancy takes the second.
rows = [candidate(64, 1, 0.25, 0.25, 4), candidate(128, 1.5, 1, 0.9, 1), candidate(64, 1.2, 0.5, 0.5, 2),
        candidate(64, 1, 1, 1, 9, False)]
device = dict(name="D", platform="P", driver="1")
json.dump(dict(device=device, size=[5, 6, 7], date="2026-01-02T", tune=[dict(planned=0, candidates=rows)], warp=32),
          open("tune.json", "w"))
for row in rows:
    row["occupancy"] = -1
json.dump(dict(device=device, size=[5, 6, 7], date="2026-01-02T", tune=[dict(planned=1, candidates=rows)]),
          open("cpu.json", "w"))
P
exits 0 python3 "$(dirname "$tables")/losses.py" tune.json cpu.json
prints '^| D, P, driver 1, 5x6x7, 2026-01-02 | 1, 3 | \*\*4.000\*\* | 4.00 | 2.000 | 1.000 | 2.000 | 4.000 |$'
prints '^| D, P, driver 1, 5x6x7, 2026-01-02 | 1, 3 | \*\*1.000\*\* | 1.00 | 4.000 |  | 2.000 | 4.000 |$'

begin "a record that is not there"
sed "s#$name#none.json#" page.md > other.md
exits 1 python3 "$tables" "$program" other.md
one_sentence; says 'none.json'
finish
