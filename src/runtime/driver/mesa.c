/* SPDX-License-Identifier: Apache-2.0 */
/* Mesa's two implementations. */
#include "runtime/driver/driver.h"

const clv_driver clv_driver_mesa = {.platforms = {"Clover", "rusticl"}, .of_others = true};
