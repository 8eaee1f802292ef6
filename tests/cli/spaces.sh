#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a header says of space: the codes of sform and qform go with the grid through every verb, and contradictions
# are reported.
. "$(dirname "$0")/lib.sh"

cat > codes.py <<'P'
"""codes.py set FILE SFORM QFORM; codes.py are SFORM QFORM FILE..."""
import gzip, struct, sys
def opened(path, how):
    return (gzip.open if path.endswith("gz") else open)(path, how)
if sys.argv[1] == "set":
    path, sform, qform = sys.argv[2], *map(int, sys.argv[3:])
    head = bytearray(opened(path, "rb").read())
    struct.pack_into("<2h", head, 252, qform, sform)
    opened(path, "wb").write(head)
    sys.exit()
wanted, wrong = tuple(map(int, sys.argv[2:4])), 0
for path in sys.argv[4:]:
    qform, sform = struct.unpack_from("<2h", opened(path, "rb").read(352), 252)
    if (sform, qform) != wanted:
        print(f"{path}: sform {sform}, qform {qform}", file=sys.stderr)
        wrong = 1
sys.exit(wrong)
P
set_codes() { exits 0 python3 codes.py set "$@"; }
codes_are() { exits 0 python3 codes.py are "$@"; }

begin "codes of the grid stay: apply, compose, invert, jacobian, register"
exits 0 clvox phantom pair -o p --size 19x17x15 --spacing 3x2x2.5mm --direction oblique -q
set_codes p_fixed.nii.gz 4 2; set_codes p_moving.nii.gz 3 1; set_codes p_truth_warp.nii.gz 2 5
exits 0 clvox phantom ball --like p_fixed.nii.gz -o like.nii -q; codes_are 4 2 like.nii
exits 0 clvox apply -i p_moving.nii.gz -r p_fixed.nii.gz -t p_truth_warp.nii.gz -o a.nii.gz -q
exits 0 clvox apply -i p_moving_labels.nii.gz -r p_fixed.nii.gz -o b.nii -q; codes_are 4 2 a.nii.gz b.nii
exits 0 clvox compose -r p_fixed.nii.gz -t p_truth_warp.nii.gz -o c.nii.gz -q; codes_are 4 2 c.nii.gz
exits 0 clvox invert -t p_truth_warp.nii.gz -o i.nii.gz -q
exits 0 clvox jacobian -t p_truth_warp.nii.gz -o j.nii.gz -q; codes_are 2 5 i.nii.gz j.nii.gz
for model in greedy syn shooting; do
    exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o r --deform $model --inverse --linear rigid \
        --no-picture -q
    codes_are 4 2 r_warped.nii.gz r_warp.nii.gz r_inverse_warp.nii.gz; rm r_*
done
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o r --deform shooting --linear none --no-picture -q
exits 0 clvox shoot -p r_momentum.nii.gz -r p_fixed.nii.gz -o s -q; codes_are 4 2 r_momentum.nii.gz s_warp.nii.gz

begin "codes of the grid stay: filters"
for filter in "gaussian --sigma 2mm" sobel "unsharp --sigma 2mm" "median" "nlm" "tv" n4 winsorize \
    "match -r p_moving.nii.gz"; do
    name=${filter%% *}
    exits 0 clvox filter $filter p_fixed.nii.gz -o f_$name.nii.gz -q
done
codes_are 4 2 f_*.nii.gz

begin "codes of the grid stay: surfaces, tensors, series, stats, templates"
exits 0 clvox phantom surface:sphere -o b --size 23x21x19 -q
set_codes b_mask.nii.gz 4 2
exits 0 clvox surface distance b_mask.nii.gz --label 1 -o d.nii.gz -q
exits 0 clvox surface denoise b_mask.nii.gz -o sdf.nii.gz -q; codes_are 4 2 sdf.nii.gz
exits 0 clvox surface distance b_truth.surf.gii --grid b_mask.nii.gz -o e.nii.gz -q; codes_are 4 2 d.nii.gz e.nii.gz
exits 0 clvox phantom tensor:rings -o t --size 17x19x11 --spacing 3x3x4mm --directions 12 -q
set_codes t_dwi.nii.gz 4 2
exits 0 clvox tensor fit t_dwi.nii.gz --bval t.bval --bvec t.bvec -o m -q
exits 0 clvox tensor denoise m_tensor.nii.gz -o den.nii.gz --noise m_sigma.nii.gz -q
exits 0 clvox tensor all t_dwi.nii.gz --grad t.b --few --plain -o all -q
exits 0 clvox filter dwi t_dwi.nii.gz -o dwi.nii.gz --noise noise.nii.gz -q
exits 0 clvox series t_dwi.nii.gz --bval t.bval --bvec t.bvec -o s -q
codes_are 4 2 m_*.nii.gz all_*.nii.gz den.nii.gz dwi.nii.gz noise.nii.gz s_*.nii.gz
printf 'image\tage\n' > maps.tsv
for k in 1 2 3 4 5 6; do
    exits 0 clvox phantom textured --seed $k -o map$k.nii --size 7x6x5 -q; set_codes map$k.nii 4 2
    printf 'map%d.nii\t%d\n' $k $((k * k)) >> maps.tsv
done
exits 0 clvox stats --list maps.tsv --test age -o st -q; codes_are 4 2 st_*.nii.gz
for k in 1 2; do
    exits 0 clvox phantom textured --seed $k -o head$k.nii.gz --size 17x16x15 --spacing 4x4x4mm -q
    set_codes head$k.nii.gz 4 2
done
exits 0 clvox atlas -o tpl head1.nii.gz head2.nii.gz --template head1.nii.gz --rounds 1 --linear-rounds 1 --quick -q
for file in tpl/*.nii.gz; do codes_are 4 2 "$file"; done

begin "one form alone, or neither, stays so; what differs takes the place and code of the sform"
for codes in "4 0" "0 3" "0 0"; do
    exits 0 clvox phantom ball -o one.nii --size 7x8x9 --spacing 2x3x4mm -q
    python3 - <<'P'
import struct
head = bytearray(open("one.nii", "rb").read())
struct.pack_into("<3f", head, 268, 0, 0, 0) # the qform's offsets, and the sform's, as pixdim alone has them
for row in range(3):
    struct.pack_into("<f", head, 280 + 16 * row + 12, 0)
open("one.nii", "wb").write(head)
P
    set_codes one.nii $codes
    exits 0 clvox filter gaussian one.nii -o two.nii --sigma 2mm -q; codes_are $codes two.nii
    exits 0 clvox info one.nii -q --json log/one.json; exits 0 clvox info two.nii -q --json log/two.json
    python3 -c 'import json
a, b = (json.load(open("log/%s.json" % n))["files"][0]["grid"] for n in ("one", "two"))
assert a == b, (a, b)' || complain "$codes: another grid"
done
exits 0 clvox phantom ball -o one.nii --size 7x8x9 -q; set_codes one.nii 0 0 # which pixdim alone places elsewhere
exits 0 clvox apply -i p_moving.nii.gz -r p_moving.nii.gz -o m.nii -q; codes_are 3 1 m.nii
set_codes m.nii 4 1
printf '\0\0\240\102' | dd of=m.nii bs=1 seek=268 conv=notrunc 2> log/dd # 80 mm: the qform's offset along x
exits 0 clvox filter gaussian m.nii -o n.nii --sigma 2mm; says 'mm apart'; codes_are 4 4 n.nii

begin "pixdim that contradicts the sform, or is 0 or NaN, is reported"
exits 0 clvox phantom ball -o good.nii --size 7x8x9 --spacing 2x3x4mm -q
exits 0 clvox filter gaussian good.nii -o g.nii --sigma 2mm
! grep -q pixdim log/err || complain "a good header is blamed"
# with_pixdim X QFORM SFORM: along the first axis
with_pixdim() {
    python3 - "$@" <<'P'
import struct, sys
head = bytearray(open("good.nii", "rb").read())
struct.pack_into("<f", head, 80, float(sys.argv[1]))
struct.pack_into("<2h", head, 252, int(sys.argv[2]), int(sys.argv[3]))
open("odd.nii", "wb").write(head)
P
}
for qform in 0 1; do
    with_pixdim 5 $qform 1; exits 0 clvox filter gaussian odd.nii -o g.nii --sigma 2mm
    says 'odd.nii: its pixdim says voxels of 5 x 3 x 4 mm, and clvox goes by 2 x 3 x 4'
    for value in 0 nan; do
        with_pixdim $value $qform 1; exits 0 clvox filter gaussian odd.nii -o g.nii --sigma 2mm
        says "odd.nii: its pixdim says voxels of $value x 3 x 4 mm, and clvox goes by 2 x 3 x 4"
    done
    with_pixdim 0 $qform 0; exits 0 clvox filter gaussian odd.nii -o g.nii --sigma 2mm
    says "its pixdim says voxels of 0 x 3 x 4 mm, and clvox goes by 1 x 3 x 4"
done
exits 0 clvox info odd.nii; says "its pixdim says voxels of 0 x"
finish
