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
exits 0 clvox surface denoise b_mask.nii.gz -o d.nii.gz -q
exits 0 clvox surface mesh d.nii.gz -o d.ply; near Euler 2 0

begin "tensors"
exits 0 clvox phantom tensor:rings --snr 0 -o t --size 9x8x7 --directions 12 -q
exits 0 clvox tensor all t_dwi.nii.gz --grad t.b --few --plain -o t -q
exits 0 clvox compare t_tensor.nii.gz t_truth_tensor.nii.gz --mask t_mask.nii.gz; below RMS 1e-7
finish
