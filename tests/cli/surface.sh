#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Surfaces: distances, denoising and meshes, on the default device.
. "$(dirname "$0")/lib.sh"

begin "the second word says what is done"
exits 2 clvox surface; says 'missing'
exits 2 clvox surface polish a.nii -o b.nii; says 'polish: not known'; silent

begin "distance: a mask, a label, a level, there and back"
exits 0 clvox phantom ball -o b.nii --size 25x24x23 --direction oblique --labels b_mask.nii.gz
exits 0 clvox phantom shells -o sh.nii --size 25x24x23 --labels sh_labels.nii.gz
exits 0 clvox surface distance b_mask.nii.gz -o d.nii.gz --json log/d.json
prints 'grid *25 x 24 x 23 voxels, 1 x 1 x 1 mm'
json log/d.json 'j["distance"]["from"] == "mask" and j["outputs"] == ["d.nii.gz"]'
json log/d.json '-8 < j["distance"]["deepest_mm"] < -6 and j["distance"]["grid"]["size"] == [25, 24, 23]'
exits 0 clvox info d.nii.gz; prints 'float32, scalar'
exits 0 clvox surface mesh d.nii.gz -o d.ply; near Euler 2 0; near volume 1376 90
exits 0 clvox surface distance b.nii -o i.nii.gz --iso 50 --json log/i.json
json log/i.json 'j["distance"]["from"] == "level" and j["distance"]["iso"] == 50'
exits 0 clvox surface mesh i.nii.gz -o i.ply; near volume 1376 30
exits 0 clvox surface distance sh_labels.nii.gz -o l.nii.gz --label 2 -v; says 'taken as label'
exits 0 clvox surface mesh l.nii.gz -o l.ply; near components 2 0
exits 0 clvox surface distance sh_labels.nii.gz -o m.nii.gz
exits 0 clvox surface mesh m.nii.gz -o m.ply; near components 1 0

begin "compare: currents, varifolds, distances and overlap of two meshes"
exits 2 clvox surface compare i.ply d.ply; says 'width'
exits 2 clvox surface compare i.ply d.ply --width 3vox; says 'width'
exits 0 clvox surface compare i.ply i.ply --width 3mm --json log/c.json
json log/c.json 'abs(j["result"]["currents"]) < 1e-6 * j["result"]["currents_products"]["AA"]'
json log/c.json 'j["result"]["hausdorff_mm"] < 1e-9 and j["result"]["dice"] == 1'
exits 0 clvox surface compare i.ply d.ply --width 3mm --json log/c.json
json log/c.json '0 < j["result"]["varifold"] < .2 * j["result"]["varifold_products"]["AA"]'
json log/c.json '.9 < j["result"]["dice"] < 1 and 0 < j["result"]["mean_distance_mm"] < j["result"]["hausdorff_mm"] < 1.5'

begin "compare: by a particle mesh, whose error is reported"
exits 0 clvox surface compare i.ply d.ply --width 3mm --method exact --json log/e.json
exits 0 clvox surface compare i.ply d.ply --width 3mm --method mesh --error 1e-3 --json log/m.json
prints 'by a particle mesh of'; prints 'the mean of <A, A> and <B, B>'
json log/e.json 'j["result"]["currents_products"]["method"] == "exact" and "error" not in j["result"]["currents_products"]'
json log/m.json 'j["result"]["varifold_products"]["method"] == "mesh" and j["result"]["varifold_products"]["error"] <= 1e-3'
json log/m.json 'len(j["result"]["currents_products"]["size"]) == 3 and j["result"]["currents_products"]["spacing_mm"] < 3'
json log/m.json 'abs(j["result"]["currents"] - json.load(open("log/e.json"))["result"]["currents"]) < 1e-3 * j["result"]["currents_products"]["AA"]'
exits 0 clvox surface compare i.ply d.ply --width 3mm --json log/a.json
json log/a.json 'j["result"]["currents"] == json.load(open("log/e.json"))["result"]["currents"]'
exits 2 clvox surface compare i.ply d.ply --width 3mm --error 0; says 'error'
exits 2 clvox surface compare i.ply d.ply --width 3mm --method grid; says 'method'
exits 1 clvox surface compare i.ply d.ply --width 0.001mm --method mesh; says 'too many nodes'

begin "compare: curves, and clouds of points"
line() { # Y, 1 or -1: 40 segments of 10 mm along x, one way or the other
    printf '# vtk DataFile Version 3.0\nl\nASCII\nDATASET POLYDATA\nPOINTS 41 float\n'
    awk -v y="$1" -v way="$2" 'BEGIN { for (i = 0; i < 41; i++) print (way == 1 ? i / 4 : 10 - i / 4), y, 0; print "LINES 1 42"; printf "41"; for (i = 0; i < 41; i++) printf " %d", i; print "" }'
}
line 0 1 > one.vtk; line 3 1 > three.vtk; line 3 -1 > back.vtk
exits 0 clvox surface compare one.vtk three.vtk --width 5mm --json log/k.json; near mean_distance_mm 3 1e-6; near Hausdorff_mm 3 1e-6; near length_mm 10 1e-5; prints '^mm^2 '
json log/k.json 'abs(j["result"]["currents_products"]["AB"] / j["result"]["currents_products"]["AA"] - .697676) < 1e-5 and j["result"]["kind"] == "curves"'
json log/k.json 'abs(j["result"]["currents"] - j["result"]["varifold"]) < 1e-5 * j["result"]["varifold_products"]["AA"] and j["result"]["length_b_mm"] > 9.99'
exits 0 clvox surface compare one.vtk back.vtk --width 5mm --json log/b.json
json log/b.json 'abs(j["result"]["currents_products"]["AB"] / j["result"]["currents_products"]["AA"] + .697676) < 1e-5'
json log/b.json 'abs(j["result"]["varifold"] - json.load(open("log/k.json"))["result"]["varifold"]) < 1e-5'
printf 'x,y,z,weight\n0,0,0,7\n' > one.csv; printf 'x,y,z\n0,3,0\n' > three.csv; printf 'x,y,z\n0,-3,0\n' > ras.csv
exits 0 clvox surface compare one.csv three.csv --width 5mm --json log/p.json; near measure 0.604647 1e-6; near Hausdorff_mm 3 1e-9; near weight 7 1e-9
json log/p.json 'j["result"]["kind"] == "cloud" and "varifold" not in j["result"] and abs(j["result"]["measure_products"]["AB"] - .697676) < 1e-6'
exits 0 clvox surface compare one.vtk one.vtk --width 5mm --method mesh --error 1e-3; prints 'by a particle mesh of'; near mean_distance_mm 0 1e-9
printf '1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > same.txt; exits 0 clvox apply --curves one.vtk -t same.txt -o one.tck; gzip -c one.tck > packed.tck.gz
exits 0 clvox surface compare one.vtk packed.tck.gz --width 5mm; near mean_distance_mm 0 1e-6
exits 1 clvox surface compare one.vtk one.csv --width 5mm; one_sentence; says 'one.vtk holds curves and one.csv clouds'
exits 1 clvox surface compare one.vtk i.ply --width 5mm; one_sentence; says 'i.ply surfaces'
printf '# vtk DataFile Version 3.0\nl\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\n' > none.vtk
exits 1 clvox surface compare one.vtk none.vtk --width 5mm; one_sentence; says 'none.vtk'
printf 'x,y,z,weight\n0,0,0,-1\n' > less.csv; exits 1 clvox surface compare less.csv one.csv --width 5mm; one_sentence; says 'weight of point 1'

begin "distance: a mesh, on a grid around it and on a given one"
exits 0 clvox surface distance i.ply -o p.nii.gz --voxel 0.8mm --json log/p.json; quiet
json log/p.json 'j["distance"]["from"] == "mesh" and not j["distance"]["faced_inward"]'
json log/p.json 'j["distance"]["grid"]["spacing_mm"] == [0.8, 0.8, 0.8]'
json log/p.json 'abs(j["distance"]["band_mm"] - 6.4) < 1e-6'
exits 0 clvox surface mesh p.nii.gz -o p2.ply; near volume 1376 40; near Euler 2 0
exits 0 clvox surface distance i.ply -o p.nii.gz --voxel 1x1x2mm --band 3mm; prints '1 x 1 x 2 mm'
exits 0 clvox surface distance i.ply -o p.nii.gz --grid b.nii --band 3vox --json log/g.json
prints 'grid *25 x 24 x 23'; json log/g.json 'abs(j["distance"]["band_mm"] - 3) < 1e-5'
exits 0 clvox compare p.nii.gz i.nii.gz; below RMS 0.1
exits 0 clvox surface distance i.ply -o p.nii.gz; exists p.nii.gz

begin "distance: open meshes are reported"
python3 - <<'P'
open("open.obj", "w").write("v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")
open("inward.obj", "w").write("v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")
P
exits 0 clvox surface distance open.obj -o o.nii --voxel 1; says 'is open (3 edges'
exits 0 clvox surface distance inward.obj -o o.nii --voxel 1; says 'face inward'
exits 0 clvox surface distance inward.obj -o o.nii --voxel 1 -q; quiet

begin "distance: what cannot be done or is misused"
exits 1 clvox surface distance b.nii -o x.nii --iso 200; one_sentence; says 'b.nii: no value is above 200'
exits 1 clvox surface distance b.nii -o x.nii --iso -1; one_sentence; says 'every value'
exits 1 clvox surface distance sh_labels.nii.gz -o x.nii --label 9; one_sentence; says 'label 9'
exits 1 clvox surface distance d.nii.gz -o x.nii; one_sentence; says '--iso'
exits 1 clvox surface distance gone.nii -o x.nii; one_sentence; says 'gone.nii'
exits 1 clvox surface distance i.ply -o x.nii --voxel 1e-3; one_sentence; says 'larger'
exits 2 clvox surface distance b.nii; says '-o SDF is missing'
exits 2 clvox surface distance b.nii -o x.nii --voxel 1mm; says 'belongs to meshes'
exits 2 clvox surface distance b.nii -o x.nii --grid b.nii; says 'belongs to meshes'
exits 2 clvox surface distance b.nii -o x.nii --band 1mm; says 'belongs to meshes'
exits 2 clvox surface distance i.ply -o x.nii --iso 3; says 'belongs to volumes'
exits 2 clvox surface distance i.ply -o x.nii --label 3; says 'belongs to volumes'
exits 2 clvox surface distance i.ply -o x.nii --voxel 1 --grid b.nii; says 'one of them'
exits 2 clvox surface distance i.ply -o x.nii --voxel 1vox; says '--voxel'
exits 2 clvox surface distance i.ply -o x.nii --voxel 0; says 'above 0'
exits 2 clvox surface distance i.ply -o x.nii --band 0; says '--band'
exits 2 clvox surface distance b.nii -o x.nii --label x; says 'not a label'
absent x.nii

begin "mesh: a mask, a label, a probability and a level"
exits 0 clvox phantom ball -o ball.nii --size 25x24x23 --direction oblique --labels ball_mask.nii.gz
exits 0 clvox phantom shells -o s.nii --size 25x24x23 --labels shells.nii.gz
exits 0 clvox surface mesh ball_mask.nii.gz -o mask.surf.gii --json log/mesh.json
near components 1 0; near Euler 2 0; near volume 1376 90; prints 'closed *yes'
json log/mesh.json 'j["surface"]["closed"] and j["surface"]["euler"] == 2 and j["surface"]["from"] == "mask"'
json log/mesh.json 'j["outputs"] == ["mask.surf.gii"]'
exits 0 clvox surface mesh ball.nii -o iso.ply --iso 50; near volume 1376 30; near Euler 2 0
exits 0 clvox surface mesh ball.nii -o level.ply --level 50 --above; near volume 1376 30
exits 0 cmp iso.ply level.ply
exits 0 clvox surface mesh shells.nii.gz -o two.vtk --label 2; near Euler 4 0; near components 2 0
for name in mask.surf.gii iso.ply two.vtk; do
    exits 0 clvox info $name; prints 'closed *yes, its triangles face outward'
done

begin "mesh: what cannot be done or is misused"
exits 1 clvox surface mesh ball.nii -o x.ply --iso 200; one_sentence; says 'ball.nii: the level 200 is not reached'
exits 1 clvox surface mesh shells.nii.gz -o x.ply --label 9; one_sentence; says 'label 9'
exits 1 clvox surface mesh ball.nii -o x.ply; one_sentence; says '--iso'
exits 1 clvox surface mesh ball.nii -o x.doc --iso 50; one_sentence; says 'x.doc'
exits 2 clvox surface mesh ball.nii; says '-o OUT is missing'
exits 2 clvox surface mesh ball.nii -o x.ply --above; says 'belongs to --level'
exits 2 clvox surface mesh ball.nii -o x.ply --iso 3 --label 2; says 'one of them'
exits 2 clvox surface mesh ball.nii -o x.ply --label two; says 'not a label'
absent x.ply; absent x.doc

begin "phantoms: the truth, a staircase, and noisy inputs"
grid="--size 40x41x30 --spacing 1x1x1.4mm --direction oblique"
exits 0 clvox phantom surface:torus -o t $grid --noise 0.3vox --seed 4 --json log/t.json
near Euler 0 0; near components 1 0; torus=$(value volume)
for name in truth_distance.nii.gz truth.surf.gii mask.nii.gz noisy_mask.nii.gz noisy.surf.gii; do exists t_$name; done
json log/t.json 'j["truth"]["noise_voxels"] == 0.3 and abs(j["truth"]["noise_mm"] - 0.3) < 1e-6'
json log/t.json 'len(j["outputs"]) == 5 and j["truth"]["euler"] == 0'
exits 0 clvox info t_truth_distance.nii.gz; prints 'float32'
exits 0 clvox info t_mask.nii.gz; prints 'uint8'
exits 0 clvox surface mesh t_truth_distance.nii.gz -o t.ply; near Euler 0 0; near volume "$torus" 60
exits 0 clvox surface mesh t_mask.nii.gz -o m.ply; near Euler 0 0; near volume "$torus" 60
exits 0 clvox phantom surface:torus -o u $grid --noise 0.3mm --seed 4
exits 0 cmp t_noisy_mask.nii.gz u_noisy_mask.nii.gz; exits 0 cmp t_noisy.surf.gii u_noisy.surf.gii
exits 0 clvox phantom surface:torus -o u $grid --noise 0.3 --seed 5 --correlation 1.5
exits 1 cmp t_noisy_mask.nii.gz u_noisy_mask.nii.gz
exits 0 clvox phantom surface:csg -o c --size 32x32x32; near Euler -2 0
exists c_truth_distance.nii.gz; absent c_noisy_mask.nii.gz; absent c_noisy.surf.gii

begin "phantoms: usage errors exit with 2"
exits 2 clvox phantom surface:cone -o x; says 'surface:sphere'
exits 2 clvox phantom surface:cube -o x --labels l.nii; says 'labels belongs to images'
exits 2 clvox phantom surface:cube -o x --noise 1x2; says '--noise'
exits 2 clvox phantom surface:cube -o x --correlation 1; says 'correlation belongs to --noise'
exits 2 clvox phantom ball -o x.nii --noise 0.3vox; says '--noise'

begin "denoise: a noisy mask comes nearer to the truth, its volume and topology stay"
exits 0 clvox phantom surface:torus -o dt --size 36x36x24 --noise 0.4vox --seed 4
exits 0 clvox surface denoise dt_noisy_mask.nii.gz -o dn.ply --sdf dn.nii.gz --json log/dn.json
says 'plan'; says 'mask'; prints 'peak device memory'; exists dn.ply; exists dn.nii.gz
json log/dn.json 'j["result"]["euler"] == 0 and j["result"]["components"] == 1 and j["result"]["open_edges"] == 0'
json log/dn.json 'j["topology"]["components_before"] > 1 and j["topology"]["euler_before"] != 0'; prints 'before *[0-9]* components'
json log/dn.json 'abs(j["result"]["volume_after_mm3"] / j["result"]["volume_before_mm3"] - 1) < 4e-2 and j["result"]["placed"]'
json log/dn.json 'j["result"]["peak_device_bytes"] <= j["plan"]["device_bytes"] and j["input"]["kind"] == "mask"'
json log/dn.json 'j["outputs"] == ["dn.ply", "dn.nii.gz"] and j["result"]["noise_voxels"] > 0.05'
exits 0 clvox surface mesh dt_noisy_mask.nii.gz -o dm.ply
exits 0 clvox compare dm.ply dt_truth.surf.gii; before=$(awk '$1 == "rms" { print $4 }' log/out)
exits 0 clvox compare dn.ply dt_truth.surf.gii; after=$(awk '$1 == "rms" { print $4 }' log/out)
awk -v a="$after" -v b="$before" 'BEGIN { exit !(a > 0 && a * 1.8 < b) }' || complain "rms $before, then $after"

begin "denoise: a call of the library without options is the command without options"
call=$2
exits 0 "$call" dt_noisy_mask.nii.gz call.ply call.nii.gz; quiet
exits 0 cmp call.ply dn.ply; exits 0 cmp call.nii.gz dn.nii.gz
exits 0 clvox surface denoise dt_noisy_mask.nii.gz -o alone.ply
exits 0 "$call" dt_noisy_mask.nii.gz call.ply; exits 0 cmp call.ply alone.ply
exits 0 clvox surface denoise dt_noisy.surf.gii -o alone.ply
exits 0 "$call" dt_noisy.surf.gii call.ply; exits 0 cmp call.ply alone.ply

begin "denoise: from a mesh, a distance and a label, to a mesh and to a distance"
exits 0 clvox surface denoise dt_noisy.surf.gii -o dn.surf.gii --json log/mesh.json; says 'mesh'
json log/mesh.json 'j["input"]["kind"] == "mesh" and j["result"]["euler"] == 0'
exits 0 clvox surface mesh dt_mask.nii.gz -o steps.ply
exits 0 clvox surface denoise steps.ply -o dn.ply --rounds 1 --json log/steps.json
json log/steps.json '0.8 < j["input"]["grid"]["spacing_mm"][0] < 1.2' # steps: voxels of an edge, else finer
json log/mesh.json 'j["input"]["grid"]["spacing_mm"][0] < 0.75'
exits 0 clvox surface denoise dt_truth_distance.nii.gz -o dd.nii.gz --json log/dd.json; says 'signed distance'
exits 0 clvox surface denoise dt_truth_distance.nii.gz -o dd.MGZ --rounds 1 -q; exits 0 clvox info dd.MGZ; prints 'float32, scalar'
exits 1 clvox surface denoise dt_truth_distance.nii.gz -o dd.ply --sdf dd.nrrd; one_sentence; says 'dd.nrrd: volumes are written as'; absent dd.ply
exits 0 clvox surface mesh dd.nii.gz -o dd.ply; near Euler 0 0
exits 0 clvox surface denoise dt_mask.nii.gz --label 1 -o dl.vtk -q --rounds 1 --search radius --radius 8vox; quiet
exits 0 clvox info dl.vtk; prints 'closed *yes'
exits 0 clvox surface denoise dt_mask.nii.gz -o a.ply --band 1.5mm --patch 3 --neighbours 40 --c2 2
exits 0 clvox surface denoise dt_mask.nii.gz -o b.ply --band 1.5vox --patch 3 --neighbours 40 --c2 2
exits 0 cmp a.ply b.ply

begin "denoise: a mesh of few large triangles keeps its volume"
cat > cube.ply <<'P'
ply
format ascii 1.0
element vertex 8
property float x
property float y
property float z
element face 12
property list uchar int vertex_indices
end_header
-10 -10 -10
-10 -10 10
-10 10 -10
-10 10 10
10 -10 -10
10 -10 10
10 10 -10
10 10 10
3 0 1 3
3 0 3 2
3 4 6 7
3 4 7 5
3 0 4 5
3 0 5 1
3 2 3 7
3 2 7 6
3 0 2 6
3 0 6 4
3 1 5 7
3 1 7 3
P
exits 0 clvox surface denoise cube.ply -o cd.ply --json log/cube.json; says 'large against the shape: its volume is kept'
json log/cube.json 'j["input"]["coarse"] and abs(j["result"]["volume_after_mm3"] / 8000 - 1) < .01 and j["result"]["open_edges"] == 0'
json log/steps.json 'not j["input"]["coarse"]'
exits 1 clvox surface denoise cube.ply -o gone.ply --voxel 30mm -q; one_sentence; says 'cube.ply: the mesh is too coarse'; absent gone.ply

begin "denoise: topology is kept, left free, or judged by the noise"
exits 0 clvox surface denoise dt_noisy_mask.nii.gz -o tf.ply --topology auto --json log/tf.json; prints 'topology *free'
json log/tf.json 'not j["topology"]["kept"] and j["result"]["euler"] == j["topology"]["euler_if_free"] == 0'
exits 0 clvox surface denoise dt_mask.nii.gz -o tk.ply --json log/tk.json; prints 'topology *kept$'
json log/tk.json 'j["topology"]["kept"] and j["topology"]["refined"] == 0'
exits 0 clvox surface denoise dt_noisy_mask.nii.gz -o tk.ply --sdf tk.nii.gz --topology keep --json log/tk.json
prints 'topology *kept on a grid'; json log/tk.json 'j["topology"]["held_voxels"] > 0'
json log/tk.json 'j["result"]["euler"] != 0 and j["result"]["components"] > 1 and j["result"]["open_edges"] == 0'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --topology some; says 'topology'

begin "denoise: a distance, and a mask cut by the border, are measured before as after"
exits 0 clvox surface denoise dt_truth_distance.nii.gz -o v.ply --json log/v.json
json log/v.json 'abs(j["result"]["volume_after_mm3"] / j["result"]["volume_before_mm3"] - 1) < 5e-3'
python3 - <<'P'
import struct
n = 14
head = bytearray(352)
struct.pack_into("<i8h", head, 0, 348, *[0] * 8)
struct.pack_into("<8h", head, 40, 3, n, n, n, 1, 1, 1, 1)
struct.pack_into("<hh", head, 70, 2, 8)
struct.pack_into("<8f", head, 76, 1, 1, 1, 1, 1, 1, 1, 1)
struct.pack_into("<f", head, 108, 352)
struct.pack_into("<h", head, 254, 1)
struct.pack_into("<4f4f4f", head, 280, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
head[344:348] = b"n+1\0"
at = range(n)
inside = bytes(x < 10 and 2 < y < 11 and 2 < z < 11 for z in at for y in at for x in at)
open("cut.nii", "wb").write(bytes(head) + inside)
speck = bytes((x - 6) ** 2 + (y - 6) ** 2 + (z - 6) ** 2 < 22 or x == y == z == 12 for z in at for y in at for x in at)
open("speck.nii", "wb").write(bytes(head) + speck)
speck = bytes((x - 6) ** 2 + (y - 6) ** 2 + (z - 6) ** 2 < 22 or 10 < min(x, y, z) and max(x, y, z) < 13
              for z in at for y in at for x in at)
open("eight.nii", "wb").write(bytes(head) + speck)
P
exits 0 clvox surface denoise cut.nii -o v.ply --json log/v.json
json log/v.json '580 < j["result"]["volume_after_mm3"] < 700'
json log/v.json '580 < j["result"]["volume_before_mm3"] < 700 and j["result"]["open_edges"] == 0'

begin "denoise: a speck of a mask may be noise, one of a mesh is meant"
exits 0 clvox surface mesh speck.nii -o speck.ply; near Euler 4 0
exits 0 clvox surface denoise speck.nii -o v.ply --json log/v.json; json log/v.json 'j["result"]["components"] == 1'
exits 0 clvox surface denoise speck.ply -o v.ply --voxel 1mm --json log/v.json
json log/v.json 'j["topology"]["components_if_free"] == 1 and j["topology"]["kept"]'
json log/v.json 'j["result"]["components"] == 2 and j["result"]["euler"] == 4'

begin "denoise: a mesh with steps keeps its volume to a percent, though placing the level would give more back"
exits 0 clvox phantom surface:sphere -o sp --size 18x18x18
exits 0 clvox surface mesh sp_mask.nii.gz -o sp.ply
exits 0 clvox surface denoise sp.ply -o v.ply --json log/v.json
json log/v.json '0.008 < j["result"]["volume_after_mm3"] / j["result"]["volume_before_mm3"] - 1 < 0.01'

begin "denoise: one with steps means its speck also where parts of it lie within others"
exits 0 clvox surface mesh eight.nii -o speck.obj; near Euler 4 0
python3 - <<'P'
lines = open("speck.obj").read().splitlines()
points = [[float(x) for x in line.split()[1:4]] for line in lines if line.startswith("v ")]
faces = [[int(word.split("/")[0]) for word in line.split()[1:]] for line in lines if line.startswith("f ")]
near = {i + 1 for i, p in enumerate(points) if max(p) < 10.4} # the ball, again a voxel farther on
with open("crossing.obj", "w") as out:
    for shift in (0, 1):
        out.writelines(f"v {x + shift} {y} {z}\n" for x, y, z in points)
    out.writelines("f %d %d %d\n" % tuple(f) for f in faces)
    out.writelines("f %d %d %d\n" % tuple(i + len(points) for i in f) for f in faces if set(f) <= near)
P
exits 0 clvox surface denoise crossing.obj -o v.ply --voxel 1mm --json log/v.json
json log/v.json 'j["topology"]["kept"] and j["result"]["components"] == 2 and j["result"]["euler"] == 4'

begin "denoise: the paper's steps"
exits 0 clvox surface denoise dt_noisy_mask.nii.gz -o dp.ply --update paper --steps 6 --json log/dp.json
prints 'energy'; json log/dp.json 'j["result"]["steps"] == 6'
json log/dp.json 'j["result"]["energy_after"] < j["result"]["energy_before"]'

begin "denoise: what cannot be done or is misused"
exits 1 clvox surface denoise dt_mask.nii.gz -o x.ply --label 9; one_sentence; says 'none of its voxels'
exits 1 clvox surface denoise ball.nii -o x.ply; one_sentence; says '--iso'
exits 1 clvox surface denoise nothing.ply -o x.ply; one_sentence; says 'nothing.ply'
exits 1 clvox surface denoise dt_noisy.surf.gii -o x.ply --label 2; one_sentence; says 'belong to volumes'
exits 1 clvox surface denoise dt_noisy.surf.gii -o x.ply --voxel 0.01mm; one_sentence; says 'larger'
exits 1 clvox surface denoise dt_mask.nii.gz -o x.doc; one_sentence; says 'x.doc'
exits 0 clvox phantom constant -o full.nii --size 12x11x10
exits 1 clvox surface denoise full.nii -o x.ply; one_sentence; says 'all of its voxels lie inside'
exits 1 clvox surface denoise full.nii -o x.ply --iso 50; one_sentence; says 'no surface'
exits 2 clvox surface denoise dt_mask.nii.gz; says '-o OUT is missing'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --patch 4; says '3, 5 or 7'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --neighbours 300; says '256'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --radius 5; says 'no effect without --search radius'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --update paper --rounds 2; says 'no effect with --update paper'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --label 1 --iso 2; says 'one or the other'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --sdf y.ply; says 'signed distance'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --c2 0; says 'not above 0'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --voxel 2mm; says 'belongs to meshes'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --steps 3; says 'no effect without --update paper'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --update paper --steps 0; says '0 is below 1'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --rounds 101; says '101 is not from 0 to 100'
exits 1 clvox surface denoise dt_mask.nii.gz -o x.nii --sdf x.nii; says 'two results'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --band 1e12 -q; says 'band 1e12: 1e+12 is not from above 0 to 16'
exits 2 clvox surface denoise dt_mask.nii.gz -o x.ply --band 1e12mm -q; says 'is not from above 0 to 16'
exits 1 clvox surface denoise dt_mask.nii.gz -o gone/x.ply; one_sentence; says 'the folder gone does not exist'; silent
exits 1 clvox surface denoise dt_mask.nii.gz -o x.ply --sdf gone/x.nii; one_sentence; says 'the folder gone does not exist'
absent x.ply; absent x.doc; absent x.nii
finish
