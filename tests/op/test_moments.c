/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/moments.h"
#include "ref/moments.h"

/* A soft ellipsoid away from the middle, with what must not count around it. */
static void fill(float *w, const int size[3])
{
    harness_random(w, (size_t)size[0] * (size_t)size[1] * (size_t)size[2], 3, 0.5f, 1.5f);
    for (int z = 0, i = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                float dx = (x - 0.7f * size[0]) / size[0], dy = (y - 0.6f * size[1]) / size[1];
                float dz = (z - 0.4f * size[2]) / size[2];
                if (dx * dx + dy * dy + dz * dz + dx * dy > 0.1f)
                    w[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -1 : 0;
            }
}

static void test(clvox_context *ctx, const clv_entry *entry)
{
    static const int sizes[][3] = {{13, 7, 5}, {1, 1, 1}, {1, 9, 4}, {67, 1, 3}, {131, 37, 53}, {5, 301, 3}};
    int count = getenv("CLVOX_TEST_TINY") ? 4 : 6, state = 0;
    while (harness_next(ctx, entry, &state, "against the reference"))
        for (int s = 0; s < count; s++) {
            size_t bytes = (size_t)sizes[s][0] * (size_t)sizes[s][1] * (size_t)sizes[s][2] * sizeof(float);
            float *w = malloc(bytes);
            double got[10], want[10];
            fill(w, sizes[s]);
            clv_buffer *device = harness_upload(ctx, w, bytes);
            CHECK(clv_moments(ctx, device, sizes[s], got) == CLVOX_OK);
            ref_moments(w, sizes[s], want);
            for (int i = 0; i < 10; i++) {
                double spread = want[4] + want[7] + want[9], scale = i < 1 ? want[0] : i < 4 ? 10 : spread;
                CHECK_THAT(fabs(got[i] - want[i]) <= 1e-6 * scale + 1e-6,
                           "size %d: result %d is %.9g, not %.9g", s, i, got[i], want[i]);
            }
            clv_buffer_destroy(&device);
            free(w);
        }
}

int main(void)
{
    clvox_context *ctx = harness_open();
    test(ctx, &clv_entry_moments);
    test(ctx, &clv_entry_moments_planes);
    CHECK_CASE("an empty mask has no moments");
    const int size[3] = {2, 2, 2};
    float zero[8] = {0};
    double got[10];
    clv_buffer *device = harness_upload(ctx, zero, sizeof zero);
    CHECK(clv_moments(ctx, device, size, got) == CLVOX_OK);
    for (int i = 0; i < 10; i++)
        CHECK(got[i] == 0);
    clv_buffer_destroy(&device);
    clvox_context_destroy(&ctx);
    return check_end();
}
