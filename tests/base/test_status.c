/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <pthread.h>

#include "check.h"

static void *tell_message(void *user)
{
    snprintf(user, 8, "%s", clvox_message() ? clvox_message() : "none");
    return NULL;
}

/* In a thread of its own, which no other case can have left a message. */
static void no_failure_no_message(void **state)
{
    (void)state;
    char told[8] = "nothing";
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, tell_message, told), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(told, "");
}

static void a_failure_returns_its_code_and_keeps(void **state)
{
    (void)state;
    assert_int_equal(clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be read", "a.nii"), CLVOX_ERROR_FILE);
    assert_string_equal(clvox_message(), "a.nii: cannot be read");
}

static void context_goes_in_front(void **state)
{
    (void)state;
    clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be read", "a.nii");
    assert_int_equal(clvox_fail_in(CLVOX_ERROR_FILE, "the mask"), CLVOX_ERROR_FILE);
    assert_string_equal(clvox_message(), "the mask: a.nii: cannot be read");
}

static void an_endless_message_is_cut_not_overrun(void **state)
{
    (void)state;
    char *endless = malloc(100000);
    memset(endless, 'x', 99999);
    endless[99999] = 0;
    clvox_fail(CLVOX_ERROR_DATA, "%s", endless);
    assert_true(strlen(clvox_message()) < 4096);
    clvox_fail_in(CLVOX_ERROR_DATA, endless);
    assert_true(strlen(clvox_message()) < 4096);
    free(endless);
}

static void the_version_has_three_numbers(void **state)
{
    (void)state;
    int numbers[3];
    assert_true(sscanf(clvox_version(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]) == 3);
}

int main(void)
{
    test_case(no_failure_no_message, "no failure, no message");
    test_case(a_failure_returns_its_code_and_keeps, "a failure returns its code and keeps its sentence");
    test_case(context_goes_in_front, "context goes in front");
    test_case(an_endless_message_is_cut_not_overrun, "an endless message is cut, not overrun");
    test_case(the_version_has_three_numbers, "the version has three numbers");
    return test_run("status", NULL);
}
