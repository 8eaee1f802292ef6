#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many pairs in one process.
. "$(dirname "$0")/lib.sh"
mkdir -p in
for seed in 1 2; do
    "$program" phantom pair -o "in/p$seed" --size 17x16x13 --spacing 3x3x3.5mm --seed $seed -q
done
fast="--quick --linear rigid --shrink 2x1 --iterations 3x3 --no-picture"
tab=$(printf '\t')
# status OUTPUT: what the summary says of a pair
status() { awk -F "$tab" -v o="$1" '$3 == o { print $4 }' out/summary.tsv; }
summary_says() { [ "$(status "$1")" = "$2" ] || complain "$1 is '$(status "$1")', not $2"; }

begin "a dry run lists the files of the pairs that are not complete, and makes none"
printf 'fixed\tmoving\toutput\n' > in/dry.tsv
printf 'p1_fixed.nii.gz\tp1_moving.nii.gz\ta\np2_fixed.nii.gz\tp2_moving.nii.gz\tb/c\n' >> in/dry.tsv
exits 0 clvox register --list in/dry.tsv -o dry $fast --dry-run --json log/d.json
says '2 pairs, 0 of them complete'; prints '^dry/a_warp.nii.gz$'; prints '^dry/b/c.json$'; absent dry
json log/d.json 'len(j["plan"]["files"]) == 8'
exits 0 clvox register --list in/dry.tsv -o dry $fast -q
exits 0 clvox register --list in/dry.tsv -o dry $fast --dry-run; silent; says '2 pairs, 2 of them complete'

begin "pairs of a list are bit for bit those of single commands; a failed one is a row"
printf 'output\tmoving\tage\tfixed\tlabels\n' > in/pairs.tsv
printf 'a_\tp1_moving.nii.gz\t3\tp1_fixed.nii.gz\tp1_moving_labels.nii.gz\n' >> in/pairs.tsv
printf 'gone\tnothing.nii.gz\t3\tp1_fixed.nii.gz\t\n' >> in/pairs.tsv
printf 'deep/b\tp2_moving.nii.gz\t4\tp2_fixed.nii.gz\tn/a\n' >> in/pairs.tsv
exits 1 clvox register --list in/pairs.tsv -o out $fast
says 'out/gone: failed: .*nothing.nii.gz'; says '1 of 3 pairs failed; out/summary.tsv'; prints '2 done, 0 present, 1 failed'
summary_says out/a done; summary_says out/gone failed; summary_says out/deep/b done
grep -q "nothing.nii.gz${tab}out/gone${tab}failed.*nothing.nii.gz: cannot be opened" out/summary.tsv || complain "the summary does not say why"
exits 0 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz --labels in/p1_moving_labels.nii.gz -o s1 $fast
exits 0 clvox register -f in/p2_fixed.nii.gz -m in/p2_moving.nii.gz -o s2 $fast
for end in warp.nii.gz warped.nii.gz labels.nii.gz affine.txt; do cmp -s out/a_$end s1_$end || complain "a_$end differs"; done
for end in warp.nii.gz warped.nii.gz affine.txt; do cmp -s out/deep/b_$end s2_$end || complain "b_$end differs"; done
absent out/deep/b_labels.nii.gz; absent out/gone_warp.nii.gz; absent out/gone.json
json out/deep/b.json 'len(j["inputs"]) == 2 and len(j["outputs"]) == 3 and j["result"]["ncc_after"] > 0.9'

begin "what is complete stays as it is; what misses a file, its log or has another input is done again"
cp in/p2_moving.nii.gz in/nothing.nii.gz
touch -d '2001-01-01' out/a_warp.nii.gz out/deep/b_warp.nii.gz
rm out/deep/b_affine.txt
exits 0 clvox register --list in/pairs.tsv -o out $fast --json log/l.json
json log/l.json 'j["result"] == {"pairs": 3, "done": 2, "present": 1, "failed": 0}'
summary_says out/a present; summary_says out/gone done; summary_says out/deep/b done
[ "$(date -r out/a_warp.nii.gz +%Y)" = 2001 ] || complain "a complete pair was written again"
[ "$(date -r out/deep/b_warp.nii.gz +%Y)" != 2001 ] || complain "a pair without its matrix was taken for complete"
rm out/deep/b.json; touch in/p1_moving_labels.nii.gz
exits 0 clvox register --list in/pairs.tsv -o out $fast -q; quiet
summary_says out/a done; summary_says out/gone present; summary_says out/deep/b done
exits 0 clvox register --list in/pairs.tsv -o out $fast --step 0.3vox -q
[ "$(grep -c "${tab}done$tab" out/summary.tsv)" = 3 ] || complain "other options were not felt"
json out/a.json 'json.loads(j["pair"])["options"].items() >= {"step": "0.3vox", "linear": "rigid", "shrink": "2x1"}.items()'

begin "several devices solve the pairs of a list, with the bits of one"
one=${CLVOX_DEVICE:-0}
cp out/summary.tsv before.tsv
for pair in a gone deep/b; do cp "out/${pair}_warp.nii.gz" "$(basename "$pair").nii.gz"; done
exits 0 clvox register --list in/pairs.tsv -o out $fast --step 0.3vox --device "$one,$one"; prints '0 done, 3 present'
rm out/*.json out/deep/*.json
exits 0 clvox register --list in/pairs.tsv -o out $fast --step 0.3vox --device "$one,$one,$one" --profile --jobs 1; prints '3 done, 0 present'
cut -f 1-8,10- before.tsv > want.tsv; cut -f 1-8,10- out/summary.tsv | sed "s/${tab}present${tab}/${tab}done${tab}/" | cmp -s - want.tsv || complain "another summary"
for pair in a gone deep/b; do cmp -s "out/${pair}_warp.nii.gz" "$(basename "$pair").nii.gz" || complain "$pair has other bits"; done
rm out/*.json out/deep/*.json
exits 0 clvox register --list in/pairs.tsv -o out $fast --step 0.3vox --at-once 2 --json two.json; prints '3 done, 0 present'
json two.json '"count" not in j["device"]'
for pair in a gone deep/b; do cmp -s "out/${pair}_warp.nii.gz" "$(basename "$pair").nii.gz" || complain "$pair has other bits"; done
exits 1 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o x --device "$one,$one"; one_sentence; says 'one device is taken here'; absent x_warp.nii.gz

begin "a run that is ended says that the same command goes on; one that is killed leaves no unfinished file to the next"
on_processor
"$program" phantom pair -o in/large --size 61x62x63 -q
printf 'fixed\tmoving\toutput\n' > in/large.tsv
for k in 1 2 3; do printf 'large_fixed.nii.gz\tlarge_moving.nii.gz\tlarge%d\n' $k >> in/large.tsv; done
large="$program register --list in/large.tsv -o large --quick --linear none --shrink 4 --iterations 2 --no-picture"
exits 0 python3 "$here/end.py" SIGTERM 143 large large1_warp.nii.gz $large
says '^large/summary.tsv says which pairs are done: the same command makes the others'
[ -z "$(ls -A large | grep '^[.]')" ] || complain "unfinished files stayed: $(ls -A large)"
rm large/*
exits 0 python3 "$here/unfinished.py" large $large
exits 0 $large; prints '3 done, 0 present, 0 failed'
[ -z "$(ls -A large | grep '^[.]')" ] || complain "unfinished files stayed: $(ls -A large)"

begin "nor do derivatives, in any of their folders"
printf 'fixed\tmoving\n' > in/bids.tsv
for k in 1 2; do cp in/large_moving.nii.gz in/sub-${k}_T1w.nii.gz; printf 'large_fixed.nii.gz\tsub-%d_T1w.nii.gz\n' $k >> in/bids.tsv; done
bids="$program register --list in/bids.tsv --bids-derivatives d --space T --quick --linear none --shrink 4 --iterations 2"
exits 0 $bids; [ -d d/sub-2/figures ] || complain "there are no figures"
rm -r d/logs
exits 0 python3 "$here/unfinished.py" d/sub-2/anat $bids
left=$(cd d/sub-2/anat && ls -A | grep '^[.]' | head -n 1)
[ "$left" ] || complain "no file is unfinished"
mkdir -p d/logs
for place in sub-2/figures logs; do : > "d/$place/$left"; done
exits 0 $bids
[ -z "$(find d -name '.clvox*')" ] || complain "unfinished files stayed: $(find d -name '.clvox*')"

begin "a disk that is full ends the run, which goes on where there is room"
mkdir -p tiny
if unshare -rm sh "$here/full.sh" 8k true 2> log/err; then
    for k in 4 5 6; do printf 'large_fixed.nii.gz\tlarge_moving.nii.gz\tlarge%d\n' $k >> in/large.tsv; done
    full="$program register --list in/large.tsv -o tiny --quick --linear none --shrink 4 --iterations 2 --no-picture --summary full.tsv --jobs 1 --at-once 1"
    half=$(($(du -sk large | cut -f 1) / 2))k
    exits 1 unshare -rm sh "$here/full.sh" $half $full -q
    one_sentence; says 'tiny/large2.*: there is no room for it on its disk; make room, and the same command makes the pairs that are missing'
    [ "$(grep -c "${tab}waiting$tab" full.tsv)" -ge 3 ] || complain "the run went on: $(cut -f 4 full.tsv)"
    exits 0 env AGAIN=64M unshare -rm sh "$here/full.sh" $half $full
    prints '5 done, 1 present, 0 failed'
else
    skips "no disk can be mounted"
fi

begin "masks of levels are those of single commands, and others are felt"
printf 'fixed\tmoving\toutput\np1_fixed.nii.gz\tp1_moving.nii.gz\ta\n' > in/levels.tsv
levels="--level-fixed-mask none --level-fixed-mask in/p1_fixed_labels.nii.gz $fast --linear none"
exits 0 clvox register --list in/levels.tsv -o levels $levels -q
exits 0 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o s3 $levels
exits 0 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o s4 $fast --linear none
cmp -s levels/a_warp.nii.gz s3_warp.nii.gz || complain "the list's masks of levels are others"
cmp -s s3_warp.nii.gz s4_warp.nii.gz && complain "the masks of levels do not count"
exits 0 clvox register --list in/levels.tsv -o levels $levels; prints '0 done, 1 present'
touch in/p1_fixed_labels.nii.gz
exits 0 clvox register --list in/levels.tsv -o levels $levels; prints '1 done, 0 present'
exits 2 clvox register --list in/levels.tsv -o levels $fast --level-moving-mask none; says 'given 1 times for 2 levels'

begin "rows with a boundary are those of single commands, and not deformed"
printf '1 0 0 2\n0 1 0 -1\n0 0 1 1.5\n0 0 0 1\n' > shift.txt
exits 0 clvox phantom ball -o in/ball.nii --size 25x24x23 --labels in/mask.nii.gz
exits 0 clvox apply -i in/ball.nii -r in/ball.nii -t shift.txt -o in/moved.nii
printf 'fixed\tmoving\toutput\tboundary\nball.nii\tmoved.nii\ta\tmask.nii.gz\n' > in/white.tsv
printf 'moved.nii\tball.nii\tb\tmask.nii.gz;mask.nii.gz\nball.nii\tmoved.nii\tc\tn/a\n' >> in/white.tsv
white="$fast --boundary-labels 1 --boundary-contrast t1"
exits 0 clvox register --list in/white.tsv -o white $white
exits 0 clvox register -f in/ball.nii -m in/moved.nii --boundary in/mask.nii.gz -o s5 $white
cmp -s white/a_affine.txt s5_affine.txt || complain "the list's fit is another one"
absent white/a_warp.nii.gz; exists white/c_warp.nii.gz
json white/a.json 'j["result"]["boundary"]["contrast"] == "t1" and "in/mask.nii.gz" in str(j["inputs"])'
json white/a.json 'max(abs(r[3] - t) for r, t in zip(j["result"]["matrix_ras"], (-2, 1, -1.5))) < .1'
json white/b.json 'max(abs(r[3]) for r in j["result"]["matrix_ras"][:3]) < .1' # where the mask is, not the images' match
json white/c.json '"boundary" not in j["result"]'
exits 0 clvox register --list in/white.tsv -o white $white; prints '0 done, 3 present'
touch in/mask.nii.gz
exits 0 clvox register --list in/white.tsv -o white $white --boundary in/mask.nii.gz; prints '3 done, 0 present'
cmp -s white/c_affine.txt s5_affine.txt || complain "a row has not the boundary of all"
printf 'fixed\tmoving\toutput\tboundary\nball.nii\tmoved.nii\td\tgone.gii\n' > in/gone.tsv
exits 1 clvox register --list in/gone.tsv -o white $white; says 'white/d: failed: in/gone.gii'; absent white/d_affine.txt
exits 1 clvox register --list in/white.tsv -o no $fast --linear similarity; one_sentence; says 'white.tsv, line 2: a boundary refines --linear rigid or affine'
exits 2 clvox register -f in/ball.nii -m in/moved.nii -o no --boundary-labels 1; says '--boundary-labels belongs to'

begin "misuse and lists that make no sense are one sentence"
exits 2 clvox register --list in/pairs.tsv; says '-o DIR'
exits 2 clvox register --list in/pairs.tsv -o x --jobs 65; says '--jobs 65: at most 64'
exits 2 clvox register --list in/pairs.tsv -o x --at-once 17; says '--at-once 17: at most 16'
exits 2 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o x --at-once 2; says '--at-once belongs to --list'
exits 2 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o x --jobs 2; says '--jobs belongs to --list'
exits 2 clvox register --list in/pairs.tsv -f in/p1_fixed.nii.gz -o x; says '--list names the images'
exits 2 clvox register -f in/p1_fixed.nii.gz -m in/p1_moving.nii.gz -o x --summary s.tsv; says '--summary belongs to --list'
exits 1 clvox register --list gone.tsv -o x; one_sentence; says 'gone.tsv'
printf 'fixed\tmoving\n' > bad.tsv; exits 1 clvox register --list bad.tsv -o x; one_sentence; says 'no column .output'
printf 'fixed\tmoving\toutput\n' > bad.tsv; exits 1 clvox register --list bad.tsv -o x; one_sentence; says 'no pair'
printf 'a.nii\t\tb\n' >> bad.tsv; exits 1 clvox register --list bad.tsv -o x; one_sentence; says 'line 2: there is no moving'
printf 'fixed\tmoving\toutput\na\tb\tc\nd\te\tc_\n' > bad.tsv
exits 1 clvox register --list bad.tsv -o x; one_sentence; says 'two pairs have the output x/c'
mkdir -p spelt/real out/there; ln -s real spelt/link
# spelled FIRST SECOND: two rows of one output
spelled() {
    printf 'fixed\tmoving\toutput\np1_fixed.nii.gz\tp1_moving.nii.gz\t%s\n' "$1" > in/spelt.tsv
    printf 'p2_fixed.nii.gz\tp2_moving.nii.gz\t%s\n' "$2" >> in/spelt.tsv
    exits 1 clvox register --list in/spelt.tsv -o spelt $fast; one_sentence
    says "in/spelt.tsv: two pairs have the output .*spelt/.* (also called .*spelt/"
}
for other in a//b ./a/b a/../a/b a/./b a/c/../b ../spelt/a/b c/../a/b "$PWD/spelt/a/b"; do spelled a/b $other; done
spelled real/b link/b; spelled link/new/b real/new//b; spelled link/../b b
[ "$(ls spelt)" = "link
real" ] || complain "a refused list left $(ls spelt)"
printf 'fixed\tmoving\toutput\np1_fixed.nii.gz\tp1_moving.nii.gz\ta\n' > in/spelt.tsv
printf 'p2_fixed.nii.gz\tp2_moving.nii.gz\tb\n' >> in/spelt.tsv
: > spelt/a_affine.txt; ln -s a_affine.txt spelt/b_affine.txt
exits 1 clvox register --list in/spelt.tsv -o spelt $fast; one_sentence; says 'two pairs have the output'
cp in/p1_moving.nii.gz in/c_warped.nii.gz
printf 'fixed\tmoving\toutput\np1_fixed.nii.gz\tc_warped.nii.gz\tc\n' > in/bad.tsv
exits 1 clvox register --list in/bad.tsv -o in; one_sentence; says 'in/c_warped.nii.gz: is an input'
cmp -s in/p1_moving.nii.gz in/c_warped.nii.gz || complain "an input was overwritten"
absent x

begin "names with tabs, line ends and backslashes are one field, and read back"
odd=$(printf 'a\tb\nc\rd\\te')
mkdir odd; cp in/p1_fixed.nii.gz "odd/$odd.nii.gz"
printf 'fixed\tmoving\toutput\n%s\t../in/p1_moving.nii.gz\t%s\n' 'a\tb\nc\rd\\te.nii.gz' 'o\tp\nq\r\\' > odd/list.tsv
exits 0 clvox register --list odd/list.tsv -o odd $fast
[ "$(wc -l < odd/summary.tsv)" = 2 ] || complain "a name broke a line of the summary"
python3 - <<'P' || complain "the summary has other names"
import re
fields = open("odd/summary.tsv", newline="").read().split("\n")[1].split("\t")
fixed, moving, output, status = (re.sub(r"\\(.)", lambda m: dict(t="\t", n="\n", r="\r").get(m[1], m[1]), f) for f in fields[:4])
assert len(fields) == 11 and fixed == "odd/a\tb\nc\rd\\te.nii.gz" and output == "odd/o\tp\nq\r\\" and status == "done", fields
P
exists "odd/$(printf 'o\tp\nq\r\\')_warp.nii.gz"
sed 's,\.nii\.gz,_gone&,' odd/list.tsv > odd/gone.tsv # a message with such a name
exits 1 clvox register --list odd/gone.tsv -o odd $fast
[ "$(wc -l < odd/summary.tsv)" = 2 ] || complain "a message broke a line of the summary"
finish
