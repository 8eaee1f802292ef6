#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Templates by several processes of mpirun.
. "$(dirname "$0")/lib.sh"
command -v mpirun > /dev/null || { echo "1..0 # SKIP there is no mpirun: tools/setup test"; exit 0; }
# Modules that Open MPI has unloaded leave memory behind that no suppression names.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
# As root, on more processes than cores, without a network.
together() {
    number=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --mca btl self,vader \
        -n "$number" "$program" "$@"
}
for seed in 1 2 3 4 5; do
    "$program" phantom warp -o "w$seed.nii" --size 17x16x15 --spacing 3x3x3.5mm --amplitude 2 --seed $seed -q
    "$program" phantom textured -o t.nii --size 17x16x15 --spacing 3x3x3.5mm --seed 9 --labels l.nii -q
    "$program" apply -i t.nii -r t.nii -t "w$seed.nii" -o "s$seed.nii" -q
    "$program" apply -i l.nii -r t.nii -t "w$seed.nii" --interp label -o "l$seed.nii" -q
done
fast="--quick --linear translation --linear-rounds 1 --rounds 2 --shrink 2x1 --iterations 10x10"
printf 'weight\timage\tlabels\tage\n2\ts3.nii\tl3.nii\t70\n2\ts1.nii\t\t65\n1\ts2.nii\tl2.nii\t60\n1\ts4.nii\tl4.nii\t55\n1\ts5.nii\t\t58\n' > list.tsv

begin "one, two and four processes write the same files"
exits 0 clvox atlas -o one $fast --list list.tsv
cp log/out said
for n in 2 4; do
    exits 0 together $n atlas -o "of$n" $fast --list list.tsv --json "log$n.json"
    says "in $n processes"
    cmp -s said log/out || complain "$n processes print something else, or more than once"
    for file in one/*; do
        [ "${file#one/}" = report.json ] || cmp "$file" "of$n/${file#one/}" || complain "${file#one/} differs"
    done
    [ "$(ls one)" = "$(ls "of$n")" ] || complain "other files"
    json "of$n/report.json" 'json.dumps(j["result"]) == json.dumps(json.load(open("one/report.json"))["result"])'
    json "of$n/report.json" 'len(j["outputs"]) == len(json.load(open("one/report.json"))["outputs"])'
    json "log$n.json" 'j["result"]["subjects"] == 5'
done

begin "medians, and templates along a covariate"
along="--list list.tsv --margin 3 --clip 0.01,0.99 --average median --regress age --at 57,66 --bandwidth 3"
exits 0 clvox atlas -o grown $fast $along
exits 0 together 3 atlas -o grown3 $fast $along --memory 30K # volumes of every process on disk
for file in grown/*; do
    [ "${file#grown/}" = report.json ] || cmp "$file" "grown3/${file#grown/}" || complain "${file#grown/} differs"
done

begin "two channels"
printf 'image\timage2\n' > two.tsv
for k in 1 2 3 4; do echo "s$k.nii	s$((k + 1)).nii" >> two.tsv; done
exits 0 clvox atlas -o chan $fast --list two.tsv
exits 0 together 3 atlas -o chan3 $fast --list two.tsv
for file in chan/*; do
    [ "${file#chan/}" = report.json ] || cmp "$file" "chan3/${file#chan/}" || complain "${file#chan/} differs"
done
json chan3/report.json 'j["inputs"] == json.load(open("chan/report.json"))["inputs"]'
exists chan3/template_channel2.nii.gz
exits 0 clvox atlas -o chan1 $fast --list two.tsv --template t.nii
exits 0 together 2 atlas -o chan2 $fast --list two.tsv --template t.nii
for file in chan1/*; do
    [ "${file#chan1/}" = report.json ] || cmp "$file" "chan2/${file#chan1/}" || complain "${file#chan1/} differs"
done

begin "a template to begin with; more processes than subjects"
exits 0 clvox atlas -o begun $fast --template t.nii --margin 3 s1.nii s2.nii s3.nii
exits 0 together 2 atlas -o begun2 $fast --template t.nii --margin 3 s1.nii s2.nii s3.nii
exits 0 clvox atlas -o few $fast s1.nii s2.nii
exits 0 together 4 atlas -o few4 $fast s1.nii s2.nii; says 'in 4 processes'
exits 0 clvox atlas -o single $fast s1.nii --average median
exits 0 together 2 atlas -o single2 $fast s1.nii --average median
for pair in begun:begun2 few:few4 single:single2; do
    for file in "${pair%:*}"/*; do
        [ "${file#*/}" = report.json ] || cmp "$file" "${pair#*:}/${file#*/}" || complain "${file#*/} differs"
    done
    [ "$(ls "${pair%:*}")" = "$(ls "${pair#*:}")" ] || complain "other files"
done

begin "BIDS derivatives have the bytes and names of one process; a refusal is printed once"
printf 'image\n' > subjects.tsv
for k in 1 2 3; do cp "s$k.nii" "sub-${k}_T1w.nii"; echo "sub-${k}_T1w.nii" >> subjects.tsv; done
exits 0 clvox atlas --bids-derivatives alone $fast --list subjects.tsv
exits 0 together 3 atlas --bids-derivatives many $fast --list subjects.tsv
(cd alone && find . -type f ! -path './logs/*' ! -name '*.html' | sort) > names
[ "$(wc -l < names)" = 32 ] || complain "$(wc -l < names) files"
while read -r file; do cmp -s "alone/$file" "many/$file" || complain "$file differs"; done < names
(cd many && find . -type f ! -path './logs/*' ! -name '*.html' | sort) | cmp -s - names || complain "other files"
exits 1 together 2 atlas --bids-derivatives refused $fast --list list.tsv
[ "$(grep -c 'the images give' log/err)" = 1 ] || complain "it is not printed once"
absent refused

begin "a file of the state that any process cannot write is reported once"
for k in 0 2; do
    mkdir -p lost/state/subject_$k
    exits 0 together 3 atlas -o lost $fast --linear none --rounds 1 s1.nii s2.nii s3.nii; says "lost/state/subject_$k.*: the result is whole"
    [ "$(grep -c 'the result is whole' log/err)" = 1 ] || complain "it is not printed once"
    json lost/report.json "[r for r in j['remarks'] if 'subject_$k' in r]"
    exists lost/s3_warp.nii.gz; rm -r lost
done

begin "a process that dies ends the run with a sentence; fewer go on from there"
slow="--quick --linear translation --linear-rounds 1 --rounds 4 --shrink 2x1 --iterations 40x40 --tolerance 0"
exits 0 clvox atlas -o whole $slow --list list.tsv
cat > kill.py <<'P'
"""kill.py FOLDER COMMAND...: kills a process of mpirun's, not the first, once FOLDER/state/round is there; again, where the
run was faster."""
import os, shutil, signal, subprocess, sys, time
def ranks(parent):
    out = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1] == str(parent):
                words = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
                out[[w for w in words if w.startswith(b"OMPI_COMM_WORLD_RANK=")][0]] = int(pid)
        except (OSError, IndexError):
            pass
    return out
for attempt in range(20):
    run = subprocess.Popen(sys.argv[2:])
    while run.poll() is None and not os.path.exists(os.path.join(sys.argv[1], "state", "round")):
        time.sleep(0.002)
    victim = ranks(run.pid).get(b"OMPI_COMM_WORLD_RANK=2")
    if victim and run.poll() is None:
        os.kill(victim, signal.SIGKILL)
    if run.wait() != 0:
        sys.exit(0)
    shutil.rmtree(sys.argv[1])
sys.exit(1)
P
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# With time to say why it ends: mpirun ends all that are left a second later.
exits 0 python3 kill.py died mpirun --oversubscribe --mca btl self,vader --mca odls_base_sigkill_timeout 6 -n 3 \
    "$program" atlas -o died $slow --list list.tsv
says 'died/state keeps what has been done: the same command continues from there, in any number of processes'
says 'clvox atlas: ended by SIGTERM, as mpirun does when one of its processes is lost'
[ "$(grep -c '^clvox' log/err)" = 1 ] || complain "more than one process says so"
absent died/template.nii.gz
exits 0 together 2 atlas -o died $slow --list list.tsv; says 'of a run that was interrupted: continuing'
absent died/state
json died/report.json 'j["result"]["resumed"] > 4'
for file in whole/*; do
    [ "${file#whole/}" = report.json ] || cmp "$file" "died/${file#whole/}" || complain "${file#whole/} differs"
done

begin "each process reads its share: twins in two of them and an unreadable subject give what one process gives, also on the page"
echo nothing > bad.nii
cp s1.nii twin.nii
printf 'image\tlabels\ns1.nii\tl1.nii\nbad.nii\tl2.nii\ntwin.nii\tl3.nii\ns2.nii\t\ns3.nii\tl3.nii\n' > twins.tsv
exits 0 clvox atlas -o read1 $fast --list twins.tsv --skip-bad --report
for n in 2 3; do
    exits 0 together $n atlas -o "read$n" $fast --list twins.tsv --skip-bad $([ $n = 2 ] || echo --report)
    for file in read1/*; do
        case $file in *.json|*.html) ;; *) cmp "$file" "read$n/${file#read1/}" || complain "${file#read1/} differs" ;; esac
    done
    json "read$n/report.json" 'all(j[k] == json.load(open("read1/report.json"))[k] for k in ("inputs", "left_out"))'
done
for page in read1 read3; do # the subjects of all processes through their warps
    grep -o 'data:image/png;base64,[^"'"'"' )]*' $page/report.html > $page.images
done
[ -s read1.images ] && exits 0 cmp read1.images read3.images
json read1/report.json '[i["path"] for i in j["inputs"]] == ["s1.nii", "l1.nii", "twin.nii", "l3.nii", "s2.nii", "s3.nii", "l3.nii"] and j["left_out"] == ["bad.nii"]'
exits 1 together 2 atlas -q -o twin.nii $fast s1.nii twin.nii; absent twin.nii/report.json

begin "what no process can do is refused once"
exits 1 together 3 atlas -q -o x $fast s1.nii bad.nii s2.nii
[ "$(grep -c '^clvox' log/err)" = 1 ] || complain "not one sentence"
says '^clvox atlas: bad.nii'; absent x
exits 0 together 3 atlas -o skipped $fast s1.nii bad.nii s2.nii --skip-bad
[ "$(grep -c 'left out: bad.nii' log/err)" = 1 ] || complain "not named once"
exits 2 together 3 atlas -o x $fast s1.nii --rounds 0 --linear-rounds 0
[ "$(grep -c 'one round or more' log/err)" = 1 ] || complain "not one sentence"
exits 1 together 2 atlas -q -o x $fast s1.nii s2.nii --device "${CLVOX_DEVICE:-0},none-such"
[ "$(grep -c 'none-such' log/err)" = 1 ] || complain "not one sentence"; absent x
"$program" phantom constant -o flat.nii --size 17x16x15 -q
exits 1 together 2 atlas -q -o x $fast s1.nii flat.nii
[ "$(grep -c 'flat.nii: .*one value' log/err)" = 1 ] || complain "not one sentence"; absent x/template.nii.gz
finish
