/* SPDX-License-Identifier: Apache-2.0 */
/* Linear maps from corresponding points. */
#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "phantom/phantom.h"

enum { POINTS = 9 };

static double value(int i)
{
    return clv_phantom_normal(11, (uint64_t)i);
}

/* thick: spread along the third axis of the points, mm. */
static void scatter(double thick, double points[3 * POINTS])
{
    const double spread[3] = {40, 55, thick}, middle[3] = {12, -30, 71};
    for (int i = 0; i < 3 * POINTS; i++)
        points[i] = middle[i % 3] + spread[i % 3] * value(i);
}

static void known(clvox_linear kind, double m[4][4])
{
    const double affine[3][4] = {{.93, -.31, .12, 14}, {.28, 1.05, -.2, -9}, {-.05, .16, .88, 31}};
    double turn[3][3];
    clv_matrix_identity(m);
    memcpy(m, affine, sizeof affine);
    assert_ok(clv_matrix_rotation(CLV_MATRIX(m), turn));
    for (int i = 0; i < 9 && kind != CLVOX_LINEAR_AFFINE; i++)
        m[i / 3][i % 3] = kind == CLVOX_LINEAR_TRANSLATION  ? (i % 4 == 0)
                          : kind == CLVOX_LINEAR_SIMILARITY ? 1.2 * turn[i / 3][i % 3]
                                                            : turn[i / 3][i % 3];
}

static void move(const double m[4][4], const double *points, double noise, double *out)
{
    for (int i = 0; i < POINTS; i++) {
        clv_matrix_apply(m, points + (size_t)3 * i, out + (size_t)3 * i);
        for (int a = 0; a < 3; a++)
            out[3 * i + a] += noise * value(1000 + 3 * i + a);
    }
}

static double largest_difference(double a[4][4], double b[4][4])
{
    double most = 0;
    for (int i = 0; i < 16; i++)
        most = fmax(most, fabs(a[i / 4][i % 4] - b[i / 4][i % 4]));
    return most;
}

static double squares(const double m[4][4], const double *fixed, const double *moving)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        double at[3];
        clv_matrix_apply(m, fixed + (size_t)3 * i, at);
        for (int a = 0; a < 3; a++)
            sum += (at[a] - moving[3 * i + a]) * (at[a] - moving[3 * i + a]);
    }
    return sum;
}

static void a_known_map(void **state)
{
    const clvox_linear kind = (clvox_linear)((const int *)*state)[0];
    const double thick = ((const int *)*state)[1];
    double fixed[3 * POINTS], moving[3 * POINTS], truth[4][4], found[4][4], back[4][4], product[4][4],
        identity[4][4];
    scatter(thick, fixed);
    known(kind, truth);
    move(CLV_MATRIX(truth), fixed, 0, moving);
    assert_ok(clvox_landmarks_fit(fixed, moving, POINTS, kind, found));
    assert_true(largest_difference(truth, found) < 1e-9);
    /* Points that are off: no map of the kind nearby is better. */
    move(CLV_MATRIX(truth), fixed, 8, moving);
    assert_ok(clvox_landmarks_fit(fixed, moving, POINTS, kind, found));
    double best = squares(CLV_MATRIX(found), fixed, moving);
    for (int p = 0; p < 6; p++)
        for (int way = -1; way <= 1; way += 2) {
            double step[4][4], turn[3][3], mean[3] = {0, 0, 0}, other[4][4];
            clv_matrix_identity(step);
            for (int i = 0; i < 3 * POINTS; i++)
                mean[i % 3] += moving[i] / POINTS;
            if (p < 3) {
                step[p][3] = .01 * way;
            } else if (kind != CLVOX_LINEAR_TRANSLATION) {
                step[(p + 1) % 3][p - 3] = .001 * way; /* made a turn, about the points' mean */
                step[p - 3][(p + 1) % 3] = -.001 * way;
                assert_ok(clv_matrix_rotation(CLV_MATRIX(step), turn));
                for (int i = 0; i < 3; i++) {
                    step[i][3] = mean[i];
                    for (int j = 0; j < 3; j++) {
                        step[i][j] = turn[i][j];
                        step[i][3] -= turn[i][j] * mean[j];
                    }
                }
            }
            clv_matrix_multiply(CLV_MATRIX(step), CLV_MATRIX(found), other);
            assert_true(squares(CLV_MATRIX(other), fixed, moving) >= best * (1 - 1e-12));
        }
    if (kind == CLVOX_LINEAR_AFFINE)
        return;
    assert_ok(clvox_landmarks_fit(moving, fixed, POINTS, kind, back));
    clv_matrix_multiply(CLV_MATRIX(back), CLV_MATRIX(found), product);
    clv_matrix_identity(identity);
    assert_true(largest_difference(product, identity) < 1e-9);
    assert_true(kind == CLVOX_LINEAR_SIMILARITY ||
                fabs(clv_matrix_determinant(CLV_MATRIX(found)) - 1) < 1e-9);
}

static void refuse(const double *fixed, const double *moving, int n, clvox_linear kind, const char *says)
{
    double m[4][4];
    assert_int_equal(clvox_landmarks_fit(fixed, moving, n, kind, m), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), says), "%s", clvox_message());
}

static void too_little(void **state)
{
    double fixed[3 * POINTS], moving[3 * POINTS], m[4][4];
    (void)state;
    scatter(30, fixed);
    refuse(fixed, fixed, 2, CLVOX_LINEAR_RIGID, "needs 3");
    refuse(fixed, fixed, 3, CLVOX_LINEAR_AFFINE, "needs 4");
    refuse(fixed, fixed, 0, CLVOX_LINEAR_TRANSLATION, "needs 1");
    known(CLVOX_LINEAR_RIGID, m);
    /* A turned plane, and a turned line. */
    scatter(0, fixed);
    move(CLV_MATRIX(m), fixed, 0, moving);
    refuse(moving, fixed, POINTS, CLVOX_LINEAR_AFFINE, "in a plane");
    refuse(fixed, moving, POINTS, CLVOX_LINEAR_AFFINE, "in a plane");
    for (int i = 0; i < 3 * POINTS; i++)
        fixed[i] = 1 + i / 3 * (i % 3 + 1);
    move(CLV_MATRIX(m), fixed, 0, moving);
    refuse(moving, fixed, POINTS, CLVOX_LINEAR_RIGID, "on a line");
    refuse(moving, moving, POINTS, CLVOX_LINEAR_SIMILARITY, "on a line");
    for (int i = 0; i < 3 * POINTS; i++)
        moving[i] = 5;
    refuse(fixed, moving, POINTS, CLVOX_LINEAR_RIGID, "on a line");
    scatter(30, fixed);
    for (int i = 0; i < 3 * POINTS; i++)
        moving[i] = i % 3 ? fixed[i] : -fixed[i];
    refuse(fixed, moving, POINTS, CLVOX_LINEAR_AFFINE, "mirror");
    /* A turn has no other side. */
    assert_ok(clvox_landmarks_fit(fixed, moving, POINTS, CLVOX_LINEAR_RIGID, m));
    assert_true(fabs(clv_matrix_determinant(CLV_MATRIX(m)) - 1) < 1e-9);
}

int main(void)
{
    static const clvox_linear kinds[] = {CLVOX_LINEAR_TRANSLATION, CLVOX_LINEAR_RIGID,
                                         CLVOX_LINEAR_SIMILARITY, CLVOX_LINEAR_AFFINE};
    for (int i = 0; i < 4; i++)
        test_case_at(a_known_map, TEST_AT((int)kinds[i], 30), "a known map of kind %d", (int)kinds[i]);
    test_case_at(a_known_map, TEST_AT(CLVOX_LINEAR_RIGID, 0), "a turn, from points in a plane");
    test_case(too_little, "points that determine no map");
    return test_run("landmarks", NULL);
}
