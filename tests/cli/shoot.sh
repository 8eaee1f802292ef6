#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clvox shoot: from its momentum the map of the registration, and what lies beyond it.
. "$(dirname "$0")/lib.sh"

# average OUT A B: momenta of one grid, with the header of the first.
average() {
    python3 - "$@" <<'P' || complain "no average of $*"
import array, gzip, sys
files = [gzip.open(name).read() for name in sys.argv[2:]]
values = [array.array('f', bytes[352:]) for bytes in files]
mean = array.array('f', [sum(v) / len(v) for v in zip(*values)])
gzip.open(sys.argv[1], 'w').write(files[0][:352] + mean.tobytes())
P
}
# silenced OUT IN: the same volume, whose header describes nothing.
silenced() {
    python3 - "$@" <<'P' || complain "no copy of $2"
import gzip, sys
bytes = gzip.open(sys.argv[2]).read()
gzip.open(sys.argv[1], 'w').write(bytes[:148] + b'\0' * 80 + bytes[228:])
P
}
# filled OUT IN VALUE: the same momentum with all numbers replaced.
filled() {
    python3 - "$@" <<'P' || complain "no copy of $2"
import gzip, struct, sys
bytes = gzip.open(sys.argv[2]).read()
gzip.open(sys.argv[1], 'w').write(bytes[:352] + struct.pack('<f', float(sys.argv[3])) * ((len(bytes) - 352) // 4))
P
}
# longest WARP: its longest displacement in mm, on standard output.
longest() {
    "$program" info "$1" | awk '$1 == "displacement" { print $3 }'
}
# holds AWK-EXPRESSION
holds() {
    awk "BEGIN { exit !($1) }" || complain "not so: $1"
}

exits 0 clvox phantom pair -o p --size 17x15x13 --spacing 1x1.1x1.2mm --amplitude 1.5 --seed 4 -q
exits 0 clvox phantom pair -o q --size 17x15x13 --spacing 1x1.1x1.2mm --amplitude 0.8 --seed 9 -q
register="clvox register -f p_fixed.nii.gz --linear none --init header --deform shooting --shrink 2x1 --iterations 5x3 --no-picture -q"
own="--operator 5,1,0.3 --timesteps 6"
exits 0 $register -m p_moving.nii.gz -o r $own
exits 0 $register -m q_moving.nii.gz -o t $own
shoot="clvox shoot -r p_fixed.nii.gz"

begin "a momentum gives the map of its registration, by the operator and time steps that it says"
exits 0 clvox info r_momentum.nii.gz; prints 'operator 5,1,0.3, 6 time steps'
exits 0 $shoot -p r_momentum.nii.gz -o s --json s.json; quiet; exists s_inverse_warp.nii.gz
json s.json 'j["shoot"]["operator_from"] == "momentum" and j["shoot"]["timesteps"] == 6'
exits 0 clvox compare r_warp.nii.gz s_warp.nii.gz; near max_voxels 0 .001
holds "$(longest s_warp.nii.gz) > .1"

begin "the map of a registration by default, and by its last level's larger voxels"
exits 0 $register -m p_moving.nii.gz -o d --shrink 3x2
exits 0 $shoot -p d_momentum.nii.gz -o e; quiet
exits 0 clvox compare d_warp.nii.gz e_warp.nii.gz; near max_voxels 0 .001

begin "another operator than the momentum's is refused, the same one is not"
exits 1 $shoot -p r_momentum.nii.gz -o x --operator 8,1,0.3; one_sentence; says 'r_momentum.nii.gz: .*found with the operator 5,1,0.3'
absent x_warp.nii.gz
exits 0 $shoot -p r_momentum.nii.gz -o x --operator 5,1,0.3; quiet
exits 0 cmp s_warp.nii.gz x_warp.nii.gz

begin "a momentum without its operator: the one that is used is reported"
silenced u.nii.gz r_momentum.nii.gz
exits 0 $shoot -p u.nii.gz -o x --json x.json; one_sentence; says 'u.nii.gz does not say.*taking 3.60997,7.21994,1'
json x.json 'j["shoot"]["operator_from"] == "default" and j["shoot"]["timesteps"] == 8'
exits 1 cmp -s s_warp.nii.gz x_warp.nii.gz
exits 0 $shoot -p u.nii.gz -o x $own; quiet
exits 0 cmp s_warp.nii.gz x_warp.nii.gz

begin "beyond the end, and the other way"
exits 0 $shoot -p r_momentum.nii.gz -o beyond --time 1.5
exits 0 $shoot -p r_momentum.nii.gz -o back --time -1
one=$(longest s_warp.nii.gz)
holds "$(longest beyond_warp.nii.gz) > 1.3 * $one && $(longest beyond_warp.nii.gz) < 1.7 * $one"
exits 0 clvox compare s_warp.nii.gz back_warp.nii.gz; holds "$(value max_mm) > 1.8 * $one && $(value max_mm) < 2.2 * $one"

begin "more steps than a flow has are refused"
exits 1 $shoot -p r_momentum.nii.gz -o x --timesteps 32 --time 2; one_sentence; says 'takes 64 steps, and a flow has at most 32'
exits 0 $shoot -p r_momentum.nii.gz -o x --timesteps 16 --time 2
exits 2 $shoot -p r_momentum.nii.gz -o x --timesteps 3; says 'even number'
exits 2 $shoot -p r_momentum.nii.gz -o x --time soon; says 'not a number'

begin "a momentum on another grid, and what is none, are refused"
exits 0 clvox phantom ball -o other.nii.gz --size 17x15x13 --spacing 1.5mm -q
exits 1 clvox shoot -p r_momentum.nii.gz -r other.nii.gz -o x; one_sentence; says 'lies on another grid'
exits 1 $shoot -p r_affine.txt -o x; one_sentence; says 'is an affine'

begin "no momentum leads nowhere, and one that is not finite is refused"
filled zero.nii.gz r_momentum.nii.gz 0
exits 0 $shoot -p zero.nii.gz -o zero; quiet
holds "$(longest zero_warp.nii.gz) == 0 && $(longest zero_inverse_warp.nii.gz) == 0"
for value in nan inf 1e30; do
    filled wild.nii.gz r_momentum.nii.gz $value
    exits 1 $shoot -p wild.nii.gz -o x9; one_sentence; absent x9_warp.nii.gz
done

begin "operators that are none are refused"
for operator in 1,0,0 0,0,0 -1,0,1 1,-1,1 nan,0,1 1,2 1e39,0,1 1,0,1e-30; do
    exits 2 $shoot -p u.nii.gz -o x9 --operator $operator; says 'operator'; absent x9_warp.nii.gz
    exits 2 $register -m p_moving.nii.gz -o x9 --operator $operator; says "--operator $operator: "; absent x9_warp.nii.gz
done

begin "momenta of one template can be averaged"
average m.nii.gz r_momentum.nii.gz t_momentum.nii.gz
exits 0 $shoot -p m.nii.gz -o m; quiet
exits 0 clvox compare r_warp.nii.gz t_warp.nii.gz; both=$(value mean_mm)
for one in r t; do
    exits 0 clvox compare ${one}_warp.nii.gz m_warp.nii.gz
    holds "$(value mean_mm) > .4 * $both && $(value mean_mm) < .6 * $both"
done

finish
