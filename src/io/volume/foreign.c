/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of volumes that are refused by their names, with what converts them. */
#include <string.h>

#include "base/status.h"
#include "io/volume/format.h"

struct clv_foreign_format {
    const char *name, *convert;
    size_t at, length; /* of the bytes that tell it; 0: names alone do */
    const char *magic;
    const char *const ends[6];
};

static const clv_foreign_format formats[] = {
    {"a DICOM file", "dcm2niix", 128, 4, "DICM", {".dcm"}},
    {"a NIfTI file in ASCII", "nifti_tool", 0, 12, "<nifti_image", {".nia"}},
    {"a MINC file", "mnc2nii", 0, 4, "CDF\1", {".mnc", ".mnc.gz"}},
    {"a MINC file", "mnc2nii", 0, 4, "CDF\2", {NULL}},
    {"an AFNI dataset (BRIK/HEAD)",
     "3dAFNItoNIFTI",
     0,
     8,
     "\ntype  =",
     {".head", ".brik", ".brik.gz", ".brik.bz2", ".brik.z"}},
    {"an AFNI dataset (BRIK/HEAD)", "3dAFNItoNIFTI", 0, 7, "\ntype =", {NULL}},
    {"a Philips file (PAR/REC)",
     "dcm2niix",
     0,
     28,
     "# === DATA DESCRIPTION FILE ",
     {".rec", ".rec.gz"}}, /* .par is also FSL's */
};

const clv_foreign_format *clv_foreign(const char *path, const uint8_t *head, size_t size)
{
    enum { FORMATS = sizeof formats / sizeof *formats };
    for (int f = 0; f < FORMATS; f++)
        if (size >= formats[f].at + formats[f].length &&
            !memcmp(head + formats[f].at, formats[f].magic, formats[f].length))
            return &formats[f];
    for (int f = 0; f < FORMATS; f++)
        for (int e = 0; e < 6 && formats[f].ends[e]; e++)
            if (clv_ends_in(path, formats[f].ends[e]))
                return &formats[f];
    return NULL;
}

int clv_foreign_refuse(const char *path, const clv_foreign_format *format)
{
    return clvox_fail(CLVOX_ERROR_FORMAT,
                      "%s: is %s, which clvox does not read; convert it with %s to .nii.gz", path,
                      format->name, format->convert);
}
