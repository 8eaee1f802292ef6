#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# register without images: surfaces, curves, clouds and landmarks alone, on the default device.
. "$(dirname "$0")/lib.sh"

octahedron 10 0 > fixed.obj; octahedron 10 2 > moving.obj; octahedron 10 502 > far.obj
octahedron 10 0 | head -6 > bare.obj; echo 'f 1 1 2' >> bare.obj
printf 'x,y,z\n0,0,0\n10,0,0\n0,10,0\n0,0,10\n10,10,10\n' > at.csv
printf 'x,y,z\n1,0,0\n11,0,0\n1,10,0\n1,0,10\n11,10,10\n' > gone.csv
line() { printf '# vtk DataFile Version 3.0\nl\nASCII\nDATASET POLYDATA\nPOINTS 4 float\n'; awk -v s="$1" 'BEGIN { for (i = 0; i < 4; i++) print 5 * i, i * i + s, s }'; printf 'LINES 1 5\n4 0 1 2 3\n'; }
line 0 > fixed.vtk; line 1 > moving.vtk
quick="--spacing 2mm --shrink 2x1 --iterations 20x20 --deform greedy"

begin "surfaces alone: the grid is made from them, everything else is written as with images"
exits 0 clvox register --surface fixed.obj,moving.obj -o s $quick --deform syn
says '^grid .* voxels of 2 x 2 x 2 mm'; says 'iterations of shapes'; prints '^surfaces, term '
for end in _affine.txt _warp.nii.gz _inverse_warp.nii.gz _surface_1.obj .png .json; do exists s$end; done; absent s_warped.nii.gz
json s.json 'j["result"]["surfaces"]["surface"][0]["mean_after_mm"] < .3 * j["result"]["surfaces"]["surface"][0]["mean_linear_mm"]'
json s.json 'j["result"]["metric_after"] is None and j["result"]["suspicions"] == [] and j["result"]["jacobian"]["folded"] == 0'
# The file is what apply makes of the moving surface with the inverse chain; the warp is on a grid of RAS.
exits 0 clvox apply --surface moving.obj -t s_affine.txt,-1 -t s_warp.nii.gz,-1 -o back.obj
paste -d' ' back.obj s_surface_1.obj | awk '$1 == "v" { n++; for (a = 2; a < 5; a++) if (($a - $(a + 4)) ^ 2 > 1e-8) bad = 1 }
    END { exit bad || n != 6 }' || complain "the surfaces differ"
exits 0 clvox info s_warp.nii.gz; prints 'RAS'

begin "the grid goes by --spacing, by --width, or by the shapes"
exits 0 clvox register --surface fixed.obj,moving.obj -o d --dry-run --width 10x5mm --shrink 2x1; says '^grid .* of 2 x 2 x 2 mm'
exits 0 clvox register --surface fixed.obj,moving.obj -o d --dry-run; says '^grid .* of 0.34 x 0.34 x 0.34 mm'; absent d.json
prints 'd_surface_1.obj'

begin "curves, clouds and landmarks, one by one and together"
exits 0 clvox register --curves fixed.vtk,moving.vtk -o c $quick -q --no-picture; exists c_curves_1.vtk; exists c_warp.nii.gz
exits 0 clvox register --cloud at.csv,gone.csv -o p $quick -q --no-picture --width 8mm; exists p_cloud_1.csv
exits 0 clvox register --points at.csv,gone.csv -o l $quick --points-weight 1 --report; says '^level 1, iteration 0 of 20: landmarks '
[ "$(grep -c '^level [0-9]*, ' log/err)" = 1 ] || complain 'not one line of progress'
json l.json 'j["result"]["landmarks"]["mean_after_mm"] < .3 and j["result"]["landmarks"]["mean_before_mm"] == 1'
exists l.png; exists l_report.html
exits 0 clvox register --surface fixed.obj,moving.obj --curves fixed.vtk,moving.vtk --points at.csv,gone.csv -o t $quick --points-weight .1
says ': anatomy '; exists t_curves_1.vtk; exists t_surface_1.obj

begin "where the linear part comes from"
exits 0 clvox register --surface fixed.obj,far.obj -o f $quick -q --no-picture; grep -q 'Parameters: 1 0 0 0 1 0 0 0 1 -502 ' f_affine.txt || complain "not the centres"
exits 0 clvox register --surface fixed.obj,moving.obj -o h $quick -q --no-picture --init centers
awk '$1 == "Parameters:" { exit !($11 + 2 < 1e-9 && $11 + 2 > -1e-9) }' h_affine.txt || complain "not the centres"
# Of a surface with more triangles on one side the centroid by area alone is where it was.
awk '$1 == "v" { n++ } $1 == "f" && !done { print "v", 10 / 3, 10 / 3, 10 / 3; print "f 1 2 7"; print "f 2 3 7"; print "f 3 1 7"; done = 1; next } 1' \
    fixed.obj | awk '$1 == "v" { print "v", $2 + 4, $3, $4; next } 1' > dense.obj
exits 0 clvox register --surface fixed.obj,dense.obj -o h $quick --no-picture --init moments; says '^moments  4 '
awk '$1 == "Parameters:" { exit !($11 + 4 < 1e-6 && $11 + 4 > -1e-6) }' h_affine.txt || complain "not the moments"
exits 0 clvox register --surface fixed.obj,far.obj -o i $quick -q --no-picture --init f_affine.txt; cmp -s f_affine.txt i_affine.txt || complain "not the file's"
exits 0 clvox register --points at.csv,gone.csv -o r --deform none --init points --linear rigid -q --no-picture; exists r_affine.txt; absent r_warp.nii.gz
json r.json 'j["result"]["landmarks"]["largest_after_mm"] < 1e-6'

begin "impossible requests are refused in a sentence"
exits 2 clvox register --surface fixed.obj,moving.obj -o x --linear affine; says 'without images nothing gives a linear part'
exits 2 clvox register --surface fixed.obj,moving.obj -o x --fixed-mask m.nii; says 'fixed-mask belongs to --fixed, --posteriors and --list'
exits 2 clvox register --surface fixed.obj,moving.obj -o x --weight 2; says '1 weights for 0 channels'
exits 2 clvox register --surface fixed.obj,moving.obj -o x --deform unbiased; says 'unbiased has no term of shapes'
exits 2 clvox register --surface fixed.obj,moving.obj -o x --width 2vox; says 'a length in mm'
exits 2 clvox register --surface fixed.obj,moving.obj -o x --spacing 2vox; says 'one length above 0'
exits 2 clvox register --surface fixed.obj -o x; says 'two files'
exits 2 clvox register --surface fixed.obj,moving.obj -m moving.nii -o x; says 'f FIXED is missing'
exits 2 clvox register -f a.nii -m b.nii --surface fixed.obj,moving.obj -o x --spacing 2mm; says 'spacing is for shapes'
exits 2 clvox register --points at.csv,gone.csv -o x; says 'points-weight above 0'
printf 'x,y,z\n1,2,3\n1,2,3\n' > same.csv
exits 1 clvox register --points same.csv,same.csv --points-weight 1 -o x -q; one_sentence; says 'the landmarks of both sides are one point'
exits 2 clvox register -o x; says 'f FIXED is missing'
exits 1 clvox register --surface fixed.obj,moving.obj -o x --spacing 20mm -q; one_sentence; says 'too coarse'
exits 1 clvox register --surface fixed.obj,moving.obj -o x --spacing 0.001mm -q; one_sentence; says 'more than 1024 voxels'
exits 1 clvox register --surface fixed.obj,bare.obj -o x -q; one_sentence; says 'bare.obj: has no triangle with an area'
exits 1 clvox register --surface fixed.obj,nowhere.obj -o x -q; one_sentence; says 'nowhere.obj'
for f in x*; do absent "$f"; done
exits 0 clvox register --surface fixed.obj,moving.obj -o m $quick -q --no-picture --metric mi

finish
