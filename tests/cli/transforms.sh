#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# apply, compose, invert and jacobian on phantoms with known answers, on the default device.
. "$(dirname "$0")/lib.sh"

cat > turn.txt <<'M'
0.98 -0.15 0.02 1.5
0.14 1.01 0.05 -2
-0.03 0.04 1.03 0.5
0 0 0 1
M
# 20 mm along R, 10 along A, 30 along S
cat > shift.txt <<'M'
1 0 0 20
0 1 0 10
0 0 1 30
0 0 0 1
M
size="--size 33x29x31 --spacing 1x1.2x1.1mm"

begin "the truth of a pair makes the moving image into the fixed one"
exits 0 clvox phantom pair -o p $size --direction oblique --affine turn.txt --seed 4
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t p_truth_warp.nii.gz -t p_truth_affine.txt -o warped.nii.gz
silent; exists warped.nii.gz
exits 0 clvox compare p_fixed.nii.gz p_moving.nii.gz; start=$(value RMS)
exits 0 clvox compare p_fixed.nii.gz warped.nii.gz; below RMS "$(awk -v s="$start" 'BEGIN { print 0.2 * s }')"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t p_truth_warp.nii.gz -t p_truth_affine.txt \
    --interp cubic -o cubic.nii.gz
exits 0 clvox compare p_fixed.nii.gz cubic.nii.gz; below RMS "$(awk -v s="$start" 'BEGIN { print 0.1 * s }')"

begin "labels stay labels and land where they belong"
exits 0 clvox apply -i p_moving_labels.nii.gz -r p_fixed.nii.gz -t p_truth_warp.nii.gz -t p_truth_affine.txt -o l.nii.gz
exits 0 clvox info l.nii.gz; prints 'uint8, label'; prints 'largest 4,'
exits 0 clvox compare --labels l.nii.gz p_fixed_labels.nii.gz --json log/l.json
json log/l.json 'j["comparison"]["mean_dice"] > 0.91 and j["comparison"]["mean_hausdorff95_mm"] < 1.3'
prints 'target_overlap'
json log/l.json 'abs(j["comparison"]["mean_target_overlap"] - sum(r["target_overlap"] for r in j["comparison"]["labels"]) / 4) < 1e-9'
json log/l.json 'all(r["target_overlap"] > .8 for r in j["comparison"]["labels"])'

begin "--warp-type rounded says how much it rounds, and makes smaller files"
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -o long.nii.gz; silent
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -o short.nii.gz --warp-type rounded --json log/s.json
prints '^rounding of the warp  *up to 0.006'; json log/s.json '.005 < j["warp_rounding_mm"] < .0068'
exits 0 clvox compare long.nii.gz short.nii.gz; below max_mm 0.0068
[ "$(wc -c < short.nii.gz)" -lt "$(($(wc -c < long.nii.gz) * 2 / 3))" ] || complain "it is hardly smaller"
exits 0 clvox invert -t long.nii.gz -o a.nii.gz -q
exits 0 clvox invert -t long.nii.gz -o b.nii.gz --warp-type rounded; prints '^largest_error_voxels'; prints '^rounding of the warp'
exits 0 clvox compare a.nii.gz b.nii.gz; below max_mm 0.0068
exits 1 clvox invert -t turn.txt -o x.txt --warp-type rounded; one_sentence; says 'turn.txt: is an affine'
exits 2 clvox compose -t turn.txt -o x.mat --warp-type rounded; says "ITK's form"
exits 2 clvox compose -r p_fixed.nii.gz -t turn.txt -o x.nii.gz --format mrtrix --warp-type rounded; says "ITK's form"
absent x.nii.gz; absent x.txt; absent x.mat

begin "the order of the chain and ,-1"
exits 0 clvox apply -i p_fixed.nii.gz -r p_moving.nii.gz -t turn.txt,-1 -t p_truth_inverse_warp.nii.gz -o back.nii.gz
exits 0 clvox compare p_moving.nii.gz back.nii.gz; below RMS "$(awk -v s="$start" 'BEGIN { print 0.25 * s }')"
exits 0 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -t turn.txt -t turn.txt,-1 -o same.nii.gz
exits 0 clvox compare p_fixed.nii.gz same.nii.gz; below RMS 0.05
exits 0 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -o same.nii.gz
exits 0 clvox compare p_fixed.nii.gz same.nii.gz; near SSD 0 0

begin "--pair finds the chain of a registration, and its inverse"
cp p_truth_warp.nii.gz q_warp.nii.gz; cp p_truth_affine.txt q_affine.txt
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair q -o found.nii.gz; quiet; cmp -s found.nii.gz warped.nii.gz || complain "another result"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair q_ -o found.nii.gz; cmp -s found.nii.gz warped.nii.gz || complain "another result"
exits 0 clvox apply -i p_fixed.nii.gz -r p_moving.nii.gz --pair q --inverse -o found.nii.gz
exits 0 clvox compare p_moving.nii.gz found.nii.gz; below RMS "$(awk -v s="$start" 'BEGIN { print 0.25 * s }')"
cp p_truth_inverse_warp.nii.gz q_inverse_warp.nii.gz
exits 0 clvox apply -i p_fixed.nii.gz -r p_moving.nii.gz --pair q --inverse -o found.nii.gz
exits 0 clvox compare found.nii.gz back.nii.gz; near SSD 0 1e-3
exits 0 clvox compose -t q_affine.txt -o m_affine.mat
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair m -o affine.nii.gz
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t q_affine.txt -o same.nii.gz; cmp -s affine.nii.gz same.nii.gz || complain "another affine"
mkdir folder; cp q_affine.txt folder/register_affine.txt
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair folder -o affine.nii.gz; cmp -s affine.nii.gz same.nii.gz || complain "another affine"
exits 1 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair gone -o x.nii; one_sentence; says 'gone_affine.txt: there is no such file; --pair'
cp q_affine.txt m_affine.txt
exits 1 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair m -o x.nii; one_sentence; says 'needs one of them'; absent x.nii
exits 1 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair q -o q_warp.nii.gz; one_sentence; says 'would be overwritten'
exits 2 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz --pair q -t turn.txt -o x.nii; says 'one of them'
printf 'x,y,z\n1,2,3\n' > one.csv
exits 0 clvox apply --points one.csv --pair q -o there.csv; exits 0 clvox apply --points one.csv -t q_warp.nii.gz -t q_affine.txt -o same.csv
cmp -s there.csv same.csv || complain "points go elsewhere"

begin "a warp and an affine in the wrong order are known by their grids"
exits 0 clvox phantom textured -o small.nii --size 21x19x17 --spacing 2mm
chain="clvox apply -i small.nii -r p_fixed.nii.gz -o x.nii -t"
exits 0 $chain q_warp.nii.gz -t q_affine.txt; quiet
exits 0 $chain q_affine.txt -t q_warp.nii.gz --json order.json; one_sentence; says 'q_warp.nii.gz lies on the grid of p_fixed.nii.gz: it seems to belong first'
json order.json '"belong first" in j["remarks"][0]'
chain="clvox apply -i p_fixed.nii.gz -r small.nii -o x.nii -t"
exits 0 $chain q_affine.txt,-1 -t q_inverse_warp.nii.gz; quiet
exits 0 $chain q_inverse_warp.nii.gz -t q_affine.txt,-1; one_sentence; says 'it seems to belong last'
exits 0 $chain q_warp.nii.gz -t q_affine.txt; one_sentence; says 'pair PREFIX --inverse'
chain="clvox apply --forward -i small.nii -r p_fixed.nii.gz -o x.nii -t"
exits 0 $chain q_affine.txt,-1 -t q_inverse_warp.nii.gz; quiet
exits 0 $chain q_inverse_warp.nii.gz -t q_affine.txt,-1; one_sentence; says 'lies on the grid of p_fixed.nii.gz: it seems to belong last'
rm x.nii

begin "--frame takes one volume of a series"
exits 0 clvox phantom tensor:steps -o f --size 9x8x7 --directions 6 --snr 0
exits 0 clvox apply -i f_dwi.nii.gz -r f_dwi.nii.gz --frame 3 -o one.nii.gz; quiet
exits 0 clvox info one.nii.gz; prints '9 x 8 x 7'
python3 - <<'P' || complain "not the fourth volume"
import gzip
a, b = (gzip.open(f).read()[352:] for f in ("f_dwi.nii.gz", "one.nii.gz"))
n = 9 * 8 * 7 * 4
assert len(b) == n and a[3 * n:4 * n] == b and a[:n] != b
P
exits 1 clvox apply -i f_dwi.nii.gz -r f_dwi.nii.gz --frame 7 -o x.nii; one_sentence; says 'f_dwi.nii.gz: there is no frame 7: it has 7, counted from 0'
exits 1 clvox apply -i q_warp.nii.gz -r q_warp.nii.gz --frame 0 -o x.nii; one_sentence; says 'components'; absent x.nii
exits 2 clvox apply --list t.tsv --frame 0; says 'leave out --list'

begin "--forward carries the fixed image to the moving one without an inverse"
exits 0 clvox apply --forward -i p_fixed.nii.gz -r p_moving.nii.gz -t p_truth_warp.nii.gz -t turn.txt -o carried.nii.gz
exits 0 clvox compare p_moving.nii.gz carried.nii.gz; below RMS "$(awk -v s="$start" 'BEGIN { print 0.35 * s }')"
exits 0 clvox apply --forward -i p_fixed_labels.nii.gz -r p_moving.nii.gz -t p_truth_warp.nii.gz -t turn.txt -o carried_labels.nii.gz
exits 0 clvox compare --labels carried_labels.nii.gz p_moving_labels.nii.gz --json log/v.json
json log/v.json 'j["comparison"]["mean_dice"] > .9'
exits 0 clvox info carried_labels.nii.gz; prints 'label'
exits 1 clvox apply --forward --mass -i p_fixed_labels.nii.gz -r p_moving.nii.gz -t turn.txt -o x.nii
one_sentence; says 'labels are names'; absent x.nii
exits 2 clvox apply -i p_fixed.nii.gz -r p_moving.nii.gz --mass -o x.nii; says 'belongs to --forward'
exits 2 clvox apply --forward --interp cubic -i p_fixed.nii.gz -r p_moving.nii.gz -o x.nii; says 'takes none of'

begin "--output-type decides what images are written as, not labels"
for row in 'uchar uint8' 'short int16' 'ushort uint16' 'int int32' 'float float32' 'double float64'; do
    exits 0 clvox apply -i p_moving.nii.gz -r p_moving.nii.gz --output-type ${row% *} -o typed.nii
    exits 0 clvox info typed.nii; prints "${row#* }"
    exits 0 clvox compare p_moving.nii.gz typed.nii; below RMS 0.5
done
exits 0 clvox apply -i typed.nii -r typed.nii --output-type short -o short.nii # beyond whole numbers: by a slope
exits 0 clvox apply -i short.nii -r short.nii --output-type input -o again.nii; exits 0 clvox info again.nii; prints 'int16 stored'
exits 0 clvox apply -i short.nii -r short.nii -o again.nii; exits 0 clvox info again.nii; prints 'float32'
exits 0 clvox apply -i p_moving_labels.nii.gz -r p_moving.nii.gz --output-type int -o l.nii; exits 0 clvox info l.nii
prints 'uint8, label'
exits 2 clvox apply -i k.nii -r k.nii --output-type char -o x.nii; says 'auto|input|float'

begin "nearest, and what lies outside"
exits 0 clvox phantom constant -o k.nii $size
exits 0 clvox apply -i k.nii -r k.nii -t shift.txt --interp nearest --outside -7 -o moved.nii
exits 0 clvox info moved.nii; prints 'smallest -7, largest 100'
exits 2 clvox apply -i k.nii -r k.nii --interp spline -o x.nii; says 'auto|linear'

begin "a chain composed does what the chain does"
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -t p_truth_affine.txt -o both.nii.gz
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t both.nii.gz -o by_both.nii.gz
exits 0 clvox compare warped.nii.gz by_both.nii.gz; below RMS 0.05
exits 0 clvox compose -r p_fixed.nii.gz -t turn.txt -t turn.txt,-1 -o none.nii.gz
exits 0 clvox info none.nii.gz --json log/none.json
json log/none.json 'j["files"][0]["largest_displacement_mm"] < 1e-4'

begin "a chain in the forms of MRtrix and FSL"
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -t p_truth_affine.txt --format mrtrix -o m.nii.gz
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t m.nii.gz -o by_m.nii.gz
exits 0 clvox compare by_both.nii.gz by_m.nii.gz; below RMS 0.01
exits 0 clvox compose -r p_fixed.nii.gz -t both.nii.gz --format fsl --moving p_moving.nii.gz -o f.nii.gz
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t f.nii.gz -o by_f.nii.gz
exits 0 clvox compare by_both.nii.gz by_f.nii.gz; below RMS 0.01
exits 1 clvox invert -t f.nii.gz -o x.nii.gz; says 'FSL FNIRT warp'; one_sentence; absent x.nii.gz
exits 2 clvox compose -r p_fixed.nii.gz -t both.nii.gz --format fsl -o x.nii.gz; says '--moving FILE'
exits 0 clvox compose -r p_fixed.nii.gz -t f.nii.gz --moving p_moving.nii.gz -o back.nii.gz
exits 0 clvox compare both.nii.gz back.nii.gz

begin "a chain as ITK's composite, read as the chain, inverted with its inverse"
if clvox compose -t p_truth_warp.nii.gz -t p_truth_affine.txt -o chain.h5 2> log/err; then
    exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t chain.h5 -o by_chain.nii.gz
    exits 0 clvox compare by_both.nii.gz by_chain.nii.gz; below RMS 0.05
    exits 0 clvox info chain.h5; prints 'part 2 of 2'; prints 'affine, fixed to moving'
    exits 0 clvox compose -r p_fixed.nii.gz -t chain.h5 -t chain.h5,-1 -o none.nii.gz
    exits 0 clvox info none.nii.gz --json log/none.json
    json log/none.json 'j["files"][0]["mean_displacement_mm"] < 0.05'
    exits 1 clvox invert -t chain.h5 -o x.nii.gz; says 'holds 2 transforms'; one_sentence; absent x.nii.gz
    exits 0 clvox compose -t chain.h5,-1 -o back.h5
    exits 0 clvox compose -r p_fixed.nii.gz -t identity -t chain.h5 -t back.h5 -o none.nii.gz
    exits 0 clvox info none.nii.gz --json log/none.json
    json log/none.json 'j["files"][0]["mean_displacement_mm"] < 0.05'
    exits 0 clvox apply -i p_moving.nii.gz -r p_moving.nii.gz -t identity -o same.nii.gz
    exits 0 clvox compare p_moving.nii.gz same.nii.gz; below largest_difference 1e-6
    exits 2 clvox compose -t shift.txt --format mrtrix -o x.h5; says format
else
    says libhdf5-dev
fi

begin "a chain of affines composed to one, in each form"
exits 0 clvox compose -t shift.txt -t shift.txt -o twice.mat
exits 0 clvox info twice.mat; prints 'translation  40.0000 20.0000 60.0000 mm'
exits 0 clvox compose -t shift.txt -t turn.txt -t turn.txt,-1 --format mrtrix -o rows.txt
exits 0 clvox info rows.txt; prints 'translation  20.0000 10.0000 30.0000 mm'
exits 0 clvox compose -r p_fixed.nii.gz -t turn.txt,-1 -t turn.txt --format fsl --moving p_fixed.nii.gz -o flirt.mat
exits 0 clvox info flirt.mat; prints 'determinant  1.000000'
exits 2 clvox compose -t shift.txt --format fsl --moving p_fixed.nii.gz -o x.mat; says '-r REFERENCE'
exits 1 clvox compose -t shift.txt -t both.nii.gz -o x.txt; says 'transform 2 is a warp'; absent x.txt

begin "the inverse of a warp, and of an affine"
exits 0 clvox invert -t p_truth_warp.nii.gz -o inverse.nii.gz
below largest_error_voxels 0.05; below mean_error_voxels 0.01
exits 0 clvox compare inverse.nii.gz p_truth_inverse_warp.nii.gz; below mean_voxels 0.02; below max_voxels 0.3
exits 0 clvox invert -t shift.txt -o back.txt
exits 0 clvox info back.txt; prints 'translation  -20.0000 -10.0000 -30.0000 mm'

begin "Jacobians: identity, a known warp, the logarithm"
exits 0 clvox phantom warp -o still.nii.gz $size --amplitude 0
exits 0 clvox jacobian -t still.nii.gz -o one.nii.gz
near smallest 1 1e-6; near largest 1 1e-6; near folded 0 0; near mean_log 0 1e-6
exits 0 clvox info one.nii.gz; prints 'smallest 1, largest 1'
exits 0 clvox jacobian -t p_truth_warp.nii.gz --log -o log.nii.gz --json log/j.json --mask p_fixed_labels.nii.gz
near folded 0 0; json log/j.json '0 < j["jacobian"]["smallest"] < 1 < j["jacobian"]["largest"]'
exits 0 clvox jacobian -t p_truth_warp.nii.gz; near folded 0 0
exits 1 clvox jacobian -t turn.txt; one_sentence; says 'affine'

# slope OUT NUMBER-IN-OCTAL: the truth's warp with its vectors so many times longer, which scl_slope does
slope() { cp truth.nii "$1"; printf "$2" | dd of="$1" bs=1 seek=112 conv=notrunc 2> log/dd; }
begin "folds and ways out of the grid are reported, and have no inverse"
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -o truth.nii
slope folded.nii '\000\000\100\100' # 3
slope far.nii '\000\044\164\111'    # 1e6
exits 0 clvox jacobian -t folded.nii --log -o log.nii; says 'WARNING: .* voxels are folded'
[ "$(sed -n 's/.*WARNING: \([0-9]*\) voxels.*/\1/p' log/err)" -ge "$(value folded)" ] || complain "too few folds are reported"
[ "$(value folded)" -gt 0 ] || complain "there is no fold"
exits 0 clvox jacobian -t folded.nii; says "WARNING: $(value folded) voxels are folded.*also in mean_log and sd_log"
exits 0 clvox jacobian -t p_truth_warp.nii.gz --log -o log.nii -q; quiet
exits 0 clvox invert -t folded.nii -o x.nii; says 'folds at [0-9]* of [0-9]* voxels'; exists x.nii; rm x.nii
exits 1 clvox invert -t far.nii -o x.nii; one_sentence; says 'far.nii.*no inverse'; absent x.nii
exits 0 clvox invert -t p_truth_warp.nii.gz -o x.nii -q; quiet
rm x.nii
for word in folded.nii,-1 [folded.nii,1]; do
    exits 0 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -t $word -o x.nii -q; says 'folded.nii folds at [0-9]* of'; exists x.nii
done
exits 0 clvox compose -r p_fixed.nii.gz -t folded.nii,-1 -o x.nii -q; says 'folded.nii folds at'; rm x.nii
exits 0 clvox jacobian -t folded.nii,-1; says 'folded.nii folds at'
exits 0 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -t p_truth_warp.nii.gz,-1 -o x.nii -q; quiet; rm x.nii
exits 1 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -t far.nii,-1 -o x.nii; one_sentence; says 'far.nii: the warp has no inverse'
exits 1 clvox compose -r p_fixed.nii.gz -t far.nii,-1 -o x.nii; one_sentence; says 'far.nii: the warp has no inverse'; absent x.nii
# Points in the middle, some where the warp folds; none has a place where it leads out of everything
python3 - > middle.csv <<'P'
print("x,y,z")
for i in range(-9, 10):
    for j in range(-9, 10):
        for k in range(-9, 10):
            print(i, j, k, sep=",")
P
exits 0 clvox apply --points middle.csv -t folded.nii,-1 -o m.csv -q; says 'folded.nii has no inverse at [0-9]* of 6859 points'
exits 0 clvox apply --points middle.csv -t p_truth_warp.nii.gz,-1 -o m.csv -q; quiet
rm m.csv; exits 1 clvox apply --points middle.csv -t far.nii,-1 -o m.csv; one_sentence; says 'no inverse at any'; absent m.csv

begin "points move by the transform itself, in LPS, and keep their columns"
printf 'x,y,z,t,label,comment\r\n1,2,3,0,7,a point\r\n-4.5, 0 ,1e1,0,8,\n\n' > points.csv
exits 0 clvox apply --points points.csv -t shift.txt -o moved.csv
exits 0 cat moved.csv
prints '^x,y,z,t,label,comment$'; prints '^-19,-8,33,0,7,a point$'; prints '^-24.5,-10,40,0,8,$'
exits 0 clvox apply --points moved.csv -t shift.txt,-1 -o again.csv
# The same points in RAS: x and y change their sign on both sides.
awk -F, 'NR > 1 && NF > 2 { $1 = -$1; $2 = -$2 } 1' OFS=, moved.csv > want_ras.csv
awk -F, 'NR > 1 && NF > 2 { $1 = -$1; $2 = -$2 } 1' OFS=, points.csv > ras.csv
exits 0 clvox apply --points ras.csv --frames ras -t shift.txt -o moved_ras.csv
paste -d, want_ras.csv moved_ras.csv | tr -d '\r' | awk -F, 'NR > 1 && ($1 - $7) ^ 2 + ($2 - $8) ^ 2 + ($3 - $9) ^ 2 > 1e-10 { bad = 1 }
    END { exit bad || NR < 3 }' || complain "other points with --frames ras: $(cat moved_ras.csv)"
exits 2 clvox apply -i a.nii -r a.nii -o x.nii --frames ras; says 'belongs to --points'
exits 0 cat again.csv; prints '^1,2,3,0,7,a point$'
printf '1,2,3\n' > bad.csv
exits 1 clvox apply --points bad.csv -o x.csv; one_sentence; says 'x,y,z'; absent x.csv
printf 'x,y,z\n1,2\n' > bad.csv
exits 1 clvox apply --points bad.csv -o x.csv; one_sentence; says 'line 2'
: > bad.csv
exits 1 clvox apply --points bad.csv -o x.csv; one_sentence; says 'empty'

# vertices MESH: one a line; same A B TOLERANCE: the numbers of two files of a point a line
vertices() { awk '$1 == "v" { print $2, $3, $4 }' "$1"; }
same() {
    paste -d' ' "$1" "$2" | tr , ' ' | awk -v t="$3" '{ for (a = 1; a < 4; a++) if (!($a - $(a + 3) <= t && $(a + 3) - $a <= t)) bad = 1 }
        END { exit bad || NR != 4 }' || complain "$1 and $2 differ: $(paste "$1" "$2")"
}
begin "a mesh's vertices move as points do, in the file's frame, and keep their triangles"
printf 'v 1 2 3\nv 8 -3 2\nv -2 7 1\nv -1 -4 9\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n' > four.obj
vertices four.obj > four.txt
exits 0 clvox apply --surface four.obj -t shift.txt -o moved.obj --json log/s.json; says 'moved 4 vertices'
json log/s.json 'j["vertices"] == 4 and j["outputs"] == ["moved.obj"]'
vertices moved.obj > moved.txt; awk '{ print $1 + 20, $2 + 10, $3 + 30 }' four.txt > want.txt; same moved.txt want.txt 0
grep ^f moved.obj > faces.txt; grep ^f four.obj | cmp -s - faces.txt || complain "other triangles"
exits 0 clvox apply --surface four.obj -t shift.txt --frames lps -o moved.obj
vertices moved.obj > moved.txt; awk '{ print $1 - 20, $2 - 10, $3 + 30 }' four.txt > want.txt; same moved.txt want.txt 0
# GIFTI states its frame: lps holds for the other of two files alone
exits 0 clvox apply --surface four.obj --frames lps -o four.surf.gii
exits 0 clvox apply --surface four.surf.gii -t shift.txt --frames lps -o moved.surf.gii
exits 0 clvox apply --surface moved.surf.gii --frames ras -o moved.obj
vertices moved.obj > moved.txt; awk '{ print -$1 + 20, -$2 + 10, $3 + 30 }' four.txt > want.txt; same moved.txt want.txt 1e-5
# A chain with a warp: as points; and back
(echo x,y,z; tr ' ' , < four.txt) > four.csv
exits 0 clvox apply --points four.csv --frames ras -t p_truth_warp.nii.gz -t turn.txt -o want.csv
exits 0 clvox apply --surface four.obj -t p_truth_warp.nii.gz -t turn.txt -o moved.obj
sed 1d want.csv > want.txt; vertices moved.obj > moved.txt; same moved.txt want.txt 1e-4
! paste -d' ' four.txt moved.txt | awk '($1 - $4) ^ 2 + ($2 - $5) ^ 2 > .01 { moved = 1 } END { exit moved }' || complain "nothing moved"
exits 0 clvox apply --surface moved.obj -t turn.txt,-1 -t p_truth_warp.nii.gz,-1 -o back.obj -q; quiet
vertices back.obj > back.txt; same back.txt four.txt 1e-3
# A mirror turns triangles, so that outward stays outward
printf -- '-1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > mirror.txt
exits 0 clvox info four.obj; volume=$(value volume)
exits 0 clvox apply --surface four.obj -t mirror.txt -o mirrored.obj
exits 0 clvox info mirrored.obj; near volume "$volume" 1e-3
exits 1 clvox apply --surface four.obj -t shift.txt -o x.csv; one_sentence; says 'no surface format'; absent x.csv
exits 1 clvox apply --surface points.csv -t shift.txt -o x.obj; one_sentence; says 'points.csv: is no surface'; absent x.obj
exits 1 clvox apply --surface four.obj -t far.nii,-1 -o x.obj; one_sentence; says 'no inverse at any of the vertices'; absent x.obj
exits 2 clvox apply --surface four.obj --points four.csv -o x.obj; says 'separate runs'
exits 2 clvox apply --surface four.obj -r p_fixed.nii.gz -o x.obj; says 'neither -i nor -r'

begin "curves move as a mesh does, and stay the lines that they were"
(printf '# vtk DataFile Version 3.0\nc\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n'; cat four.txt; printf 'LINES 2 7\n3 0 1 2\n2 3 0\n') > four.vtk
curves() { # POINTS and LINES of a binary file as text
    python3 -c 'import struct, sys; b = open(sys.argv[1], "rb").read(); at = b.index(b"float\n") + 6
for i in range(4): print("%.6g %.6g %.6g" % struct.unpack_from(">3f", b, at + 12 * i))
at = b.index(b"LINES 2 7\n") + 10; print(*struct.unpack_from(">7i", b, at), file=sys.stderr)' "$1" > moved.txt 2> lines.txt
    [ "$(cat lines.txt)" = '3 0 1 2 2 3 0' ] || complain "other lines: $(cat lines.txt)"
}
exits 0 clvox apply --curves four.vtk -t shift.txt -o moved.vtk --json log/s.json; says 'moved 4 vertices'
json log/s.json 'j["vertices"] == 4 and j["outputs"] == ["moved.vtk"]'
curves moved.vtk; awk '{ print $1 + 20, $2 + 10, $3 + 30 }' four.txt > want.txt; same moved.txt want.txt 1e-5
exits 0 clvox apply --curves four.vtk -t shift.txt --frames lps -o moved.vtk
curves moved.vtk; awk '{ print $1 - 20, $2 - 10, $3 + 30 }' four.txt > want.txt; same moved.txt want.txt 1e-5
exits 1 clvox apply --curves four.obj -t shift.txt -o x.vtk; one_sentence; says 'four.obj: holds no curves'; absent x.vtk
exits 1 clvox apply --curves four.vtk -t shift.txt -o x.obj; one_sentence; says 'x.obj: curves are written as VTK'; absent x.obj
exits 2 clvox apply --curves four.vtk --surface four.obj -o x.vtk; says 'separate runs'

begin "--profile lists kernels, -q says nothing"
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t turn.txt -o x.nii --profile --json log/p.json
says 'warp'; says 'GB/s'; says 'copy bandwidth'
json log/p.json 'any(k["kernel"].startswith("warp") and k["calls"] > 0 for k in j["profile"]["kernels"])'
json log/p.json 'j["device"]["name"] != "" and j["profile"]["copy_bytes_per_second"] > 0'
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t turn.txt -o x.nii -q; silent; quiet

finish
