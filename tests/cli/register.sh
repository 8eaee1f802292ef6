#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole way from files to files, on phantoms with a known truth.
. "$(dirname "$0")/lib.sh"

cat > turn.txt <<'M'
0.98 -0.05 0.02 2.5
0.04 1.01 0.05 -2
-0.03 0.04 1.03 1.5
0 0 0 1
M
exits 0 clvox phantom pair -o p --size 37x33x29 --spacing 1x1.1x1.2mm --affine turn.txt --seed 4

begin "register recovers a known map and writes what it promises"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o r --labels p_moving_labels.nii.gz --inverse \
    --init turn.txt --linear none --lambda 0.001 --iterations 60x60x30 --json log/r.json
for name in affine.txt warp.nii.gz inverse_warp.nii.gz warped.nii.gz labels.nii.gz; do exists r_$name; done
exists r.json; exists r.png; exists log/r.json
says 'fixed .*37 x 33 x 29'; says 'needed'; says 'level 1'; says 'level 3, iteration'
prints 'correlation'; prints 'Jacobian'; prints 'folded voxels *0 of'; prints 'inverse consistency'
prints 'seconds'; prints 'peak device memory'; prints '^ssd'
json r.json 'j["verb"] == "register" and len(j["inputs"]) >= 3 and len(j["outputs"]) == 6'
json r.json 'j["result"]["jacobian"]["folded"] == 0 and j["result"]["mismatch"] < 0.3'
json r.json 'j["options"]["shrink"] == [4, 2, 1] and j["plan"]["device_bytes"] > 0 and len(j["trace"]) > 3'
json r.json 'j["result"]["inverse_error_mean_voxels"] < 0.05'
exits 0 clvox compare r_warp.nii.gz p_truth_warp.nii.gz --mask p_fixed_labels.nii.gz; below mean_voxels 0.4

begin "the files it wrote reproduce its own warped image"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t r_warp.nii.gz -t r_affine.txt -o again.nii.gz
exits 0 clvox compare r_warped.nii.gz again.nii.gz; below RMS 0.05
exits 0 clvox compare --labels r_labels.nii.gz p_fixed_labels.nii.gz --json log/l.json
json log/l.json 'j["comparison"]["mean_dice"] > 0.85'

begin "the same run gives the same bytes"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o q --init turn.txt --linear none --shrink 2x1 \
    --iterations 5x5 -q
quiet
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o s --init turn.txt --linear none --shrink 2x1 \
    --iterations 5x5 -q --no-picture
exits 0 cmp q_warp.nii.gz s_warp.nii.gz
exits 0 cmp q_warped.nii.gz s_warped.nii.gz
absent s.png; absent q_inverse_warp.nii.gz; absent q_labels.nii.gz

begin "the linear part alone"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o lin --deform none --init moments
exists lin_affine.txt; exists lin_warped.nii.gz; absent lin_warp.nii.gz
exits 0 clvox compare p_fixed.nii.gz lin_warped.nii.gz; after=$(value RMS)
exits 0 clvox compare p_fixed.nii.gz p_moving.nii.gz; before=$(value RMS)
awk -v a="$after" -v b="$before" 'BEGIN { exit !(a < b) }' || complain "RMS $after is not below $before"

begin "every kernel, metric and option that exists"
for kernel in recompute reuse capped twopass; do
    exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --shrink 4 --iterations 2 --kernel $kernel -q
done
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --metric ncc --shrink 4x2 --iterations 3x2 \
    --smooth 2x1vox --update-sigma 2vox --step 0.25vox --lambda 0.1 --tolerance 1e-4 \
    --fixed-mask p_fixed_labels.nii.gz --moving-mask p_moving_labels.nii.gz --init header --linear rigid -q
json k.json 'j["options"]["metric"] == "ncc" and j["options"]["iterations"] == [3, 2] and j["options"]["lambda"] == 0.1'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --shrink 4 --iterations 1 --smooth 2mm --json -
json log/out 'j["result"]["iterations"][0] <= 1'

begin "an interrupted run ends with 130 and leaves nothing"
exits 0 clvox phantom pair -o big --size 64x64x64
mkdir stop
# A shell starts background commands with SIGINT ignored; python starts it as a terminal would.
python3 - "$program" > log/out 2> log/err <<'P' || complain "not stopped as it should"
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([sys.argv[1], "register", "-f", "big_fixed.nii.gz", "-m", "big_moving.nii.gz", "-o", "stop/r",
                        "--iterations", "100000x100000x100000", "--tolerance", "0"], stderr=subprocess.PIPE,
                       text=True)
for line in run.stderr:
    if line.startswith("level 1, iteration"):
        break
run.send_signal(signal.SIGINT)
rest = run.stderr.read()
code = run.wait(timeout=60)
sys.stderr.write(rest)
sys.exit(0 if code == 130 and rest.splitlines()[-1] == "clvox register: interrupted" else 1)
P
[ -z "$(ls -A stop)" ] || complain "left behind: $(ls -A stop)"
finish
