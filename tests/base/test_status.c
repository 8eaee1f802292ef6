/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "check.h"

int main(void)
{
    CHECK_CASE("no failure, no message");
    CHECK(clvox_message() && !*clvox_message());

    CHECK_CASE("a failure returns its code and keeps its sentence");
    CHECK(clv_fail(CLVOX_ERROR_FILE, "%s: cannot be read", "a.nii") == CLVOX_ERROR_FILE);
    CHECK(!strcmp(clvox_message(), "a.nii: cannot be read"));

    CHECK_CASE("context goes in front");
    CHECK(clv_fail_in(CLVOX_ERROR_FILE, "the mask") == CLVOX_ERROR_FILE);
    CHECK(!strcmp(clvox_message(), "the mask: a.nii: cannot be read"));

    CHECK_CASE("an endless message is cut, not overrun");
    char *endless = malloc(100000);
    memset(endless, 'x', 99999);
    endless[99999] = 0;
    clv_fail(CLVOX_ERROR_DATA, "%s", endless);
    CHECK(strlen(clvox_message()) < 4096);
    clv_fail_in(CLVOX_ERROR_DATA, endless);
    CHECK(strlen(clvox_message()) < 4096);
    free(endless);

    CHECK_CASE("the version has three numbers");
    int numbers[3];
    CHECK(sscanf(clvox_version(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]) == 3);
    return check_end();
}
