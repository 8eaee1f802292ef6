#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads the pages of --report in Chromium: report_pages.py PROGRAM

HTML that closes what it opens, nothing fetched, no word on the console; layout on a desk and on a phone, light and dark;
what each key does; markup in names; paper, and no scripts. Skips where there is no Chromium."""
import gzip
import itertools
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from urllib.parse import unquote

from browser import Browser, Cases, chromium_or_skip, unless

# What keys and the mouse do, driven one after another once the pictures are there, and how all is laid out.
DRIVE = """<script>
const found = [], hovers = [], say = (...words) => found.push(words.join(' ')), root = document.documentElement
const numbers = colour => colour.match(/[\\d.]+/g).map(Number)
const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor
  if (c !== 'rgba(0, 0, 0, 0)') return light(numbers(c)) } return 1 }
const contrast = e => { const l = light(numbers(getComputedStyle(e).color)), g = behind(e)
  return (Math.max(l, g) + .05) / (Math.min(l, g) + .05) }
const sum = canvas => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  let s = 0; for (let i = 0; i < d.length; i++) s = (s * 31 + d[i]) >>> 0; return s }
const bright = canvas => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  let s = 0; for (let i = 0; i < d.length; i += 4) s += d[i]; return s / (d.length / 4) }
function drive() {
  const viewer = document.querySelector('.viewer')
  if (viewer) {
    const [first, second, third] = viewer.querySelectorAll('canvas'), sliders = viewer.querySelectorAll('.plane input')
    const outputs = viewer.querySelectorAll('output')
    const key = (target, key) => { target.focus(); target.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})) }
    const changes = (what, action, other) => { const before = sum(other || first); action()
      if (sum(other || first) === before) say(what, 'changes nothing') }
    for (const canvas of [first, second, third]) {
      if (!(bright(canvas) > .3)) say('a plane is black')
      if (canvas.tabIndex !== 0 || !canvas.getAttribute('aria-label')) say('a plane is not reached by keys, or has no words')
      if (canvas.clientWidth < 100) say('a plane is', canvas.clientWidth, 'wide')
    }
    const at = +sliders[0].value, text = outputs[0].textContent
    changes('arrow up', () => key(first, 'ArrowUp'))
    if (+sliders[0].value !== at + 1 || outputs[0].textContent === text) say('arrow up: slice', sliders[0].value, 'after', at)
    changes('arrow down', () => key(first, 'ArrowDown'))
    key(first, 'End'); if (+sliders[0].value !== +sliders[0].max) say('End is not the last slice')
    key(first, 'Home'); if (+sliders[0].value !== 0) say('Home is not the first slice')
    sliders[0].value = at; sliders[0].dispatchEvent(new Event('input'))
    if (outputs[0].textContent !== text) say('the slider does not bring', text, 'back')
    if (!sliders[0].getAttribute('aria-valuetext').includes('mm')) say('a slider does not say its place')
    const images = viewer.querySelectorAll('input[data-show]').length
    if (images > 1) {
      changes('2', () => key(first, '2')); changes('1', () => key(first, '1'))
      changes('s', () => key(first, 's')); changes('arrow right in swipe', () => key(first, 'ArrowRight'))
      if (+sliders[0].value !== at) say('arrow right leafs while swiping')
      key(first, 's'); key(first, 'f')
      if (!viewer.querySelector('input[data-mode=flicker]').checked) say('f does not flicker')
      key(first, 'f')
      if (!viewer.querySelector('input[data-mode=one]').checked) say('f does not end')
    }
    const here = viewer.querySelector('.here')?.textContent
    const overlays = viewer.querySelectorAll('input[data-over]').length, spot = first.getBoundingClientRect()
    for (let i = 1; i < 12; i++) for (let k = 1; k < 12; k++) {
      first.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: spot.left + spot.width * i / 12,
        clientY: spot.top + spot.height * k / 12}))
      const tip = viewer.querySelector('.tip')
      hovers.push([i / 12, k / 12, tip.hidden ? '' : tip.textContent])
      if (!tip.hidden && (tip.getBoundingClientRect().right > innerWidth || tip.getBoundingClientRect().left < 0)) say('a name leaves the page')
    }
    first.dispatchEvent(new PointerEvent('pointerleave', {}))
    if (!viewer.querySelector('.tip').hidden) say('a name stays')
    if (viewer.querySelector('.keys').textContent.includes(' o outlines')) changes('o', () => key(first, 'o'))
    if (viewer.querySelector('.keys').textContent.includes(' j colours')) changes('j', () => key(first, 'j'))
    changes('c', () => key(first, 'c'))
    const box = first.getBoundingClientRect()
    changes('a click', () => first.dispatchEvent(new PointerEvent('pointerdown', {pointerId: 1, bubbles: true, buttons: 1,
      clientX: box.left + box.width * .3, clientY: box.top + box.height * .3})), second)
    window.seen = {hovers, at, here, images, overlays, slices: [...sliders].map(s => +s.max + 1), widths: [first, second, third].map(c => c.clientWidth),
      tops: [first, second, third].map(c => Math.round(c.getBoundingClientRect().top))}
  }
  for (const e of document.querySelectorAll('h1,p,li,th,td,dt,dd,caption,figcaption,a,label,legend,output'))
    if (e.offsetParent && contrast(e) < 4.5) say('faint:', e.textContent.slice(0, 40), contrast(e))
  for (const table of document.querySelectorAll('table'))
    if (!table.caption || !table.querySelector('thead th[scope]')) say('a table without caption or headings')
  for (const part of document.querySelectorAll('.scroll')) if (part.tabIndex != 0) say('keys do not reach what scrolls')
  for (const plot of document.querySelectorAll('figure.plot svg:not(.keymark)')) {
    const whole = plot.getBoundingClientRect()
    if (whole.width < 200 || !plot.getAttribute('aria-label') || !plot.querySelector('.bar,.curve')) say('a plot is empty')
    for (const t of plot.querySelectorAll('text')) { const b = t.getBoundingClientRect()
      if (b.left < whole.left - 1 || b.right > whole.right + 1 || b.bottom > whole.bottom + 1) say('"' + t.textContent + '" leaves its plot') }
  }
  if (root.scrollWidth > innerWidth + 1) say('the page is', root.scrollWidth, 'wide in', innerWidth)
  const result = {found, seen: window.seen, title: document.title, heading: document.querySelector('h1').textContent,
    text: document.body.innerText, scripts: document.scripts.length, plots: document.querySelectorAll('figure.plot').length,
    dark: matchMedia('(prefers-color-scheme: dark)').matches, thumbnails: document.querySelectorAll('img.thumbnail').length,
    links: [...document.querySelectorAll('td a,th a')].map(a => a.getAttribute('href')),
    rows: [...document.querySelectorAll('tbody tr')].map(r => r.innerText),
    warnings: [...document.querySelectorAll('.warnings li')].map(e => e.textContent),
    scrolled: [...document.querySelectorAll('figure.plot .scroll')].map(e => e.scrollWidth - e.clientWidth),
    fetched: performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:'))}
  root.textContent = '[RESULT]' + JSON.stringify(result) + '[END]'
}
addEventListener('load', () => setTimeout(drive, 800))
</script>"""

# Six frames of a head, two voxels further from the third on, the fourth upside down.
SCAN = """import struct, subprocess
data = bytearray(open('t.nii', 'rb').read())
n = 17 * 16 * 15
frame = list(struct.unpack_from('<%df' % n, data, 352))
moved = frame[2:] + frame[:2]
struct.pack_into('<5h', data, 40, 4, 17, 16, 15, 6)
with open('scan.nii', 'wb') as file:
    file.write(bytes(data[:352]) + b''.join(struct.pack('<%df' % n, *f) for f in (frame, frame, moved, frame[::-1], moved, moved)))
"""
# Maps of ten subjects; those of patients are larger round voxel 4 5 6.
MAPS = """import random, struct
random.seed(3)
data = open('t.nii', 'rb').read()
head = bytearray(data[:352])
n = 17 * 16 * 15
with open('maps.tsv', 'w') as table:
    print('image', 'group', sep='\\t', file=table)
    for s in range(10):
        values = [random.gauss(0, 1) for _ in range(n)]
        values[4 + 17 * (5 + 16 * 6)] += 30 * (s % 2)
        values[1000:1400] = [v + 9 * (s % 2) for v in values[1000:1400]] # enough for p of 1 / 252
        # More of p 2 / 252, as another grouping is larger: their rate is below that of p 1 / 252.
        values[2000:3000] = [v + (5.5, 2.5, *4 * (0, 9))[s] for v in values[2000:3000]]
        open('m%d.nii' % s, 'wb').write(bytes(head) + struct.pack('<%df' % n, *values))
        print('m%d.nii' % s, ('control', 'patient')[s % 2], sep='\\t', file=table)
"""

def named(page, labels, names=None):
    """What is wrong with the names that seen["seen"] has where the pointer was: a function of seen, for a label map
    without rotation."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    view = json.loads(text.split('application/json">')[1].split("</script>")[0])
    with gzip.open(labels) as file:
        raw = file.read()
    nx, ny, nz = struct.unpack_from("<3h", raw, 42)
    kind = {2: "B", 4: "h", 8: "i", 16: "f"}[struct.unpack_from("<h", raw, 70)[0]]
    rows = [struct.unpack_from("<4f", raw, 280 + 16 * a) for a in range(3)]
    start = int(struct.unpack_from("<f", raw, 108)[0])

    def wrong(seen):
        out, any_name = [], False
        for across, down, said in seen["seen"]["hovers"]:
            at = [view["size"][0] - 1 - int(across * view["size"][0]), view["size"][1] - 1 - int(down * view["size"][1]), seen["seen"]["at"]]
            mm = [view["first"][a] + at[a] * view["step"][a] for a in range(3)]
            x, y, z = (round((mm[a] - rows[a][3]) / rows[a][a]) for a in range(3))
            label = int(struct.unpack_from("<" + kind, raw, start + struct.calcsize(kind) * ((z * ny + y) * nx + x))[0])
            truth = "" if not label else (names or {}).get(label, str(label))
            any_name = any_name or bool(truth)
            out += unless(said == truth, f"at {across:.2f}, {down:.2f}: {said!r}, not {truth!r}")
        return out[:3] + unless(any_name, "no label was under the pointer")
    return wrong


def drawn(page, plots):
    """What is wrong with the first plots of curves: for each plot the values of each of its curves, by their ticks."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r'<svg class="half".*?</svg>', text, re.S)
    out = []
    for number, (svg, curves) in enumerate(zip(found, plots)):
        ticks = [(float(y) - 4, float(value)) for y, value in re.findall(r'y="([\d.]+)" text-anchor="end" class="tick">([^<]*)<', svg)]
        (y0, v0), (y1, v1) = ticks[0], ticks[-1]
        for k, truth in enumerate(curves):
            marks = re.findall(rf'class="mark s{k}" cx="[\d.]+" cy="([\d.]+)"', svg)
            shown = [v0 + (float(y) - y0) / (y1 - y0) * (v1 - v0) for y in marks]
            known = [value for value in truth if value == value]
            near = .2 * abs((v1 - v0) / (y1 - y0)) + 1e-4
            out += unless(len(shown) == len(known) and all(abs(a - b) < near for a, b in zip(shown, known)), f"plot {number}, curve {k}: {shown}, not {known}")
    return out


VOID = {"meta", "link", "img", "br", "input", "hr"}


class Balance(HTMLParser):
    """What a page opens and does not close."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href") and v and not v.startswith(("data:", "#"))]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass # of SVG

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")


def balance(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Balance()
    page.feed(text)
    page.close()
    return page.wrong + [f"<{tag}> stays open" for tag in page.open] + \
        unless(not re.search(r"https?://", text), "an address of the network") + \
        unless("eval(" not in text and "innerHTML" not in text, "text becomes code"), page.addresses


def main():
    program, cases = os.path.abspath(sys.argv[1]), Cases()
    chromium = chromium_or_skip()
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(chromium, folder)

        def clvox(*words, code=0):
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False)
            if done.returncode != code:
                print("# " + done.stderr.decode("utf-8", "replace")[-800:])
                raise SystemExit(f"clvox {words[0]}: exit code {done.returncode}")

        def at(name):
            return os.path.join(folder, name)

        def check(name, page, wants, *options):
            """The page as a whole; wants(seen) says what is wrong with what it shows."""
            wrong, _ = balance(page)
            out, console = browser.run(page, "--dump-dom")
            seen = browser.measure(page, DRIVE, "--window-size=1280,900", *options)
            if not seen:
                cases.case(name, ["Chromium gave no result"] + console)
                return
            cases.case(name, wrong + console + seen["fetched"] + seen["found"] + unless("[RESULT]" not in out, "the page itself says [RESULT]") + wants(seen))

        clvox("phantom", "pair", "-o", "p", "--size", "33x37x29", "--spacing", "3x3x3.5mm", "--seed", "4", "-q")
        fast = ["--quick", "--linear", "rigid", "--shrink", "2x1", "--iterations", "12x11", "--no-picture", "-q"]
        clvox("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "-o", "r", "--labels", "p_moving_labels.nii.gz", "--report", *fast)
        page = at("r_report.html")
        check("register: images, swipe, flicker, outlines, colours and planes follow keys and clicks", page, lambda seen:
              unless(seen["seen"]["images"] == 2 and seen["seen"]["overlays"] == 2, f"{seen['seen']}") +
              unless(max(seen["seen"]["slices"]) >= 29, f"{seen['seen']} slices") +
              unless(len(set(seen["seen"]["tops"])) == 1, "planes are not side by side") +
              unless(seen["plots"] == 2, f"{seen['plots']} plots") +
              [f"no {word}" for word in ("log Jacobian", "p_moving.nii.gz", "Jacobian", "folded", "Affine, fixed to moving, RAS mm", "Nothing suspicious", "Copy",
                                         "rigid", "CRC-32", "preset", "level 2", "percent of voxels", "clvox register") if word not in seen["text"]] +
              unless(not seen["warnings"], f"warnings: {seen['warnings']}") + named(page, at("r_labels.nii.gz"))(seen))
        with open(at("names.csv"), "w", encoding="utf-8") as file:
            file.write('name,index\n"Left, <b>front",2\nbody,1\nsecond,1\nunused,77\n')
        names = {1: "body", 2: "Left, <b>front"}
        with open(at("atlases.tsv"), "w", encoding="utf-8") as file:
            file.write("image\tlabels\np_moving.nii.gz\tp_moving_labels.nii.gz\n")
        clvox("segment", "-i", "p_fixed.nii.gz", "--atlases", "atlases.tsv", "--preset", "quick", "--names", "names.csv", "-o", "seg", "-q")
        with open(at("seg_volumes.tsv"), encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        shown = ["\t".join((label, f"{float(mm3) / 1000:.3g}", f"{float(sure):.2f}", name if name != "n/a" else "")) for label, name, _, mm3, sure in rows[1:]]
        check("segment: labels are named where the pointer is, and at the cross", at("seg_report.html"), lambda seen:
              named(at("seg_report.html"), at("seg_labels.nii.gz"), names)(seen) +
              unless("labels and a brain of" in seen["text"] and all(row in seen["rows"] for row in shown),
                     f"no verdict, or not the volumes {shown}: {seen['rows']}") +
              unless(any(f"Where the planes meet: {name}" == seen["seen"]["here"] for name in [*names.values(), "label 3", "label 4"]), f"{seen['seen']['here']}"))
        cases.case("segment: volumes have the names", unless([row[:2] for row in rows[:4]] == [["label", "name"], ["1", "body"], ["2", names[2]], ["3", "n/a"]], f"{rows}"))
        with open(at("bad.tsv"), "w", encoding="utf-8") as file:
            file.write("label\tname\none\tbody\n")
        clvox("segment", "-i", "p_fixed.nii.gz", "--atlases", "atlases.tsv", "--names", "bad.tsv", "-o", "bad", "-q", code=1)
        clvox("register", "-f", "p_fixed.nii.gz", "-m", "p_moving.nii.gz", "--labels", "p_moving_labels.nii.gz", "--names", "bad.tsv",
              "-o", "bad", "--report", *fast, code=1)
        with open(at("r.json"), encoding="utf-8") as file:
            log = json.load(file)
        cases.case("register: the metric of every iteration", unless(
            [look["iteration"] for look in log["trace"]] == [i for done in log["result"]["iterations"] for i in range(done + 1)],
            f"{log['trace']}"))
        for pixels in 390, 500:
            phone = browser.measure(page, DRIVE, "--window-size=500,900", width=pixels if pixels < 500 else None)
            cases.case(f"{pixels} pixels wide, as on a phone: one column, no sideways scrolling", phone["found"] +
                       unless(len(set(phone["seen"]["tops"])) == 3 and min(phone["seen"]["widths"]) > 300, f"{phone['seen']}") +
                       unless(pixels > 480 or max(phone["scrolled"]) <= 0, f"plots scroll by {phone['scrolled']}"))
        dark = browser.measure(page, DRIVE, "--window-size=1280,900", "--force-dark-mode")
        cases.case("dark, where the reader's system is", dark["found"] + unless(dark["dark"], "the scheme is light"))
        cases.case("it is small, and writes nothing else", unless(os.path.getsize(page) < 6e6, f"{os.path.getsize(page)} bytes") +
                   unless(not os.path.exists(at("r.png")), "a picture that was not asked for"))

        # Names of files that look like markup, or that are no UTF-8; an image without orientation.
        odd = "<b>&\"'é<script>alert(1)</script>"
        odd_file = odd.replace("/", "") + ".nii"
        clvox("phantom", "pair", "-o", "q", "--size", "9x10x11", "--seed", "2", "-q")
        subprocess.run([sys.executable, "-c", """import gzip, sys
data = bytearray(gzip.open('q_moving.nii.gz').read())
data[252:256] = bytes(4) # qform_code and sform_code
open(sys.argv[1], 'wb').write(data)""", odd_file], cwd=folder, check=True)
        clvox("register", "-f", "q_fixed.nii.gz", "-m", odd_file, "-o", odd.replace("/", ""), "--deform", "none", "--linear", "rigid",
              "--no-picture", "--report", "-q")
        check("markup in names stays text; warnings come first", at(odd.replace("/", "") + "_report.html"), lambda seen:
              unless(odd_file in seen["title"] and odd_file in seen["heading"], f"the title is {seen['title']}") +
              unless(seen["scripts"] == 3, f"{seen['scripts']} scripts") +
              unless(any("orientation is assumed" in w and odd_file in w for w in seen["warnings"]), f"warnings: {seen['warnings']}"))
        latin = os.fsencode(at("")) + b"caf\xe9.nii.gz"
        os.rename(os.fsencode(at("q_moving.nii.gz")), latin)
        clvox("register", "-f", "q_fixed.nii.gz", "-m", latin, "-o", "latin", "--deform", "none", "--linear", "rigid", "--no-picture", "--report", "-q")
        check("bytes that are no UTF-8 are taken for Latin-1", at("latin_report.html"), lambda seen:
              unless("café.nii.gz on" in seen["title"], f"the title is {seen['title']}"))

        # Many pairs: a failed one first, links that lead to files, thumbnails of the others; a run that finds them done says the same.
        with open(at("pairs.tsv"), "w", encoding="utf-8") as file:
            file.write("fixed\tmoving\toutput\n" + "p_fixed.nii.gz\tp_moving.nii.gz\t50% #1?\n" + "p_fixed.nii.gz\tp_moving.nii.gz\tdeep/b\n" +
                       "p_fixed.nii.gz\tnothing.nii.gz\t<i>gone\n")
        for run in ("first", "again"):
            clvox("register", "--list", "pairs.tsv", "-o", "many", "--report", *fast, code=1)
            check(f"register --list, {run}: failures first, links to pages that are there, thumbnails", at("many/summary.html"), lambda seen:
                  unless("<i>gone" in seen["rows"][0] and "cannot be opened" in seen["rows"][0], f"rows: {seen['rows']}") +
                  unless(len(seen["rows"]) == 3 and seen["thumbnails"] == 2, f"{seen['thumbnails']} thumbnails") +
                  unless(sorted(seen["links"]) == ["./50%25%20%231%3F_report.html", "./deep/b_report.html"], f"links: {seen['links']}") +
                  [f"{link}: no such file" for link in seen["links"] if not os.path.exists(at("many/" + unquote(link)))] +
                  unless(seen["warnings"] == ["1 of 3 pairs failed"], f"warnings: {seen['warnings']}"))
        clvox("register", "--list", "pairs.tsv", "-o", "many", *fast, code=1)
        cases.case("without --report the pages of the run before go", unless(not os.path.exists(at("many/deep/b_report.html")), "a stale page"))

        for seed in ("1", "2", "3"):
            clvox("phantom", "warp", "-o", f"w{seed}.nii", "--size", "17x16x15", "--spacing", "3x3x3.5mm", "--amplitude", "2", "--seed", seed, "-q")
            clvox("phantom", "textured", "-o", "t.nii", "--size", "17x16x15", "--spacing", "3x3x3.5mm", "--seed", "9", "--labels", "l.nii", "-q")
            clvox("apply", "-i", "t.nii", "-r", "t.nii", "-t", f"w{seed}.nii", "-o", f"s{seed}.nii", "-q")
        with open(at("subjects.tsv"), "w", encoding="utf-8") as file:
            file.write("image\tlabels\tage\n" + "".join(f"s{i}.nii\tl.nii\t{10 * i}\n" for i in (1, 2, 3)))
        rounds = ["--quick", "--linear", "rigid", "--linear-rounds", "1", "--rounds", "1", "--shrink", "2x1", "--iterations", "5x5", "-q"]
        clvox("atlas", "-o", "atlas", "--list", "subjects.tsv", "--names", "names.csv", "--report", *rounds)
        with open(at("atlas/summary.tsv"), encoding="utf-8") as file:
            worst = [line.split("\t")[0] for line in file][1:]
        check("atlas: the template, every subject on it, the least similar first, a plot for each figure", at("atlas/report.html"), lambda seen:
              unless(seen["seen"]["images"] == 3 and seen["seen"]["overlays"] == 2, f"{seen['seen']}") +
              [f"no {word}" for word in ("Nothing suspicious. The least like the template is " + worst[0], "linear rounds", "registration, linear")
               if word not in seen["text"]] + unless("unsharp" not in seen["text"], "options at their defaults are listed") +
              unless([row.split()[0] for row in seen["rows"][:3]] == worst, f"{seen['rows'][:3]} against {worst}") +
              named(at("atlas/report.html"), at("atlas/template_labels.nii.gz"), names)(seen) +
              unless(seen["thumbnails"] == 3 and seen["plots"] == 5, f"{seen['thumbnails']} thumbnails, {seen['plots']} plots"))
        clvox("atlas", "-o", "growth", "--list", "subjects.tsv", "--regress", "age", "--at", "10,30", "--bandwidth", "8", "--report", *rounds)
        check("atlas --regress: a page for each template", at("growth/report_30.html"), lambda seen: unless("age 30" in seen["title"], seen["title"]))

        clvox("phantom", "surface:torus", "-o", "ring", "--size", "30x26x16", "--noise", "0.4vox", "-q")
        clvox("surface", "denoise", "ring_noisy_mask.nii.gz", "-o", "plain.ply", "-q")
        clvox("surface", "denoise", "ring_noisy_mask.nii.gz", "-o", "e.ply", "--report", "-q")
        with open(at("plain.ply"), "rb") as one, open(at("e.ply"), "rb") as other:
            cases.case("--report changes no bit of the surface", unless(one.read() == other.read(), "the surfaces differ"))
        check("surface denoise: both contours, the movement", at("e_report.html"), lambda seen:
              unless(seen["seen"]["images"] == 2 and seen["seen"]["overlays"] == 3 and seen["plots"] == 1, f"{seen['seen']}") +
              unless("The surface moved by" in seen["text"] and "All are at their defaults" in seen["text"], "no verdict, or options at their defaults"))
        clvox("epi", "--blips", "t.nii", "--pe", "j", "--readout", ".0005", "--field", "s1.nii", "-o", "epi", "-q")
        with open(at("epi.json"), encoding="utf-8") as file:
            shift = json.load(file)["result"]["largest_shift_mm"]
        check("epi: before and after, the field, how far", at("epi_report.html"), lambda seen:
              unless(seen["seen"]["images"] == 2 and seen["seen"]["overlays"] == 1, f"{seen['seen']}") +
              unless(f"The head is shifted by up to {shift:.3g} mm." in seen["text"], f"no shift of {shift}"))
        clvox("phantom", "tensor:helix", "-o", "d", "--size", "14x13x12", "-q")
        scan = ["d_dwi.nii.gz", "--bval", "d.bval", "--bvec", "d.bvec"]
        clvox("tensor", "all", *scan, "-o", "m", "--few", "--report", "-q")
        clvox("tensor", "measures", "d_truth_tensor.nii.gz", "-o", "n", "--report", "-q")
        clvox("tensor", "fit", *scan, "--mask", "m_mask.nii.gz", "-o", "plain", "-q")
        clvox("tensor", "fit", *scan, "--mask", "m_mask.nii.gz", "-o", "fit", "--report", "-q")
        clvox("tensor", "denoise", "fit_tensor.nii.gz", "--noise", "fit_sigma.nii.gz", "-o", "plain.nii.gz", "-q")
        clvox("tensor", "denoise", "fit_tensor.nii.gz", "--noise", "fit_sigma.nii.gz", "-o", "denoised.nii.gz", "--report", "-q")
        for name, verb, images, overlays, plots in (("m", "all", 5, 1, 3), ("n", "measures", 3, 0, 2), ("fit", "fit", 5, 1, 3),
                                                    ("denoised", "denoise", 5, 1, 3)):
            check(f"tensor {verb}: FA, directions, MD, their distributions", at(name + "_report.html"),
                  lambda seen, images=images, overlays=overlays, plots=plots, verb=verb:
                  unless(seen["seen"]["images"] == images and seen["seen"]["overlays"] == overlays and seen["plots"] == plots,
                         f"{seen['seen']}, {seen['plots']} plots") + unless(f"clvox tensor {verb}" in seen["text"] and "Mean FA" in seen["text"], "no command, or no verdict"))
        means = []
        for name in "m_mask", "m_fa", "m_md":
            with gzip.open(at(name + ".nii.gz")) as file:
                raw = file.read()
            kind = {2: "B", 4: "h", 16: "f"}[struct.unpack_from("<h", raw, 70)[0]]
            means.append(struct.unpack_from(f"<2184{kind}", raw, 352))
        inside = [i for i, v in enumerate(means[0]) if v > 0]
        fa, md = ([maps[i] for i in inside] for maps in means[1:])
        with open(at("m_report.html"), encoding="utf-8") as file:
            text = file.read()
        cases.case("tensor all: the means and the distributions are those of the maps", [f"no {words}" for words in (
            f"Mean FA {sum(fa) / len(fa):.3g}, mean MD {sum(md) / len(md):.3g} mm²/s in {len(inside)} voxels",
            f"{len(fa)} voxels, mean {sum(fa) / len(fa):.4g}, standard deviation", f"from {min(fa):.4g} to {max(fa):.4g}",
            f"{len(md)} voxels, mean {sum(md) / len(md):.4g}, standard deviation", f"from {min(md):.4g} to {max(md):.4g}") if words not in text])
        for one, other in ("plain_tensor", "fit_tensor"), ("plain", "denoised"):
            with open(at(one + ".nii.gz"), "rb") as first, open(at(other + ".nii.gz"), "rb") as second:
                cases.case(f"--report changes no bit of {other}", unless(first.read() == second.read(), "the tensors differ"))

        # A scan whose frame 3 is another head's: the page has the table's numbers; its widths on a desk and on a phone.
        subprocess.run([sys.executable, "-c", SCAN], cwd=folder, check=True)
        clvox("series", "scan.nii", "-o", "plainscan", "-q")
        clvox("series", "scan.nii", "-o", "scan", "--report", "-q")
        with open(at("scan_motion.tsv"), encoding="utf-8") as file:
            moved = [row.split("\t") for row in file.read().splitlines()[1:]]
        short = lambda text: "unknown" if text == "n/a" else f"{float(text):.3g}"
        outliers = [[row[0], *map(short, (row[7], row[9], row[10])), "moved"] for row in moved if row[-1] == "1"]
        framewise = [float(row[7]) for row in moved if row[7] != "n/a"]
        check("series: motion, outliers as in the table, carpets", at("scan_report.html"), lambda seen:
              unless(seen["plots"] == 3 and seen["seen"]["images"] == 2, f"{seen['plots']} plots") +
              unless(outliers and [row.split("\t")[:5] for row in seen["rows"][:len(outliers)]] == outliers, f"{seen['rows'][:3]}, not {outliers}") +
              unless(f"displacement {sum(framewise) / len(framewise):.3g} mm on average, up to {max(framewise):.3g} mm; {len(outliers)} of 6 frames" in
                     seen["text"], "the verdict is not that of the table") +
              drawn(at("scan_report.html"), [[[float(row[1 + 3 * plot + a]) * (57.29578 if plot else 1) for row in moved] for a in range(3)]
                                             for plot in range(2)] + [[[float("nan" if row[7] == "n/a" else row[7]) for row in moved]]]) +
              unless(len(set(re.findall(r'alt="(?:Before|After) the correction" src="([^"]*)"', open(at("scan_report.html"), encoding="utf-8").read()))) == 2,
                     "both carpets are the same"))
        cases.case("series: no page without --report", unless(not os.path.exists(at("plainscan_report.html")), "a page"))
        subprocess.run([sys.executable, "-c", MAPS], cwd=folder, check=True)
        clvox("stats", "--list", "maps.tsv", "--test", "group", "-o", "plaintest", "-q")
        clvox("stats", "--list", "maps.tsv", "--test", "group", "--template", "m0.nii", "-o", "test", "--report", "-q")
        with open(at("test.json"), encoding="utf-8") as file:
            result = json.load(file)["result"]
        peak = result["t"]["peaks"][0]
        maps = {}
        for end in "t", "p", "p_fwe":
            with gzip.open(at(f"test_{end}.nii.gz")) as file:
                maps[end] = struct.unpack("<4080f", file.read()[352:])
        with open(at("m0.nii"), "rb") as file:
            head = file.read(352)
        corner = [struct.unpack_from("<4f", head, 280 + 16 * a)[3] for a in range(3)]
        inside = sorted(maps["p"])[:result["tested"]]
        below = [p * len(inside) / (i + 1) <= .05 for i, p in enumerate(inside)] # the last such p decides
        discoveries = len(below) - below[::-1].index(True) if any(below) else 0
        rate, least = {}, 1
        for i in reversed(range(len(inside))): # the smallest from there on; equal p have that of the last of them
            least = min(least, inside[i] * len(inside) / (i + 1))
            rate.setdefault(inside[i], least)
        peaks, edge = [], (3, 3, 3.5)
        for i in sorted(range(4080), key=lambda i: -maps["t"][i]):
            spot = i % 17, i // 17 % 16, i // 272
            around = [x + 17 * (y + 16 * z) for x, y, z in itertools.product(*(range(max(c - 1, 0), min(c + 2, n)) for c, n in zip(spot, (17, 16, 15))))]
            mm = [corner[a] + edge[a] * spot[a] for a in range(3)]
            if len(peaks) < 20 and maps["t"][i] >= max(maps["t"][k] for k in around) and all(math.dist(mm, other[0]) >= 8 for other in peaks):
                peaks.append((mm, "\t".join([" ".join(map(str, spot)), *(f"{v + 0:.1f}" for v in mm),
                                             *(f"{v:.3g}" for v in (maps["t"][i], maps["p"][i], maps["p_fwe"][i], rate[maps["p"][i]]))])))
        corrections = []
        for name, kept in (("FWE, p", [t for t, p in zip(maps["t"], maps["p_fwe"]) if p <= .05 + 1e-7]),
                           ("FDR, q", [t for t, p in zip(maps["t"], maps["p"]) if rate[p] <= .05 + 1e-7])):
            corrections.append(f"{name} ≤ 0.05\t{len(kept)}\t{len(kept) * .0315:.3g}\t{min(kept):.3g}")
        cases.case("stats: voxels by the false discovery rate (Benjamini and Hochberg)",
                   unless(0 < discoveries == result["t"]["significant_voxels_fdr"], f"{result['t']}, not {discoveries}"))
        check("stats: peaks, FWE and FDR as in the log, the design", at("test_report.html"), lambda seen:
              unless(seen["seen"]["images"] == 2 and seen["seen"]["overlays"] == 3 and seen["plots"] == 2, f"{seen['seen']}") +
              unless(peak["voxel"] == result["t"]["peak_voxel"] == [4, 5, 6], f"the peak is {peak}") +
              unless(seen["rows"][:2] == corrections, f"{seen['rows'][:2]}, not {corrections}") +
              unless(seen["rows"][2:2 + len(peaks)] == [row for _, row in peaks], f"{seen['rows'][2:5]}, not {peaks[:3]}") +
              unless(f"{result['t']['significant_voxels']} voxels with p FWE" in seen["text"], "the verdict is not that of the log") +
              unless([row for row in seen["rows"] if re.match(r"m\d\.nii\t[a-z]", row)] == [f"m{s}.nii\t{('control', 'patient')[s % 2]}" for s in range(10)], "the design"))
        cases.case("stats: no page without --report", unless(not os.path.exists(at("plaintest_report.html")), "a page"))
        clvox("stats", "--list", "maps.tsv", "--test", "group", "--template", "none.nii", "-o", "bad", "--report", "-q", code=1)
        clvox("series", "none.nii", "-o", "bad", "--report", "-q", code=1)
        cases.case("nothing is written upon bad input", [name for name in os.listdir(folder) if name.startswith("bad") and name != "bad.tsv"])
        for name in "test", "scan", "fit":
            phone = browser.measure(at(name + "_report.html"), DRIVE, "--window-size=500,900", width=390)
            cases.case(f"{name}: 390 pixels wide, no sideways scrolling", phone["found"])

        pdf = at("page.pdf")
        browser.run(page, "--print-to-pdf=" + pdf, "--no-pdf-header-footer")
        with open(pdf, "rb") as file:
            content = file.read()
        pages = len(re.findall(rb"/Type\s*/Page\b", content))
        cases.case("it prints", unless(content[:4] == b"%PDF" and 2 <= pages <= 8, f"{pages} pages"))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        with open(at("still.html"), "w", encoding="utf-8") as file:
            file.write(text.replace("script-src 'unsafe-inline'", "script-src 'none'"))
        out, _ = browser.run(at("still.html"), "--dump-dom")
        cases.case("without scripts the slices of the centre are shown",
                   unless('class="still"' in out and "viewer live" not in out and "<canvas" not in out.split("<script>")[0], "the script ran"))
    print(f"1..{cases.number}")
    return 1 if cases.failures else 0


sys.exit(main())
