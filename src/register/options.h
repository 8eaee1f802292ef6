/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a registration as a table: what the library checks, and what
 * `clvox register` reads, explains and logs. */
#ifndef CLV_REGISTER_OPTIONS_H
#define CLV_REGISTER_OPTIONS_H

#include "base/options.h"

/* Of clvox_register_options. */
extern const clv_option_table clv_register_table;

#endif
