/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_CLOCK_H
#define CLV_CLOCK_H

/* Seconds since some moment, of a clock that nobody sets. */
double clv_seconds(void);

#endif
