/* SPDX-License-Identifier: Apache-2.0 */
/* A scan over time in one picture: a row for each of some voxels, a column for each frame. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "clvox/command/page.h"
#include "io/png.h"
#include "report/report.h"

enum { ROWS = 240, REACH = 2 }; /* REACH: standard deviations from black and from white to the mean */

/* Mean and standard deviation of a voxel over the frames; false: it is not finite, or constant. */
static bool measure(const clvox_volume *series, size_t voxel, double *mean, double *sd)
{
    const size_t voxels = clvox_grid_voxels(&series->grid);
    double sum = 0, squares = 0;
    for (int f = 0; f < series->frames; f++)
        sum += series->data[voxels * (size_t)f + voxel];
    *mean = sum / series->frames;
    for (int f = 0; f < series->frames; f++)
        squares += pow(series->data[voxels * (size_t)f + voxel] - *mean, 2);
    *sd = sqrt(squares / series->frames);
    return isfinite(*sd) && *sd > 0;
}

int clvox_page_carpet(clvox_report *page, const char *title, const clvox_volume *series,
                      const clvox_volume *mask)
{
    const size_t voxels = clvox_grid_voxels(&series->grid);
    const int frames = series->frames;
    int status = CLVOX_OK, rows = 0;
    size_t inside = 0, seen = 0, bytes = 0;
    uint8_t *png = NULL, *pixels = calloc((size_t)frames, ROWS);
    if (!pixels)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the page");
    for (size_t i = 0; i < voxels; i++)
        inside += mask->data[i] > 0;
    const size_t step = 1 + inside / (ROWS + 1);
    for (size_t i = 0; i < voxels && rows < ROWS; i++) {
        double mean, sd;
        if (!(mask->data[i] > 0) || seen++ % step || !measure(series, i, &mean, &sd))
            continue;
        for (int f = 0; f < frames; f++) {
            const double share = (series->data[voxels * (size_t)f + i] - mean) / sd / REACH;
            pixels[(size_t)rows * (size_t)frames + (size_t)f] =
                (uint8_t)lround(127.5 * (1 + fmin(fmax(share, -1), 1)));
        }
        rows++;
    }
    clv_text *to = rows ? clv_report_plots(page) : NULL;
    if (!to)
        goto end;
    CLV_TRY(clv_png_encode(&(clv_png){.width = frames, .height = rows, .pixels = pixels}, &png, &bytes));
    clv_text_put(to, "<figure class=\"carpet\"><figcaption>");
    clv_report_put(to, title);
    clv_text_put(to, "</figcaption><img alt=\"");
    clv_report_put(to, title);
    clv_text_put(to, "\" src=\"data:image/png;base64,");
    clv_text_put_base64(to, png, bytes);
    clv_text_add(
        to,
        "\"><p class=\"light\">Frames 0 to %d from left to right; %d voxels from the first slice (top) to "
        "the last; black and white: %d standard deviations of the voxel.</p></figure>\n",
        frames - 1, rows, REACH);
end:
    free(png);
    free(pixels);
    return status;
}
