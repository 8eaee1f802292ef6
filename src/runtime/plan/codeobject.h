/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of AMD's compiler about a kernel in a code object (an ELF file; the metadata are MessagePack). */
#ifndef CLV_RUNTIME_CODEOBJECT_H
#define CLV_RUNTIME_CODEOBJECT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clv_code_counts {
    int vgprs, sgprs;              /* registers allocated: a work-item's, a wavefront's */
    int vgpr_spills, sgpr_spills;  /* registers that went to memory */
    int local_bytes, private_bytes;
    int wavefront, max_group;
} clv_code_counts;

/* Finds a kernel by name. False when the bytes are no code object, are damaged
 * or do not hold the kernel. Entries that the notes lack are -1. */
bool clv_code_object_counts(const unsigned char *data, size_t bytes, const char *kernel,
                            clv_code_counts *counts);

#endif
