#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Permutation tests of maps.
. "$(dirname "$0")/lib.sh"
tab=$(printf '\t')
"$program" phantom constant -o grid.nii --size 7x5x3 --spacing 2x2x3mm -q
# Eight maps of noise; those of patients are 9 higher in one voxel, and what rises with the age does so in another.
python3 - <<'P'
import random, struct
random.seed(5)
head = bytearray(open("grid.nii", "rb").read()[:352])
n = 7 * 5 * 3
maps = [[random.gauss(0, 1) for _ in range(n)] for _ in range(8)]
ages = [31, 45, 28, 60, 52, 39, 70, 33]
for i, m in enumerate(maps):
    m[10] += 9 * (i % 2)
    m[60] += 0.5 * ages[i]
    m[0] = 3.25
    m[1] = float("nan") if i == 2 else m[1]
struct.pack_into("<2h", head, 70, 16, 32)
struct.pack_into("<2f", head, 112, 0, 0)
for i, m in enumerate(maps):
    open("s%d.nii" % i, "wb").write(bytes(head) + struct.pack("<%df" % n, *m))
open("zero.nii", "wb").write(bytes(head) + bytes(4 * n))
struct.pack_into("<8h", head, 40, 4, 7, 5, 3, 8, 1, 1, 1)
open("all.nii", "wb").write(bytes(head) + b"".join(struct.pack("<%df" % n, *m) for m in maps))
with open("subjects.tsv", "w") as f:
    print("age", "image", "group", "site", "sex", sep="\t", file=f)
    for i in range(8):
        print(ages[i], "s%d.nii" % i, "control patient".split()[i % 2], "abc"[i % 3], "FFMM"[i // 2 % 4 and 1 + i % 3], sep="\t", file=f)
P

begin "two groups: t, p and corrected p, all relabellings"
exits 0 clvox stats --list subjects.tsv --test group -o two
for name in two_t.nii.gz two_p.nii.gz two_p_fwe.nii.gz two.json; do exists $name; done
absent two_tfce.nii.gz
prints '^effect  *patient above control'; says '^plan  *8 maps of 7 x 5 x 3 voxels; up to'; prints '70, exhaustive'; prints '103 tested of 105; left out: 1 constant, 1 not finite'
json two.json 'j["result"]["groups"] == {"control": 4, "patient": 4} and j["result"]["degrees_of_freedom"] == 6'
json two.json 'j["result"]["exact"] and j["result"]["permutations"] == 70 and abs(j["result"]["t"]["smallest_p"] - 1 / 70) < 1e-9'
json two.json 'j["result"]["t"]["peak_voxel"] == [3, 1, 0] and j["result"]["t"]["significant_voxels"] == 1 and j["result"]["p_maps"] == "p"'
json two.json 'j["result"]["t"]["largest"] > j["result"]["t"]["threshold_05"] > 0 and j["options"]["test"] == "group"'
exits 0 clvox compare two_p.nii.gz two_p_fwe.nii.gz

begin "one 4-D file in the table's order gives the same bits; 1 - p and the other direction"
exits 0 clvox stats --list subjects.tsv -i all.nii --test group -o four -q
for name in t p p_fwe; do cmp -s two_$name.nii.gz four_$name.nii.gz || complain "$name has other bits"; done
exits 0 clvox stats --list subjects.tsv --test group -o fsl --one-minus-p --less
prints 'patient below control'
json fsl.json 'j["result"]["p_maps"] == "1-p" and j["result"]["t"]["peak_voxel"] != [3, 1, 0]'
gzip -dc fsl_p_fwe.nii.gz > fsl.nii; gzip -dc two_t.nii.gz > t.nii; gzip -dc fsl_t.nii.gz > less.nii
python3 - <<'P' || complain "not 1 - p, or another t"
import struct, sys
p, t, less = (struct.unpack("<105f", open(n + ".nii", "rb").read()[352:]) for n in ("fsl", "t", "less"))
sys.exit(p[0] != 0 or p[1] != 0 or p[10] > 0.01 or any(a != -b for a, b in zip(t, less)))
P

begin "along a covariate with a nuisance, drawn at random; two-sided"
exits 0 clvox stats --list subjects.tsv --test age --covariates sex --permutations 200 --seed 3 -o age
prints '200, at random'; prints '^effect  *rises with age'
json age.json 'j["result"]["t"]["peak_voxel"] == [4, 3, 1] and j["result"]["degrees_of_freedom"] == 5 and not j["result"]["exact"]'
json age.json 'j["options"]["covariates"] == ["sex"] and j["options"]["seed"] == 3 and j["result"]["t"]["smallest_p_fwe"] <= 0.02'
exits 0 clvox stats --list subjects.tsv --test age --covariates sex --permutations 200 --seed 3 -o again -q
cmp -s age_p.nii.gz again_p.nii.gz || complain "the same seed gives other bits"
exits 0 clvox stats --list subjects.tsv --test age --permutations 200 --two-sided -o age
prints 'changes with age'

begin "a voxel that tells the groups apart without a residual is left out, counted and reported"
python3 - <<'P'
import struct
for i in range(8):
    data = bytearray(open("s%d.nii" % i, "rb").read())
    struct.pack_into("<f", data, 352 + 4 * 44, 5 + i % 2)
    open("m%d.nii" % i, "wb").write(data)
P
sed "s/${tab}s/${tab}m/" subjects.tsv > masks.tsv
exits 0 clvox stats --list masks.tsv --test group --tfce -o perfect
prints '102 tested of 105; left out: 1 constant, 1 not finite, 1 fitted perfectly'; says '^1 voxel is not tested: the design fits'
json perfect.json 'j["result"]["perfect"] == 1 and j["result"]["t"]["peak_voxel"] == [3, 1, 0] and j["result"]["tfce"]["significant_voxels"] > 0'

begin "TFCE, and what it wrote goes when a run without it takes its place"
exits 0 clvox stats --list subjects.tsv --test group --mask s3.nii --tfce --tfce-connectivity 26 -o fewer
for name in t p p_fwe tfce tfce_p tfce_p_fwe; do exists fewer_$name.nii.gz; done
prints '^largest_tfce'
json fewer.json 'j["result"]["tested"] < 80 and j["result"]["tfce"]["smallest_p"] > 0 and j["options"]["tfce_connectivity"] == "26"'
exits 0 clvox stats --list subjects.tsv --test group -o fewer
absent fewer_tfce_p.nii.gz

begin "the mean against 0 by sign flips, without a table"
exits 0 clvox stats -i all.nii --test mean -o mean
prints 'the mean is above 0'; prints '256, exhaustive'
# All have one value in the first voxel.
json mean.json 'j["result"]["t"]["peak_voxel"] == [4, 3, 1] and j["result"]["t"]["significant_voxels"] == 1 and j["result"]["degrees_of_freedom"] == 7 and "groups" not in j["result"]'
json mean.json 'j["result"]["constant"] == 1 and abs(j["result"]["t"]["smallest_p"] - 1 / 256) < 1e-9'

begin "tables and maps that make no sense are one sentence, and nothing is written"
bad() { exits 1 clvox stats -q -o bad "$@"; one_sentence; for file in bad_t.nii.gz bad_p.nii.gz bad.json; do absent $file; done; }
bad --list subjects.tsv --test weight; says 'no column .weight'
bad --list subjects.tsv --test group --covariates age,iq; says 'no column .iq'
bad --list subjects.tsv --test site; says 'column site has neither numbers nor two words'
bad --list gone.tsv --test group; says 'gone.tsv'
sed 's/control/patient/' subjects.tsv > one.tsv; bad --list one.tsv --test group; says 'column group has one value, patient, in all rows'
sed '4s/28/n\/a/' subjects.tsv > gap.tsv; bad --list gap.tsv --test age; says 'gap.tsv, line 4: age is not known'
sed 's/s5.nii/lost.nii/' subjects.tsv > lost.tsv; bad --list lost.tsv --test group; says 'lost.nii'
head -n 3 subjects.tsv > few.tsv; bad --list few.tsv --test group; says 'needs at least 3 subjects; given: 2'
head -n 1 subjects.tsv > none.tsv; bad --list none.tsv --test group; says 'there is no subject in it'
awk -F "$tab" -v OFS="$tab" '{ print $0, NR == 1 ? "months" : 12 * $1 }' subjects.tsv > months.tsv
bad --list months.tsv --test group --covariates age,months; says 'months.tsv: months is a combination of the covariates before it'
bad --list months.tsv --test age --covariates months; says 'age is a combination of the covariates'
"$program" phantom ball -o other.nii --size 7x5x4 -q
sed 's/s5.nii/other.nii/' subjects.tsv > other.tsv; bad --list other.tsv --test group; says 'other.nii'; says 's0.nii'
bad --list subjects.tsv --test group --mask other.nii; says 'other.nii'
bad --list subjects.tsv --test group --mask zero.nii; says 'zero.nii'
sed 's/s5.nii/all.nii/' subjects.tsv > four.tsv; bad --list four.tsv --test group; says 'all.nii: has 8 volumes'
head -n 7 subjects.tsv > six.tsv; bad --list six.tsv -i all.nii --test group; says 'has 8 volumes, and six.tsv has 6 rows'
cp s0.nii bad_t.nii.gz; sed 's/s0.nii/bad_t.nii.gz/' subjects.tsv > own.tsv
exits 1 clvox stats -q -o bad --list own.tsv --test group; one_sentence; says 'bad_t.nii.gz'
cmp -s s0.nii bad_t.nii.gz || complain "a map of the table was overwritten"

begin "entropy of templates against the number of subjects: a table, the same from one file, seeded"
exits 0 clvox stats --entropy --list subjects.tsv --draws 20 --bins 16 -o many
prints '^8 '; says '2 of 105 voxels are left out\|1 of 105 voxels are left out'
head -n 1 many.tsv | grep -q "^subjects${tab}entropy_mean${tab}entropy_sd${tab}mean_low${tab}mean_high\$" || complain "other columns"
[ "$(wc -l < many.tsv)" = 9 ] || complain "not a row for each number of subjects"
awk -F "$tab" 'NR == 9 { exit !($3 == 0 && $4 == $2 && $5 == $2) }' many.tsv || complain "all subjects have a spread"
awk -F "$tab" 'NR > 1 && NR < 9 { bad += !($3 > 0 && $4 <= $2 && $2 <= $5) } END { exit bad }' many.tsv || complain "an interval without its mean"
json many.json 'len(j["result"]["rows"]) == 8 and j["options"] == {"draws": 20, "bins": 16, "seed": 0} and len(j["inputs"]) == 8'
exits 0 clvox stats --entropy -i all.nii --draws 20 --bins 16 -o one -q; exits 0 cmp many.tsv one.tsv
exits 0 clvox stats --entropy -i all.nii --draws 20 --bins 16 --seed 1 -o one -q; cmp -s many.tsv one.tsv && complain "the seed changes nothing"
exits 2 clvox stats --entropy -o x; says '--list FILE.tsv, or -i IMAGES'
exits 2 clvox stats --entropy --list subjects.tsv -i all.nii -o x; says '--list FILE.tsv, or -i IMAGES'
exits 2 clvox stats --entropy -i all.nii; says '-o PREFIX'
exits 2 clvox stats --entropy -i all.nii -o x --draws 0; says '--draws'
exits 2 clvox stats --entropy -i all.nii -o x --test mean; says '--test'
exits 1 clvox stats --entropy -i all.nii --mask zero.nii -o x -q; says 'zero.nii'; absent x.tsv
exits 0 clvox stats --entropy --help; prints 'bootstrap'

begin "usage errors exit with 2 and say what is wrong"
exits 2 clvox stats --list subjects.tsv --test group; says '-o PREFIX'
exits 2 clvox stats --list subjects.tsv -o x; says '--test COLUMN'
exits 2 clvox stats --test group -o x; says '--list FILE.tsv'
exits 2 clvox stats -i all.nii --test group -o x; says 'is in a table'
exits 2 clvox stats -i all.nii --test mean --covariates age -o x; says 'is in a table'
exits 2 clvox stats --list subjects.tsv --test age --covariates sex,age -o x; says 'age is the tested column'
exits 2 clvox stats --list subjects.tsv --test age --covariates sex,,site -o x; says 'names of columns'
exits 2 clvox stats --list subjects.tsv --test age --permutations 0 -o x; says '--permutations'
exits 2 clvox stats --list subjects.tsv --test age --tfce-extent 1 -o x; says 'no effect without --tfce'
exits 2 clvox stats --list subjects.tsv --test age --two-sided --less -o x; says '--less has no effect'
exits 2 clvox stats subjects.tsv --test age -o x; says 'not expected'
absent x_t.nii.gz
finish
