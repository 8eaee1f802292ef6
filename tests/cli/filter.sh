#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The filters of volumes, on the default device.
. "$(dirname "$0")/lib.sh"

size="--size 21x19x17 --spacing 1x1.2x2mm --direction oblique"
exits 0 clvox phantom textured -o t.nii.gz $size --labels labels.nii.gz
exits 0 clvox phantom constant -o k.nii $size
exits 0 clvox phantom tensor:steps -o d --size 11x9x7 --snr 20 --directions 20 -q

begin "a constant stays, and has no edges"
exits 0 clvox filter gaussian k.nii -o g.nii.gz --sigma 2mm; silent; exists g.nii.gz
exits 0 clvox info g.nii.gz; prints 'float32'; prints '21 x 19 x 17'
exits 0 clvox compare k.nii g.nii.gz; below largest_difference 1e-3
exits 0 clvox filter sobel k.nii -o s.nii.gz
exits 0 clvox info s.nii.gz --json log/s.json; prints 'float32'
json log/s.json 'j["files"][0]["largest"] < 1e-3'
exits 0 clvox filter unsharp k.nii -o u.nii.gz --sigma=2mm
exits 0 clvox compare k.nii u.nii.gz; below largest_difference 1e-3

begin "millimetres and voxels, one width and three, say the same"
exits 0 clvox filter gaussian t.nii.gz -o mm.nii --sigma 2mm --json log/mm.json
json log/mm.json 'j["filter"]["kind"] == "gaussian" and j["filter"]["sigma_mm"] == [2, 2, 2]'
json log/mm.json 'abs(j["filter"]["sigma_voxels"][2] - 1) < 1e-6 and j["filter"]["frames"] == 1'
json log/mm.json 'j["outputs"] == ["mm.nii"] and j["inputs"][0]["path"] == "t.nii.gz"'
for sigma in 2 2x2x2mm 2x1.6666667x1vox; do
    exits 0 clvox filter gaussian t.nii.gz -o same.nii --sigma $sigma
    exits 0 clvox compare mm.nii same.nii; below RMS 1e-4
done
exits 0 clvox compare t.nii.gz mm.nii; changed=$(value RMS)
[ "${changed%.*}" -ge 10 ] || complain "not smoothed: the RMS of the change is $changed"

begin "unsharp masking by no amount changes nothing"
exits 0 clvox filter unsharp t.nii.gz -o same.nii --sigma 1vox --amount 0
exits 0 clvox compare t.nii.gz same.nii; below largest_difference 1e-3
exits 0 clvox filter unsharp t.nii.gz -o sharp.nii --sigma 2mm --amount 1 --json -
exits 0 clvox compare t.nii.gz sharp.nii; near RMS "$changed" 1e-3

begin "n4 writes the image over its field, and its report"
exits 0 clvox filter n4 t.nii.gz -o n4.nii.gz --field field.nii.gz --iterations 4x3 --shrink 2 --json log/n4.json
prints '^level 2'; exists field.nii.gz
json log/n4.json 'j["options"]["levels"] == 2 and j["filter"]["iterations"][1] == 3'
exits 0 clvox filter n4 k.nii -o same.nii --mask k.nii
exits 0 clvox compare k.nii same.nii; below largest_difference 1e-3
exits 2 clvox filter n4 t.nii.gz; says '-o OUT is missing'
exits 2 clvox filter n4 t.nii.gz -o x.nii --spline 0mm; says '--spline'
exits 1 clvox filter n4 labels.nii.gz -o x.nii; one_sentence; says 'labels.nii.gz'
absent x.nii

begin "winsorize and match keep to what was asked"
exits 0 clvox filter winsorize t.nii.gz -o w.nii.gz --quantiles 0,0.9 --json log/w.json; silent
json log/w.json 'j["filter"]["quantiles"] == [0, 0.9]'
exits 0 clvox filter winsorize t.nii.gz -o same.nii --quantiles [0,1]
exits 0 clvox compare t.nii.gz same.nii; below largest_difference 1e-6
exits 0 clvox filter match w.nii.gz -r t.nii.gz -o m.nii.gz; silent
exits 0 clvox filter match t.nii.gz -r t.nii.gz -o same.nii
exits 0 clvox compare t.nii.gz same.nii; below largest_difference 1e-3
for q in 0.5 0.9,0.1 -1,1 0.1,0.9x; do
    exits 2 clvox filter winsorize t.nii.gz -o x.nii --quantiles=$q; says '--quantiles'
done
exits 2 clvox filter match t.nii.gz -o x.nii; says '-r REFERENCE is missing'
exits 2 clvox filter match t.nii.gz -r t.nii.gz -o x.nii --points 0; says '--points'
exits 1 clvox filter match t.nii.gz -r k.nii -o x.nii; one_sentence; says 'one value'; absent x.nii

begin "median: as wide as asked for, by whole voxels"
exits 0 clvox filter median k.nii -o same.nii; silent
exits 0 clvox compare k.nii same.nii; near largest_difference 0 0
exits 0 clvox filter median t.nii.gz -o m.nii.gz --radius 1x2x0 --json log/m.json
json log/m.json 'j["filter"]["kind"] == "median" and j["filter"]["radius_voxels"] == [1, 2, 0]'
exits 0 clvox filter median t.nii.gz -o same.nii --radius 0
exits 0 clvox compare t.nii.gz same.nii; near largest_difference 0 0
for radius in 1.5 -1 8 1x1 2mm; do
    exits 2 clvox filter median t.nii.gz -o x.nii --radius=$radius; says '--radius'
done
exits 2 clvox filter median t.nii.gz; says '-o OUT is missing'
exits 1 clvox filter median labels.nii.gz -o x.nii; one_sentence; says 'labels.nii.gz: labels are names'
absent x.nii

begin "nlm: the noise that was found, and what was done about it"
exits 0 clvox phantom shells -o clean.nii --size 21x19x17
exits 0 clvox phantom shells -o noisy.nii --size 21x19x17 --noise 20
exits 0 clvox compare clean.nii noisy.nii; before=$(value RMS)
exits 0 clvox filter nlm noisy.nii -o nlm.nii --json log/nlm.json; prints '^noise  *gaussian'
json log/nlm.json '14 < j["filter"]["noise"][0] < 30 and j["filter"]["noise_kind"] == "gaussian"'
json log/nlm.json 'j["options"]["search"] == 3 and j["filter"]["voxels"] == 21 * 19 * 17'
exits 0 clvox compare clean.nii nlm.nii; below RMS "$(echo "$before" | awk '{ print 0.6 * $1 }')"
exits 0 clvox filter nlm noisy.nii -o local.nii --local-noise --json log/local.json; prints ' to '
json log/local.json '10 < j["filter"]["noise"][0] < j["filter"]["noise"][1] < 40 and j["options"]["local_noise"]'
exits 0 clvox filter nlm noisy.nii -o map.nii --noise-map clean.nii
exits 2 clvox filter nlm noisy.nii -o x.nii --noise-map clean.nii --local-noise; says 'leave out --noise and'
exits 2 clvox filter nlm noisy.nii -o x.nii --noise 3 --local-noise; says '--local-noise'
exits 1 clvox filter nlm noisy.nii -o x.nii --noise-map t.nii.gz; one_sentence; says 't.nii.gz: lies on another grid'
exits 0 clvox filter nlm k.nii -o same.nii --noise 5 --search 1 --patch 2 --single --noise-kind gaussian
exits 0 clvox compare k.nii same.nii; below largest_difference 1e-3
exits 0 clvox filter nlm d_dwi.nii.gz -o joint.nii.gz --joint --noise 50 --mask d_mask.nii.gz --json log/joint.json
json log/joint.json 'j["options"]["joint"] and j["filter"]["noise"] == [50, 50] and j["filter"]["voxels"] > 0'
exits 0 clvox info joint.nii.gz --json log/joint.json; prints '11 x 9 x 7'
json log/joint.json 'j["files"][0]["frames"] > 20'
exits 0 clvox filter nlm noisy.nii -o alone.nii --joint
exits 0 clvox compare nlm.nii alone.nii; near largest_difference 0 0
exits 1 clvox filter nlm k.nii -o x.nii; one_sentence; says 'k.nii: .*noise'
exits 1 clvox filter nlm labels.nii.gz -o x.nii; one_sentence; says 'labels.nii.gz'
exits 2 clvox filter nlm t.nii.gz; says '-o OUT is missing'
exits 2 clvox filter nlm t.nii.gz -o x.nii --patch 3; says '--patch'
exits 2 clvox filter nlm t.nii.gz -o x.nii --noise 0; says '--noise'
absent x.nii

begin "tv: by the noise that was found, or a weight, and within its tolerance"
exits 0 clvox filter tv noisy.nii -o tv.nii --json log/tv.json
prints '^noise  *gaussian'; prints '^weight'; prints '^iterations'
json log/tv.json '14 < j["filter"]["noise"][0] < 30 and j["filter"]["error"] <= 0.02'
json log/tv.json '0.5 < j["filter"]["weight"][0] / j["filter"]["noise"][0] < 0.6101'
json log/tv.json 'j["options"]["tolerance"] == 0.02 and j["filter"]["voxels"] == 21 * 19 * 17'
exits 0 clvox compare clean.nii tv.nii; below RMS "$(echo "$before" | awk '{ print 0.6 * $1 }')"
exits 0 clvox filter tv noisy.nii -o tv.nii --weight 1e-3 --noise-kind gaussian --json log/tv.json
json log/tv.json 'j["filter"]["noise"] == [0, 0] and j["filter"]["weight"][1] == 1e-3'
exits 0 clvox compare noisy.nii tv.nii; below largest_difference 0.01
exits 0 clvox filter tv noisy.nii -o tv.nii --iterations 2; says 'not within --tolerance 0.02 after 2 iterations'
exits 0 clvox filter tv d_dwi.nii.gz -o joint.nii.gz --joint --noise 50 --mask d_mask.nii.gz
exits 0 clvox info joint.nii.gz --json log/joint.json; prints '11 x 9 x 7'
json log/joint.json 'j["files"][0]["frames"] > 20'
exits 1 clvox filter tv k.nii -o x.nii; one_sentence; says 'k.nii: .*noise'
exits 2 clvox filter tv t.nii.gz; says '-o OUT is missing'
exits 2 clvox filter tv t.nii.gz -o x.nii --weight 0; says '--weight'
exits 2 clvox filter tv t.nii.gz -o x.nii --tolerance 2; says '--tolerance'
absent x.nii

begin "dwi: the scan without noise, and how much there was"
exits 0 clvox filter dwi d_dwi.nii.gz -o d.nii.gz --noise sd.nii.gz --mask d_mask.nii.gz --window 3 --json log/d.json
prints '^noise'; exists sd.nii.gz
# Of the signal without weighting, 1000, a twentieth.
json log/d.json '25 < j["filter"]["noise"] < 75 and j["filter"]["window_voxels"] == 3'
exits 0 clvox tensor fit d_dwi.nii.gz --grad d.b --mask d_mask.nii.gz -o f --denoise mppca --window 3 \
    --save-denoised same.nii.gz -q
exits 0 clvox compare d.nii.gz same.nii.gz; near largest_difference 0 0
exits 0 clvox compare sd.nii.gz f_mppca_noise.nii.gz; near largest_difference 0 0
# Of 130 volumes of noise alone all is noise, by windows of 343 voxels as of 125.
python3 - <<'P'
import math, random, struct
random.seed(6)
def nifti(path, size, values):
    h = bytearray(352)
    struct.pack_into("<i", h, 0, 348)
    struct.pack_into("<8h", h, 40, 4, *size, 1, 1, 1)
    struct.pack_into("<3h", h, 68, 0, 16, 32)
    struct.pack_into("<8f", h, 76, 1, 2, 2, 2, 1, 1, 1, 1)
    struct.pack_into("<f", h, 108, 352)
    struct.pack_into("<2h", h, 252, 0, 1)
    struct.pack_into("<12f", h, 280, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0)
    h[344:348] = b"n+1\0"
    open(path, "wb").write(bytes(h) + struct.pack("<%df" % len(values), *values))
n = 7 * 7 * 7
real = [20 * math.sin(.4 * k + i % 7 * .2) + random.gauss(0, 5) for k in range(20) for i in range(n)]
nifti("real.nii", (7, 7, 7, 20), real)
nifti("many.nii", (7, 7, 7, 130), [100 + random.gauss(0, 10) for _ in range(130 * n)])
P
exits 0 clvox filter dwi many.nii -o many_clean.nii.gz --json log/d.json; prints '^window  *7 voxels'
json log/d.json 'abs(j["filter"]["noise"] - 10) < .3 and j["filter"]["window_voxels"] == 7'
exits 0 clvox filter dwi many.nii -o x5.nii.gz --window 5 --json log/d.json
json log/d.json 'abs(j["filter"]["noise"] - 10) < .3 and j["filter"]["window_voxels"] == 5'
grep -q 'below 0' log/err && complain 'a magnitude is taken for signed data'
# Real parts keep their sign, and come nearer to what they are without noise.
exits 0 clvox filter dwi real.nii -o real_clean.nii.gz --json log/d.json; says 'real.nii: [0-9]* of 6860 values are below 0'
json log/d.json 'len(j["remarks"]) == 1'
cat > rms.py <<'P'
import gzip, math, struct, sys
v = struct.unpack("<6860f", gzip.open(sys.argv[1]).read()[352:])
d = [v[k * 343 + i] - 20 * math.sin(.4 * k + i % 7 * .2) for k in range(20) for i in range(343)]
print("rms", math.sqrt(sum(x * x for x in d) / len(d)))
P
exits 0 python3 rms.py real_clean.nii.gz; below rms 2.5
# A request for Rician noise all the same gets a remark.
for filter in nlm tv; do
    exits 0 clvox filter $filter real.nii -o x.nii.gz --noise 5
    grep -q 'below 0' log/err && complain "$filter: a remark on signs that are kept"
    exits 0 clvox filter $filter real.nii -o x.nii.gz --noise 5 --noise-kind rician; says 'below 0: Rician noise has none'
done
rm -f x.nii.gz
exits 2 clvox filter dwi d_dwi.nii.gz -o x.nii --window 4; says 'odd'
exits 2 clvox filter dwi d_dwi.nii.gz; says '-o OUT is missing'
exits 1 clvox filter dwi t.nii.gz -o x.nii; one_sentence; says 't.nii.gz'
exits 1 clvox filter dwi d_dwi.nii.gz -o x.nii --mask k.nii; one_sentence; says 'k.nii'
printf '1 0 0 900\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt # beyond the scan, where there is nothing
exits 0 clvox apply -i d_dwi.nii.gz -r d_dwi.nii.gz -t far.txt -o zero.nii.gz -q
exits 1 clvox filter dwi zero.nii.gz -o x.nii; one_sentence; says 'zero.nii.gz: no voxel has a signal above 0'
absent x.nii

begin "misuse is answered by what is missing or does not belong"
exits 2 clvox filter; says 'missing'
exits 2 clvox filter gaussian; says 'missing'
exits 2 clvox filter gaussian t.nii.gz --sigma 1; says '-o OUT is missing'
exits 2 clvox filter gaussian t.nii.gz -o x.nii; says '--sigma is missing'
exits 2 clvox filter gaussian t.nii.gz -o x.nii --sigma -1; says 'negative'
exits 2 clvox filter gaussian t.nii.gz -o x.nii --sigma 1x2; says 'one width or three'
exits 2 clvox filter gaussian t.nii.gz -o x.nii --sigma 1cm; says 'not of the form'
exits 2 clvox filter gaussian t.nii.gz -o x.nii --sigma 1 --amount 1; says 'belongs to unsharp'
exits 2 clvox filter sobel t.nii.gz -o x.nii --sigma 1; says 'belongs to gaussian and unsharp'
exits 2 clvox filter blur t.nii.gz -o x.nii; says 'gaussian, sobel, unsharp'
exits 2 clvox filter sobel t.nii.gz k.nii -o x.nii; says 'not expected'
absent x.nii

begin "impossible requests are refused in one sentence"
exits 1 clvox filter gaussian labels.nii.gz -o x.nii --sigma 2mm; one_sentence; says 'labels are names'
exits 1 clvox filter sobel labels.nii.gz -o x.nii; one_sentence; says 'labels.nii.gz: labels are names'
for verb in n4 nlm tv median winsorize 'match -r t.nii.gz'; do
    exits 1 clvox filter $verb labels.nii.gz -o x.nii; one_sentence; says 'labels.nii.gz: labels are names'
done
exits 1 clvox filter gaussian nothing.nii -o x.nii --sigma 2mm; one_sentence; says 'nothing.nii'
exits 1 clvox filter gaussian t.nii.gz -o x.nii --sigma 1e6mm; one_sentence; says 'too wide'
exits 1 clvox filter gaussian t.nii.gz -o x.png --sigma 2mm; one_sentence; says 'x.png'
absent x.nii; absent x.png

begin "-q says nothing"
exits 0 clvox filter sobel t.nii.gz -o s.nii -q; silent; quiet

finish
