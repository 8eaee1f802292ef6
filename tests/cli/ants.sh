#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ANTs' programs answered by clvox, on phantoms with known answers: ants.sh PROGRAM PAGE. PAGE is doc/ants.md.
. "$(dirname "$0")/lib.sh"
page=$2

cat > turn.txt <<'M'
0.995 -0.087 0.02 2.5
0.09 1.01 0.03 -3
-0.02 -0.03 1.02 1.5
0 0 0 1
M
cat > shift.txt <<'T'
1 0 0 12
0 1 0 0
0 0 1 -6
0 0 0 1
T
exits 0 clvox phantom pair -o p --size 23x27x21 --spacing 6x6x6mm --amplitude 6 --affine turn.txt --seed 5
exits 0 clvox compose -t turn.txt -o turn.mat
exits 0 clvox ants --install bin
PATH=$work/bin:$PATH
export PATH
F=p_fixed.nii.gz M=p_moving.nii.gz

# same_map A B: two transforms, or chains with a blank between their links, lead to the same places.
same_map() {
    set -- "$1" "$2" "${3:-0.001}"
    forth= back=
    for link in $1; do forth="$forth -t $link"; done
    for link in $2; do
        case $link in
        identity) ;;
        *,-1) back="-t ${link%,-1} $back" ;;
        *) back="-t $link,-1 $back" ;;
        esac
    done
    exits 0 clvox compose -r $F $forth $back -o none.nii.gz
    exits 0 clvox info none.nii.gz --json log/none.json
    json log/none.json "j['files'][0]['mean_displacement_mm'] < $3"
}
same_image() {
    exits 0 clvox compare "$1" "$2"; below largest_difference "${3:-1e-3}"
}
# refused WHAT COMMAND...: exit code 1 and one sentence, which says so.
refused() {
    why=$1
    shift
    exits 1 "$@"; says "$why"; one_sentence
}

begin "names, version, help and the page"
exits 0 antsRegistration --version; prints '^ANTs Version: [0-9.]*+clvox'; quiet
exits 0 clvox ants N4BiasFieldCorrection --help; prints '--bspline-fitting'
exits 1 antsApplyTransforms
exits 2 clvox ants antsWhatever; says 'no program of ANTs'
exits 0 clvox ants --install bin
printf x > bin/other; mkdir taken; printf x > taken/antsAI
exits 1 clvox ants --install taken; says 'taken/antsAI'; absent taken/ImageMath
if [ -f "$page" ]; then
    exits 0 clvox ants --tables
    sed -n '/^## antsRegistration$/,$p' "$page" > log/page
    cmp -s log/out log/page || complain "doc/ants.md is not what clvox ants --tables prints"
fi

begin "antsApplyTransforms resamples as clvox apply does, by every interpolation"
chain="-t p_truth_warp.nii.gz -t p_truth_affine.txt"
for pair in Linear=linear NearestNeighbor=nearest Gaussian=gaussian BSpline=bspline LanczosWindowedSinc=lanczos; do
    exits 0 antsApplyTransforms -d 3 -i $M -r $F -n ${pair%=*} $chain -o a.nii.gz
    silent; quiet
    exits 0 clvox apply -i $M -r $F --interp ${pair#*=} $chain -o b.nii.gz --output-type float
    same_image a.nii.gz b.nii.gz 1e-6
done
exits 0 antsApplyTransforms -d 3 -i p_moving_labels.nii.gz -r $F -n GenericLabel $chain -o a.nii.gz
exits 0 clvox apply -i p_moving_labels.nii.gz -r $F $chain -o b.nii.gz
same_image a.nii.gz b.nii.gz 1e-6
exits 0 antsApplyTransforms -d 3 -i p_moving_labels.nii.gz -r $F -n 'MultiLabel[ 0.3, 0 ]' $chain -o c.nii.gz
says 'clvox replaces MultiLabel'; same_image a.nii.gz c.nii.gz 1e-6
exits 0 antsApplyTransforms -d 3 -i $M -r $F -n 'BSpline[ 2 ]' $chain -o c.nii.gz; says 'order 2'

begin "antsApplyTransforms as nipype writes it: brackets with blanks, identity, a value outside, the type"
exits 0 antsApplyTransforms --default-value -5 --dimensionality 3 --float 1 --input $M --interpolation Linear --output a.nii.gz \
    --reference-image $F --transform identity --transform '[' shift.txt, 1 ']' --transform "[ turn.txt, 0 ]" -u short -v 0 \
    -e 0 -z 1
exits 0 clvox apply -i $M -r $F -t shift.txt,-1 -t turn.txt --outside -5 --output-type short -o b.nii.gz
same_image a.nii.gz b.nii.gz 1e-6
exits 0 clvox info a.nii.gz; prints int16
exits 0 antsApplyTransforms -d 3 -i $M -r $M -t identity -o [c.nii.gz,0]; same_image $M c.nii.gz 1e-6
exits 0 clvox info c.nii.gz; prints float32
exits 0 antsApplyTransforms -d 3 -i c.nii.gz -r $F -t turn.mat -o c.nii.gz
exits 0 antsApplyTransforms -d 3 -i $M -r $F -t turn.mat -o b.nii.gz; same_image b.nii.gz c.nii.gz 1e-6

begin "antsApplyTransforms writes chains: a warp, an affine, its inverse, a composite"
exits 0 antsApplyTransforms -d 3 -r $F $chain -o '[both.nii.gz,1]'; same_map both.nii.gz "p_truth_warp.nii.gz p_truth_affine.txt" 0.05
exits 0 antsApplyTransforms -d 3 -r $F -t turn.mat -t turn.mat -o 'Linear[ twice.mat ]'; same_map twice.mat "turn.txt turn.txt"
exits 0 antsApplyTransforms -d 3 -t turn.mat -t '[p_truth_affine.txt,1]' -o 'Linear[back.txt,1]'
same_map back.txt "p_truth_affine.txt turn.txt,-1"
if clvox compose $chain -o log/chain.h5 2> log/err; then
    exits 0 antsApplyTransforms -d 3 $chain -o 'CompositeTransform[both.h5]'
    same_map both.h5 "p_truth_warp.nii.gz p_truth_affine.txt" 0.05
    exits 0 antsApplyTransforms -d 3 $chain -o 'CompositeTransform[back.h5,1]'; same_map "both.h5 back.h5" identity 0.05
    exits 0 antsApplyTransforms -d 3 -i $M -r $F -t both.h5 -o a.nii.gz
    exits 0 clvox apply -i $M -r $F $chain -o b.nii.gz; same_image a.nii.gz b.nii.gz 0.1
    hdf5=yes
else
    hdf5=
fi

begin "antsApplyTransforms takes series, and one volume of them"
exits 0 clvox phantom tensor:steps -o d --size 9x8x7 --directions 6 -q
exits 0 antsApplyTransforms -d 3 -e 3 -i d_dwi.nii.gz -r d_dwi.nii.gz -t identity -o a.nii.gz; same_image d_dwi.nii.gz a.nii.gz
exits 0 antsApplyTransforms -d 3 -e 3 --time-index 2 -i d_dwi.nii.gz -r d_dwi.nii.gz -o b.nii.gz
exits 0 clvox apply -i d_dwi.nii.gz -r d_dwi.nii.gz --frame 2 -o c.nii.gz; same_image b.nii.gz c.nii.gz

begin "refused, as it changes the result and is not there: by antsApplyTransforms"
a="antsApplyTransforms -i $M -r $F -o x.nii.gz"
refused 'volumes of three' $a -d 2
refused 'vectors and tensors' $a -d 3 -e 2
refused 'char' $a -d 3 -u char
refused 'no such interpolation' $a -d 3 -n Spherical
refused '--input is missing' antsApplyTransforms -d 3 -r $F -o x.nii.gz
refused 'reference-image is missing' antsApplyTransforms -d 3 -t turn.mat -o '[x.nii.gz,1]'
refused 'does not know' $a -d 3 --whatever 1
refused 'brackets' $a -d 3 -t '[turn.mat,1'
refused 'FILE, \[FILE,0\]' $a -d 3 -t '[turn.mat,2]'
refused 'no option' $a -d 3 stray
refused 'nothing.mat' $a -d 3 -t nothing.mat
absent x.nii.gz

linear="-t Rigid[ 0.05 ] -m Mattes[ $F, $M, 1, 32, Regular, 0.25 ] -c [ 100x100, 1e-06, 20 ] -s 2.0x1.0vox -f 2x1 -u 1"
affine="--transform Affine[ 0.08 ] --metric Mattes[ $F, $M, 1, 32, Regular, 0.25 ] --convergence [ 100x100, 1e-06, 20 ]
 --smoothing-sigmas 1.0x0.0vox --shrink-factors 2x1 --use-histogram-matching 1"
syn="--transform SyN[ 0.1, 3.0, 0.0 ] --metric CC[ $F, $M, 1, 4, None, 1 ] --convergence [ 100x70x50x20, 1e-06, 10 ]
 --smoothing-sigmas 3.0x2.0x1.0x0.0vox --shrink-factors 8x4x2x1 --use-histogram-matching 1"

begin "antsRegistration in the words of sMRIPrep gives what clvox register gives"
exits 0 antsAffineInitializer 3 $F $M start.mat 15.000000 0.100000 0 10; says 'replaces the search'; exists start.mat
exits 0 antsRegistration --collapse-output-transforms 1 --dimensionality 3 --float 1 \
    --initial-moving-transform [ start.mat, 0 ] --initialize-transforms-per-stage 0 --interpolation LanczosWindowedSinc \
    --output [ s_, s_Warped.nii.gz, s_Back.nii.gz ] $linear $affine $syn \
    --winsorize-image-intensities [ 0.005, 0.995 ] --write-composite-transform 0
says '^clvox replaces'; says 'sampling'
exits 0 clvox register -f $F -m $M -o r --init start.mat --winsorize 0.005,0.995 --histogram-match -q
same_map s_0GenericAffine.mat r_affine.txt
exits 0 clvox compare s_1Warp.nii.gz r_warp.nii.gz; below mean_mm 1e-5
exits 0 clvox compare s_1InverseWarp.nii.gz r_inverse_warp.nii.gz; below mean_mm 1e-5
exits 0 antsApplyTransforms -d 3 -i $M -r $F -t s_1Warp.nii.gz -t s_0GenericAffine.mat -n LanczosWindowedSinc -o a.nii.gz
same_image s_Warped.nii.gz a.nii.gz 0.1
exits 0 antsApplyTransforms -d 3 -i $F -r $M -t [ s_0GenericAffine.mat, 1 ] -t s_1InverseWarp.nii.gz \
    -n LanczosWindowedSinc -o a.nii.gz
same_image s_Back.nii.gz a.nii.gz 0.1
exits 0 antsApplyTransforms -d 3 -i p_moving_labels.nii.gz -r $F -t s_1Warp.nii.gz -t s_0GenericAffine.mat -n GenericLabel -o a.nii.gz
exits 0 clvox compare --labels p_fixed_labels.nii.gz a.nii.gz; prints Dice

begin "composites, from a composite on"
if [ "$hdf5" ]; then
    exits 0 antsRegistration -d 3 -r start.mat -o y_ $linear
    exits 0 antsRegistration -d 3 -r s_0GenericAffine.mat -o [c,cWarped.nii.gz] $syn -a 1 --verbose 1
    exists cComposite.h5; exists cInverseComposite.h5; exists cWarped.nii.gz; absent c0GenericAffine.mat
    same_map "cComposite.h5 cInverseComposite.h5" identity 0.1
    exits 0 antsRegistration -d 3 -r cComposite.h5 -o e $(echo "$syn" | sed 's/100x70x50x20/0/')
    exists e0GenericAffine.mat; same_map "e1Warp.nii.gz e0GenericAffine.mat" cComposite.h5 0.1
    same_map "e1Warp.nii.gz e1InverseWarp.nii.gz" identity 0.1
    exits 0 antsRegistration -d 3 -r start.mat -o l $linear -a 1; same_map lComposite.h5 y_0GenericAffine.mat
    same_map "lComposite.h5 lInverseComposite.h5" identity
    exits 0 clvox info lComposite.h5; prints 'part 2 of 2'
    back=$(echo "$syn" | sed "s/100x70x50x20/0/; s/$F, $M/$M, $F/")
    exits 0 antsRegistration -d 3 -r cInverseComposite.h5 -o i $back
    same_map "i1Warp.nii.gz i0GenericAffine.mat" cInverseComposite.h5 0.1; same_map i0GenericAffine.mat s_0GenericAffine.mat,-1
    refused 'before a linear stage' antsRegistration -d 3 -r cComposite.h5 -o x $linear
    absent x0GenericAffine.mat
else
    skips "clvox is built without HDF5"
fi

begin "starts: centres, centres of mass, origins, and files that are multiplied or inverted"
exits 0 clvox apply -i $F -r $F -t shift.txt -o moved.nii.gz
idle="-t Translation[0.1] -m MeanSquares[$F,moved.nii.gz,1,0] -c 0 -f 1 -s 0"
{
    printf 'ObjectType = Image\nNDims = 3\nBinaryData = False\nOffset = -3 8 5\nElementSpacing = 10 10 10\nDimSize = 6 5 4\n'
    printf 'ElementType = MET_FLOAT\nElementDataFile = LOCAL\n'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo 5 2 8 1 9 3 7 4 6 $i; done
} > box.mha
for how in '2 69.0000 70.0000 65.0000' '0 -22.0000 -28.0000 20.0000'; do
    exits 0 antsRegistration -d 3 -r [$F,box.mha,${how%% *}] -o o_ -t Rigid[0.1] -m MI[$F,box.mha,1,32] -c [0x0,1e-6,10] -f 2x1 -s 1x0
    exits 0 clvox info o_0GenericAffine.mat; prints "translation  *${how#* } mm"
done
exits 0 antsRegistration -d 3 -r shift.txt -r '[turn.mat,1]' -o o_ $idle; same_map o_0GenericAffine.mat "shift.txt turn.txt,-1"
exits 0 antsRegistration -d 3 -r [$F,$M,1] -o o_ $linear -z 0; exists o_0DerivedInitialMovingTranslation.mat; exists o_1Rigid.mat
exits 0 clvox register -f $F -m $M --init moments --linear none --deform none --histogram-match -o r -q
same_map o_0DerivedInitialMovingTranslation.mat r_affine.txt
refused 'the last number' antsRegistration -d 3 -r [$F,$M,3] -o x $idle

begin "a file for each stage: their product is the whole"
exits 0 antsRegistration -d 3 -r start.mat -o z_ $linear $affine $(echo "$syn" | sed 's/100x70x50x20/0/') -z 0
exists z_3Warp.nii.gz; exists z_3InverseWarp.nii.gz; absent z_0GenericAffine.mat
exits 0 antsRegistration -d 3 -r start.mat -o y_ $linear -z 1 -a 0; same_map "z_1Rigid.mat start.mat" y_0GenericAffine.mat
exits 0 clvox register -f $F -m $M --init y_0GenericAffine.mat --histogram-match --deform none -o r -q
same_map "z_2Affine.mat z_1Rigid.mat start.mat" r_affine.txt

begin "without a linear stage warps have the number 0; masks, restriction and metrics as clvox register has them"
exits 0 clvox phantom ball -o ball.nii.gz --like $F
exits 0 antsRegistration -d 3 -o n_ -t 'SyN[0.8,6,10]' -m Mattes[$F,$M,0.7,32] -m CC[ $F , $M , 0.3 , 4 ] -g 0.1x1x0 \
    -x [ ball.nii.gz , NULL ] -c 30x20 -f 2x1 -s 1x0
absent n_0GenericAffine.mat; exists n_0InverseWarp.nii.gz
exits 0 clvox register -f $F -m $M -o r --init header --linear none --metric mi,0.7mi:32+0.3lncc --restrict 0.1x1x0 \
    --fixed-mask ball.nii.gz -q
exits 0 clvox compare n_0Warp.nii.gz r_warp.nii.gz; below mean_mm 1e-5

begin "stages with masks and images of their own"
exits 0 antsRegistration -d 3 -r start.mat -o m_ $linear -x NULL -x ball.nii.gz -x NULL $affine \
    -t SyN[0.1,3,0] -m CC[$F,$M,1,4] -m CC[p_fixed_labels.nii.gz,p_moving_labels.nii.gz,2,4] -c 20x10 -f 2x1 -s 1x0 -u 0
exits 0 clvox register -f $F -m $M --init start.mat --linear rigid --deform none --histogram-match -o r1 -q
exits 0 clvox register -f $F -m $M --init r1_affine.txt --fixed-mask ball.nii.gz --deform none --histogram-match -o r2 -q
same_map m_0GenericAffine.mat r2_affine.txt
exits 0 clvox register -f $F -m $M -f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz --weight 1 --weight 2 \
    --init r2_affine.txt --linear none -o r3 -q
exits 0 clvox compare m_1Warp.nii.gz r3_warp.nii.gz; below mean_mm 0.01

begin "SDCFlows' two stages of one kind are one deformation"
exits 0 antsRegistration -d 3 -o f_ \
    -t SyN[0.8,6,10] -m Mattes[$F,$M,0.9,32] -m Mattes[p_fixed_labels.nii.gz,p_moving_labels.nii.gz,0.1,32] -c 20 -f 2 -s 1 -g 0x1x0 \
    -t SyN[0.8,2,10] -m Mattes[$F,$M,0.9,32] -m Mattes[p_fixed_labels.nii.gz,p_moving_labels.nii.gz,0.1,32] -c 10 -f 1 -s 0 -g 0x1x0
exists f_0Warp.nii.gz; absent f_1Warp.nii.gz

begin "stages of boldref and nf-neuro: as far as the last linear one goes, another pair beside the first"
exits 0 clvox apply -i $F -r $F -t identity -o other.nii.gz
exits 0 antsRegistration --dimensionality 3 --float 1 --initial-moving-transform start.mat --output [ q_, q_Warped.nii.gz ] \
    --transform Translation[ 0.05 ] --metric Mattes[ $F, $M, 1, 32, Random, 0.2 ] --convergence [ 50, 1e-06, 20 ] \
    --smoothing-sigmas 1vox --shrink-factors 2 --transform Rigid[ 0.05 ] --metric Mattes[ $F, $M, 1, 32, Random, 0.2 ] \
    --convergence [ 50, 1e-06, 20 ] --smoothing-sigmas 1vox --shrink-factors 2 --masks [ NULL, NULL ]
exits 0 clvox register -f $F -m $M --init start.mat --linear rigid --deform none -o r -q
same_map q_0GenericAffine.mat r_affine.txt; exists q_Warped.nii.gz; absent q_1Warp.nii.gz
exits 0 antsRegistration -d 3 -o [forward,warped.nii.gz] -r start.mat -t SyN[0.1,3,0] -m MI[$F,$M,1,32,Random,0.2] \
    -m CC[other.nii.gz,$M,1,4] -c [ 20x10, 1e-6, 10 ] -f 2x1 -s 1x0
exists forward1InverseWarp.nii.gz; exists warped.nii.gz
exits 0 clvox register -f $F -m $M -f other.nii.gz -m $M --init start.mat --linear none --metric mi/lncc -o r -q
exits 0 clvox compare forward1Warp.nii.gz r_warp.nii.gz; below mean_mm 1e-5
exits 0 clvox register -f $F -m $M -f other.nii.gz -m $M --init start.mat --linear none --metric mi -o r -q
exits 0 clvox compare forward1Warp.nii.gz r_warp.nii.gz; awk -v a="$(value mean_mm)" 'BEGIN { exit !(a > .01) }' ||
    complain "the second pair was compared by the metric of the first"

begin "every pair has its own metrics, by their weights; the first may have none"
exits 0 antsRegistration -d 3 -o u_ -r start.mat -t SyN[0.1,3,0] -m CC[$F,$M,0,4] -m Mattes[$F,$M,0.5,32] -m CC[$F,$M,0.25,4] \
    -m MeanSquares[other.nii.gz,$M,1,0] -m Mattes[other.nii.gz,$M,0.75,24] -c 20x10 -f 2x1 -s 1x0
exits 0 clvox register -f $F -m $M -f other.nii.gz -m $M -f other.nii.gz -m $M --weight 0.5 --weight 1 --weight 0.75 \
    --init start.mat --linear none --metric mi,0.5mi:32+0.25lncc/ssd/mi:24 -o r -q
exits 0 clvox compare u_1Warp.nii.gz r_warp.nii.gz; below mean_mm 1e-5

begin "QSIPrep's registration to AC-PC"
mi() { echo "--metric MI[ $F, $M, 1, 32, Regular, $1 ] --convergence [ $2, 1e-06, 10 ] --smoothing-sigmas $3 --shrink-factors $4 --use-histogram-matching 1"; }
exits 0 antsRegistration --collapse-output-transforms 1 --dimensionality 3 --float 1 --initial-moving-transform [ $F, $M, 1 ] \
    --initialize-transforms-per-stage 0 --interpolation Linear --output [ acpc, acpc_Warped.nii.gz ] \
    --transform Similarity[ 0.3 ] $(mi 0.7 100000x100000 0.0x0.0vox 4x2) --transform Affine[ 0.1 ] $(mi 0.2 10000x10000 2.0x2.0vox 2x1) \
    --winsorize-image-intensities [ 0.002, 0.998 ] --write-composite-transform 0
exists acpc_Warped.nii.gz; absent acpc1Warp.nii.gz; same_map acpc0GenericAffine.mat p_truth_affine.txt 6

begin "families and metrics that clvox does not have are replaced, and said once"
exits 0 antsRegistration -d 3 -r [$F,$M,1] -o b_ -t Similarity[0.1] -m GC[$F,$M,1,NA] -c 10 -f 2 -s 1 \
    -t BSplineSyN[0.1,26,0,3] -m Demons[$F,$M,1,4] -c 10 -f 2 -s 1
says 'BSplineSyN by syn'; says 'GC by ncc'; says 'Demons by ssd'; [ "$(grep -c 'clvox replaces' log/err)" = 1 ] || complain "said twice"

begin "refused, as it changes the result and is not there: by antsRegistration"
r="antsRegistration -d 3 -o x"
refused '--transform is missing' $r -m MI[$F,$M,1,32]
refused 'has no --metric' $r -t Rigid[0.1]
refused 'no such metric' $r -t Rigid[0.1] -m ICP[$F,$M,1]
refused 'no such transform' $r -t Warp[0.1] -m MI[$F,$M,1,32]
refused 'fixed image stays' $r $linear -q turn.mat
refused 'no state' $r $linear --save-state s
refused 'images on the way' $r $linear --write-interval-volumes 5
refused 'restricts deformations' $r $linear -g 1x1x0x1x1x0
refused '2 masks for 1 stages' $r $linear -x ball.nii.gz -x ball.nii.gz
refused 'after a deformation' $r $syn $linear
refused 'several deformations' $r -z 0 $syn $syn
refused 'volumes of three' antsRegistration -d 2 -o x $linear
refused 'no/where' antsRegistration -d 3 -o no/where/x $linear
refused 'nothing.nii' $r -t Rigid[0.1] -m MI[nothing.nii,$M,1,32]
absent x0GenericAffine.mat

begin "antsRegistrationSyN.sh and Quick, in nf-neuro's words"
exits 0 antsRegistrationSyN.sh -d 3 -f $F -m $M -o output -t r -n 2 -e 1234 -x ball.nii.gz -j 1 -p f -y 1 -z 1 -g 0.1
exists output0GenericAffine.mat; exists outputWarped.nii.gz; exists outputInverseWarped.nii.gz; absent output1Warp.nii.gz
exits 0 clvox register -f $F -m $M --init moments --linear rigid --deform none --fixed-mask ball.nii.gz --histogram-match \
    --winsorize 0.005,0.995 -o r -q
same_map output0GenericAffine.mat r_affine.txt
exits 0 antsRegistrationSyNQuick.sh -d 3 -f $F -m $M -f p_fixed_labels.nii.gz -m p_moving_labels.nii.gz -o quick -t bo -i turn.mat \
    -x ball.nii.gz,NULL -r 32 -s 26
exists quick0GenericAffine.mat; exists quick1Warp.nii.gz; says 'BSplineSyN by syn'; same_map quick0GenericAffine.mat turn.txt
refused 'is none of' antsRegistrationSyN.sh -d 3 -f $F -m $M -o x -t q
refused 'as many -f as -m' antsRegistrationSyN.sh -d 3 -f $F -o x
refused 'three dimensions' antsRegistrationSyN.sh -d 2 -f $F -m $M -o x

begin "antsAI and antsAffineInitializer find the affine"
exits 0 antsAI -d 3 -m "Mattes[$F,$M,32,Regular,0.25]" -t 'Affine[0.1]' -s '[20,0.12]' -g '[40,0x40x40]' -p 0 -c 10 -x ball.nii.gz -o ai.mat
same_map ai.mat p_truth_affine.txt 6
same_map start.mat p_truth_affine.txt 6
exits 0 antsAI -d 3 -m MI[$F,$M,32] -t AlignCentersOfMass -o ai.mat
exits 0 clvox register -f $F -m $M --init moments --linear none --deform none -o r -q; same_map ai.mat r_affine.txt
refused 'not linear' antsAI -d 3 -m MI[$F,$M,32] -t SyN[0.1] -o x.mat

begin "N4BiasFieldCorrection is clvox filter n4 inside the mask"
n4="N4BiasFieldCorrection -d 3 -i $F -s 2 -c [ 10x5 , 1e-7 ] -b [ 100 ] -t [ 0.15 , 0.01 , 200 ]"
own="--iterations 10x5 --tolerance 1e-7 --spline 100mm --shrink 2"
exits 0 $n4 -x ball.nii.gz -w $M -r 1 -o '[a.nii.gz,field.nii.gz]'
exits 0 clvox filter n4 $F $own --mask ball.nii.gz --weight $M --rescale -o b.nii.gz --field c.nii.gz
same_image field.nii.gz c.nii.gz
exits 0 clvox compare a.nii.gz b.nii.gz --mask ball.nii.gz; below RMS 1e-3
exits 0 $n4 --output a.nii.gz -r --verbose 1
exits 0 clvox filter n4 $F $own --mask $F --rescale -o b.nii.gz; same_image a.nii.gz b.nii.gz
cp $F in_place.nii.gz
exits 0 N4BiasFieldCorrection --image-dimensionality 3 --input-image in_place.nii.gz -c 5 -b 4x4x4 -o in_place.nii.gz; says 'a mesh of 4x4x4'
refused 'one frame' N4BiasFieldCorrection -d 3 -i $F -x d_dwi.nii.gz -o x.nii.gz
refused '--input-image is missing' N4BiasFieldCorrection -d 3 -o x.nii.gz
absent x.nii.gz

begin "DenoiseImage, CreateJacobianDeterminantImage, ImageMath"
exits 0 DenoiseImage -d 3 -i $F -n Rician -x ball.nii.gz -s 2 -o '[a.nii.gz,removed.nii.gz]'; says 'shrink factor'
exits 0 clvox filter nlm $F --noise-kind rician --mask ball.nii.gz -o b.nii.gz; same_image a.nii.gz b.nii.gz 1e-6
exists removed.nii.gz
refused 'Gaussian or Rician' DenoiseImage -d 3 -i $F -n Poisson -o x.nii.gz
exits 0 CreateJacobianDeterminantImage 3 p_truth_warp.nii.gz a.nii.gz 1 0
exits 0 clvox jacobian -t p_truth_warp.nii.gz --log -o b.nii.gz; same_image a.nii.gz b.nii.gz 1e-6
refused 'gradient of the deformation' CreateJacobianDeterminantImage 3 p_truth_warp.nii.gz x.nii.gz 0 0 1
exits 0 ImageMath 3 a.nii.gz TruncateImageIntensity $F 0.1 0.9 256 ball.nii.gz; says 'exact'
exits 0 clvox filter winsorize $F --quantiles 0.1,0.9 --mask ball.nii.gz -o b.nii.gz; same_image a.nii.gz b.nii.gz 1e-6
refused 'TruncateImageIntensity alone' ImageMath 3 x.nii.gz Sharpen $F
refused 'words' ImageMath 3 x.nii.gz
absent x.nii.gz

finish
