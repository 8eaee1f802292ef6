#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where built kernels are kept: nothing that another user could have put there is run, and the run goes on.
. "$(dirname "$0")/lib.sh"
PATH=$(dirname "$program"):$PATH # for env, which knows no functions
unset POCL_CACHE_DIR XDG_CACHE_HOME CLVOX_CACHE_DIR
one_remark() { [ "$(grep -c "$1" log/err)" = 1 ] || complain "not reported once: $1"; }
mine=clvox-pocl-$(id -u)
clvox phantom ball -o f.nii --size 13x11x9 -q > log/out 2>&1
sobel="clvox filter sobel f.nii"
exits 0 env CLVOX_CACHE_DIR= $sobel -o plain.nii
clvox devices > log/out 2>&1
pocl=$(grep -c '^ *[0-9]* \*.*Portable Computing' log/out)

begin "an entry of the cache that others could write, or that is a pipe, is not loaded"
export HOME="$work/home" TMPDIR="$work"
mkdir home
exits 0 $sobel -o x.nii; quiet
[ "$(stat -c %a home/.cache/clvox)" = 700 ] || complain "home/.cache/clvox has mode $(stat -c %a home/.cache/clvox)"
for entry in home/.cache/clvox/????????????????????????????????; do
    rm "$entry" && mkfifo "$entry" || complain "no entry was kept"
done
exits 0 timeout 60 $sobel -o x.nii; quiet; exits 0 cmp plain.nii x.nii

begin "no home, one that is empty and a relative one: no cache, which is reported once, and not PoCL's /tmp/pocl"
was=$(ls -d /tmp/pocl 2> /dev/null)
rm -rf "$mine"
for home in "-u HOME" "HOME=" "HOME=relative" "-u HOME XDG_CACHE_HOME=relative"; do
    touch start
    exits 0 env $home $sobel -o x.nii; one_remark 'built kernels are not kept'; one_sentence
    exits 0 cmp plain.nii x.nii
    absent relative; [ "$(ls -d /tmp/pocl 2> /dev/null)" = "$was" ] || complain "/tmp/pocl was made"
    [ "$pocl" = 0 ] || { [ "$mine" -nt start ] || complain "$mine was not used"; [ "$(stat -c %a "$mine")" = 700 ] || complain "$mine is open to others"; }
    exits 0 env $home $sobel -o x.nii -q; quiet
done

begin "a folder that others could write, or below one, is no cache; that is reported once"
mkdir -p open/below && chmod 777 open && chmod 700 open/below
for place in open open/below "$work/open/below/deeper"; do
    exits 0 env CLVOX_CACHE_DIR="$place" $sobel -o x.nii
    one_remark 'built kernels are not kept, as .*/open can be written by other users'; one_sentence
    exits 0 env CLVOX_CACHE_DIR="$place" $sobel -o x.nii -v
    one_remark 'built kernels are not kept, as .*/open can be written by other users'
    exits 0 cmp plain.nii x.nii
done
[ "$(find open | wc -l)" = 2 ] || complain "something was written there"
exits 0 env CLVOX_CACHE_DIR="$work/open" $sobel -o x.nii --no-cache; quiet

begin "the same of PoCL's folder, by any variable"
if [ "$pocl" = 0 ]; then
    skips 'the device is not by PoCL'
else
    rm -rf "$mine" && mkdir -p open/.cache/pocl
    for place in POCL_CACHE_DIR="$work/open" POCL_CACHE_DIR=open/below XDG_CACHE_HOME="$work/open" HOME="$work/open"; do
        exits 0 env CLVOX_CACHE_DIR= "$place" $sobel -o x.nii
        one_remark "PoCL keeps what it builds in $work/$mine, as .*/open can be written by other users"; one_sentence
        exits 0 cmp plain.nii x.nii
    done
    [ -z "$(find open -type f)" ] || complain "something was written there"
fi

begin "PoCL's empty temporary files go once they are an hour old, and nothing else"
if [ "$pocl" = 0 ]; then
    skips 'the device is not by PoCL'
else
    mkdir -p -m 700 swept/kcache
    touch -d '2 hours ago' swept/tempfile_old swept/kcache/tempfile_old swept/other
    touch swept/tempfile_new
    echo text > swept/tempfile_full && touch -d '2 hours ago' swept/tempfile_full
    exits 0 env POCL_CACHE_DIR="$work/swept" "$program" devices
    absent swept/tempfile_old; absent swept/kcache/tempfile_old
    [ -e swept/other ] && [ -e swept/tempfile_new ] && [ -e swept/tempfile_full ] || complain "others went, too"
fi

begin "PoCL's folder with a file that others could write, or a pipe, is passed over"
if [ "$pocl" = 0 ]; then
    skips 'the device is not by PoCL'
else
    exits 0 env CLVOX_CACHE_DIR= POCL_CACHE_DIR="$work/built" $sobel -o x.nii; quiet
    for plant in 'chmod 666' 'rm -f' 'chmod 777'; do
        rm -rf kept && cp -a built kept
        exits 0 env CLVOX_CACHE_DIR= POCL_CACHE_DIR="$work/kept" $sobel -o x.nii; quiet
        file=$(find "$work/kept" -name '*.so' | head -n 1)
        exists "$file"
        $plant "$file"
        [ -e "$file" ] || mkfifo "$file"
        exits 0 timeout 60 env CLVOX_CACHE_DIR= POCL_CACHE_DIR="$work/kept" $sobel -o x.nii
        one_remark "PoCL keeps what it builds in $work/$mine, as $work/kept/"; exits 0 cmp plain.nii x.nii
    done
fi

begin "where others were first among temporary files, too, a folder goes with the run"
if [ "$pocl" = 0 ]; then
    skips 'the device is not by PoCL'
else
    rm -rf "$mine" && mkdir "$mine" && chmod 777 "$mine"
    exits 0 env CLVOX_CACHE_DIR= POCL_CACHE_DIR="$work/open" $sobel -o x.nii
    one_remark 'PoCL keeps what it builds in .* until the end, as .*/open can be written'; exits 0 cmp plain.nii x.nii
    [ "$(echo clvox-pocl-*)" = "$mine" ] || complain "left behind: $(echo clvox-pocl-*)"
    [ -z "$(ls -A "$mine")" ] || complain "something was written there"
fi
rm -rf "$mine"

begin "code of another user is not run"
if [ "$(id -u)" != 0 ] || ! command -v setpriv > /dev/null || ! command -v cc > /dev/null || [ "$pocl" = 0 ]; then
    skips 'needs root, setpriv, a compiler and PoCL'
else
    chmod 711 . && mkdir shared && chmod 1777 shared && chmod 644 f.nii
    cat > planted.c << END
#include <fcntl.h>
__attribute__((constructor)) static void runs(void) { (void)!creat("$work/shared/ran", 0666); }
END
    cc -shared -fPIC planted.c -o planted.so && chmod 755 planted.so
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$work/shared" "$@"; }
    exits 0 other POCL_CACHE_DIR="$work/shared/pocl" CLVOX_CACHE_DIR="$work/shared/clvox" $sobel -o shared/x.nii
    other cp -r shared/pocl "shared/$mine"
    for place in pocl "$mine"; do
        other sh -c 'for so in $(find "$1" -name "*.so"); do cp -f planted.so "$so"; done; chmod -R 777 "$1"' sh "shared/$place"
        [ -n "$(find "shared/$place" -name '*.so' -perm 777)" ] || complain "nothing was planted"
    done
    exits 0 env POCL_CACHE_DIR="$work/shared/pocl" CLVOX_CACHE_DIR= TMPDIR="$work/shared" $sobel -o x.nii
    exits 0 cmp plain.nii x.nii; absent shared/ran
    exits 0 env -u HOME TMPDIR="$work/shared" $sobel -o x.nii
    exits 0 cmp plain.nii x.nii; absent shared/ran
    exits 0 env CLVOX_CACHE_DIR="$work/shared/clvox" TMPDIR="$work" $sobel -o x.nii
    one_remark 'built kernels are not kept, as .*/shared/clvox belongs to another user (65534)'
fi
finish
