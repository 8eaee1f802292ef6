#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tuning and what comes of it; its times are nobody's business here.
kernels=$(cd "$(dirname "$0")/../../../cl" && pwd)
papers=$(cd "$(dirname "$0")/../../../bench/papers/cl" && pwd)
. "$(dirname "$0")/../lib.sh"
export CLVOX_WISDOM="$work/w.txt"
# The kernels of the lines of the file.
kept() { sed 1d w.txt | cut -f 6 | sort -u | tr '\n' ' '; }
tune() { "$program" tune --size 12 --seconds 0.001 "$@"; }
on_processor # all cases share what was measured

begin "one kernel is measured and kept"
exits 0 tune --kernel copy --json log/t.json
prints '^copy  *'; prints 'geometric mean'; says 'w.txt'; exists w.txt
json log/t.json '[r["kernel"] for r in j["tune"]] == ["copy"] and j["choices"] == 1 and j["geometric_mean_loss"] >= 1'
json log/t.json 'all(len(c["samples"]) >= 1 and c["seconds"] > 0 for r in j["tune"] for c in r["candidates"] if c["runs"])'
[ "$(head -c 15 w.txt)" = 'clvox wisdom 3,' ] || complain "the file does not say what it is"
[ "$(sed 1d w.txt | cut -f 6,8)" = "$(printf 'copy\t0')" ] || complain "one choice for small volumes is not what is kept"

begin "an impossible measurement is reported, and a file that was not written is not named"
mv w.txt kept.txt
exits 1 tune --kernel reduce_last -q; one_sentence; says reduce_last; prints 'not measured'; absent w.txt
grep -q 'wisdom: ' log/err && complain "it names a file that it did not write"
mv kept.txt w.txt

begin "another one is added; nothing but the table without --no-wisdom"
exits 0 tune --kernel patch_pairs
[ "$(kept)" = 'copy patch_pairs ' ] || complain "not both are kept: $(kept)"
cp w.txt before.txt
exits 0 tune --kernel copy --no-wisdom; prints '^copy  *'
cmp -s w.txt before.txt || complain "--no-wisdom changed the file"
exits 0 tune --kernel sobel --all --no-wisdom --json log/a.json # it has forms for CPUs and for GPUs
json log/a.json 'any(not c["automatic"] for c in j["tune"][0]["candidates"])'
exits 0 tune --kernel sor --no-wisdom; prints "^sor " # on CPUs a row of it, of blocks in local memory, does not run

begin "costs of sums over shapes are measured and kept, and decide between pairs and a particle mesh"
exits 0 tune --kernel shape_sums --json log/s.json -q; prints '^shape_sums .* a pair '
json log/s.json 'all([j["shape_sums"][k] > 0 for k in ("pair", "node", "share", "launches")]) and j["shape_sums"]["derivative"] >= 1'
[ "$(grep -c "$(printf '\tcost\tshape_sums [a-z ]*\t[0-9]*e-[0-9]*$')" w.txt)" = 5 ] || complain "the costs are not kept"
exits 0 clvox phantom surface:sphere -o ball --size 60x60x60 -q
exits 0 clvox surface mesh ball_mask.nii.gz -o ball.ply -q
cost() { sed -i "s/\(shape_sums $1\t\).*/\1$2/" w.txt; }
cost pair 1e-9; cost 'pair with derivative' 15e-10; cost node 1e-8; cost 'element of a mesh' 1e-8; cost launches 1e-3 # dear pairs
exits 0 clvox surface compare ball.ply ball.ply --width 8mm; prints 'by a particle mesh'
cost pair 1e-15; cost 'pair with derivative' 15e-16
exits 0 clvox surface compare ball.ply ball.ply --width 8mm --json log/c.json; json log/c.json 'j["result"]["currents_products"]["method"] == "exact"'
json log/c.json 'len(j["wisdom"]["hash"]) == 16'
exits 0 clvox surface compare ball.ply ball.ply --width 8mm --no-wisdom; prints 'by a particle mesh'
cp before.txt w.txt

begin "runs say which wisdom they went by"
exits 0 clvox bench copy --size 12 --seconds 0.001 --json log/b.json; quiet
json log/b.json 'j["wisdom"]["used"] and j["wisdom"]["kernels"] >= 1 and len(j["wisdom"]["hash"]) == 16'
exits 0 clvox bench copy --size 12 --seconds 0.001 --json log/n.json --no-wisdom
json log/n.json 'j["wisdom"] == {"used": False, "kernels": 0}'
exits 0 env CLVOX_WISDOM= "$program" bench copy --size 12 --seconds 0.001 --json log/n.json
json log/n.json 'not j["wisdom"]["used"]'

begin "a file that is damaged or cut off is passed over with one remark"
sed 's/\tcopy\t/\tcopy /' before.txt > w.txt
exits 0 clvox bench copy --size 12 --seconds 0.001 --json log/n.json; one_sentence; says 'damaged'
json log/n.json 'not j["wisdom"]["used"]'
exits 0 clvox bench copy --size 12 --seconds 0.001 -q; quiet
head -c 100 before.txt > w.txt
exits 0 clvox bench copy --size 12 --seconds 0.001; one_sentence; says 'damaged'

begin "tuning keeps such a file, and that of another version, beside the new one"
cp w.txt damaged.txt
exits 0 tune --kernel copy; says 'w.txt is damaged: kept as .*w.txt.old, '
[ "$(kept)" = 'copy ' ] || complain "not copy alone is kept: $(kept)"
cmp -s w.txt.old damaged.txt || complain "the damaged file was not kept"
exits 0 tune --kernel patch_pairs
grep -q 'kept as' log/err && complain "a whole file was put aside"
sed 's/wisdom 3/wisdom 2/' before.txt > w.txt
cp w.txt later.txt
exits 0 tune --kernel copy; says 'another version of clvox: kept as .*w.txt.old2, '
cmp -s w.txt.old2 later.txt || complain "the file of another version was not kept"
cmp -s w.txt.old damaged.txt || complain "the file kept before was lost"
rm w.txt.old w.txt.old2

begin "Ctrl-C in the middle keeps what was measured"
rm -f w.txt
cat > interrupt.py <<'EOF'
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([sys.argv[1], "tune", "--size", "12", "--seconds", "0.001", "--json", "log/i.json"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while not os.path.exists("w.txt") and run.poll() is None:
    time.sleep(0.005)
run.send_signal(signal.SIGINT)
out, err = run.communicate()
kept = [line.split("\t")[5] for line in open("w.txt").read().splitlines()[1:]]
logged = [r["kernel"] for r in json.load(open("log/i.json"))["tune"]]
print(run.returncode, kept, logged, err)
sys.exit(0 if run.returncode == 130 and kept and set(kept) == set(logged) and
         err.splitlines()[-1] == "clvox tune: interrupted" else 1)
EOF
exits 0 python3 interrupt.py "$program"
exits 0 clvox bench copy --size 12 --seconds 0.001; quiet
[ -z "$(find . -name '*w.txt*' ! -name w.txt)" ] || complain "a part of a file was left behind"

begin "a candidate that does not build is passed over, one that computes something else ends it"
mkdir -p cl/papers
{ printf '#if MARCH == 65536 || TILE_X == 512\n#error not here\n#endif\n'; cat "$papers/copy.cl"; } > cl/papers/copy.cl
exits 0 env CLVOX_KERNEL_DIR="$work/cl" "$program" tune --size 12 --seconds 0.001 --kernel copy --json log/c.json
json log/c.json 'sorted(c["runs"] for c in j["tune"][0]["candidates"]) == [False, True, True]'
cp w.txt before.txt
{ printf '#if MARCH == 65536 || TILE_X == 512\n#define MORE 1\n#else\n#define MORE 0\n#endif\n'
  sed 's/= in\[i\]/= in[i] + MORE/' "$papers/copy.cl"; } > cl/papers/copy.cl
exits 1 env CLVOX_KERNEL_DIR="$work/cl" "$program" tune -q --size 12 --seconds 0.001 --kernel copy
one_sentence; says 'copy'
cmp -s w.txt before.txt || complain "a wrong kernel changed the file"
exits 1 env CLVOX_KERNEL_DIR="$work/cl" "$program" tune --size 12 --seconds 0.001 --kernel copy \
    --kernel patch_pairs --json log/w.txt
says 'is logged in log/w.txt'; says 'tune: copy'
json log/w.txt '"copy" in j["error"] and isinstance(j["tune"], list)'

begin "the planner's own choice is wrong where all candidates agree: the reference says so"
cp -r "$kernels" all
cp -r "$papers" all/papers
sed -i 's/REAL step = 2.0f \* rate/REAL step = 2.2f * rate/' all/papers/tensor_tv.clh
sed -i 's/sum += w \* w;/sum += 2.0f * w * w;/' all/papers/patch_pairs.cl
for kernel in tensor_tv_overlap tensor_tv_block tensor_tv_none patch_pairs; do
    exits 1 env CLVOX_KERNEL_DIR="$work/all" "$program" tune -q --size 12 --seconds 0.001 --kernel $kernel
    one_sentence; says 'is wrong'
done
cmp -s w.txt before.txt || complain "a wrong kernel changed the file"
exits 0 tune --kernel tensor_tv_block --kernel patch_pairs --kernel patch_search --no-wisdom
prints '^tensor_tv_block .*[0-9]$'; prints '^patch_pairs .*[0-9]$'; prints '^patch_search .*[0-9]$'

begin "a kernel that was changed since goes by the planner again"
mkdir cl/image && { echo '/* changed */'; cat "$kernels/image/sobel.cl"; } > cl/image/sobel.cl
exits 0 env CLVOX_KERNEL_DIR="$work/cl" "$program" bench gradient --size 12 --seconds 0.001 --json log/v.json
json log/v.json 'not j["wisdom"]["used"]'

begin "usage errors exit with 2 and say what is wrong"
exits 1 tune --kernel no_such_kernel; one_sentence; says 'no_such_kernel'
exits 2 clvox tune --size 1
exits 2 clvox tune copy
exits 1 env CLVOX_WISDOM= "$program" tune --kernel copy; one_sentence; says 'CLVOX_WISDOM'

begin "a file of wisdom that cannot be written is found before anything is measured"
exits 1 env CLVOX_WISDOM=/proc/no/w.txt "$program" tune --size 12 --seconds 0.001 --kernel copy --json log/p.json
one_sentence; says '/proc/no/w.txt: cannot be written'; silent; json log/p.json '"cannot be written" in j["error"]'
exits 1 env CLVOX_WISDOM="$work" "$program" tune --size 12 --seconds 0.001 --kernel copy
one_sentence; says 'is a directory'; silent

begin "one that cannot be written any more leaves the log of what was measured"
mkdir went && ln -s went gone && touch file && ln -s file lost
cat > gone.py <<'EOF'
import json, os, subprocess, sys
run = subprocess.Popen([sys.argv[1], "tune", "--size", "12", "--seconds", "0.001", "--json", "log/g.json"],
                       env=dict(os.environ, CLVOX_WISDOM="gone/w.txt"), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
table = [run.stdout.readline() for line in range(3)]  # the third is of a kernel
os.replace("lost", "gone")
out, err = run.communicate()
log = json.load(open("log/g.json"))
print(run.returncode, table, len(log["tune"]), err)
sys.exit(0 if run.returncode == 1 and log["tune"] and "gone/w.txt: cannot be" in log["error"] and
         log["error"] in err.splitlines()[-1] else 1)
EOF
exits 0 python3 gone.py "$program"
finish
