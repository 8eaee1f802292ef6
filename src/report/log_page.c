/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/files.h"

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
        {"matrix_ras", "affine, fixed to moving, RAS mm"},
        {"metric_linear", "metric after the affine"},
        {"metric_after", "metric at the end"},
        {"ncc_before", "correlation before"},
        {"ncc_linear", "correlation after the affine"},
        {"ncc_after", "correlation at the end"},
        {"mean_linear_mm", "mean after the affine, mm"},
        {"largest_linear_mm", "largest after the affine, mm"},
        {"term_linear", "term after the affine"},
        {"hellinger_linear", "Hellinger distance after the affine"},
        {"shift_mm", "translation mm"},
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
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (key && !strcmp(key, titles[i][0]))
            return titles[i][1];
    return key ? key : "";
}

/* "4, 2, 1", and rows of a matrix with semicolons between them. */
static void say(const cJSON *item, char *out, size_t room)
{
    const cJSON *one;
    size_t used = 0;
    *out = 0;
    if (cJSON_IsString(item)) {
        snprintf(out, room, "%s", item->valuestring);
    } else if (cJSON_IsNumber(item)) {
        const bool whole =
            item->valuedouble == nearbyint(item->valuedouble) && fabs(item->valuedouble) < 1e15;
        snprintf(out, room, whole ? "%.0f" : "%.6g", item->valuedouble);
    } else if (cJSON_IsBool(item)) {
        snprintf(out, room, "%s", cJSON_IsTrue(item) ? "yes" : "no");
    } else if (cJSON_IsArray(item)) {
        cJSON_ArrayForEach(one, item)
        {
            used += (size_t)snprintf(out + used, room - used, "%s",
                                     !used                ? ""
                                     : cJSON_IsArray(one) ? "; "
                                                          : ", ");
            if (used + 64 > room)
                return;
            say(one, out + used, room - used);
            used += strlen(out + used);
        }
    } else {
        snprintf(out, room, "unknown");
    }
}

static void add_facts(clvox_report *page, const cJSON *object, const char *before, int most)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        char name[NAME], value[VALUE];
        snprintf(name, sizeof name, "%s%s%s", before, *before ? ", " : "", title_of(item->string));
        for (char *at = name; *at; at++)
            *at = *at == '_' ? ' ' : *at;
        if (cJSON_IsObject(item)) {
            add_facts(page, item, name, most);
        } else if (!cJSON_IsArray(item) ||
                   (cJSON_GetArraySize(item) <= most && !cJSON_IsObject(item->child))) {
            say(item, value, sizeof value);
            clvox_report_fact(page, name, *value ? value : "none");
        }
    }
}

void clvox_page_facts(clvox_report *page, const cJSON *object, int most)
{
    if (object)
        add_facts(page, object, "", most);
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
        say(cJSON_GetObjectItem(input, "bytes"), bytes, sizeof bytes);
        const clvox_report_cell cells[] = {{.text = cJSON_GetStringValue(cJSON_GetObjectItem(input, "path"))},
                                           {.text = bytes},
                                           {.text = crc ? crc->valuestring : ""}};
        clvox_report_row(page, cells);
    }
}

static void put_run(const cJSON *log, clvox_report *page)
{
    static const char *const names[] = {"version", "date", "device", "wisdom", "seconds_by_stage"};
    const cJSON *word;
    char line[VALUE] = "";
    clvox_report_section(page, "Versions");
    cJSON *some = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cJSON_GetObjectItem(log, names[i]))
            cJSON_AddItemReferenceToObject(some, names[i], cJSON_GetObjectItem(log, names[i]));
    clvox_page_facts(page, some, 16);
    cJSON_Delete(some);
    cJSON_ArrayForEach(word, cJSON_GetObjectItem(log, "command")) snprintf(
        line + strlen(line), sizeof line - strlen(line), "%s%s", *line ? " " : "", word->valuestring);
    clvox_report_text(page, line);
}

int clvox_page_end(const cJSON *log, clvox_report **page, int status, const char *path)
{
    if (status >= 0) {
        put_inputs(log, *page);
        if (cJSON_GetObjectItem(log, "options")) {
            clvox_report_section(*page, "Options");
            clvox_page_facts(*page, cJSON_GetObjectItem(log, "options"), 16);
        }
        put_run(log, *page);
        status = clvox_report_write(*page, path);
    }
    clvox_report_destroy(page);
    return status;
}
