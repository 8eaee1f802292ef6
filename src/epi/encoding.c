/* SPDX-License-Identifier: Apache-2.0 */
/* Phase encoding as files say it. */
#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/files.h"
#include "epi/epi.h"

enum { MOST_BYTES = 1 << 24 };

int clvox_epi_encoding_set(const char *direction, double seconds, clvox_epi_encoding *out)
{
    CLV_GIVEN(direction, out);
    const bool back = *direction && direction[1] == '-';
    if (*direction < 'i' || *direction > 'k' || direction[1 + back])
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "phase encoding \"%s\": it is i, j, k, i-, j- or k-",
                          direction);
    if (!(seconds > 0 && seconds < 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "readout time %g: it is the TotalReadoutTime in seconds, above 0 and below 1",
                          seconds);
    *out = (clvox_epi_encoding){*direction - 'i', back ? -seconds : seconds};
    return CLVOX_OK;
}

static double number_of(const cJSON *all, const char *name)
{
    const cJSON *one = cJSON_GetObjectItemCaseSensitive(all, name);
    return cJSON_IsNumber(one) ? one->valuedouble : (double)NAN;
}

/* Encoding from the content of a sidecar. */
static int understand(const cJSON *all, clvox_epi_encoding *out)
{
    const cJSON *direction = cJSON_GetObjectItemCaseSensitive(all, "PhaseEncodingDirection");
    double seconds = number_of(all, "TotalReadoutTime");
    if (!isfinite(seconds))
        seconds = number_of(all, "EffectiveEchoSpacing") * (number_of(all, "ReconMatrixPE") - 1);
    if (!cJSON_IsString(direction) || !isfinite(seconds))
        return clvox_fail(CLVOX_ERROR_FORMAT, "it lacks %s; give the value yourself",
                          cJSON_IsString(direction) ? "TotalReadoutTime" : "PhaseEncodingDirection");
    return clvox_epi_encoding_set(direction->valuestring, seconds, out);
}

/* The sidecar of an image, whose name path becomes. */
static int read_sidecar(const char *image, char path[PATH_MAX], cJSON **out)
{
    const char *ending = clvox_file_ending(image);
    const size_t stem = ending ? (size_t)(ending - image) : strlen(image);
    char *text = NULL;
    *out = NULL;
    if (stem + sizeof ".json" > PATH_MAX)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", image);
    memcpy(path, image, stem);
    memcpy(path + stem, ".json", sizeof ".json");
    int status = clvox_file_read(path, MOST_BYTES, &text, NULL);
    if (status < 0)
        return status;
    *out = cJSON_Parse(text);
    clvox_text_destroy(&text);
    return *out ? CLVOX_OK : clvox_fail(CLVOX_ERROR_FORMAT, "%s: it is no JSON", path);
}

int clvox_epi_encoding_read(const char *image, clvox_epi_encoding *out)
{
    CLV_GIVEN(image, out);
    char path[PATH_MAX];
    cJSON *all;
    int status = read_sidecar(image, path, &all);
    if (status < 0)
        return status;
    status = understand(all, out);
    cJSON_Delete(all);
    return status < 0 ? clvox_fail_in(status, path) : status;
}

/* ---- units of a field map --------------------------------------------------- */

static const double TURN = 6.283185307179586;

int clvox_epi_field_unit(const char *unit, double *hz)
{
    CLV_GIVEN(unit, hz);
    double first, second;
    char more;
    if (!strcmp(unit, "Hz"))
        *hz = 1;
    else if (!strcmp(unit, "rad/s"))
        *hz = 1 / TURN;
    else if (sscanf(unit, "%lf,%lf%c", &first, &second, &more) == 2 && first >= 0 && second < 1 &&
             first < second)
        *hz = 1 / (TURN * (second - first));
    else
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the field's unit \"%s\": it is Hz, rad/s, or two echo times in seconds, the shorter "
            "first, of a phase difference in radians",
            unit);
    return CLVOX_OK;
}

int clvox_epi_field_unit_read(const char *field, double *hz)
{
    CLV_GIVEN(field, hz);
    char path[PATH_MAX], times[64];
    cJSON *all;
    *hz = 1;
    int status = read_sidecar(field, path, &all);
    if (status < 0)
        return status == CLVOX_ERROR_FILE ? CLVOX_OK : status;
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(all, "Units");
    const double echo[2] = {number_of(all, "EchoTime1"), number_of(all, "EchoTime2")};
    snprintf(times, sizeof times, "%.9g,%.9g", echo[0], echo[1]);
    if (isfinite(echo[0]) && isfinite(echo[1]))
        status = clvox_epi_field_unit(times, hz);
    else if (cJSON_IsString(unit))
        status = clvox_epi_field_unit(unit->valuestring, hz);
    cJSON_Delete(all);
    return status < 0 ? clvox_fail_in(CLVOX_ERROR_FORMAT, path) : status;
}

/* ---- topup's table ---------------------------------------------------------- */

/* A row x y z seconds, one of the three being 1 or -1. */
static int read_row(const char *line, bool turned, clvox_epi_encoding *out)
{
    double v[4];
    char more;
    int axis = -1;
    if (sscanf(line, "%lf %lf %lf %lf %c", &v[0], &v[1], &v[2], &v[3], &more) != 4)
        return clvox_fail(CLVOX_ERROR_FORMAT, "a row is not of four numbers: x y z and the readout time");
    for (int a = 0; a < 3; a++)
        if (fabs(v[a]) == 1 && axis < 0)
            axis = a;
        else if (v[a] != 0)
            axis = 3;
    if (axis < 0 || axis > 2 || !(v[3] > 0 && v[3] < 1))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "a row is not one of 1 or -1 among zeros and a readout time in seconds");
    const double sign = turned && axis == 0 ? -v[axis] : v[axis];
    *out = (clvox_epi_encoding){axis, sign * v[3]};
    return CLVOX_OK;
}

int clvox_epi_acqparams_read(const char *path, const clvox_grid *grid, clvox_epi_encoding *out, int room,
                             int *count)
{
    CLV_GIVEN(path, grid, out, count);
    char *text = NULL, *rest = NULL;
    const bool turned = clv_matrix_determinant(grid->to_ras) > 0;
    int status = clvox_file_read(path, MOST_BYTES, &text, NULL);
    *count = 0;
    if (status < 0)
        return status;
    for (char *line = strtok_r(text, "\r\n", &rest); line && status >= 0;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (!line[strspn(line, " \t")])
            continue;
        if (*count == room)
            status = clvox_fail(CLVOX_ERROR_FORMAT, "it has more than %d rows", room);
        else
            status = read_row(line, turned, &out[*count]);
        *count += status >= 0;
    }
    if (status >= 0 && !*count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "it has no rows");
    if (status < 0)
        clvox_fail_in(status, path);
    clvox_text_destroy(&text);
    return status;
}
