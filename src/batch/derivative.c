/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/derivative.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/place.h"
#include "clvox/clvox.h"
#include "clvox/command/bids.h"
#include "clvox/command/record.h"
#include "clvox/files.h"

static const char description_name[] = "dataset_description.json", ignored_name[] = ".bidsignore";

/* ---- where a folder lies --------------------------------------------------- */

/* The path without links and dots, also of what is not there yet. */
static bool resolve(const char *path, char out[PATH_MAX])
{
    char *place = clv_place(*path ? path : ".");
    const bool fits = place && strlen(place) < PATH_MAX;
    if (fits)
        strcpy(out, place);
    free(place);
    return fits;
}

/* The rest of a path below a folder; NULL: it lies elsewhere. Both are resolved. */
static const char *below(const char *path, const char *folder)
{
    const size_t length = strcmp(folder, "/") ? strlen(folder) : 0;
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length])
               ? path + length + (path[length] == '/')
               : NULL;
}

typedef enum kind { NONE, RAW, DERIVATIVE, UNREADABLE } kind;

static bool has_text(const cJSON *object, const char *name)
{
    return cJSON_IsString(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Kind of a folder by its description. */
static kind kind_of(const char *folder)
{
    enum { MOST = 1 << 24 };
    char path[PATH_MAX + 32], *content = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, description_name);
    if (access(path, F_OK))
        return NONE;
    if (clvox_file_read(path, MOST, &content, NULL) < 0)
        return UNREADABLE;
    cJSON *all = cJSON_Parse(content);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(all, "DatasetType");
    /* Without a type, the name of the pipeline tells. */
    const bool pipeline =
        cJSON_HasObjectItem(all, "GeneratedBy") || cJSON_HasObjectItem(all, "PipelineDescription");
    const kind is =
        !cJSON_IsObject(all) || !has_text(all, "Name") || !has_text(all, "BIDSVersion") ? UNREADABLE
        : type ? (cJSON_IsString(type) && !strcmp(type->valuestring, "derivative") ? DERIVATIVE : RAW)
               : (pipeline ? DERIVATIVE : RAW);
    cJSON_Delete(all);
    free(content);
    return is;
}

int clvox_derivative_check(const char *folder, const char *image)
{
    char place[PATH_MAX], of_image[PATH_MAX], at[PATH_MAX];
    if (!resolve(folder, place))
        return clvox_fail(CLVOX_ERROR_FILE, "%s: is no place for a folder", folder);
    const kind own = kind_of(place);
    if (own == UNREADABLE)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s/%s: is no description of a data set (an object with Name and BIDSVersion): repair or "
            "remove it",
            folder, description_name);
    if (own == RAW)
        return clvox_fail(
            CLVOX_ERROR_FILE,
            "%s: is a raw data set, says its %s; give a folder for derivatives, as %s/derivatives/clvox",
            folder, description_name, folder);
    if (own == DERIVATIVE)
        return CLVOX_OK;
    if (image && resolve(image, of_image) && below(of_image, place))
        return clvox_fail(
            CLVOX_ERROR_FILE,
            "%s: has the image %s itself, and no %s that says it is for derivatives; give a folder as "
            "%s/derivatives/clvox",
            folder, image, description_name, folder);
    strcpy(at, place);
    for (char *slash; (slash = strrchr(at, '/'));) {
        slash[slash == at && at[1]] = 0;
        const kind is = kind_of(at);
        const char *rest = below(place, at);
        if (is == RAW && rest && strcmp(rest, "derivatives") != 0 && strncmp(rest, "derivatives/", 12) != 0)
            return clvox_fail(
                CLVOX_ERROR_FILE,
                "%s: lies in the raw data set %s; derivatives have their place in %s/derivatives, as "
                "%s/derivatives/clvox",
                folder, at, at, at);
        if (is != NONE || !strcmp(at, "/") || !*at)
            break;
    }
    return CLVOX_OK;
}

/* ---- files ----------------------------------------------------------------- */

int clvox_sidecar_write(const void *what, int unused, const char *path)
{
    (void)unused;
    return clvox_record_write(what, path);
}

static int write_description(const char *path)
{
    cJSON *all = cJSON_CreateObject(), *by = cJSON_CreateObject();
    cJSON_AddStringToObject(all, "Name", "clvox");
    cJSON_AddStringToObject(all, "BIDSVersion", "1.10.0");
    cJSON_AddStringToObject(all, "DatasetType", "derivative");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(all, "GeneratedBy"), by);
    cJSON_AddStringToObject(by, "Name", "clvox");
    cJSON_AddStringToObject(by, "Version", clvox_version());
    const int status = clvox_sidecar_write(all, 0, path);
    cJSON_Delete(all);
    return status;
}

int clvox_derivative_describe(const char *folder)
{
    /* Files that the standard does not name yet. */
    static const char lines[] = "logs\nfigures\n*_xfm.*\n*_logjac.*\n*_surface.*\n*_curves.*\n*_cloud.*\n"
                                "*_subjects.tsv\n*_summary.tsv\ngroup_*\nstats\n";
    char path[PATH_MAX], ignore[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, description_name) >= PATH_MAX ||
        snprintf(ignore, sizeof ignore, "%s/%s", folder, ignored_name) >= PATH_MAX)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", folder);
    int status = clvox_folders_make(path);
    if (status < 0 || !access(path, F_OK))
        return status;
    if (access(ignore, F_OK))
        status = clvox_file_write(ignore, lines, sizeof lines - 1);
    return status < 0 ? status : write_description(path);
}

/* ---- sidecars -------------------------------------------------------------- */

/* BIDS URI of a file of the data set; of any other file the path from the data set's folder. */
static cJSON *address_of(const char *folder, const char *path)
{
    char from[PATH_MAX], to[PATH_MAX], out[2 * PATH_MAX] = "";
    if (!resolve(folder, from) || !resolve(path, to))
        return cJSON_CreateString(path);
    const char *rest = below(to, from);
    if (rest) {
        snprintf(out, sizeof out, "bids::%s", rest);
        return cJSON_CreateString(out);
    }
    size_t used = 0;
    while (!(rest = below(to, *from ? from : "/")) && used < PATH_MAX) {
        *strrchr(from, '/') = 0;
        used += (size_t)snprintf(out + used, sizeof out - used, "../");
    }
    snprintf(out + used, sizeof out - used, "%s", rest ? rest : path);
    return cJSON_CreateString(out);
}

cJSON *clvox_sidecar(const char *description)
{
    cJSON *all = cJSON_CreateObject();
    cJSON_AddStringToObject(all, "Description", description);
    return all;
}

void clvox_sidecar_source(cJSON *sidecar, const char *folder, const char *path)
{
    cJSON *sources = cJSON_GetObjectItem(sidecar, "Sources");
    if (!sources)
        sources = cJSON_AddArrayToObject(sidecar, "Sources");
    cJSON_AddItemToArray(sources, address_of(folder, path));
}

void clvox_sidecar_grid(cJSON *sidecar, const char *folder, const char *reference, const clvox_grid *grid,
                        bool res)
{
    char resolution[128];
    double edge[3];
    cJSON_AddItemToObject(sidecar, "SpatialReference", address_of(folder, reference));
    if (!res)
        return;
    clvox_grid_spacing(grid, edge);
    snprintf(resolution, sizeof resolution, "%.4g x %.4g x %.4g mm", edge[0], edge[1], edge[2]);
    cJSON_AddStringToObject(sidecar, "Resolution", resolution);
}

bool clvox_sidecar_stripped(const char *image)
{
    enum { MOST = 1 << 24 };
    char path[PATH_MAX], *content = NULL;
    clvox_bids_name name;
    const clvox_bids_word *desc = clvox_bids_read(image, &name) ? clvox_bids_find(&name, "desc") : NULL;
    bool stripped = desc && desc->length == 5 && !strncmp(desc->at, "brain", 5);
    if (!clvox_bids_ending(image, ".json", path) || access(path, R_OK) ||
        clvox_file_read(path, MOST, &content, NULL) < 0)
        return stripped;
    cJSON *all = cJSON_Parse(content);
    const cJSON *says = cJSON_GetObjectItemCaseSensitive(all, "SkullStripped");
    if (cJSON_IsBool(says))
        stripped = cJSON_IsTrue(says);
    cJSON_Delete(all);
    free(content);
    return stripped;
}
