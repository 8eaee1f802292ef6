/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the plots on pages. */
#include "report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double clv_page_at(const clv_page_axis *a, double value)
{
    double share = a->high > a->low ? (value - a->low) / (a->high - a->low) : 0;
    share = fmin(fmax(share, 0), 1);
    return a->from + share * (a->to - a->from);
}

/* The smallest of 1, 2 and 5 times a power of ten from value on. */
static double round_up(double value)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));
    for (int i = 0; i < 4; i++)
        if (steps[i] * power >= value * (1 - 1e-9))
            return steps[i] * power;
    return value;
}

void clv_page_round_axis(clv_page_axis *a)
{
    double step = round_up((a->high - a->low) / 6);
    if (!(step > 0))
        step = 1;
    a->low = step * floor(a->low / step + 1e-9);
    a->high = step * ceil(a->high / step - 1e-9);
    if (!(a->high > a->low))
        a->high = a->low + step;
}

int clv_page_ticks(const clv_page_axis *a, double *values, int most)
{
    int count = 0;
    double step = round_up((a->high - a->low) / (most > 6 ? 6 : most - 1));
    for (double v = step * ceil(a->low / step - 1e-9); v <= a->high + 1e-9 * step && count < most; v += step)
        values[count++] = fabs(v) < 1e-9 * step ? 0 : v;
    return count;
}

void clv_page_begin_scroll(clv_text *to, const char *format, ...)
{
    char label[320];
    va_list args;
    va_start(args, format);
    vsnprintf(label, sizeof label, format, args);
    va_end(args);
    clv_text_put(to, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    clv_text_put_html(to, label);
    clv_text_put(to, "\">");
}

void clv_page_end_scroll(clv_text *to)
{
    clv_text_put(to, "</div>\n");
}

void clv_page_end_svg(clv_text *to)
{
    clv_text_put(to, "</svg>\n");
}

void clv_page_put_word(clv_text *to, double x, double y, const char *anchor, const char *class,
                       const char *text)
{
    clv_text_add(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    clv_text_put_html(to, text);
    clv_text_put(to, "</text>\n");
}
