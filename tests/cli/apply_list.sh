#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many images in one process.
. "$(dirname "$0")/lib.sh"
mkdir -p in
"$program" phantom pair -o in/p --size 17x13x11 --spacing 3x2x2.5mm --seed 3 -q
"$program" phantom pair -o in/q --size 9x8x7 --spacing 4x4x4mm -q
printf '1 0 0 2\n0 1 0 -1\n0 0 1 .5\n0 0 0 1\n' > in/shift.txt
printf '0.96 -0.28 0 .6\n0.28 0.96 0 -.4\n0 0 1 .5\n0 0 0 1\n' > in/turned.txt
tab=$(printf '\t')
status() { awk -F "$tab" -v o="$1" '$2 == o { print $3 }' s.tsv; }
summary_says() { [ "$(status "$1")" = "$2" ] || complain "$1 is '$(status "$1")', not $2"; }

begin "images of a list are bit for bit those of single commands; one that fails is a row"
printf 'transforms\tage\toutput\tinput\treference\n' > in/t.tsv
printf 'p_truth_warp.nii.gz;shift.txt,-1\t3\tout/a.nii.gz\tp_moving.nii.gz\t\n' >> in/t.tsv
printf '[turned.txt,1]\t3\tout/deep/labels.nii.gz\tp_moving_labels.nii.gz\tq_fixed.nii.gz\n' >> in/t.tsv
printf 'n/a\t3\tout/gone.nii.gz\tnothing.nii.gz\tn/a\n\t\tout/b.nii\tp_moving.nii.gz\n' >> in/t.tsv
exits 1 clvox apply --list in/t.tsv -r in/p_fixed.nii.gz -t in/turned.txt --summary s.tsv --json log/l.json
says 'in/out/gone.nii.gz: failed: .*nothing.nii.gz'; says '1 of 4 images failed'; prints '3 done, 1 failed'
json log/l.json 'j["result"] == {"images": 4, "done": 3, "failed": 1} and len(j["outputs"]) == 4'
summary_says in/out/a.nii.gz done; summary_says in/out/gone.nii.gz failed; summary_says in/out/b.nii done
grep -q "gone.nii.gz${tab}failed${tab}.*nothing.nii.gz: cannot be opened" s.tsv || complain "the summary does not say why"
exits 0 clvox apply -i in/p_moving.nii.gz -r in/p_fixed.nii.gz -t in/p_truth_warp.nii.gz -t in/shift.txt,-1 -o a.nii.gz
exits 0 clvox apply -i in/p_moving_labels.nii.gz -r in/q_fixed.nii.gz -t in/turned.txt,-1 -o labels.nii.gz
exits 0 clvox apply -i in/p_moving.nii.gz -r in/p_fixed.nii.gz -t in/turned.txt -o b.nii
exits 0 cmp a.nii.gz in/out/a.nii.gz; exits 0 cmp labels.nii.gz in/out/deep/labels.nii.gz; exits 0 cmp b.nii in/out/b.nii
absent in/out/gone.nii.gz

begin "options serve every row"
printf 'input\toutput\np_fixed.nii.gz\tc.nii\n' > in/c.tsv
exits 0 clvox apply --list in/c.tsv -r in/p_fixed.nii.gz -t in/shift.txt --interp nearest --outside 7 -q; quiet
exits 0 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -t in/shift.txt --interp nearest --outside 7 -o c.nii
exits 0 cmp c.nii in/c.nii

begin "misuse and lists that make no sense are one sentence"
exits 2 clvox apply --list in/t.tsv -i in/p_fixed.nii.gz; says '--list names the images'
exits 2 clvox apply --list in/t.tsv -o x.nii; says '--list names the images'
exits 2 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -o x.nii --summary s.tsv; says '--summary belongs to --list'
exits 1 clvox apply --list gone.tsv; one_sentence; says 'gone.tsv'
printf 'input\n' > bad.tsv; exits 1 clvox apply --list bad.tsv; one_sentence; says 'no column .output'
printf 'input\toutput\n' > bad.tsv; exits 1 clvox apply --list bad.tsv; one_sentence; says 'no image'
printf 'a.nii\tb.nii\n' >> bad.tsv; exits 1 clvox apply --list bad.tsv; one_sentence; says 'line 2: there is no reference'
printf 'input\toutput\na.nii\tx/c.nii\nd.nii\tx/c.nii\n' > bad.tsv
exits 1 clvox apply --list bad.tsv -r in/p_fixed.nii.gz; one_sentence; says 'x/c.nii'
printf 'input\toutput\np_fixed.nii.gz\tp_moving.nii.gz\np_moving.nii.gz\te.nii\n' > in/bad.tsv
cp in/p_moving.nii.gz before.nii.gz
exits 1 clvox apply --list in/bad.tsv -r in/p_fixed.nii.gz; one_sentence; says 'p_moving.nii.gz'
exits 0 cmp before.nii.gz in/p_moving.nii.gz; absent in/e.nii; absent x
finish
