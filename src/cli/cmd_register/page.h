/* SPDX-License-Identifier: Apache-2.0 */
/* PREFIX_report.html: what a registration came to, for a person to judge. */
#ifndef CLI_REGISTER_PAGE_H
#define CLI_REGISTER_PAGE_H

#include "cli/cmd_register/pair.h"

/* The page, from the pair's images and its log, which has the result. Any thread. */
int cli_pair_page(cli_pair *pair);

#endif
