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
exits 0 clvox register -f $template -m "$image" --labels "${raw}_seg-x_desc-y_dseg.nii.gz" $fast --inverse --report -o o
out=raw/derivatives/clvox/sub-01/ses-a/anat/$stem
for pair in from-T1w_to-MNI152_mode-image_desc-affine_xfm.txt=affine.txt from-T1w_to-MNI152_mode-image_desc-warp_xfm.nii.gz=warp.nii.gz \
    from-MNI152_to-T1w_mode-image_desc-warp_xfm.nii.gz=inverse_warp.nii.gz space-MNI152_res-02_T1w.nii.gz=warped.nii.gz \
    space-MNI152_seg-x_res-02_desc-y_dseg.nii.gz=labels.nii.gz; do
    cmp -s "${out}_${pair%%=*}" "o_${pair#*=}" || complain "$pair differs"
done
cmp -s raw/derivatives/clvox/sub-01/figures/${stem}_space-MNI152_res-02_T1w.png o.png || complain "another picture"
json raw/derivatives/clvox/logs/${stem}_space-MNI152_res-02_T1w.json 'len(j["outputs"]) == 12 and j["result"]["ncc_after"] > 0.9'

begin "apply --pair finds the chain by the beginning of its names, or by the resampled image"
forth=${out}_from-T1w_to-MNI152_mode-image_desc back=${out}_from-MNI152_to-T1w_mode-image_desc
exits 0 clvox apply -i "$image" -r $template -t ${forth}-warp_xfm.nii.gz -t ${forth}-affine_xfm.txt -o a.nii.gz
exits 0 clvox apply -i $template -r "$image" -t ${forth}-affine_xfm.txt,-1 -t ${back}-warp_xfm.nii.gz -o b.nii.gz
for prefix in ${out} ${out%_run-1} ${out}_from-T1w_to-MNI152 ${out}_space-MNI152_res-02_T1w; do
    exits 0 clvox apply -i "$image" -r $template --pair $prefix -o c.nii.gz; quiet; cmp -s a.nii.gz c.nii.gz || complain "$prefix is another chain"
    exits 0 clvox apply -i $template -r "$image" --pair $prefix --inverse -o c.nii.gz; cmp -s b.nii.gz c.nii.gz || complain "$prefix is another chain back"
done
cp ${forth}-affine_xfm.txt ${out}_from-T1w_to-other_mode-image_desc-affine_xfm.txt
exits 1 clvox apply -i "$image" -r $template --pair $out -o x.nii; one_sentence; says 'several registrations'; absent x.nii
exits 0 clvox apply -i "$image" -r $template --pair ${out}_space-MNI152_res-02_T1w -o c.nii.gz; cmp -s a.nii.gz c.nii.gz || complain "another chain"
rm ${out}_from-T1w_to-other_mode-image_desc-affine_xfm.txt
exits 1 clvox apply -i "$image" -r $template --pair ${out}_space-MNI -o x.nii; one_sentence; says 'there is no such file; --pair'; absent x.nii

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

begin "momenta, tissues and shapes"
cp p_fixed_labels.nii.gz f.nii.gz; cp p_moving_labels.nii.gz m.nii.gz
printf 'v -9 -9 -9\nv 9 -9 -9\nv 0 9 -9\nv 0 0 9\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n' > f.obj; sed 's/ 9/ 8/g' f.obj > m.obj
printf 'x,y,z\n-9,-9,-9\n9,-9,-9\n0,9,-9\n0,0,9\n' > f.csv; sed 's/9/8/g' f.csv > m.csv
all="--linear none --deform shooting --shrink 2 --iterations 1 --timesteps 2 --posteriors f.nii.gz,m.nii.gz --surface f.obj,m.obj --surface f.obj,m.obj --cloud f.csv,m.csv --no-picture -q"
exits 0 clvox register -f $template -m "$image" $all --bids-derivatives momenta
files momenta << END
.bidsignore
dataset_description.json
logs/${stem}_space-MNI152_res-02_T1w.json
$(for end in from-MNI152_to-T1w_mode-image_desc-warp_xfm.nii.gz from-T1w_to-MNI152_mode-image_desc-affine_xfm.txt from-T1w_to-MNI152_mode-image_desc-momentum_xfm.nii.gz \
    from-T1w_to-MNI152_mode-image_desc-warp_xfm.nii.gz space-MNI152_res-02_T1w.nii.gz space-MNI152_res-02_desc-1_cloud.csv space-MNI152_res-02_desc-1_surface.obj \
    space-MNI152_res-02_desc-2_surface.obj space-MNI152_res-02_probseg.nii.gz; do
    echo "sub-01/ses-a/anat/${stem}_$end"
    echo "sub-01/ses-a/anat/${stem}_${end%%.*}.json"
done)
END
exits 0 clvox register -f $template -m "$image" $all -o q
for pair in from-T1w_to-MNI152_mode-image_desc-momentum_xfm.nii.gz=momentum.nii.gz space-MNI152_res-02_probseg.nii.gz=posteriors.nii.gz \
    space-MNI152_res-02_desc-2_surface.obj=surface_2.obj space-MNI152_res-02_desc-1_cloud.csv=cloud_1.csv; do
    cmp -s "momenta/sub-01/ses-a/anat/${stem}_${pair%%=*}" "q_${pair#*=}" || complain "$pair differs"
done
json momenta/sub-01/ses-a/anat/${stem}_space-MNI152_res-02_desc-1_cloud.json 'j["Sources"][0] == "../m.csv" and len(j["Sources"]) == 3'
json momenta/sub-01/ses-a/anat/${stem}_space-MNI152_res-02_probseg.json 'j["Sources"][0] == "../m.nii.gz"'

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

begin "a template and the maps of its subjects: names, bytes, sidecars, and the list that clvox stats reads"
fast="--quick --linear translation --linear-rounds 1 --rounds 1 --shrink 2x1 --iterations 10x10"
for k in 1 2 3; do
    clvox phantom warp -o "w$k.nii" --size 17x16x15 --spacing 3x3x3.5mm --amplitude 2 --seed $k -q
    clvox phantom textured -o t.nii --size 17x16x15 --spacing 3x3x3.5mm --seed 9 --labels l.nii -q
    mkdir -p "set/sub-$k/ses-a/anat"
    clvox apply -i t.nii -r t.nii -t "w$k.nii" -o "set/sub-$k/ses-a/anat/sub-${k}_ses-a_T1w.nii.gz" -q
    clvox apply -i l.nii -r t.nii -t "w$k.nii" --interp label -o "set/sub-$k/ses-a/anat/sub-${k}_ses-a_dseg.nii.gz" -q
done
echo '{"Name": "set", "BIDSVersion": "1.8.0"}' > set/dataset_description.json
printf 'participant_id\tage\nsub-1\t8\nsub-2\t9\nsub-3\t5\n' > set/participants.tsv
printf 'image\tlabels\tage\n' > set/list.tsv
for k in 3 1 2; do printf 'sub-%s/ses-a/anat/sub-%s_ses-a_T1w.nii.gz\tsub-%s/ses-a/anat/sub-%s_ses-a_dseg.nii.gz\t%s\n' $k $k $k $k $k; done >> set/list.tsv
out=set/derivatives/clvox
exits 0 clvox atlas --bids-derivatives $out $fast --list set/list.tsv --report
# of_subjects SPACE: their files
of_subjects() {
    for k in 1 2 3; do
        a=sub-$k/ses-a/anat/sub-${k}_ses-a
        for end in "space-$1_logjac" "from-T1w_to-$1_mode-image_desc-warp_xfm" "from-$1_to-T1w_mode-image_desc-warp_xfm"; do
            echo "${a}_$end.nii.gz"
            echo "${a}_$end.json"
        done
        for end in txt json; do echo "${a}_from-T1w_to-$1_mode-image_desc-affine_xfm.$end"; done
    done
}
files $out << END
.bidsignore
dataset_description.json
logs/tpl-study_T1w.json
tpl-study/figures/tpl-study_T1w.html
tpl-study/tpl-study_T1w.json
tpl-study/tpl-study_T1w.nii.gz
tpl-study/tpl-study_dseg.json
tpl-study/tpl-study_dseg.nii.gz
tpl-study/tpl-study_logjac.json
tpl-study/tpl-study_logjac.nii.gz
tpl-study/tpl-study_subjects.tsv
tpl-study/tpl-study_summary.tsv
$(of_subjects study)
$(for k in 1 2 3; do for end in nii.gz json; do echo "sub-$k/ses-a/anat/sub-${k}_ses-a_space-T1w_seg-study_dseg.$end"; done; done)
END
exits 0 clvox atlas -o plain $fast --list set/list.tsv
# alike PLAIN DERIVATIVES: the same bytes
alike() {
    for pair in template.nii.gz=tpl-study/tpl-study_T1w.nii.gz template_logjac.nii.gz=tpl-study/tpl-study_logjac.nii.gz \
        sub-2_ses-a_T1w_affine.txt=sub-2/ses-a/anat/sub-2_ses-a_from-T1w_to-study_mode-image_desc-affine_xfm.txt \
        sub-1_ses-a_T1w_warp.nii.gz=sub-1/ses-a/anat/sub-1_ses-a_from-T1w_to-study_mode-image_desc-warp_xfm.nii.gz \
        sub-3_ses-a_T1w_inverse_warp.nii.gz=sub-3/ses-a/anat/sub-3_ses-a_from-study_to-T1w_mode-image_desc-warp_xfm.nii.gz \
        sub-3_ses-a_T1w_logjac.nii.gz=sub-3/ses-a/anat/sub-3_ses-a_space-study_logjac.nii.gz; do
        cmp -s "$1/${pair%%=*}" "$2/${pair#*=}" || complain "$pair differs"
    done
}
alike plain $out
cmp -s plain/template_labels.nii.gz $out/tpl-study/tpl-study_dseg.nii.gz || complain "other labels"
cmp -s plain/sub-2_ses-a_T1w_labels.nii.gz $out/sub-2/ses-a/anat/sub-2_ses-a_space-T1w_seg-study_dseg.nii.gz || complain "other labels of a subject"
json $out/sub-2/ses-a/anat/sub-2_ses-a_space-T1w_seg-study_dseg.json 'j["Sources"] == ["../../sub-2/ses-a/anat/sub-2_ses-a_T1w.nii.gz", "bids::tpl-study/tpl-study_dseg.nii.gz"] and j["SpatialReference"] == j["Sources"][0] and j["Description"]'
cmp -s plain/summary.tsv $out/tpl-study/tpl-study_summary.tsv || complain "another summary"
json $out/tpl-study/tpl-study_T1w.json 'j["Sources"] == ["../../sub-%d/ses-a/anat/sub-%d_ses-a_T1w.nii.gz" % (k, k) for k in (3, 1, 2)] and j["SkullStripped"] is False and j["Description"]'
json $out/tpl-study/tpl-study_dseg.json 'j["Sources"][0] == "../../sub-3/ses-a/anat/sub-3_ses-a_dseg.nii.gz"'
json $out/sub-1/ses-a/anat/sub-1_ses-a_from-T1w_to-study_mode-image_desc-warp_xfm.json 'j["Sources"] == ["../../sub-1/ses-a/anat/sub-1_ses-a_T1w.nii.gz", "bids::tpl-study/tpl-study_T1w.nii.gz"] and j["SpatialReference"] == "bids::tpl-study/tpl-study_T1w.nii.gz"'
cut -f 1 $out/tpl-study/tpl-study_subjects.tsv | sed 1d > got
for k in 3 1 2; do echo "../sub-$k/ses-a/anat/sub-${k}_ses-a_space-study_logjac.nii.gz"; done | cmp -s - got || complain "other rows in the list"
exits 0 clvox stats --list $out/tpl-study/tpl-study_subjects.tsv --test age --permutations 4 -o stats

begin "templates along a covariate are cohorts; a BIDS folder; another name; no deformation"
exits 0 clvox atlas --bids-derivatives set/derivatives/growth/ $fast set --regress age --at 5,8.5 --bandwidth 3 --space growth
files set/derivatives/growth << END
.bidsignore
dataset_description.json
logs/tpl-growth_T1w.json
$(for c in 1 2; do
    for end in T1w.nii.gz T1w.json logjac.nii.gz logjac.json subjects.tsv summary.tsv; do echo "tpl-growth/cohort-$c/tpl-growth_cohort-${c}_$end"; done
    of_subjects "growth+$c"
done)
END
json set/derivatives/growth/tpl-growth/cohort-2/tpl-growth_cohort-2_T1w.json 'j["Description"].endswith("age 8.5")'
for image in $(cut -f 1 set/derivatives/growth/tpl-growth/cohort-2/tpl-growth_cohort-2_subjects.tsv | sed 1d); do exists "set/derivatives/growth/tpl-growth/cohort-2/$image"; done
exits 0 clvox atlas --bids-derivatives set/derivatives/growth/ $fast set --regress age --at 5 --bandwidth 3 --space growth
says 'cohort-2/tpl-growth_cohort-2_T1w.nii.gz: of an earlier run, which these results replace: removed'
files set/derivatives/growth << END
.bidsignore
dataset_description.json
logs/tpl-growth_T1w.json
$(for end in T1w.nii.gz T1w.json logjac.nii.gz logjac.json subjects.tsv summary.tsv; do echo "tpl-growth/cohort-1/tpl-growth_cohort-1_$end"; done; of_subjects growth+1)
END
exits 0 clvox atlas --bids-derivatives set/derivatives/growth $fast set --space linear --rounds 0 --deform none
json set/derivatives/growth/sub-1/ses-a/anat/sub-1_ses-a_from-T1w_to-linear_mode-image_desc-affine_xfm.json 'j["Description"] == "Affine of ITK"'
absent set/derivatives/growth/tpl-linear/tpl-linear_logjac.json; exists set/derivatives/growth/tpl-growth/cohort-1/tpl-growth_cohort-1_T1w.nii.gz

begin "channels of a BIDS folder have templates by their suffixes"
for k in 1 2 3; do
    a=sub-$k/ses-a/anat/sub-${k}_ses-a
    mkdir -p "both/sub-$k/ses-a/anat"; cp "set/${a}_T1w.nii.gz" "both/${a}_T1w.nii.gz"
    exits 0 clvox filter gaussian "set/${a}_T1w.nii.gz" -o "both/${a}_T2w.nii.gz" --sigma 4mm -q
done
cp set/dataset_description.json both
exits 0 clvox atlas --bids-derivatives both/derivatives/clvox $fast both --suffix T1w,T2w
files both/derivatives/clvox << END
.bidsignore
dataset_description.json
logs/tpl-study_T1w.json
$(for end in T1w.nii.gz T1w.json T2w.nii.gz T2w.json logjac.nii.gz logjac.json subjects.tsv summary.tsv; do echo "tpl-study/tpl-study_$end"; done; of_subjects study)
END
json both/derivatives/clvox/tpl-study/tpl-study_T2w.json 'len(j["Sources"]) == 3 and all(s.endswith("_ses-a_T2w.nii.gz") for s in j["Sources"])'

begin "a template that is ended or killed goes on and ends with the same bits"
slow="--quick --linear translation --linear-rounds 1 --rounds 3 --shrink 2x1 --iterations 30x30 --tolerance 0"
exits 0 clvox atlas -o whole $slow set
ended="$program atlas --bids-derivatives set/derivatives/ended $slow set"
exits 0 python3 "$here/end.py" SIGTERM 143 set/derivatives/ended logs/tpl-study_T1w_state/subject_1 $ended
says 'logs/tpl-study_T1w_state keeps what has been done: the same command continues from there'
files set/derivatives/ended << END
.bidsignore
dataset_description.json
$(cd set/derivatives/ended && find logs/tpl-study_T1w_state -type f)
END
exits 0 python3 "$here/end.py" SIGKILL -9 set/derivatives/ended logs/tpl-study_T1w_state/round $ended
exits 0 $ended; says 'logs/tpl-study_T1w_state: of a run that was interrupted: continuing'
absent set/derivatives/ended/logs/tpl-study_T1w_state
json set/derivatives/ended/logs/tpl-study_T1w.json 'j["result"]["resumed"] > 2'
alike whole set/derivatives/ended
files set/derivatives/ended << END
.bidsignore
dataset_description.json
logs/tpl-study_T1w.json
$(for end in T1w.nii.gz T1w.json logjac.nii.gz logjac.json subjects.tsv summary.tsv; do echo "tpl-study/tpl-study_$end"; done; of_subjects study)
END

begin "what a template cannot be made into derivatives of is refused, and nothing is written"
find . -type d | grep -v log | sort > before
exits 1 clvox atlas --bids-derivatives set $fast set; one_sentence; says 'set: is a raw data set.*set/derivatives/clvox'
exits 1 clvox atlas --bids-derivatives set/tpl $fast set; one_sentence; says 'set/tpl: lies in the raw data set'
exits 1 clvox atlas --bids-derivatives d2 $fast p_fixed.nii.gz p_moving.nii.gz; one_sentence; says 'p_fixed.nii.gz: the images give'
cp set/sub-1/ses-a/anat/sub-1_ses-a_T1w.nii.gz sub-1_ses-a_desc-x_T1w.nii.gz
exits 1 clvox atlas --bids-derivatives d2 $fast sub-1_ses-a_desc-x_T1w.nii.gz set/sub-1/ses-a/anat/sub-1_ses-a_T1w.nii.gz; one_sentence; says 'two images would have the output d2/sub-1/ses-a/anat/'
exits 2 clvox atlas --bids-derivatives d2 -o d3 set; says 'one of them'
exits 2 clvox atlas -o d3 set --space x; says '--space belongs to'
exits 2 clvox atlas --bids-derivatives d2 set --space a-b; says '--space a-b'
exits 0 clvox atlas --bids-derivatives set/derivatives/dry $fast set --dry-run
find . -type d | grep -v log | sort | diff before - > log/err || complain "folders were left"
finish
