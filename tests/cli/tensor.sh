#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Diffusion tensors: fits, denoising and measures, on the default device.
. "$(dirname "$0")/lib.sh"

begin "the second word says what is done"
exits 2 clvox tensor; says 'missing'
exits 2 clvox tensor polish a.nii -o b.nii; says 'polish: not known'; silent

finish
