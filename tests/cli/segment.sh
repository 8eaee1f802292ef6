#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Labels and brains from atlases: segment.sh CLVOX
. "$(dirname "$0")/lib.sh"

clvox phantom pair --size 30x28x24 --spacing 5 -o a --seed 1 -q > log/out 2> log/err
clvox phantom pair --size 30x28x24 --spacing 5 -o b --seed 2 -q > log/out 2> log/err
cp a_fixed.nii.gz sub-01_T1w.nii.gz
printf 'image\tlabels\na_moving.nii.gz\ta_moving_labels.nii.gz\nb_fixed.nii.gz\tb_fixed_labels.nii.gz\n' > atlases.tsv

begin "labels, mask, confidence, volumes and a page"
exits 0 clvox segment -i a_fixed.nii.gz --atlases atlases.tsv --preset quick -o s
prints '^atlases  *2$'; prints '^labels '; prints '^brain '; says 'atlas .*a_moving.nii.gz: NCC'
for end in labels.nii.gz mask.nii.gz confidence.nii.gz volumes.tsv report.html; do exists s_$end; done
head -n 1 s_volumes.tsv | grep -q "^label	voxels	mm3	confidence$" || complain "other columns"
json s.json 'len(j["atlases"]) == 2 and j["atlases"][0]["ncc"] > .8 and j["result"]["atlases"] == 2 and j["options"]["method"]'
exits 0 clvox compare --labels s_labels.nii.gz a_fixed_labels.nii.gz

begin "every method, of which joint is the default, with the same bits again"
for method in majority local patch joint; do
    exits 0 clvox segment -i a_fixed.nii.gz --atlases atlases.tsv --preset quick --method $method -o m -q; quiet
done
cmp -s m_labels.nii.gz s_labels.nii.gz || complain "other bits"

begin "an atlas that fails is named and left out"
printf 'image\tlabels\nnowhere.nii.gz\tnone.nii.gz\na_moving.nii.gz\ta_moving_labels.nii.gz\n' > lost.tsv
exits 0 clvox segment -i a_fixed.nii.gz --atlases lost.tsv --preset quick -o l
says 'left out: nowhere.nii.gz'; prints '^atlases  *1$'
json l.json 'j["result"]["atlases"] == 1 and "nowhere" in j["atlases"][0]["failed"] and "ncc" in j["atlases"][1]'
grep -q 'failed' l_report.html || complain "the page does not say it"
printf 'image\tlabels\nnowhere.nii.gz\tnone.nii.gz\n' > lost.tsv
exits 1 clvox segment -i a_fixed.nii.gz --atlases lost.tsv -o none -q; says 'none of its 1 atlases'; absent none_labels.nii.gz

begin "masks alone, and derivatives"
printf 'image\tmask\na_moving.nii.gz\ta_moving_labels.nii.gz\n' > brains.tsv
exits 0 clvox segment -i sub-01_T1w.nii.gz --atlases brains.tsv --preset quick --bids-derivatives out -q; quiet
for name in desc-brain_mask.nii.gz desc-brain_mask.json desc-confidence_probseg.nii.gz; do exists out/sub-01/anat/sub-01_$name; done
exists out/dataset_description.json; absent out/sub-01/anat/sub-01_dseg.nii.gz
exits 0 clvox segment -i sub-01_T1w.nii.gz --atlases atlases.tsv --preset quick --bids-derivatives out -q
exists out/sub-01/anat/sub-01_dseg.nii.gz; exists out/sub-01/anat/sub-01_dseg.json

begin "misuse and bad lists are one sentence"
exits 2 clvox segment --atlases atlases.tsv -o e; says '-i HEAD is missing'
exits 2 clvox segment -i a_fixed.nii.gz -o e; says '--atlases LIST is missing'
exits 2 clvox segment -i a_fixed.nii.gz --atlases atlases.tsv; says '-o PREFIX is missing'
exits 2 clvox segment -i a_fixed.nii.gz --atlases atlases.tsv -o e --method best; says 'majority|local|patch|joint'
printf 'image\na_moving.nii.gz\n' > bad.tsv
exits 1 clvox segment -i a_fixed.nii.gz --atlases bad.tsv -o e; one_sentence; says 'bad.tsv, line 2: an atlas needs labels or a mask'
printf 'image\tlabels\tmask\na_moving.nii.gz\ta_moving_labels.nii.gz\t\nb_fixed.nii.gz\t\tb_fixed_labels.nii.gz\n' > bad.tsv
exits 1 clvox segment -i a_fixed.nii.gz --atlases bad.tsv -o e; one_sentence; says 'line 3: all atlases need the same columns'
printf 'labels\na_moving_labels.nii.gz\n' > bad.tsv
exits 1 clvox segment -i a_fixed.nii.gz --atlases bad.tsv -o e; one_sentence; says 'image'
exits 1 clvox segment -i a_fixed.nii.gz --atlases atlases.tsv --bids-derivatives out; one_sentence; says 'sub-LABEL'
mkdir two; cp a_moving.nii.gz two/x_labels.nii.gz
printf 'image\tlabels\ntwo/x_labels.nii.gz\ta_moving_labels.nii.gz\n' > over.tsv
exits 1 clvox segment -i a_fixed.nii.gz --atlases over.tsv -o two/x; says 'two/x_labels.nii.gz'

finish
