#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Surfaces: distances, denoising and meshes, on the default device.
. "$(dirname "$0")/lib.sh"

begin "the second word says what is done"
exits 2 clvox surface; says 'missing'
exits 2 clvox surface polish a.nii -o b.nii; says 'polish: not known'; silent

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

begin "phantoms: misuse"
exits 2 clvox phantom surface:cone -o x; says 'surface:sphere'
exits 2 clvox phantom surface:cube -o x --labels l.nii; says 'mask'
exits 2 clvox phantom surface:cube -o x --noise 1x2; says '--noise'
exits 2 clvox phantom surface:cube -o x --correlation 1; says '--correlation'
exits 2 clvox phantom ball -o x.nii --noise 0.3vox; says '--noise'
finish
