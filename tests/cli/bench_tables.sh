#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tables of README.md and bench/README.md that are made of records say what these hold.
#   bench_tables.sh PROGRAM TABLES      TABLES: bench/tables.py
. "$(dirname "$0")/lib.sh"
tables=$2

begin "every table is as its records have it"
exits 0 python3 "$tables" "$program" --check
silent

begin "a table that is not is found, and renewed"
records=$(dirname "$tables")/results
name=$(basename "$(ls "$records"/bench-*.json | head -n 1)")
{ echo before; echo "<!-- table: clvox bench compare results/$name --markdown devices -->"; echo old
  echo "<!-- end of table -->"; echo after; } > page.md
exits 1 python3 "$tables" "$program" --check page.md; prints 'page.md'
exits 0 python3 "$tables" "$program" page.md
exits 0 python3 "$tables" "$program" --check page.md; silent
cp page.md log/out
prints '^before$'; prints '^| device | driver |'; prints '^after$'
grep -q '^old$' page.md && complain "the old table is still there"

begin "other records from now on"
other=$(basename "$(ls "$records"/bench-*.json | tail -n 1)")
exits 0 python3 "$tables" "$program" page.md --records "results/$other" "results/$name"
grep -q "^<!-- table: clvox bench compare results/$other results/$name --markdown devices -->$" page.md ||
    complain "the comment names other records"
exits 0 python3 "$tables" "$program" --check page.md; silent
exits 0 python3 "$tables" "$program" page.md --records "results/$name"

begin "a record that is not there"
sed "s/$name/none.json/" page.md > other.md
exits 1 python3 "$tables" "$program" other.md
one_sentence; says 'none.json'
finish
