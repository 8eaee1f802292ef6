#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list of devices and the choice among them.
. "$(dirname "$0")/lib.sh"
exits 0 clvox phantom constant -o k.nii --size 5x5x5

begin "a device that is not there is one sentence"
exits 1 clvox apply -i k.nii -r k.nii -o y.nii --device no-such-device; one_sentence; says 'no-such-device'; absent y.nii

begin "devices are listed"
exits 2 clvox devices --size 0; says '1 to 800'
exits 0 clvox devices; quiet; prints '^ *0 \*'
exits 0 clvox devices --json log/d.json; json log/d.json 'sum(d["default"] for d in j["devices"]) == 1'

begin "PoCL starts as many threads as this process may use processors"
one=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
# units FILE: of PoCL's device, and how many others there are, by the log of `clvox devices`
units() {
    python3 -c 'import json, sys
devices = json.load(open(sys.argv[1]))["devices"]
units = [d["compute_units"] for d in devices if d["platform"] == "Portable Computing Language"]
print(*units or ["none"], "and", len(devices) - len(units))' "$1"
}
all=$(units log/d.json)
if [ "${all% and *}" = none ]; then
    skips 'PoCL is not installed'
elif ! taskset -c "$one" true 2> /dev/null; then
    skips 'taskset may not choose processors'
elif [ "$(getconf _NPROCESSORS_ONLN)" = 1 ]; then
    skips 'the machine has one processor'
else
    exits 0 env -u POCL_MAX_PTHREAD_COUNT -u POCL_CPU_MAX_CU_COUNT taskset -c "$one" "$program" devices --json log/one.json
    [ "$(units log/one.json)" = "1 and ${all#* and }" ] || complain "on one processor PoCL has units: $(units log/one.json)"
    exits 0 env POCL_CPU_MAX_CU_COUNT= POCL_MAX_PTHREAD_COUNT=2 taskset -c "$one" "$program" devices --json log/two.json
    [ "$(units log/two.json)" = "2 and ${all#* and }" ] || complain "where the environment says 2 PoCL has units: $(units log/two.json)"
fi

begin "devices -v: limits, and every variant of every kernel"
export CLVOX_WISDOM="$work/w.json"
exits 0 clvox tune --kernel force --size 8 --seconds 0.001
exits 0 clvox devices -v -v --size 40x30x20 --json log/v.json
prints 'compute units'; prints 'largest work-group'; prints '40 x 30 x 20 voxels'
sed -n '/^  kernel.variant/,$p' log/out | grep -v 'does not run here' | awk 'length > 100' | grep . && complain 'rows are wider than 100'
json log/v.json 'all(k["reason"] for k in j["kernels"] if "refused" not in k) and sum("waves" in k for k in j["kernels"]) > 9'
json log/v.json '{"warp", "force", "sobel"} <= {k["kernel"] for k in j["kernels"]}'
json log/v.json 'all(sum(k["chosen"] for k in j["kernels"] if k["kernel"] == n) == 1 for n in {k["kernel"] for k in j["kernels"]})'
prints '^\* force/.* recorded$'
json log/v.json '[k["kernel"] for k in j["kernels"] if k["wisdom"]] == ["force"] == [k["kernel"] for k in j["kernels"] if k.get("reason") == "recorded"]'
json log/v.json 'j["kernels"][0].get("registers") is not None or all("groups_by_registers" not in k for k in j["kernels"])'
grep -q '"registers"' log/v.json || prints '^\* warp/.* unknown '

begin "clFFT is opened where it is there; without it flows run, and devices -v says so"
if ! grep -q '^clFFT was found' log/out; then
    prints '^clFFT is not there (.*): other libraries'
else
    json log/v.json 'j["clfft"]'
fi
exits 0 env CLVOX_CLFFT="$work/none.so" "$program" devices -v --json log/w.json; prints "^clFFT is not there ($work/none.so: .*): other"
json log/w.json 'not j["clfft"]'
exits 0 clvox phantom pair -o p --size 13x11x10 --amplitude .5 -q
exits 0 env CLVOX_CLFFT="$work/none.so" "$program" register -f p_fixed.nii.gz -m p_moving.nii.gz -o p --deform lddmm \
    --iterations 2x1 -q; exists p_warp.nii.gz
flow="register -f p_fixed.nii.gz -m p_moving.nii.gz --deform lddmm --iterations 1x1 --no-picture -q"
for by in clvox vkfft; do exits 0 env CLVOX_FOURIER=$by "$program" $flow -o $by; exists ${by}_warp.nii.gz; done
! cmp -s clvox_warp.nii.gz vkfft_warp.nii.gz || complain "clvox and vkfft have the same bits: one did both"
exits 1 env CLVOX_FOURIER=nobody "$program" $flow -o n; one_sentence; says 'no Fourier transforms by nobody; clvox, vkfft and clfft'; absent n_warp.nii.gz
exits 1 env CLVOX_FOURIER=clfft CLVOX_CLFFT="$work/none.so" "$program" $flow -o n; one_sentence; says 'clFFT cannot be loaded'; absent n_warp.nii.gz

begin "a variant that does not build gives way to another one, which is reported once, logged and listed"
passed=
export CLVOX_WISDOM=
exits 0 clvox filter median k.nii --radius 2 -o plain.nii
for broken in 'defined(WIDE)' '!defined(WIDE)'; do # one of them is the planner's
    rm -rf cl && cp -r "$here/../../cl" cl
    { printf '#if %s\n#error not here\n#endif\n' "$broken"; cat "$here/../../cl/image/median.cl"; } > cl/image/median.cl
    exits 0 env CLVOX_KERNEL_DIR="$work/cl" "$program" filter median k.nii --radius 2 -o other.nii --json log/m.json
    cmp -s plain.nii other.nii || complain "another variant of the median has other bits"
    if grep -q 'takes the place of the variant' log/err; then
        passed="$passed$broken"
        [ "$(grep -c '^median/.* takes the place of the variant .*last bits: .*cl/image/median.cl' log/err)" = 1 ] || complain 'not reported once'
        json log/m.json 'len(j["remarks"]) == 1 and "takes the place of the variant" in j["remarks"][0]'
        exits 0 env CLVOX_KERNEL_DIR="$work/cl" "$program" filter median k.nii --radius 2 -o other.nii -q --json log/m.json
        grep -q 'takes the place' log/err && complain 'reported in spite of -q'
        json log/m.json 'len(j["remarks"]) == 1 and "\n" not in j["remarks"][0]'
        exits 0 env CLVOX_KERNEL_DIR="$work/cl" "$program" devices -v --json log/v.json
        prints 'median/.*does not run here: '
        json log/v.json 'sum("refused" in k for k in j["kernels"] if k["kernel"] == "median") == 1'
    else
        quiet; json log/m.json '"remarks" not in j'
    fi
done
case $passed in 'defined(WIDE)'|'!defined(WIDE)') ;; *) complain "not one of two variants is the planner's: $passed" ;; esac
rm -r cl

begin "no OpenCL driver at all is one sentence"
mkdir none
exits 1 env OCL_ICD_VENDORS="$work/none" "$program" devices; one_sentence; silent; says 'install'
exits 1 env OCL_ICD_VENDORS="$work/none" "$program" apply -i k.nii -r k.nii -o y.nii; one_sentence; absent y.nii

begin "PoCL where /sys names no processors, as it would end the program there, is one sentence"
if [ "${all% and *}" = none ] || [ "${all#* and }" != 0 ]; then
    skips 'PoCL is not the only driver'
elif ! unshare -rm mount -t tmpfs none /sys 2> /dev/null; then
    skips 'no file system may be mounted on /sys'
else
    exits 1 unshare -rm sh -c 'mount -t tmpfs none /sys && exec "$0" devices' "$program"; silent; one_sentence; says 'mount -t sysfs'
fi
finish
