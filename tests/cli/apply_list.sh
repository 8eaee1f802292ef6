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
says 'in/out/gone.nii.gz: failed: .*nothing.nii.gz'; says '1 of 4 images failed'; prints '3 done, 0 present, 1 failed'
json log/l.json 'j["result"] == {"images": 4, "done": 3, "present": 0, "failed": 1} and len(j["outputs"]) == 4'
summary_says in/out/a.nii.gz done; summary_says in/out/gone.nii.gz failed; summary_says in/out/b.nii done
grep -q "gone.nii.gz${tab}failed${tab}.*nothing.nii.gz: cannot be opened" s.tsv || complain "the summary does not say why"
exits 0 clvox apply -i in/p_moving.nii.gz -r in/p_fixed.nii.gz -t in/p_truth_warp.nii.gz -t in/shift.txt,-1 -o a.nii.gz
exits 0 clvox apply -i in/p_moving_labels.nii.gz -r in/q_fixed.nii.gz -t in/turned.txt,-1 -o labels.nii.gz
exits 0 clvox apply -i in/p_moving.nii.gz -r in/p_fixed.nii.gz -t in/turned.txt -o b.nii
exits 0 cmp a.nii.gz in/out/a.nii.gz; exits 0 cmp labels.nii.gz in/out/deep/labels.nii.gz; exits 0 cmp b.nii in/out/b.nii
absent in/out/gone.nii.gz

begin "a run goes on where it was stopped, and makes anew what has other files or options"
again="--list in/t.tsv -r in/p_fixed.nii.gz -t in/turned.txt --summary s.tsv"
cp in/out/a.nii.gz a.nii.gz; touch -d 2001-01-01 in/out/a.nii.gz in/out/b.nii; rm in/out/deep/labels.nii.gz
exits 1 clvox apply $again; prints '1 done, 2 present, 1 failed'; says '4 images, 2 of them complete'
[ "$(date -r in/out/a.nii.gz +%Y)" = 2001 ] || complain "an image that was there was made again"
summary_says in/out/a.nii.gz present; summary_says in/out/deep/labels.nii.gz done; summary_says in/out/gone.nii.gz failed
cp in/p_moving.nii.gz in/nothing.nii.gz
exits 0 clvox apply $again --jobs 1; prints '1 done, 3 present, 0 failed'
exits 0 clvox apply $again --jobs 3; prints '0 done, 4 present, 0 failed'
touch in/turned.txt # of all but the first row
exits 0 clvox apply $again --jobs 3; prints '3 done, 1 present, 0 failed'
[ "$(date -r in/out/b.nii +%Y)" != 2001 ] || complain "an image of another transform was left"
exits 0 clvox apply $again --interp nearest --jobs 2; prints '4 done, 0 present, 0 failed'
exits 0 clvox apply $again; prints '4 done, 0 present, 0 failed'; exits 0 cmp a.nii.gz in/out/a.nii.gz
echo nonsense > s.tsv; exits 0 clvox apply $again; prints '4 done, 0 present, 0 failed'
cat > kill.py <<'P'
"""kill.py SIGNAL COMMAND...: sends the signal once the summary says that one is done and others wait; again, where the run
was faster."""
import os, signal, subprocess, sys, time
def under_way():
    try:
        text = open("k.tsv").read()
    except OSError:
        return False
    return "\tdone\t" in text and "\twaiting\t" in text
for attempt in range(20):
    for name in os.listdir("killed") if os.path.isdir("killed") else []:
        os.unlink("killed/" + name)
    run = subprocess.Popen(sys.argv[2:])
    while run.poll() is None and not under_way():
        time.sleep(0.001)
    run.send_signal(getattr(signal, sys.argv[1]))
    if run.wait() != 0:
        sys.exit(0)
sys.exit(1)
P
printf 'input\toutput\n' > many.tsv
for k in 0 1 2 3 4 5 6 7 8 9; do for j in 0 1 2 3 4 5 6 7 8 9; do
    printf 'in/p_moving.nii.gz\tkilled/%d%d.nii.gz\n' $j $k
done; done >> many.tsv
many="--list many.tsv -r in/p_fixed.nii.gz -t in/turned.txt --summary k.tsv"
exits 0 python3 kill.py SIGKILL "$program" apply -q $many
exits 0 clvox apply $many --json log/k.json; says '100 images, [1-9][0-9]* of them complete'
json log/k.json 'j["result"]["present"] > 0 and j["result"]["present"] + j["result"]["done"] == 100'
exits 0 clvox apply -i in/p_moving.nii.gz -r in/p_fixed.nii.gz -t in/turned.txt -o one.nii.gz
for file in killed/*.nii.gz; do cmp -s one.nii.gz "$file" || complain "$file has other bits"; done
[ "$(ls killed | wc -l)" = 100 ] || complain "other files than asked for"

rm -r killed k.tsv
exits 0 python3 "$here/end.py" SIGTERM 143 killed 10.nii.gz "$program" apply $many
says '^k.tsv says which images are done: the same command makes the others'
exits 0 python3 "$here/unfinished.py" killed "$program" apply -q $many
exits 0 clvox apply -q $many
[ "$(ls -A killed | wc -l)" = 100 ] || complain "other files than asked for"

begin "a disk that is full ends the run, and the same command makes what is missing"
if [ -w /dev/full ]; then
    printf 'input\toutput\nin/p_moving.nii.gz\tfull/a.nii\nin/p_moving.nii.gz\t/dev/full\n' > full.tsv
    for k in 1 2 3 4 5 6; do printf 'in/p_moving.nii.gz\tfull/%d.nii\n' $k; done >> full.tsv
    full="--list full.tsv -r in/p_fixed.nii.gz -t in/turned.txt --jobs 1"
    exits 1 clvox apply -q $full
    one_sentence; says '/dev/full: there is no room for it on its disk; make room, and run this again'
    exists full/a.nii; absent full/6.nii
    rm -r full
    exits 1 clvox apply -q $full --summary f.tsv
    one_sentence; says '/dev/full: there is no room for it on its disk; make room, and the same command makes the images that are missing'
    grep -q "/dev/full${tab}failed${tab}.*No space left" f.tsv || complain "the summary does not say what failed"
    grep -q "full/6.nii${tab}waiting" f.tsv || complain "the run went on"
    sed -i 's,/dev/full,full/b.nii,' full.tsv
    exits 0 clvox apply $full --summary f.tsv; says '8 images, [1-9] of them complete'; prints ' 0 failed'
else
    skips "there is no /dev/full"
fi

begin "names with tabs, line ends and backslashes are one field, and read back by the next run"
odd=$(printf 'a\tb\nc\rd\\te.nii')
exits 0 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -o "$odd" -q
printf 'input\toutput\ta\\tb\n%s\tout/%s\t\n%s\tout/plain\\x.nii\n' 'a\tb\nc\rd\\te.nii' 'o\tp\nq.nii' 'a\tb\nc\rd\\te.nii' > odd.tsv
exits 0 clvox apply --list odd.tsv -r in/p_fixed.nii.gz --summary o.tsv; prints '2 done, 0 present, 0 failed'
exists "$(printf 'out/o\tp\nq.nii')"; exists 'out/plain\x.nii'
[ "$(wc -l < o.tsv)" = 3 ] || complain "a name broke a line of the summary"
exits 0 clvox apply --list odd.tsv -r in/p_fixed.nii.gz --summary o.tsv; prints '0 done, 2 present, 0 failed'
printf 'input\toutput\n%s\tout/no.nii\n' 'gone\tx\ny' > odd.tsv
exits 1 clvox apply --list odd.tsv -r in/p_fixed.nii.gz --summary o.tsv
[ "$(wc -l < o.tsv)" = 2 ] || complain "a message broke a line of the summary"

begin "options serve every row"
printf 'input\toutput\np_fixed.nii.gz\tc.nii\n' > in/c.tsv
exits 0 clvox apply --list in/c.tsv -r in/p_fixed.nii.gz -t in/shift.txt --interp nearest --outside 7 -q; quiet
exits 0 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -t in/shift.txt --interp nearest --outside 7 -o c.nii
exits 0 cmp c.nii in/c.nii

begin "misuse and lists that make no sense are one sentence"
exits 2 clvox apply --list in/t.tsv -i in/p_fixed.nii.gz; says '--list names the images'
exits 2 clvox apply --list in/t.tsv -o x.nii; says '--list names the images'
exits 2 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -o x.nii --summary s.tsv; says '--summary belongs to --list'
exits 2 clvox apply -i in/p_fixed.nii.gz -r in/p_fixed.nii.gz -o x.nii --jobs 2; says '--jobs belongs to --list'
exits 2 clvox apply --list in/t.tsv --jobs 65; says '--jobs 65: at most 64'
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
