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
    --init turn.txt --linear none --json log/r.json
for name in affine.txt warp.nii.gz inverse_warp.nii.gz warped.nii.gz labels.nii.gz; do exists r_$name; done
exists r.json; exists r.png; exists log/r.json
says 'fixed .*37 x 33 x 29'; says 'needed'; says 'level 1'; says 'level 1, iteration 0 of 60'
prints 'correlation'; prints 'Jacobian'; prints 'folded voxels *0 of'; prints 'inverse consistency'
prints 'seconds'; prints 'peak device memory'; prints '^lncc'
says '--inverse has no effect with --deform syn, whose inverse the command always writes'
json r.json 'j["verb"] == "register" and len(j["inputs"]) >= 3 and len(j["outputs"]) == 6'
json r.json 'j["result"]["jacobian"]["folded"] == 0 and j["result"]["metric_after"] > j["result"]["metric_linear"] + 0.02'
json r.json 'j["options"]["shrink"] == [4, 2, 1] and j["plan"]["device_bytes"] > 0 and len(j["trace"]) > 3'
json r.json 'j["result"]["inverse_error_mean_voxels"] < 0.05'
exits 0 clvox compare r_warp.nii.gz p_truth_warp.nii.gz --mask p_fixed_labels.nii.gz; below mean_voxels 0.4

begin "the files it wrote reproduce its own warped image"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t r_warp.nii.gz -t r_affine.txt -o again.nii.gz
exits 0 clvox compare r_warped.nii.gz again.nii.gz; below RMS 0.05
exits 0 clvox compare --labels r_labels.nii.gz p_fixed_labels.nii.gz --json log/l.json
json log/l.json 'j["comparison"]["mean_dice"] > 0.85'

begin "the same run gives the same bytes"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o q --deform greedy --init turn.txt --linear none --shrink 2x1 \
    --iterations 5x5 -q
quiet
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o s --deform greedy --init turn.txt --linear none --shrink 2x1 \
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

begin "the boundary of white matter refines a rigid transform"
exits 0 clvox phantom ball -o ball.nii --size 25x24x23 --labels ball_mask.nii.gz
exits 0 clvox register -f ball.nii -m ball.nii -o bbr --boundary ball_mask.nii.gz \
    --boundary-labels 1 --no-picture
prints '^boundary .* t1'; exists bbr_affine.txt; absent bbr_warp.nii.gz
json bbr.json 'max(abs(r[3]) for r in j["result"]["matrix_ras"][:3]) < .1' # a ball says nothing of rotations
json bbr.json 'j["result"]["boundary"]["cost_after"] < .5'
json bbr.json '"ball_mask.nii.gz" in str(j["inputs"])'
exits 1 clvox register -f ball.nii -m ball.nii -o no --boundary ball_mask.nii.gz --boundary-labels 7
says 'ball_mask.nii.gz: none of the labels'
absent no_affine.txt
exits 2 clvox register -f ball.nii -m ball.nii -o no --boundary ball_mask.nii.gz --linear none
says 'rigid or affine'
exits 2 clvox register -f ball.nii -m ball.nii -o no --boundary ball_mask.nii.gz --boundary-labels 2,x
says 'boundary-labels'

begin "every metric and option that exists"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform unbiased --metric ncc --shrink 4x2 --iterations 3x2 \
    --smooth 2x1vox --update-sigma 2vox --step 0.25vox --lambda 0.1 --tolerance 1e-4 \
    --fixed-mask p_fixed_labels.nii.gz --moving-mask p_moving_labels.nii.gz --init header --linear rigid -q
json k.json 'j["options"]["metric"] == "ncc" and j["options"]["iterations"] == [3, 2] and j["options"]["lambda"] == 0.1'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform none --linear translation --init header \
    --fixed-mask p_fixed_labels.nii.gz --linear-fixed-mask none --linear-moving-mask p_moving_labels.nii.gz --no-picture
json k.json 'len(j["inputs"]) == 4'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform none --linear none --linear-fixed-mask p_fixed_labels.nii.gz \
    --init header --no-picture
says 'linear-fixed-mask has no effect'
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --linear-fixed-mask missing.nii.gz; says 'missing.nii.gz'
# Nothing moves on the finer level, whose mask then says nothing.
levels="-f p_fixed.nii.gz -m p_moving.nii.gz --linear none --deform greedy --shrink 4x2 --iterations 6x0 --no-picture -q"
exits 0 clvox register $levels -o k --level-fixed-mask p_fixed_labels.nii.gz --level-fixed-mask none
exits 0 clvox register $levels -o l --level-fixed-mask p_fixed_labels.nii.gz --level-fixed-mask p_fixed_labels.nii.gz
cmp k_warp.nii.gz l_warp.nii.gz || complain 'the mask of a level that does nothing counts'
exits 0 clvox register $levels -o l --level-fixed-mask none --level-fixed-mask p_fixed_labels.nii.gz
cmp -s k_warp.nii.gz l_warp.nii.gz && complain 'the mask of the first level does not count'
exits 2 clvox register $levels -o l --level-moving-mask none; says 'given 1 times for 2 levels'
exits 1 clvox register $levels -o l --level-moving-mask none --level-moving-mask gone.nii; says 'gone.nii'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --shrink 4 --iterations 1 --smooth 2mm --json -
json log/out 'j["result"]["iterations"][0] <= 1'

begin "metrics, presets and degrees of freedom arrive where they are used"
small="-f p_fixed.nii.gz -m p_moving.nii.gz -o k --shrink 4 --iterations 1 -q --no-picture"
exits 0 clvox register $small --metric mi:16,ncc --dof 7
json k.json 'j["options"]["linear_metric"] == "mi" and j["options"]["linear_bins"] == 16 and j["options"]["metric"] == "ncc"'
json k.json 'j["options"]["linear"] == "similarity" and j["options"]["preset"] == "default"'
exits 0 clvox register $small --metric lncc:3,ssd --dof 0 --linear none
json k.json 'j["options"]["linear_metric"] == "lncc" and j["options"]["linear_radius"] == 3 and j["options"]["linear"] == "none"'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k_hurry --quick --shrink 4 --iterations 1 -q --no-picture
json k_hurry.json 'j["options"]["deform"] == "greedy"'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k_calm --shrink 4 --iterations 1 -q --no-picture
json k_calm.json 'j["options"]["deform"] == "syn"'; exists k_calm_inverse_warp.nii.gz
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k_regular --regular -q --no-picture
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k_most --best -q --no-picture
json k_regular.json "j['options']['preset'] == 'regular' and j['options']['update_damping'] > .9"
json k_most.json "j['options']['preset'] == 'best' and j['options']['finer_damping'] > 0 and j['options']['mind_weight'] > 0"
for preset in quick best; do
    exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k_$preset --$preset --deform unbiased -q --no-picture
    json k_$preset.json "j['options']['preset'] == '$preset'"
done
exits 1 cmp k_quick_warp.nii.gz k_best_warp.nii.gz

begin "several channels, on other grids too, with weights"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -o other.nii.gz
exits 0 clvox register -f p_fixed.nii.gz -f p_moving.nii.gz -m p_moving.nii.gz -m other.nii.gz -o k2 --deform none \
    --weight 3 --weight 1 --init turn.txt --linear none
says 'channels 2'; json k2.json 'j["options"]["weights"] == [3, 1] and len(j["inputs"]) == 5'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k1 --deform none --init turn.txt --linear none -q
json k2.json 'abs(j["result"]["metric_after"] - json.load(open("k1.json"))["result"]["metric_after"]) > 1e-6'

begin "the report takes the affine apart"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform none --init turn.txt --linear none
prints '^linear part *rotation .* degrees, shift .* mm'; prints 'scale .* shear'
json k.json 'len(j["result"]["linear"]["scale"]) == 3 and j["result"]["suspicions"] == [] and j["result"]["overlap"] > .8'

begin "doubts are loud, and an error only when asked for"
printf '0.4 0 0 0\n0 0.4 0 0\n0 0 0.4 0\n0 0 0 1\n' > tiny.txt
doubtful="-f p_fixed.nii.gz -m p_moving.nii.gz --init tiny.txt --linear none --deform none -q"
exits 0 clvox register $doubtful -o k; says 'WARNING: the linear part scales'
json k.json '"scale" in j["result"]["suspicions"]'
rm -f k_affine.txt
exits 1 clvox register $doubtful -o k --strict; says 'looks wrong'; exists k_affine.txt; exists k.json
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform none --strict -q; quiet
printf -- '-1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > mirror.txt
exits 0 clvox apply -i p_moving.nii.gz -r p_moving.nii.gz -t mirror.txt -o mirrored.nii
exits 1 clvox register -f p_fixed.nii.gz -m mirrored.nii -o k --deform none --strict -q; says 'are left and right exchanged'
json k.json 'j["result"]["suspicions"] == ["mirrored"]'

begin "an orientation that is assumed is reported"
exits 0 clvox apply -i p_moving.nii.gz -r p_moving.nii.gz -o unplaced.nii
printf '\0\0\0\0' | dd of=unplaced.nii bs=1 seek=252 conv=notrunc 2> log/dd # the codes of qform and sform
exits 0 clvox register -f p_fixed.nii.gz -m unplaced.nii -o k --deform none --no-picture
says 'unplaced.nii: has neither sform nor qform: its orientation is assumed'
json k.json '[i.get("orientation_assumed", False) for i in j["inputs"]] == [False, True]'

begin "which slice a single slice was compared with, and images that are too small"
exits 0 clvox phantom textured -o cube.nii --size 24x22x20 --spacing 4x4x4mm
exits 0 clvox phantom textured -o slice.nii --size 24x22x1 --spacing 4x4x4mm
exits 0 clvox register -f slice.nii -m cube.nii -o k --linear rigid --deform none --init header --no-picture
says 'the fixed image is one slice: it was compared with slice 9.5 of 0 to 19 of the moving image (axis k)'
json k.json 'j["result"]["slice"] == 9.5'
exits 0 clvox register -f cube.nii -m slice.nii -o k --linear rigid --deform none --init header --no-picture
says 'the moving image is one slice: it was compared with slice 9.5'
exits 0 clvox phantom textured -o six.nii --size 6x6x6 --spacing 2x2x2mm
exits 1 clvox register -f six.nii -m six.nii -o k --linear rigid --deform none --strict --no-picture
says 'WARNING: an image is too small'

begin "bad inputs are sensible or one sentence"
exits 0 clvox phantom constant -o one.nii --like p_fixed.nii.gz
exits 0 clvox register -f p_fixed.nii.gz -m one.nii -o k -q --no-picture; says 'WARNING: an image has one value'
json k.json 'j["result"]["largest_displacement_mm"] == 0 and j["result"]["suspicions"] == ["constant"]'
printf '1 0 0 500\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt
exits 0 clvox apply -i p_fixed_labels.nii.gz -r p_fixed.nii.gz -t far.txt -o empty.nii
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --fixed-mask empty.nii -q; one_sentence; says 'empty'
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --moving-mask empty.nii -q; one_sentence; says 'empty'
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --fixed-mask gone.nii -q; one_sentence; says 'gone.nii'
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --init far.txt --linear none -q; one_sentence
says 'overlap'
exits 1 clvox register -f p_warp_is_missing.nii -m p_moving.nii.gz -o x -q; one_sentence
exits 1 clvox register -f p_truth_warp.nii.gz -m p_moving.nii.gz -o x -q; one_sentence; says '3 volumes'
absent x_affine.txt; absent x.json
exits 0 clvox phantom pair -o slice --size 61x57x1
exits 0 clvox register -f slice_fixed.nii.gz -m slice_moving.nii.gz -o k --strict -q --no-picture
json k.json 'j["result"]["jacobian"]["folded"] == 0 and j["result"]["ncc_after"] > j["result"]["ncc_before"]'

begin "a dry run says the plan and the files, and does nothing"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o dry/x --dry-run --labels p_moving_labels.nii.gz --json log/dry.json
prints '^dry/x_inverse_warp.nii.gz$'; prints '^dry/x_labels.nii.gz$'; says 'device .* needed'
absent dry; absent x_affine.txt; json log/dry.json 'len(j["plan"]["files"]) == 7 and j["plan"]["device_bytes"] > 0'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o dry/ --dry-run --deform none; prints '^dry/register_affine.txt$'; absent dry
cp p_moving_labels.nii.gz own_labels.nii.gz
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o own --dry-run --labels own_labels.nii.gz -q; one_sentence
says 'would be overwritten'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --dry-run --linear rigid --deform none --no-picture
[ "$(cat log/out | tr '\n' ' ')" = "x_affine.txt x_warped.nii.gz x.json " ] || complain "other files: $(cat log/out)"

begin "a deformation starts from a warp"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o w --initial-warp p_truth_warp.nii.gz --init header \
    --linear none --deform greedy --shrink 2 --iterations 0 --no-picture -q
exits 0 clvox compare w_warp.nii.gz p_truth_warp.nii.gz; below mean_voxels 0.2
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --initial-warp w_affine.txt -q; one_sentence; says 'is an affine'
exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --initial-warp w_warp.nii.gz --deform none -q; one_sentence
absent x_affine.txt

begin "an affine or a warp to start from, inverted as ANTs and clvox apply write it"
exits 0 clvox invert -t turn.txt -o back.mat
starts="-f p_fixed.nii.gz -m p_moving.nii.gz --linear none --deform none --no-picture -q"
exits 0 clvox register $starts -o i0 --init turn.txt
exits 0 clvox register $starts -o i1 --init [back.mat,1]; exits 0 clvox register $starts -o i2 --init back.mat,-1
exits 0 clvox register $starts -o i3 --init [turn.txt,0]; cmp -s i0_affine.txt i3_affine.txt || complain 'other with [turn.txt,0]'
json i0.json 'all(max(abs(a - b) for r, s in zip(m, j["result"]["matrix_ras"]) for a, b in zip(r, s)) < 1e-9 for m in
    (json.load(open(f))["result"]["matrix_ras"] for f in ("i1.json", "i2.json")))'
json i1.json 'any(i["path"] == "back.mat" for i in j["inputs"])'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o v --initial-warp [p_truth_inverse_warp.nii.gz,1] \
    --init header --linear none --deform greedy --shrink 2 --iterations 0 --no-picture -q
exits 0 clvox compare v_warp.nii.gz p_truth_warp.nii.gz; below mean_voxels 0.2
exits 1 clvox register $starts -o x --init [p_truth_warp.nii.gz,1]; one_sentence; says '--initial-warp'
exits 2 clvox register $starts -o x --init [back.mat,2]; says "back.mat,2.: neither a file"
exits 2 clvox register $starts -o x --init [none.mat,1]; says 'none.mat,1.: neither a file'
exits 2 clvox register $starts -o x --init [p_fixed.nii.gz,p_moving.nii.gz,1]; says 'init moments'
exits 2 clvox register $starts -o x -r [back.mat,1]; says 'init \[FILE,1\]'
absent x_affine.txt

begin "a composite gives the affine and the warp to start from"
starts="-f p_fixed.nii.gz -m p_moving.nii.gz --deform greedy --shrink 2 --iterations 0 --no-picture -q"
if clvox compose -t p_truth_warp.nii.gz -t turn.txt -o both.h5 2> log/err; then
    exits 0 clvox register $starts -o c0 --init turn.txt --linear none --initial-warp p_truth_warp.nii.gz
    exits 0 clvox register $starts -o c1 --init both.h5
    exits 0 cmp c0_affine.txt c1_affine.txt; exits 0 clvox compare c0_warp.nii.gz c1_warp.nii.gz; below max_mm 0.01
    json c1.json 'j["options"]["linear"] == "none" and any(i["path"] == "both.h5" for i in j["inputs"])'
    exits 0 clvox compose -t both.h5,-1 -o back.h5
    exits 0 clvox register $starts -o c2 --init [back.h5,1]
    json c2.json 'max(abs(a - b) for r, s in zip(j["result"]["matrix_ras"], json.load(open("c0.json"))["result"]["matrix_ras"])
        for a, b in zip(r, s)) < 1e-6'
    exits 0 clvox compare c0_warp.nii.gz c2_warp.nii.gz; below mean_voxels 0.2
    # Its affine comes first, and the warp is what it adds to that.
    exits 0 clvox compose -r p_moving.nii.gz -t back.h5 -o want.nii.gz
    exits 0 clvox register -f p_moving.nii.gz -m p_fixed.nii.gz --deform greedy --shrink 2 --iterations 0 --no-picture -q -o c3 --init back.h5
    exits 0 clvox compose -r p_moving.nii.gz -t c3_warp.nii.gz -t c3_affine.txt -o got.nii.gz
    exits 0 clvox compare want.nii.gz got.nii.gz; below mean_voxels 0.2
    exits 0 clvox compose -t c3_affine.txt -t turn.txt -o product.txt
    exits 0 clvox info product.txt --json log/i.json
    json log/i.json 'max(abs(a - (i == k)) for i, r in enumerate(j["files"][0]["matrix_ras"]) for k, a in enumerate(r)) < 1e-6'
    exits 0 clvox register $starts -o c4 --init both.h5 --linear rigid; json c4.json 'j["options"]["linear"] == "rigid"'
    printf 'fixed\tmoving\toutput\np_fixed.nii.gz\tp_moving.nii.gz\tc5\n' > c.tsv
    exits 0 clvox register --list c.tsv -o . --deform greedy --shrink 2 --iterations 0 --no-picture -q --init both.h5
    exits 0 cmp c1_warp.nii.gz c5_warp.nii.gz; exits 0 cmp c1_affine.txt c5_affine.txt
    exits 1 clvox register $starts -o x --initial-warp both.h5; one_sentence; says 'both.h5: holds an affine'
    exits 2 clvox register $starts -o x --init both.h5 --initial-warp p_truth_warp.nii.gz; says 'give one of them'
    exits 1 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o x --init both.h5 --deform none -q; one_sentence
    absent x_affine.txt
else
    skips "clvox is built without HDF5"
fi

begin "--warp-type rounded rounds both warps"
exits 0 clvox register $starts -o long --init turn.txt --linear none --initial-warp p_truth_warp.nii.gz --inverse
exits 0 clvox register ${starts% -q} -o short --init turn.txt --linear none --initial-warp p_truth_warp.nii.gz --inverse --warp-type rounded
prints '^rounding of warps  *up to 0.006'; json short.json '.005 < j["result"]["warp_rounding_mm"] < .0068 and j["options"]["warp_type"] == "rounded"'
for end in warp inverse_warp; do
    exits 0 clvox compare long_$end.nii.gz short_$end.nii.gz; below max_mm 0.0068
done
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --linear none --deform none --warp-type rounded --no-picture
says '--warp-type has no effect with --deform none'

begin "options without effect are named"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform none --linear none --init header --weight 2 \
    --quick --metric ncc,ssd --gradient local --shrink 2 --iterations 1 --smooth 1vox --update-sigma 1 \
    --total-sigma 1 --step 1 --lambda 1 --tolerance 1 --inverse --no-picture
says '--metric has no effect with --linear none and --deform none'
for name in --weight --quick --gradient --shrink --iterations --smooth \
    --update-sigma --total-sigma --step --lambda --tolerance --inverse; do says "$name has no effect with"; done
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform unbiased --shrink 4 --iterations 1 --no-picture \
    --total-sigma 1 --gradient true --linear none --metric ncc,ssd
says "--metric has no effect on the linear part with --linear none"; says '--total-sigma has no effect with --deform unbiased'; says '--gradient has no effect with a metric'

exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform greedy --shrink 4 --iterations 1 --no-picture \
    --linear none --metric ssd --mind-weight 20
says '--mind-weight has no effect with a metric that is not lncc'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --deform lddmm --shrink 4 --iterations 1 --no-picture \
    --linear none --mind-weight 20
says '--mind-weight has no effect with --deform lddmm'

begin "a run that goes through its levels again numbers its passes, and the page plots each"
exits 0 clvox phantom pair -o c --size 40x36x32 --spacing 3mm --amplitude 6 -q
python3 - <<'P'
import gzip, struct
data = bytearray(gzip.open("c_moving.nii.gz").read())
offset = int(struct.unpack_from("<f", data, 108)[0])
count = (len(data) - offset) // 4
values = struct.unpack_from(f"<{count}f", data, offset)
top = 1.1 * max(values)
struct.pack_into(f"<{count}f", data, offset, *(min(5 * v, top - v) for v in values))
open("c.nii", "wb").write(data)
P
exits 0 clvox register -f c_fixed.nii.gz -m c.nii -o c --linear rigid --iterations 2x2 --shrink 2x1 --report --no-picture -q
json c.json 'sorted({t["pass"] for t in j["trace"]}) == [1, 2, 3]'
json c.json 'all((b["pass"], b["level"], b["attempt"], b["iteration"]) >= (a["pass"], a["level"], a["attempt"], a["iteration"]) for a, b in zip(j["trace"], j["trace"][1:]))'
python3 - <<'P' > log/out 2>&1 || complain "the plots are not one for each pass, from left to right"
import re
page = open("c_report.html").read()
assert re.findall(r"by iteration, pass (\d) of 3</figcaption>", page) == ["1", "2", "3"]
for curve in re.findall(r'<polyline class="curve[^>]*points="([^"]*)"', page):
    x = [float(p.split(",")[0]) for p in curve.split()]
    assert x == sorted(set(x)) and len(x) > 1, x
P

begin "--affine-format mat writes the affine in ITK's binary form"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o bin --deform none --linear rigid --affine-format mat --no-picture -q
absent bin_affine.txt; exists bin_affine.mat; exits 0 clvox info bin_affine.mat; prints 'affine'
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o text --deform none --linear rigid --no-picture -q; absent text_affine.mat
json bin.json 'any(p.endswith("bin_affine.mat") for p in j["outputs"])'
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair bin -o b.nii.gz; exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair text -o t.nii.gz
exits 0 clvox compare b.nii.gz t.nii.gz; below RMS 1e-3
exits 2 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o bin --affine-format xfm; says 'txt|mat'

begin "a series is refused before there is a plan"
exits 0 clvox phantom tensor:steps -o s --size 9x8x7 --directions 6 -q
exits 1 clvox register -f p_fixed.nii.gz -m s_dwi.nii.gz -o x --json x.json; one_sentence
says 's_dwi.nii.gz: has 7 volumes, and one is registered: take one by `clvox apply -i s_dwi.nii.gz -r s_dwi.nii.gz --frame 0'
printf 'fixed\tmoving\toutput\ns_dwi.nii.gz\ts_dwi.nii.gz\ta\n' > s.tsv
exits 1 clvox register --list s.tsv -o many -q; grep -q 's_dwi.nii.gz: has 7 volumes, and one is registered' many/summary.tsv || complain "the list does not say why"
absent x_affine.txt; rm -f x.json

begin "several metrics on one pair"
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --linear none --shrink 4x2 --iterations 6x2 --no-picture \
    --metric mi,lncc:3+0.5mi:16
says 'iterations of lncc (radius 3) + mi$'
json k.json '[j["options"]["beside" + x] for x in ("", "_parameter", "_weight")] == [[3], [16], [0.5]]'
json k.json 'j["options"]["metric"] == "lncc" and j["options"]["bins"] == 32'

begin "a metric for each channel"
two="-f p_fixed.nii.gz -f p_moving.nii.gz -m p_moving.nii.gz -m p_moving.nii.gz -o k --linear none --shrink 4 --iterations 2 --no-picture"
exits 0 clvox register $two --metric mi,lncc:3/mi:16
says 'iterations of lncc (radius 3) / mi$'
json k.json '[j["options"][x] for x in ("channel_metrics", "channel_metric", "channel_parameter")] == [1, [3], [16]]'
exits 2 clvox register $two --metric lncc/mi/mi; says '--metric is given for 3 channels, and there are 2'
exits 2 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o k --metric lncc/mi; says 'given for 2 channels, and there are 1'
exits 2 clvox register $two --metric lncc/mi,lncc; says 'the linear stage compares by one metric'

begin "an interrupted run ends with 130 and leaves nothing"
exits 0 clvox phantom pair -o big --size 64x64x64
mkdir stop
# A shell starts background commands with SIGINT ignored; python starts it as a terminal would.
for model in syn lddmm shooting; do
    python3 - "$program" $model > log/out 2> log/err <<'P' || complain "$model: not stopped as it should"
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([sys.argv[1], "register", "-f", "big_fixed.nii.gz", "-m", "big_moving.nii.gz", "-o", "stop/r",
                        "--deform", sys.argv[2], "--iterations", "100000x100000x100000", "--tolerance", "0"], stderr=subprocess.PIPE,
                       text=True)
for line in run.stderr:
    if line.startswith("level 1, iteration"):
        break
run.send_signal(signal.SIGINT)
rest = run.stderr.read()
code = run.wait()
sys.stderr.write(rest)
sys.exit(0 if code == 130 and rest.splitlines()[-1] == "clvox register: interrupted" else 1)
P
done
[ -z "$(ls -A stop)" ] || complain "left behind: $(ls -A stop)"
finish
