/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/bids.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const char label_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+";

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_word(const clvox_bids_word *w, const char *text)
{
    return (size_t)w->length == strlen(text) && !memcmp(w->at, text, (size_t)w->length);
}

static bool same_word(const clvox_bids_word *a, const clvox_bids_word *b)
{
    return a == b || (a && b && a->length == b->length && !memcmp(a->at, b->at, (size_t)a->length));
}

static clvox_bids_word take(const char **at, const char *of)
{
    const clvox_bids_word w = {*at, (int)strspn(*at, of)};
    *at += w.length;
    return w;
}

const clvox_bids_word *clvox_bids_find(const clvox_bids_name *name, const char *key)
{
    for (int i = 0; i < name->count; i++)
        if (is_word(&name->key[i], key))
            return &name->label[i];
    return NULL;
}

bool clvox_bids_read(const char *path, clvox_bids_name *out)
{
    const char *at = last_part(path);
    *out = (clvox_bids_name){.count = 0};
    if (strlen(at) > NAME_MAX)
        return false;
    for (;;) {
        const clvox_bids_word word = take(&at, letters);
        if (!word.length)
            return false;
        if (*at != '-') {
            out->suffix = word;
            return out->count > 0 && *at == '.';
        }
        at++;
        const clvox_bids_word label = take(&at, label_letters);
        if (!label.length || *at++ != '_' || out->count == CLVOX_BIDS_ENTITIES)
            return false;
        for (int i = 0; i < out->count; i++)
            if (same_word(&out->key[i], &word))
                return false;
        out->key[out->count] = word;
        out->label[out->count++] = label;
    }
}

bool clvox_bids_is_label(const char *text)
{
    const size_t length = strlen(text);
    return length > 0 && length < 100 && strspn(text, letters) == length;
}

/* ---- put together ---------------------------------------------------------- */

/* Texts of NAME_MAX characters; what has no room spoils the whole. */
typedef struct text {
    char *out;
    size_t length;
    bool whole;
} text;

static text begin(char out[CLVOX_BIDS_ROOM])
{
    *out = 0;
    return (text){out, 0, true};
}

static void put(text *t, const char *at, size_t length)
{
    t->whole = t->whole && t->length + length < CLVOX_BIDS_ROOM;
    if (!t->whole)
        return;
    memcpy(t->out + t->length, at, length);
    t->out[t->length += length] = 0;
}

static void put_text(text *t, const char *at)
{
    put(t, at, strlen(at));
}

static void put_word(text *t, const char *before, const clvox_bids_word *w)
{
    if (!w)
        return;
    put_text(t, before);
    put(t, w->at, (size_t)w->length);
}

/* Entities of the image itself: those of space, grid and description belong to one file. */
static bool is_of_file(const clvox_bids_word *key)
{
    static const char *const those[] = {"space", "cohort", "res",  "den", "label", "seg",
                                        "desc",  "from",   "mode", "to",  "atlas", "scale"};
    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        if (is_word(key, those[i]))
            return true;
    return false;
}

/* A template with the number of its cohort, as in to-NAME+1. */
static void put_space(text *t, const clvox_bids_word *space, const clvox_bids_word *cohort)
{
    put_word(t, "", space);
    put_word(t, "+", cohort);
}

bool clvox_bids_space(const char *fixed, const clvox_bids_name *moving, char out[CLVOX_BIDS_ROOM])
{
    clvox_bids_name name;
    text t = begin(out);
    const bool named = clvox_bids_read(fixed, &name);
    const clvox_bids_word *subject = named ? clvox_bids_find(&name, "sub") : NULL,
                          *template = named ? clvox_bids_find(&name, "tpl") : NULL,
                          *space = named ? clvox_bids_find(&name, "space") : NULL;
    if (template || space) {
        put_space(&t, space ? space : template, clvox_bids_find(&name, "cohort"));
    } else if (subject) {
        const clvox_bids_word *session = clvox_bids_find(&name, "ses");
        const bool same = same_word(subject, clvox_bids_find(moving, "sub")) &&
                          same_word(session, clvox_bids_find(moving, "ses"));
        if (same && !same_word(&name.suffix, &moving->suffix)) {
            put_word(&t, "", &name.suffix);
        } else { /* images of one session differ in more */
            for (int i = 0; i < name.count; i++)
                if (same || &name.label[i] == subject || &name.label[i] == session) {
                    put_word(&t, "", &name.key[i]);
                    put_word(&t, "", &name.label[i]);
                }
        }
    } else {
        const char *at = last_part(fixed);
        for (size_t n; *at && *at != '.'; at += n + (at[n] && at[n] != '.'))
            put(&t, at, n = strspn(at, letters));
    }
    return t.whole && t.length > 0 && t.length < 100;
}

/* The folder that a file of this suffix lies in, where its own has another name. */
static const char *folder_of(const char *path, const clvox_bids_word *suffix)
{
    static const char *const folders[] = {"anat", "func", "dwi", "perf", "pet", "fmap", "micr"};
    static const char *const others[][2] = {{"bold", "func"},  {"boldref", "func"}, {"sbref", "func"},
                                            {"dwi", "dwi"},    {"asl", "perf"},     {"m0scan", "perf"},
                                            {"dwimap", "dwi"}, {"pet", "pet"},      {"epi", "fmap"}};
    const char *end = last_part(path) - 1, *at = end;
    while (at > path && at[-1] != '/')
        at--;
    for (size_t i = 0; end > path && i < sizeof folders / sizeof *folders; i++)
        if (strlen(folders[i]) == (size_t)(end - at) && !strncmp(at, folders[i], (size_t)(end - at)))
            return folders[i];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_word(suffix, others[i][0]))
            return others[i][1];
    return "anat";
}

bool clvox_bids_subject(const char *image, const char *labels, const char *space, const clvox_bids_word *res,
                        clvox_bids_target *out)
{
    clvox_bids_name name, of_labels;
    const bool named = clvox_bids_read(image, &name);
    const clvox_bids_word *subject = named ? clvox_bids_find(&name, "sub") : NULL;
    if (!subject)
        return false;
    const clvox_bids_word *session = clvox_bids_find(&name, "ses"), *in = clvox_bids_find(&name, "space");
    text folder = begin(out->folder), own = begin(out->subject), stem = begin(out->stem),
         from = begin(out->from), to = begin(out->to), grid = begin(out->grid), of_image = begin(out->image),
         map = begin(out->labels);
    put_word(&own, "sub-", subject);
    put_word(&folder, "sub-", subject);
    put_word(&folder, "/ses-", session);
    put_text(&folder, "/");
    put_text(&folder, folder_of(image, &name.suffix));
    put_text(&folder, "/");
    for (int i = 0; i < name.count; i++)
        if (!is_of_file(&name.key[i])) {
            put_word(&stem, stem.length ? "_" : "", &name.key[i]);
            put_word(&stem, "-", &name.label[i]);
        }
    put_space(&from, in ? in : &name.suffix, in ? clvox_bids_find(&name, "cohort") : NULL);
    put_text(&to, space);
    put_text(&grid, "_space-");
    put_text(&grid, space);
    put_word(&grid, "_res-", res);
    put_word(&of_image, "_desc-", clvox_bids_find(&name, "desc"));
    put_word(&of_image, "_", &name.suffix);
    const bool both = labels && clvox_bids_read(labels, &of_labels);
    put_text(&map, "_space-");
    put_text(&map, space);
    put_word(&map, "_seg-", both ? clvox_bids_find(&of_labels, "seg") : NULL);
    put_word(&map, "_res-", res);
    put_word(&map, "_desc-", both ? clvox_bids_find(&of_labels, "desc") : NULL);
    put_text(&map, both && is_word(&of_labels.suffix, "mask") ? "_mask" : "_dseg");
    return folder.whole && own.whole && stem.whole && from.whole && to.whole && grid.whole &&
           of_image.whole && map.whole;
}

bool clvox_bids_template(const char *space, int cohort, const clvox_bids_word *suffix, clvox_bids_target *out)
{
    char number[32] = "";
    text folder = begin(out->folder), own = begin(out->subject), stem = begin(out->stem),
         image = begin(out->image), map = begin(out->labels);
    *out->from = *out->to = *out->grid = 0;
    if (cohort > 0)
        snprintf(number, sizeof number, "cohort-%d", cohort);
    put_text(&own, "tpl-");
    put_text(&own, space);
    put_text(&folder, out->subject);
    put_text(&folder, *number ? "/" : "");
    put_text(&folder, number);
    put_text(&folder, "/");
    put_text(&stem, out->subject);
    put_text(&stem, *number ? "_" : "");
    put_text(&stem, number);
    put_word(&image, "_", suffix);
    put_text(&map, "_dseg");
    return folder.whole && own.whole && stem.whole && image.whole && map.whole;
}

/* Whether every part of a path can be the name of a file. */
static bool fits(const char *path)
{
    for (size_t n; *path; path += n + (path[n] == '/'))
        if ((n = strcspn(path, "/")) > NAME_MAX - 32) /* temporary files have longer names */
            return false;
    return true;
}

bool clvox_bids_expand(const char *pattern, const clvox_bids_target *t, char out[PATH_MAX])
{
    size_t length = 0;
    for (; *pattern; pattern++) {
        const char *part[3] = {"", "", ""};
        char own[2] = {*pattern, 0};
        switch (*pattern == '%' ? *++pattern : 0) {
        case 'P':
            part[0] = t->folder;
            part[2] = t->stem;
            break;
        case 'F':
            part[0] = t->subject;
            part[1] = "/figures/";
            part[2] = t->stem;
            break;
        case 'L':
            part[1] = "logs/";
            part[2] = t->stem;
            break;
        case 'g': part[0] = t->grid; break;
        case 'a': part[0] = t->from; break;
        case 'b': part[0] = t->to; break;
        case 'i': part[0] = t->image; break;
        case 'l': part[0] = t->labels; break;
        default: part[0] = own; break;
        }
        for (int i = 0; i < 3; i++) {
            const size_t more = strlen(part[i]);
            if (length + more >= PATH_MAX)
                return false;
            memcpy(out + length, part[i], more);
            length += more;
        }
    }
    out[length] = 0;
    return fits(out);
}

bool clvox_bids_ending(const char *path, const char *ending, char out[PATH_MAX])
{
    const char *name = last_part(path);
    const int length = (int)(name - path) + (int)strcspn(name, ".");
    return snprintf(out, PATH_MAX, "%.*s%s", length, path, ending) < PATH_MAX;
}
