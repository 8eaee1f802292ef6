# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of the command: . lib.sh PROGRAM. Each runs in an empty folder of its own
# and prints a TAP line a case:
#   begin "what holds"; exits 0 clvox info a.nii; prints "RAS"
set -u
program=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
mkdir log
cases=0 failures=0 title= bad=0 skipped=

clvox() { "$program" "$@"; }
layer=${2:-}
# poor WHAT COMMAND...: over the OpenCL layer of tests/layer, which some scripts are given; what it counts is in log/calls.
poor() {
    wanting=$1
    shift
    env OPENCL_LAYERS="$layer" POOR_DEVICE="$wanting" POOR_CALLS="$work/log/calls" "$@"
}

close() {
    [ -n "$title" ] || return 0
    cases=$((cases + 1))
    if [ $bad = 0 ]; then
        echo "ok $cases - $title$skipped"
    else
        echo "not ok $cases - $title"
        failures=$((failures + 1))
    fi
    title= bad=0 skipped=
    [ -z "${device_kept+set}" ] || CLVOX_DEVICE=$device_kept
    unset device_kept
}
begin() { close; title=$1; }
complain() {
    [ -z "$skipped" ] || return 0
    bad=1
    echo "# $*"
    sed 's/^/#   err: /' log/err 2> /dev/null | tail -n 12
    grep -a '[^ ]' log/out 2> /dev/null | tail -n 4 | cut -c 1-200 | sed 's/^/#   out: /'
}
# skips WHY: what this case is about cannot be tried here.
skips() { skipped=" # SKIP $1"; }
# on_processor: what follows, to the end of the case or before any case of the script, is about the kernels, the memory or
# the speed of a processor, whatever device the suite runs on.
on_processor() {
    processor=$(clvox devices 2> /dev/null | awk '/^ *[0-9]+ [* ] cpu / { print $1; exit }')
    if [ -z "$title" ]; then
        [ -n "$processor" ] || finish_skipping 'there is no processor among the devices'
    else
        [ -n "$processor" ] || skips 'there is no processor among the devices'
        device_kept=${CLVOX_DEVICE-}
    fi
    export CLVOX_DEVICE="${processor:-cpu}"
}
# exits CODE COMMAND...: runs it, keeps its output in log/out and log/err.
exits() {
    wanted=$1
    shift
    code=0
    "$@" > log/out 2> log/err < /dev/null || code=$?
    [ $code = "$wanted" ] || complain "exit code $code, not $wanted: $*"
}
says() { grep -q -e "$1" log/err || complain "standard error lacks: $1"; }
prints() { grep -q -e "$1" log/out || complain "standard output lacks: $1"; }
silent() { [ ! -s log/out ] || complain "standard output is not empty"; }
quiet() { [ ! -s log/err ] || complain "standard error is not empty"; }
one_sentence() { [ "$(wc -l < log/err)" = 1 ] || complain "not one line on standard error"; }
exists() { [ -s "$1" ] || complain "$1 was not written"; }
absent() { [ ! -e "$1" ] || complain "$1 was left behind"; }
# until_so DESCRIPTION COMMAND...: waits until the command succeeds, two minutes at most.
until_so() {
    waited=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || { complain "two minutes went by: $waited"; return 1; }
        sleep 0.02
    done
}
ended() { ! grep -q '^State:[[:space:]]*[^[:space:]ZX]' "/proc/$1/status" 2> /dev/null; }
stopped() { ended "$1" || grep -q '^State:[[:space:]]*T' "/proc/$1/status" 2> /dev/null; }
ended_or() { ended "$process" || "$@"; }
# stop_when PROCESS DESCRIPTION COMMAND...: stops the process once the command succeeds; false where it ended before.
stop_when() {
    process=$1 wanted=$2
    shift 2
    until_so "$wanted" ended_or "$@" && ! ended "$process" || return 1
    kill -STOP "$process"
    until_so "$process stops" stopped "$process" && ! ended "$process"
}
# octahedron RADIUS SHIFT: a surface as Wavefront has it.
octahedron() {
    for v in '1 0 0' '0 1 0' '0 0 1' '-1 0 0' '0 -1 0' '0 0 -1'; do echo "$v" | awk -v r="$1" -v s="$2" '{ print "v", r * $1 + s, r * $2, r * $3 }'; done
    for f in '1 2 3' '2 4 3' '4 5 3' '5 1 3' '2 1 6' '4 2 6' '5 4 6' '1 5 6'; do echo "f $f"; done
}
# The number behind a name in what was printed.
value() { awk -v name="$1" '$1 == name { print $2; exit }' log/out; }
# near NAME WANT TOLERANCE
near() {
    got=$(value "$1")
    awk -v a="$got" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }' ||
        complain "$1 is '$got', not $2 within $3"
}
# below NAME LIMIT
below() {
    got=$(value "$1")
    awk -v a="$got" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b) }' || complain "$1 is '$got', not below $2"
}
# json FILE PYTHON-EXPRESSION over the parsed log `j`
json() {
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$1" "$2" 2> log/err || complain "$1: not so: $2"
}
# python_holds WORD...: whether the Python of standard input, whose arguments these are, ends without an error.
python_holds() {
    cat > log/holds.py
    exits 0 python3 log/holds.py "$@"
}
# Ends here: what would follow is skipped, for a reason.
finish_skipping() {
    close
    cases=$((cases + 1))
    echo "ok $cases - the rest # SKIP $1"
    echo "1..$cases"
    exit $((failures > 0))
}
finish() {
    close
    echo "1..$cases"
    [ $failures = 0 ]
}
