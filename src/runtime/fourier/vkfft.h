/* SPDX-License-Identifier: Apache-2.0 */
/* VkFFT: any sides, but two voxels or more along x; fields planar. */
#ifndef CLV_RUNTIME_FOURIER_VKFFT_H
#define CLV_RUNTIME_FOURIER_VKFFT_H

#include "runtime/fourier/fourier.h"

extern const clv_fourier_library clv_fourier_vkfft;

#endif
