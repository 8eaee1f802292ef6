/* SPDX-License-Identifier: Apache-2.0 */
/* A table of options: what it reads, refuses, checks and says. */
#include "base/options.h"
#include "base/status.h"
#include "check.h"

enum { MOST_LEVELS = 4 };

typedef struct settings {
    size_t size;
    int fast, count, mode, levels, passes[MOST_LEVELS];
    double share, width, edges[MOST_LEVELS];
} settings;

static const char *const modes[] = {"calm", "brisk", NULL};

static void follow(const void *before, void *values)
{
    const settings *old = before;
    settings *s = values;
    for (int i = 0; i < s->levels; i++)
        s->edges[i] = old->edges[0] + i;
}

static const char *idle(const clv_option *row, const void *values, const char *text)
{
    (void)row;
    (void)text;
    return ((const settings *)values)->fast ? "beside --fast" : NULL;
}

static int read_pair(const clv_option *row, const char *text, void *values)
{
    clvox_numbers numbers;
    (void)row;
    if (!clvox_numbers_read(text, &numbers) || numbers.count != 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "two numbers are wanted");
    ((settings *)values)->share = numbers.value[0] / numbers.value[1];
    return CLVOX_OK;
}

static const clv_option rows[] = {
    {.name = "fast", .type = CLVOX_OPTION_FLAG, CLV_FIELD(settings, fast), .help = "soon"},
    {.name = "the-count",
     .type = CLVOX_OPTION_INTEGER,
     CLV_FIELD(settings, count),
     .least = 1,
     .most = 9,
     .preset = true,
     .help = "how many"},
    {.name = "mode", .type = CLVOX_OPTION_CHOICE, CLV_FIELD(settings, mode), .words = modes, .help = "how"},
    {.name = "share",
     .type = CLVOX_OPTION_NUMBER,
     CLV_FIELD(settings, share),
     .most = 1,
     .open = CLV_OPTION_ABOVE | CLV_OPTION_BELOW,
     .automatic = "auto",
     .idle = idle,
     .help = "of it"},
    {.name = "width",
     .type = CLVOX_OPTION_NUMBER,
     CLV_FIELD(settings, width),
     .unit = CLVOX_UNIT_VOXELS,
     .either = true,
     .unset = true,
     .help = "of it"},
    {.name = "passes",
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(settings, passes, levels),
     .help = "at each"},
    {.name = "edges",
     .type = CLVOX_OPTION_NUMBERS,
     CLV_LEVELS(settings, edges, levels),
     .resize = follow,
     .unit = CLVOX_UNIT_MM,
     .help = "of each"},
    {.key = "hidden", .type = CLVOX_OPTION_INTEGER, CLV_FIELD(settings, count), .most = 5},
    {.name = "pair", .type = CLVOX_OPTION_NUMBER, CLV_FIELD(settings, share), .read = read_pair, .most = 1},
};
enum { FAST, COUNT, MODE, SHARE, WIDTH, PASSES, EDGES, HIDDEN, PAIR, ROWS };

static void defaults(void *values)
{
    *(settings *)values = (settings){.size = sizeof(settings), .count = 3, .mode = 1, .share = .5,
                                     .levels = 2, .passes = {4, 5}, .edges = {8, 9}, .width = -1};
}

static const clv_option_table table = {
    .rows = rows, .count = ROWS, .size = sizeof(settings), .defaults = defaults};

static int read_one(int row, const char *text, double mm, settings *s)
{
    const char *given[ROWS] = {NULL};
    given[row] = text;
    return clvox_options_read(&table, given, mm, s);
}

static bool refused(int row, const char *text, const char *word)
{
    settings s, before;
    defaults(&s);
    before = s;
    return read_one(row, text, 0, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), word) &&
           strstr(clvox_message(), rows[row].name) && !memcmp(&s, &before, sizeof s);
}

static void options_values_of_each_type_reach_their(void **state)
{
    (void)state;
    settings s;
    defaults(&s);
    assert_true(read_one(FAST, "", 0, &s) == CLVOX_OK && s.fast == 1);
    assert_true(read_one(COUNT, "9", 0, &s) == CLVOX_OK && s.count == 9);
    assert_true(read_one(MODE, "calm", 0, &s) == CLVOX_OK && s.mode == 0);
    assert_true(read_one(SHARE, ".25", 0, &s) == CLVOX_OK && s.share == .25);
    assert_true(read_one(SHARE, "auto", 0, &s) == CLVOX_OK && s.share == .25);
    assert_true(read_one(PAIR, "1x8", 0, &s) == CLVOX_OK && s.share == .125);
}

static void options_a_length_in_the_other_unit_is_set(void **state)
{
    (void)state;
    settings s;
    defaults(&s);
    assert_true(read_one(WIDTH, "2vox", 0, &s) == CLVOX_OK && s.width == 2);
    assert_true(read_one(WIDTH, "3mm", 0, &s) == CLVOX_OK && s.width == 2);
    assert_true(read_one(WIDTH, "3mm", 1.5, &s) == CLVOX_OK && s.width == 2);
    assert_true(read_one(WIDTH, "6mm", 1.5, &s) == CLVOX_OK && s.width == 4);
}

static void options_lists_of_one_count_follow(void **state)
{
    (void)state;
    settings s;
    defaults(&s);
    assert_true(read_one(PASSES, "7x6x5", 0, &s) == CLVOX_OK && s.levels == 3 &&
                s.passes[2] == 5);
    assert_true(s.edges[0] == 8 && s.edges[2] == 10);
    const char *both[ROWS] = {[PASSES] = "1x2", [EDGES] = "1x2x3mm"};
    assert_true(clvox_options_read(&table, both, 0, &s) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "levels"));
}

static void values(void)
{
    test_case(options_values_of_each_type_reach_their, "options: values of each type reach their field");
    test_case(options_a_length_in_the_other_unit_is_set,
              "options: a length in the other unit is set once the voxels are known");
    test_case(options_lists_of_one_count_follow, "options: lists of one count follow one another, or agree");
}

static void options_what_is_refused_names_the_option(void **state)
{
    (void)state;
    assert_true(refused(COUNT, "0", "from 1 to 9") && refused(COUNT, "10", "from 1 to 9"));
    assert_true(refused(COUNT, "1.5", "whole") && refused(COUNT, "x", "whole") &&
                refused(COUNT, "2mm", "unit"));
    assert_true(refused(COUNT, "1x2", "at most 1"));
    assert_true(refused(MODE, "wild", "calm|brisk"));
    assert_true(refused(SHARE, "0", "above 0") && refused(SHARE, "1", "below 1") &&
                refused(SHARE, "nan", "number"));
    assert_true(refused(WIDTH, "-1vox", "below 0"));
    assert_true(refused(EDGES, "1x2vox", "mm") && refused(PASSES, "1x2x3x4x5", "at most 4"));
    assert_true(refused(PAIR, "1", "two numbers"));
}

static void options_the_librarys_check_knows_the_same(void **state)
{
    (void)state;
    settings s;
    defaults(&s);
    assert_int_equal(clv_options_check(&table, &s), CLVOX_OK);
    s.count = 0;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "the_count"));
    s.count = 6;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "hidden"));
    s.count = 3, s.mode = 2;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "mode"));
    s.mode = -1;
    assert_int_equal(clv_options_check(&table, &s), CLVOX_ERROR_ARGUMENT);
    s.mode = 0, s.levels = 5;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "1 to 4"));
    s.levels = 2, s.passes[1] = -1;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "passes"));
    s.passes[1] = 0, s.share = NAN;
    assert_true(clv_options_check(&table, &s) == CLVOX_ERROR_ARGUMENT && strstr(clvox_message(), "share"));
}

static void refusals(void)
{
    test_case(options_what_is_refused_names_the_option,
              "options: what is refused names the option and leaves the field");
    test_case(options_the_librarys_check_knows_the_same,
              "options: the library's check knows the same ranges");
}

static void options_names_forms_and_defaults_as_help(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(clv_option_key(&rows[COUNT], text, sizeof text), "the_count");
    assert_string_equal(clv_option_key(&rows[HIDDEN], text, sizeof text), "hidden");
    assert_string_equal(clv_option_argument(&rows[MODE], text, sizeof text), "calm|brisk");
    assert_string_equal(clv_option_argument(&rows[SHARE], text, sizeof text), "auto|N");
    assert_string_equal(clv_option_argument(&rows[WIDTH], text, sizeof text), "Nvox");
    assert_string_equal(clv_option_argument(&rows[EDGES], text, sizeof text), "NxNmm");
    assert_true(!*clv_option_argument(&rows[FAST], text, sizeof text));
    assert_string_equal(clv_option_default(&table, &rows[MODE], NULL, text, sizeof text), "default brisk");
    assert_string_equal(clv_option_default(&table, &rows[COUNT], NULL, text, sizeof text), "default 3");
    assert_true(!*clv_option_default(&table, &rows[FAST], NULL, text, sizeof text));
    settings s;
    defaults(&s);
    s.mode = 0;
    s.levels = 3;
    s.edges[0] = 8, s.edges[1] = 4.5, s.edges[2] = 2;
    assert_string_equal(clv_option_default(&table, &rows[MODE], &s, text, sizeof text), "default calm");
    assert_string_equal(clv_option_default(&table, &rows[EDGES], &s, text, sizeof text), "default 8x4.5x2mm");
    s.width = -1;
    assert_true(!*clv_option_default(&table, &rows[WIDTH], &s, text, sizeof text));
    s.width = 1.5;
    assert_string_equal(clv_option_default(&table, &rows[WIDTH], &s, text, sizeof text), "default 1.5vox");
    assert_true(clvox_option_find(&table, "edges") == EDGES && clv_option_named(&table, "hidden") == NULL);
}

static void options_fields_are_copied_and_lists_counted(void **state)
{
    (void)state;
    settings a, b = {.count = 7};
    defaults(&a);
    clv_option_copy(&rows[EDGES], &a, &b);
    clv_option_copy(&rows[MODE], &a, &b);
    assert_true(b.edges[1] == 9 && b.mode == 1 && b.count == 7 && b.levels == 0);
    assert_true(clv_option_count(&rows[EDGES], &a) == 2 && clv_option_count(&rows[COUNT], &a) == 1);
    assert_true(clv_option_value(&rows[PASSES], &a, 1) == 5 && clv_option_value(&rows[EDGES], &a, 1) == 9);
}

static void options_by_name_reach_their_fields(void **state)
{
    static const char *const names[] = {"fast", "passes", "width"}, *const texts[] = {NULL, "7x8x9", "3mm"};
    static const char *const wrong[] = {"the-cuont"}, *const beyond[] = {"the-count", "mode"}, *const bad[] = {"12", "brisk"};
    clvox_option_text text;
    settings s;
    int count = 0, flags = 0;
    (void)state;
    defaults(&s);
    assert_int_equal(clvox_options_set(&table, names, texts, 3, 2, &s), CLVOX_OK);
    assert_int_equal(s.fast, 1);
    assert_int_equal(s.levels, 3);
    assert_int_equal(s.passes[2], 9);
    assert_true(s.width == 1.5);
    assert_true(s.edges[2] == s.edges[0] + 2); /* not given: follows */
    assert_int_equal(clvox_options_set(&table, wrong, texts + 1, 1, 0, &s), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "the-cuont"));
    assert_int_equal(clvox_options_set(&table, beyond, bad, 2, 0, &s), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "the-count"));
    for (; clvox_option_describe(&table, count, &text); count++) {
        flags += text.flag;
        assert_true(*text.key && text.type == rows[count].type);
        if (count == HIDDEN) { /* which has no name */
            assert_true(!text.name && !strcmp(text.key, "hidden"));
            continue;
        }
        assert_true(text.flag || *text.argument);
        assert_int_equal(clvox_option_find(&table, text.name), count);
    }
    assert_int_equal(count, ROWS);
    assert_int_equal(flags, 1);
    assert_int_equal(clvox_option_describe(&table, -1, &text), 0);
}

static int never_calm(const void *values)
{
    const settings *s = values;
    return s->mode == 0 ? clvox_fail(CLVOX_ERROR_ARGUMENT, "mode: too calm") : clv_options_check(&table, s);
}

static void options_by_place_are_read_and_told(void **state)
{
    (void)state;
    settings s;
    clv_option_table with_check = table;
    clvox_numbers numbers;
    double value[CLVOX_MAX_NUMBERS];
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    defaults(&s);
    given[MODE] = "calm";
    given[PASSES] = "7x8x9";
    given[SHARE] = ".25";
    assert_ok(clvox_options_read(&table, given, 0, &s));
    assert_true(clvox_option_numbers(&table, PASSES, &s, value) == 3 && value[2] == 9);
    assert_true(clvox_option_numbers(&table, SHARE, &s, value) == 1 && value[0] == .25);
    assert_int_equal(clvox_option_numbers(&table, ROWS, &s, value), 0);
    assert_string_equal(clvox_option_word(&table, MODE, 1), "brisk");
    assert_true(!clvox_option_word(&table, MODE, 2) && !clvox_option_word(&table, SHARE, 0) &&
                !clvox_option_word(&table, -1, 0));
    assert_true(!clvox_option_idle(&table, SHARE, &s, ".25"));
    s.fast = 1;
    assert_string_equal(clvox_option_idle(&table, SHARE, &s, ".25"), "beside --fast");
    assert_true(!clvox_option_idle(&table, SHARE, &s, NULL) && !clvox_option_idle(&table, MODE, &s, "calm"));
    assert_ok(clvox_options_check(&table, &s));
    with_check.check = never_calm;
    assert_int_equal(clvox_options_check(&with_check, &s), CLVOX_ERROR_ARGUMENT);
    s.share = 2;
    assert_int_equal(clvox_options_check(&table, &s), CLVOX_ERROR_ARGUMENT);
    assert_true(clvox_numbers_read("2x1vox", &numbers) && numbers.count == 2 &&
                numbers.unit == CLVOX_UNIT_VOXELS);
    assert_true(!clvox_numbers_read("2x", &numbers) && numbers.count == 2);
}

/* As a program gives them that was built with other headers, or has left out the defaults. */
static void options_of_another_size_are_refused(void **state)
{
    (void)state;
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    settings s;
    defaults(&s);
    for (int which = 0; which < 3; which++) {
        s.size = (const size_t[]){0, sizeof s - 8, sizeof s + 8}[which];
        assert_int_equal(clvox_options_check(&table, &s), CLVOX_ERROR_ARGUMENT);
        assert_non_null(strstr(clvox_message(), "_defaults"));
        assert_int_equal(clvox_options_read(&table, given, 0, &s), CLVOX_ERROR_ARGUMENT);
        assert_non_null(strstr(clvox_message(), clvox_version()));
    }
}

static void words(void)
{
    test_case(options_by_place_are_read_and_told, "options: read, told and checked by place");
    test_case(options_of_another_size_are_refused, "options: of another size are refused");
    test_case(options_by_name_reach_their_fields, "options: given and described by name, without the table");
    test_case(options_names_forms_and_defaults_as_help,
              "options: names, forms and defaults as help and logs say them");
    test_case(options_fields_are_copied_and_lists_counted,
              "options: fields are copied and lists counted by their row");
}

int main(void)
{
    values();
    refusals();
    words();
    return test_run("options", NULL);
}
