#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of results: no input is overwritten, nothing of an earlier run stays unsaid, folders and links are
# taken as they are meant, and logs are JSON whatever happens.
. "$(dirname "$0")/lib.sh"
quick='--linear none --deform greedy --shrink 1 --iterations 1 --no-picture -q'
clvox phantom pair -o pair --size 9x8x7 --amplitude 0.5 -q > log/out 2>&1
clvox phantom tensor:steps -o scan --size 5x5x5 --directions 6 -q > log/out 2>&1
# overwrites WORDS...: the command says so before it starts, and every file is as it was.
overwrites() {
    cat pair_* scan* > log/before
    exits 1 clvox "$@" -q
    one_sentence; says 'would be overwritten, and is an input'
    cat pair_* scan* | cmp -s - log/before || complain "a file changed: $*"
}

begin "no verb overwrites what it reads, through links and other spellings too"
ln -s pair_fixed.nii.gz link.nii.gz; ln pair_truth_warp.nii.gz hard.nii.gz; mkdir sub
overwrites register -f pair_fixed.nii.gz -m pair_moving.nii.gz --labels pair_labels.nii.gz -o x --fixed-mask pair_fixed.nii.gz \
    --json pair_fixed.nii.gz
cp pair_fixed_labels.nii.gz pair_labels.nii.gz; cp pair_fixed.nii.gz pair_warped.nii.gz
overwrites register -f pair_fixed.nii.gz -m pair_moving.nii.gz --labels pair_labels.nii.gz -o pair
overwrites register -f pair_warped.nii.gz -m pair_moving.nii.gz -o ./pair
echo '1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1' | xargs -n 4 > pair_affine.txt
overwrites register -f pair_fixed.nii.gz -m pair_moving.nii.gz --init pair_affine.txt -o sub/../pair
overwrites apply -i pair_fixed.nii.gz -r pair_moving.nii.gz -o link.nii.gz
overwrites apply -i pair_moving.nii.gz -r pair_fixed.nii.gz -t pair_affine.txt,-1 -o pair_affine.txt
overwrites compose -r pair_fixed.nii.gz -t pair_truth_warp.nii.gz -o hard.nii.gz
overwrites invert -t pair_truth_warp.nii.gz -o pair_truth_warp.nii.gz
overwrites jacobian -t pair_truth_warp.nii.gz -o "$work/pair_truth_warp.nii.gz"
overwrites filter gaussian pair_fixed.nii.gz --sigma 1mm -o sub/../pair_fixed.nii.gz
overwrites info pair_fixed.nii.gz --json pair_fixed.nii.gz
overwrites compare pair_fixed.nii.gz pair_moving.nii.gz --json pair_moving.nii.gz
overwrites surface distance pair_fixed_labels.nii.gz --label 1 -o pair_fixed_labels.nii.gz
overwrites surface denoise pair_fixed_labels.nii.gz -o x.ply --sdf pair_fixed_labels.nii.gz
overwrites tensor fit scan_dwi.nii.gz --grad scan.b -o x --denoise mppca --save-denoised scan_dwi.nii.gz
cp scan_mask.nii.gz scan_s0.nii.gz
overwrites tensor all scan_dwi.nii.gz --grad scan.b --mask scan_s0.nii.gz -o scan
overwrites tensor denoise scan_truth_tensor.nii.gz -o scan_truth_tensor.nii.gz
cp scan_truth_tensor.nii.gz scan_fa.nii.gz
overwrites tensor measures scan_fa.nii.gz -o scan
overwrites phantom ball --like pair_fixed.nii.gz -o pair_fixed.nii.gz
rm pair_labels.nii.gz pair_warped.nii.gz pair_affine.txt scan_s0.nii.gz scan_fa.nii.gz

begin "two results of one name are refused; a mask that a verb only sometimes writes is no clash"
exits 1 clvox surface denoise pair_fixed_labels.nii.gz -o x.nii --sdf ./x.nii; one_sentence; says 'two results would have this name'
exits 1 clvox phantom shells -o x.nii --labels x.nii; one_sentence; says 'two results'; absent x.nii
exits 1 clvox phantom ball -o x.nii --json x.nii; says 'two results'; absent x.nii
exits 0 clvox tensor all scan_dwi.nii.gz --grad scan.b --mask scan_mask.nii.gz -o scan --few --plain -q; exists scan_fa.nii.gz

begin "the warped image is written as asked for, its labels as they were"
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz --labels pair_moving_labels.nii.gz -o typed $quick --output-type short
exits 0 clvox info typed_warped.nii.gz; prints 'int16'
exits 0 clvox info typed_labels.nii.gz; prints 'uint8, label'
json typed.json 'j["options"]["output_type"] == "short"'

begin "landmarks: distances before, after the affine and at the end"
printf '1 0 0 2\n0 1 0 -1\n0 0 1 0\n0 0 0 1\n' > by_two.txt
printf 'x,y,z\n0,0,0\n1,1,1\n' > at.csv
exits 0 clvox apply --points at.csv -t by_two.txt -o gone.csv
awk -F, 'NR == 3 { $3 += 1 } 1' OFS=, gone.csv > apart.csv # of two points the second is 1 mm off
still='--linear none --no-picture'
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $still --deform none --init by_two.txt --points at.csv,apart.csv
json lm.json '[round(j["result"]["landmarks"][k], 5) for k in ("count", "mean_linear_mm", "largest_linear_mm", "mean_after_mm",
    "largest_after_mm", "mean_before_mm", "largest_before_mm")] == [2, .5, 1, .5, 1, round((5**.5 + 6**.5) / 2, 5), round(6**.5, 5)]'
prints '^landmarks, largest .* at the end 1$'
# The warp counts as apply --points does it, and RAS is LPS with x and y turned round.
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $quick --init by_two.txt
exits 0 clvox apply --points at.csv -t lm_warp.nii.gz -t lm_affine.txt -o there.csv
for table in at there; do awk -F, 'NR > 1 { $1 = -$1; $2 = -$2 } 1' OFS=, $table.csv > ${table}_ras.csv; done
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $quick --init by_two.txt --points at_ras.csv,there_ras.csv --frames ras
json lm.json 'j["result"]["landmarks"]["largest_after_mm"] < 1e-4 and j["result"]["landmarks"]["mean_linear_mm"] > 0.5'
head -2 at.csv > one.csv; printf 'x,y,z\n0,0,0\n0,400,0\n' > far.csv
lm="-f pair_fixed.nii.gz -m pair_moving.nii.gz -o none $quick --points"
exits 1 clvox register $lm at.csv,one.csv; one_sentence; says 'has 2 points and one.csv 1'; absent none_warped.nii.gz
exits 1 clvox register $lm at.csv,far.csv; one_sentence; says 'far.csv: point 2 lies outside of pair_moving'
exits 1 clvox register $lm at.csv,nowhere.csv; one_sentence; says 'nowhere.csv'
exits 2 clvox register $lm at.csv; says 'two files'

# At a weight they are a term, which the report and the log state by itself.
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm --linear none --deform greedy --shrink 1 --iterations 8 \
    --no-picture -q --points at.csv,apart.csv --points-weight .5
prints '^landmarks, term '
json lm.json 'j["options"]["points_weight"] == .5 and j["result"]["landmarks"]["mean_after_mm"] < .9 * j["result"]["landmarks"]["mean_linear_mm"]'
json lm.json '-.5 * j["result"]["landmarks"]["largest_after_mm"]**2 <= j["result"]["landmarks"]["term_after"] < 0'
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $still --deform none --points at.csv,apart.csv --points-weight 1
says 'points-weight has no effect with --deform none'; json lm.json '"term_after" not in j["result"]["landmarks"]'
exits 2 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $quick --points-weight 1; says 'points-weight belongs to --points'
exits 2 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm $quick --points-width 1; says 'points-width belongs to --points, --surface'

begin "landmarks to begin with"
printf '0.96 -0.28 0 .6\n0.28 0.96 0 -.4\n0 0 1 .5\n0 0 0 1\n' > turned.txt
printf 'x,y,z\n0,0,0\n4,1,-1\n-2,3,2\n1,-3,1\n' > four.csv
exits 0 clvox apply --points four.csv -t turned.txt -o four_gone.csv
begins="-f pair_fixed.nii.gz -m pair_moving.nii.gz -o lm --no-picture --deform none --init points"
exits 0 clvox register $begins --linear none --points four.csv,four_gone.csv
json lm.json 'j["result"]["landmarks"]["mean_before_mm"] > 0.4 and j["result"]["landmarks"]["largest_after_mm"] < 1e-5'
exits 0 clvox register $begins --linear rigid --points four.csv,four_gone.csv
exits 2 clvox register $begins; says 'needs --points'
exits 1 clvox register $begins --points at.csv,gone.csv; one_sentence; says '2 landmarks; this linear transform needs 4'

begin "surfaces: a term, carried to the fixed image, and their report"
octahedron 2 0 > fixed.obj; octahedron 2 .7 > moving.obj; octahedron 2 90 > away.obj
sf="register -f pair_fixed.nii.gz -m pair_fixed.nii.gz --linear none --init header --deform greedy --shrink 1 --no-picture"
exits 0 clvox $sf -o sf --iterations 30 --surface fixed.obj,moving.obj --width 3mm; says 'and surfaces'; prints '^surfaces, term '
json sf.json 'len(j["result"]["surfaces"]["surface"]) == 1 and j["options"]["surface_width"] == [3] and "sf_surface_1.obj" in j["outputs"]'
json sf.json 'j["result"]["surfaces"]["surface"][0]["mean_after_mm"] < .8 * j["result"]["surfaces"]["surface"][0]["mean_linear_mm"]'
json sf.json 'j["result"]["surfaces"]["term_linear"] < j["result"]["surfaces"]["term_after"] < 0'
# The file is what apply makes of the moving surface with the inverse chain.
exits 0 clvox apply --surface moving.obj -t sf_affine.txt,-1 -t sf_warp.nii.gz,-1 -o back.obj
paste -d' ' back.obj sf_surface_1.obj | awk '$1 == "v" { n++; for (a = 2; a < 5; a++) if (($a - $(a + 4)) ^ 2 > 1e-8) bad = 1 }
    END { exit bad || n != 6 }' || complain "the surfaces differ"
# Weight 0 carries it and changes no bit; two of them; another frame; FreeSurfer's names become GIFTI's
exits 0 clvox $sf -o sn --iterations 2 -q; exits 0 clvox $sf -o sz --iterations 2 --surface fixed.obj,moving.obj --surface-weight 0 -q
[ "$(zcat sn_warp.nii.gz | cksum)" = "$(zcat sz_warp.nii.gz | cksum)" ] || complain "weight 0 changes the warp"
exists sz_surface_1.obj; json sz.json '"term_after" not in j["result"]["surfaces"]'
exits 0 clvox apply --surface moving.obj -o lh.moving
exits 0 clvox $sf -o s2 --iterations 1 --surface fixed.obj,lh.moving --surface fixed.obj,moving.obj --frames lps --surface-kind varifold -q
exists s2_surface_1.surf.gii; exists s2_surface_2.obj; json s2.json 'len(j["result"]["surfaces"]["surface"]) == 2'
exits 0 clvox register -f pair_fixed.nii.gz -m pair_fixed.nii.gz -o s3 $still --deform none --surface fixed.obj,moving.obj
says 'only carries the surfaces with --deform none'; exists s3_surface_1.obj; prints '^surface 1, largest .* at the end 0.7$'
exits 1 clvox $sf -o x --surface fixed.obj,away.obj -q; one_sentence; says 'away.obj: lies outside of pair_fixed'; absent x_warp.nii.gz
head -6 fixed.obj > bare.obj; echo 'f 1 1 2' >> bare.obj
exits 1 clvox $sf -o x --surface fixed.obj,bare.obj -q; one_sentence; says 'bare.obj: has no triangle with an area'
sed '1s/.*/v nan 0 0/' fixed.obj > nan.obj; sed '1s/.*/v 0 0 300/' fixed.obj > far.obj; head -6 fixed.obj > open.obj
exits 1 clvox $sf -o x --surface nan.obj,moving.obj -q; one_sentence; says 'nan.obj: vertex 0 .* is not finite'; absent x_warp.nii.gz
exits 1 clvox $sf -o x --surface fixed.obj,far.obj -q; one_sentence; says 'far.obj: vertex 0 .* lies 29.* mm outside of pair_fixed'
exits 1 clvox $sf -o x --surface fixed.obj,open.obj -q; one_sentence; says 'open.obj'
sed '1s/.*/v 5 0 0/' fixed.obj > reaches.obj
exits 0 clvox $sf -o x --iterations 1 --surface reaches.obj,moving.obj; says 'reaches.obj: 1 of 6 vertices lie outside of pair_fixed'; rm x_*
exits 1 clvox $sf -o x --surface fixed.obj,nowhere.obj -q; one_sentence; says 'nowhere.obj'
cp moving.obj x_surface_1.obj
exits 1 clvox $sf -o x --surface fixed.obj,x_surface_1.obj -q; one_sentence; says 'would be overwritten'
exits 2 clvox $sf -o x --surface fixed.obj -q; says 'two files'
exits 2 clvox $sf -o x --width 3mm -q; says 'width belongs to --surface'
exits 2 clvox $sf -o x --currents mesh -q; says 'currents belongs to --surface'
json sf.json 'j["result"]["surfaces"]["surface"][0]["sums"] == "exact" and j["options"]["currents"] == "auto"'
exits 0 clvox $sf -o sm --iterations 30 --surface fixed.obj,moving.obj --width 3mm --currents mesh
prints '^surface 1, sums .* by a particle mesh on 1 of 1 levels'
json sm.json 'all([s["sums"] == "mesh" and 0 < s["derivative_error"] <= .01 and s["levels_by_mesh"] == 1 for s in j["result"]["surfaces"]["surface"]])'

begin "curves and clouds: terms, carried to the fixed image, and their report"
ring() { # SHIFT SEGMENTS
    awk -v s="$1" -v n="$2" 'BEGIN {
        printf "# vtk DataFile Version 3.0\nring\nASCII\nDATASET POLYDATA\nPOINTS %d float\n", n
        for (i = 0; i < n; i++) printf "%.6f %.6f %.6f\n", 2 * cos(6.2831853 * i / n) + s, 2 * sin(6.2831853 * i / n), .5
        printf "LINES 1 %d\n%d", n + 2, n + 1
        for (i = 0; i <= n; i++) printf " %d", i % n
        printf "\n" }'
}
ring 0 12 > fixed.vtk; ring .7 17 > moving.vtk; ring 90 17 > away.vtk
points() { # SHIFT STEP: those with an even number have no weight
    awk -v s="$1" -v d="$2" 'BEGIN { print "x,y,z,name,weight"; for (i = -2; i <= 2; i += d) for (k = -2; k <= 2; k += d) {
        printf "%g,%g,0,p%d,%g\n", i + s, k, ++n, 1; printf "%g,%g,0,none,0\n", 3 - s, 3 } }'
}
points 0 1 > fixed.csv; points -.7 1 > moving.csv # LPS: in RAS they move by .7 to the right
cv="register -f pair_fixed.nii.gz -m pair_fixed.nii.gz --linear none --init header --deform greedy --shrink 1 --no-picture --width 3mm"
exits 0 clvox $cv -o cv --iterations 30 --curves-weight 5 --cloud-weight 5 --curves fixed.vtk,moving.vtk --cloud fixed.csv,moving.csv --json log/cv.json
says 'and anatomy'; prints '^curves, term '; prints '^clouds, term '; prints '^curves 1, mean mm '; prints '^cloud 1, largest '
json cv.json 'j["result"]["curves"]["curves"][0]["mean_after_mm"] < .7 * j["result"]["curves"]["curves"][0]["mean_linear_mm"]'
json cv.json 'j["result"]["clouds"]["term_linear"] < 2 * j["result"]["clouds"]["term_after"] < 0 and j["options"]["curves_kind"] == "varifold"'
json cv.json 'set(["cv_curves_1.vtk", "cv_cloud_1.csv"]) <= set(j["outputs"])'
# The files are what apply makes of the moving ones with the inverse chain; other columns stay.
exits 0 clvox apply --curves moving.vtk -t cv_affine.txt,-1 -t cv_warp.nii.gz,-1 -o back.vtk; cmp -s back.vtk cv_curves_1.vtk || complain "the curves differ"
exits 0 clvox apply --points moving.csv -t cv_affine.txt,-1 -t cv_warp.nii.gz,-1 -o back.csv
paste -d, back.csv cv_cloud_1.csv | awk -F, 'NR > 1 { for (a = 1; a < 4; a++) if (($a - $(a + 5)) ^ 2 > 1e-8) bad = 1; if ($4 != $9 || $5 != $10) bad = 1 }
    END { exit bad || NR != 51 }' || complain "the clouds differ"
# Another frame turns both round.
awk -F, 'NR > 1 { $1 = -$1; $2 = -$2 } 1' OFS=, moving.csv > moving_ras.csv; awk -F, 'NR > 1 { $1 = -$1; $2 = -$2 } 1' OFS=, fixed.csv > fixed_ras.csv
exits 0 clvox $cv -o cr --iterations 20 --cloud fixed_ras.csv,moving_ras.csv --frames ras -q
exits 0 clvox $cv -o cl --iterations 20 --cloud fixed.csv,moving.csv -q
[ "$(zcat cr_warp.nii.gz | cksum)" = "$(zcat cl_warp.nii.gz | cksum)" ] || complain "the frame changes the warp"
# Their vertices pull by --points-width.
exits 0 clvox $cv -o cp --iterations 20 --cloud fixed.csv,moving.csv --points-width 1mm -q
[ "$(zcat cp_warp.nii.gz | cksum)" != "$(zcat cl_warp.nii.gz | cksum)" ] || complain "points-width changes nothing"
# Weight 0 carries them and changes no bit.
exits 0 clvox ${cv%--width*} -o cn --iterations 2 -q
exits 0 clvox $cv -o cz --iterations 2 --curves fixed.vtk,moving.vtk --curves-weight 0 --cloud fixed.csv,moving.csv --cloud-weight 0 -q
[ "$(zcat cn_warp.nii.gz | cksum)" = "$(zcat cz_warp.nii.gz | cksum)" ] || complain "weight 0 changes the warp"
exists cz_curves_1.vtk; exists cz_cloud_1.csv; json cz.json '"term_after" not in j["result"]["curves"]'
# Four points at weights of 1 are two at weights of 2.
printf 'x,y,z,weight\n0,0,0,2\n1,1,0,2\n' > two.csv; printf 'x,y,z\n0,0,0\n1,1,0\n0,0,0\n1,1,0\n' > four.csv
exits 0 clvox $cv -o cw --iterations 1 --cloud two.csv,four.csv -q
json cw.json 'abs(j["result"]["clouds"]["cloud"][0]["energy_linear"]) < 1e-6'
exits 0 clvox $cv -o cd --curves fixed.vtk,moving.vtk --dry-run; prints 'cd_curves_1.vtk'
exits 0 clvox $cv -o c3 --deform none --curves fixed.vtk,moving.vtk; says 'only carries the curves with --deform none'
exits 1 clvox $cv -o x --curves fixed.vtk,away.vtk -q; one_sentence; says 'away.vtk: lies outside of pair_fixed'; absent x_warp.nii.gz
sed '6s/.*/500 0 0/' fixed.vtk > far.vtk
exits 1 clvox $cv -o x --curves far.vtk,moving.vtk -q; one_sentence; says 'far.vtk: vertex 0 (counted from 0) lies 49.* mm outside of pair_fixed'
sed '6s/.*/4 0 0/' fixed.vtk > near.vtk
exits 0 clvox $cv -o near --iterations 1 --curves near.vtk,moving.vtk
sed '6s/.*/nan 0 0/' fixed.vtk > bad.vtk
exits 1 clvox $cv -o x --curves bad.vtk,moving.vtk -q; one_sentence; says 'bad.vtk: vertex 0 .counted from 0. is not finite'
exits 1 clvox $cv -o x --curves fixed.obj,moving.vtk -q; one_sentence; says 'fixed.obj: holds no curves'
printf 'x,y,z,weight\n0,0,0,1\n1,1,0,-1\n' > minus.csv; printf 'x,y,z,weight\n0,0,0,0\n' > nothing.csv
exits 1 clvox $cv -o x --cloud minus.csv,two.csv -q; one_sentence; says 'minus.csv: the weight of point 2 is no number of 0 or more'
exits 1 clvox $cv -o x --cloud two.csv,nothing.csv -q; one_sentence; says 'nothing.csv: has no point with a weight'
head -1 two.csv > bare.csv
exits 1 clvox $cv -o x --cloud two.csv,bare.csv -q; one_sentence; says 'bare.csv: has no point'
exits 2 clvox $cv -o x --curves fixed.vtk -q; says 'two files'
exits 2 clvox ${cv%--width*} -o x --cloud-weight 3 -q; says 'cloud-weight belongs to --cloud'
exits 2 clvox $cv -o x -q; says 'width belongs to --surface, --curves and --cloud'

begin "posteriors: a term, carried to the fixed image, and their report"
exits 0 clvox phantom pair -o ps --size 23x21x19 --seed 5 --affine by_two.txt
ps="register --linear none --init header --deform greedy --shrink 1 --no-picture"
tissues="--posteriors ps_fixed_labels.nii.gz,ps_moving_labels.nii.gz"
exits 0 clvox $ps -f ps_fixed.nii.gz -m ps_fixed.nii.gz -o pt --iterations 20 --metric ssd $tissues; says 'and posteriors'
says '^tissues .* in both: 1'; prints '^posteriors, term '; prints '^tissue 1, overlap '
json pt.json 'j["result"]["posteriors"]["tissue"][0]["number"] == 1 and j["options"]["posteriors_weight"] == 10 and "pt_posteriors.nii.gz" in j["outputs"]'
json pt.json 'j["result"]["posteriors"]["term_linear"] < 1.5 * j["result"]["posteriors"]["term_after"] < 0'
# Weight 0 carries them and changes no bit.
exits 0 clvox $ps -f ps_fixed.nii.gz -m ps_moving.nii.gz -o pn --iterations 2 -q
exits 0 clvox $ps -f ps_fixed.nii.gz -m ps_moving.nii.gz -o pz --iterations 2 $tissues --posteriors-weight 0 -q
[ "$(zcat pn_warp.nii.gz | cksum)" = "$(zcat pz_warp.nii.gz | cksum)" ] || complain "weight 0 changes the warp"
exists pz_posteriors.nii.gz; json pz.json '"term_after" not in j["result"]["posteriors"]'
# Alone: no warped image, but a picture; the linear part goes by them; the file is what apply makes of them.
exits 0 clvox register $tissues -o pa --shrink 1 --iterations 5 --metric mi; says 'metric has no effect without images'
exists pa_warp.nii.gz; exists pa.png; exists pa_posteriors.nii.gz; absent pa_warped.nii.gz; prints '^ssd of roots '
json pa.json '"pa_warped.nii.gz" not in j["outputs"] and j["result"]["posteriors"]["hellinger_linear"] < .6 * j["result"]["posteriors"]["hellinger_before"]'
exits 0 clvox register $tissues -o pd --deform none --dof 6 --no-picture --dry-run; prints 'pd_posteriors.nii.gz'
exits 0 clvox register -f ps_fixed.nii.gz -m ps_fixed.nii.gz -o pc $still --deform none $tissues; says 'only carries the tissues with --deform none'
exits 1 clvox $ps --posteriors ps_fixed.nii.gz,ps_moving_labels.nii.gz -o x -q; one_sentence; says 'add up to'; absent x_warp.nii.gz
exits 0 clvox apply -i ps_moving_labels.nii.gz -r ps_moving_labels.nii.gz -o seven.nii
python3 -c 'b = open("seven.nii", "rb").read(); open("seven.nii", "wb").write(b[:352] + bytes(7 * (v > 0) for v in b[352:]))'
exits 1 clvox $ps --posteriors ps_fixed_labels.nii.gz,seven.nii -o x -q; one_sentence; says 'no label in common'; absent x_warp.nii.gz
exits 1 clvox $ps --posteriors ps_fixed_labels.nii.gz,nowhere.nii.gz -o x -q; one_sentence; says 'nowhere.nii.gz'
exits 1 clvox $ps $tissues --posteriors-weight 0 -o x -q; one_sentence; says 'give images, too'
exits 2 clvox $ps --posteriors ps_fixed_labels.nii.gz -o x -q; says 'two files'
exits 2 clvox $ps $tissues -m ps_moving.nii.gz -o x -q; says 'FIXED is missing'
exits 2 clvox $ps $tissues -f ps_fixed.nii.gz -o x -q; says 'MOVING is missing'
exits 2 clvox $ps -f ps_fixed.nii.gz -m ps_moving.nii.gz -o x --posteriors-weights 1,2 -q; says 'belongs to --posteriors'
exits 2 clvox $ps $tissues -o x --posteriors-weights 1,-2 -q; says 'commas'

begin "results of an earlier run are removed, those of others are named"
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o r $quick --inverse; exists r_inverse_warp.nii.gz
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o r --linear none --deform none --no-picture
absent r_warp.nii.gz; absent r_inverse_warp.nii.gz; says 'r_warp.nii.gz: of an earlier run.*removed'
json r.json 'sorted(j["removed"]) == ["r_inverse_warp.nii.gz", "r_warp.nii.gz"]'
cp pair_truth_warp.nii.gz r_warp.nii.gz; cp pair_fixed.nii.gz r_labels.nii.gz
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o r --linear none --deform none --no-picture -q \
    --fixed-mask r_labels.nii.gz
one_sentence; says 'r_warp.nii.gz: was there before and does not belong to these results'; exists r_warp.nii.gz
json r.json 'j["left_from_before"] == ["r_warp.nii.gz"]'
exits 0 clvox tensor fit scan_dwi.nii.gz --grad scan.b -o t --denoise mppca -q; quiet
exits 0 clvox tensor fit scan_dwi.nii.gz --grad scan.b -o t -q; one_sentence; says 't_mppca_noise.nii.gz: was there before'

begin "prefixes: folders are made, out/, . and sub_ are taken as meant, names of files refused"
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o new/deep/r $quick; exists new/deep/r_warp.nii.gz
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o sub/p_ $quick; exists sub/p_warp.nii.gz; exists sub/p.json
exits 0 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o other/ $quick; exists other/register_warp.nii.gz
(cd sub && clvox register -f ../pair_fixed.nii.gz -m ../pair_moving.nii.gz -o . $quick) > log/out 2> log/err
exists sub/register.json; absent sub/._warp.nii.gz
exits 2 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o y.nii.gz $quick; says 'as -o y for y_affine.txt'; absent y_affine.txt
exits 2 clvox tensor fit scan_dwi.nii.gz --grad scan.b -o y.NII; says 'as -o y for y_tensor.nii.gz'
exits 1 clvox register -f pair_fixed.nii.gz -m gone.nii -o leaves/no/r $quick; absent leaves
exits 2 clvox apply -i pair_fixed.nii.gz -r pair_fixed.nii.gz -o sub; says 'sub: is a directory, name a file in it, as sub/NAME'
exits 2 clvox apply -i pair_fixed.nii.gz -r pair_fixed.nii.gz -o .; says 'is a directory'
exits 1 clvox apply -i pair_fixed.nii.gz -r pair_fixed.nii.gz -o none/x.nii; one_sentence; says 'the folder none does not exist'; absent none

begin "a link to nothing is followed, --no-clobber keeps what is there"
ln -s ../there.nii sub/dangling.nii
exits 0 clvox phantom ball -o sub/dangling.nii --size 3x3x3; exists there.nii; [ -L sub/dangling.nii ] || complain 'the link was replaced'
cp there.nii before.nii
exits 1 clvox phantom constant -o sub/dangling.nii --size 3x3x3 --no-clobber; one_sentence; says '--no-clobber keeps it'
cmp -s there.nii before.nii || complain 'it was replaced'
exits 1 clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o r $quick --no-clobber; says 'r_affine.txt: exists'
exits 0 clvox phantom constant -o fresh.nii --size 3x3x3 --no-clobber; exists fresh.nii

begin "a log is JSON with names that are not UTF-8, and with the error of a run that failed"
odd=$(printf 'k\351rn.nii'); cp there.nii "$odd"
exits 0 clvox info "$odd" --json log/odd.json; json log/odd.json 'j["files"][0]["path"] == "k\u00e9rn.nii"'
cp there.nii 'käse"\.nii'
exits 0 clvox info 'käse"\.nii' --json log/odd.json; json log/odd.json 'j["files"][0]["path"] == "k\u00e4se\"\\.nii"'
exits 1 clvox compare there.nii gone.nii --json log/failed.json
json log/failed.json '"gone.nii" in j["error"] and j["exit_code"] == 1 and j["verb"] == "compare"'
code=0; clvox compare there.nii pair_fixed.nii.gz --json - > log/failed.json 2> log/err || code=$?
[ $code = 1 ] || complain "exit code $code"; json log/failed.json '"grids differ" in j["error"]'

begin "a limit on the size of files is a sentence, 128 + 25, and leaves nothing"
(ulimit -f 8; exec "$program" phantom ball -o limited.nii --size 40x40x40) > log/out 2> log/err; code=$?
[ $code = 153 ] || complain "exit code $code"; one_sentence; says 'ulimit -f'; absent limited.nii
[ -z "$(ls -A | grep '[.]part')" ] || complain 'a temporary file stayed'

unfinished_file() { ls -A | grep -q '[.]part'; }
# writing COMMAND...: starts it, and stops it while ended.nii.gz is unfinished; $writer is its process.
writing() {
    for attempt in 1 2 3 4 5; do # a shell that sleeps long enough finds the file whole
        "$@" phantom ball -o ended.nii.gz --size 256x256x256 > log/out 2> log/err & writer=$!
        stop_when $writer 'a file is begun' unfinished_file && unfinished_file && return
        kill -CONT $writer 2> log/kill; wait $writer; rm -f ended.nii.gz
    done
    complain 'five times the file was whole before it could be looked at'
}

begin "SIGTERM and SIGHUP are a sentence and 128 + n, and leave nothing"
for signal in TERM:143 HUP:129; do
    writing env --default-signal=TERM,HUP "$program"
    kill -"${signal%:*}" $writer; kill -CONT $writer; code=0; wait $writer || code=$?
    [ $code = "${signal#*:}" ] || complain "$signal: exit code $code"
    says "ended by SIG${signal%:*}"; absent ended.nii.gz
    unfinished_file && complain 'a temporary file stayed'
done

begin "what a library aborts is a sentence and 128 + 6, and leaves nothing"
writing sh -c 'ulimit -c 0; exec "$@"' - "$program"
kill -ABRT $writer; kill -CONT $writer; code=0; wait $writer 2> log/shell || code=$?
[ $code = 134 ] || complain "exit code $code"; one_sentence; says 'gave up; unfinished files are removed'; absent ended.nii.gz
unfinished_file && complain 'a temporary file stayed'

begin "a small stack is enough"
# LLVM gives threads an alternate signal stack of its own, which AddressSanitizer would release at their end.
(ulimit -s 256; export ASAN_OPTIONS="${ASAN_OPTIONS:-}:use_sigaltstack=0"; exec "$program" register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o narrow $quick --no-cache) \
    > log/out 2> log/err; code=$?
[ $code = 0 ] || complain "exit code $code"; exists narrow_warp.nii.gz

begin "where one result cannot be written, none is left"
mkdir full gone; ln -s ../gone/target.nii.gz full/f_warped.nii.gz
clvox register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o full/f --linear none --deform syn --shrink 1 --iterations 2000 --tolerance 0 --no-picture \
    > log/out 2> log/err & writer=$!
stop_when $writer 'the first iterations' grep -q iteration log/err || complain 'it ended before the folder was taken away'
rmdir gone # which was there when the program looked
kill -CONT $writer
code=0; wait $writer || code=$?
[ $code = 1 ] || complain "exit code $code"; says 'f_warped.nii.gz'
[ "$(ls -A full)" = f_warped.nii.gz ] || complain "left: $(ls -A full)"

if (ulimit -v 100000; exec "$program" --version) > log/out 2>&1; then # sanitizers reserve more
    begin "a limit on memory is a sentence, and leaves nothing"
    (ulimit -v 100000; exec "$program" phantom ball -o limited.nii --size 500x500x500) > log/out 2> log/err; code=$?
    [ $code = 1 ] || complain "exit code $code"; one_sentence; says 'out of memory'; absent limited.nii
    (ulimit -v 100000; exec "$program" register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o limited $quick -q) > log/out 2> log/err; code=$?
    [ $code = 1 ] || complain "exit code $code"; one_sentence; says 'no OpenCL device.*ulimit -v'; absent limited_warp.nii.gz
    for limit in 420000 480000 540000 600000; do # enough for PoCL, not for LLVM in it
        code=0
        (ulimit -v $limit; exec "$program" register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o limited --deform none --linear translation \
            --init header --no-picture --no-cache -q) > log/out 2> log/err || code=$?
        if [ $code = 134 ] && grep -q 'gave up, perhaps for the limit on memory\|^PTHREAD ERROR' log/err; then # PoCL did
            absent limited_affine.txt; continue
        fi
        [ $code -le 1 ] || complain "exit code $code with $limit"
        [ $code = 0 ] || { one_sentence; says 'memory'; absent limited_affine.txt; }
    done
fi

begin "a table of points with the mark of a spreadsheet"
printf '\357\273\277x,y,z,name\r\n1,2,3,a\r\n' > points.csv
exits 0 clvox apply --points points.csv -o moved.csv; [ "$(tail -1 moved.csv)" = '1,2,3,a' ] || complain "$(cat moved.csv)"
finish
