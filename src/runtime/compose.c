/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compose.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* Finds what a program of ours defines at file scope: functions, types, tags,
 * enumerators, constants, and macros. It is no preprocessor: conditions are not
 * looked at, so that all branches count, and macros are expanded at file scope
 * alone, where they make functions. A name too many does no harm. */

enum { DEEPEST = 8 };

typedef struct names {
    char **list;
    int count;
    bool failed;
} names;

typedef struct macro {
    char *name, *parameters, *body; /* parameters: NULL where it has none */
} macro;

typedef struct scan {
    names scope, macros; /* what to rename, and what to forget in the end */
    macro *known;        /* as of the place that the scan has reached */
    int known_count;
    /* of the declaration that the scan is in */
    int braces, parens;
    bool is_typedef, in_attribute, wants_tag, in_enum, wants_enumerator;
    bool recorded;
    char last[80], function[80];
} scan;

static void add_name(names *n, const char *name, size_t length)
{
    for (int i = 0; i < n->count; i++)
        if (strlen(n->list[i]) == length && !memcmp(n->list[i], name, length))
            return;
    char **grown = realloc(n->list, (size_t)(n->count + 1) * sizeof *grown);
    if (grown)
        n->list = grown;
    char *copy = grown ? strndup(name, length) : NULL;
    if (copy)
        grown[n->count++] = copy;
    else
        n->failed = true;
}

static void free_names(names *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    if (isalpha((unsigned char)at[0]) || at[0] == '_')
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
    return length;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(at, word, length);
}

static bool has_name(const names *n, const char *name, size_t length)
{
    for (int i = 0; i < n->count; i++)
        if (is_word(name, length, n->list[i]))
            return true;
    return false;
}

/* ---- macros ---- */

static void forget_macro(scan *s, const char *name, size_t length)
{
    for (int i = 0; i < s->known_count; i++)
        if (is_word(name, length, s->known[i].name)) {
            free(s->known[i].name);
            free(s->known[i].parameters);
            free(s->known[i].body);
            s->known[i] = s->known[--s->known_count];
            return;
        }
}

/* A directive as one line without comments, from behind its #. */
static void directive(scan *s, const char *line)
{
    bool defines = !strncmp(line, "define ", 7);
    if (!defines && strncmp(line, "undef ", 6) != 0)
        return;
    line += defines ? 7 : 6;
    line += strspn(line, " \t");
    size_t length = word_length(line);
    forget_macro(s, line, length);
    if (!defines)
        return;
    add_name(&s->macros, line, length);
    const char *parameters = NULL, *end = line + length;
    if (*end == '(') {
        parameters = end + 1;
        end = strchr(end, ')');
        if (!end)
            return;
    }
    macro m = {strndup(line, length), parameters ? strndup(parameters, (size_t)(end - parameters)) : NULL,
               strdup(parameters ? end + 1 : end)};
    macro *grown = realloc(s->known, (size_t)(s->known_count + 1) * sizeof *grown);
    if (grown)
        s->known = grown;
    if (!grown || !m.name || !m.body || (parameters && !m.parameters)) {
        s->macros.failed = true;
        free(m.name);
        free(m.parameters);
        free(m.body);
        return;
    }
    grown[s->known_count++] = m;
}

static const macro *find_macro(const scan *s, const char *name, size_t length)
{
    for (int i = 0; i < s->known_count; i++)
        if (is_word(name, length, s->known[i].name))
            return &s->known[i];
    return NULL;
}

/* The number'th item of a list parted by commas outside of parentheses. */
static bool item_of(const char *list, size_t length, int number, const char **item, size_t *item_length)
{
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= length; i++) {
        char c = i < length ? list[i] : ',';
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c != ',' || depth > 0)
            continue;
        if (number-- == 0) {
            while (start < i && isspace((unsigned char)list[start]))
                start++;
            while (i > start && isspace((unsigned char)list[i - 1]))
                i--;
            *item = list + start;
            *item_length = i - start;
            return true;
        }
        start = i + 1;
    }
    return false;
}

/* The body of a macro with its arguments in place and ## done. */
static char *substitute(const macro *m, const char *arguments, size_t length)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    for (const char *at = m->body; *at;) {
        size_t word = word_length(at), item_length = 0;
        const char *item = NULL;
        const char *gap = at + strspn(at, " \t");
        if (gap[0] == '#' && gap[1] == '#') {
            at = gap + 2;
            at += strspn(at, " \t");
            continue;
        }
        if (word == 0) {
            fputc(*at++, to);
            continue;
        }
        const char *parameter;
        size_t parameter_length;
        for (int i = 0; m->parameters && !item &&
                        item_of(m->parameters, strlen(m->parameters), i, &parameter, &parameter_length); i++)
            if (parameter_length == word && !memcmp(parameter, at, word) &&
                !item_of(arguments, length, i, &item, &item_length))
                break;
        fwrite(item ? item : at, 1, item ? item_length : word, to);
        at += word;
    }
    fclose(to);
    return text;
}

/* ---- declarations ---- */

static void end_declaration(scan *s)
{
    s->is_typedef = s->wants_tag = s->in_enum = s->recorded = false;
    s->last[0] = s->function[0] = 0;
}

static void record(scan *s)
{
    if (s->last[0] && !s->recorded)
        add_name(&s->scope, s->last, strlen(s->last));
    s->recorded = true;
}

static void mark(scan *s, char c)
{
    switch (c) {
    case '(':
        if (s->parens++ == 0 && s->braces == 0 && !s->in_attribute && !s->is_typedef)
            memcpy(s->function, s->last, sizeof s->last);
        break;
    case ')':
        if (s->parens > 0 && --s->parens == 0)
            s->in_attribute = false;
        break;
    case '{':
        if (s->braces++ == 0) {
            if (s->function[0] && !s->is_typedef && !s->recorded)
                add_name(&s->scope, s->function, strlen(s->function));
            s->wants_enumerator = s->in_enum;
        }
        break;
    case '}':
        if (s->braces > 0 && --s->braces == 0 && s->function[0])
            end_declaration(s);
        s->in_enum = false;
        break;
    case ',':
        s->wants_enumerator = s->in_enum && s->braces == 1 && s->parens == 0;
        break;
    case '=':
    case '[':
        if (s->braces == 0 && s->parens == 0)
            record(s);
        break;
    case ';':
        if (s->braces == 0 && s->parens == 0) {
            if (s->function[0])
                add_name(&s->scope, s->function, strlen(s->function));
            else
                record(s);
            end_declaration(s);
        }
        break;
    default:
        break;
    }
}

static void word(scan *s, const char *at, size_t length)
{
    if (s->braces == 1 && s->in_enum) {
        if (s->wants_enumerator)
            add_name(&s->scope, at, length);
        s->wants_enumerator = false;
    }
    if (s->braces > 0 || s->parens > 0)
        return;
    if (is_word(at, length, "__attribute__")) {
        s->in_attribute = true;
    } else if (is_word(at, length, "typedef")) {
        s->is_typedef = true;
    } else if (is_word(at, length, "struct") || is_word(at, length, "union") || is_word(at, length, "enum")) {
        s->wants_tag = true;
        s->in_enum = at[0] == 'e';
        s->last[0] = 0;
    } else {
        if (s->wants_tag)
            add_name(&s->scope, at, length);
        s->wants_tag = false;
        snprintf(s->last, sizeof s->last, "%.*s", (int)length, at);
    }
}

/* Code between two directives, without comments. */
static void code(scan *s, const char *text, int depth)
{
    for (const char *at = text; *at;) {
        size_t length = word_length(at);
        if (length == 0) {
            if (isdigit((unsigned char)*at)) { /* 1e5f is no name */
                while (isalnum((unsigned char)*at) || *at == '.' || *at == '_')
                    at++;
                continue;
            }
            /* Branches that both open a brace: house style has the last one in the first column. */
            if (*at == '}' && s->braces > 1 && (at == text || at[-1] == '\n'))
                s->braces = 1;
            mark(s, *at++);
            continue;
        }
        const macro *m = NULL;
        if (s->braces == 0 && s->parens == 0 && depth < DEEPEST)
            m = find_macro(s, at, length);
        const char *open = at + length + strspn(at + length, " \t\n"), *next = at + length;
        if (m && m->parameters && *open != '(')
            m = NULL;
        if (m) {
            size_t inner = 0;
            if (m->parameters) {
                int deep = 1;
                for (const char *c = open + 1; *c && deep > 0; c++, inner++)
                    deep += *c == '(' ? 1 : *c == ')' ? -1 : 0;
                next = open + 1 + inner;
                inner -= inner > 0;
            }
            char *made = substitute(m, open + 1, inner);
            if (made)
                code(s, made, depth + 1);
            else
                s->macros.failed = true;
            free(made);
        } else {
            word(s, at, length);
        }
        at = next;
    }
}

/* A copy of text without comments and with continued lines joined. Lines lose
 * no end but the joined ones. NULL without memory. */
static char *without_comments(const char *text)
{
    char *clean = malloc(strlen(text) + 1), *to = clean;
    for (const char *at = text; clean && *at;) {
        if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
            *to++ = ' ';
        } else if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '\\' && at[1] == '\n') {
            at += 2;
            *to++ = ' ';
        } else {
            *to++ = *at++;
        }
    }
    if (clean)
        *to = 0;
    return clean;
}

/* Writes code line by line, without margins, empty lines and #line: compilers
 * read a composed program at every start. What one branch has as a function
 * another may have as a macro, which then takes the renaming's place. */
static void write_tight(const char *clean, const names *scope, FILE *to)
{
    for (const char *line = clean; *line;) {
        line += strspn(line, " \t");
        size_t length = strcspn(line, "\n");
        if (length > 0 && strncmp(line, "#line", 5) != 0) {
            const char *name = line + strspn(line, "# \t");
            size_t word = line[0] == '#' && !strncmp(name, "define ", 7) ? word_length(name + 7) : 0;
            if (word > 0 && has_name(scope, name + 7, word))
                fprintf(to, "#undef %.*s\n", (int)word, name + 7);
            fwrite(line, 1, length, to);
            fputc('\n', to);
        }
        line += length + (line[length] == '\n');
    }
}

static void scan_source(scan *s, char *text)
{
    char *start = text;
    for (char *line = text; *line;) {
        char *end = line + strcspn(line, "\n"), *hash = line + strspn(line, " \t");
        bool more = *end == '\n';
        if (*hash == '#') {
            *line = *end = 0;
            code(s, start, 0);
            directive(s, hash + 1 + strspn(hash + 1, " \t"));
            start = end + more;
        }
        line = end + more;
    }
    code(s, start, 0);
}

/* ---- the unit ---- */

/* The next word of options, parted by spaces; NULL at their end. */
static const char *next_option(const char *at, size_t *length)
{
    at += strspn(at, " ");
    *length = strcspn(at, " ");
    return *length ? at : NULL;
}

void clv_compose_common(const char *options, char *common, size_t room)
{
    size_t length, used = 0;
    common[0] = 0;
    for (const char *at = options; (at = next_option(at, &length)); at += length)
        if (strncmp(at, "-D", 2) != 0 && used + length + 2 <= room)
            used += (size_t)snprintf(common + used, room - used, "%s%.*s", used ? " " : "", (int)length, at);
}

int clv_compose_unit(const char *source, const char *options, const char *suffix, FILE *to)
{
    int status = CLVOX_OK;
    scan s = {.braces = 0};
    size_t length;
    char *clean = without_comments(source), *code_text = NULL;
    if (!clean) {
        s.scope.failed = true;
        goto end;
    }
    for (const char *at = options; (at = next_option(at, &length)); at += length) {
        if (strncmp(at, "-D", 2) != 0)
            continue;
        size_t name = word_length(at + 2);
        bool has_value = at[2 + name] == '=';
        add_name(&s.macros, at + 2, name);
        fprintf(to, "#define %.*s %.*s\n", (int)name, at + 2, has_value ? (int)(length - name - 3) : 1,
                has_value ? at + name + 3 : "1");
    }
    code_text = strdup(clean);
    if (!code_text) {
        s.scope.failed = true;
        goto end;
    }
    scan_source(&s, clean);
    for (int i = 0; i < s.scope.count; i++)
        fprintf(to, "#define %s %s%s\n", s.scope.list[i], s.scope.list[i], suffix);
    write_tight(code_text, &s.scope, to);
    for (int i = 0; i < s.macros.count; i++)
        fprintf(to, "#undef %s\n", s.macros.list[i]);
    for (int i = 0; i < s.scope.count; i++)
        fprintf(to, "#undef %s\n", s.scope.list[i]);
end:
    if (s.scope.failed || s.macros.failed)
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    while (s.known_count > 0)
        forget_macro(&s, s.known[0].name, strlen(s.known[0].name));
    free(s.known);
    free_names(&s.scope);
    free_names(&s.macros);
    free(clean);
    free(code_text);
    return status;
}
