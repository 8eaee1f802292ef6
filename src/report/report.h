/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_REPORT_REPORT_H
#define CLV_REPORT_REPORT_H

#include "report/viewer.h"

enum { CLV_REPORT_VIEWERS = 4, CLV_REPORT_MESSAGE = 256, CLV_REPORT_HEADINGS = 16 };

/* The element that a list of facts, a table or plots side by side leave open until something else is added. */
typedef enum clv_report_open {
    CLV_OPEN_NOTHING,
    CLV_OPEN_FACTS,
    CLV_OPEN_TABLE,
    CLV_OPEN_PLOTS
} clv_report_open;

struct clvox_report {
    clv_text title, warnings, links, body; /* HTML */
    char *icon;
    clv_report_open open;
    int columns, sections;
    size_t heading[CLV_REPORT_HEADINGS]; /* in the body, the class of each column's heading: n over numbers */
    bool optioned;  /* the section of options is there */
    bool commanded; /* a command that can be copied is */
    clv_viewer viewer[CLV_REPORT_VIEWERS];
    size_t place[CLV_REPORT_VIEWERS]; /* in the body, before which the viewer stands */
    int viewers;
    clv_viewer_name *names; /* of labels */
    int name_count;
    int status; /* of what failed first, with its sentence */
    char message[CLV_REPORT_MESSAGE];
};

/* The body, ready for something that is no fact and no row. NULL once something has failed. */
clv_text *clv_report_body(clvox_report *report);

/* The body, ready for a plot beside those before it. */
clv_text *clv_report_plots(clvox_report *report);

/* A heading within a section. */
void clv_report_group(clvox_report *report, const char *heading);

/* The first sentence of a page: what the run came to. */
void clv_report_verdict(clvox_report *report, const char *sentence);

/* A command line as it would be typed, with a button that copies it. */
void clv_report_command(clvox_report *report, const char *line);

/* Text of others, escaped: UTF-8, and without control characters. */
void clv_report_put(clv_text *to, const char *text);

/* Notes the failure of a function without a result. */
void clv_report_fail(clvox_report *report, int status, const char *sentence);

#endif
