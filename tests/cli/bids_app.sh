#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clvox as a BIDS App.
. "$(dirname "$0")/lib.sh"
fast="--quick --linear rigid --shrink 2x1 --iterations 3x3 -q"
mkdir -p raw tpl
echo '{"Name": "raw", "BIDSVersion": "1.8.0", "DatasetType": "raw"}' > raw/dataset_description.json
printf 'participant_id\tage\tsex\nsub-01\t30\tF\nsub-02\t41\tM\nsub-03\t52\tF\nsub-04\t65\tM\n' > raw/participants.tsv
for k in 1 2 3 4; do
    mkdir -p raw/sub-0$k/anat
    "$program" phantom pair -o p --size 17x16x13 --spacing 3x3x3.5mm --seed $k -q
    cp p_moving.nii.gz raw/sub-0$k/anat/sub-0${k}_T1w.nii.gz
done
template=tpl/tpl-MNI_res-02_T1w.nii.gz
cp p_fixed.nii.gz $template
# files DIR: those in it, sorted; compared with the lines of standard input
files() {
    (cd "$1" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) > got
    LC_ALL=C sort > want
    diff want got > log/err && return
    complain "other files in $1"
}
derivatives() { # LABEL: the files of a participant, registered to MNI
    for end in desc-preproc_T1w space-MNI_res-02_desc-preproc_T1w space-MNI_res-02_logjac from-T1w_to-MNI_mode-image_desc-warp_xfm \
        from-MNI_to-T1w_mode-image_desc-warp_xfm; do
        echo "sub-$1/anat/sub-$1_$end.nii.gz"; echo "sub-$1/anat/sub-$1_$end.json"
    done
    for end in txt json; do echo "sub-$1/anat/sub-$1_from-T1w_to-MNI_mode-image_desc-affine_xfm.$end"; done
    for end in desc-preproc_T1w.html desc-preproc_T1w.png T1w.svg; do echo "sub-$1/figures/sub-$1_space-MNI_res-02_$end"; done
    echo "logs/sub-$1_space-MNI_res-02_desc-preproc_T1w.json"
}
description() { printf 'dataset_description.json\n.bidsignore\n'; }

begin "participants are corrected, as by filter n4, and registered to the template, as by register"
exits 0 clvox bids raw out participant --template $template --participant-label 01 sub-02 $fast
(description; derivatives 01; derivatives 02; printf 'logs/summary.tsv\nlogs/summary.html\n') | files out
stem=out/sub-01/anat/sub-01
exits 0 clvox filter n4 raw/sub-01/anat/sub-01_T1w.nii.gz -o n4.nii.gz -q
cmp -s n4.nii.gz ${stem}_desc-preproc_T1w.nii.gz || complain "another corrected image"
exits 0 clvox register -f $template -m n4.nii.gz -o r --inverse $fast
for pair in space-MNI_res-02_desc-preproc_T1w=warped from-T1w_to-MNI_mode-image_desc-warp_xfm=warp from-MNI_to-T1w_mode-image_desc-warp_xfm=inverse_warp; do
    cmp -s "${stem}_${pair%%=*}.nii.gz" "r_${pair#*=}.nii.gz" || complain "$pair differs"
done
exits 0 clvox jacobian -t r_warp.nii.gz --log -o j.nii.gz
cmp -s j.nii.gz ${stem}_space-MNI_res-02_logjac.nii.gz || complain "another log Jacobian"
json ${stem}_desc-preproc_T1w.json 'j["Sources"] == ["../raw/sub-01/anat/sub-01_T1w.nii.gz"] and j["SkullStripped"] is False'
json ${stem}_space-MNI_res-02_logjac.json 'j["Sources"][0].startswith("bids::sub-01/anat/") and j["SpatialReference"] == "../tpl/tpl-MNI_res-02_T1w.nii.gz" and j["Resolution"]'

begin "a figure has two mosaics of one size, the warped one over the fixed one, as NiReports shows them"
python_holds out/sub-01/figures/sub-01_space-MNI_res-02_T1w.svg << 'END'
import base64, struct, sys, xml.etree.ElementTree as tree
svg, link = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == svg + "svg" and "flicker" in root.find(svg + "style").text
layers = root.findall(svg + "g")
assert [g.get("class") for g in layers] == ["background-svg", "foreground-svg"]
pictures = [base64.b64decode(g.find(svg + "image").get(link).partition("base64,")[2]) for g in layers]
sizes = {struct.unpack(">II", p[16:24]) for p in pictures}
assert all(p.startswith(b"\x89PNG") for p in pictures) and pictures[0] != pictures[1]
assert sizes == {tuple(int(root.get("viewBox").split()[k]) for k in (2, 3))}, sizes
END

begin "what is there stays; an image that has changed is made again"
touch -d 2001-01-01 out/sub-01/figures/sub-01_space-MNI_res-02_desc-preproc_T1w.png
cp ${stem}_desc-preproc_T1w.nii.gz before.nii.gz
exits 0 clvox bids raw out participant --template $template --participant_label 01,02 ${fast% -q}
says '0 images to correct'; says '2 pairs, 2 of them complete'; prints '0 done, 2 present'
[ "$(date -r out/sub-01/figures/sub-01_space-MNI_res-02_desc-preproc_T1w.png +%Y)" = 2001 ] || complain "it was made again"
touch raw/sub-02/anat/sub-02_T1w.nii.gz
exits 0 clvox bids raw out participant --template $template --participant-label 01 02 ${fast% -q}
says '1 images to correct'; prints '1 done, 1 present'

begin "shards make the files of a single run, and the level group finds them"
exits 0 clvox bids raw whole participant --template $template $fast
for k in 1 2 3; do exits 0 clvox bids raw parts participant --template $template --shard $k/3 $fast; done
exits 0 clvox bids raw parts participant --template $template --shard 5/5 ${fast% -q}; says 'no pair is in shard 5 of 5'
for k in 1 2 3 4; do
    for file in $(cd whole && echo sub-0$k/anat/*.nii.gz sub-0$k/figures/*.svg); do cmp -s "whole/$file" "parts/$file" || complain "$file differs"; done
done
exists parts/logs/summary_shard-1-of-3.tsv; [ "$(wc -l < parts/logs/summary_shard-1-of-3.tsv)" = 3 ] || complain "other pairs in shard 1"
exists parts/logs/summary_shard-2-of-3.html; absent parts/logs/summary.tsv
exits 0 clvox bids raw parts group --template $template ${fast% -q}; prints '0 done, 4 present'; prints 'parts/group_T1w.tsv'
python_holds parts/group_T1w.tsv << 'END'
import csv, os, sys
rows = list(csv.DictReader(open(sys.argv[1]), delimiter="\t"))
assert [r["participant_id"] for r in rows] == ["sub-01", "sub-02", "sub-03", "sub-04"]
assert [r["age"] for r in rows] == ["30", "41", "52", "65"] and rows[1]["sex"] == "M"
for row in rows:
    assert os.path.exists(os.path.join("parts", row["image"])) and row["image"].endswith("_logjac.nii.gz")
    assert abs(float(row["log_affine"])) < 1e-3 and float(row["ncc"]) > 0.8 and row["folded"] == "0", row
END

begin "the level group builds a template and tests the log Jacobians by a column of participants.tsv"
exits 2 clvox bids raw study group --rounds 1; says '--rounds'
exits 0 clvox bids raw study group --test age --covariates sex $fast
exists study/tpl-study/tpl-study_T1w.nii.gz; exists study/sub-04/anat/sub-04_space-study_logjac.nii.gz
exists study/stats/space-study_age_t.nii.gz; exists study/stats/space-study_age_p_fwe.nii.gz
json study/stats/space-study_age.json 'j["result"]["subjects"] == 4 and j["options"]["covariates"] == ["sex"]'
head -n 1 study/group_T1w.tsv | grep -q "participant_id	age	sex	image" || complain "other columns"
touch -d 2001-01-01 study/logs/preproc_T1w.tsv
exits 0 clvox bids raw study group ${fast% -q}; says 'is there, and newer than all images'; prints '0 done, 4 present'
[ "$(date -r study/logs/preproc_T1w.tsv +%Y)" = 2001 ] || complain "the template was built again"

begin "without a template participants are corrected, and told what comes next"
exits 0 clvox bids raw first participant --participant-label 03 ${fast% -q}; says 'clvox bids raw first group builds a template'
(description; echo sub-03/anat/sub-03_desc-preproc_T1w.nii.gz; echo sub-03/anat/sub-03_desc-preproc_T1w.json) | files first

begin "log_affine of a head that is a tenth larger than the template"
mkdir -p large/sub-1/anat
"$program" phantom pair --size 17x16x13 --spacing 3.3x3.3x3.85mm --seed 4 -o l -q
cp l_fixed.nii.gz large/sub-1/anat/sub-1_T1w.nii.gz
exits 0 clvox bids large larger group --template $template --quick --linear affine --deform none -q
python_holds larger/group_T1w.tsv << 'END'
import csv, math, sys
row, = csv.DictReader(open(sys.argv[1]), delimiter="\t")
assert abs(float(row["log_affine"]) - 3 * math.log(1.1)) < 0.03 and row["image"] == "n/a", row
END

begin "a broken image fails, the others do not"
mkdir -p torn/sub-5/anat torn/sub-6/anat
head -c 300 raw/sub-01/anat/sub-01_T1w.nii.gz > torn/sub-5/anat/sub-5_T1w.nii.gz
cp raw/sub-02/anat/sub-02_T1w.nii.gz torn/sub-6/anat/sub-6_T1w.nii.gz
exits 1 clvox bids torn some group --template $template ${fast% -q}
says 'sub-5_T1w.nii.gz: not corrected: .*sub-5_T1w.nii.gz'; says 'sub-5_T1w.nii.gz: is not in some/group_T1w.tsv'; says '1 of 2 pairs failed'
[ "$(wc -l < some/group_T1w.tsv)" = 2 ] || complain "other rows in the table"
exists some/sub-6/anat/sub-6_space-MNI_res-02_logjac.nii.gz; absent some/sub-5/anat/sub-5_desc-preproc_T1w.nii.gz

begin "sessions are rows of their own, and no test is made of them"
mkdir -p long/sub-1/ses-a/anat long/sub-1/ses-b/anat
cp raw/sub-01/anat/sub-01_T1w.nii.gz long/sub-1/ses-a/anat/sub-1_ses-a_T1w.nii.gz
cp raw/sub-02/anat/sub-02_T1w.nii.gz long/sub-1/ses-b/anat/sub-1_ses-b_T1w.nii.gz
printf 'participant_id\tage\nsub-1\t30\n' > long/participants.tsv
exits 1 clvox bids long visits group --template $template --test age $fast; says 'sub-1 has several images'
cut -f 1-4 visits/group_T1w.tsv | sed 1d > got
printf 'sub-1\t30\tses-%s\tsub-1/ses-%s/anat/sub-1_ses-%s_space-MNI_res-02_logjac.nii.gz\n' a a a b b b | cmp -s - got || complain "other rows"

begin "misuse is refused, and nothing is written"
refused() { # WHAT IS SAID, WORDS
    said=$1
    shift
    exits 2 clvox bids "$@"; silent; says "$said"
}
refused 'the argument is missing: clvox bids BIDSDIR' ; refused 'an argument is missing' raw none
refused 'subject: the level of an analysis is participant or group' raw none subject
refused '--participant-label 09: no image sub-09_..._T1w is in raw' raw none participant --participant-label 01 09
refused '02: not an option, and not expected here' raw none participant 02
refused '--shard 4/3: ' raw none participant --shard 4/3; refused '--shard x: ' raw none participant --shard x
refused '--shard is for the level participant' raw none group --shard 1/2
refused '--test is for the level group' raw none participant --test age
refused '--covariates belongs to --test' raw none group --covariates age
refused '--quick and --best contradict' raw none group --quick --best
refused '--suffix' raw none group --suffix T1w,T2w
exits 1 clvox bids raw raw participant; one_sentence; says 'raw: is a raw data set'
exits 1 clvox bids raw none participant --suffix bold; one_sentence; says '_bold.nii.gz in this folder'
exits 1 clvox bids gone none participant; one_sentence
absent none

begin "clvox-bids is the same command"
ln -s "$program" clvox-bids
exits 0 ./clvox-bids --help; prints '^Usage: clvox bids BIDSDIR OUTDIR participant|group'
exits 2 ./clvox-bids raw none subject; says '^clvox bids: subject: '

begin "the shards of a list are its pairs"
printf 'fixed\tmoving\toutput\n' > pairs.tsv
for k in 1 2 3; do printf '%s\traw/sub-0%d/anat/sub-0%d_T1w.nii.gz\tp%d\n' $template $k $k $k >> pairs.tsv; done
exits 0 clvox register --list pairs.tsv -o shards --shard 2/2 ${fast% -q} --no-picture; prints '1 done'
exists shards/p2_warp.nii.gz; absent shards/p1_warp.nii.gz; exists shards/summary_shard-2-of-2.tsv
exits 0 clvox register --list pairs.tsv -o shards --shard 1/2 ${fast% -q} --no-picture; prints '2 done'
exits 0 clvox register --list pairs.tsv -o shards ${fast% -q} --no-picture; prints '0 done, 3 present'
exits 0 clvox register --list pairs.tsv -o shards --shard 9/9 ${fast% -q} --no-picture; says 'no pair is in shard 9 of 9'
exits 2 clvox register --list pairs.tsv -o shards --shard 0/2; says '--shard 0/2: '
exits 2 clvox register -f $template -m $template -o x --shard 1/2; says '--shard belongs to --list'
finish
