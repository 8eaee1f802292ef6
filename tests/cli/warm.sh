#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A first registration, with an empty cache of kernels.
. "$(dirname "$0")/lib.sh"

clvox phantom pair -o pair --size 41x37x35 --spacing 3mm --seed 3 -q
register="clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz --linear none --deform none --no-picture"
first() { # THREADS OUTPUT: with caches of its own
    exits 0 env CLVOX_CACHE_DIR="$work/$2/clvox" POCL_CACHE_DIR="$work/$2/pocl" \
        "$program" ${register#clvox} -o "$2/r" --threads "$1" -v -v
    compiled=$(grep -c '^compiled ' log/err)
    kept=$(find "$2/clvox" -type f ! -name '.*' | wc -l)
}

begin "one thread: the command compiles all that is kept"
mkdir -m 700 alone helped
first 1 alone
[ "$kept" -gt 10 ] && [ "$compiled" = "$kept" ] || complain "$compiled compiled, $kept kept"
! grep -q "^not with" log/err || complain "kernels need what cl/common/declared.clh lacks"

begin "several: others compile a part, and the result keeps its bits"
first 3 helped
[ "$compiled" -lt "$kept" ] || complain "$compiled compiled, $kept kept"
for file in r_warped.nii.gz r_affine.txt; do
    exits 0 cmp "alone/$file" "helped/$file"
done

begin "what is left of it: no process, no file"
for _ in $(seq 100); do # they may still be ending
    pgrep -f -- '-o helped/r' > /dev/null || break
    sleep .1
done
! pgrep -f -- '-o helped/r' > /dev/null || complain "children are still at work"
[ -z "$(find helped -name '*.tmp*' -o -name '*XXXX*')" ] || complain "unfinished files"

begin "a second run compiles nothing"
exits 0 env CLVOX_CACHE_DIR="$work/helped/clvox" POCL_CACHE_DIR="$work/helped/pocl" \
    "$program" ${register#clvox} -o again --threads 3 -v -v
[ "$(grep -c '^compiled ' log/err)" = 0 ] || complain "it compiled"
finish
