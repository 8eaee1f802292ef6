#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Outputs as BIDS derivatives.
. "$(dirname "$0")/lib.sh"
"$program" phantom pair -o p --size 17x16x13 --spacing 3x3x3.5mm --seed 1 -q
fast="--quick --linear rigid --shrink 2x1 --iterations 3x3"
# files DIR: those in it, sorted; compared with the lines of standard input
files() {
    (cd "$1" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) > got
    LC_ALL=C sort > want
    diff want got > log/err && return
    complain "other files in $1"
}
raw=raw/sub-01/ses-a/anat/sub-01_ses-a
image=${raw}_acq-mprage_run-1_T1w.nii.gz
mkdir -p raw/sub-01/ses-a/anat raw/sub-02/anat tpl
echo '{"Name": "raw", "BIDSVersion": "1.8.0", "DatasetType": "raw"}' > raw/dataset_description.json
cp p_moving.nii.gz "$image"; cp p_moving_labels.nii.gz "${raw}_seg-x_desc-y_dseg.nii.gz"
cp p_fixed.nii.gz tpl/tpl-MNI152_res-02_desc-brain_T1w.nii.gz; cp p_fixed.nii.gz raw/sub-02/anat/sub-02_T1w.nii.gz
template=tpl/tpl-MNI152_res-02_desc-brain_T1w.nii.gz

begin "names are those of the moving image in the space of the template; the bytes are those of -o"
exits 0 clvox register -f $template -m "$image" --labels "${raw}_seg-x_desc-y_dseg.nii.gz" $fast --inverse --report --bids-derivatives raw/derivatives/clvox
stem=sub-01_ses-a_acq-mprage_run-1
files raw/derivatives/clvox << END
.bidsignore
dataset_description.json
logs/${stem}_space-MNI152_res-02_T1w.json
sub-01/figures/${stem}_space-MNI152_res-02_T1w.html
sub-01/figures/${stem}_space-MNI152_res-02_T1w.png
sub-01/ses-a/anat/${stem}_from-MNI152_to-T1w_mode-image_desc-warp_xfm.json
sub-01/ses-a/anat/${stem}_from-MNI152_to-T1w_mode-image_desc-warp_xfm.nii.gz
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-affine_xfm.json
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-affine_xfm.txt
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-warp_xfm.json
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-warp_xfm.nii.gz
sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.json
sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.nii.gz
sub-01/ses-a/anat/${stem}_space-MNI152_seg-x_res-02_desc-y_dseg.json
sub-01/ses-a/anat/${stem}_space-MNI152_seg-x_res-02_desc-y_dseg.nii.gz
END
exits 0 clvox register -f $template -m "$image" --labels "${raw}_seg-x_desc-y_dseg.nii.gz" $fast --inverse -o o
out=raw/derivatives/clvox/sub-01/ses-a/anat/$stem
for pair in from-T1w_to-MNI152_mode-image_desc-affine_xfm.txt=affine.txt from-T1w_to-MNI152_mode-image_desc-warp_xfm.nii.gz=warp.nii.gz \
    from-MNI152_to-T1w_mode-image_desc-warp_xfm.nii.gz=inverse_warp.nii.gz space-MNI152_res-02_T1w.nii.gz=warped.nii.gz \
    space-MNI152_seg-x_res-02_desc-y_dseg.nii.gz=labels.nii.gz; do
    cmp -s "${out}_${pair%%=*}" "o_${pair#*=}" || complain "$pair differs"
done
cmp -s raw/derivatives/clvox/sub-01/figures/${stem}_space-MNI152_res-02_T1w.png o.png || complain "another picture"
json raw/derivatives/clvox/logs/${stem}_space-MNI152_res-02_T1w.json 'len(j["outputs"]) == 12 and j["result"]["ncc_after"] > 0.9'

begin "sidecars and the description say what the standard asks for"
json raw/derivatives/clvox/dataset_description.json 'j["Name"] and j["BIDSVersion"] and j["DatasetType"] == "derivative" and j["GeneratedBy"][0]["Name"] == "clvox" and j["GeneratedBy"][0]["Version"]'
own="bids::sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc"
json ${out}_space-MNI152_res-02_T1w.json 'j["Sources"] == ["../../'"${image#raw/}"'", "'$own'-affine_xfm.txt", "'$own'-warp_xfm.nii.gz"] and j["SpatialReference"] == "../../../'$template'" and j["Resolution"] == "3 x 3 x 3.5 mm" and j["SkullStripped"] is False and j["Description"]'
json ${out}_space-MNI152_seg-x_res-02_desc-y_dseg.json 'j["Sources"][0].endswith("_seg-x_desc-y_dseg.nii.gz") and j["SpatialReference"] and j["Resolution"] and "Type" not in j'
for file in ${out}_from*.json; do json "$file" 'j["Sources"] == ["../../'"${image#raw/}"'", "../../../'$template'"] and j["SpatialReference"].endswith("_T1w.nii.gz") and "Resolution" not in j'; done

begin "a second run has the same files; what it does not write goes"
touch -d 2001-01-01 raw/derivatives/clvox/dataset_description.json
exits 0 clvox register -f $template -m "$image" $fast --linear none --deform none --no-picture --bids-derivatives raw/derivatives/clvox
says 'mode-image_desc-warp_xfm.nii.gz: of an earlier run, which these results replace: removed'
files raw/derivatives/clvox << END
.bidsignore
dataset_description.json
logs/${stem}_space-MNI152_res-02_T1w.json
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-affine_xfm.json
sub-01/ses-a/anat/${stem}_from-T1w_to-MNI152_mode-image_desc-affine_xfm.txt
sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.json
sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.nii.gz
END
[ "$(date -r raw/derivatives/clvox/dataset_description.json +%Y)" = 2001 ] || complain "the description was written again"

begin "the space: of another subject, of the same session, of a file of another name, as given"
none="--linear none --deform none --no-picture -q"
# named FIXED MOVING WARPED [OPTION...]
named() {
    fixed=$1 moving=$2 result=$3
    shift 3
    rm -rf d
    exits 0 clvox register -f "$fixed" -m "$moving" $none --bids-derivatives d "$@"
    exists "d/$result"
}
cp p_fixed.nii.gz "${raw}_T1w.nii.gz"; cp p_moving.nii.gz "${raw}_T2w.nii.gz"; cp p_moving_labels.nii.gz lesion_mask.nii.gz
cp p_fixed.nii.gz "${raw}_space-fsLR_T1w.nii.gz"
named raw/sub-02/anat/sub-02_T1w.nii.gz "${raw}_T2w.nii.gz" sub-01/ses-a/anat/sub-01_ses-a_space-sub02_T2w.nii.gz
named "${raw}_T1w.nii.gz" raw/sub-02/anat/sub-02_T1w.nii.gz sub-02/anat/sub-02_space-sub01sesa_T1w.nii.gz
named "${raw}_T1w.nii.gz" "${raw}_T2w.nii.gz" sub-01/ses-a/anat/sub-01_ses-a_space-T1w_T2w.nii.gz
exists d/sub-01/ses-a/anat/sub-01_ses-a_from-T2w_to-T1w_mode-image_desc-affine_xfm.txt
named "$image" "${raw}_T1w.nii.gz" sub-01/ses-a/anat/sub-01_ses-a_space-sub01sesaacqmpragerun1_T1w.nii.gz
named p_fixed.nii.gz "$image" sub-01/ses-a/anat/${stem}_space-pfixed_T1w.nii.gz
named "${raw}_space-fsLR_T1w.nii.gz" "$image" sub-01/ses-a/anat/${stem}_space-fsLR_T1w.nii.gz
named p_fixed.nii.gz "$image" sub-01/ses-a/anat/${stem}_space-mine1_T1w.nii.gz --space mine1
cp p_moving.nii.gz sub-3_task-rest_space-x_res-1_desc-brain_boldref.nii.gz
cp p_moving_labels.nii.gz sub-3_desc-brain_mask.nii.gz
named $template sub-3_task-rest_space-x_res-1_desc-brain_boldref.nii.gz sub-3/func/sub-3_task-rest_space-MNI152_res-02_desc-brain_boldref.nii.gz --labels sub-3_desc-brain_mask.nii.gz
exists d/sub-3/func/sub-3_task-rest_from-x_to-MNI152_mode-image_desc-affine_xfm.txt
json d/sub-3/func/sub-3_task-rest_space-MNI152_res-02_desc-brain_boldref.json 'j["SkullStripped"] is True'
json d/sub-3/func/sub-3_task-rest_space-MNI152_res-02_desc-brain_mask.json 'j["Type"] == "Brain"'

begin "another pipeline's description stays, and nothing is put beside it; an image's own sidecar says whether it is the brain"
mkdir -p other
echo '{"Name": "fMRIPrep", "BIDSVersion": "1.4.0", "PipelineDescription": {"Name": "fMRIPrep"}}' > other/dataset_description.json
cp other/dataset_description.json before.json; echo '{"SkullStripped": true}' > "${raw}_T2w.json"
exits 0 clvox register -f $template -m "${raw}_T2w.nii.gz" $none --bids-derivatives other/
cmp -s before.json other/dataset_description.json || complain "the description was changed"
absent other/.bidsignore
json other/sub-01/ses-a/anat/sub-01_ses-a_space-MNI152_res-02_T2w.json 'j["SkullStripped"] is True'
json other/logs/sub-01_ses-a_space-MNI152_res-02_T2w.json 'len(j["outputs"]) == 4'

begin "raw data sets, descriptions that are none and names without sub- are refused, and nothing is written"
refused() {
    exits "$1" clvox register -f $template -m "$2" $none --bids-derivatives "$3"
    says "$4"
}
find . -type d | grep -v log | sort > before
refused 1 "$image" raw 'raw: is a raw data set.*raw/derivatives/clvox'; one_sentence
refused 1 "$image" raw/out/here 'raw/out/here: lies in the raw data set .*raw; derivatives have their place in'; one_sentence
refused 1 "$image" raw/derivatives/../sub-09 'lies in the raw data set'
mkdir -p undescribed/sub-7; cp p_moving.nii.gz undescribed/sub-7/sub-7_T1w.nii.gz
refused 1 undescribed/sub-7/sub-7_T1w.nii.gz undescribed 'undescribed: has the image .* itself, and no dataset_description.json'; one_sentence
rm -r undescribed; mkdir broken; echo '{"Name": 3' > broken/dataset_description.json
refused 1 "$image" broken 'broken/dataset_description.json: is no description of a data set'; one_sentence
rm -r broken
refused 1 p_moving.nii.gz d2 'p_moving.nii.gz: the moving image gives .* is not sub-LABEL_..._SUFFIX'; one_sentence
cp p_moving.nii.gz sub-1_run-1_run-2_T1w.nii.gz
refused 1 sub-1_run-1_run-2_T1w.nii.gz d2 'sub-1_run-1_run-2_T1w.nii.gz: the moving image'
long=$(printf '%0200d' 0); cp p_moving.nii.gz "sub-${long}_T1w.nii.gz"
refused 1 "sub-${long}_T1w.nii.gz" d2 'the names of its derivatives are too long'; one_sentence
cp p_fixed.nii.gz ...nii.gz
exits 1 clvox register -f ...nii.gz -m "$image" $none --bids-derivatives d2; says 'gives no name of a space; give --space NAME'
exits 1 clvox register -f gone.nii.gz -m "$image" $none --bids-derivatives d2 --space x
exits 1 clvox register -f "$image" -m "$image" --labels p_fixed.nii.gz.gone $none --bids-derivatives d2
exits 2 clvox register -f $template -m "$image" --bids-derivatives d2 -o x; says '-o and --bids-derivatives: one of them'
exits 2 clvox register -f $template -m "$image" --bids-derivatives d2 --space a_b; says '--space a_b: '
exits 2 clvox register -f $template -m "$image" -o x --space ab; says '--space belongs to --bids-derivatives'
exits 2 clvox register --posteriors p_fixed_labels.nii.gz,p_moving_labels.nii.gz --bids-derivatives d2; says 'give -f FIXED -m MOVING'
exits 0 clvox register -f $template -m "$image" $fast --bids-derivatives d2 --dry-run
prints "d2/sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.json"
find . -type d | grep -v log | sort | diff before - > log/err || complain "folders were left"

begin "the pairs of a list have names of their own, and are done once"
printf 'fixed\tmoving\tlabels\n%s\t%s\t\n%s\t%s\t%s\n' "$template" "$image" "$template" "${raw}_T2w.nii.gz" "${raw}_seg-x_desc-y_dseg.nii.gz" > pairs.tsv
exits 0 clvox register --list pairs.tsv --bids-derivatives many $fast --no-picture --report; prints '2 done, 0 present, 0 failed'
files many << END
.bidsignore
dataset_description.json
logs/${stem}_space-MNI152_res-02_T1w.json
logs/sub-01_ses-a_space-MNI152_res-02_T2w.json
logs/summary.html
logs/summary.tsv
$(for s in ${stem}:T1w sub-01_ses-a:T2w; do
    a=sub-01/ses-a/anat/${s%:*} k=${s#*:}
    echo "sub-01/figures/${s%:*}_space-MNI152_res-02_$k.html"
    for end in json nii.gz; do
        echo "${a}_space-MNI152_res-02_$k.$end"
        echo "${a}_from-${k}_to-MNI152_mode-image_desc-warp_xfm.$end"
    done
    for end in json txt; do echo "${a}_from-${k}_to-MNI152_mode-image_desc-affine_xfm.$end"; done
done)
sub-01/ses-a/anat/sub-01_ses-a_space-MNI152_seg-x_res-02_desc-y_dseg.json
sub-01/ses-a/anat/sub-01_ses-a_space-MNI152_seg-x_res-02_desc-y_dseg.nii.gz
END
cmp -s "many/sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.nii.gz" o_warped.nii.gz || complain "other bytes than alone"
cut -f 3 many/logs/summary.tsv | sed 1d > got
printf 'many/sub-01/ses-a/anat/%s\n' ${stem}_space-MNI152_res-02_T1w sub-01_ses-a_space-MNI152_res-02_T2w | cmp -s - got || complain "other outputs in the summary"
grep -q "href=\"../sub-01/figures/${stem}_space" many/logs/summary.html || complain "the page leads nowhere"
exits 0 clvox register --list pairs.tsv --bids-derivatives many $fast --no-picture --report; prints '0 done, 2 present, 0 failed'
rm "many/sub-01/ses-a/anat/${stem}_space-MNI152_res-02_T1w.json"
exits 0 clvox register --list pairs.tsv --bids-derivatives many $fast --no-picture --report; prints '1 done, 1 present, 0 failed'
printf '%s\t%s\t\n' "$template" "$image" >> pairs.tsv
exits 1 clvox register --list pairs.tsv --bids-derivatives many2 $fast; says 'two pairs have the output many2/sub-01/ses-a/anat/'; absent many2
printf 'fixed\tmoving\n%s\tp_moving.nii.gz\n' "$template" > pairs.tsv
exits 1 clvox register --list pairs.tsv --bids-derivatives many2 $fast; says 'p_moving.nii.gz: the moving image gives'; absent many2
exits 1 clvox register --list pairs.tsv -o many2 $fast; says 'output'; absent many2
finish
