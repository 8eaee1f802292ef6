#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the command answers misuse, and how it explains itself. Needs no device.
. "$(dirname "$0")/lib.sh"

printf '1 0 0 900\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' > far.txt

begin "help and version"
exits 0 clvox --help; prints register; prints phantom; quiet
exits 0 clvox help; prints register
exits 0 clvox --version; prints '^clvox [0-9]*\.[0-9]*\.[0-9]*$'
exits 2 clvox; silent; says Usage

begin "an unknown verb is answered by the nearest one"
exits 2 clvox regsiter; silent; says 'did you mean `clvox register`'
exits 2 clvox xyzzyx; says 'clvox --help'; one_sentence
exits 2 clvox help regsiter; says register
exits 2 clvox --device gpu info; says 'after the verb'

for verb in $(clvox --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    begin "$verb explains itself with an example"
    exits 0 clvox "$verb" --help; quiet
    prints "^Usage: clvox $verb"; prints '^Example:'; prints "^  clvox $verb"; prints '  --device SEL'
    exits 0 clvox help "$verb"; prints '^Example:'
    [ "$(wc -l < log/out)" -le 40 ] || complain "--help has $(wc -l < log/out) lines"
    exits 0 clvox "$verb" --help all; quiet; prints '  --profile'
    cp log/out long; exits 0 clvox help "$verb" all; cmp -s log/out long || complain "help VERB all is another text"
    for page in $(clvox "$verb" --describe-options | python3 -c 'import json, sys; print(*json.load(sys.stdin)["words"])') ''; do
        exits 0 clvox "$verb" $page --help all
        grep -n '.\{81\}' log/out && complain "$verb $page: a line has more than 80 columns"
        awk '/^[A-Z][A-Za-z ]*:$/ {on = length < 30} /^$/ {on = 0} on && /^[^ `]/ && !/:$/' log/out | grep -q . &&
            complain "$verb $page: a line of the options begins at the left"
        grep -e '^  \(-., \)\{0,1\}--[a-z0-9-]* [0-9][0-9.]*[x,m]' log/out && complain "$verb $page: a number stands for a value"
    done
    exits 0 clvox "$verb" --version; prints '^clvox [0-9]'
    exits 2 clvox "$verb" --no-such-option; silent; says "^clvox $verb: "; says 'clvox .* --help'
done

begin "help shows the defaults of the preset and the model that are typed beside it, by group"
exits 0 clvox register --help; prints '^Images:'; prints 'greedy|syn'; prints '(default syn)'; prints 'register --help all'
grep -q -e --mind-weight -e --space log/out && complain "the short help has options of experts"
exits 0 clvox register --help all; prints '^Expert:'; prints '^Masks and labels:'; prints '(default 60x50x11)'
prints 'iterations NxNxN'; prints '(default mi:32,lncc:[0-9])'; cp log/out default
exits 0 clvox register --best --help=all; prints '(default syn)'; cmp -s default log/out && complain "--best changes no default"
exits 0 clvox register --help all --quick; prints '(default greedy)'; cp log/out quick
exits 0 clvox register --quick -f gone.nii -h all --iterations; cmp -s quick log/out || complain "other words change the help"
exits 2 clvox register --quick --best --help; silent; says 'contradict'
exits 0 clvox atlas --quick --help all; prints '(default greedy)'; prints 'rounds N .*(default 4)'
exits 0 clvox atlas --help all --deform lddmm; prints '(default lddmm)'

begin "an option that belongs to others is refused without them"
for row in 'space r --bids-derivatives' 'frames ras --points, --surface, --curves, --cloud, --boundary and --list' 'width 3mm --surface, --curves and --cloud' \
    'posteriors-weights 1,2 --posteriors FIXED,MOVING$' 'surface-kind varifold --surface FIXED,MOVING$'; do
    set -- $row; name=$1 given=$2; shift 2
    exits 2 clvox register -f f.nii -m m.nii -o x --$name $given; silent
    says "^clvox register: --$name belongs to $*"
done
exits 2 clvox apply -i a.nii -r a.nii -o x.nii --inverse; says '--inverse belongs to --pair PREFIX$'
exits 2 clvox atlas -o x a.nii --at 2; says '--at belongs to --regress COLUMN$'
exits 2 clvox surface mesh a.nii -o x.ply --above; says '--above belongs to --level VALUE$'
begin "an option of one kind of argument is refused with another"
kinds() { belongs=$1; shift; exits 2 clvox "$@" -o x; silent; says "^clvox [a-z ]*: $belongs\$"; absent x; }
kinds '--noise belongs to images, pair and surface:...' phantom warp --noise 1
kinds '--correlation belongs to surface:...' phantom pair --noise 1 --correlation 1
kinds '--amplitude belongs to warp and pair' phantom tensor:rings --amplitude 2
kinds '--affine belongs to images and pair' phantom surface:cube --affine a.txt
kinds '--labels belongs to images' phantom pair --labels l.nii
kinds '--inverse belongs to warp' phantom pair --inverse i.nii.gz
for option in snr directions b noise-kind; do
    value=9; [ $option != noise-kind ] || value=rician
    kinds "--$option belongs to tensor:..." phantom ball --$option $value
done
kinds '--amount belongs to unsharp' filter sobel a.nii --amount 1
kinds '--band belongs to meshes' surface distance a.nii --band 1
kinds '--iso belongs to volumes' surface distance a.ply --iso 1
kinds '--voxel belongs to meshes' surface denoise a.nii --voxel 1
mkdir bids; kinds '--weights belongs to images' atlas bids --weights 1; rmdir bids
exits 2 clvox phantom sphere -o x --snr 1; says 'sphere: not known'

begin "options: misspelt, shortened, without and with too many values"
for name in a.nii a.NII.GZ a.mhd a.nrrd.gz a.gii a.lta.json; do exits 2 clvox register -f f.nii -m m.nii -o $name; says 'is the name of a file; give'; done
exits 2 clvox phantom ball -o x.nii --sise 3x3x3; says 'did you mean --size'
exits 2 clvox phantom ball -o x.nii --s 3x3x3; says 'begin like this'; says ': --s[a-z]*, --s[a-z]*'
exits 2 clvox phantom ball -o; says 'value is missing'
exits 2 clvox phantom ball --output; says '--output: the value is missing'
exits 2 clvox phantom ball -o x.nii --quiet=1; says 'takes no value'
exits 2 clvox phantom ball -Z; says '-Z: not known'
exits 2 clvox phantom ball ball -o x.nii; says 'not expected'
exits 2 clvox phantom -o x.nii; says 'missing'
exits 2 clvox phantom cube -o x.nii; says 'ball'
exits 2 clvox phantom ball -o x.nii --seed -1; says 'whole number'
exits 2 clvox phantom ball -o x.nii --noise much; says 'not of the form'
exits 2 clvox phantom ball -o x.nii --size 0x3x3; says '0'
exits 2 clvox phantom ball -o x.nii --size 3x3
exits 2 clvox phantom ball -o x.nii --size 3x3x3mm
exits 2 clvox phantom ball -o x.nii --spacing 1vox
exits 2 clvox phantom ball -o x.nii --spacing 1xx1
exits 2 clvox phantom ball -o x.nii --direction up; says 'axial|oblique'
exits 2 clvox phantom ball -o x.nii --amplitude 3; says 'warp and pair'
absent x.nii

begin "options of other programs are answered with ours"
exits 2 clvox register --mask a.nii; says '--mask: not known; give --fixed-mask FILE, --moving-mask FILE'
exits 2 clvox register -x a.nii; says '--fixed-mask FILE'
exits 2 clvox register --transform 'SyN[0.1]'; says '--deform which model'; says '--linear'
exits 2 clvox register --transform 'SyN[0.1,3,0]'; says '--step, --update-sigma and --total-sigma'
ants='clvox register -f a.nii -m a.nii -o r'
exits 2 $ants --deform 'SyN[0.1,3,0]'; says 'give --deform syn --step 0.1'
exits 2 $ants --linear 'Affine[0.1]'; says 'give --linear affine'
exits 2 $ants --metric 'CC[f.nii,m.nii,1,4]'; says '-f f.nii -m m.nii --metric lncc:4'
exits 2 $ants --metric 'MI,CC[f.nii,m.nii,1,4]'; says 'values in brackets are options'
exits 2 clvox register -m 'CC[f.nii,m.nii,1,4]' -f f.nii; says 'give -f FIXED -m MOVING --metric CC'
exits 2 clvox register -f p.nii -m m.nii -f 4x2x1 -o r; says 'shrink factors are --shrink 4x2x1'
exits 2 clvox register -f p.nii -m m.nii -o '[r_,w.nii.gz]'; says 'as -o r_ for r_'
for row in '-n@clvox apply --interp' '-u@--histogram-match' '-w@--winsorize 0.005' '-s@--smooth' '-g@--restrict' '--float@single precision' \
    '--random-seed@the same run gives the same' '--write-composite-transform@-o both.h5' '--collapse-output-transforms@two files'; do
    exits 2 $ants ${row%@*} 1; says "${row#*@}"
done
exits 2 clvox apply -e 0; says 'told by their headers'
exits 2 clvox register --convergence 100x50; says '--iterations'
exits 2 clvox apply -n Linear; says '-n: not known; it is --interp'
exits 2 clvox filter gaussian --fwhm 5mm; says '--sigma, which is the full width at half maximum divided by 2.355'
exits 2 clvox jacobian --fwhm 5mm; says '--fwhm: not known'
exits 2 clvox register --series a.nii -o m; says 'clvox series SERIES -o PREFIX'
exits 2 clvox register --mo; says '--moving, --moving-mask'

begin "values as people write them, and the number of dimensions"
exits 0 clvox phantom pair -o p --size 9x8x7 -q
exits 0 clvox register -d 3 -f p_fixed.nii.gz -m p_moving.nii.gz -o own --linear Rigid --deform SyN --metric MI,CC --shrink 1 \
    --iterations 1 --json own.json
says '-d has no effect: volumes have three dimensions'
json own.json 'j["options"]["deform"] == "syn" and "lncc" in str(j["options"]["metric"])'
exits 0 clvox apply --dimensionality=3 -i p_fixed.nii.gz -r p_fixed.nii.gz --interp NearestNeighbor -o n.nii.gz
exits 0 clvox apply -d 3 -q -i p_fixed.nii.gz -r p_fixed.nii.gz --interp LanczosWindowedSinc -o n.nii.gz; quiet
exits 2 clvox apply -d 2 -i p_fixed.nii.gz -r p_fixed.nii.gz -o n.nii.gz; says 'three dimensions'
exits 0 clvox apply -d3 -i p_fixed.nii.gz -r p_fixed.nii.gz -t '[own_affine.txt,1]' -o a.nii.gz
exits 0 clvox apply -i p_fixed.nii.gz -r p_fixed.nii.gz -t own_affine.txt,-1 -o b.nii.gz
exits 0 clvox compare a.nii.gz b.nii.gz; prints 'largest.* 0$'
rm -f own* p_* n.nii.gz a.nii.gz b.nii.gz

begin "sizes and names of what is timed"
for size in 20x10 9x9x9x9 9.7 9x9x9.5 9mm 0 3 9x9x2049 1e9; do
    exits 2 clvox bench --size $size; silent; says 'N or NxNxN'
    exits 2 clvox tune --size $size; silent; says 'N or NxNxN'
done
exits 2 clvox bench --size 1000; says '100 million'
exits 1 clvox bench kernels copy nothingsuch; silent; one_sentence; says 'nothingsuch is in the name of no operation'
exits 1 clvox bench nothingsuch copy; one_sentence; says 'nothingsuch is in the name of no operation'
exits 2 clvox bench kernels copy ''; says 'a name is empty'
exits 2 clvox bench ''; says 'a name is empty'

begin "a log that cannot be written is found before the work"
mkdir logs
exits 0 clvox phantom ball -o l.nii --size 3x3x3 -q; exists l.nii
for verb in 'phantom ball -o x.nii' 'info l.nii' 'apply -i l.nii -r l.nii -o x.nii' 'compare l.nii l.nii' devices \
    'bench compare a.json' 'tune --kernel copy' 'jacobian -t l.nii -o x.nii' 'surface mesh l.nii -o x.ply' \
    'tensor measures l.nii -o x' 'register -f l.nii -m l.nii -o x'; do
    exits 1 clvox $verb --json no/folder/log.json; silent; one_sentence
    says 'no/folder/log.json: cannot be written: the folder no/folder does not exist'
    exits 1 clvox $verb --json logs; silent; one_sentence; says 'logs: is a directory, name a file in it'
done
absent x.nii; absent x.ply; absent x.json
exits 0 clvox info l.nii --json /dev/null; quiet
exits 1 clvox info l.nii --json /dev/full; says '/dev/full: cannot be written (No space left'
exits 0 clvox info l.nii --json -; quiet
exits 0 clvox info l.nii --json log.json; exists log.json
cp log.json before.json; exits 2 clvox info --json log.json
cmp -s log.json before.json || complain "a log was lost to a command that was misused"
exits 1 clvox info gone.nii --json log.json
json log.json 'j["error"].startswith("gone.nii: cannot be opened") and j["exit_code"] == 1'

begin "a value follows its option behind = or a space, and may be negative"
exits 0 clvox phantom constant --output a.nii --size 3x4x5 --spacing 2mm --noise=0; exists a.nii
exits 0 clvox phantom --output=b.nii constant --size=3x4x5; exists b.nii
exits 1 clvox phantom warp -o w.nii --size 9x9x9 --amplitude=-1; one_sentence; absent w.nii

begin "register names what exists"
exits 2 clvox register; says 'FIXED is missing'
exits 2 clvox register -f a.nii; says 'MOVING is missing'
exits 2 clvox register -f a.nii -m a.nii; says 'PREFIX is missing'
exits 2 clvox register -f a.nii -m a.nii -o r --deform wavy; says 'choices are none|unbiased|greedy|syn|lddmm|shooting'
for option in --kernel --solver --solver-tolerance --currents-error; do
    exits 2 clvox register -f a.nii -m a.nii -o r $option 1; says "$option: not known"
done
exits 2 clvox register -f a.nii -m a.nii -o r --deform unbiased --metric mi; says 'ssd or ncc'
exits 2 clvox register -f a.nii -m a.nii -o r --metric ncc,xyz; says 'lncc'
exits 2 clvox register -f a.nii -m a.nii -o r --linear thin; says 'none|translation|rigid'
exits 2 clvox register -f a.nii -m a.nii -o r --init nowhere; says 'moments'
exits 2 clvox register -f a.nii -m a.nii -o r --shrink 4x2x1 --iterations 3x3; says 'levels'
exits 2 clvox register -f a.nii -m a.nii -o r --shrink 0.5; says 'below 1'
exits 2 clvox register -f a.nii -m a.nii -o r --iterations 1.5; says 'whole number'
exits 2 clvox register -f a.nii -m a.nii -o r --step 0; says 'above 0'
exits 2 clvox register -f a.nii -m a.nii -o r --step 1e9; says 'at most 1000 voxels'
exits 2 clvox register -f a.nii -m a.nii -o r --update-sigma 2mm; says 'voxels'
exits 2 clvox register -f a.nii -f a.nii -m a.nii -o r; says "2 fixed and 1 moving"
exits 2 clvox register -f a.nii -m a.nii --weight 1 --weight 2 -o r; says "2 weights for 1 channels"
exits 2 clvox register -f a.nii -m a.nii --weight -1 -o r; says "at least 0"
exits 2 clvox register -f a.nii -m a.nii --weight 0 -o r; says "above 0"
exits 2 clvox register -f a.nii -m a.nii -o r --dof 8; says '0, 3, 6, 7, 9 and 12'
exits 2 clvox register -f a.nii -m a.nii -o r --dof 6 --linear affine; says 'contradict'
exits 2 clvox register -f a.nii -m a.nii -o r --quick --best; says 'contradict'
exits 2 clvox register -f a.nii -m a.nii -o r --regular --best; says 'regular and --best contradict'
exits 2 clvox register -f a.nii -m a.nii -o r --regular --deform lddmm; says '--lambda'
exits 2 clvox register -f a.nii -m a.nii -o r --metric lncc:0,ssd; says '1 to 64'
for damping in 1 0.9x1 0.9x 0.9x0.8x0.7 0.9vox; do
    exits 2 clvox register -f a.nii -m a.nii -o r --update-damping $damping; says 'fraction'
done
exits 2 clvox register -f a.nii -m a.nii -o r --metric mi:4,ssd; says '8 to 128'
exits 2 clvox register -f a.nii -m a.nii -o r --metric ncc:3; says 'RADIUS'
exits 2 clvox register -f a.nii -m a.nii -o r --metric mi+ncc,lncc; says 'linear stage compares by one metric'
exits 2 clvox register -f a.nii -m a.nii -o r --metric lncc+0mi; says 'weights of metrics are above 0'
exits 2 clvox register -f a.nii -m a.nii -o r --metric mi+mi+mi+mi+mi; says 'more than 4 metrics'
exits 2 clvox register -f a.nii -m a.nii -o r --metric lncc+tweed; says 'the choices are'
exits 2 clvox register -f a.nii -m a.nii -o r --deform unbiased --metric ssd+ncc; says 'compares by one metric'
exits 2 clvox register --surface a.gii,b.gii -o r --level-fixed-mask a.nii; says 'belongs to --fixed and --list'
exits 2 clvox register -f a.nii -m a.nii -o r --gradient half; says 'true|local'
exits 2 clvox register -f a.nii -m a.nii -o r --mind-weight -1; says 'not from 0'
exits 2 clvox register -f a.nii -m a.nii -o r --total-sigma 1mm; says 'voxels'
exits 2 clvox register -f a.nii -m a.nii -o r --shrink 9x8x7x6x5x4x3x2x1; says 'at most 8'

begin "apply, compose, invert, jacobian and compare name what is missing"
exits 2 clvox apply -i a.nii -r a.nii; says '-o OUT'
exits 2 clvox apply -i a.nii -o x.nii; says '-r REFERENCE'
exits 2 clvox apply -r a.nii -o x.nii; says '-i IMAGE'
exits 2 clvox apply --points p.csv -i a.nii -o x.csv; says 'neither'
exits 2 clvox compose -r a.nii -o x.nii; says '-t T'
exits 2 clvox compose -t a.nii -o x.nii; says '-r REFERENCE'
exits 2 clvox invert -o x.nii; says '-t WARP'
exits 2 clvox jacobian; says '-t WARP'
exits 2 clvox compare a.nii; says 'missing'
exits 2 clvox compare a.nii a.nii --radius 0
exits 2 clvox compare a.nii a.nii --bins 1

begin "a file that is not there is one sentence and leaves nothing behind"
exits 1 clvox info gone.nii.gz; silent; one_sentence; says '^clvox info: gone.nii.gz: '
exits 1 clvox compare a.nii gone.nii; silent; one_sentence
exits 1 clvox compare a.nii a.nii --mask gone.nii; silent; one_sentence; says gone.nii
exits 1 clvox apply -i gone.nii -r a.nii -o x.nii; one_sentence; absent x.nii
exits 1 clvox apply -i a.nii -r a.nii -t gone.txt,-1 -o x.nii; one_sentence; says 'gone.txt: '; absent x.nii
exits 1 clvox apply --points gone.csv -o x.csv; one_sentence; absent x.csv
exits 1 clvox register -f a.nii -m a.nii -o r --fixed-mask gone.nii; one_sentence; says gone.nii
exits 1 clvox phantom ball -o no/folder/x.nii; one_sentence; says 'no/folder'
exits 1 clvox register -f a.nii -m gone.nii -o no/folder/r; one_sentence; absent no
absent r.json; absent r_affine.txt

begin "a mask without a voxel above 0 is refused"
exits 0 clvox phantom ball -o ball.nii --size 1x1x5 --labels zero.nii --affine far.txt
exits 1 clvox compare ball.nii ball.nii --mask zero.nii; one_sentence; says 'zero.nii: the mask is empty'

begin "on a terminal a first run says that it builds kernels, the second and a quiet one do not"
exits 0 clvox phantom pair -o pair --size 13x11x9
on_terminal() {
    CLVOX_CACHE_DIR=$work/$1 script -qec "'$program' register -f pair_fixed.nii.gz -m pair_moving.nii.gz -o first ${2:-} \
        --linear none --deform greedy --metric ssd --iterations 1 --shrink 1 --no-picture" /dev/null
}
exits 0 on_terminal kernels; prints "building kernels, once; they are kept in .*kernels"
exits 0 on_terminal kernels; cp log/out again
exits 0 on_terminal others -q
grep -h building again log/out && complain "it says so where it does not build, or is quiet"
finish
