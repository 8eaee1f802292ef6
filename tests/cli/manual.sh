#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Man pages and completions, which are made from --help: manual.sh PROGRAM FOLDER. Needs no device.
pages=$2
. "$(dirname "$0")/lib.sh"
verbs=$(clvox --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
# As groff shows it, one paragraph a line, without breaks of words.
shown() { groff -man -Tascii -P-cbou -rLL=5000n -rHY=0 "$1" 2> /dev/null | tr -s ' '; }

begin "every verb has a page, which groff formats without a warning"
for verb in $verbs; do
    exists "$pages/clvox-$verb.1"
    grep -q "^\.BR clvox.-$verb (1)" "$pages/clvox.1" || complain "clvox.1 lacks $verb"
done
if command -v groff > /dev/null; then
    for page in "$pages"/*.1; do
        exits 0 groff -man -ww -z -Tutf8 "$page"; quiet
    done
fi

begin "every option of --help is in the page of its verb, with its letter"
listed() { # WORDS OF THE VERB
    sed -n '/:$/,/^Example/s/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\1\2/p' log/out | sed 's/^-\(.\), \(.*\)/\1 \2/'
}
count=0
for page in $verbs 'surface mesh' 'surface denoise' 'tensor fit' 'filter nlm' 'series' 'bench compare'; do
    exits 0 clvox $page --help all
    file=$pages/clvox-${page%% *}.1
    while read -r letter name; do
        row="\\fB\\-\\-${name//-/\\-}\\fR"
        if [ -z "$name" ]; then row="\\fB\\-\\-${letter//-/\\-}\\fR"; else row="\\fB\\-$letter\\fR, $row"; fi
        grep -qF -- "$row" "$file" || complain "$file lacks $row"
        count=$((count + 1))
    done < <(listed)
done
[ $count -gt 300 ] || complain "only $count options were looked for"

begin "a page shows the text of --help"
if command -v groff > /dev/null; then
    shown "$pages/clvox-register.1" > log/out
    prints 'register \\- register one image\|register - register one image'
    prints 'the fixed image, whose grid has the warp'; prints 'PREFIX_warp.nii.gz ITK displacement'
    prints '.-t PREFIX_affine.txt,-1 -t PREFIX_inverse_warp.nii.gz'; prints 'default 0.8 greedy, 0.5 syn'; prints '(default 0.7)'
    shown "$pages/clvox-filter.1" > log/out; prints 'CLVOX FILTER N4'
fi

# complete WORD...: what bash offers for the last one.
complete_line() {
    bash --norc -c '. "$1"; shift; COMP_WORDS=(clvox "$@"); COMP_CWORD=$#; _clvox; echo "${COMPREPLY[@]}"' \
        - "$pages/clvox" "$@" > log/out 2> log/err
    quiet
}
offers() { # WORDS
    [ "$(cat log/out)" = "$1" ] || complain "offered '$(cat log/out)', not '$1'"
}
begin "bash completes verbs, their words, options and values"
exits 0 bash -n "$pages/clvox"
complete_line reg; offers register
complete_line surface d; offers 'distance denoise'
complete_line filter ga; offers gaussian
complete_line register --total; offers --total-sigma
complete_line register --deform gr; offers greedy
complete_line register -f a.nii --deform = s; offers 'syn shooting'
complete_line register --interp; offers ''
complete_line series a.nii --ring; offers --ringing
complete_line tensor fit --method n; offers nlls
complete_line tensor denoise --method n; offers ''
complete_line apply --interp lan; offers lanczos
echo x > lesion.nii
complete_line register --linear-fixed-mask n; offers none
complete_line bench compare --mark; offers --markdown
complete_line register --fixed-mask le; offers ''

begin "zsh and fish know every option"
for name in $(clvox register --help all | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p'); do
    grep -q -- "\\*--$name[=[]" "$pages/_clvox" || complain "_clvox lacks --$name"
    grep -q -- " -l $name " "$pages/clvox.fish" || complain "clvox.fish lacks --$name"
done
if command -v zsh > /dev/null; then exits 0 zsh -n "$pages/_clvox"; fi
if command -v fish > /dev/null; then exits 0 fish -n "$pages/clvox.fish"; fi

begin "every option of a verb is an input of its Boutiques descriptor, and a repeated one keeps its flag"
python_holds "$program" "$pages" << 'END'
import json, os, re, subprocess, sys
program, folder = sys.argv[1:]
for name in sorted(n for n in os.listdir(folder) if re.fullmatch(r"clvox-.*\.json", n)):
    one = json.load(open(os.path.join(folder, name)))
    words = one["command-line"].split(" [")[0].split()[1:]
    page = json.loads(subprocess.run([program, *words, "--describe-options"], capture_output=True, check=True).stdout)
    flags = {i.get("command-line-flag") for i in one["inputs"]}
    assert {"--" + o["name"] for o in page["options"]} <= flags, name
    ids = [i["id"] for i in one["inputs"] + one.get("output-files", [])]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"\w+", i) for i in ids), (name, ids)
    assert all(i["value-key"] in one["command-line"] for i in one["inputs"]), name
one = json.load(open(os.path.join(folder, "clvox-register.json")))
inputs, outputs = ({i["id"]: i for i in one[k]} for k in ("inputs", "output-files"))
assert inputs["fixed"]["list-separator"] == " --fixed " and inputs["fixed"]["type"] == "File"
assert inputs["deform"]["value-choices"][:1] == ["none"] or "syn" in inputs["deform"]["value-choices"]
assert inputs["quick"]["type"] == "Flag" and inputs["jobs"] | {"type": "Number", "integer": True} == inputs["jobs"]
assert outputs["warp_file"]["path-template"] == "[OUTPUT]_warp.nii.gz"
one = json.load(open(os.path.join(folder, "clvox-bids.json")))
assert [i["id"] for i in one["inputs"]][:3] == ["bidsdir", "outdir", "participant_group"]
assert one["inputs"][2]["value-choices"] == ["participant", "group"]
one = json.load(open(os.path.join(folder, "clvox-filter-n4.json")))
assert one["inputs"][0]["id"] == "in_file" and [o["id"] for o in one["output-files"]] == ["output_file", "field_file"], one["output-files"]
END
finish
