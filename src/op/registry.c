/* SPDX-License-Identifier: Apache-2.0 */
#include "op/advance.h"
#include "op/blend.h"
#include "op/ceiling.h"
#include "op/compose.h"
#include "op/conjugate.h"
#include "op/convolve.h"
#include "op/copy.h"
#include "op/energy.h"
#include "op/fft.h"
#include "op/fluid.h"
#include "op/force.h"
#include "op/gaussian.h"
#include "op/gradient.h"
#include "op/histogram.h"
#include "op/inverse.h"
#include "op/jacobian.h"
#include "op/level.h"
#include "op/linear.h"
#include "op/likeness.h"
#include "op/lncc.h"
#include "op/mesh_distance.h"
#include "op/moments.h"
#include "op/mppca.h"
#include "op/navier.h"
#include "op/nlm.h"
#include "op/nlm_search.h"
#include "op/peak.h"
#include "op/pointwise.h"
#include "op/push.h"
#include "op/recursive.h"
#include "op/redistance.h"
#include "op/reduce.h"
#include "op/smooth.h"
#include "op/sobel.h"
#include "op/sor.h"
#include "op/statistics.h"
#include "op/tensor_measures.h"
#include "op/tensor_pd.h"
#include "op/tensor_fit.h"
#include "op/tensor_links.h"
#include "op/tensor_tv.h"
#include "op/warp.h"
#include "runtime/runtime.h"

/* Entries are defined beside their operation; one line each here. */

const clv_entry *const clv_entries[] = {
    &clv_entry_advance,
    &clv_entry_blend,
    &clv_entry_ceiling_atomics,
    &clv_entry_ceiling_copy,
    &clv_entry_ceiling_empty,
    &clv_entry_ceiling_local,
    &clv_entry_compose,
    &clv_entry_conjugate_descend,
    &clv_entry_conjugate_total,
    &clv_entry_conjugate_turn,
    &clv_entry_convolve,
    &clv_entry_copy,
    &clv_entry_energy,
    &clv_entry_energy_total,
    &clv_entry_fft_columns,
    &clv_entry_fft_rows,
    &clv_entry_fft_rows_back,
    &clv_entry_fft_solve,
    &clv_entry_fluid_bend,
    &clv_entry_fluid_largest,
    &clv_entry_fluid_rate,
    &clv_entry_fluid_update,
    &clv_entry_force,
    &clv_entry_force_capped,
    &clv_entry_force_divergence,
    &clv_entry_force_image,
    &clv_entry_force_products,
    &clv_entry_force_recompute,
    &clv_entry_force_reuse,
    &clv_entry_gaussian_axis,
    &clv_entry_gaussian_x,
    &clv_entry_gaussian_xy,
    &clv_entry_gradient,
    &clv_entry_histogram,
    &clv_entry_inverse,
    &clv_entry_jacobian,
    &clv_entry_level_finish,
    &clv_entry_level_near,
    &clv_entry_linear_histogram,
    &clv_entry_linear_join,
    &clv_entry_linear_localise,
    &clv_entry_linear_prepare,
    &clv_entry_linear_sums,
    &clv_entry_likeness_counts,
    &clv_entry_likeness_line,
    &clv_entry_likeness_ncc,
    &clv_entry_likeness_ssd,
    &clv_entry_likeness_table,
    &clv_entry_likeness_table_slopes,
    &clv_entry_likeness_total,
    &clv_entry_lncc_box_slope,
    &clv_entry_lncc_box_terms,
    &clv_entry_lncc_box_x,
    &clv_entry_lncc_box_x_terms,
    &clv_entry_lncc_box_y,
    &clv_entry_lncc_slope,
    &clv_entry_lncc_terms,
    &clv_entry_lncc_total,
    &clv_entry_mesh_distance,
    &clv_entry_moments,
    &clv_entry_moments_planes,
    &clv_entry_mppca_finish,
    &clv_entry_mppca_gather,
    &clv_entry_mppca_pack,
    &clv_entry_mppca_window,
    &clv_entry_mppca_window_group,
    &clv_entry_navier,
    &clv_entry_nlm_average,
    &clv_entry_nlm_band,
    &clv_entry_nlm_count,
    &clv_entry_nlm_energy,
    &clv_entry_nlm_level,
    &clv_entry_nlm_overlap,
    &clv_entry_nlm_patches,
    &clv_entry_nlm_plane,
    &clv_entry_nlm_residual,
    &clv_entry_nlm_scatter,
    &clv_entry_nlm_step,
    &clv_entry_nlm_volume,
    &clv_entry_nlm_weights,
    &clv_entry_nlm_blocks,
    &clv_entry_nlm_features,
    &clv_entry_nlm_gather,
    &clv_entry_nlm_keep,
    &clv_entry_nlm_near,
    &clv_entry_nlm_pairs_constant,
    &clv_entry_nlm_pairs_global,
    &clv_entry_nlm_pairs_image,
    &clv_entry_nlm_reach,
    &clv_entry_nlm_search,
    &clv_entry_peak,
    &clv_entry_peak_double,
    &clv_entry_pointwise,
    &clv_entry_pointwise_table,
    &clv_entry_push,
    &clv_entry_recursive_axis,
    &clv_entry_recursive_x,
    &clv_entry_redistance_finish,
    &clv_entry_redistance_jump,
    &clv_entry_redistance_near,
    &clv_entry_redistance_reach,
    &clv_entry_redistance_seed,
    &clv_entry_reduce,
    &clv_entry_reduce_last,
    &clv_entry_reduce_longest,
    &clv_entry_smooth,
    &clv_entry_smooth_longest,
    &clv_entry_sobel,
    &clv_entry_sor_block,
    &clv_entry_sor_colour,
    &clv_entry_statistics,
    &clv_entry_tensor_measures,
    &clv_entry_tensor_inside,
    &clv_entry_tensor_links,
    &clv_entry_tensor_log,
    &clv_entry_tensor_pd_dual,
    &clv_entry_tensor_pd_edges,
    &clv_entry_tensor_pd_primal,
    &clv_entry_tensor_pd_radius,
    &clv_entry_tensor_pd_sums,
    &clv_entry_tensor_pd_sweep,
    &clv_entry_tensor_pd_total,
    &clv_entry_tensor_fit_finish,
    &clv_entry_tensor_fit_scale,
    &clv_entry_tensor_fit_start,
    &clv_entry_tensor_fit_step,
    &clv_entry_tensor_tv_block,
    &clv_entry_tensor_tv_last,
    &clv_entry_tensor_tv_none,
    &clv_entry_tensor_tv_overlap,
    &clv_entry_tensor_tv_step,
    &clv_entry_tensor_tv_step_paper,
    &clv_entry_tensor_tv_sums,
    &clv_entry_warp,
    NULL,
};
