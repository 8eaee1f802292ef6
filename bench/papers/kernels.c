/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel/registry.h"

extern const clv_collection clv_papers_kernels;

/* Programs that are linked with these have them. */
__attribute__((constructor)) static void add(void)
{
    clv_registry_add(&clv_papers_kernels);
}
