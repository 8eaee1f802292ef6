/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile records of the bench, beside themselves with other sizes. What is
 * accepted prints without control characters, and its page holds no markup but
 * its own. */
#include <stdlib.h>
#include <string.h>

#include "bench/compare/compare.h"
#include "fuzz.h"
#include "bench/compare/page.h"

static void check_plain(const clv_text *text)
{
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if ((c < ' ' && c != '\n') || c == 0x7f)
            abort();
    }
}

/* Elements that the page never has. */
static void check_page(const clv_text *html)
{
    static const char *const foreign[] = {"<script", "<img", "<iframe", "<a href=\"http"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(html->data, foreign[i]))
            abort();
    for (const char *at = html->data; (at = strchr(at, '<')); at++)
        if (!strchr("/!abcdefghlmnprstu", at[1]) || !at[1])
            abort();
    if (strlen(html->data) != html->length || !strstr(html->data, "</html>"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(".json", data, size);
    compare_set set = {0};
    for (; set.count < 2; set.count++)
        if (compare_record_read(path, &set.record[set.count]) < 0) {
            if (set.record[set.count].tree || set.count || !*clvox_message())
                abort();
            return 0;
        }
    for (int k = 0; k < set.record[1].rows; k += 2)
        set.record[1].row[k].size[0] = 1 + set.record[1].row[k].size[0] / 2;
    if (compare_match(&set) < 0)
        abort();
    clv_text text = {0}, html = {0};
    compare_put_table(&text, &set);
    compare_put_markdown_devices(&text, &set);
    compare_put_markdown_rows(&text, &set);
    page_put(&html, &set);
    if (text.failed || html.failed)
        abort();
    check_plain(&text);
    check_page(&html);
    free(text.data);
    free(html.data);
    compare_set_free(&set);
    return 0;
}
