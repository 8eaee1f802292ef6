/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a list's rows: how they begin, and how a later run knows by them what is complete. A log is
 * written last, and holds the key of all that the row's files depend on. */
#ifndef CLV_BATCH_LOGS_H
#define CLV_BATCH_LOGS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "clvox/device.h"

/* A key with version, device and driver, and an object `options`; for cJSON_Delete. */
cJSON *clv_key_begin(const clvox_context *ctx);
/* Adds a file as it is now; path NULL: none. */
void clv_key_file(cJSON *key, const char *name, const char *path);

/* What all logs begin with: head, a JSON object; NULL: program, version, verb, date, device. On success *out
 * is for cJSON_Delete. */
int clv_log_head(const char *head, const char *verb, const clvox_context *ctx, cJSON **out);

/* A row's log, for cJSON_Delete, where its field `name` is the key and all its outputs are there; else NULL.
 * any_device: whatever device and driver made it. */
cJSON *clv_log_complete(const char *path, const char *name, const char *key, bool any_device);
/* NAN: there is no such number. */
double clv_log_number(const cJSON *object, const char *name);

#endif
