#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# info, phantom and compare on phantoms with known answers. Needs no device.
. "$(dirname "$0")/lib.sh"

begin "info of an oblique, anisotropic volume"
exits 0 clvox phantom ball -o ball.nii.gz --size 21x17x9 --spacing 1x1.5x2mm --direction oblique
exits 0 clvox info ball.nii.gz --json log/info.json; quiet
prints '21 x 17 x 9 voxels'; prints '1 x 1.5 x 2 mm'; prints 'RAS, oblique by 25.1 degrees'
prints 'float32, scalar'; prints 'smallest 0, largest 100'
json log/info.json 'j["files"][0]["grid"]["size"] == [21, 17, 9] and j["files"][0]["nan"] == 0'
json log/info.json 'j["verb"] == "info" and len(j["inputs"][0]["crc32"]) == 8 and j["inputs"][0]["bytes"] > 99'

begin "info of several files, label maps and warps among them"
exits 0 clvox phantom shells -o s.nii --size 20x20x20 --labels l.nii
exits 0 clvox phantom warp -o w.nii.gz --size 20x20x20 --amplitude 1 --inverse wi.nii.gz
exits 0 clvox info s.nii l.nii w.nii.gz
prints '^l.nii'; prints 'uint8, label'; prints 'displacement, 3 frames'; prints 'largest 0.9[0-9]* mm'
exits 1 clvox info s.nii gone.nii l.nii; one_sentence

begin "info of an affine takes it apart"
cat > m.txt <<'M'
0 -2 0 5
1 0 0 6
0 0 0.5 -7
0 0 0 1
M
exits 0 clvox info m.txt
prints 'rotation     90.0000 degrees around (0.0000, 0.0000, 1.0000)'; prints 'scale        1.000000 2.000000 0.500000'
prints 'shear        0.000000 0.000000 0.000000'; prints 'translation  5.0000 6.0000 -7.0000 mm'
prints 'determinant  1.000000'

begin "info of surfaces: closed, inside out, open, damaged"
cat > tetra.obj <<'M'
v 0 0 0
v 3 0 0
v 0 3 0
v 0 0 3
f 1 3 2
f 1 2 4
f 2 3 4
f 3 1 4
M
exits 0 clvox info tetra.obj --json log/surface.json; quiet
prints '4 vertices, 4 triangles, 1 component$'; prints '0.00 to 3.00, 0.00 to 3.00, 0.00 to 3.00 mm'
prints 'volume       4.5 mm'; prints 'face outward'; prints 'Euler        2'
json log/surface.json 'j["files"][0]["closed"] and j["files"][0]["euler"] == 2 and j["files"][0]["volume_mm3"] == 4.5'
sed 's/^f \([0-9]\) \([0-9]\)/f \2 \1/' tetra.obj > turned.obj
exits 0 clvox info turned.obj; prints 'face inward'; prints 'volume       -4.5 mm'
grep -v '^f 3' tetra.obj > open.obj
exits 0 clvox info open.obj s.nii; prints 'closed       no'; prints '3 open edges'; prints '^s.nii'
echo 'f 1 2 9' >> open.obj
exits 1 clvox info open.obj; one_sentence; says 'open.obj: triangle 3 names vertex 8'

begin "info: damaged lines are what is wrong with a file of lines"
printf '# vtk DataFile Version 3.0\nl\nASCII\nDATASET POLYDATA\nPOINTS 2 float\n0 0 0 3 0 0\nLINES 1 3\n2 0 7\n' > damaged.vtk
exits 1 clvox info damaged.vtk; one_sentence; says "damaged.vtk: segment 0 names vertex 7"; ! grep -q 'POLYGONS' log/err || complain "blames the surface"

begin "info: tracks"
printf '# vtk DataFile Version 3.0\nl\nASCII\nDATASET POLYDATA\nPOINTS 5 float\n0 0 0 3 0 0 3 4 0 1 1 1 1 1 3\nLINES 2 7\n3 0 1 2\n2 3 4\n' > lines.vtk
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > one.txt
exits 0 clvox apply --curves lines.vtk -t one.txt -o lines.tck
exits 0 clvox info lines.tck --json log/tracks.json; prints 'curves, RAS mm'; prints '5 vertices, 3 segments, 2 lines$'
prints '0.00 to 3.00, 0.00 to 4.00, 0.00 to 3.00 mm'; prints 'length       9 mm'
json log/tracks.json 'j["files"][0]["lines"] == 2 and abs(j["files"][0]["length_mm"] - 9) < 1e-6'
gzip -c lines.tck > packed.tck.gz; exits 0 clvox info packed.tck.gz; prints '5 vertices, 3 segments, 2 lines$'
exits 0 clvox info lines.vtk; prints 'curves, RAS mm'; prints '5 vertices, 3 segments, 2 lines$'; quiet
sed 's/^3 0 1 2/3 0 1 9/' lines.vtk > wrong.vtk; exits 1 clvox info wrong.vtk; one_sentence; says 'wrong.vtk'
# Tracks without any, and with points alone.
{ printf 'mrtrix tracks\ndatatype: Float32LE\ncount: 0\nfile: . 64\nEND\n######'; printf '\000\000\200\177\000\000\200\177\000\000\200\177'; } > bare.tck
exits 0 clvox info bare.tck; prints '0 vertices, 0 segments, 0 lines'; says 'bare.tck: holds no line of two points or more'; one_sentence
exits 0 clvox apply --curves bare.tck -t one.txt -o carried.tck; says 'bare.tck: holds no line'
exits 1 clvox register --curves lines.tck,bare.tck -o x -q; says 'bare.tck: has no segment with a length'
head -c 20 lines.tck > cut.tck; exits 1 clvox info cut.tck; one_sentence; says 'cut.tck'

begin "compare: surfaces"
sed 's/ 3/ 6/g; s/^f.*//' tetra.obj > large.obj
grep '^f' tetra.obj >> large.obj
exits 0 clvox compare tetra.obj large.obj --samples 2000 --json log/compare.json; quiet
prints '^distance_mm *A_to_B *B_to_A *both'; near Euler 2 0; near volume_mm3 4.5 1e-6; near components 1 0
# Three faces lie in those of the larger one, the fourth is up to 1 away; its farthest corner 3.
near largest 1 0.05
json log/compare.json 'abs(j["comparison"]["B_to_A"]["largest_mm"] - 3) < 1e-6 and j["comparison"]["B"]["volume_mm3"] == 36'
json log/compare.json 'j["comparison"]["A_to_B"]["mean_mm"] > 0 and len(j["inputs"]) == 2'
exits 0 clvox compare tetra.obj tetra.obj; near rms 0 1e-9; near normal_degrees 0 1e-4
exits 0 clvox compare tetra.obj turned.obj; prints 'volume_mm3 *4.5 *-4.5'
exits 2 clvox compare tetra.obj s.nii; says 'tetra.obj is a surface, s.nii is not'
exits 2 clvox compare tetra.obj tetra.obj --labels; says 'are for images'
exits 2 clvox compare tetra.obj tetra.obj --samples 0; says 'at least 1'
exits 1 clvox compare tetra.obj gone.obj; one_sentence; says gone.obj

begin "standard output holds the log alone with --json -"
clvox compare s.nii s.nii --json - > out.json 2> log/err
json out.json 'j["comparison"]["SSD"] == 0 and j["comparison"]["NCC"] > 0.999999 and j["command"][1] == "compare"'
clvox info s.nii --json - > out.json 2> log/err
json out.json 'j["files"][0]["kind"] == "scalar"'
clvox phantom ball -o x.nii --json=- > out.json 2> log/err
json out.json 'j["outputs"] == ["x.nii"]'

begin "a log that cannot be written is an error"
exits 1 clvox info s.nii --json no/folder/log.json; one_sentence; says 'no/folder/log.json'

begin "one seed gives one image, another seed another"
exits 0 clvox phantom textured -o a.nii --size 15x16x17 --seed 5 --noise 3
exits 0 clvox phantom textured -o b.nii --size 15x16x17 --seed 5 --noise 3 --threads 1
exits 0 clvox phantom textured -o c.nii --size 15x16x17 --seed 6 --noise 3
exits 0 cmp a.nii b.nii
exits 1 cmp -s a.nii c.nii

begin "--like takes a grid over"
exits 0 clvox phantom constant -o k.nii --like ball.nii.gz
exits 0 clvox compare ball.nii.gz k.nii; near largest_difference 100 0
exits 2 clvox phantom constant -o k.nii --like ball.nii.gz --size 3x3x3; says '--like'

begin "compare: images"
exits 0 clvox compare a.nii a.nii; near SSD 0 0; near NCC 1 1e-9; near LNCC 1 1e-9; near NMI 2 1e-9; near differing 0 0
exits 0 clvox compare a.nii c.nii; below NCC 0.99; below NMI 1.9
exits 0 clvox phantom constant -o k3.nii --size 15x16x17
exits 0 clvox compare k3.nii k3.nii; near SSD 0 0; prints 'NCC *-*nan'
exits 1 clvox compare a.nii s.nii; one_sentence; says 'grids differ'
exits 1 clvox compare a.nii a.nii --mask s.nii; one_sentence; says 'mask'

begin "compare: inside of a mask"
exits 0 clvox phantom ball -o one.nii --size 15x16x17 --labels mask.nii
exits 0 clvox compare one.nii k3.nii --mask mask.nii; below largest_difference 60
exits 0 clvox compare one.nii k3.nii; near largest_difference 100 0

begin "compare: labels"
exits 0 clvox compare --labels l.nii l.nii
prints 'mean *1.00000  1.00000 *0.0000'
exits 0 clvox phantom ball -o ball20.nii --size 20x20x20 --labels other.nii
exits 0 clvox compare --labels l.nii other.nii --json log/labels.json; says 'one map only'
json log/labels.json 'len(j["comparison"]["labels"]) == 4 and j["comparison"]["labels"][3]["hausdorff95_mm"] is None'

begin "compare: warps"
exits 0 clvox compare w.nii.gz w.nii.gz; near max_mm 0 0
exits 0 clvox compare w.nii.gz wi.nii.gz; below max_voxels 3; prints 'mean_mm'

begin "a pair holds its images, truth and labels"
exits 0 clvox phantom pair -o p --size 24x22x20 --affine m.txt
for name in fixed moving truth_warp truth_inverse_warp fixed_labels moving_labels; do exists p_$name.nii.gz; done
exists p_truth_affine.txt
exits 0 clvox info p_truth_affine.txt; prints 'rotation     90.0000'
exits 2 clvox phantom warp -o x.nii --affine m.txt
exits 1 clvox phantom ball -o x2.nii --affine w.nii.gz; one_sentence; says 'warp'; absent x2.nii

begin "a warp that could fold is refused with what is possible"
exits 1 clvox phantom warp -o big.nii --size 20x20x20 --amplitude 50; one_sentence; says 'at most'; absent big.nii
exits 0 clvox phantom warp -o with.nii --size 20x20x20 --amplitude 1mm; exits 0 clvox phantom warp -o without.nii --size 20x20x20 --amplitude 1
cmp with.nii without.nii || complain "1mm is not 1"
for wrong in 1vox 1x2; do exits 2 clvox phantom warp -o big.nii --amplitude $wrong; says 'one number, in mm'; absent big.nii; done
finish
