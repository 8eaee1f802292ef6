/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/logs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "clvox/clvox.h"
#include "clvox/command/record.h"
#include "clvox/files.h"

cJSON *clv_key_begin(const clvox_context *ctx)
{
    const clvox_device_limits *device = clvox_context_limits(ctx);
    cJSON *key = cJSON_CreateObject();
    cJSON_AddObjectToObject(key, "options");
    cJSON_AddStringToObject(key, "version", clvox_version());
    cJSON_AddStringToObject(key, "device", device->name);
    cJSON_AddStringToObject(key, "driver", device->driver);
    return key;
}

void clv_key_file(cJSON *key, const char *name, const char *path)
{
    struct stat info = {0};
    cJSON *file = path ? cJSON_AddArrayToObject(key, name) : NULL;
    if (!file)
        return;
    char when[64] = "";
    if (!stat(path, &info))
        snprintf(when, sizeof when, "%lld %lld.%09ld", (long long)info.st_size,
                 (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    cJSON_AddItemToArray(file, cJSON_CreateString(path));
    cJSON_AddItemToArray(file, cJSON_CreateString(when));
}

int clv_log_head(const char *head, const char *verb, const clvox_context *ctx, cJSON **out)
{
    char date[32];
    const time_t now = time(NULL);
    struct tm parts;
    *out = head ? cJSON_Parse(head) : cJSON_CreateObject();
    if (!*out)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the head of a list's logs is no JSON object");
    if (head)
        return CLVOX_OK;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    cJSON_AddStringToObject(*out, "program", "clvox");
    cJSON_AddStringToObject(*out, "version", clvox_version());
    cJSON_AddStringToObject(*out, "verb", verb);
    cJSON_AddStringToObject(*out, "date", date);
    clvox_record_device(*out, ctx);
    return CLVOX_OK;
}

static bool is_same_key(const char *before, const char *key, bool any_device)
{
    if (!any_device)
        return !strcmp(before, key);
    cJSON *was = cJSON_Parse(before), *is = cJSON_Parse(key);
    for (int k = 0; k < 2; k++) {
        cJSON_DeleteItemFromObject(k ? was : is, "device");
        cJSON_DeleteItemFromObject(k ? was : is, "driver");
    }
    const bool same = was && is && cJSON_Compare(was, is, true);
    cJSON_Delete(was);
    cJSON_Delete(is);
    return same;
}

cJSON *clv_log_complete(const char *path, const char *name, const char *key, bool any_device)
{
    char *text = NULL;
    size_t size;
    struct stat info;
    if (stat(path, &info) || clvox_file_read(path, (size_t)64 << 20, &text, &size) < 0)
        return NULL;
    cJSON *log = cJSON_Parse(text);
    const cJSON *before = cJSON_GetObjectItem(log, name), *file, *files = cJSON_GetObjectItem(log, "outputs");
    bool same =
        cJSON_IsString(before) && cJSON_IsArray(files) && is_same_key(before->valuestring, key, any_device);
    if (same)
        cJSON_ArrayForEach(file, files) same =
            same && cJSON_IsString(file) && !access(file->valuestring, F_OK);
    free(text);
    if (!same)
        cJSON_Delete(log);
    return same ? log : NULL;
}

double clv_log_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}
