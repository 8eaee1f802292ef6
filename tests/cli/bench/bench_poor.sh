#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bench on devices that lack or refuse something, and with folders that cannot be written: it works and
# says what it does without, or says in one sentence why not.
#   bench_poor.sh PROGRAM LAYER      LAYER: the OpenCL layer of tests/layer
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
PATH=$(dirname "$program"):$PATH # for env, which knows no functions
fits() { python3 "$here/record.py" "$here/../../../doc/bench-schema.json" "$@" 2> log/err || complain "not as the schema has it"; }
export CLVOX_CACHE_DIR="${CLVOX_CACHE_DIR:-$work/cache}" # kernels are built once

# The bench of a copy builds no kernel but those of its ceilings.
begin "a cache and a home that cannot be written"
touch file
exits 0 env CLVOX_CACHE_DIR="$work/file/cache" "$program" bench copy --size 9 --seconds 0.001
prints '^copy  *[0-9.]*  *[0-9.]*%  *[0-9.]*  '
mkdir temporary
exits 0 env -u POCL_CACHE_DIR -u XDG_CACHE_HOME -u CLVOX_CACHE_DIR HOME="$work/file" TMPDIR="$work/temporary" \
    "$program" bench copy --size 9 --seconds 0.001
prints '^copy  *[0-9.]*  *[0-9.]*%  *[0-9.]*  '

begin "a record that cannot be written"
exits 1 clvox bench copy --size 9 --seconds 0.001 --json file/b.json
one_sentence; says 'file/b.json'

begin "a device of 1 GiB, as PoCL means it"
exits 0 env POCL_MEMORY_LIMIT=1 "$program" bench ceilings --seconds 0.001 --json log/g.json
fits log/g.json; quiet
exits 0 env POCL_MEMORY_LIMIT=1 "$program" bench blend "tensor links" --seconds 0.001 --json log/g.json
fits log/g.json; quiet
json log/g.json '"Portable" not in j["device"]["platform"] or j["device"]["global_bytes"] <= 1 << 30'

# Without layers in the loader (ocl-icd has them since 2.3.0) a call that fails does not.
if poor fail:1 clvox bench blend --size 9 --seconds 0.001 > log/out 2>&1; then
    finish_skipping 'the OpenCL loader here takes no layers'
fi

begin "a device that refuses to time kernels: the wall clock's times alone, and the record says so"
for refusal in profiling times; do
    exits 0 poor $refusal clvox bench blend "tensor links" --size 9 --seconds 0.001 --json log/t.json
    one_sentence; says 'does not time its kernels'
    fits log/t.json
    json log/t.json 'len(j["rows"]) == 2 and not any("device_seconds" in r for r in j["rows"]) and len(j["remarks"]) == 1'
done

begin "volumes as large as the memory lets be, and no larger"
exits 0 poor memory:64 clvox bench blend --seconds 0.001 --json log/s.json
fits log/s.json; quiet
json log/s.json 'all(16 < n < 128 for n in j["rows"][0]["size"])'
exits 1 poor memory:64 clvox bench blend --size 200 --seconds 0.001 --json log/x.json
one_sentence; says 'MiB'; json log/x.json '"MiB" in j["error"] and not j.get("rows")'
exits 1 poor taken:1 clvox bench blend --size 64 --seconds 0.001 --json log/x.json
one_sentence; says 'memory'; json log/x.json '"memory" in j["error"]'

begin "small work-groups, little local memory, no image objects"
exits 0 poor group:64,local:4096 clvox bench blend jacobian "warp linear" --size 9 --seconds 0.001
prints '^jacobian'
exits 0 poor group:64,local:4096 clvox bench ceilings --size 9 --seconds 0.001
prints '^local memory'
exits 0 poor group:64,local:4096,images:no clvox bench papers --size 9 --seconds 0.001 --json log/p.json
fits log/p.json; prints 'does not run here'

begin "each call of the driver failing in its turn"
poor none clvox bench jacobian --size 9 --seconds 0 > log/out 2>&1
total=0 at=1 refused=0
read -r total rest < log/calls
while [ "$at" -le "$total" ]; do
    code=0
    poor "fail:$at" clvox bench jacobian --size 9 --seconds 0 --json log/f.json > log/out 2> log/err < /dev/null || code=$?
    if [ $code = 1 ]; then
        refused=$((refused + 1))
        one_sentence; json log/f.json 'j["error"] and j["exit_code"] == 1'
    elif [ $code != 0 ]; then
        complain "call $at of $total: exit code $code"
    fi
    rm -f log/f.json
    at=$((2 * at))
done
[ "$refused" -gt 2 ] || complain "only $refused runs of $total calls were refused"
finish
