/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel/registry.h"

#include <string.h>

static const clv_collection *collections[2] = {&clv_library_kernels};
enum { COLLECTIONS = sizeof collections / sizeof *collections };

void clv_registry_add(const clv_collection *more)
{
    collections[1] = more;
}

const clv_entry *clv_entry_at(int index)
{
    for (int c = 0; c < COLLECTIONS && collections[c]; c++)
        for (const clv_entry *const *const *operation = collections[c]->operations; *operation; operation++)
            for (const clv_entry *const *entry = *operation; *entry; entry++)
                if (index-- == 0)
                    return *entry;
    return NULL;
}

const char *clv_source_embedded(const char *name)
{
    for (int c = 0; c < COLLECTIONS && collections[c]; c++)
        for (const clv_source *s = collections[c]->sources; s->name; s++)
            if (!strcmp(s->name, name))
                return s->text;
    return NULL;
}
