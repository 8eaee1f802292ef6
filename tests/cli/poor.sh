#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program on devices that lack or refuse something, and with folders that cannot be written: it works, or says in
# one sentence why not and leaves nothing behind.
#   poor.sh PROGRAM LAYER      LAYER: the OpenCL layer of tests/layer
. "$(dirname "$0")/lib.sh"
PATH=$(dirname "$program"):$PATH # for env, which knows no functions
one_remark() { [ "$(grep -c "$1" log/err)" = 1 ] || complain "not reported once: $1"; }
export CLVOX_CACHE_DIR="${CLVOX_CACHE_DIR:-$work/cache}" # kernels are built once
clvox phantom pair -o pair --size 21x19x17 --amplitude 1 -q > log/out 2>&1
clvox phantom surface:sphere -o ball --size 19x19x19 -q > log/out 2>&1
clvox phantom tensor:rings -o rings --size 11x10x9 --directions 12 -q > log/out 2>&1
mv pair_fixed.nii.gz f.nii.gz && mv pair_moving.nii.gz m.nii.gz && mv pair_truth_warp.nii.gz w.nii.gz

gaussian="clvox filter gaussian f.nii.gz --sigma 2mm"
begin "a cache of kernels that cannot be written does no harm"
touch file
exits 0 clvox filter gaussian f.nii.gz --sigma 2mm -o plain.nii; quiet
exits 0 env CLVOX_CACHE_DIR="$work/file/cache" $gaussian -o uncached.nii; quiet
exits 0 cmp plain.nii uncached.nii

begin "a home that cannot be written: the CPU's driver keeps what it builds elsewhere"
mkdir temporary
exits 0 env -u POCL_CACHE_DIR -u XDG_CACHE_HOME -u CLVOX_CACHE_DIR HOME="$work/file" TMPDIR="$work/temporary" \
    $gaussian -o homeless.nii; quiet
exits 0 cmp plain.nii homeless.nii

begin "folders of others are not trusted with what the driver runs"
rm -rf temporary && mkdir temporary && mkdir -m 777 temporary/clvox-pocl-"$(id -u)"
chmod 777 temporary/clvox-pocl-"$(id -u)"
code=0
env -u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME="$work/file" TMPDIR="$work/temporary" \
    clvox devices > log/out 2> log/err || code=$?
[ -z "$(ls -A temporary/clvox-pocl-"$(id -u)")" ] || complain "something was written there"
[ $code = 0 ] || { one_sentence; says 'POCL_CACHE_DIR'; }

# Without layers in the loader (ocl-icd has them since 2.3.0) a call that fails does not.
if poor fail:1 $gaussian -o x.nii > log/out 2>&1; then
    finish_skipping 'the OpenCL loader here takes no layers'
fi

begin "a device that refuses to time kernels works, and --profile says that there is none"
for refusal in profiling times; do
    exits 0 poor $refusal $gaussian -o timeless.nii --profile
    one_remark 'does not time its kernels'
    exits 0 cmp plain.nii timeless.nii
    exits 0 poor $refusal clvox tune --kernel copy --size 12 --seconds 0.001 --no-wisdom -q
    prints 'keeps no time'; prints '^copy'
done
exits 0 poor times clvox register -f f.nii.gz -m m.nii.gz -o timeless --quick --no-picture --profile -q
one_remark 'does not time its kernels'; exists timeless_warp.nii.gz
exits 0 poor times clvox surface denoise ball_mask.nii.gz -o timeless.vtk --profile -q
one_remark 'does not time its kernels'; exists timeless.vtk
exits 0 poor profiling clvox tensor all rings_dwi.nii.gz --grad rings.b -o timeless --profile -q
one_remark 'does not time its kernels'; exists timeless_fa.nii.gz

begin "a driver that gives no binaries works, with a cache and without"
exits 0 poor binaries env CLVOX_CACHE_DIR="$work/none" $gaussian -o x.nii
quiet; exits 0 cmp plain.nii x.nii; rm x.nii
exits 0 poor binaries env CLVOX_CACHE_DIR="$work/none" $gaussian -o x.nii
quiet; exits 0 cmp plain.nii x.nii

begin "small work-groups and little local memory: other variants, and everything runs"
on_processor
for lack in group:64 local:4096; do
    exits 0 poor $lack $gaussian -o x.nii; quiet
    exits 0 poor $lack clvox register -f f.nii.gz -m m.nii.gz -o lacking --quick --no-picture --total-sigma 1vox -q; quiet
    exits 0 poor $lack clvox surface denoise ball_mask.nii.gz -o lacking.vtk -q; quiet
    exits 0 poor $lack clvox tensor all rings_dwi.nii.gz --grad rings.b -o lacking -q; quiet
done

begin "a device that says it is a GPU, with its kernels and its layout of fields: nearly the same flows"
on_processor
pair="clvox register -f f.nii.gz -m m.nii.gz --linear none --init header --shrink 2x1 --iterations 6x3 --no-picture -q"
for model in lddmm shooting "greedy --operator 3,6,1"; do
    exits 0 $pair --deform $model -o cpu; exits 0 poor gpu $pair --deform $model -o gpu; quiet
    exits 1 cmp -s cpu_warp.nii.gz gpu_warp.nii.gz
    exits 0 clvox compare cpu_warp.nii.gz gpu_warp.nii.gz; near mean_voxels 0 .005
done
rm cpu* gpu*

begin "a GPU of small work-groups has smaller tiles of the same forms, which give the same bits"
exits 0 poor gpu $gaussian -o tiles.nii; exits 0 poor gpu clvox filter sobel f.nii.gz -o edges.nii
exits 0 poor gpu clvox jacobian -t w.nii.gz -o volumes.nii
for lack in group:48 group:1,local:2048; do
    exits 0 poor gpu,$lack $gaussian -o x.nii; quiet; exits 0 cmp tiles.nii x.nii
    exits 0 poor gpu,$lack clvox filter sobel f.nii.gz -o x.nii; quiet; exits 0 cmp edges.nii x.nii
    exits 0 poor gpu,$lack clvox jacobian -t w.nii.gz -o x.nii; quiet; exits 0 cmp volumes.nii x.nii
done

begin "memory that does not suffice is known beforehand"
clvox phantom constant -o large.nii --size 110x104x100 -q > log/out 2>&1
exits 1 poor memory:12 clvox filter gaussian large.nii --sigma 2mm -o x2.nii
one_sentence; says 'MiB'; absent x2.nii
exits 1 poor memory:12 clvox register -f large.nii -m large.nii -o x2 -q
one_sentence; says 'MiB'; says 'would fit'; absent x2_warp.nii.gz
exits 1 poor memory:300 clvox register -f large.nii -m large.nii -o x2 -q --deform lddmm --timesteps 8
one_sentence; says 'MiB'; says '--timesteps 4 would fit'; absent x2_warp.nii.gz
exits 1 poor memory:112 clvox register -f large.nii -m large.nii -o x2 -q --deform shooting --timesteps 8
one_sentence; says '--shrink 8x4x2 would fit'
clvox phantom warp -o vectors.nii --size 110x104x100 -q > log/out 2>&1
exits 1 poor memory:12 clvox shoot -p vectors.nii -r large.nii --operator 1,0,1 -o x2
one_sentence; says 'MiB'; absent x2_warp.nii.gz
rm vectors.nii large.nii

begin "where no Fourier transform runs, a flow says so"
on_processor
flow="clvox register -f f.nii.gz -m m.nii.gz --linear none --init header --deform lddmm --shrink 2x1 --iterations 2x1 --no-picture -q"
exits 1 poor local:64 $flow -o x2
one_sentence; says 'no other provider takes .* voxels there; syn, and greedy without an operator'
absent x2_warp.nii.gz
rm -f x2*

begin "too little memory for images of different contrasts: a suspicion, and an error with --strict"
clvox phantom pair -o c --size 40x36x32 --amplitude 3 -q > log/out 2>&1
cat > recolour.py <<'EOF'
import gzip, struct
data = bytearray(gzip.open("c_moving.nii.gz").read())
offset = int(struct.unpack_from("<f", data, 108)[0])
count = (len(data) - offset) // 4
values = struct.unpack_from(f"<{count}f", data, offset)
top = 1.1 * max(values)
struct.pack_into(f"<{count}f", data, offset, *(min(5 * v, top - v) for v in values))
open("c.nii", "wb").write(data)
EOF
exits 0 python3 recolour.py
contrasts="clvox register -f c_fixed.nii.gz -m c.nii -o x2 --linear rigid --iterations 2x2x2 --no-picture -q --json x2.json"
exits 0 $contrasts --strict; quiet; json x2.json 'j["result"]["metric"] == "mind" and not j["result"]["suspicions"]'
for room in 12 13; do # MIND has no room, and recast images have none
    exits 0 poor memory:$room $contrasts; says 'WARNING: there was too little memory to tell contrasts apart'
    json x2.json '"memory" in j["result"]["suspicions"]'
    exits 1 poor memory:$room $contrasts --strict; says 'too little memory'; exists x2_warp.nii.gz
done
rm -f x2* c_* c.nii

begin "a device of 200 MiB"
clvox phantom constant -o huge.nii --size 170x165x160 -q > log/out 2>&1
exits 0 poor memory:200 $gaussian -o x.nii; quiet
exits 0 cmp plain.nii x.nii
exits 1 poor memory:200 clvox register -f huge.nii -m huge.nii -o x2 -q
one_sentence; says 'would fit'; absent x2_warp.nii.gz
# Results on a grid whose fields are larger than the device gives in one piece.
exits 0 poor memory:200 clvox register -f huge.nii -m huge.nii -o x2 -q --linear none --shrink 8 --iterations 1 --no-picture
says 'one value'; json x2.json 'j["result"]["jacobian"]["voxels"] == 170 * 165 * 160 and j["result"]["exchanged"] == False'
exists x2_inverse_warp.nii.gz
rm -f x2*
rm huge.nii

begin "a particle mesh without room: auto goes on by all pairs and says so, mesh refuses"
on_processor
# Clouds, as the distances between surfaces of as many elements take long.
awk 'BEGIN { # two ellipsoids
    print "x,y,z" > "round.csv"; print "x,y,z" > "part.csv"
    for (i = 0; i < 6000; i++) {
        z = 1 - (2 * i + 1) / 6000; r = sqrt(1 - z * z); t = 2.4 * i
        printf "%.3f,%.3f,%.3f\n", 18 * r * cos(t), 18 * r * sin(t), 18 * z > "round.csv"
        printf "%.3f,%.3f,%.3f\n", 15 * r * cos(t), 19 * r * sin(t), 14 * z > "part.csv"
    }
}'
shapes="clvox register --cloud round.csv,part.csv --width 4mm --spacing 1.5mm --deform greedy --shrink 1 --iterations 2 --no-picture -q"
sums='j["result"]["clouds"]["cloud"][0]'
exits 0 $shapes -o roomy; json roomy.json "$sums[\"sums\"] == \"mesh\" and not $sums[\"no_room_for_mesh\"]"
exits 0 $shapes -o pairs --currents exact
exits 1 cmp -s roomy_warp.nii.gz pairs_warp.nii.gz
# By what the device has; by what it turns out not to have; by what a mesh takes beside its room.
for wanting in memory:11 taken:10 taken:12; do
    exits 0 poor $wanting $shapes -o tight; prints 'over all pairs: too little device memory for a particle mesh'
    json tight.json "$sums[\"sums\"] == \"exact\" and $sums[\"no_room_for_mesh\"]"
    exits 0 cmp tight_warp.nii.gz pairs_warp.nii.gz; rm tight*
done
exits 1 poor memory:11 $shapes -o tight --currents mesh; one_sentence; says '--currents auto or exact would fit'
exits 1 poor memory:8 $shapes -o tight; one_sentence; says '--shrink 2 would fit'
exits 1 poor memory:2 $shapes -o tight; one_sentence; says 'no coarser grid would fit'
for f in tight*; do absent "$f"; done
rm round* part* roomy* pairs*
# Few elements on a fine grid: a mesh does not pay here, though it might on another device, and is not missed.
clvox phantom surface:sphere -o few --size 20x20x20 -q > log/out 2>&1
exits 0 clvox surface mesh few_mask.nii.gz -o few.ply -q
exits 0 poor memory:12 clvox register --surface few.ply,few.ply --width 1mm --spacing 1.5mm --deform greedy --shrink 1 --iterations 2 --no-picture -q -o few
sums='j["result"]["surfaces"]["surface"][0]'
json few.json "$sums[\"sums\"] == \"exact\" and not $sums[\"no_room_for_mesh\"]"
rm few*

begin "where others have taken the device's memory, an atlas keeps its maps in the host's, with the same bits"
on_processor
for i in 1 2 3; do clvox phantom textured -o s$i.nii --size 40x38x36 --seed $i -q > log/out 2>&1; done
atlas="clvox atlas s1.nii s2.nii s3.nii --linear none --rounds 2 --iterations 3x3x3 --device-memory 1G -q"
exits 0 $atlas -o room; json room/report.json 'j["result"]["subjects_on_devices"] == 3'
# From the start, and while they hold maps of all subjects.
for left in 7 8 10 8,after:80 8,after:120; do
    exits 0 poor taken:$left $atlas -o tight; json tight/report.json 'j["result"]["subjects_on_devices"] < 3'
    for f in template s1_warp s3_inverse_warp; do exits 0 cmp room/$f.nii.gz tight/$f.nii.gz; done
    rm -r tight
done
exits 1 poor taken:3 $atlas -o tight; one_sentence; says 'velocity field\|displacement field'; absent tight/template.nii.gz
rm -rf tight room s?.nii

begin "memory that others have taken is a sentence when it runs out"
for left in 0 1; do
    exits 1 poor taken:$left clvox register -f f.nii.gz -m m.nii.gz -o x2 -q
    one_sentence; says 'memory'; absent x2_warp.nii.gz
done

finish
