/* SPDX-License-Identifier: Apache-2.0 */
/* Fields between the device and volumes, in all 48 storages of a grid. */
#include "base/matrix.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "runtime/device/context.h"
#include "transform/field.h"

static clvox_context *ctx;

/* One of the six orders of axes, and of the eight directions. */
static clv_orientation storage(int number)
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    clv_orientation o;
    for (int k = 0; k < 3; k++) {
        o.axis[k] = order[number / 8][k];
        o.flipped[k] = number >> k & 1;
    }
    return o;
}

/* A field goes to the device and comes back as it was stored, with no voxel moved and only rounded. */
static void a_field_comes_back_in_every_storage(void **state)
{
    (void)state;
    const clvox_grid upright = {{7, 5, 9},
                                {{2, 0.1, 0, 3}, {-0.1, 1.5, 0.2, -4}, {0, -0.2, 2.5, 5}, {0, 0, 0, 1}}};
    const size_t n = clvox_grid_voxels(&upright);
    clv_buffer *field = NULL;
    assert_ok(clv_buffer_create(ctx, 3 * n * sizeof(float), "field", &field));
    for (int number = 0; number < 48; number++) {
        const clv_orientation way = storage(number);
        clvox_volume *given = NULL, *stood = NULL, *made = NULL, *usual = NULL;
        clv_orientation o;
        clvox_grid shown, grid;
        clv_orientation_grid(&upright, &way, &shown);
        assert_ok(clvox_volume_create(&shown, 3, CLVOX_KIND_DISPLACEMENT, &given));
        for (size_t i = 0; i < 3 * n; i++)
            given->data[i] = (float)(i % n) * 0.25f + (float)(i / n) * 1000 - 17;
        clv_orientation_of(&shown, &o);
        clv_orientation_grid(&shown, &o, &grid);
        assert_ok(clv_orientation_volume(given, &o, NULL, &stood));
        assert_ok(clv_field_upload(ctx, stood, 1, field));
        assert_ok(clv_field_download_shown(ctx, field, &grid, &shown, &made));
        assert_memory_equal(&made->grid, &shown, sizeof shown);
        for (size_t i = 0; i < 3 * n; i++)
            assert_true(fabs((double)made->data[i] - (double)given->data[i]) < 1e-3);
        /* The same bits as by way of the storage nearest to RAS. */
        clv_orientation back;
        clv_orientation_inverse(&o, &back);
        assert_ok(clv_field_download(ctx, field, &grid, 1, &usual));
        assert_ok(clv_orientation_replace(&back, &shown, &usual));
        assert_memory_equal(made->data, usual->data, 3 * n * sizeof(float));
        clvox_volume_destroy(&given);
        clvox_volume_destroy(&stood);
        clvox_volume_destroy(&made);
        clvox_volume_destroy(&usual);
    }
    clv_buffer_destroy(&field);
}

/* There and back; axes along R, A and S: nothing is rounded. */
static void check_large(const clvox_volume *given)
{
    const size_t n = clvox_grid_voxels(&given->grid);
    clvox_volume *stood = NULL, *made = NULL;
    clv_buffer *field = NULL;
    clv_orientation o;
    assert_ok(clv_buffer_create(ctx, 3 * n * sizeof(float), "field", &field));
    clv_orientation_of(&given->grid, &o);
    assert_ok(clv_orientation_volume(given, &o, NULL, &stood));
    assert_ok(clv_field_upload(ctx, stood, 1, field));
    assert_ok(clv_field_download_shown(ctx, field, &stood->grid, &given->grid, &made));
    assert_memory_equal(made->data, given->data, 3 * n * sizeof(float));
    clvox_volume_destroy(&made);
    assert_ok(clv_field_download(ctx, field, &stood->grid, 1, &made));
    assert_memory_equal(made->data, stood->data, 3 * n * sizeof(float));
    clvox_volume_destroy(&stood);
    clvox_volume_destroy(&made);
    clv_buffer_destroy(&field);
}

/* More than one chunk, whose borders are within rows, and less; and in pieces, as GPUs have it. */
static void a_large_field_has_no_seams(void **state)
{
    const int planes = *(const int *)*state;
    const clvox_grid shown = {{129, 127, planes},
                              {{-1, 0, 0, 64}, {0, -1, 0, 63}, {0, 0, 1, -33}, {0, 0, 0, 1}}};
    const bool packed = ctx->packed;
    const clvox_device_type type = ctx->limits.type;
    clvox_volume *given = NULL;
    assert_ok(clvox_volume_create(&shown, 3, CLVOX_KIND_DISPLACEMENT, &given));
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&shown); i++)
        given->data[i] = (float)(i % 1000003);
    check_large(given);
    assert_non_null(clv_staging(ctx, 1));
    ctx->packed = false;
    ctx->limits.type = CLVOX_DEVICE_GPU;
    assert_true(clv_staging_pays(ctx, 3 * clvox_grid_voxels(&shown) * sizeof(float), SIZE_MAX));
    check_large(given);
    ctx->packed = packed;
    ctx->limits.type = type;
    clvox_volume_destroy(&given);
}

int main(void)
{
    ctx = harness_open();
    test_case(a_field_comes_back_in_every_storage, "a field comes back in every storage");
    test_case_at(a_large_field_has_no_seams, TEST_AT(67), "a large field has no seams");
    test_case_at(a_large_field_has_no_seams, TEST_AT(23), "one of less than a chunk has none");
    return test_run("field", harness_close);
}
