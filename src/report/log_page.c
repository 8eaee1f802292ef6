/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/files.h"
#include "report/report.h"

const char *clvox_page_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

char *clvox_page_address(const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    char *out = calloc(strlen(path) + 1, 3), *to = out;
    if (out && *path != '/' && *path != '.')
        to += sprintf(to, "./"); /* so that a colon in a name is none of a protocol */
    for (; out && *path; path++)
        to += strchr(plain, *path) ? sprintf(to, "%c", *path) : sprintf(to, "%%%02X", (unsigned char)*path);
    return out;
}

int clvox_page_begin(const cJSON *log, const char *title, clvox_report **out)
{
    const cJSON *remark;
    int status = clvox_report_create(title, out);
    if (status < 0)
        return status;
    cJSON_ArrayForEach(remark, cJSON_GetObjectItem(log, "remarks")) if (cJSON_IsString(remark))
        clvox_report_warn(*out, remark->valuestring);
    return status;
}

/* ---- facts --------------------------------------------------------------- */

enum { NAME = 160, VALUE = 4096 };

/* Keys of the JSON whose words alone say too little. */
static const char *title_of(const char *key)
{
    static const char *const titles[][2] = {
        {"jacobian", "Jacobian"},
        {"matrix_ras", "Affine, fixed to moving, RAS mm"},
        {"metric_linear", "metric after the affine"},
        {"metric_after", "metric at the end"},
        {"ncc_before", "correlation before"},
        {"ncc_linear", "correlation after the affine"},
        {"ncc_after", "correlation at the end"},
        {"mean_linear_mm", "mean after the affine, mm"},
        {"largest_linear_mm", "largest after the affine, mm"},
        {"term_linear", "term after the affine"},
        {"hellinger_linear", "Hellinger distance after the affine"},
        {"largest_displacement_mm", "largest displacement"},
        {"mean_displacement_mm", "mean displacement"},
        {"inverse_error_largest_mm", "largest inverse error"},
        {"inverse_error_mean_mm", "mean inverse error"},
        {"inverse_error_largest_voxels", "largest inverse error, voxels"},
        {"inverse_error_mean_voxels", "mean inverse error, voxels"},
        {"overlap", "share of the smaller image that lies in the other"},
        {"shift_mm", "translation of the centre"},
        {"rotation_degrees", "rotation"},
        {"exchanged", "computed from the moving image and inverted"},
        {"sd_log", "sd of log J"},
        {"mean_log", "mean of log J"},
        {"placed", "surface placed by vertices or voxels, not by volume"},
        {"most_coherent", "gradient axes that make fibres most coherent"},
        {"gain", "coherence relative to the axes as given"},
        {"noise_guessed", "noise estimated from neighbouring voxels"},
        {"left_out", "voxels with measurements that have no weight"},
        {"far_s0", "voxels with S0 far from the mean of b = 0"},
        {"rejects", "rejected measurements"},
        {"fa_median", "median FA"},
        {"md_median", "median MD, mm\xc2\xb2/s"},
        {"seconds", "time, s"},
        {"seconds_register", "time of registering, s"},
        {"seconds_fuse", "time of fusing, s"},
        {"seconds_resample", "time of resampling, s"},
        {"center_ras_mm", "centre, RAS"},
        {"peak_ras_mm", "peak, RAS"},
        {"to_ras", "Voxels to RAS mm"},
        {"reference", "reference frame"},
        {"largest_rms_from_reference_mm", "largest rms from the reference"},
        {"unlike", "frames unlike the others"},
        {"empty", "empty frames"},
        {"t", "t"},
        {"tfce", "TFCE"},
        {"euler", "Euler characteristic"},
        {"euler_before", "Euler characteristic before"},
        {"euler_on_grid", "Euler characteristic on the grid"},
        {"euler_if_free", "Euler characteristic if free to change"},
        {"components_if_free", "components if free to change"},
        {"kept", "topology kept"},
        {"noise_voxels", "noise, voxels"},
        {"band_voxels", "voxels near the surface"},
        {"largest_shift_mm", "largest shift in the head"},
        {"piled_up_voxels", "voxels where signal piles up"},
        {"difference_before", "difference of the images before, rms over the mean"},
        {"difference_after", "difference of the images after, rms over the mean"},
        {"hz_per_unit", "Hz of a unit of the field map"},
        {"threshold_05", "t where p FWE is 0.05"},
        {"smallest_p_fwe", "smallest p FWE"},
        {"significant_voxels", "significant voxels, p FWE \xe2\x89\xa4 0.05"},
        {"significant_voxels_fdr", "significant voxels, q FDR \xe2\x89\xa4 0.05"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (key && !strcmp(key, titles[i][0]))
            return titles[i][1];
    return key ? key : "";
}

/* The unit that a key ends in, and what it is called in text. */
static const char *const units[][2] = {
    {"_mm", " mm"},          {"_degrees", "\xc2\xb0"}, {"_seconds", " s"}, {"_mm2_s", " mm\xc2\xb2/s"},
    {"_mm2", " mm\xc2\xb2"}, {"_mm3", " mm\xc2\xb3"},  {"_ml", " ml"},     {"_bytes", " MiB"}};
enum { UNITS = sizeof units / sizeof *units };

static int unit_of(const char *key)
{
    const size_t length = key ? strlen(key) : 0;
    for (int u = 0; u < UNITS; u++)
        if (length > strlen(units[u][0]) && !strcmp(key + length - strlen(units[u][0]), units[u][0]))
            return u;
    return UNITS;
}

void clvox_page_number(double value, char *out, int room)
{
    const bool whole = value == nearbyint(value) && fabs(value) < 1e15;
    if (isnan(value))
        snprintf(out, (size_t)room, "unknown");
    else
        snprintf(out, (size_t)room, whole || fabs(value) >= 1000 ? "%.0f" : "%.3g", value);
}

/* "4, 2, 1". */
static void say(const cJSON *item, double scale, char *out, size_t room)
{
    const cJSON *one;
    size_t used = 0;
    *out = 0;
    if (cJSON_IsString(item)) {
        snprintf(out, room, "%s", item->valuestring);
    } else if (cJSON_IsNumber(item)) {
        clvox_page_number(item->valuedouble * scale, out, (int)room);
    } else if (cJSON_IsBool(item)) {
        snprintf(out, room, "%s", cJSON_IsTrue(item) ? "yes" : "no");
    } else if (cJSON_IsArray(item)) {
        cJSON_ArrayForEach(one, item)
        {
            used += (size_t)snprintf(out + used, room - used, "%s", used ? ", " : "");
            if (used + 64 > room)
                return;
            say(one, scale, out + used, room - used);
            used += strlen(out + used);
        }
    } else {
        snprintf(out, room, "unknown");
    }
}

static bool is_matrix(const cJSON *item)
{
    return cJSON_IsArray(item) && cJSON_GetArraySize(item) == 4 && cJSON_GetArraySize(item->child) == 4;
}

static void put_matrix(clvox_report *page, const cJSON *matrix)
{
    static const char *const columns[] = {"", "x", "y", "z", "translation, mm"}, *const rows[] = {"x", "y",
                                                                                                  "z"};
    clvox_report_table(page, title_of(matrix->string), columns, 5);
    for (int r = 0; r < 3; r++) {
        char text[4][32];
        clvox_report_cell cells[5] = {{.text = rows[r]}};
        for (int c = 0; c < 4; c++) {
            const double value = cJSON_GetArrayItem(cJSON_GetArrayItem(matrix, r), c)->valuedouble;
            snprintf(text[c], sizeof text[c], c < 3 ? "%.4f" : "%.2f", value);
            cells[c + 1].text = text[c];
        }
        clvox_report_row(page, cells);
    }
}

static void put_fact(clvox_report *page, const char *before, const cJSON *item)
{
    char name[NAME], value[VALUE];
    const char *title = title_of(item->string);
    const int unit = unit_of(item->string);
    const bool measured = unit < UNITS && (cJSON_IsNumber(item) || cJSON_IsArray(item));
    const bool bytes = measured && !strcmp(units[unit][0], "_bytes");
    snprintf(name, sizeof name - 8, "%s%s%s", before, *before ? ", " : "", title);
    if (measured && title == item->string)
        strcpy(name + strlen(name) - strlen(units[unit][0]), bytes ? " memory" : "");
    for (char *at = name; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    say(item, bytes ? 1 / 1048576.0 : 1, value, sizeof value - 16);
    if (measured && *value)
        strcat(value, units[unit][1]);
    clvox_report_fact(page, name, *value ? value : "none");
}

/* before: NULL at the top, where objects become groups. */
static void add_facts(clvox_report *page, const cJSON *object, const char *before, int most)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object) if (!cJSON_IsObject(item) && !is_matrix(item) &&
                                         (!cJSON_IsArray(item) ||
                                          (cJSON_GetArraySize(item) <= most && !cJSON_IsObject(item->child))))
        put_fact(page, before ? before : "", item);
    cJSON_ArrayForEach(item, object)
    {
        char name[NAME];
        if (is_matrix(item))
            put_matrix(page, item);
        if (!cJSON_IsObject(item))
            continue;
        snprintf(name, sizeof name, "%s%s%s", before ? before : "", before && *before ? ", " : "",
                 title_of(item->string));
        for (char *at = name; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        if (!before && item->child) {
            *name = title_of(item->string) == item->string ? (char)toupper((unsigned char)*name) : *name;
            clv_report_group(page, name);
        }
        add_facts(page, item, before ? name : "", most);
    }
}

void clvox_page_facts(clvox_report *page, const cJSON *object, int most)
{
    if (object)
        add_facts(page, object, NULL, most);
}

void clvox_page_verdict(clvox_report *page, const char *sentence)
{
    clv_report_verdict(page, sentence);
}

/* Those of a set that differ from the defaults; false: none does. */
static bool put_given(clvox_report *page, const cJSON *all, const clvox_page_set *set)
{
    const cJSON *options = set->key ? cJSON_GetObjectItem(all, set->key) : all;
    clvox_option_text row;
    bool any = false;
    for (int i = 0; clvox_option_describe(set->table, i, &row); i++) {
        double number[2][CLVOX_MAX_NUMBERS];
        const cJSON *item = cJSON_GetObjectItem(options, row.key);
        if (!row.name || !item || !strcmp(row.key, "preset"))
            continue;
        const int count = clvox_option_numbers(set->table, i, set->used, number[0]);
        bool given = clvox_option_numbers(set->table, i, set->defaults, number[1]) != count;
        for (int k = 0; k < count; k++)
            given = given || number[0][k] != number[1][k];
        if (given)
            put_fact(page, set->key ? set->key : "", item);
        any = any || given;
    }
    return any;
}

void clvox_page_options(clvox_report *page, const cJSON *log, const clvox_page_set *sets, int count)
{
    const cJSON *options = cJSON_GetObjectItem(log, "options"),
                *preset = cJSON_GetObjectItem(options, "preset");
    bool any = false;
    page->optioned = true;
    clvox_report_section(page, "Options");
    if (preset)
        put_fact(page, "", preset);
    for (int i = 0; i < count; i++)
        any = put_given(page, options, &sets[i]) || any;
    clvox_report_text(page, any || preset ? "All others are at their defaults; the JSON log has them."
                                          : "All are at their defaults; the JSON log has them.");
}

/* ---- content ------------------------------------------------------------- */

int clvox_page_content(const clvox_volume *image, clvox_volume **out)
{
    const int *size = image->grid.size;
    const size_t voxels = clvox_grid_voxels(&image->grid),
                 step[3] = {1, (size_t)size[0], (size_t)size[0] * size[1]};
    double sum = 0;
    size_t finite = 0;
    int status = clvox_volume_create(&image->grid, 1, CLVOX_KIND_LABEL, out);
    for (size_t i = 0; status >= 0 && i < voxels; i++)
        if (isfinite(image->data[i])) {
            sum += image->data[i];
            finite++;
        }
    const double least = finite ? 0.2 * sum / (double)finite : 0;
    /* Every line marks what lies between its outermost voxels; the content is what lines of all axes mark. */
    for (int axis = 0; status >= 0 && axis < 3; axis++)
        for (size_t i = 0; i < voxels; i++) {
            int first = 0, last = size[axis] - 1;
            if (i / step[axis] % (size_t)size[axis])
                continue; /* no line begins here */
            while (first <= last && !(image->data[i + step[axis] * (size_t)first] > least))
                first++;
            while (last > first && !(image->data[i + step[axis] * (size_t)last] > least))
                last--;
            for (; first <= last; first++)
                (*out)->data[i + step[axis] * (size_t)first] += 1;
        }
    for (size_t i = 0; status >= 0 && i < voxels; i++)
        (*out)->data[i] = (*out)->data[i] == 3;
    return status;
}

/* ---- the end ------------------------------------------------------------- */

static void put_inputs(const cJSON *log, clvox_report *page)
{
    static const char *const columns[] = {"file", "bytes", "CRC-32"};
    const cJSON *input, *inputs = cJSON_GetObjectItem(log, "inputs");
    if (!cJSON_GetArraySize(inputs))
        return;
    clvox_report_section(page, "Inputs");
    clvox_report_table(page, "Files that were read; the CRC-32 is that of gzip and of the program crc32",
                       columns, 3);
    cJSON_ArrayForEach(input, inputs)
    {
        const cJSON *crc = cJSON_GetObjectItem(input, "crc32");
        char bytes[64];
        say(cJSON_GetObjectItem(input, "bytes"), 1, bytes, sizeof bytes);
        const clvox_report_cell cells[] = {{.text = cJSON_GetStringValue(cJSON_GetObjectItem(input, "path"))},
                                           {.text = bytes},
                                           {.text = crc ? crc->valuestring : ""}};
        clvox_report_row(page, cells);
    }
}

/* A word as a shell takes it back as one. */
static void put_word(clv_text *to, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/:=,+@%";
    const bool quoted = !*word || word[strspn(word, plain)];
    clv_text_put(to, to->length ? " " : "");
    clv_text_put(to, quoted ? "'" : "");
    for (; *word; word++)
        *word == '\'' ? clv_text_put(to, "'\\''") : clv_text_put_bytes(to, word, 1);
    clv_text_put(to, quoted ? "'" : "");
}

static void put_run(const cJSON *log, clvox_report *page)
{
    static const char *const names[] = {"version", "date", "device", "wisdom", "seconds_by_stage"};
    const cJSON *word;
    clv_text line = {.data = NULL};
    clvox_report_section(page, "Versions");
    cJSON *some = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cJSON_GetObjectItem(log, names[i]))
            cJSON_AddItemReferenceToObject(some, names[i], cJSON_GetObjectItem(log, names[i]));
    clvox_page_facts(page, some, 16);
    cJSON_Delete(some);
    cJSON_ArrayForEach(word, cJSON_GetObjectItem(log, "command")) put_word(&line, word->valuestring);
    clvox_report_section(page, "Command");
    clv_report_command(page, line.data ? line.data : "");
    page->body.failed = page->body.failed || line.failed;
    free(line.data);
}

int clvox_page_end(const cJSON *log, clvox_report **page, int status, const char *path)
{
    if (status >= 0) {
        if (!(*page)->optioned && cJSON_GetObjectItem(log, "options")) {
            clvox_report_section(*page, "Options");
            clvox_page_facts(*page, cJSON_GetObjectItem(log, "options"), 16);
        }
        put_inputs(log, *page);
        put_run(log, *page);
        status = clvox_report_write(*page, path);
    }
    clvox_report_destroy(page);
    return status;
}
