#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program on devices that report success and give garbage, from the Nth read on or in that alone, or run no kernel
# from the Nth launch on (N: the first, one in the middle, the last), and with calls to the driver failing: it says so in
# one sentence and leaves nothing behind.
#   faults.sh PROGRAM LAYER      LAYER: the OpenCL layer of tests/layer
. "$(dirname "$0")/lib.sh"
PATH=$(dirname "$program"):$PATH # for env, which knows no functions
export CLVOX_CACHE_DIR="${CLVOX_CACHE_DIR:-$work/cache}" # kernels are built once
clvox phantom pair -o pair --size 15x14x13 --amplitude 1 -q > log/out 2>&1
clvox phantom surface:sphere -o ball --size 15x15x15 -q > log/out 2>&1
clvox phantom tensor:rings -o rings --size 9x8x7 --directions 12 -q > log/out 2>&1
clvox surface mesh ball_mask.nii.gz -o ball.ply -q > log/out 2>&1
mv pair_fixed.nii.gz f.nii.gz && mv pair_moving.nii.gz m.nii.gz && mv pair_truth_warp.nii.gz w.nii.gz

# Without layers in the loader (ocl-icd has them since 2.3.0) a call that fails does not.
if poor fail:1 clvox filter median f.nii.gz --radius 1 -o x.nii > log/out 2>&1; then
    finish_skipping 'the OpenCL loader here takes no layers'
fi

# refuses WHAT COMMAND...
refuses() {
    rm -rf out && mkdir out
    exits 1 poor "$@" -q
    one_sentence
    says 'something else than it computes'
    [ -z "$(ls -A out)" ] || complain "$1: left behind: $(ls -A out)"
}
# believes NAME COMMAND...: each writes into the folder out.
believes() {
    begin "$1: garbage from the device is no result"
    shift
    rm -rf out log/calls && mkdir out
    exits 0 poor none "$@" -q
    read -r total reads launches < log/calls || complain "nothing was counted"
    for what in $all nan:1 bits:$((reads / 2)),once nan:"$reads" skip:$((launches / 2)) skip:"$launches"; do
        refuses "$what" "$@"
    done
}
# fails NAME COMMAND...: after believes, which counted the calls. One fails in a run, each twice as late as the one
# before. A run may succeed all the same: a binary from the cache that does not build is built anew.
fails() {
    begin "$1, with calls of the driver failing in their turn"
    shift
    at=1 refused=0
    while [ "$at" -le "$total" ]; do
        rm -rf out && mkdir out
        code=0
        poor "fail:$at" "$@" -q > log/out 2> log/err < /dev/null || code=$?
        if [ $code = 1 ]; then
            refused=$((refused + 1))
            one_sentence
            [ -z "$(ls -A out)" ] || complain "call $at of $total: left behind: $(ls -A out)"
        elif [ $code != 0 ]; then
            complain "call $at of $total: exit code $code"
        fi
        at=$((2 * at))
    done
    [ "$refused" -gt 2 ] || complain "only $refused runs of $total calls were refused"
}
both() { believes "$@"; fails "$@"; }
all="huge:1,once bits:2 skip:1"
both gaussian clvox filter gaussian f.nii.gz --sigma 2mm -o out/x.nii.gz
all=
both register clvox register -f f.nii.gz -m m.nii.gz -o out/x --quick
believes "register, its inverse" clvox register -f f.nii.gz -m m.nii.gz -o out/x --linear none --shrink 1 --iterations 2
believes "register, a surface" clvox register --surface ball.ply,ball.ply --spacing 1mm --deform greedy --shrink 1 --iterations 2 -o out/x
both apply clvox apply -i m.nii.gz -r f.nii.gz -t w.nii.gz -o out/x.nii.gz
both compose clvox compose -r f.nii.gz -t w.nii.gz -t w.nii.gz -o out/x.nii.gz
both invert clvox invert -t w.nii.gz -o out/x.nii.gz
both jacobian clvox jacobian -t w.nii.gz -o out/x.nii.gz
believes nlm clvox filter nlm f.nii.gz -o out/x.nii.gz
believes tv clvox filter tv f.nii.gz -o out/x.nii.gz
believes "tensor fit" clvox tensor fit rings_dwi.nii.gz --grad rings.b -o out/x
both "tensor denoise" clvox tensor all rings_dwi.nii.gz --grad rings.b --denoise mppca -o out/x
both "surface distance" clvox surface distance ball_truth.surf.gii -o out/x.nii.gz
both "surface denoise" clvox surface denoise ball_mask.nii.gz -o out/x.surf.gii
finish
