# SPDX-License-Identifier: Apache-2.0
# full.sh SIZE COMMAND...: runs it with a disk of SIZE in the folder tiny. In `unshare -rm`; 77: no disk can be
# mounted, 88: an unfinished file was left there. With AGAIN=SIZE the disk grows after a failure to that, and the command runs again.
mount -t tmpfs -o size="$1" none tiny || exit 77
shift
code=0
"$@" || code=$?
find tiny -name '.clvox*' | grep . && exit 88
if [ $code != 0 ] && [ "${AGAIN:-}" ]; then
    mount -o remount,size="$AGAIN" tiny || exit 77
    "$@"
    exit
fi
exit $code
