/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "clvox/volume.h"

static char root[] = "limit-XXXXXX";

static const char *at(const char *name)
{
    static char path[2][256];
    static int next;
    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", root, name);
    return path[next];
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void the_least_of_a_group_and_of_those_above_it(void **state)
{
    (void)state;
    put("own", "0::/job/step\n");
    assert_true(clv_group_memory(at("own"), root) == UINT64_MAX);
    put("job/step/memory.max", "max\n");
    assert_true(clv_group_memory(at("own"), root) == UINT64_MAX);
    put("job/memory.max", "17179869184\n");
    assert_true(clv_group_memory(at("own"), root) == 17179869184);
    put("job/step/memory.max", "1048576\n");
    assert_true(clv_group_memory(at("own"), root) == 1048576);
    put("own", "0::/job\n");
    assert_true(clv_group_memory(at("own"), root) == 17179869184);
    put("memory.max", "4096\n");
    put("own", "0::/\n");
    assert_true(clv_group_memory(at("own"), root) == 4096);
}

static void groups_of_version_1(void **state)
{
    (void)state;
    put("own", "5:cpu,cpuacct:/job\n4:memory:/job\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/job/memory.limit_in_bytes", "2097152\n");
    assert_true(clv_group_memory(at("own"), root) == 2097152);
    put("own", "5:cpu,cpuacct:/job\nnothing\n");
    assert_true(clv_group_memory(at("own"), root) == UINT64_MAX);
    assert_true(clv_group_memory(at("none"), root) == UINT64_MAX);
}

static void a_process_may_take_some(void **state)
{
    (void)state;
    assert_true(clvox_memory() > 1 << 20);
    assert_true(clvox_memory() <= (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    static const char *const folders[] = {"job", "job/step", "memory", "memory/job"};
    if (!mkdtemp(root))
        return EXIT_FAILURE;
    for (int i = 0; i < 4; i++)
        if (mkdir(at(folders[i]), 0700))
            return EXIT_FAILURE;
    test_case(the_least_of_a_group_and_of_those_above_it, "memory is that of the tightest group above a process");
    test_case(groups_of_version_1, "groups of version 1 as well, and no group is no limit");
    test_case(a_process_may_take_some, "a process may take no more than the machine has");
    const int status = test_run("limit", NULL);
    static const char *const files[] = {"own", "memory.max", "job/memory.max", "job/step/memory.max",
                                        "memory/memory.limit_in_bytes", "memory/job/memory.limit_in_bytes"};
    for (int i = 0; i < 6; i++)
        unlink(at(files[i]));
    for (int i = 3; i >= 0; i--)
        rmdir(at(folders[i]));
    rmdir(root);
    return status;
}
