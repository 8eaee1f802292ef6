/* SPDX-License-Identifier: Apache-2.0 */
/* NIfTI-1, NIfTI-2 and Analyze. */
#include <limits.h>
#include <math.h>
#include <nifti2_io.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/volume/format.h"

enum {
    NIFTI1_BYTES = 352, /* header and the four bytes that announce extensions */
    NIFTI2_BYTES = 544,
    /* NIfTI's numbers for FSL's fields */
    INTENT_FSL_FIELD = 2006,
    INTENT_FSL_CUBIC,
    INTENT_FSL_COSINES,
    INTENT_FSL_QUADRATIC
};

/* ---- names -------------------------------------------------------------- */

static char *replace_end(const char *path, size_t drop, const char *end)
{
    size_t keep = strlen(path) - drop;
    char *out = malloc(keep + strlen(end) + 1);
    if (out) {
        memcpy(out, path, keep);
        strcpy(out + keep, end);
    }
    return out;
}

/* The first existing of path with its last `drop` letters replaced by lower or
 * upper case `end`, compressed or not, the one that is like path first. */
static int partner(const char *path, size_t drop, const char *end, bool packed, char **out)
{
    char upper[8] = "";
    for (int i = 0; end[i] && i < 7; i++)
        upper[i] = (char)(end[i] >= 'a' && end[i] <= 'z' ? end[i] - 32 : end[i]);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s%s", i & 2 ? upper : end, (i & 1) != packed ? ".gz" : "");
        *out = replace_end(path, drop, name);
        if (!*out)
            return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        if (!access(*out, F_OK))
            return CLVOX_OK;
        free(*out);
        *out = NULL;
    }
    return clvox_fail(CLVOX_ERROR_FILE, "%s: the other half of the pair, its %s file, is missing", path, end);
}

static int find(const char *path, char **header, char **data)
{
    int status = CLVOX_OK;
    bool packed = clv_ends_in(path, ".gz");
    size_t drop = packed ? 7 : 4;
    *header = *data = NULL;
    if (clv_ends_in(path, ".img") || clv_ends_in(path, ".img.gz")) {
        CLV_TRY(partner(path, drop, ".hdr", packed, header));
        *data = strdup(path);
    } else {
        *header = strdup(path);
        if (clv_ends_in(path, ".hdr") || clv_ends_in(path, ".hdr.gz"))
            CLV_TRY(partner(path, drop, ".img", packed, data));
    }
    if (!*header)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
end:
    if (status < 0) {
        free(*header);
        free(*data);
        *header = *data = NULL;
    }
    return status;
}

/* ---- reading ------------------------------------------------------------ */

/* Says what a file is that is no NIfTI file. */
static int not_nifti(const char *path, size_t size)
{
    if (size < 348)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is no NIfTI file or is cut short (%zu bytes, a header has 348)", path, size);
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not a NIfTI or Analyze file", path);
}

/* Colours are bytes; colours: 3 or 4 of them, else 0. */
static int element_type(const char *path, int code, clvox_type *out, int *colours)
{
    const char *what = NULL;
    *colours = code == DT_RGB24 ? 3 : code == DT_RGBA32 ? 4 : 0;
    switch (code) {
    case DT_RGB24:
    case DT_RGBA32:
    case DT_UINT8: *out = CLVOX_TYPE_UINT8; return CLVOX_OK;
    case DT_INT8: *out = CLVOX_TYPE_INT8; return CLVOX_OK;
    case DT_INT16: *out = CLVOX_TYPE_INT16; return CLVOX_OK;
    case DT_UINT16: *out = CLVOX_TYPE_UINT16; return CLVOX_OK;
    case DT_INT32: *out = CLVOX_TYPE_INT32; return CLVOX_OK;
    case DT_UINT32: *out = CLVOX_TYPE_UINT32; return CLVOX_OK;
    case DT_INT64: *out = CLVOX_TYPE_INT64; return CLVOX_OK;
    case DT_UINT64: *out = CLVOX_TYPE_UINT64; return CLVOX_OK;
    case DT_FLOAT32: *out = CLVOX_TYPE_FLOAT32; return CLVOX_OK;
    case DT_FLOAT64: *out = CLVOX_TYPE_FLOAT64; return CLVOX_OK;
    case DT_BINARY: what = "single bits"; break;
    case DT_COMPLEX64:
    case DT_COMPLEX128:
    case DT_COMPLEX256: what = "complex numbers"; break;
    case DT_FLOAT128: what = "numbers of 128 bits (float128)"; break;
    default: return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its data type %d is unknown", path, code);
    }
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: holds %s, which clvox does not read; convert it to float64, one real number a "
                      "voxel, for instance with nib-convert --out-dtype float64",
                      path, what);
}

/* Colours stand together in the file and are frames in memory. */
static int dimensions(const char *path, const int64_t dim[8], int colours, clv_volume_header *out)
{
    int64_t size[8];
    int count = 0, status;
    if (dim[0] < 1 || dim[0] > 7)
        return clv_header_damaged(path, "%lld dimensions, 1 to 7 are possible", (long long)dim[0]);
    /* Writers that mean one frame leave 0 there. */
    for (int i = 0; i < 7; i++)
        size[count++] = i < dim[0] && (i < 3 || dim[i + 1] != 0) ? dim[i + 1] : 1;
    if (colours)
        size[count++] = colours;
    status = clv_header_sizes(path, size, count, out);
    if (status < 0 || !colours)
        return status;
    if (out->frames != colours)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds %d frames of colours; clvox reads one", path,
                          out->frames / colours);
    size_t voxels = clvox_grid_voxels(&out->grid);
    out->kind = CLVOX_KIND_COLOUR;
    out->axes = 2;
    out->axis[0] = (clv_axis){(size_t)colours, (int64_t)voxels};
    out->axis[1] = (clv_axis){voxels, 1};
    return CLVOX_OK;
}

/* [X, Y, Z, 1, 3] with intent VECTOR, DISPVECT or none is ITK's; with the name NREG_TRANS it is NiftyReg's,
 * told apart by intent_p1; with the name Mapping it is SPM's deformation. */
static clv_field field_of(const nifti_image *image, const int64_t dim[8], int frames)
{
    int intent = image->intent_code;
    if (intent >= INTENT_FSL_FIELD && intent <= INTENT_FSL_QUADRATIC && frames == 3)
        return intent == INTENT_FSL_FIELD   ? CLV_FIELD_FSL
               : intent == INTENT_FSL_CUBIC ? CLV_FIELD_FSL_CUBIC
               : intent == INTENT_FSL_COSINES ? CLV_FIELD_FSL_COSINES
                                              : CLV_FIELD_FSL_QUADRATIC;
    bool three = dim[0] >= 5 && dim[4] == 1 && dim[5] == 3 && frames == 3;
    bool vectors = intent == NIFTI_INTENT_VECTOR || intent == NIFTI_INTENT_DISPVECT;
    if (!three)
        return CLV_FIELD_NONE;
    if (!strcmp(image->intent_name, "NREG_TRANS"))
        return image->intent_p1 == 0   ? CLV_FIELD_DEFORMATION
               : image->intent_p1 == 1 ? CLV_FIELD_DISPLACEMENT
                                       : CLV_FIELD_NIFTYREG;
    if (!strcmp(image->intent_name, "Mapping") && vectors)
        return CLV_FIELD_DEFORMATION;
    return vectors || intent == NIFTI_INTENT_NONE ? CLV_FIELD_ITK : CLV_FIELD_NONE;
}

static clvox_kind kind_of(const nifti_image *image, clv_field field, int frames)
{
    if (field == CLV_FIELD_NIFTYREG)
        return CLVOX_KIND_VECTOR;
    if (field == CLV_FIELD_ITK || field == CLV_FIELD_DISPLACEMENT || field == CLV_FIELD_DEFORMATION)
        return CLVOX_KIND_DISPLACEMENT;
    if (image->intent_code == NIFTI_INTENT_LABEL)
        return CLVOX_KIND_LABEL;
    if (image->intent_code == NIFTI_INTENT_SYMMATRIX && frames == 6)
        return CLVOX_KIND_TENSOR;
    if ((image->intent_code == NIFTI_INTENT_VECTOR || image->intent_code == NIFTI_INTENT_DISPVECT) && frames == 3)
        return CLVOX_KIND_VECTOR;
    return CLVOX_KIND_SCALAR;
}

static double unit_in_mm(int units)
{
    return units == NIFTI_UNITS_METER ? 1000 : units == NIFTI_UNITS_MICRON ? 0.001 : 1;
}

static double frame_seconds(int units, double step)
{
    double unit = units == NIFTI_UNITS_MSEC   ? 1e-3
                  : units == NIFTI_UNITS_USEC ? 1e-6
                  : units == 0 || units == NIFTI_UNITS_SEC ? 1
                                                           : 0;
    return isfinite(step) && step > 0 ? step * unit : 0;
}

/* sform when its code is positive, else qform, else pixdim. An sform of
 * zeros says nothing and gives way to a qform. */
static int choose_matrix(const char *path, const nifti_image *image, bool qform_finite, bool *by_sform,
                         double out[4][4])
{
    bool zeros = true;
    const double(*sform)[4] = image->sto_xyz.m;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            zeros = zeros && sform[i][j] == 0;
    *by_sform = image->sform_code > 0 && !(zeros && image->qform_code > 0);
    if (*by_sform) {
        if (!clv_matrix_regular(sform))
            return clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: its sform is singular or not finite, so that voxels have no place in space; repair "
                "the header, for instance with fslorient -copyqform2sform",
                path);
        clv_matrix_copy(sform, out);
    } else if (image->qform_code > 0) {
        if (!qform_finite || !clv_matrix_regular((const double(*)[4])image->qto_xyz.m))
            return clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: its qform is not finite, so that voxels have no place in space; repair the header",
                path);
        clv_matrix_copy((const double(*)[4])image->qto_xyz.m, out);
    } else {
        clv_matrix_identity(out);
        for (int i = 0; i < 3; i++)
            out[i][i] = image->pixdim[i + 1];
    }
    double mm = unit_in_mm(image->xyz_units);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            out[i][j] *= mm;
    if (!clv_matrix_regular((const double(*)[4])out))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its voxel sizes are out of all proportion; repair the header", path);
    return CLVOX_OK;
}

/* How far apart the two forms place a corner of the volume, in mm; 0 unless
 * both say something. */
static double forms_gap(const nifti_image *image, bool qform_finite, const int size[3])
{
    double widest = 0;
    const double(*sform)[4] = image->sto_xyz.m, (*qform)[4] = image->qto_xyz.m;
    if (image->sform_code <= 0 || image->qform_code <= 0 || !qform_finite || !clv_matrix_regular(sform))
        return 0;
    for (int corner = 0; corner < 8; corner++) {
        double x[3], a[3], b[3], square = 0;
        for (int i = 0; i < 3; i++)
            x[i] = corner >> i & 1 ? size[i] - 1 : 0;
        clv_matrix_apply(sform, x, a);
        clv_matrix_apply(qform, x, b);
        for (int i = 0; i < 3; i++)
            square += (a[i] - b[i]) * (a[i] - b[i]);
        widest = fmax(widest, sqrt(square));
    }
    return widest * unit_in_mm(image->xyz_units);
}

/* The codes of the forms that the grid's matrix is. A qform that lies elsewhere than the sform is not kept:
 * the one that is written in its stead is the sform's place, and has its code. */
static void take_codes(const nifti_image *image, bool sform_taken, double gap, clvox_grid *grid)
{
    const int sform = sform_taken ? image->sform_code : -1, qform = image->qform_code;
    grid->sform_code = sform;
    grid->qform_code = qform <= 0 ? -1 : sform_taken && gap > CLV_FORMS_APART ? sform : qform;
}

/* Compares the edges of voxels that pixdim says, which is as it is in the file, with those of the grid. */
static void check_pixdim(const double pixdim[3], int dims, double mm, clv_volume_header *out)
{
    double edge[3];
    clvox_grid_spacing(&out->grid, edge);
    for (int i = 0; i < 3 && i < dims; i++) {
        out->pixdim[i] = pixdim[i] * mm;
        const double off = fabs(fabs(out->pixdim[i]) - edge[i]);
        out->odd_pixdim |= !isfinite(pixdim[i]) || pixdim[i] == 0 || off > 0.01 * edge[i] ||
                           off * (out->grid.size[i] - 1) > CLV_FORMS_APART;
    }
}

/* A voxel has an extent: what is missing or absurd is 1, as in nifticlib. */
static double edge(double pixdim)
{
    return isfinite(pixdim) && pixdim != 0 ? fabs(pixdim) : 1;
}

/* ---- the flow of a momentum ---- */

/* In the description, which nibabel and ITK carry from file to file; ITK drops extensions. */
#define MOMENTUM "clvox momentum %.9g,%.9g,%.9g timesteps %d"

static clvox_flow flow_of(const char *description)
{
    static const char before[] = "clvox momentum ", between[] = " timesteps ";
    double number[3];
    char *end = NULL;
    if (strncmp(description, before, strlen(before)))
        return (clvox_flow){0};
    const char *at = description + strlen(before);
    for (int i = 0; i < 3; i++, at = end + 1) {
        number[i] = strtod(at, &end);
        if (end == at || !isfinite(number[i]) || number[i] < 0 || (i < 2 && *end != ','))
            return (clvox_flow){0};
    }
    long steps = strncmp(end, between, strlen(between)) ? 0 : strtol(end + strlen(between), NULL, 10);
    if (!(number[2] > 0) || steps < 1 || steps > INT_MAX)
        return (clvox_flow){0};
    return (clvox_flow){number[0], number[1], number[2], (int)steps};
}

/* Start of the data in a .nii file: never inside the header. */
static int data_offset(const char *path, double offset, size_t header, bool separate,
                       clv_volume_header *out)
{
    if (!(offset >= 0 && offset < 0x1p62))
        return clv_header_damaged(path, "the data start at byte %g", offset);
    out->offset = (uint64_t)offset;
    if (!separate && out->offset < header)
        out->offset = header + 4;
    return CLVOX_OK;
}

/* The common part of both versions: from nifticlib's structure, and from the header where that one changes
 * it. */
static int take(const char *path, const nifti_image *image, const int64_t dim[8], const double pixdim[3],
                bool qform_finite, clv_volume_header *out)
{
    /* FSL's coefficients have FLIRT's matrix and sizes where others have their place in space. */
    out->field = field_of(image, dim, out->frames);
    bool coefficients = out->field > CLV_FIELD_FSL;
    int status = CLVOX_OK;
    clv_matrix_identity(out->grid.to_ras);
    bool by_sform = false;
    if (!coefficients)
        status = choose_matrix(path, image, qform_finite, &by_sform, out->grid.to_ras);
    if (status < 0)
        return status;
    for (int i = 0; i < 3 && coefficients; i++) {
        out->fsl.knots[i] = image->pixdim[i + 1];
        out->fsl.edge[i] = i == 0 ? image->intent_p1 : i == 1 ? image->intent_p2 : image->intent_p3;
        out->fsl.size[i] = i == 0 ? image->qoffset_x : i == 1 ? image->qoffset_y : image->qoffset_z;
    }
    clv_matrix_identity(out->fsl.affine);
    if (coefficients && image->sform_code > 0)
        memcpy(out->fsl.affine, image->sto_xyz.m, sizeof out->fsl.affine);
    /* ConnDense and its kin, 3000 to 3099: brain ordinates without a grid. */
    if (image->intent_code >= 3000 && image->intent_code < 3100)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: is a CIFTI file, whose values lie on no grid; extract its volume, for instance with "
            "wb_command -cifti-separate",
            path);
    out->unplaced = !coefficients && !out->field && image->sform_code <= 0 && image->qform_code <= 0;
    if (!coefficients) {
        out->forms_gap = forms_gap(image, qform_finite, out->grid.size);
        take_codes(image, by_sform, out->forms_gap, &out->grid);
        check_pixdim(pixdim, (int)dim[0], unit_in_mm(image->xyz_units), out);
    }
    out->flow = flow_of(image->descrip);
    out->slope = image->scl_slope;
    out->inter = image->scl_inter;
    if (!isfinite(out->slope) || out->slope == 0) {
        out->slope = 1;
        out->inter = 0;
    } else if (!isfinite(out->inter)) {
        out->inter = 0;
    }
    out->frame_seconds =
        dim[0] >= 4 && dim[4] > 1 ? frame_seconds(image->time_units, image->pixdim[4]) : 0;
    out->matrix = CLV_MATRIX_LOWER;
    if (out->kind != CLVOX_KIND_COLOUR)
        out->kind = kind_of(image, out->field, out->frames);
    return CLVOX_OK;
}

/* A pair's values are in a file of their own, which find has named. */
static int check_pair(const char *path, bool separate, clv_volume_header *out)
{
    if (separate && !out->data)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is only a header, whose data are elsewhere; name the .hdr or .img file", path);
    if (!separate) {
        free(out->data);
        out->data = NULL;
    }
    return CLVOX_OK;
}

/* Header fields that nifticlib would trip over are put right before it sees
 * them; what they mean has been checked by then. */
#define TAME(header)                                                     \
    do {                                                                 \
        for (int i = 0; i < 8; i++)                                      \
            (header).dim[i] = i ? 1 : 3;                                 \
        for (int i = 1; i < 4; i++)                                      \
            (header).pixdim[i] = edge((header).pixdim[i]);               \
        (header).vox_offset = 0;                                         \
    } while (0)

/* nifticlib reads what is not finite as 0. */
#define QFORM_FINITE(header)                                                        \
    (isfinite((header).quatern_b) && isfinite((header).quatern_c) &&                \
     isfinite((header).quatern_d) && isfinite((header).qoffset_x) &&                \
     isfinite((header).qoffset_y) && isfinite((header).qoffset_z))

static int parse1(const char *path, const uint8_t *bytes, clv_volume_header *out)
{
    nifti_1_header header;
    int status, size, colours;
    nifti_image *image = NULL;
    memcpy(&header, bytes, sizeof header);
    bool nifti = header.magic[0] == 'n' && (header.magic[1] == '+' || header.magic[1] == 'i') &&
                 header.magic[2] == '1' && !header.magic[3];
    memcpy(&size, bytes, 4);
    out->swapped = size != 348;
    bool separate = !nifti || header.magic[1] == 'i';
    if (out->swapped && nifti)
        nifti_swap_as_nifti1(&header);
    else if (out->swapped)
        nifti_swap_as_analyze((nifti_analyze75 *)&header);
    int64_t dim[8];
    for (int i = 0; i < 8; i++)
        dim[i] = header.dim[i];
    const double pixdim[3] = {(double)header.pixdim[1], (double)header.pixdim[2], (double)header.pixdim[3]};
    CLV_TRY(element_type(path, header.datatype, &out->type, &colours));
    CLV_TRY(dimensions(path, dim, colours, out));
    CLV_TRY(data_offset(path, (double)header.vox_offset, 348, separate, out));
    CLV_TRY(check_pair(path, separate, out));
    TAME(header);
    if (!nifti) {
        /* Analyze has other things where NIfTI keeps scale, units and intent. */
        header.scl_slope = header.scl_inter = header.intent_p1 = 0;
        header.xyzt_units = 0;
        header.intent_code = header.qform_code = header.sform_code = 0;
        memset(header.intent_name, 0, sizeof header.intent_name);
    }
    image = nifti_convert_n1hdr2nim(header, NULL);
    if (!image) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its header is damaged", path);
        goto end;
    }
    status = take(path, image, dim, pixdim, QFORM_FINITE(header), out);
end:
    nifti_image_free(image);
    return status;
}

static int parse2(const char *path, const uint8_t *bytes, clv_volume_header *out)
{
    nifti_2_header header;
    int status, size, colours;
    nifti_image *image = NULL;
    memcpy(&header, bytes, sizeof header);
    memcpy(&size, bytes, 4);
    out->swapped = size != 540;
    bool separate = header.magic[1] == 'i';
    if (memcmp(header.magic, "n+2", 4) && memcmp(header.magic, "ni2", 4)) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not a NIfTI or Analyze file", path);
        goto end;
    }
    if (out->swapped)
        nifti_swap_as_nifti2(&header);
    CLV_TRY(element_type(path, header.datatype, &out->type, &colours));
    int64_t dim[8];
    memcpy(dim, header.dim, sizeof dim);
    const double pixdim[3] = {header.pixdim[1], header.pixdim[2], header.pixdim[3]};
    CLV_TRY(dimensions(path, dim, colours, out));
    CLV_TRY(data_offset(path, (double)header.vox_offset, 540, separate, out));
    CLV_TRY(check_pair(path, separate, out));
    TAME(header);
    image = nifti_convert_n2hdr2nim(header, NULL);
    if (!image) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its header is damaged", path);
        goto end;
    }
    status = take(path, image, dim, pixdim, QFORM_FINITE(header), out);
end:
    nifti_image_free(image);
    return status;
}

static bool is(const uint8_t *bytes, size_t size)
{
    int header = 0;
    if (size >= 4)
        memcpy(&header, bytes, 4);
    int other = (int)__builtin_bswap32((unsigned)header);
    return header == 348 || other == 348 || header == 540 || other == 540;
}

static int parse(const clv_source *source, const uint8_t *bytes, size_t size, clv_volume_header *out)
{
    int header = 0;
    if (size >= 4)
        memcpy(&header, bytes, 4);
    if (size >= 348 && (header == 348 || header == (int)__builtin_bswap32(348)))
        return parse1(source->path, bytes, out);
    if (size >= 540 && (header == 540 || header == (int)__builtin_bswap32(540)))
        return parse2(source->path, bytes, out);
    return not_nifti(source->path, size);
}

/* ---- writing ------------------------------------------------------------ */

static int type_code(clvox_type type)
{
    static const int codes[] = {
        [CLVOX_TYPE_FLOAT32] = DT_FLOAT32, [CLVOX_TYPE_FLOAT64] = DT_FLOAT64, [CLVOX_TYPE_INT8] = DT_INT8,
        [CLVOX_TYPE_UINT8] = DT_UINT8,     [CLVOX_TYPE_INT16] = DT_INT16,     [CLVOX_TYPE_UINT16] = DT_UINT16,
        [CLVOX_TYPE_INT32] = DT_INT32,     [CLVOX_TYPE_UINT32] = DT_UINT32,   [CLVOX_TYPE_INT64] = DT_INT64,
        [CLVOX_TYPE_UINT64] = DT_UINT64};
    return codes[type];
}

/* 1 when a quaternion and three edges can say all that the matrix says. */
static bool orthogonal(const double m[4][4], const double spacing[3])
{
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3;
        double dot = m[0][a] * m[0][b] + m[1][a] * m[1][b] + m[2][a] * m[2][b];
        if (fabs(dot) > 1e-5 * spacing[a] * spacing[b])
            return false;
    }
    return true;
}

/* The codes that the grid's image had. A matrix that neither a qform nor pixdim alone can say is an sform. */
static void put_codes(const clvox_grid *grid, const double spacing[3], nifti_image *image)
{
    const int sform = grid->sform_code, qform = grid->qform_code;
    bool by_pixdim = sform < 0 && qform < 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            by_pixdim = by_pixdim && grid->to_ras[i][j] == (i == j ? spacing[i] : 0);
    if (by_pixdim)
        return;
    const bool known = sform > 0 || qform > 0;
    if (orthogonal(grid->to_ras, spacing))
        image->qform_code = !known ? NIFTI_XFORM_SCANNER_ANAT : qform > 0 ? qform : 0;
    if (sform > 0 || !known || image->qform_code == 0)
        image->sform_code = sform > 0 ? sform : known ? qform : NIFTI_XFORM_SCANNER_ANAT;
}

/* How the frames of a kind are laid out in the file, and what it calls them. */
static void shape(const clvox_volume *v, int intent, nifti_image *image)
{
    for (int i = 1; i < 8; i++)
        image->dim[i] = i < 4 ? v->grid.size[i - 1] : 1;
    image->dim[0] = v->frames > 1 ? 4 : 3;
    image->dim[4] = v->frames;
    if (v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_TENSOR) {
        image->dim[0] = 5;
        image->dim[4] = 1;
        image->dim[5] = v->frames;
    } else if (v->kind == CLVOX_KIND_COLOUR) {
        image->dim[0] = 3;
        image->dim[4] = 1;
    }
    image->intent_code = intent                            ? intent
                         : v->kind == CLVOX_KIND_LABEL     ? NIFTI_INTENT_LABEL
                         : v->kind == CLVOX_KIND_TENSOR    ? NIFTI_INTENT_SYMMATRIX
                         : v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_VECTOR
                             ? NIFTI_INTENT_VECTOR
                             : NIFTI_INTENT_NONE;
    if (v->kind == CLVOX_KIND_TENSOR)
        image->intent_p1 = 3;
}

/* NIfTI-2 where a dimension exceeds NIfTI-1's 32767. */
static int make(const char *path, const clvox_volume *v, int intent, clv_volume_header *out, uint8_t **bytes,
                size_t *size)
{
    nifti_image image;
    double spacing[3];
    bool large = false;
    size_t voxels = clvox_grid_voxels(&v->grid);
    memset(&image, 0, sizeof image);
    *bytes = calloc(1, NIFTI2_BYTES);
    if (!*bytes)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    out->type = v->type;
    out->matrix = v->kind == CLVOX_KIND_TENSOR ? CLV_MATRIX_LOWER : CLV_MATRIX_UPPER;
    out->field = v->kind == CLVOX_KIND_DISPLACEMENT ? CLV_FIELD_ITK : CLV_FIELD_NONE;
    image.datatype = type_code(v->type);
    if (v->kind == CLVOX_KIND_COLOUR) {
        out->type = CLVOX_TYPE_UINT8;
        out->axes = 2;
        out->axis[0] = (clv_axis){(size_t)v->frames, (int64_t)voxels};
        out->axis[1] = (clv_axis){voxels, 1};
        image.datatype = v->frames == 3 ? DT_RGB24 : DT_RGBA32;
    }
    clvox_grid_spacing(&v->grid, spacing);
    shape(v, intent, &image);
    for (int i = 0; i < 8; i++) {
        image.pixdim[i] = i >= 1 && i <= 3 ? spacing[i - 1] : 1;
        large = large || image.dim[i] > 32767;
    }
    if (image.dim[4] > 1)
        image.pixdim[4] = v->frame_seconds;
    int64_t axes = image.ndim = image.dim[0];
    nifti_update_dims_from_array(&image);
    nifti_datatype_sizes(image.datatype, &image.nbyper, &image.swapsize);
    out->slope = v->slope > 0 ? v->slope : 1;
    out->inter = v->slope > 0 ? v->inter : 0;
    image.scl_slope = out->slope;
    image.scl_inter = out->inter;
    image.xyz_units = NIFTI_UNITS_MM;
    image.time_units = NIFTI_UNITS_SEC;
    image.nifti_type = large ? NIFTI_FTYPE_NIFTI2_1 : NIFTI_FTYPE_NIFTI1_1;
    if (v->flow.gamma > 0)
        snprintf(image.descrip, sizeof image.descrip, MOMENTUM, v->flow.alpha, v->flow.beta, v->flow.gamma,
                 v->flow.timesteps);
    else
        strcpy(image.descrip, "clvox " CLVOX_VERSION);
    image.iname_offset = large ? NIFTI2_BYTES : NIFTI1_BYTES;
    memcpy(image.sto_xyz.m, v->grid.to_ras, sizeof image.sto_xyz.m);
    put_codes(&v->grid, spacing, &image);
    if (image.qform_code > 0) {
        nifti_dmat44_to_quatern(image.sto_xyz, &image.quatern_b, &image.quatern_c, &image.quatern_d,
                                &image.qoffset_x, &image.qoffset_y, &image.qoffset_z, NULL, NULL, NULL,
                                &image.qfac);
        image.pixdim[0] = image.qfac;
    }
    /* nifticlib drops a last axis of one voxel; readers would find an image of
     * another shape than the one it belongs to. */
    if (large) {
        nifti_2_header h;
        nifti_convert_nim2n2hdr(&image, &h);
        h.dim[0] = axes;
        memcpy(*bytes, &h, sizeof h);
        *size = NIFTI2_BYTES;
    } else {
        nifti_1_header h;
        nifti_convert_nim2n1hdr(&image, &h);
        h.dim[0] = (short)axes;
        memcpy(*bytes, &h, sizeof h);
        *size = NIFTI1_BYTES;
    }
    return CLVOX_OK;
}

const clv_volume_format clv_nifti_format = {
    .ends = {".nii", ".nii.gz", ".hdr", ".img"},
    .head = NIFTI2_BYTES,
    .is = is,
    .find = find,
    .parse = parse,
    .make = make,
};
