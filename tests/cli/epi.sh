#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Distortion of echo-planar images, from files to files.
. "$(dirname "$0")/lib.sh"

# Two blips along j of a textured head: the image through a warp along y, and through its opposite, times the Jacobians.
exits 0 clvox phantom textured --size 29x31x17 --spacing 3x3x4mm -o head.nii.gz
python3 - <<'P'
import gzip, math, struct
raw = bytearray(gzip.open("head.nii.gz").read())
size = struct.unpack_from("<3h", raw, 42)
start, kind = int(struct.unpack_from("<f", raw, 108)[0]), struct.unpack_from("<h", raw, 70)[0]
assert kind == 16
n = size[0] * size[1] * size[2]
head = struct.unpack_from(f"<{n}f", raw, start)
slope, inter = struct.unpack_from("<2f", raw, 112)
def field(x, y, z):  # Hz
    return 50 * math.exp(-((x - 14) ** 2 + (y - 19) ** 2) / 60 - (z - 8) ** 2 / 40)
def write(name, values):
    raw[start:start + 4 * n] = struct.pack(f"<{n}f", *values)
    gzip.open(name, "wb").write(bytes(raw))
for name, sign in (("ap", 1), ("pa", -1)):
    out = []
    for i in range(n):
        x, y, z = i % size[0], i // size[0] % size[1], i // size[0] // size[1]
        at = y
        for _ in range(40):
            at = y - sign * .05 * field(x, at, z)
        rise = sign * .05 * (field(x, at + .01, z) - field(x, at - .01, z)) / .02
        low = min(max(int(math.floor(at)), 0), size[1] - 2)
        part = min(max(at - low, 0), 1)
        base = (z * size[1] + low) * size[0] + x
        out.append((head[base] * (1 - part) + head[base + size[0]] * part) / (1 + rise))
    write(f"{name}.nii.gz", out)
write("map.nii.gz", [field(i % size[0], i // size[0] % size[1], i // size[0] // size[1]) for i in range(n)])
P
closer() { # FILE: the head is nearer to it than to the image as it was
    exits 0 clvox compare head.nii.gz "$1" --json c.json -q
    json c.json 'j["comparison"]["NCC"] > '"$before"
}
exits 0 clvox compare head.nii.gz ap.nii.gz --json c.json -q
before=$(python3 -c 'import json; print(json.load(open("c.json"))["comparison"]["NCC"])')

begin "two blips: what it writes, and that it corrects"
exits 0 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j,j- --readout .05 -o s
for name in _field.nii.gz _warp.nii.gz _corrected.nii.gz _pileup.nii.gz _report.html .json; do exists s$name; done
prints 'difference .*before'; prints 'shift '; closer s_corrected.nii.gz
json s.json 'j["images"][1]["signed_readout_time"] == -.05 and j["result"]["difference_after"] < .5 * j["result"]["difference_before"]'
json s.json 'len(j["outputs"]) == 5 and j["result"]["piled_up_voxels"] == 0'
exits 0 clvox info s_warp.nii.gz; prints 'displacement'
exits 0 clvox apply -i ap.nii.gz -r ap.nii.gz -t s_warp.nii.gz -o a.nii.gz -q; closer a.nii.gz

begin "the same bytes from sidecars, from topup's table, and again"
printf '{"PhaseEncodingDirection": "j", "TotalReadoutTime": 0.05}' > ap.json
printf '{"PhaseEncodingDirection": "j-", "TotalReadoutTime": 0.05}' > pa.json
printf '0 1 0 0.05\n0 -1 0 0.05\n' > acqparams.txt
exits 0 clvox epi --blips ap.nii.gz,pa.nii.gz -o b -q; quiet
exits 0 clvox epi --blips ap.nii.gz,pa.nii.gz --acqparams acqparams.txt -o t -q
for name in field warp corrected; do exits 0 cmp s_$name.nii.gz b_$name.nii.gz; exits 0 cmp s_$name.nii.gz t_$name.nii.gz; done

begin "a field map, and an undistorted image"
exits 0 clvox epi --blips pa.nii.gz --field map.nii.gz -o f -q; closer f_corrected.nii.gz
printf '{"EchoTime1": 0.005, "EchoTime2": 0.165154943}' > map.json
exits 0 clvox epi --blips pa.nii.gz --field map.nii.gz -o p -q
json p.json 'abs(j["result"]["hz_per_unit"] - .993756) < 1e-5'
rm map.json
exits 0 clvox epi --blips pa.nii.gz --field map.nii.gz --field-unit .005,.165154943 -o q -q
exits 0 cmp p_field.nii.gz q_field.nii.gz
exits 0 clvox epi --blips ap.nii.gz --to head.nii.gz -o g -q; closer g_corrected.nii.gz
json g.json '"difference_before" not in j["result"]'

begin "a series takes the warp in the resampling of its motion"
python3 - <<'P'
import gzip, struct
raw = bytearray(gzip.open("ap.nii.gz").read())
size, start = struct.unpack_from("<3h", raw, 42), int(struct.unpack_from("<f", raw, 108)[0])
n = size[0] * size[1] * size[2]
first = struct.unpack_from(f"<{n}f", raw, start)
nx, ny = size[:2]
# The head moves by two voxels along y, and so does its distortion.
second = [first[max(i // nx % ny - 2, 0) * nx + i % nx + i // (nx * ny) * nx * ny] for i in range(n)]
struct.pack_into("<8h", raw, 40, 4, *size, 2, 1, 1, 1)
gzip.open("series.nii.gz", "wb").write(bytes(raw) + struct.pack(f"<{n}f", *second))
P
exits 0 clvox series series.nii.gz --distortion s_warp.nii.gz --reference 0 -o m -q; closer m_mean.nii.gz
python3 - <<'P' > log/out 2>&1 || complain "the frames differ"
import gzip, struct
raw = gzip.open("m_corrected.nii.gz").read()
nx, ny, nz = struct.unpack_from("<3h", raw, 42)
start, kind = int(struct.unpack_from("<f", raw, 108)[0]), struct.unpack_from("<h", raw, 70)[0]
v = struct.unpack_from(f"<{2 * nx * ny * nz}f", raw, start)
inner = [i for i in range(nx * ny * nz) if 4 <= i % nx < nx - 4 and 4 <= i // nx % ny < ny - 4]
off = (sum((v[i] - v[i + nx * ny * nz]) ** 2 for i in inner) / sum(v[i] ** 2 for i in inner)) ** .5
assert kind == 16 and off < .001, off
P
exits 0 clvox series series.nii.gz --reference 0 -o l -q
exits 0 clvox compare head.nii.gz l_mean.nii.gz --json c.json -q; json c.json 'j["comparison"]["NCC"] < .5 * ('"$before"' + 1)'
exits 1 clvox series series.nii.gz --distortion l_transforms.txt -o e -q; one_sentence; absent e_mean.nii.gz

begin "what is wrong is one sentence"
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz; says '-o PREFIX is missing'
exits 2 clvox epi -o e; says '--blips'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j,j- -o e; says '--readout'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j --readout .05 -o e; says 'one of each'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j,y --readout .05 -o e; says '"y"'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j,j- --readout 50 -o e; says 'TotalReadoutTime'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --to head.nii.gz -o e; says 'with --to it is one'
exits 2 clvox epi --blips ap.nii.gz --to head.nii.gz --field map.nii.gz -o e; says 'exclude'
exits 2 clvox epi --blips ap.nii.gz,pa.nii.gz --field-unit Hz -o e; says '--field FILE'
exits 2 clvox epi --blips ap.nii.gz --field map.nii.gz --field-unit ppm -o e; says '"ppm"'
exits 1 clvox epi --blips ap.nii.gz,pa.nii.gz --pe j,j --readout .05 -o e; one_sentence; says 'needs both directions'
exits 1 clvox epi --blips ap.nii.gz --pe j --readout .05 -o e; one_sentence; says '2 to'
exits 1 clvox epi --blips head.nii.gz,pa.nii.gz -o e; one_sentence; says 'head.json'
printf '0 1 0 0.05\n' > one.txt
exits 1 clvox epi --blips ap.nii.gz,pa.nii.gz --acqparams one.txt -o e; one_sentence; says '1 rows for the 2'
exits 1 clvox epi --blips ap.nii.gz,none.nii.gz --pe j,j- --readout .05 -o e; one_sentence; says 'none.nii.gz'
cp ap.nii.gz o_field.nii.gz
exits 1 clvox epi --blips o_field.nii.gz,pa.nii.gz --pe j,j- --readout .05 -o o; one_sentence; says 'overwritten'
absent e_field.nii.gz; absent e_corrected.nii.gz; absent e.json
finish
