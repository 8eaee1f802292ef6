/* SPDX-License-Identifier: Apache-2.0 */
#include "op/compose.h"
#include "op/warp.h"

/* Entries are defined beside their operation; one line each here. */

const clv_entry *const clv_entries[] = {
    &clv_entry_compose,
    &clv_entry_warp,
    NULL,
};
