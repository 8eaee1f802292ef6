/* SPDX-License-Identifier: Apache-2.0 */
/* The list of terms. */
#include "register/terms/terms.h"

/* Images come first: their forces begin from the share that is kept, others add to them. */
#define TERMS(term) \
    term(images) \
    term(posteriors) \
    term(points) \
    term(shapes)

#define DECLARE(name) extern const clv_term_row clv_term_##name;
#define LIST(name) &clv_term_##name,
TERMS(DECLARE)
static const clv_term_row *const terms[] = {TERMS(LIST)};

enum { COUNT = sizeof terms / sizeof *terms };

void clv_terms_describe(clv_registration *run, const clvox_register_images *images)
{
    for (int i = 0; i < COUNT; i++)
        terms[i]->describe(run, images);
}

int clv_terms_requests(clv_registration *run, clv_request *list)
{
    int count = 0;
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->requests && terms[i]->count(run) > 0)
            count += terms[i]->requests(run, list + count);
    return count;
}

int clv_terms_place(clv_registration *run, const clv_pyramid_level *level)
{
    int status = CLVOX_OK;
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->place && terms[i]->count(run) > 0)
            CLV_TRY(terms[i]->place(run, level));
end:
    return status;
}

int clv_terms_force(clv_registration *run, const clv_pull *pull)
{
    int status = CLVOX_OK;
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->force && terms[i]->count(run) > 0)
            CLV_TRY(terms[i]->force(run, pull));
end:
    return status;
}

int clv_terms_value(clv_registration *run, const float *numbers, clv_value *value)
{
    int status = CLVOX_OK;
    *value = (clv_value){0, 0};
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->value && terms[i]->count(run) > 0)
            CLV_TRY(terms[i]->value(run, numbers, value));
end:
    return status;
}

bool clv_terms_read(const clv_registration *run)
{
    bool read = false;
    for (int i = 0; i < COUNT; i++)
        read = read || (terms[i]->reads && terms[i]->count(run) > 0);
    return read;
}

bool clv_terms_beside_images(const clv_registration *run)
{
    bool other = false;
    for (int i = 1; i < COUNT; i++)
        other = other || terms[i]->count(run) > 0;
    return other;
}

void clv_terms_report(const clv_registration *run, clvox_register_result *result)
{
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->report)
            terms[i]->report(run, result);
}

void clv_terms_release(clv_registration *run)
{
    for (int i = 0; i < COUNT; i++)
        if (terms[i]->release)
            terms[i]->release(run);
}
