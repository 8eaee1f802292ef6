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
finish
