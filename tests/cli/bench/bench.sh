#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bench prints and logs every row whose result is right; its times are nobody's business here.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
schema=$here/../../../doc/bench-schema.json
fits() { python3 "$here/record.py" "$schema" "$@" 2> log/err || complain "not as the schema has it"; }
names() { json "$1" "{r['name'] for r in j['rows'] if r['group'] == '$2'} >= {$3}"; }

begin "without a word: ceilings, every operation, patch search and pipelines, with samples behind them"
exits 0 clvox bench --size 16 --seconds 0.001 --json log/b.json
fits log/b.json
prints '^copy  '; prints '^fluid iteration'; prints '^register syn default'
names log/b.json kernels '"warp linear", "force", "gaussian 1.7 field", "energy", "mppca 64 volumes", "level distance 8",
    "flow forward, 10 steps", "flow adjoint, 10 steps", "lddmm iteration, 10 steps", "shooting iteration, 10 steps",
    "label weights, 8 atlases", "label vote, 8 atlases", "label vote by patches, 8 atlases"'
names log/b.json nlm '"patch average", "pruned, noise 0.3"'
names log/b.json pipelines '"register syn quick", "register unbiased default", "recast nearby", "tensor fit, denoise, measures", "surface denoise"'
json log/b.json '{"copy", "multiply-add fp32", "local memory", "atomics, one counter", "launch", "upload, pinned"} <= {c["name"] for c in j["ceilings"]}'
json log/b.json 'all(r["verified"] and len(r["samples"]) >= 3 for r in j["rows"])'
json log/b.json 'all("device_seconds" in r for r in j["rows"] if r["group"] == "kernels")'

begin "flows run on half of each side, or on all of it"
for whole in "" --whole; do
    exits 0 clvox bench "flow forward" $whole --size 34x12x10 --seconds 0.001 --json log/f.json
    json log/f.json "j['rows'][0]['size'] == [$([ -n "$whole" ] && echo 34 || echo 17), 12, 10] and j['rows'][0]['verified']"
done

begin "records of other devices are as the schema has them"
fits "$here"/records/*.json

begin "names choose rows, with kernels before them or without; --variants runs each variant and tile"
exits 0 clvox bench jacobian --variants --size 8 --seconds 0.001 --json log/j.json
fits log/j.json
json log/j.json '{r["name"].split("/")[0].strip() for r in j["rows"]} == {"jacobian"} and len(j["rows"]) > 3'
json log/j.json '{r["variant"] for r in j["rows"]} >= {"row"} and all(r["size"] == [8, 8, 8] for r in j["rows"])'
exits 0 clvox bench kernels copy --size 9x8x7 --seconds 0.001 --json log/k.json
exits 0 clvox bench kernels splat --size 9x8x7 --seconds 0.001 --json log/s.json
json log/s.json '[r["name"] for r in j["rows"]] == ["splat"]'
exits 0 clvox bench kernels "splat " --size 9x8x7 --seconds 0.001 --json log/s.json
json log/s.json '[r["name"] for r in j["rows"]] == ["splat random", "splat collapsing"]'
json log/k.json '[r["name"] for r in j["rows"]] == ["copy"] and j["rows"][0]["size"] == [9, 8, 7]'

begin "the paper's table has all four forms and says whether its conclusions hold"
exits 0 clvox bench papers lee2012 --size 9x8x10 --seconds 0.001 --json log/p.json
fits log/p.json
names log/p.json lee2012 '"force recompute", "force reuse", "force capped", "force two-pass", "force recompute, printed", "force reuse, printed", "force recompute, laden", "force two-pass, by size", "force, plain C by 2 threads of the host"'
json log/p.json '{"patch search, records", "search, weights and step"} <= {r["name"].rsplit(", ", 1)[0] for r in j["rows"]}'
json log/p.json '{tuple(r["size"]) for r in j["rows"] if r["name"] == "force reuse, by size"} == {(5, 4, 5), (7, 6, 8)}'
prints '^Not covered:$'; prints 'L1 cache'
json log/p.json '"force reuse" in {r["name"] for r in j["rows"] if "paper" in r}'
json log/p.json 'not any("paper" in r and "registers" not in r for r in j["rows"] if r["name"] == "force capped")'
prints 'registers'

begin "tensor descent by scheme, beside the exact result"
exits 0 clvox bench papers moazeni2009 --size 10x9x8 --seconds 0.001 --json log/m.json
fits log/m.json
json log/m.json '([r["name"].split(", ")[1] for r in j["rows"] if r["name"].startswith("tensor tv")] ==
    2 * ["exact", "overlap", "block", "none", "ThreadSync 8x8", "UnSync 8x8", "ThreadSync 16x16", "UnSync 16x16"] +
    2 * ["descent", "primal-dual"])'
json log/m.json '([r["name"] for r in j["rows"] if r["name"].startswith("GlobalSync 8x8")] ==
    ["GlobalSync 8x8, " + k for k in ("LLT", "TVnorm", "Reduction", "P", "Solver")] +
    [f"GlobalSync 8x8, a step, {s}" for s in ("5x5x4", "8x7x6", "10x9x8")])'
names log/m.json moazeni2009 '"UnSync 16x16, by size", "UnSync, plain C by 1 thread of the host"'
json log/m.json 'all(r["verified"] for r in j["rows"])'
json log/m.json '({r["name"].split(", ")[1] for r in j["rows"] if "paper" in r and r["name"].startswith("tensor tv")} ==
    {"none", "UnSync 8x8", "UnSync 16x16"})'
prints '^ *none is .* times as fast as block (1.05 in the paper): that .* hold'

begin "forms of convolution, each with what the paper found"
exits 0 clvox bench papers mueller2008 --size 11x9x8 --seconds 0.001 --json log/c.json
fits log/c.json
names log/c.json mueller2008 '"full mask 11x11", "separable, two passes", "Sobel, three axes in one pass"'
json log/c.json 'all(r["verified"] for r in j["rows"])'
json log/c.json '[r["paper"]["value"] for r in j["rows"] if r["name"] == "separable, two passes"] == [10]'
json log/c.json 'not any("value" in r["paper"] for r in j["rows"] if "local memory" in r["name"] and "paper" in r)'
prints 'separable passes are faster'; prints '^Not covered:$'; prints 'fragment programs'

begin "gradients, interpolation, Gaussians, fused arithmetic, solvers and scales, each with what the thesis found"
exits 0 clvox bench papers ha2011 --size 11x9x8 --seconds 0.001 --json log/h.json
fits log/h.json
names log/h.json ha2011 '"gradient, local memory", "recursive, half width 8", "mean of 3, at once", "shifted axes, half width 4", "copy, by size", "atlas, algorithm 1, of 4", "LDDMM of eight steps, 60 iterations", "register, tissues by L2 and surfaces", "currents, Cauchy kernel, all pairs", "gradient, 1-D image", "matrix, rows (ELL)", "splat random, sorting", "stream, maximum, EDU", "stream, atlas, one iteration, DUE", "solver, FFT", "steps, FFT, then conjugate gradients", "register, one scale", "register, greedy, fft", "stream, averaging, EDU", "stream, waits in the middle, DUE", "stream, from disk, five steps at once"'
json log/h.json 'all(r["verified"] for r in j["rows"])'
json log/h.json '{r["name"]: r["paper"]["value"] for r in j["rows"] if "value" in r.get("paper", {})}["register, two scales"] == 3.5'
json log/h.json '"value" not in {r["name"]: r["paper"] for r in j["rows"] if "paper" in r}["solver, conjugate gradients, 0.01"]'
prints 'Best omega here'; prints '^Not covered:'; prints '^Equation 2.3'

# broken FILE EXPRESSION: kernels of which one is wrong.
broken() {
    case $1 in papers/*) from=$here/../../../bench/papers/cl/${1#papers/} ;; *) from=$here/../../../cl/$1 ;; esac
    rm -rf kernels && mkdir -p "kernels/${1%/*}" && cp "$from" "kernels/$1"
    sed "$2" "kernels/$1" > kernels/new && ! cmp -s kernels/new "kernels/$1" || complain "$1: nothing was broken"
    mv kernels/new "kernels/$1"
}
refused() { # refused NAME WORD...
    what=$1
    shift
    rm -f log/w.json
    exits 1 env CLVOX_KERNEL_DIR=kernels "$program" bench "$@" --size 12 --seconds 0.001 --json log/w.json
    one_sentence; says "^clvox bench: $what.* is wrong"; json log/w.json '"is wrong" in j["error"] and j["exit_code"] == 1'
    ! grep -q "^$what  " log/out || complain "a wrong result was timed"
}
begin "a wrong kernel makes the bench fail, and is not timed"
on_processor
broken image/blend.cl 's/a\.x += k/a.x -= k/; s/(a + w\[i\]/(a - w[i]/'
refused blend blend
broken papers/convolve.cl 's/sum += block/sum -= block/; s/sum += LOAD8/sum -= LOAD8/; s/sum += GET8/sum -= GET8/'
refused 'full mask 11x11' papers mueller2008
broken fluid/fourier.clh 's/r\[5\] = p;/r[5] = -p;/'
refused 'fft solver' papers ha2011
broken papers/nary.cl 's/(1.0f \/ INPUTS)/(1.01f \/ INPUTS)/'
refused 'mean of 1, at once' papers ha2011
broken papers/sor.cl 's/gain \* (known\[\([ki]\)\] +/gain * (-known[\1] +/; s/gain \* (LOAD8(known + (e)) + sum)/gain * (sum - LOAD8(known + (e)))/'
refused 'sor, four sweeps' kernels sor
broken tensor/primal_dual.cl 's/get(p + size.w, i, n) -/get(p + size.w, i, n) +/'
refused 'tensor primal-dual' kernels 'tensor primal-dual'
broken tensor/mppca.cl 's/sqrt(weights\[2/sqrt(1.1f * weights[2/'
refused mppca mppca
broken fluid/fourier.clh 's/q = (i\[3\] - r\[3\]) \* root/q = 7.0f * (i[3] - r[3]) * root/'
refused 'fft there and back' kernels fft # of even sides alone
broken image/reduce.cl 's/; i < count; i/; i < min(count, 1); i/'
refused 'reduce sum' kernels 'reduce sum' # of more than a chunk
broken papers/copy.cl 's/in\[i\];/in[i] + 1;/'
refused copy kernels copy
broken papers/fma_rate.cl 's/factor + term/factor - term/'
refused multiply-add ceilings
broken papers/ceiling.cl 's/i += 4/i += 5/'
refused 'local memory' ceilings

begin "usage errors exit with 2 and say what is wrong"
exits 2 clvox bench papers nobody1999; says lee2012; says mueller2008
exits 2 clvox bench --size 1
exits 2 clvox bench pipelines force
exits 1 clvox bench nothing-of-this-name; one_sentence
finish
