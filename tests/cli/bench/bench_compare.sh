#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records of the bench beside one another: the table, what is refused, what is written. The page itself
# is looked at by bench_compare_page.py.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
python3 "$here/bench_compare_records.py" "$work" || exit 99

# line NAME WORDS: the line of the table that begins with NAME has these columns behind it
line() {
    got=$(sed -n "s/^$1  *//p" log/out | head -n 1 | tr -s ' ')
    [ "$got" = "$2" ] || complain "$1 has '$got', not '$2'"
}

begin "the records that these tests are made of hold to the schema, and so does one that was measured"
exits 0 clvox bench kernels copy gradient --size 9x8x7 --seconds 0.001 --json real.json
exits 0 python3 "$here/record.py" "$here/../../../doc/bench-schema.json" gpu.json cpu.json third.json after.json real.json
exits 0 clvox bench compare real.json gpu.json -o real.html
prints '^copy  .*%'; prints '^gradient  .*x\*.*%'
exists real.html

begin "three devices: times, ratios to the first, shares"
exits 0 clvox bench compare gpu.json cpu.json third.json
prints '^A  NVIDIA H200 (gpu, 132 compute units, 140 GiB).*gpu.json$'
line 'multiply-add fp32' '60.0 TFLOP/s 120 GFLOP/s 17.0 TFLOP/s'
line 'local memory' '28.0 TB/s - 3.36 TB/s'
line 'atomics' '3.00 G/s 3.00 G/s 3.00 G/s'
line 'launch' '4.00 µs 20.0 µs 4.00 µs'
line 'register default' '0.500 - 25.0 0.0200x - 0.800 0.0781x* -'
line 'inverse' '0.183 55% 33.6 0.00545x 30% - - -'
line '  force.reuse 8x8x4' '0.774 17% 168 0.00462x 8.0% 1.01 0.0960x* 14%'
line 'surface denoise 101x103x107' '0.350 - 17.5 0.0200x - - - -'
line 'all pairs' '31.9 47% 16000 0.00200x 47% 113 0.283x 47%'
prints '^Operations, ms, A at 256x256x256, B at 256x256x256, C at 128x128x128$'
prints '^\* sizes differ'
prints '^   double precision: this device has none$'
quiet

begin "the papers' rows: the fastest tile, the figure, and whether it holds"
line 'reuse' '13.5 - 975 0.0138x - 21.6 sizes -'
prints 'reuse: the paper 3 times recompute (GTX 480); "Computing.*: A holds (1.11), B does not hold (0.769), C holds$'

begin "a row that the copy does not bound is not drawn below the copy's roof; a shorter time is a faster one"
exits 0 clvox bench compare gpu.json -o under.html
grep -q '<title>histogram 256: .* at ' under.html || complain "the row is in no roofline"
exits 0 python3 -c 'import json
j = json.load(open("gpu.json"))
j["ceilings"].append({"name": "copy, host", "unit": "B/s", "value": 1e11, "samples": [1e11]})
[r.update(ceiling="copy, host") for r in j["rows"] if r["name"] == "histogram 256"]
json.dump(j, open("host.json", "w"))'
exits 0 clvox bench compare host.json cpu.json -o host.html
grep -q '<title>histogram 256: .* at .* of copy, host' host.html && complain "it is below another roof"
grep -q '<title>A, histogram 256: .* of copy, host' host.html || complain "its share is not shown"
grep -q '>launch</th>.*4.00 µs.*20.0 µs.*>0.200×' host.html || complain "a longer time looks faster"

begin "a paper without a figure of its own"
exits 0 python3 -c 'import json
j = json.load(open("gpu.json"))
[r["paper"].pop("value") for r in j["rows"] if "paper" in r]
json.dump(j, open("none.json", "w"))'
exits 0 clvox bench compare none.json -o none-figure.html
prints 'reuse: the paper gives no figure, here times recompute (GTX 480).*: A holds (1.11)'
grep -q '<td>none; here times recompute</td>' none-figure.html || complain "the page makes up a figure"
exits 0 clvox bench compare none.json --markdown papers
prints '| none; here times recompute, GTX 480 | 1.11: yes |$'

begin "before and after on one device: what changed, and what the samples do not show"
exits 0 clvox bench compare gpu.json after.json
line 'warp linear' '0.120 70% 0.0599 2.00x 140%'
line 'gradient' '0.0849 79% 0.0849 1.00x~ 79%'
line 'energy' '0.168 50% 0.168! 1.00x~ 50%'
prints '^! the result was not compared'

cp gpu.json ./-gpu.json
begin "one record, and one of ceilings only"
exits 0 clvox bench compare gpu.json -o one.html
line 'warp linear' '0.120 70%'
exists one.html
exits 0 clvox bench compare ceilings.json
line 'copy' '4.00 TB/s'

begin "tables for a README"
exits 0 clvox bench compare gpu.json cpu.json --markdown devices
prints '^| NVIDIA H200 | Platform of NVIDIA Corporation 580.159.04 | 0.1.0 | 2026-11-21 | 4.00 TB/s | 60.0 TFLOP/s | 53% | 0.500 s |'
exits 0 clvox bench compare gpu.json cpu.json --markdown rows
prints '^| ms | NVIDIA H200, Platform of NVIDIA Corporation, '
prints '^| warp linear | 0.120 (70%) | 24.7 (34%) |$'
exits 0 clvox bench compare gpu.json cpu.json third.json --markdown papers
prints '^| Lee et al. 2012.* | conclusion | figure there | NVIDIA H200, .*, 256x256x256 | .* |$'
prints '^| reuse | Computing.* anew. | 3 times recompute, GTX 480 | 1.11: yes | 0.769: no | yes |$'
exits 1 clvox bench compare ceilings.json --markdown papers; one_sentence; says 'bench papers --json'
exits 1 clvox bench compare ceilings.json ceilings.json --markdown rows -o none.html; one_sentence; absent none.html

begin "the log holds the comparison"
exits 0 clvox bench compare gpu.json third.json --json c.json
json c.json 'j["verb"] == "bench" and [r["device"] for r in j["comparison"]["records"]][0] == "NVIDIA H200"'
json c.json '[round(r["speed"][1], 4) for r in j["comparison"]["rows"] if r["name"] == "warp linear"] == [0.12]'
exits 0 clvox bench compare gpu.json third.json --json -
cp log/out log/j.json
json log/j.json 'len(j["comparison"]["rows"]) > 30'
exits 1 clvox bench compare gpu.json c.json
says 'c.json: is a comparison'

begin "the page is whole or not there, and never takes a record's place"
exits 0 clvox bench compare gpu.json cpu.json -o page.html
exists page.html
tail -n 1 page.html | grep -q '</html>' || complain "the page does not end"
grep -qE '(src|href)="?(http|//)|@import|url\(' page.html && complain "the page refers to something else"
exits 1 clvox bench compare gpu.json cpu.json -o none/page.html
one_sentence; silent
exits 1 clvox bench compare gpu.json cpu.json -o cpu.json
says 'cpu.json: would be overwritten, and is an input'
json cpu.json 'j["schema"] == 1'
for log in cpu.json ./cpu.json; do
    exits 1 clvox bench compare gpu.json cpu.json -o spared.html --json $log
    says "$log: would be overwritten, and is an input"; silent; absent spared.html
done
json cpu.json 'j["schema"] == 1'
exits 1 clvox bench compare gpu.json cpu.json -o page.html --json ./page.html
says 'two results would have this name'; silent
head -n 1 page.html | grep -q DOCTYPE || complain "the log took the page's place"
exits 1 clvox bench compare gpu.json cpu.json -o new.html --json "$work/new.html"
says 'two results would have this name'; absent new.html
exits 1 clvox bench compare gpu.json cpu.json -o spared.html --json none/log.json
one_sentence; absent spared.html
exits 1 clvox bench compare gpu.json cpu.json -o spared.html --json log
one_sentence; says 'is a directory'; absent spared.html
exits 1 clvox bench compare gpu.json bad-cut.json -o kept.html
one_sentence; silent; absent kept.html

for name in bad-*.json; do
    begin "refused in one sentence: $name"
    exits 1 clvox bench compare gpu.json "$name" -o bad.html
    one_sentence; silent; absent bad.html
    says "$name: .*$(cat "${name%.json}.txt")"
done

begin "text of a record can neither steer a terminal nor a page"
exits 0 clvox bench compare hostile.json gpu.json -o bad.html
LC_ALL=C grep -q "$(printf '\033')" log/out && complain "an escape sequence was printed"
grep -q '<script\|<img' bad.html && complain "markup went into the page"
prints '^????.31mred'

begin "without Python, or with none that can do it"
exits 1 env PATH="$work/none" "$program" bench compare gpu.json -o spared.html --json log/e.json
one_sentence; says 'needs python3'; silent; absent spared.html
json log/e.json '"python3" in j["error"]'
mkdir old
printf '#!/bin/sh\nexit 1\n' > old/python3
chmod +x old/python3
exits 1 env PATH="$work/old" "$program" bench compare gpu.json -o spared.html
one_sentence; says 'python3 did not finish'; silent; absent spared.html

begin "names and folders of any kind; nothing of the user's Python has a say"
mkdir user
echo 'raise SystemExit("not mine")' > user/json.py
exits 0 env PYTHONPATH="$work/user" "$program" bench compare gpu.json; prints '^A  NVIDIA H200'
name=$(printf 'caf\351 .json')
cp gpu.json "$name"
exits 0 clvox bench compare "$name" --json log/n.json; prints 'caf? .json$'
exits 1 clvox bench compare "$(printf 'ni\351.json')"; one_sentence; says 'cannot be opened'

begin "by Python alone: the same table and page, and the same words where a record is refused"
exits 0 clvox bench compare gpu.json cpu.json -o verb.html
cp log/out verb.txt
exits 0 python3 "$here/../../../bench/compare" gpu.json cpu.json -o alone.html
cmp -s log/out verb.txt || complain "another table"
sed 's/compare<\/code> [0-9.]* from/compare<\/code>  from/' verb.html | cmp -s - alone.html || complain "another page"
exits 1 python3 "$here/../../../bench/compare" gpu.json bad-cut.json -o spared.html; one_sentence; silent; absent spared.html
exits 1 python3 "$here/../../../bench/compare" gpu.json cpu.json -o cpu.json; says 'is an input'; silent
exits 1 python3 "$here/../../../bench/compare" gpu.json cpu.json -o none/page.html; one_sentence; silent
exits 2 python3 "$here/../../../bench/compare"
exits 2 python3 "$here/../../../bench/compare" gpu.json --markdown columns

begin "usage errors exit with 2 and say what is wrong"
exits 2 clvox bench compare
exits 2 clvox bench compare --markdown columns gpu.json
exits 2 clvox bench compare gpu.json gpu.json gpu.json gpu.json gpu.json gpu.json gpu.json gpu.json gpu.json
exits 1 clvox bench compare missing.json
says 'missing.json: cannot be opened'
exits 1 clvox bench compare .
exits 0 clvox bench compare -o dashes.html -- -gpu.json; exists dashes.html
exits 0 clvox bench compare --help
prints '^Usage: clvox bench compare A.json B.json'
finish
