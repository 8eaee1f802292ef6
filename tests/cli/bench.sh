#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bench prints and logs every row; its times are nobody's business here.
. "$(dirname "$0")/lib.sh"

begin "every operation has a row, with samples behind it"
exits 0 clvox bench --size 12x10x9 --seconds 0.001 --json log/b.json
prints 'copy bandwidth'; prints '^fluid iteration'
json log/b.json 'j["size"] == [12, 10, 9] and j["copy_bytes_per_second"] > 0'
json log/b.json 'all(k["seconds"] > 0 and len(k["samples"]) >= 3 for k in j["kernels"])'
json log/b.json '{"warp linear", "force", "gaussian 1.7 field", "energy"} <= {k["name"] for k in j["kernels"]}'

begin "names choose rows; --variants runs each variant and tile"
exits 0 clvox bench jacobian --variants --size 8 --seconds 0.001 --json log/j.json
json log/j.json '{k["name"].split("/")[0].strip() for k in j["kernels"]} == {"jacobian"} and len(j["kernels"]) > 3'

begin "the paper's table has all four forms"
exits 0 clvox bench papers lee2012 --size 9x8x10 --seconds 0.001 --json log/p.json
json log/p.json '{r["form"] for r in j["lee2012"]} == {"recompute", "reuse", "capped", "two-pass"}'
prints 'registers'

begin "tensor descent by scheme, beside the exact result"
exits 0 clvox bench papers moazeni2009 --size 10x9x8 --seconds 0.001 --json log/m.json
json log/m.json '[r["scheme"] for r in j["moazeni2009"]] == 2 * ["global", "overlap", "block", "none"]'
json log/m.json 'all(0 <= r["away"] < 1 for r in j["moazeni2009"]) and j["moazeni2009"][5]["away"] < 1e-3'

begin "a pipeline is timed by stage"
exits 0 clvox bench pipelines --size 16 --json log/r.json
json log/r.json '[r["name"] for r in j["pipelines"] if r["run"] == "cold"] == ["unbiased", "greedy", "syn"]'

begin "misuse"
exits 2 clvox bench papers nobody1999
exits 2 clvox bench --size 1
finish
