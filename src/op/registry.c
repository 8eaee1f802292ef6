/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/runtime.h"

/* Entries are defined beside their operation; one line each here. */

const clv_entry *const clv_entries[] = {
    NULL,
};
