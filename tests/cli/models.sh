#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every option of every deformation model is felt by the warp.
. "$(dirname "$0")/lib.sh"

cat > turn.txt <<'M'
0.98 -0.05 0.02 2.5
0.04 1.01 0.05 -2
-0.03 0.04 1.03 1.5
0 0 0 1
M
exits 0 clvox phantom pair -o p --size 29x27x25 --spacing 1x1.1x1.2mm --affine turn.txt --seed 4

begin "every choice of the linear part changes the affine"
base="-f p_fixed.nii.gz -m p_moving.nii.gz --deform none -q --no-picture"
exits 0 clvox register $base -o a0
i=1
for change in "--linear none" "--linear translation" "--dof 6" "--dof 7" "--metric mi:64" "--metric ncc" "--metric ssd" \
    "--metric lncc" "--metric lncc:4" "--init header" "--init turn.txt" "--fixed-mask p_fixed_labels.nii.gz" \
    "--moving-mask p_moving_labels.nii.gz" "-f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz"; do
    exits 0 clvox register $base $change -o a$i
    for earlier in $(seq 0 $((i - 1))); do exits 1 cmp -s a${earlier}_affine.txt a${i}_affine.txt; done
    i=$((i + 1))
done

begin "every number of the deformation changes the warp"
base="-f p_fixed.nii.gz -m p_moving.nii.gz --deform unbiased --init header --linear none --shrink 4x2 --iterations 25x9 -q --no-picture"
exits 0 clvox register $base -o n0
i=1
for change in "--update-sigma 1vox" "--step 0.1vox" "--lambda 0.5" "--tolerance 0.2" "--smooth 3x2vox" "--metric ncc" \
    "--shrink 3x2" "--iterations 4x9" "--fixed-mask p_fixed_labels.nii.gz" "--moving-mask p_moving_labels.nii.gz" \
    "--init moments" "--init turn.txt"; do
    exits 0 clvox register $base $change -o n$i
    exits 1 cmp -s n0_warp.nii.gz n${i}_warp.nii.gz
    i=$((i + 1))
done

begin "every number of the compositive models changes the warp"
for model in greedy syn; do
    base="-f p_fixed.nii.gz -m p_moving.nii.gz --deform $model --init header --linear none --shrink 4x2 --iterations 12x6 -q --no-picture"
    exits 0 clvox register $base -o n0
    i=1
    for change in "--update-sigma 1vox" "--total-sigma 1.5vox" "--step 0.3vox" "--momentum 0.2" "--update-damping 0.5" "--update-damping 0.9x0.5" "--mind-weight 20" \
        "--gradient local" "--metric lncc:3" "--metric ssd" "--metric ncc" "--metric mi" "--metric ncc,mi:16" "--tolerance 0.2" \
        "--smooth 3x2vox" "--fixed-mask p_fixed_labels.nii.gz" "--moving-mask p_moving_labels.nii.gz" \
        "--restrict 1x0.5x1" "--n4" "--winsorize 0.005,0.9" "--histogram-match" \
        "-f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz"; do
        exits 0 clvox register $base $change -o n$i
        exits 1 cmp -s n0_warp.nii.gz n${i}_warp.nii.gz
        i=$((i + 1))
    done
    exits 0 clvox register $base -f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz --weight 3 --weight 1 -o n$i
    exits 1 cmp -s n$((i - 1))_warp.nii.gz n${i}_warp.nii.gz
done
json n1.json 'j["options"]["metric"] == "lncc" and j["result"]["metric"] == "lncc" and j["options"]["total_sigma"] > 0'
exists n1_inverse_warp.nii.gz

finish
