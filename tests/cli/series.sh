#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Motion of a 4-D scan, from files to files.
. "$(dirname "$0")/lib.sh"

exits 0 clvox phantom tensor:rings -o p --size 17x19x11 --spacing 3x3x4mm --directions 12 --direction oblique

begin "a DWI: what it writes, and that it can be used"
exits 0 clvox series p_dwi.nii.gz --bval p.bval --bvec p.bvec -o s --matrices mats --mask p_mask.nii.gz
for name in corrected.nii.gz mean.nii.gz motion.tsv transforms.txt corrected.bval corrected.bvec; do exists s_$name; done
says 'series .*13 frames of 17 x 19 x 11'; prints 'framewise displacement'
json s.json 'j["result"]["frames"] == 13 and j["result"]["reference"] == 0 and len(j["outputs"]) == 6 + 2 * 13'
json s.json 'j["options"]["interpolation"] == "lanczos" and j["options"]["linear"] == "rigid"'
[ "$(wc -l < s_motion.tsv)" = 14 ] || complain "no row for each frame"
head -n 1 s_motion.tsv | grep -q 'trans_x	trans_y	trans_z	rot_x	rot_y	rot_z	framewise_displacement' || complain "columns"
sed -n 2p s_motion.tsv | grep -q 'n/a' || complain "the first frame has a displacement"
[ "$(grep -c '^Transform: ' s_transforms.txt)" = 13 ] || complain "no transform for each frame"
exists mats/0012.txt; exists mats/MAT_0012
exits 0 clvox info s_corrected.nii.gz; prints '17 x 19 x 11'
exits 0 clvox tensor fit s_corrected.nii.gz --bval s_corrected.bval --bvec s_corrected.bvec -o t -q

begin "a frame's own matrix is applied; all of them at once are refused"
exits 0 clvox apply -i p_dwi.nii.gz -r p_dwi.nii.gz -t mats/0003.txt -o a.nii.gz -q
exits 1 clvox apply -i p_dwi.nii.gz -r p_dwi.nii.gz -t s_transforms.txt -o b.nii.gz; one_sentence; says 'frames of a series'
absent b.nii.gz

begin "the same bytes again; the mean; another frame; affine"
exits 0 clvox series p_dwi.nii.gz --bval p.bval --bvec p.bvec -o s2 --mask p_mask.nii.gz -q; quiet
exits 0 cmp s_corrected.nii.gz s2_corrected.nii.gz
exits 0 cmp s_motion.tsv s2_motion.tsv
exits 0 clvox series p_dwi.nii.gz -o m --reference 2 --to mean --linear AFFINE --interp cubic --metric mi -q
json m.json 'j["options"]["target"] == "mean" and j["options"]["linear"] == "affine" and j["result"]["reference"] == 2'
exits 0 clvox series p_dwi.nii.gz -o m --reference s_mean.nii.gz -q
json m.json '"reference" not in j["result"]'

begin "matrices of an earlier run go with its other files"
exits 0 clvox series p_dwi.nii.gz -o old --matrices omats --to mean --mask p_mask.nii.gz -q
cp old.json before.json; touch omats/mine.txt
python3 - <<'P'
import json
log = json.load(open("old.json")) # as if there had been a fourteenth frame
log["outputs"] += ["omats/0013.txt", "omats/MAT_0013"]
json.dump(log, open("old.json", "w"))
P
cp omats/0012.txt omats/0013.txt; cp omats/MAT_0012 omats/MAT_0013; touch old.json
exits 0 clvox series p_dwi.nii.gz -o old --matrices omats/ --mask p_mask.nii.gz
says 'omats/0013.txt: of an earlier run'; absent omats/0013.txt; absent omats/MAT_0013; exists omats/0012.txt
[ -e omats/mine.txt ] || complain "a file of others went"

begin "a dry run says the plan and the files, does nothing, and forecasts the memory"
exits 0 clvox series p_dwi.nii.gz --bval p.bval --bvec p.bvec -o dry/ --matrices dry/mats --mask p_mask.nii.gz --dry-run \
    --json log/dry.json
says 'plan .*rigid, to frame 0, then shell by shell'; says 'device .* needed'
prints '^dry/series_corrected.bvec$'; prints '^dry/mats/MAT_0012$'; [ "$(wc -l < log/out)" = 33 ] || complain "not 7 + 26 files"
absent dry
json log/dry.json 'j["plan"]["reference"] == 0 and j["plan"]["shells"] == 2 and len(j["plan"]["files"]) == 33'
json s.json 'json.load(open("log/dry.json"))["plan"]["device_bytes"] == j["plan"]["device_bytes"]'
json s.json '1 <= j["plan"]["device_bytes"] / j["result"]["device_bytes"] < 1.5'
json m.json '1 <= j["plan"]["device_bytes"] / j["result"]["device_bytes"] < 1.5'
exits 0 clvox series p_dwi.nii.gz -o dry --dry-run -q; quiet; prints '^dry_motion.tsv$'
[ "$(wc -l < log/out)" = 5 ] || complain "not 5 files"; absent dry_motion.tsv
exits 1 clvox series p_dwi.nii.gz -o e --reference 13 --dry-run; one_sentence; says 'there is no frame 13'
exits 1 clvox series p_dwi.nii.gz -o p_dwi --dry-run --json p_dwi.nii.gz; one_sentence; says 'would be overwritten'

begin "what is wrong with a series is one sentence"
exits 2 clvox series p_dwi.nii.gz; says '-o PREFIX is missing'
exits 2 clvox series p_dwi.nii.gz -o e --reference none.nii; says 'neither a file nor the number of a frame'
exits 2 clvox series p_dwi.nii.gz -o e --linear scales; says 'translation|rigid|similarity|affine'
exits 2 clvox series p_dwi.nii.gz -o e --bval p.bval; says 'bvec'
exits 1 clvox series p_dwi.nii.gz -o e --reference 13; says 'there is no frame 13'
exits 1 clvox series p_truth_fa.nii.gz -o e; says 'one frame'
exits 1 clvox series p_truth_tensor.nii.gz -o e; says 'not frames in time'
exits 1 clvox series p_dwi.nii.gz -o e --reference p_dwi.nii.gz; says 'the reference has 13 volumes'
exits 1 clvox series none.nii.gz -o e; says 'none.nii.gz'
absent e_corrected.nii.gz; absent e_motion.tsv
exits 1 clvox register -f p_dwi.nii.gz -m p_dwi.nii.gz -o e; one_sentence; says 'p_dwi.nii.gz: has 13 volumes'; says '--frame 0'; says 'clvox series'
exits 0 clvox series --help; prints 'PREFIX_motion.tsv'
exits 0 clvox register --help all; prints 'corrected by `clvox series`'
finish
