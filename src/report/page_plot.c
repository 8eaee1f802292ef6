/* SPDX-License-Identifier: Apache-2.0 */
/* What the plots of pages are made of. */
#include "report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double clv_page_at(const clv_page_axis *a, double value)
{
    double low = a->low, high = a->high;
    if (a->log) {
        value = log10(value);
        low = log10(low);
        high = log10(high);
    }
    double share = high > low ? (value - low) / (high - low) : 0;
    share = fmin(fmax(share, 0), 1);
    return a->from + share * (a->to - a->from);
}

/* The largest of 1, 2 and 5 times a power of ten below value, or the smallest above. */
static double round_to(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value)));
    for (int i = 0; i < 4; i++) {
        int k = up ? i : 3 - i;
        double step = steps[k] * power;
        if (up ? step >= value * (1 - 1e-9) : step <= value * (1 + 1e-9))
            return step;
    }
    return value;
}

void clv_page_round_axis(clv_page_axis *a)
{
    if (a->log) {
        a->low = round_to(a->low, false);
        a->high = round_to(a->high, true);
        if (!(a->high > a->low))
            a->high = 10 * a->low;
    } else {
        double step = round_to((a->high - a->low) / 6, true);
        if (!(step > 0))
            step = 1;
        a->low = step * floor(a->low / step + 1e-9);
        a->high = step * ceil(a->high / step - 1e-9);
        if (!(a->high > a->low))
            a->high = a->low + step;
    }
}

int clv_page_ticks(const clv_page_axis *a, double *values, int most)
{
    int count = 0;
    if (!a->log) {
        double step = round_to((a->high - a->low) / (most > 6 ? 6 : most - 1), true);
        for (double v = step * ceil(a->low / step - 1e-9); v <= a->high + 1e-9 * step && count < most;
             v += step)
            values[count++] = fabs(v) < 1e-9 * step ? 0 : v;
        return count;
    }
    double decades = log10(a->high / a->low);
    int skip = decades > most - 1 ? (int)ceil(decades / (most - 1)) : 1;
    bool between = decades < 2.5 && 3 * (decades + 1) <= most;
    for (int p = (int)floor(log10(a->low) + 1e-9); p <= (int)ceil(log10(a->high)); p++)
        for (int k = 0; k < (between ? 3 : 1); k++) {
            double v = (double[]){1, 2, 5}[k] * pow(10, p);
            if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9) && p % skip == 0 && count < most)
                values[count++] = v;
        }
    return count;
}

char *clv_page_tick_text(double value, const char *unit, char out[CLV_TEXT_NUMBER])
{
    clv_text_si(value, unit, out);
    /* Ticks are 1, 2 or 5: zeros behind the point say nothing. */
    char *point = strchr(out, '.'), *space = strchr(out, ' ');
    if (point && space && strspn(point + 1, "0") == (size_t)(space - point - 1))
        memmove(point, space, strlen(space) + 1);
    size_t length = strlen(out);
    if (length && out[length - 1] == ' ')
        out[length - 1] = 0;
    return out;
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

void clv_page_begin_svg(clv_text *to, int width, int height, const char *title, const char *words)
{
    clv_text_add(to,
             "<svg class=\"%s\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
             "preserveAspectRatio=\"xMinYMin\" role=\"img\" aria-label=\"",
             width > 600 ? "long" : "half", width, height, width, height);
    clv_text_put_html(to, title);
    clv_text_put(to, ". ");
    clv_text_put_html(to, words);
    clv_text_put(to, "\">\n");
}

void clv_page_end_svg(clv_text *to)
{
    clv_text_put(to, "</svg>\n");
}

double clv_page_width(const char *text)
{
    double width = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0xc0)
            width += 11;
        else if (c < 0x80) /* as in DejaVu Sans, which is wide */
            width += strchr("ijl.,:;'|! ", c)   ? 3.6
                     : strchr("tfr()[]-/", c)   ? 4.4
                     : strchr("mwMW@%<>=+#", c) ? 10.4
                     : strchr("DGHNOQU", c)     ? 8.4
                                                : 6.9;
    }
    return width;
}

void clv_page_put_word(clv_text *to, double x, double y, const char *anchor, const char *class, double room,
                   const char *text)
{
    clv_text_add(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    if (!(room > 0) || clv_page_width(text) <= room) {
        clv_text_put_html(to, text);
    } else {
        char part[256];
        size_t length = 0;
        for (size_t next = 0; text[next] && next < sizeof part - 8;) {
            next++;
            while ((text[next] & 0xc0) == 0x80)
                next++;
            memcpy(part, text, next);
            part[next] = 0;
            if (clv_page_width(part) + 11 > room)
                break;
            length = next;
        }
        part[length] = 0;
        clv_text_put_html(to, part);
        clv_text_put(to, "…<title>");
        clv_text_put_html(to, text);
        clv_text_put(to, "</title>");
    }
    clv_text_put(to, "</text>\n");
}
