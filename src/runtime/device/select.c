/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "runtime/device/select.h"
#include "runtime/driver/driver.h"

static bool is_third_party(const clvox_device *d)
{
    return clv_driver_of(d->limits.platform)->of_others;
}

static bool only_asked(const clvox_device *d)
{
    const clv_driver *driver = clv_driver_of(d->limits.platform);
    return driver->only_asked && driver->only_asked(&d->limits);
}

static int type_rank(clvox_device_type type)
{
    return type == CLVOX_DEVICE_GPU ? 0 : type == CLVOX_DEVICE_ACCELERATOR ? 1 : 2;
}

static bool better(const clvox_device *a, const clvox_device *b)
{
    if (a->usable != b->usable)
        return a->usable;
    if (only_asked(a) != only_asked(b))
        return only_asked(b);
    if (type_rank(a->limits.type) != type_rank(b->limits.type))
        return type_rank(a->limits.type) < type_rank(b->limits.type);
    double speed_a = (double)a->limits.compute_units * a->limits.clock_mhz;
    double speed_b = (double)b->limits.compute_units * b->limits.clock_mhz;
    if (speed_a != speed_b)
        return speed_a > speed_b;
    return a->limits.global_bytes > b->limits.global_bytes;
}

void clv_devices_rank(clvox_device *list, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            clvox_device *a = &list[i], *b = &list[j];
            if (!a->usable || !b->usable || !a->limits.pci[0] || strcmp(a->limits.pci, b->limits.pci) ||
                a->limits.type != b->limits.type)
                continue;
            clvox_device *second = is_third_party(a) && !is_third_party(b) ? a : b;
            const clvox_device *kept = second == a ? b : a;
            second->usable = false;
            snprintf(second->reason, sizeof second->reason, "the same device as %.60s of %.60s",
                     kept->limits.name, kept->limits.platform);
        }
    for (int i = 1; i < count; i++) { /* stable: equals keep the drivers' order */
        clvox_device moved = list[i];
        int at = i;
        for (; at > 0 && better(&moved, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = moved;
    }
}

static int refuse(const clvox_device *list, int count, const char *problem, const char *selection)
{
    char text[1200] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof text - 1; i++)
        if (list[i].usable)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %.60s (%.50s)",
                                     used ? ", " : "", i, list[i].limits.name, list[i].limits.platform);
    return clvox_fail(CLVOX_ERROR_DEVICE, "device \"%.80s\": %s; usable are: %s", selection, problem,
                      used ? text : "none");
}

/* Whether part occurs in text, in any case. */
static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

/* The selection by the caller, else by the environment; NULL: none. */
static const char *wish(const char *selection)
{
    if (!selection || !selection[0])
        selection = getenv("CLVOX_DEVICE");
    return selection && selection[0] ? selection : NULL;
}

/* "gpu:all"; the length of what stands before the colon, 0: it is none. */
static int all_of_type(const char *selection)
{
    const char *colon = strchr(selection, ':');
    return colon && !strcasecmp(colon, ":all") ? (int)(colon - selection) : 0;
}

static int type_named(const char *word, int length)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator"};
    for (int t = 0; t < 3; t++)
        if ((int)strlen(types[t]) == length && !strncasecmp(word, types[t], (size_t)length))
            return t;
    return -1;
}

static int select_type(const clvox_device *list, int count, const char *selection,
                       int chosen[CLV_MOST_SELECTED])
{
    int found = 0;
    const int type = type_named(selection, all_of_type(selection));
    if (type < 0)
        return refuse(list, count, "gpu:all, cpu:all and accelerator:all are known", selection);
    for (int i = 0; i < count && found < CLV_MOST_SELECTED; i++)
        if (list[i].usable && (int)list[i].limits.type == type)
            chosen[found++] = i;
    return found ? found : refuse(list, count, "there is none such", selection);
}

int clv_devices_select(const clvox_device *list, int count, const char *selection,
                       int chosen[CLV_MOST_SELECTED])
{
    int found = 0;
    selection = wish(selection);
    if (selection && all_of_type(selection))
        return select_type(list, count, selection, chosen);
    const char *rest = selection ? selection : "";
    for (bool more = true; more;) {
        char word[128];
        const size_t length = strcspn(rest, ",");
        more = rest[length] == ',';
        if (found == CLV_MOST_SELECTED || length >= sizeof word || (more && !length) || (found && !length))
            return refuse(list, count, "a list is at most 64 devices with commas between them", selection);
        snprintf(word, sizeof word, "%.*s", (int)length, rest);
        const int one = clv_device_select(list, count, word);
        if (one < 0)
            return one;
        chosen[found++] = one;
        rest += length + more;
    }
    return found;
}

int clv_device_select(const clvox_device *list, int count, const char *selection)
{
    selection = wish(selection);
    if (!selection) {
        if (count > 0 && list[0].usable && !only_asked(&list[0]))
            return 0;
        if (count > 0 && list[0].usable)
            return clvox_fail(CLVOX_ERROR_DEVICE,
                              "no OpenCL device: %.80s of %.40s runs kernels on the processor, but many times "
                              "slower than others; install %s, or name it with --device",
                              list[0].limits.name, list[0].limits.platform, clv_driver_packages);
        return clvox_fail(CLVOX_ERROR_DEVICE, "no OpenCL device can be used: %s is passed over, %s",
                          count ? list[0].limits.name : "nothing", count ? list[0].reason : "there is none");
    }
    char *end;
    long index = strtol(selection, &end, 10);
    if (isdigit((unsigned char)selection[0]) && !*end && index < count) {
        if (list[index].usable)
            return (int)index;
        return refuse(list, count, list[index].reason, selection);
    }
    if (strchr(selection, ',') || all_of_type(selection))
        return refuse(list, count, "one device is taken here, not a list", selection);
    const int type = type_named(selection, (int)strlen(selection));
    for (int i = 0; type >= 0 && i < count; i++)
        if (list[i].usable && (int)list[i].limits.type == type)
            return i;
    if (type >= 0)
        return refuse(list, count, "there is none such", selection);
    int found = -1, matches = 0;
    const char *reason = NULL;
    for (int i = 0; i < count; i++) {
        if (!contains(list[i].limits.name, selection) && !contains(list[i].limits.platform, selection))
            continue;
        if (!list[i].usable) {
            reason = list[i].reason;
        } else if (matches++ == 0) {
            found = i;
        }
    }
    if (matches == 1)
        return found;
    if (matches > 1)
        return refuse(list, count, "several are called so, name one by its number", selection);
    return refuse(list, count, reason ? reason : "there is none such", selection);
}
