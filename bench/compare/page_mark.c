/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of the records, and numbers. */
#include <math.h>

#include "bench/compare/page.h"

void page_put_mark(clv_text *to, int i, double x, double y, double r)
{
    /* About equal areas; points in units of r. */
    static const char *const shapes[COMPARE_MOST] = {
        NULL,
        "-.88,-.88 .88,-.88 .88,.88 -.88,.88",
        "0,-1.25 1.15,.8 -1.15,.8",
        "0,-1.3 1.3,0 0,1.3 -1.3,0",
        "0,1.25 1.15,-.8 -1.15,-.8",
        "-.4,-1.2 .4,-1.2 .4,-.4 1.2,-.4 1.2,.4 .4,.4 .4,1.2 -.4,1.2 -.4,.4 -1.2,.4 -1.2,-.4 -.4,-.4",
        "-1.25,0 -.62,-1.08 .62,-1.08 1.25,0 .62,1.08 -.62,1.08",
        "0,-1.3 .35,-.4 1.24,-.4 .53,.17 .76,1.05 0,.5 -.76,1.05 -.53,.17 -1.24,-.4 -.35,-.4",
    };
    if (!shapes[i])
        clv_text_add(to, "<circle class=\"mark s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", i, x, y, r);
    else
        clv_text_add(to,
                 "<polygon class=\"mark s%d\" transform=\"translate(%.1f %.1f) scale(%.1f)\" points=\"%s\"/>",
                 i, x, y, r, shapes[i]);
}

void page_put_key(clv_text *to, int i)
{
    clv_text_put(to,
             "<span class=\"key\"><svg class=\"keymark\" viewBox=\"-7 -7 14 14\" width=\"14\" height=\"14\" "
             "aria-hidden=\"true\">");
    page_put_mark(to, i, 0, 0, 5);
    clv_text_add(to, "</svg>%c</span>", compare_letter(i));
}

void page_put_legend(clv_text *to, const compare_set *set)
{
    clv_text_put(to, "<p class=\"legend\">");
    for (int i = 0; i < set->count; i++) {
        clv_text_put(to, "<span>");
        page_put_key(to, i);
        clv_text_put(to, " ");
        clv_text_put_html(to, set->record[i].device.name);
        clv_text_put(to, "</span> ");
    }
    clv_text_put(to, "</p>\n");
}

void page_put_number(clv_text *to, double value)
{
    char number[CLV_TEXT_NUMBER];
    clv_text_put(to, isfinite(value) ? clv_text_rounded(value, number) : "–");
}

void page_put_ratio(clv_text *to, double value)
{
    page_put_number(to, value);
    clv_text_put(to, isfinite(value) ? "×" : "");
}

void page_put_size(clv_text *to, const int *size)
{
    clv_text_add(to, "%d×%d×%d", size[0], size[1], size[2]);
}
