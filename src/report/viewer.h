/* SPDX-License-Identifier: Apache-2.0 */
/* Images to leaf through in a page: every layer's slices of a plane are one PNG, which the page's script
 * cuts. */
#ifndef CLV_REPORT_VIEWER_H
#define CLV_REPORT_VIEWER_H

#include <stdint.h>

#include "clvox/report.h"
#include "base/text.h"

typedef struct clv_viewer_name {
    int64_t label;
    char *name;
} clv_viewer_name;

typedef struct clv_viewer {
    clvox_report_layer layer[CLVOX_REPORT_LAYERS]; /* names are the viewer's own */
    int layers;
    const clvox_volume *mask;
} clv_viewer;

/* The element, with at most about `bytes` of pictures. */
int clv_viewer_put(clv_text *to, const clv_viewer *viewer, const clv_viewer_name *names, int count,
                   size_t bytes);

/* The script that makes the elements of a page live, and their style. */
extern const char clv_viewer_script[];
extern const char *const clv_viewer_style;

#endif
