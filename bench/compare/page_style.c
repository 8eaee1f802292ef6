/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/compare/page.h"

const char *const page_style_of_records =
    ".key{white-space:nowrap;font-weight:650}.legend .key{margin-right:.2em}\n"
    "svg .strong{font-weight:650}\n"
    "svg .pointname,svg .roofname{font-size:11px;paint-order:stroke;stroke:var(--bg);stroke-width:3px;"
    "stroke-linejoin:round}\n"
    "svg .roofname{fill:var(--soft);font-weight:600}\n"
    ".roof{stroke:var(--ink);stroke-width:1.6}.roof.lower{stroke:var(--soft);stroke-width:1.2;stroke-"
    "dasharray:5 3}\n"
    ".devices th,.devices td{padding-left:.45rem;padding-right:.45rem}"
    ".devices th,td.free{overflow-wrap:anywhere}"
    "td.free{white-space:normal;min-width:8.5rem}td.short{min-width:3.2rem}\n"
    ".edge{padding-left:1.8rem}th.device{padding-left:1.8rem;white-space:normal}\n"
    ".device .light{font-weight:400;font-size:.92em}\n"
    "tbody th.part{padding-left:1rem;color:var(--soft)}\n"
    ".group{font-weight:650!important;padding-top:.9rem!important}\n"
    ".holds{color:var(--good)}.fails{color:var(--bad)}\n"
    "@media print{.roofs{margin:.4rem 0}.roofs svg:not(.keymark){max-height:66mm}"
    ".edge,.device{padding-left:1.1rem}}\n";
