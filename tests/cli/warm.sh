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

begin "antsRegistration is helped as well"
ants="ants antsRegistration -d 3 -t Translation[0.1] -m MeanSquares[pair_fixed.nii.gz,pair_moving.nii.gz,1,0] -c 10 -f 1 -s 0"
mkdir -m 700 ants_alone ants_helped
exits 0 env ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=1 CLVOX_CACHE_DIR="$work/ants_alone" "$program" $ants -o a
env ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=3 CLVOX_CACHE_DIR="$work/ants_helped" POCL_CACHE_DIR="$work/ants_helped/pocl" \
    "$program" $ants -o b > log/out 2> log/err &
process=$!
helped() { [ "$(pgrep -c -P $process -x clvox)" -ge 2 ]; } # PoCL starts a linker at times
until_so "it has two children of its name" ended_or helped
! ended $process || complain "it ended without help"
wait $process || complain "exit code $?"
exits 0 cmp a0GenericAffine.mat b0GenericAffine.mat
finish
