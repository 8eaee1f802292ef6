/* SPDX-License-Identifier: Apache-2.0 */
/* clFFT: sides without a prime factor above 13. */
#ifndef CLV_RUNTIME_FOURIER_CLFFT_H
#define CLV_RUNTIME_FOURIER_CLFFT_H

#include "runtime/fourier/fourier.h"

extern const clv_fourier_library clv_fourier_clfft;

#endif
