#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Label maps: told from images without being marked, kept by interpolation, refused by filters, and whole
# beyond the 24 bits of a float32.
. "$(dirname "$0")/lib.sh"
cat > make.py <<'P'
import math, random, struct, sys
# make.py FILE KIND TYPE: a NIfTI of 20^3 voxels.
file, kind, word = sys.argv[1:4]
code, bits, form = {"u8": (2, 8, "B"), "i16": (4, 16, "h"), "i32": (8, 32, "i"), "f32": (16, 32, "f"),
                    "f64": (64, 64, "d"), "u16": (512, 16, "H"), "u32": (768, 32, "I"), "i64": (1024, 64, "q")}[word]
n, rng, values = 20, random.Random(3), []
names = {"aseg": [0, 2, 3, 41, 42, 17, 53], "atlas": [0] + list(range(1, 120)), "hippocampus": [0, 1, 2],
         "allen": [0] + list(range(312782546, 312782571, 3)), "wide": [0, 1 << 24, (1 << 24) + 1, (1 << 31) - 1],
         "high": [0, 5, 3000000001], "many": [0] + [(1 << 24) + 1 + 2 * i for i in range(5000)], "mask": [0, 1]}.get(kind)
for z in range(n):
    for y in range(n):
        for x in range(n):
            r = math.dist((x, y, z), (9.3, 9.6, 9.9))
            if names:
                at = x // 8 if kind == "hippocampus" else (x // 5 + 4 * (y // 5) + 16 * (z // 5)) if kind == "atlas" else int(r * 0.9)
                at = len(values) if kind == "many" else at
                inside = r < 9 or kind == "many"
                v = names[1 + at % (len(names) - 1)] if inside else 0
            else: # a head of three tissues with noise: 8 bits of it, or 12
                top = 255 if kind == "t1_8" else 4095
                v = max(0, min(top, round(top * ((0.3, 0.55, 0.8)[min(2, int(r / 3))] + rng.gauss(0, 0.02))))) if r < 9 else 0
            values.append(v)
header = struct.pack("<i36x8h14xhhh8f", 348, 3, n, n, n, 1, 1, 1, 1, code, bits, 0, 1, 1, 1, 1, 0, 0, 0, 0)
header = header.ljust(108, b"\0") + struct.pack("<fff", 352, float(sys.argv[4]) if len(sys.argv) > 4 else 1, 0)
header = header.ljust(252, b"\0") + struct.pack("<hh", 0, 1)
header = header.ljust(280, b"\0") + struct.pack("<12f", 1, 0, 0, -9, 0, 1, 0, -9, 0, 0, 1, -9)
header = header.ljust(344, b"\0") + b"n+1\0" + bytes(4)
open(file, "wb").write(header + struct.pack("<%d%s" % (n ** 3, form), *values))
P
make() { python3 make.py "$@"; }
cat > shift.txt <<'M'
1 0 0 0.4
0 1 0 0.3
0 0 1 0.2
0 0 0 1
M
make aseg_numbers.nii aseg i16; mv aseg_numbers.nii brain.nii; make eight.nii atlas u8; make hip.nii hippocampus u8
make sub-01_dseg.nii hippocampus f32; make t1_8.nii t1_8 u8; make t1_12.nii t1_12 i16; make t1_seg_input.nii t1_12 u16
make mask.nii mask u8; make plain.nii hippocampus f32; make fs.nii aseg f64; make sub-01_probseg.nii mask f32

begin "clvox labels measures voxels, volume and centroid, by the names of a table"
exits 0 clvox labels hip.nii --json hip.json; quiet; prints '^label	voxels	mm3	x	y	z$'
[ "$(wc -l < log/out)" = 3 ] || complain "not two labels"
json hip.json 'sum(r["voxels"] for r in j["labels"]) == round(sum(r["mm3"] for r in j["labels"])) and [r["label"] for r in j["labels"]] == [1, 2]'
printf 'name,index\n"Hippocampus, left",2\r\nunused,77\n' > names.csv; printf 'label\tcolour\tname\n1\tred\ta\\tb\n' > names.tsv
exits 0 clvox labels hip.nii --names names.csv -o out.tsv; silent
grep -q '^2	Hippocampus, left	' out.tsv && grep -q '^1	n/a	' out.tsv || complain "names of a table with commas"
exits 0 clvox labels hip.nii --names names.tsv; prints '^1	a\\tb	'; prints '^2	n/a	'
make high_labels.nii high i64; exits 0 clvox labels high_labels.nii; prints '^3000000001	'; mv high_labels.nii high.nii
exits 1 clvox labels high.nii; silent; one_sentence; says 'high.nii: .* rename it, as x_labels.nii.gz'
printf '1 0 0 900\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt
exits 0 clvox phantom ball -o b.nii --size 5x5x5 --labels zero.nii --affine far.txt -q
exits 0 clvox labels zero.nii; says 'zero.nii: has no label'; [ "$(wc -l < log/out)" = 1 ] || complain "rows of an empty map"
exits 0 clvox phantom tensor:steps -o t --size 5x5x5 -q
exits 1 clvox labels t_dwi.nii.gz -o x.tsv; one_sentence; says 't_dwi.nii.gz: a label map has one value per voxel'; absent x.tsv
exits 0 clvox phantom textured -o image.nii --size 9x9x9 -q
exits 1 clvox labels image.nii -o x.tsv; one_sentence; says 'image.nii: the value .* is no label'; absent x.tsv
printf 'label\tcolour\n1\tred\n' > bad.tsv
exits 1 clvox labels hip.nii --names bad.tsv -o x.tsv; one_sentence; says 'bad.tsv, line 2: there is no label and name'; absent x.tsv
printf 'label\tname\none\tred\n' > bad.tsv
exits 1 clvox labels hip.nii --names bad.tsv -o x.tsv; one_sentence; says 'one is no label'; absent x.tsv

begin "label maps are told from images by their values, FreeSurfer's table and their names"
for f in brain eight hip sub-01_dseg fs; do
    exits 0 clvox info $f.nii; prints 'labels       looks like them'
    exits 1 clvox filter gaussian $f.nii --sigma 1mm -o x.nii; one_sentence; says 'looks like a label map'; absent x.nii
    exits 1 clvox filter unsharp $f.nii --sigma 1mm -o x.nii; says 'looks like a label map'; absent x.nii
done
exits 0 clvox info brain.nii fs.nii; prints "numbers of FreeSurfer's table"
exits 0 clvox info sub-01_dseg.nii; prints 'its name, and whole numbers'
for f in t1_8 t1_12 t1_seg_input plain sub-01_probseg; do
    exits 0 clvox info $f.nii
    grep -q 'looks like them' log/out && complain "$f is taken for labels"
    exits 0 clvox filter gaussian $f.nii --sigma 1mm -o smooth.nii -q
done
exits 0 clvox info mask.nii; prints 'a mask: one value'; exits 0 clvox filter gaussian mask.nii --sigma 1mm -o smooth.nii -q

begin "--interp auto keeps labels and says so; linear takes them for an image; images stay linear"
for f in brain eight hip sub-01_dseg mask; do
    exits 0 clvox apply -i $f.nii -r $f.nii -t shift.txt -o auto.nii --json log/a.json; says "$f.nii: treated as a label map"
    json log/a.json '"taken_for_labels" in j'
    exits 0 clvox apply -i $f.nii -r $f.nii -t shift.txt --interp label -o label.nii; quiet
    cmp -s auto.nii label.nii || complain "auto is not label for $f"
    exits 0 clvox apply -i $f.nii -r $f.nii -t shift.txt --interp linear -o linear.nii; quiet
    [ $f = mask ] || ! cmp -s linear.nii label.nii || complain "linear is label for $f"
done
for f in t1_8 t1_12 t1_seg_input; do
    exits 0 clvox apply -i $f.nii -r $f.nii -t shift.txt -o auto.nii; quiet
    exits 0 clvox apply -i $f.nii -r $f.nii -t shift.txt --interp linear -o linear.nii
    cmp -s auto.nii linear.nii || complain "auto is not linear for $f"
done

begin "labels beyond 2^24 are read, carried, compared, meshed and written whole"
for word in i32 u32 i64 f64; do
    make big_labels.nii allen $word
    exits 0 clvox info big_labels.nii; prints 'largest 312782570'
    exits 0 clvox apply -i big_labels.nii -r big_labels.nii -o same.nii -q; exits 0 clvox info same.nii
    tail -c +353 big_labels.nii > a.raw; tail -c +353 same.nii | cmp -s - a.raw || complain "apply changed labels ($word)"
    exits 0 clvox compare --labels big_labels.nii same.nii --json log/c.json; prints '312782549 .* 1.00000'
    json log/c.json '[r["label"] for r in j["comparison"]["labels"]] == list(range(312782546, 312782571, 3))'
done
make wide_labels.nii wide i32; sed 's/0\.4$/4.4/' shift.txt > far.txt
exits 0 clvox apply -i wide_labels.nii -r wide_labels.nii -t far.txt --outside 7 -o moved.nii -q
python3 - <<'P' || complain "labels appeared or went"
import struct, sys
b = open("moved.nii", "rb").read()[352:]
sys.exit(set(struct.unpack("<%di" % (len(b) // 4), b)) != {0, 7, 1 << 24, (1 << 24) + 1, (1 << 31) - 1})
P
exits 1 clvox apply -i wide_labels.nii -r wide_labels.nii --interp linear -o x.nii; says 'labels are names'; absent x.nii
exits 0 clvox surface mesh big_labels.nii --label 312782549 -o mesh.ply; exists mesh.ply
exits 1 clvox surface mesh big_labels.nii --label 312782550 -o x.ply; says 'none of its voxels'
exits 0 clvox surface distance big_labels.nii --label 312782549 -o d.nii
exits 0 clvox register -f t1_12.nii -m t1_12.nii --labels big_labels.nii -o r --linear none --deform none --no-picture -q
exits 0 clvox compare --labels big_labels.nii r_labels.nii.gz; prints '312782570 .* 1.00000'

begin "labels that would be taken for one another are not compared"
make high_labels.nii high u32
exits 1 clvox compare --labels high_labels.nii high_labels.nii; one_sentence; says 'a label 3000000001; labels are compared up to 2147483647'
make many_labels.nii many i32
exits 1 clvox compare --labels many_labels.nii many_labels.nii; one_sentence; says 'too many labels beyond 16777216'

begin "info says how values are stored beside what scaling makes of them"
make scaled.nii t1_12 i16 0.5
exits 0 clvox info scaled.nii --json log/i.json; prints 'int16 stored, float32 after scaling, scalar'
json log/i.json 'j["files"][0]["stored_type"] == "int16" and j["files"][0]["type"] == "float32"'
exits 0 clvox info t1_12.nii; prints 'type         int16, scalar'
finish
