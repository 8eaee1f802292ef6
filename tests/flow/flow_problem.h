/* SPDX-License-Identifier: Apache-2.0 */
/* A run by flows taken apart: one level of a pair, with velocities of a test. */
#ifndef FLOW_FLOW_PROBLEM_H
#define FLOW_FLOW_PROBLEM_H

#include "flow/flow.h"
#include "register/pair.h"
#include "register/problem.h"

typedef struct flow_problem {
    pair images;
    clvox_register_options options;
    clv_problem problem;
    clv_registration run;
    clv_request requests[CLV_REGISTER_REQUESTS];
    int count;
    clv_pyramid_level level;
    clv_flow_level flow;
    size_t n; /* voxels */
} flow_problem;

/* Makes a problem of options whose model and metric are set, on the full grid. With options.points_weight there are
 * three landmarks, with weights of tissues those of the images, three. */
void flow_problem_make(clvox_context *ctx, flow_problem *p, const int size[3], const double spacing[3],
                       const clvox_register_options *options);
void flow_problem_free(flow_problem *p);

/* A smooth field that is 0 on the border, of about `longest` mm, from a seed; planar, 3 n floats. */
float *flow_problem_field(const flow_problem *p, unsigned seed, double longest);

/* A field of the run, which has no guards, planar. */
void flow_problem_download(const flow_problem *p, const clv_buffer *field, float *out);

/* Puts a planar field into one of the run. */
void flow_problem_upload(const flow_problem *p, const float *values, clv_buffer *field);

/* The metric at the present velocities, to be raised. */
double flow_problem_metric(flow_problem *p);

#endif
