#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the options of the linear part and of the models must do to the result, on pairs whose truth is known.
. "$(dirname "$0")/lib.sh"

cat > turn.txt <<'M'
0.98 -0.05 0.02 2.5
0.04 1.01 0.05 -2
-0.03 0.04 1.03 1.5
0 0 0 1
M
cat > holds.py <<'P'
import gzip, json, struct, sys
from math import dist, hypot, sqrt
cached = {}
def floats(name):
    if name not in cached:
        data = (gzip.open if name.endswith(".gz") else open)(name, "rb").read()
        cached[name] = struct.unpack(f"<{(len(data) - 352) // 4}f", data[352:])
    return cached[name]
def log(name): return json.load(open(name + ".json"))
def matrix(name): return [row[:] for row in log(name)["result"]["matrix_ras"][:3]]
TURN = [list(map(float, row.split())) for row in open("turn.txt")][:3]
# How far a matrix takes the corners of a box of 20 mm from where another one does, mm.
def off(m, want=TURN):
    corners = [(x, y, z, 1) for x in (-10, 10) for y in (-10, 10) for z in (-10, 10)]
    go = lambda a, p: [sum(c * q for c, q in zip(row, p)) for row in a]
    return max(dist(go(m, p), go(want, p)) for p in corners)
# Of the columns of a matrix: their lengths, and the cosines between them.
def shape(m):
    c = [[m[r][k] for r in range(3)] for k in range(3)]
    length = [hypot(*v) for v in c]
    return length, [sum(a * b for a, b in zip(c[i], c[j])) / length[i] / length[j] for i, j in ((0, 1), (0, 2), (1, 2))]
def warp(name):
    v = floats(name + "_warp.nii.gz")
    n = len(v) // 3
    return list(zip(v[:n], v[n:2 * n], v[2 * n:]))
HEAD = gzip.open("p_fixed_labels.nii.gz").read()[352:]
def rms(a, b): # within the head
    return sqrt(sum(dist(u, v) ** 2 for u, v, l in zip(a, b, HEAD) if l > 0) / sum(l > 0 for l in HEAD))
TRUTH = [tuple(u) for u in warp("p_truth")]
STILL = [(0, 0, 0)] * len(TRUTH)
START = rms(TRUTH, STILL)
def error(name): return rms(warp(name), TRUTH) / START
def apart(a, b): return rms(warp(a), warp(b))
def longest(name): return max(hypot(*v) for v in warp(name))
def rough(name): return log(name)["result"]["jacobian"]["sd_log"]
def iterations(name): return log(name)["result"]["iterations"]
def metric(name): return log(name)["result"]["metric"]
sys.exit(0 if eval(sys.argv[1]) else print(sys.argv[1], *(f"{t}: {eval(t)}" for t in sys.argv[2:])) or 1)
P
# holds EXPRESSION [SHOWN...] over what holds.py has
holds() { python3 holds.py "$@" > log/out 2> log/err || complain "not so: $1"; }
# run NAME OPTION...
run() { name=$1; shift; exits 0 clvox register $base "$@" -o "$name" -q --no-picture; }
# masked SIDE: a bright ball in one image, outside of its mask
masked() {
    spoiled=$(echo "$pair" | sed "s/p_$1.nii.gz/ball_$1.nii/")
    run clean $pair --$1-mask left.nii
    run masked $spoiled --$1-mask left.nii
    run bare $spoiled
    holds 'apart("masked", "clean") < .1 * apart("bare", "n")' 'apart("masked", "clean")' 'apart("bare", "n")'
}

exits 0 clvox phantom pair -o t --size 29x27x25 --spacing 1x1.1x1.2mm --affine turn.txt --seed 4
exits 0 clvox phantom pair -o p --size 25x23x21 --seed 4
cat > spoil.py <<'P'
import gzip, struct
def read(name):
    data = gzip.open(name).read()
    return data[:352], struct.unpack(f"<{(len(data) - 352) // 4}f", data[352:])
def write(name, values): open(name, "wb").write(head + struct.pack(f"<{len(values)}f", *values))
head, fixed = read("p_fixed.nii.gz")
moving = read("p_moving.nii.gz")[1]
at = [(i % 25, i // 25 % 23, i // 575) for i in range(len(fixed))]
near = [(x - 19) ** 2 + (y - 11) ** 2 + (z - 10) ** 2 < 20 for x, y, z in at]
write("left.nii", [float(x < 12) for x, y, z in at]) # without the ball
write("ball_fixed.nii", [500. if k else v for k, v in zip(near, fixed)])
write("ball_moving.nii", [500. if k else v for k, v in zip(near, moving)])
write("curved.nii", [v ** 3 / 4e4 for v in moving])
P
exits 0 python3 spoil.py
pair="-f p_fixed.nii.gz -m p_moving.nii.gz"

begin "the linear part has the degrees of freedom that it is asked for"
base="-f t_fixed.nii.gz -m t_moving.nii.gz --deform none"
run a12
run a0 --init header --linear none
run a3 --linear translation
run a6 --dof 6
run a7 --dof 7
run a9 --dof 9
run given --init turn.txt --linear none
holds 'off(matrix("a12")) < 1.4 and off(matrix("a0")) > 3' 'off(matrix("a12"))'
holds 'matrix("a0") == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]'
holds 'off(matrix("given")) < 1e-5'
holds 'all(a[:3] == b[:3] and a[3] != b[3] for a, b in zip(matrix("a3"), matrix("a0")))'
holds 'max(abs(c) for c in shape(matrix("a6"))[1] + [l - 1 for l in shape(matrix("a6"))[0]]) < 1e-6'
holds 'max(abs(c) for c in shape(matrix("a7"))[1] + [l - shape(matrix("a7"))[0][0] for l in shape(matrix("a7"))[0]]) < 1e-6'
holds 'max(abs(c) for c in shape(matrix("a9"))[1]) < 1e-6 and len({round(l, 4) for l in shape(matrix("a9"))[0]}) == 3'

begin "every metric of the linear part finds the map, and says which one it was"
for metric in mi:64 ncc ssd lncc:4; do
    run m --metric $metric
    holds "off(matrix('m')) < 1.4 and metric('m') == '${metric%:*}'" 'off(matrix("m"))'
    [ "${metric#*:}" = "$metric" ] || json m.json "${metric#*:} in (j['options']['linear_bins'], j['options']['linear_radius'])"
done

for model in greedy syn; do
    base="--deform $model --init header --linear none --shrink 2x1 --iterations 12x6"
    begin "$model comes near the truth by every metric"
    run n $pair
    for metric in lncc:3 ssd ncc,mi:16; do
        run m $pair --metric $metric
        choice=${metric#*,}
        holds "error('m') < .8 and metric('m') == '${choice%:*}'" "error('m')"
        [ "${choice#*:}" = "$choice" ] || json m.json "${choice#*:} in (j['options']['bins'], j['options']['radius'])"
    done
    holds 'error("n") < .8' 'error("n")'

    begin "$model: what smooths makes the map more regular, what drives it less"
    for change in "--update-sigma 2.5vox" "--total-sigma 1.5vox" "--momentum 0" "--update-damping 0.98x0.9" "--smooth 3x2vox"; do
        run m $pair $change
        holds 'rough("m") < .95 * rough("n")' 'rough("m")' 'rough("n")'
    done
    run m $pair --update-damping 0
    holds 'rough("m") > 1.1 * rough("n")' 'rough("m")' 'rough("n")'

    begin "$model: levels, steps and iterations are those that are asked for"
    run m $pair --iterations 0x0
    holds 'warp("m") == STILL and iterations("m") == [0, 0]'
    run m $pair --tolerance 0.5
    holds '0 < iterations("m")[0] < 12' 'iterations("m")'
    run s1 $pair --step 0.01vox --shrink 1 --iterations 3
    run s2 $pair --step 0.02vox --shrink 1 --iterations 3
    holds '0 < longest("s1") <= .061 and 1.8 < longest("s2") / longest("s1") < 2.2' 'longest("s1")' 'longest("s2")'
    run m $pair --shrink 3 --iterations 12
    holds 'iterations("m") == [12] and apart("m", "n") > .01' 'apart("m", "n")'

    begin "$model: no displacement along an axis of weight 0"
    run m $pair --restrict 1x0x1
    holds 'all(v[1] == 0 for v in warp("m")) and longest("m") > .2'

    begin "$model: mind beside lncc leads to where mind leads, if its weight is large"
    run m $pair --mind-weight 1000000
    run mind $pair --metric mind:1
    holds 'apart("m", "mind") < .01 * apart("n", "mind")' 'apart("m", "mind")' 'apart("n", "mind")'

    begin "$model: what lies outside of a mask does not count"
    case $model in greedy) masked fixed ;; syn) masked moving ;; esac

    begin "$model: channels count by their weights"
    labels="-f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz"
    run m $pair $labels --weight 1 --weight 0
    exits 0 cmp m_warp.nii.gz n_warp.nii.gz
    [ $model = syn ] || continue
    run m $pair $labels --weight 3 --weight 1
    run twice $pair $labels --weight 6 --weight 2
    exits 0 cmp m_warp.nii.gz twice_warp.nii.gz
    holds 'apart("m", "n") > .01'
done
run local $pair --gradient local
holds 'error("local") < .8 and apart("n", "local") > .01' 'error("local")'
json n.json 'j["options"]["metric"] == "lncc" and j["result"]["metric"] == "lncc" and j["options"]["total_sigma"] > 0'
exists n_inverse_warp.nii.gz

begin "images are prepared as clvox filter does"
base="--deform greedy --init header --linear none --shrink 2x1 --iterations 12x6 --metric ssd"
for what in n4 winsorize; do
    case $what in n4) option="--n4" change= ;; *) option="--winsorize 0.02,0.95" change="--quantiles 0.02,0.95" ;; esac
    for side in fixed moving; do exits 0 clvox filter $what p_$side.nii.gz $change -o ${what}_$side.nii -q; done
    run m $pair $option
    run by -f ${what}_fixed.nii -m ${what}_moving.nii
    exits 0 cmp m_warp.nii.gz by_warp.nii.gz
done
run curved -f p_fixed.nii.gz -m curved.nii
run m -f p_fixed.nii.gz -m curved.nii --histogram-match
holds 'error("m") < .8 * error("curved")' 'error("m")' 'error("curved")'

begin "the unbiased model follows its options"
base="--deform unbiased --init header --linear none --shrink 2x1 --iterations 25x9"
run n $pair
run ncc $pair --metric ncc
holds 'error("n") < .8 and error("ncc") < .8 and metric("ncc") == "ncc"' 'error("n")' 'error("ncc")'
for change in "--update-sigma 4vox" "--lambda 0.5" "--smooth 3x2vox"; do
    run m $pair $change
    holds 'rough("m") < .95 * rough("n")' 'rough("m")' 'rough("n")'
done
run m $pair --tolerance 0.5
holds '0 < iterations("m")[0] < 25' 'iterations("m")'
run s1 $pair --shrink 1 --iterations 1 --step 0.1vox
run s2 $pair --shrink 1 --iterations 1 --step 0.2vox
holds 'abs(longest("s1") - .1) < .01 and abs(longest("s2") - .2) < .02' 'longest("s1")' 'longest("s2")'
masked fixed
base="-f t_fixed.nii.gz -m t_moving.nii.gz --deform unbiased --linear none --shrink 4x2 --iterations 25x9"
run header --init header
run turned --init turn.txt
holds 'off(matrix("turned")) < 1e-5 and log("turned")["result"]["ncc_after"] > log("header")["result"]["ncc_after"]'

finish
