/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_STORE_H
#define CLV_IO_STORE_H

#include "clvox/store.h"

/* Releases the values of a volume that is in a store. */
void clv_store_release(clvox_volume *volume);

#endif
