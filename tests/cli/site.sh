#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The site of the pages: site.sh PROGRAM TOOL BUILD, TOOL being tools/site.
. "$(dirname "$0")/lib.sh"
tool=$2 build=$3

begin "the site is built, has a page for every verb, and no link of it leads nowhere"
if command -v mkdocs > /dev/null; then
    exits 0 python3 "$tool" "$build" site; prints 'site/index.html'
    for verb in $(clvox --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        exists "site/reference/$verb.html"
    done
    exists site/search/search_index.json
else
    skips "no mkdocs"
fi

begin "without a build it says what to do"
if command -v mkdocs > /dev/null; then
    mkdir empty
    exits 1 python3 "$tool" empty; one_sentence; says 'build it first'
else
    exits 1 python3 "$tool" empty; one_sentence; says 'apt-get install mkdocs'
fi
finish
