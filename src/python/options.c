/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the module clvox._options to standard output: the options of each table with the types that Python
 * gives them, as the tables of the library say. */
#include <stdio.h>
#include <string.h>

#include <clvox/clvox.h>

typedef const clvox_option_table *(*table)(void);

/* A function that takes options: those of its own table, then those of another that are not among them. */
static const struct {
    const char *verb, *name;
    table own, other;
} functions[] = {
    {"register", "RegisterOptions", clvox_register_table, NULL},
    {"register series", "SeriesOptions", clvox_series_table, NULL},
    {"segment", "SegmentOptions", clvox_segment_table, NULL},
    {"atlas", "AtlasOptions", clvox_atlas_table, clvox_register_table},
    {"stats", "StatsOptions", clvox_stats_table, NULL},
    {"entropy", "EntropyOptions", clvox_entropy_table, NULL},
    {"surface denoise", "SurfaceDenoiseOptions", clvox_denoise_table, NULL},
    {"tensor fit", "TensorFitOptions", clvox_tensor_fit_table, NULL},
    {"tensor denoise", "TensorDenoiseOptions", clvox_tensor_denoise_table, NULL},
    {"filter nlm", "NlmOptions", clvox_nlm_table, NULL},
    {"filter tv", "TvOptions", clvox_tv_table, NULL},
    {"filter n4", "N4Options", clvox_bias_table, NULL},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* "Literal['a', 'b']" of a choice that takes its words alone. */
static int is_literal(const clvox_option_table *of, int at, const clvox_option_text *text, char out[512])
{
    char words[512] = "";
    const char *word;
    strcpy(out, "Literal[");
    for (int i = 0; (word = clvox_option_word(of, at, i)) && strlen(out) + strlen(word) < 500; i++) {
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? "|" : "", word);
        snprintf(out + strlen(out), 512 - strlen(out), "%s'%s'", i ? ", " : "", word);
    }
    strcat(out, "]");
    return *words && !strcmp(words, text->argument);
}

static void write_option(const clvox_option_table *of, int at, const clvox_option_text *text)
{
    static const char *const names[] = {"bool", "int", "float", "str", "Union[int, Sequence[int], str]",
                                        "Union[float, Sequence[float], str]"};
    char literal[512], *key = literal;
    const char *type = names[text->type];
    if (text->type == CLVOX_OPTION_CHOICE && is_literal(of, at, text, literal))
        type = literal;
    else if (text->type == CLVOX_OPTION_INTEGER && strcmp(text->argument, "N"))
        type = "Union[int, str]";
    else if (text->type == CLVOX_OPTION_NUMBER && strcmp(text->argument, "N"))
        type = names[CLVOX_OPTION_NUMBERS];
    char name[64];
    snprintf(name, sizeof name, "%s", text->name);
    for (key = name; *key; key++)
        if (*key == '-')
            *key = '_';
    printf("    '%s%s': Optional[%s],\n", name, strcmp(name, "lambda") ? "" : "_", type);
}

static void write_table(const clvox_option_table *of, const clvox_option_table *without)
{
    clvox_option_text text;
    for (int at = 0; clvox_option_describe(of, at, &text); at++)
        /* clvox.register has an init of its own, which is more than a word. */
        if (text.name && strcmp(text.name, "init") && (!without || clvox_option_find(without, text.name) < 0))
            write_option(of, at, &text);
}

int main(void)
{
    printf("# Made by src/python/options.c from the tables of the library.\n"
           "from typing import Any, Dict, Literal, Optional, Sequence, TypedDict, Union\n");
    for (int i = 0; i < FUNCTIONS; i++) {
        printf("\n%s = TypedDict('%s', {\n", functions[i].name, functions[i].name);
        write_table(functions[i].own(), NULL);
        if (functions[i].other)
            write_table(functions[i].other(), functions[i].own());
        printf("}, total=False)\n");
    }
    printf("\nOF: Dict[str, Any] = {");
    for (int i = 0; i < FUNCTIONS; i++)
        printf("%s'%s': %s", i ? ", " : "", functions[i].verb, functions[i].name);
    printf("}\n");
    return 0;
}
