#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripts that keep records of whole commands, on phantoms: what is in a record, and its table.
#   bench_commands.sh PROGRAM BENCH     BENCH: the folder of commands.py, apart.py and tables.py
. "$(dirname "$0")/../lib.sh"
bench=$2
commands() { python3 "$bench/commands.py" --clvox "$program" "$@"; }
apart() { python3 "$bench/apart.py" --clvox "$program" "$@"; }
exits 0 clvox phantom pair -o p --size 23x21x19 --spacing 1x1.1x1.2mm --seed 4 -q
exits 0 clvox phantom tensor:rings -o n --size 14x13x12 --spacing 2mm --directions 12 -q
exits 0 clvox phantom surface:torus -o t --size 20x20x20 --noise 0.3vox -q

begin "whole commands: every sample by stage and from outside, and what ran on what"
exits 0 commands --rounds 2 --preset quick --json c.json 'phantom=p_fixed.nii.gz,p_moving.nii.gz' \
    'rings=tensor all n_dwi.nii.gz --grad n.b --few -o {out}' 'rings=tensor fit n_dwi.nii.gz --grad n.b -o {out}' \
    'torus=surface denoise t_noisy_mask.nii.gz -o {out}.ply'
prints '^| phantom, 23x21x19 | quick | [0-9.]* | '; prints '^| pair | preset | all | read | prepare | linear | deform '
prints '^| tensor all | all | read | fit | denoise | measures | write | '; prints '^| tensor fit | all | read | fit | write |$'
prints '^| surface denoise | all | .* search | '; prints '^| torus, 20x20x20 | '
json c.json 'all(j[k] for k in ("program", "version", "date", "command", "threads")) and len(j["load_average"]) == 3'
json c.json 'all(j["device"][k] for k in ("name", "platform", "driver", "version"))'
json c.json '[r["verb"] for r in j["rows"]] == ["register", "tensor all", "tensor fit", "surface denoise"]'
json c.json 'all(len(r["wall"]) == len(r["all"]) == 2 and min(r["wall"]) > 0 for r in j["rows"])'
json c.json 'all(len(s) == 2 and "read" in r["stages"] and "write" in r["stages"] for r in j["rows"] for s in r["stages"].values())'
json c.json 'all(sum(s[i] for s in r["stages"].values()) <= r["all"][i] <= r["wall"][i] for r in j["rows"] for i in (0, 1))'
json c.json 'all(i["bytes"] > 0 and i["crc32"] for r in j["rows"] for i in r["inputs"]) and all("used" in r["wisdom"] for r in j["rows"])'
json c.json '[r["size"] for r in j["rows"]] == [[23, 21, 19], [14, 13, 12], [14, 13, 12], [20, 20, 20]]'
json c.json '[bool(r["peak_device_bytes"]) for r in j["rows"]] == [True, True, False, True]'
json c.json 'j["rows"][0]["preset"] == j["rows"][0]["options"]["preset"] == "quick" and j["rows"][0]["moving_size"] == [23, 21, 19]'
json c.json 'j["rows"][1]["log"]["all"]["fitted"] > 0 and j["rows"][3]["log"]["result"]["vertices"] > 0'

begin "whole commands: what cannot be called"
exits 1 commands 'rings=tensor all n_dwi.nii.gz'; one_sentence; says 'commands.py: rings=.*neither'; silent
exits 1 commands 'x=tensor fit none.nii.gz --grad n.b -o {out}'; one_sentence; says 'none.nii.gz'; silent

begin "one device twice ends in the same place"
exits 0 apart --clvox-option=--quick --json a.json "a b=p_fixed.nii.gz,p_moving.nii.gz" \
    'masked=p_fixed.nii.gz,p_moving.nii.gz,p_fixed_labels.nii.gz'
prints '^| a b, 23x21x19 | 0 | 0 | 0 | 0 | 0 |$'; prints '^| mean | 0 | 0 | 0 | 0 | 0 |$'
json a.json 'j["nudge_mm"] is None and j["one_affine"] is False and j["clvox_options"] == ["--quick"]'
json a.json 'all(j[s]["device"][k] for s in ("first", "second") for k in ("name", "platform", "driver"))'
json a.json '[o["preset"] for r in j["rows"] for o in r["options"]] == ["quick"] * 4 and j["version"] and j["threads"]'
json a.json 'all(r["size"] == r["moving_size"] == [23, 21, 19] and r["everywhere"]["voxels"] == 23 * 21 * 19 for r in j["rows"])'
json a.json 'all(0 < r["inside"]["voxels"] < 23 * 21 * 19 and r["affines_mm"] == 0 for r in j["rows"])'
json a.json 'all(r[w][n] == 0 for r in j["rows"] for w in ("everywhere", "inside") for n in ("mean_voxels", "p95_voxels", "max_voxels"))'
json a.json 'all(i["bytes"] > 0 and i["crc32"] for r in j["rows"] for i in r["inputs"])'
json a.json '[r["foreground"] for r in j["rows"]] == ["the fixed image above its mean", "p_fixed_labels.nii.gz"]'

begin "the foreground is above the mean, whatever kind of number"
python3 - <<'P'
import gzip, struct
raw = gzip.open("p_fixed.nii.gz").read()
v = struct.unpack("<%df" % (23 * 21 * 19), raw[352:])
bare = [x if x == x else 0 for x in v]
print(sum(x > sum(bare) / len(bare) for x in bare), file=open("above", "w"))
head = bytearray(raw[:352])
order = ">"  # the header's numbers turned round, and values of 16 bits
for at, form in ((0, "i"), (40, "8h"), (68, "3h"), (76, "8f"), (108, "3f"), (252, "2h"), (256, "6f"), (280, "12f")):
    struct.pack_into(">" + form, head, at, *struct.unpack_from("<" + form, head, at))
struct.pack_into(">2h", head, 70, 4, 16)
low, high = min(bare), max(bare)
struct.pack_into(">3f", head, 108, 352, (high - low) / 60000, (high + low) / 2)
short = [round((x - (high + low) / 2) / (high - low) * 60000) for x in bare]
open("big.nii", "wb").write(bytes(head) + struct.pack(">%dh" % len(short), *short))
P
json a.json "j['rows'][0]['inside']['voxels'] == $(cat above)"
exits 0 apart --clvox-option=--quick --json b.json 'big=big.nii,p_moving.nii.gz'
json b.json "abs(j['rows'][0]['inside']['voxels'] - $(cat above)) <= 2"

begin "a start that is moved moves the result: with the linear part, and the deformation alone"
exits 0 apart --nudge 0.01 --clvox-option=--quick --json m.json 'p=p_fixed.nii.gz,p_moving.nii.gz'
prints 'from a start and from one moved by 0.01 mm'
json m.json 'j["nudge_mm"] == 0.01 and j["first"] == j["second"] and 0 < j["rows"][0]["everywhere"]["mean_voxels"] < 0.5'
json m.json 'j["rows"][0]["affines_mm"] > 0 and all(o["init"] == "matrix" for o in j["rows"][0]["options"])'
exits 0 apart --nudge 0.01 --one-affine --clvox-option=--quick --json m.json 'p=p_fixed.nii.gz,p_moving.nii.gz'
json m.json 'j["one_affine"] and abs(j["rows"][0]["affines_mm"] - 0.01) < 1e-6 and j["rows"][0]["inside"]["mean_voxels"] > 0'
exits 0 apart --nudge 0.5 --one-affine --clvox-option='--deform none' --json m.json 'p=p_fixed.nii.gz,p_moving.nii.gz'
json m.json 'abs(j["rows"][0]["everywhere"]["mean_mm"] - 0.5) < 1e-4 and abs(j["rows"][0]["everywhere"]["max_mm"] - 0.5) < 1e-4'
exits 2 apart --nudge 1 --second gpu p=a,b; says 'one device'
exits 2 apart p=a; says 'NAME=FIXED,MOVING'

begin "a setting of one side reaches it alone"
exits 1 apart --second-env CLVOX_DEVICE=none --clvox-option=--quick 'p=p_fixed.nii.gz,p_moving.nii.gz'
one_sentence; says 'apart.py: register.*none'

begin "tables are made of both records"
for name in commands=c apart=a; do
    { echo "<!-- table: ${name%=*} $PWD/${name#*=}.json -->"; echo old; echo "<!-- end of table -->"; } > page.md
    exits 1 python3 "$bench/tables.py" "$program" --check page.md; prints 'page.md'
    exits 0 python3 "$bench/tables.py" "$program" page.md
    exits 0 python3 "$bench/tables.py" "$program" --check page.md; silent
    cp page.md log/out; prints '23x21x19'
    grep -q '^old$' page.md && complain "the old table is still there"
done
sed 's/a.json/none.json/' page.md > other.md
exits 1 python3 "$bench/tables.py" "$program" other.md; one_sentence; says 'none.json'
finish
