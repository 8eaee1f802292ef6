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
exits 0 clvox apply --forward --mass -i s_mask.nii.gz -r a_fixed.nii.gz -o mass.nii.gz # a mask is no label map
exits 0 clvox info mass.nii.gz; prints 'float32'

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
printf 'label\tname\n1\tfirst shell\n' > names.tsv
exits 0 clvox segment -i sub-01_T1w.nii.gz --atlases brains.tsv --names names.tsv --preset quick --bids-derivatives out -q; quiet
for name in desc-brain_mask.nii.gz desc-brain_mask.json desc-confidence_probseg.nii.gz; do exists out/sub-01/anat/sub-01_$name; done
exists out/dataset_description.json; absent out/sub-01/anat/sub-01_dseg.nii.gz
exits 0 clvox segment -i sub-01_T1w.nii.gz --atlases atlases.tsv --preset quick --bids-derivatives out -q
exists out/sub-01/anat/sub-01_dseg.nii.gz; exists out/sub-01/anat/sub-01_dseg.json

begin "heads of a list have the files of single commands; one that fails is a row, and a run goes on where it was stopped"
tab=$(printf '\t')
status() { awk -F "$tab" -v o="$1" '$2 == o { print $3 }' out/list/summary.tsv; }
summary_says() { [ "$(status "out/list/$1")" = "$2" ] || complain "$1 is '$(status "out/list/$1")', not $2"; }
printf 'image\tlabels\nnowhere.nii.gz\tnone.nii.gz\na_moving.nii.gz\ta_moving_labels.nii.gz\n' > few.tsv # as of l_labels.nii.gz
printf 'output\tage\timage\ndeep/a_\t3\ta_fixed.nii.gz\ngone\t4\tnothing.nii.gz\n' > heads.tsv
list="--list heads.tsv --atlases few.tsv -o out/list --preset quick"
exits 1 clvox segment $list
says '2 heads, 0 of them complete'; says 'out/list/gone: failed: .*nothing.nii.gz'; says '1 of 2 heads failed; out/list/summary.tsv'
prints '1 done, 0 present, 1 failed'; summary_says deep/a done; summary_says gone failed; absent out/list/gone.json
[ "$(grep -c 'left out: nowhere.nii.gz' log/err)" = 1 ] || complain "an atlas that is lost is not said once for all heads"
for end in labels.nii.gz mask.nii.gz confidence.nii.gz volumes.tsv; do cmp -s out/list/deep/a_$end l_$end || complain "a_$end differs"; done
exists out/list/deep/a_report.html
json out/list/deep/a.json 'len(j["inputs"]) == 3 and len(j["outputs"]) == 5 and "nowhere" in j["atlases"][0]["failed"]'
touch -d 2001-01-01 out/list/deep/a_mask.nii.gz; cp a_fixed.nii.gz nothing.nii.gz
exits 0 clvox segment $list --json log/l.json; summary_says deep/a present; summary_says gone done
json log/l.json 'j["result"] == {"heads": 2, "done": 1, "present": 1, "failed": 0}'
[ "$(date -r out/list/deep/a_mask.nii.gz +%Y)" = 2001 ] || complain "a complete head was written again"
exits 1 clvox segment $list --method majority --no-clobber; says 'exists, and --no-clobber keeps it'
rm out/list/gone_mask.nii.gz; touch few.tsv
exits 0 clvox segment $list; prints '1 done, 1 present, 0 failed'
exits 0 clvox segment $list --names names.tsv; prints '2 done, 0 present, 0 failed'
grep -q "^1${tab}first shell${tab}" out/list/deep/a_volumes.tsv || complain "the label has no name"
printf 'image\nsub-01_T1w.nii.gz\n' > bids.tsv
exits 0 clvox segment --list bids.tsv --atlases brains.tsv --preset quick --bids-derivatives listed -q; quiet
for name in sub-01/anat/sub-01_desc-brain_mask.json sub-01/figures/sub-01_desc-segment.html logs/sub-01_desc-segment.json logs/summary.tsv; do
    exists listed/$name
done
grep -q "listed/sub-01/anat/sub-01${tab}done${tab}1${tab}0$tab" listed/logs/summary.tsv || complain "another summary"

begin "processes that have one list share its heads, and shards together are its heads"
printf 'image\toutput\na_fixed.nii.gz\ta\nb_fixed.nii.gz\tb\n' > two.tsv
list="--list two.tsv --atlases brains.tsv -o shared --preset quick --method majority"
mkdir shared
exits 0 flock shared/a.json.claim "$program" segment $list # another process has a
says '1 heads are with other processes'; prints '1 done, 0 present, 0 failed'; absent shared/a.json; absent shared/b.json.claim
exits 0 clvox segment $list --shard 2/2; prints '0 done, 1 present'; exists shared/summary_shard-2-of-2.tsv
exits 0 clvox segment $list --shard 3/3; says 'no head is in shard 3 of 3'; absent shared/a.json
exits 0 clvox segment $list --shard 1/2; prints '1 done, 0 present'; absent shared/a.json.claim
exits 0 clvox segment $list; prints '0 done, 2 present'
exits 2 clvox segment $list --shard 3/2; says '--shard 3/2: '

begin "misuse and bad lists are one sentence"
exits 2 clvox segment --list heads.tsv -i a_fixed.nii.gz --atlases few.tsv -o e; says '--list names the heads'
exits 2 clvox segment --list heads.tsv --atlases few.tsv; says '-o DIR is missing'
exits 2 clvox segment -i a_fixed.nii.gz --atlases few.tsv -o e --jobs 2; says '--jobs belongs to --list'
exits 2 clvox segment -i a_fixed.nii.gz --atlases few.tsv -o e --shard 1/2; says '--shard belongs to --list'
printf 'image\toutput\na_fixed.nii.gz\tx\nb_fixed.nii.gz\tx_\n' > bad.tsv
exits 1 clvox segment --list bad.tsv --atlases few.tsv -o e; one_sentence; says 'two heads have the output e/x'; absent e
printf 'image\na_fixed.nii.gz\n' > bad.tsv
exits 1 clvox segment --list bad.tsv --atlases few.tsv -o e; one_sentence; says 'no column .output'
printf 'image\tlabels\nlost.nii.gz\tlost.nii.gz\n' > bad.tsv
exits 1 clvox segment --list heads.tsv --atlases bad.tsv -o e -q; one_sentence; says 'none of its 1 atlases'; absent e/deep
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
