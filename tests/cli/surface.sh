#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Surfaces: distances, denoising and meshes, on the default device.
. "$(dirname "$0")/lib.sh"

begin "the second word says what is done"
exits 2 clvox surface; says 'missing'
exits 2 clvox surface polish a.nii -o b.nii; says 'polish: not known'; silent
finish
