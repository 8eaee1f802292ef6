#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A registration, a surface and a tensor pipeline on tiny phantoms, right by the phantoms' truth on whatever device.
. "$(dirname "$0")/lib.sh"

begin "a registration"
exits 0 clvox phantom pair -o p --size 17x15x13 --amplitude 1 -q
exits 0 clvox register -f p_fixed.nii.gz -m p_moving.nii.gz -o r --linear rigid --deform greedy --shrink 2x1 --iterations 8x6 --no-picture -q
exits 0 clvox compare r_warp.nii.gz p_truth_warp.nii.gz --mask p_fixed_labels.nii.gz; below mean_voxels 0.4

begin "a surface"
exits 0 clvox phantom surface:sphere -o b --size 13x12x11 -q
exits 0 clvox surface denoise b_mask.nii.gz -o b.ply -q
exits 0 clvox surface mesh b.ply; near Euler 2 0

begin "tensors"
exits 0 clvox phantom tensor:rings --snr 0 -o t --size 9x8x7 --directions 12 -q
exits 0 clvox tensor all t_dwi.nii.gz --grad t.b -o t -q
finish
