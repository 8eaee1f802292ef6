#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Templates of populations.
. "$(dirname "$0")/lib.sh"
for seed in 1 2 3; do
    "$program" phantom warp -o "w$seed.nii" --size 17x16x15 --spacing 3x3x3.5mm --amplitude 2 --seed $seed -q
    "$program" phantom textured -o t.nii --size 17x16x15 --spacing 3x3x3.5mm --seed 9 --labels l.nii -q
    "$program" apply -i t.nii -r t.nii -t "w$seed.nii" -o "s$seed.nii" -q
    "$program" apply -i l.nii -r t.nii -t "w$seed.nii" --interp label -o "l$seed.nii" -q
done
fast="--quick --linear translation --linear-rounds 1 --rounds 1 --shrink 2x1 --iterations 10x10"
tab=$(printf '\t')
hash_of() { md5sum < "$1"; }

begin "a template, maps of every subject, a summary and a report"
exits 0 clvox atlas -o out $fast s1.nii s2.nii s3.nii
prints 'mean removed'
for name in template.nii.gz summary.tsv report.json s1_affine.txt s2_warp.nii.gz s3_inverse_warp.nii.gz; do
    exists "out/$name"
done
absent out/template_labels.nii.gz
json out/report.json 'j["result"]["subjects"] == 3 and [r["stage"] for r in j["result"]["rounds"]] == ["linear", "deformable"]'
json out/report.json 'all(r["left_voxels"] <= r["removed_voxels"] + 1e-6 for r in j["result"]["rounds"])'
[ "$(wc -l < out/summary.tsv)" = 4 ] || complain "the summary has not a row a subject"
sort -t "$(printf '\t')" -k 4 -g out/summary.tsv | tail -n 3 | cut -f 1 > sorted
sed 1d out/summary.tsv | cut -f 1 | cmp -s - sorted || complain "the worst subject does not come first"

head -n 1 out/summary.tsv | grep -q "displacement_mm${tab}suspicions" || complain "the summary has no suspicions"

begin "subjects are called by their files, whatever the format"
cp s2.nii s2.NII; exits 0 clvox filter median s3.nii -o s3.mha -q
exits 0 clvox atlas -o ends $fast --linear none s1.nii s2.NII s3.mha; exists ends/s2_warp.nii.gz; exists ends/s3_warp.nii.gz

begin "its files lead from the template to a subject and back"
exits 0 clvox apply -i s2.nii -r out/template.nii.gz -t out/s2_warp.nii.gz -t out/s2_affine.txt -o back.nii
exits 0 clvox compare back.nii out/template.nii.gz
near NCC 1 0.2
exits 0 clvox apply -i out/template.nii.gz -r s2.nii -t out/s2_affine.txt,-1 -t out/s2_inverse_warp.nii.gz -o there.nii
exits 0 clvox compare there.nii s2.nii
near NCC 1 0.2

begin "scans of one person: the second is 1.05 times as long along each axis, its labels 1.158 times as large"
python3 - <<'P'
import struct
b = bytearray(open("t.nii", "rb").read())
struct.pack_into("<3f", b, 80, 3.15, 3.15, 3.675)
for row in range(3):
    struct.pack_into("<4f", b, 280 + 16 * row, *(1.05 * v for v in struct.unpack_from("<4f", b, 280 + 16 * row)))
open("larger.nii", "wb").write(b)
P
printf 'image\tlabels\nt.nii\tl.nii\nlarger.nii\t\n' > person.tsv
exits 0 clvox atlas -o person --within --linear affine --quick --shrink 1 --iterations 10 --list person.tsv --report
says '1 linear and 1 deformable rounds'
json person/report.json 'j["options"]["average"] == "median" and j["options"]["linear_rounds"] == 1 and j["options"]["registration"]["robust"] and len(j["result"]["rounds"]) == 2'
awk -F '\t' 'NR > 1 && $2 == "t" && $4 != 0 { bad = 1 } NR > 1 && $2 == "larger" { n++; if ($5 < 14.8 || $5 > 16.8) bad = 1 } END { exit bad || !n }' \
    person/change.tsv || complain "not the change: $(cat person/change.tsv)"
grep -q 'Change' person/report.html || complain "the page says nothing of the change"
exits 2 clvox atlas -o x --within t.nii; says '--within: change takes two scans'; absent x
absent out/change.tsv

begin "--until ends the rounds where the template changes less, with the bits of as many rounds"
rounds="--quick --linear translation --linear-rounds 1 --shrink 2x1 --iterations 10x10"
exits 0 clvox atlas -o two $rounds --rounds 2 s1.nii s2.nii s3.nii
changes() { python3 -c 'import json, sys; print(*(r["change"] for r in json.load(open(sys.argv[1]))["result"]["rounds"] if r["stage"] == "deformable"))' "$1"; }
until=$(changes two/report.json | awk '$2 < $1 { print ($1 + $2) / 2 }')
[ "$until" ] || complain "the second round changes as much as the first"
exits 0 clvox atlas -o until $rounds --rounds 4 --until "$until" s1.nii s2.nii s3.nii
[ "$(changes until/report.json)" = "$(changes two/report.json)" ] || complain "it did not end after the second round"
[ "$(hash_of until/template.nii.gz)" = "$(hash_of two/template.nii.gz)" ] || complain "the template is another"

begin "the order of subjects changes no bit, and a list says the same; labels are voted on"
mkdir -p lists
printf 'weight\timage\tlabels\tage\n2\t../s3.nii\t../l3.nii\t70\n2\t../s1.nii\t\t\n2\t../s2.nii\t../l2.nii\t60\n' > lists/list.tsv
exits 0 clvox atlas -o other $fast --list lists/list.tsv
json other/report.json 'j["options"]["linear_rounds"] == 1 and j["options"]["registration"]["linear"] == "translation"'
[ "$(hash_of out/template.nii.gz)" = "$(hash_of other/template.nii.gz)" ] || complain "another order gives another template"
[ "$(hash_of out/s1_warp.nii.gz)" = "$(hash_of other/s1_warp.nii.gz)" ] || complain "another order gives another warp"
exists other/template_labels.nii.gz
exits 0 clvox info other/template_labels.nii.gz; prints 'label'
exits 0 clvox atlas -o local $fast --list lists/list.tsv --vote local --unsharp 0.5
json local/report.json 'j["options"]["vote"] == "local" and j["options"]["unsharp"] == 0.5'
exits 0 clvox compare --labels local/template_labels.nii.gz other/template_labels.nii.gz

begin "the template's labels on every subject's own grid: those of apply, and near the truth where a subject has none"
for k in 1 2 3; do
    exits 0 clvox apply -i other/template_labels.nii.gz -r s$k.nii -t other/s${k}_affine.txt,-1 -t other/s${k}_inverse_warp.nii.gz --interp label -o lk.nii -q
    exits 0 clvox compare --labels other/s${k}_labels.nii.gz lk.nii --json lk.json; json lk.json 'min(row["dice"] for row in j["comparison"]["labels"]) > 0.999'
    exits 0 clvox info other/s${k}_labels.nii.gz; prints 'label'
done
exits 0 clvox compare --labels other/s1_labels.nii.gz l1.nii --json l1.json; json l1.json 'min(row["dice"] for row in j["comparison"]["labels"]) > 0.9'
[ -z "$(ls out | grep labels)" ] || complain "labels without labels in the list"

begin "with a margin the grid is a part of the images', in any order of them; intensities are clipped"
exits 0 clvox atlas -o cut $fast --margin 2 --clip 0.02,0.98 s1.nii s2.nii s3.nii
exits 0 clvox atlas -o again $fast --margin 2mm --clip 0.02,0.98 s3.nii s1.nii s2.nii
[ "$(hash_of cut/template.nii.gz)" = "$(hash_of again/template.nii.gz)" ] || complain "another order gives another template"
exits 0 clvox apply -i s1.nii -r cut/template.nii.gz -t cut/s1_warp.nii.gz -t cut/s1_affine.txt -o on.nii
exits 0 clvox compare on.nii cut/template.nii.gz; near NCC 1 0.2
exits 0 clvox info cut/template.nii.gz --json cut.json
json cut.json 'min(j["files"][0]["grid"]["size"]) < 15 and max(j["files"][0]["grid"]["size"]) <= 17'
json cut/report.json 'j["options"]["margin"] == 2 and j["options"]["clip_low"] == 0.02 and j["options"]["clip_high"] == 0.98'
json out/report.json 'j["options"]["margin"] < 0'
exits 2 clvox atlas -o x s1.nii --margin -3; says '--margin'
exits 2 clvox atlas -o x s1.nii --clip 0.9,0.1; says '--clip'

begin "log Jacobians of the warps, their mean by weight, and the list of them that clvox stats reads"
[ "$(hash_of out/template_logjac.nii.gz)" = "$(hash_of other/template_logjac.nii.gz)" ] || complain "another order gives another mean"
exits 0 clvox jacobian -t out/s2_warp.nii.gz --log -o j2.nii
json out/report.json 'j["result"]["rounds"][1]["spread_mm"] > 0.05'
exits 0 clvox compare j2.nii out/s2_logjac.nii.gz; near SSD 0 1e-12
head -n 1 other/subjects.tsv | grep -q "^image${tab}subject${tab}log_affine${tab}age\$" || complain "other columns"
cut -f 1,2,4 other/subjects.tsv | sed 1d > got
printf 's3_logjac.nii.gz\ts3\t70\ns1_logjac.nii.gz\ts1\tn/a\ns2_logjac.nii.gz\ts2\t60\n' | cmp -s - got || complain "other rows"
printf 'image\tlabels\tsize\tsubject\tweight\n' > sized.tsv
for k in 1 2 3; do printf 's%d.nii\t\t%d\tx\t%d\n' $k $((k * k)) $k >> sized.tsv; done
exits 0 clvox atlas -o sized $fast --list sized.tsv
for k in 1 2 3; do gzip -dc sized/s${k}_logjac.nii.gz > g$k.nii; done; gzip -dc sized/template_logjac.nii.gz > g.nii
python3 - <<'P' || complain "not the mean by weight"
import struct, sys
m, *s = (struct.unpack("<4080f", open(n + ".nii", "rb").read()[352:]) for n in ("g", "g1", "g2", "g3"))
sys.exit(max(abs(x - (a + 2 * b + 3 * c) / 6) for x, a, b, c in zip(m, *s)) > 1e-6 or max(map(abs, m)) < 1e-4)
P
exits 0 clvox stats --list sized/subjects.tsv --test size -o sized/size -q
json sized/size.json 'j["result"]["subjects"] == 3 and j["result"]["permutations"] == 6'
exits 0 clvox atlas -o plain $fast s1.nii s2.nii --deform none --rounds 0; absent plain/subjects.tsv; absent plain/s1_logjac.nii.gz

begin "several devices give the bits of one"
one=${CLVOX_DEVICE:-0}
exits 0 clvox atlas -o shared $fast --list lists/list.tsv --device "$one,$one,$one" --profile; says 'on 3 devices'
json shared/report.json 'j["device"]["count"] == 3 and len({k["kernel"] for k in j["profile"]["kernels"]}) == len(j["profile"]["kernels"])'
for name in template.nii.gz template_labels.nii.gz s1_warp.nii.gz s2_inverse_warp.nii.gz s3_affine.txt template_logjac.nii.gz s1_labels.nii.gz; do
    [ "$(hash_of other/$name)" = "$(hash_of shared/$name)" ] || complain "$name has other bits"
done
exits 1 clvox atlas -o x $fast s1.nii --device "$one,none-such"; one_sentence; says 'none-such'; absent x
exits 1 clvox apply -i s1.nii -r s1.nii -o x.nii --device "$one,$one"; one_sentence; says 'one device is taken here'; absent x.nii

begin "several channels: registered together, a template of each"
printf 'image2\timage\tlabels\tage\ns1.nii\ts1.nii\t\t2\ns2.nii\ts2.nii\tl2.nii\t3\ns3.nii\ts3.nii\t\t8\n' > copies.tsv
exits 0 clvox atlas -o copies $fast --list copies.tsv --channel-weights 1,0
for name in template.nii.gz template_channel2.nii.gz; do cmp -s out/template.nii.gz copies/$name || complain "$name is not that of one channel"; done
for name in s1_warp.nii.gz s2_affine.txt summary.tsv; do cmp -s out/$name copies/$name || complain "$name is not that of one channel"; done
for k in 1 2 3; do exits 0 clvox filter gaussian s$k.nii -o f$k.nii --sigma 4mm -q; done
sed 's/^s/f/' copies.tsv > two.tsv
exits 0 clvox atlas -o two $fast --list two.tsv --report
exits 0 clvox compare two/template.nii.gz out/template.nii.gz; near NCC 1 0.05
exits 0 clvox filter gaussian two/template.nii.gz -o smooth.nii --sigma 4mm -q
exits 0 clvox compare two/template_channel2.nii.gz smooth.nii; near NCC 1 0.05
cmp -s two/template.nii.gz out/template.nii.gz && complain "the second channel does not register"
json two/report.json 'j["options"]["channels"] == 2 and j["options"]["channel_weights"] == [0, 0] and len(j["inputs"]) == 7'
json two/report.json 'any(f.endswith("two/template_channel2.nii.gz") for f in j["outputs"])'
head -n 1 two/subjects.tsv | grep -q "log_affine${tab}age\$" || complain "a channel became a covariate"
(sed 1q two.tsv; sed 1d two.tsv | sort -r) > turned.tsv
exits 0 clvox atlas -o turned $fast --list turned.tsv --memory 100K --device "$one,$one"
for name in template.nii.gz template_channel2.nii.gz s3_inverse_warp.nii.gz; do cmp -s two/$name turned/$name || complain "$name differs in another order"; done
exits 0 clvox atlas -o x $fast --list two.tsv --dry-run -q; absent x
exits 0 clvox atlas -o ages $fast --list two.tsv --regress age --at 2.5,8 --bandwidth 1 -q
for at in 2.5 8; do exists ages/template_$at.nii.gz; exists ages/template_${at}_channel2.nii.gz; done
sed 's/^f2.nii//' two.tsv > lacking.tsv
exits 1 clvox atlas -q -o x $fast --list lacking.tsv; one_sentence; says 's2.nii: it has no image of channel 2'; absent x/template.nii.gz
exits 0 clvox atlas -o lacking $fast --list lacking.tsv --skip-bad; says 'left out: s2.nii: it has no image of channel 2'
clvox phantom constant -o even.nii --size 17x16x15 -q
sed 's/^f3.nii/even.nii/' two.tsv > even.tsv
exits 1 clvox atlas -q -o x $fast --list even.tsv; one_sentence; says 's3.nii: its channel 2 has one value'
sed '1s/image2/image3/' two.tsv > wrong.tsv
exits 1 clvox atlas -q -o x $fast --list wrong.tsv; one_sentence; says 'there is a column .image3. and none .image2.'
exits 1 clvox atlas -q -o x $fast --list two.tsv --template s1.nii --template cut/template.nii.gz; one_sentence
says 'cut/template.nii.gz: not on the grid of s1.nii; bring it there'
[ "$(grep -o 'template, channel [0-9]' two/report.html | sort -u)" = 'template, channel 2' ] || complain "the page has not both channels"
exits 0 clvox atlas -o begun $fast --linear none --deform none --list two.tsv --template s1.nii --template f2.nii -q
exits 0 clvox compare begun/template.nii.gz s1.nii; near SSD 0 1e-12
exits 0 clvox compare begun/template_channel2.nii.gz f2.nii; near SSD 0 1e-12
json begun/report.json '[i["path"] for i in j["inputs"]][-2:] == ["s1.nii", "f2.nii"]'
exits 0 clvox atlas -o begun $fast --list two.tsv --template t.nii -q
exits 0 clvox compare begun/template_channel2.nii.gz smooth.nii; near NCC 1 0.1
exits 0 clvox atlas -o x $fast --list two.tsv --template t.nii --template f1.nii --dry-run -q; absent x
exits 2 clvox atlas -o x s1.nii --template s1.nii --template s2.nii; says '--template: 2 files, one for each channel at most'
for weights in 1 1,2,3 0,0 1,x; do exits 2 clvox atlas -o x --list two.tsv --channel-weights $weights; says '--channel-weights'; done

begin "what memory has no room for is in files without names, and changes no bit"
for memory in 0 100K; do
    rm -rf within
    exits 0 clvox atlas -o within $fast --list lists/list.tsv --memory $memory --device-memory 0; says 'memory .* of them on disk'
    [ "$(ls -A within)" = "$(ls -A other)" ] || complain "other files: $(ls -A within)"
    for file in other/*; do
        [ "${file#other/}" = report.json ] || cmp "$file" "within/${file#other/}" || complain "${file#other/} differs"
    done
done
json within/report.json '0 < j["memory"]["most"] <= 102400 == j["memory"]["limit"] and j["memory"]["most_on_disk"] > 3 * 24 * 4080'
rm -rf within
exits 0 clvox atlas -o within $fast --list lists/list.tsv --device-memory 1G
for file in other/*; do
    [ "${file#other/}" = report.json ] || cmp "$file" "within/${file#other/}" || complain "${file#other/} differs with maps on the device"
done
json within/report.json 'j["result"]["subjects_on_devices"] == 3'
exits 2 clvox atlas -o x --device-memory much s1.nii; says '--device-memory much'
exits 1 clvox atlas -o x --memory 0 $fast s1.nii none-such.nii; one_sentence; absent x
exits 1 sh -c 'trap "" XFSZ; ulimit -f 16; export LLVM_PROFILE_FILE=/dev/null; "$0" atlas "$@"' "$program" -q -o x --memory 1K $fast s1.nii s2.nii
one_sentence; says 'x: .*cannot be written (File too large); make room there, or raise the limit of memory'; absent x
for wrong in much -1 4X 8Gi8 ''; do
    exits 2 clvox atlas -o x --memory "$wrong" s1.nii; says '--memory'
done

begin "with --template-only the template is the same, and no warps are written; the log says where the time went"
exits 0 clvox atlas -o maps $fast --list lists/list.tsv
exits 0 clvox atlas -o only $fast --list lists/list.tsv --template-only; says '^seconds  read .*, devices .*, template .*, write .*, all '
for file in template.nii.gz template_labels.nii.gz summary.tsv; do
    cmp "maps/$file" "only/$file" || complain "$file differs"
done
[ -z "$(ls only | grep 'warp\|logjac\|subjects\|s._labels')" ] || complain "with --template-only there are $(ls only)"
json only/report.json 'abs(sum(j["seconds_by_stage"].values()) - j["seconds"]) < .5 * j["seconds"] + .1'
json only/report.json 'set(j["seconds_by_stage"]) == {"read", "devices", "template", "write"}'
json maps/report.json 'all(j["seconds_by_step"][k] > 0 for k in ("deformable registration", "length of its map", "maps handed over", "mean image"))'
exits 2 clvox atlas -o x s1.nii --template-only --report; says '--report shows the subjects'

begin "a dry run says what the run takes, also on other numbers of devices, and writes nothing"
mkdir -p temporary
exits 0 env TMPDIR="$work/temporary" "$program" atlas -o dry $fast --list lists/list.tsv --dry-run --device "$one,$one" --at-once 1 --plan-devices 1,3,8 --plan-subjects 24 --memory 200K --threads 1 --json dry.json
prints 'deformable registration'; prints 'labels through its map'; absent dry
[ -z "$(ls -A temporary)" ] || complain "a file that was timed stayed: $(ls -A temporary)"
dry="env TMPDIR=$work/temporary $program atlas -q -o dry $fast s1.nii s2.nii --dry-run"
exits 0 python3 "$here/unfinished.py" temporary $dry
left=$(ls -A temporary | grep 'part$' | head -n 1)
: > "temporary/$left.nii.gz" # as one that was whole when the program was killed
exits 0 $dry
[ -z "$(ls -A temporary)" ] || complain "files of a killed run stayed: $(ls -A temporary)"
json dry.json '[(p["devices"], p["processes"], p["subjects"], p["subjects_a_device"]) for p in j["plan"]["plans"]] == [(2, 1, 24, 12), (1, 1, 24, 24), (3, 3, 24, 8), (8, 8, 24, 3)]'
json dry.json 'j["plan"]["device_bytes"] == json.load(open("shared/report.json"))["result"]["device_bytes"]'
json dry.json 'all(abs(p["seconds"] - sum(p["parts"].values())) < 1e-6 * p["seconds"] for p in j["plan"]["plans"])'
json dry.json '(lambda one, three: abs(one["parts"]["deformable"] / three["parts"]["deformable"] - 3) < 1e-6 and abs(one["efficiency"] - 1) < 1e-6 and three["efficiency"] < 1 and three["disk_bytes"] < one["disk_bytes"])(*j["plan"]["plans"][1:3])'
# On a GPU its memory is not the host's.
json dry.json 'j["device"]["architecture"] or (lambda V, device: all(p["disk_bytes"] > 0 and p["host_bytes"] == 204800 + max(28 * V + (2 << 20), (lambda c: (84 + max(12 if p["processes"] == 1 else 24, 12 * c + 4)) * V + c * max(device + 36 * V, 144 * V))(p["devices"] // p["processes"])) for p in j["plan"]["plans"]))(4080, j["plan"]["device_bytes"])'
json dry.json '(lambda p, s: abs(p["parts"]["linear"] - 24 * s["first linear registration"]) < 1e-6)(j["plan"]["plans"][1], j["plan"]["seconds_a_subject"])'
prints '^devices, once .* s$'
# What opening takes longer than the reading beside it: of as many devices as were opened, and of one small file.
opening='(lambda p, all: abs(p["opening"] + p["reading"] - max(all, p["reading"])) < 1e-9)(j["plan"]["plans"][0]["parts"], j["plan"]["seconds_a_subject"]["devices"])'
json dry.json "$opening"
# The first two, which each device begins with, make a smaller template than all.
for edge in 12 20; do
    "$program" phantom textured -o "e$edge.nii" --size ${edge}x${edge}x$edge --spacing 3x3x3mm --seed $edge -q
done
"$program" phantom textured -o f12.nii --size 12x12x12 --spacing 3x3x3mm --seed 1 -q
exits 0 clvox atlas -o dry $fast e12.nii f12.nii e20.nii s2.nii --dry-run --device "$one,$one" --json dry.json; absent dry
json dry.json '(lambda p: p["once"] >= 0 and p["writing"] > 0)(j["plan"]["plans"][0]["parts"])'
exits 0 clvox atlas -o dry --dry-run --deform none --rounds 0 $fast s1.nii --json dry.json; absent dry
json dry.json "$opening"' and j["plan"]["plans"][0]["parts"]["opening"] > 0'
# Without a limit the memory that is predicted is that of the whole process.
exits 0 clvox atlas -o dry $fast s1.nii s2.nii s3.nii --dry-run --json dry.json; absent dry
cat > took.py <<'P'
"""took.py LOG COMMAND...: runs it, and whether the dry run of LOG has told its memory within a third."""
import json, os, sys
told = json.load(open(sys.argv[1]))["plan"]["plans"][0]["host_bytes"] / 1024
_, status, used = os.wait4(os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:]), 0)
print(told, used.ru_maxrss)
sys.exit(status != 0 or abs(told / used.ru_maxrss - 1) > 1 / 3)
P
exits 0 python3 took.py dry.json "$program" atlas -q -o dried $fast s1.nii s2.nii s3.nii
exits 2 clvox atlas -o dry s1.nii --at-once 17; says '--at-once 17: at most 16'
exits 2 clvox atlas -o dry s1.nii --plan-devices 8; says 'belongs to --dry-run'
exits 2 clvox atlas -o dry s1.nii --dry-run --plan-devices 8,0; says '--plan-devices 8,0: '

begin "labels beyond 2^24 are voted on by their names, whatever tables the subjects have"
python3 - <<'P'
import struct
for name in ("l2", "l3"):
    b = bytearray(open(name + ".nii", "rb").read())
    struct.pack_into("<2h", b, 70, 8, 32)
    # Halves with names that floats do not tell apart, and one of its own for each, so that their tables differ.
    values = [v and 312782546 + (i % 17 > 8) for i, v in enumerate(b[352:])]
    values[0] = int(name[1]) + 70
    open("b" + name + ".nii", "wb").write(bytes(b[:352]) + struct.pack("<%di" % len(values), *values))
P
sed 's/l\([23]\)[.]nii/bl\1.nii/' lists/list.tsv > lists/big.tsv
exits 0 clvox atlas -o big $fast --list lists/big.tsv -q
gzip -dc other/template_labels.nii.gz > small.nii; gzip -dc big/template_labels.nii.gz > large.nii
python3 - <<'P' || complain "other labels win"
import struct, sys
small, large = (open(n, "rb").read()[352:] for n in ("small.nii", "large.nii"))
want = struct.unpack("<%di" % (len(small) // 4), small)
got = struct.unpack("<%di" % (len(large) // 4), large)
left, right = (sum(v == 312782546 + k and (i % 17 > 8) == k for i, v in enumerate(got)) for k in (0, 1))
sys.exit(sum((a > 0) != (b > 0) for a, b in zip(want, got)) > 40 or min(left, right) < 0.4 * sum(want))
P
for name in template s1; do gzip -dc big/${name}_labels.nii.gz > names_$name.nii; done
python3 - <<'P' || complain "other names on a subject"
import struct, sys
all, own = (set(struct.unpack("<4080i", open("names_" + n + ".nii", "rb").read()[352:])) for n in ("template", "s1"))
sys.exit(not {0, 312782546, 312782547} <= own or not own <= all)
P

begin "what an earlier template has and this one has not goes, and files of others stay"
cp s1.nii big/kept_warp.nii; cp big/s3_warp.nii.gz mine.nii.gz
exits 0 clvox atlas -o big $fast s1.nii s2.nii --deform none --rounds 0
says 'big/s3_warp.nii.gz: of an earlier run.*removed'
for name in s3_affine.txt s3_warp.nii.gz s1_warp.nii.gz s1_inverse_warp.nii.gz template_labels.nii.gz; do absent "big/$name"; done
exists big/kept_warp.nii; exists big/s2_affine.txt
json big/report.json 'len(j["removed"]) == 16'

begin "names with tabs, line ends and backslashes are one field of its tables, which stats reads"
mkdir odd
for k in 1 2 3; do cp s$k.nii "odd/$(printf 's\ta\nb\\n')$k.nii"; done
printf 'image\tthe\\tgroup\n' > odd/list.tsv
for k in 1 2 3; do printf '%s%d.nii\tx\\ny%d\n' 's\ta\nb\\n' $k $k >> odd/list.tsv; done
exits 0 clvox atlas -o odd_out $fast --list odd/list.tsv
for table in subjects summary; do
    [ "$(wc -l < odd_out/$table.tsv)" = 4 ] || complain "a name broke a line of $table.tsv"
done
exits 0 clvox stats --list odd_out/subjects.tsv --test mean --permutations 10 -o odd_stats
head -n 1 odd_out/subjects.tsv | grep -qF 'the\tgroup' || complain "a name of a column broke its line"

begin "subjects of one name stay apart"
mkdir -p a b && cp s1.nii a/t1.nii && cp s2.nii b/t1.nii
exits 0 clvox atlas -o same $fast --deform none --rounds 0 a/t1.nii b/t1.nii
exists same/t1_affine.txt; exists same/t1_2_affine.txt; absent same/t1_warp.nii.gz

begin "a subject that cannot be read is named; --skip-bad leaves it out, and says so"
echo nothing > bad.nii
exits 1 clvox atlas -o bad $fast s1.nii bad.nii s2.nii; one_sentence; says 'bad.nii'; absent bad
exits 0 clvox atlas -o bad $fast --skip-bad s1.nii bad.nii s2.nii; says 'left out: bad.nii'
json bad/report.json 'j["left_out"] == ["bad.nii"] and j["result"]["subjects"] == 2'
printf 'image\tmask\tlabels\ns1.nii\ts1.nii\tl1.nii\ns2.nii\tbad.nii\t\ns3.nii\t\tbad.nii\n' > masks.tsv
exits 1 clvox atlas -q -o x $fast --list masks.tsv; one_sentence; says 's2.nii: bad.nii: '; absent x
exits 0 clvox atlas -o bad $fast --list masks.tsv --skip-bad; says 'left out: s2.nii: bad.nii: '; says 'left out: s3.nii: bad.nii: '
exits 1 clvox atlas -o worse $fast --skip-bad bad.nii; absent worse
printf 'image\tmask\tlabels\ns1.nii\t\tl1.nii\ns2.nii\tw1.nii\t\ns3.nii\t\tw2.nii\n' > frames.tsv
exits 1 clvox atlas -q -o x $fast --list frames.tsv; one_sentence; says 's2.nii: w1.nii: a mask has one frame, this has 3'; absent x
exits 0 clvox atlas -o bad $fast --list frames.tsv --skip-bad; says 'left out: s3.nii: w2.nii: labels have one frame, these have 3'
"$program" phantom constant -o flat.nii --size 17x16x15 -q
exits 0 clvox atlas -o bad $fast --skip-bad s1.nii flat.nii s2.nii bad.nii --weights 1,2,3,4; says 'left out: flat.nii: .*one value'
json bad/report.json 'sorted(j["left_out"]) == ["bad.nii", "flat.nii"] and j["result"]["subjects"] == 2'
absent bad/flat_affine.txt
cut -f 1,3 bad/summary.tsv | sort > got; printf 's1\t1\ns2\t3\nsubject\tweight\n' | cmp -s - got || complain "other subjects or weights"

begin "a run that is ended or killed goes on and ends with the same bits"
slow="--quick --linear translation --linear-rounds 1 --rounds 3 --shrink 2x1 --iterations 30x30 --tolerance 0"
exits 0 clvox atlas -o whole $slow s1.nii s2.nii s3.nii
absent whole/state
ended="$program atlas -o ended $slow s1.nii s2.nii s3.nii"
exits 0 python3 "$here/end.py" SIGTERM 143 ended state/subject_1 $ended
says 'ended/state keeps what has been done: the same command continues from there'
[ "$(ls -A ended)" = state ] || complain "more than the state stayed: $(ls -A ended)"
[ -z "$(ls -A ended/state | grep part)" ] || complain "a temporary file stayed"
exits 0 python3 "$here/end.py" SIGKILL -9 ended state/round $ended
absent ended/report.json
exits 0 python3 "$here/end.py" SIGTERM 143 ended state/subject_2 $ended --device "$one,$one" --memory 50K
[ "$(ls -A ended)" = state ] || complain "more than the state stayed: $(ls -A ended)"
exits 1 clvox atlas -q -o ended $slow --step 0.3vox s1.nii s2.nii s3.nii; one_sentence; says 'ended/state: .*another step .*or remove the folder'
exits 0 clvox atlas -o ended $slow s2.nii s1.nii s3.nii --memory 0; says 'ended/state: of a run that was interrupted: continuing'
absent ended/state
json ended/report.json 'j["result"]["resumed"] > 2'
for name in template.nii.gz s1_warp.nii.gz s3_affine.txt s2_inverse_warp.nii.gz s1_logjac.nii.gz template_logjac.nii.gz; do
    [ "$(hash_of whole/$name)" = "$(hash_of ended/$name)" ] || complain "$name has other bits"
done

begin "where only the last file of the state cannot be written the result is there, and a remark"
mkdir -p lost/state/subject_2
exits 0 clvox atlas -o lost $fast --linear none s1.nii s2.nii s3.nii; says 'lost/state/subject_2.*: the result is whole'
json lost/report.json '[r for r in j["remarks"] if "subject_2" in r]'
exists lost/s3_warp.nii.gz; rmdir lost/state/subject_2

begin "killed at eight random moments, a run ends with the same bits"
cat > kills.py <<'P'
"""kills.py SEED COMMAND...: lets it run whole once and measures, then kills it at random moments in a folder of its own, and
lets it end."""
import random, shutil, subprocess, sys, time
random.seed(int(sys.argv[1]))
command = sys.argv[2:]
start = time.time()
subprocess.run(command, check=True)
took, killed, began = time.time() - start, 0, 0
shutil.rmtree(command[-1])
for attempt in range(200):
    run = subprocess.Popen(command)
    try:
        code = run.wait(random.uniform(0.02, 1) * took)
        began += code == 0 # it was done before
        if killed >= 8:
            break
        shutil.rmtree(command[-1])
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        killed += 1
    if killed >= 8:
        subprocess.run(command, check=True)
        break
print(killed, "times killed, of", round(took, 2), "s")
sys.exit(killed < 8)
P
exits 0 python3 kills.py 7 "$program" atlas -q $slow s1.nii s2.nii s3.nii --memory 60K -o kills
prints "8 times killed"
[ "$(ls -A whole)" = "$(ls -A kills)" ] || complain "other files: $(ls -A kills)"
for file in whole/*; do
    case $file in *report.json) ;; *) cmp "$file" "kills/${file#whole/}" || complain "${file#whole/} has other bits" ;; esac
done

begin "a disk that is full ends a run with one sentence"
mkdir -p tiny
if unshare -rm sh "$here/full.sh" 8k true 2> log/err; then
    # No room for an image, for a warp that is kept, for the results.
    for room in 8k 60k 200k; do
        exits 1 unshare -rm sh "$here/full.sh" $room "$program" atlas -q -o tiny/out --memory 0 $slow s1.nii s2.nii s3.nii
        one_sentence; says 'tiny/out.*No space left on device.*make room'
    done
    exits 1 unshare -rm sh "$here/full.sh" 100k "$program" atlas -q -o tiny/out $slow s1.nii s2.nii s3.nii
    one_sentence; says 'tiny/out.*No space left on device.*make room'
fi

begin "templates along a covariate, also of a run that was ended between two"
printf 'age\timage\tlabels\n2\ts1.nii\tl1.nii\n3\ts2.nii\t\nn/a\ts1.nii\t\n8\ts3.nii\t\n' > ages.tsv
along="--list ages.tsv --regress age --at 2.5,8 --bandwidth 1"
exits 1 clvox atlas -q -o grown $slow $along; one_sentence; says 's1.nii: its age is not known'
exits 0 clvox atlas -o grown $slow $along --skip-bad
prints 'age 2.5: 2 subjects, by their weights as many as 2.0; mean age 2.5'
for name in template_2.5.nii.gz template_2.5_labels.nii.gz s2_2.5_inverse_warp.nii.gz s3_8_affine.txt summary_8.tsv subjects_8.tsv s1_2.5_logjac.nii.gz template_8_logjac.nii.gz; do exists "grown/$name"; done
absent grown/template_8_labels.nii.gz; absent grown/s3_2.5_warp.nii.gz; absent grown/template.nii.gz; absent grown/state
json grown/report.json '[(t["at"], t["subjects"], len(t["rounds"])) for t in j["result"]["templates"]] == [(2.5, 2, 4), (8, 1, 4)]'
json grown/report.json 'j["options"]["regress"] == "age" and abs(j["result"]["templates"][0]["mean"] - 2.5) < 1e-6'
head -n 1 grown/summary_8.tsv | grep -q "age${tab}share" || complain "the summary lacks columns"
exits 0 python3 "$here/end.py" SIGTERM 143 half state/template_0 "$program" atlas -q -o half $slow $along --skip-bad
exists half/template_2.5.nii.gz; absent half/template_8.nii.gz
exits 1 clvox atlas -q -o half $slow $along --skip-bad --template-only; one_sentence; says 'half/state: .*another template-only (0, not 1)'
touch -d 2001-01-01 half/template_2.5.nii.gz
exits 0 clvox atlas -o half $slow $along --skip-bad
[ "$(date -r half/template_2.5.nii.gz +%Y)" = 2001 ] || complain "a template that was there was made again"
for name in template_2.5.nii.gz template_8.nii.gz s3_8_affine.txt summary_2.5.tsv; do
    [ "$(hash_of half/$name)" = "$(hash_of grown/$name)" ] || complain "$name has other bits"
done
json half/report.json 'j["outputs"] == [f.replace("grown", "half") for f in json.load(open("grown/report.json"))["outputs"]]'
json half/report.json 'json.dumps(j["result"]["templates"]) == json.dumps(json.load(open("grown/report.json"))["result"]["templates"])'

begin "a BIDS folder: images by their suffix, sessions, covariates of participants.tsv"
for place in sub-01/ses-a/anat/sub-01_ses-a sub-01/ses-b/anat/sub-01_ses-b sub-2/anat/sub-2 sub-03/anat/sub-03; do mkdir -p "bids/${place%/*}"; done
cp s1.nii bids/sub-01/ses-a/anat/sub-01_ses-a_T1w.nii; gzip -c s2.nii > bids/sub-01/ses-b/anat/sub-01_ses-b_T1w.nii.gz
cp s3.nii bids/sub-2/anat/sub-2_T1w.nii; cp s1.nii bids/sub-2/anat/sub-2_T2w.nii
cp bad.nii bids/sub-03/anat/sub-03_bold.nii; cp bad.nii bids/sub-03/anat/sub-03_T1w.json
printf 'participant_id\tage\tweight\nsub-2\t8\t90\nsub-03\t1\t70\nsub-01\t2\t\n' > bids/participants.tsv
exits 0 clvox atlas -o fromb $fast bids
json fromb/report.json 'j["result"]["subjects"] == 3'
[ "$(hash_of out/template.nii.gz)" = "$(hash_of fromb/template.nii.gz)" ] || complain "another template than of the same images"
exits 1 clvox atlas -q -o x $fast bids --suffix T1w,T2w; one_sentence; says 'sub-01_ses-a_T1w.nii: it has no image of channel 2'
exits 0 clvox atlas -o pairs $fast bids --suffix T1w,T2w --skip-bad -q; exists pairs/template_channel2.nii.gz
json pairs/report.json 'j["result"]["subjects"] == 1 and len(j["left_out"]) == 2'
exits 2 clvox atlas -o x bids --suffix T1w,; says '--suffix T1w,'
cut -f 1,2,4- fromb/subjects.tsv > got
{ printf 'image\tsubject\tparticipant_id\tage\tweight\tsession\n'
  printf 'sub-01_ses-a_T1w_logjac.nii.gz\tsub-01_ses-a_T1w\tsub-01\t2\tn/a\tses-a\n'
  printf 'sub-01_ses-b_T1w_logjac.nii.gz\tsub-01_ses-b_T1w\tsub-01\t2\tn/a\tses-b\n'
  printf 'sub-2_T1w_logjac.nii.gz\tsub-2_T1w\tsub-2\t8\t90\tn/a\n'; } | cmp -s - got || complain "other rows: $(cat got)"
exits 0 clvox atlas -o fromb bids $fast --regress age --at 8 --bandwidth 1; prints 'age 8: 1 subjects'
exits 1 clvox atlas -o x -q bids --regress iq --at 8 --bandwidth 1; one_sentence; says 'participants.tsv: there is no column .iq'
exits 1 clvox atlas -o x -q bids --suffix FLAIR; one_sentence; says 'bids: there is no sub-.*_FLAIR.nii.gz'
cp s1.nii bids/sub-2/anat/sub-2_run-1_T1w.nii
exits 1 clvox atlas -o x -q bids; one_sentence; says 'sub-2/anat: more than one image ends in _T1w (sub-2_T1w.nii, sub-2_run-1_T1w.nii'
rm bids/participants.tsv
exits 0 clvox atlas -o fromb bids --suffix run-1_T1w --deform none --linear none --rounds 0
exits 2 clvox atlas -o x bids s1.nii; says 'one BIDS folder, or images'
exits 2 clvox atlas -o x s1.nii --suffix T2w; says '--suffix belongs to a BIDS folder'
exits 2 clvox atlas -o x --list bids; says '--list bids: is a folder'

begin "misuse and inputs that make no sense are one sentence"
exits 2 clvox atlas s1.nii; says '-o DIR'
exits 2 clvox atlas -o x; says 'images are missing'
exits 2 clvox atlas -o x s1.nii --list lists/list.tsv; says 'one of them'
exits 2 clvox atlas -o x s1.nii --rounds 0 --linear-rounds 0; says 'one round or more'
exits 2 clvox atlas -o x s1.nii --init header; says '--init'
exits 1 clvox atlas -o x --list gone.tsv; one_sentence; says 'gone.tsv'
printf 'file\tweight\n' > nohead.tsv
exits 1 clvox atlas -o x --list nohead.tsv; one_sentence; says 'no column .image'
printf 'image\tweight\ns1.nii\t-1\n' > weight.tsv
exits 1 clvox atlas -o x --list weight.tsv; one_sentence; says 'line 2'
exits 1 clvox atlas -q -o x $fast s1.nii flat.nii; one_sentence; says 'flat.nii: .*one value'
python3 - <<'P'
import struct
b = open("s1.nii", "rb").read()
open("nan.nii", "wb").write(b[:352] + struct.pack("<f", float("nan")) * 4080)
P
exits 1 clvox atlas -q -o x $fast s1.nii nan.nii s2.nii; one_sentence; says 'nan.nii: no value of the image is a finite number'
mkdir -p kept && cp t.nii kept/template.nii.gz
exits 1 clvox atlas -o kept $fast --template kept/template.nii.gz s1.nii; one_sentence; says 'template.nii.gz'
cmp -s t.nii kept/template.nii.gz || complain "the image it begins with was overwritten"
printf 'image\tlabels\ns1.nii\tkept/template_labels.nii.gz\n' > kept.tsv
cp l1.nii kept/template_labels.nii.gz
exits 1 clvox atlas -q -o kept $fast --list kept.tsv; one_sentence; says 'template_labels.nii.gz'
cmp -s l1.nii kept/template_labels.nii.gz || complain "labels of the list were overwritten"
exits 2 clvox atlas -o x s1.nii --inverse; says '--inverse'
exits 2 clvox atlas -o x s1.nii --weights 1,2; says '1 numbers above 0'
exits 2 clvox atlas -o x s1.nii s2.nii --weights 1,0; says '2 numbers above 0'
exits 2 clvox atlas -o x --list lists/list.tsv --weights 1; says 'weights belongs to images'
exits 2 clvox atlas -o x s1.nii --regress age; says 'regress needs --at'
exits 2 clvox atlas -o x --list ages.tsv --regress age --at 2,x --bandwidth 1; says '--at 2,x: numbers'
exits 1 clvox atlas -o x --list ages.tsv --regress weight --at 2 --bandwidth 1; one_sentence; says 'no column .weight'
printf 'age\timage\nold\ts1.nii\n' > old.tsv
exits 1 clvox atlas -o x --list old.tsv --regress age --at 2 --bandwidth 1; one_sentence; says 'line 2: the age old is not a number'
exits 1 clvox atlas -q -o x --list ages.tsv --skip-bad --regress age --at 2,2 --bandwidth 1; one_sentence; says 'two results'
exits 2 clvox atlas -o x s1.nii --until -1; says '--until'
exits 0 clvox atlas -o still $fast --deform none --rounds 3 s1.nii s2.nii; says '--rounds has no effect with --deform none'
absent x
finish
