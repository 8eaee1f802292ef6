#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads the pages of `clvox bench compare` in Chromium: bench_compare_page.py PROGRAM

No errors, nothing fetched, plots of a size, text within its plot and not on other text, contrast,
no sideways scrolling, paper. Skips where there is no Chromium."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from browser import Browser, Cases, chromium_or_skip, unless  # noqa: E402  pylint: disable=wrong-import-position

# What a person would see, measured in the page; the result replaces the page.
MEASURE = """<script>addEventListener('load', () => {
const found = [], box = e => e.getBoundingClientRect(), say = (...words) => found.push(words.join(' '))
const numbers = colour => colour.match(/[\\d.]+/g).map(Number)
const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
const ground = light(numbers(getComputedStyle(document.documentElement).backgroundColor))
const contrast = colour => { const l = light(numbers(colour))
  return (Math.max(l, ground) + .05) / (Math.min(l, ground) + .05) }
let words = 0
for (const plot of document.querySelectorAll('figure svg:not(.keymark)')) {
  const whole = box(plot), name = plot.getAttribute('aria-label'), texts = [...plot.querySelectorAll('text')]
  if (whole.width < 300 || whole.height < 25) say('plot', name, 'measures', whole.width, whole.height)
  if (!name || plot.getAttribute('role') != 'img') say('a plot without words')
  if (plot.querySelectorAll('rect,circle,polygon').length < 1) say('plot', name, 'is empty')
  /* Letters that the window would make too small are reached by scrolling, with keys too. */
  const around = plot.closest('.scroll'), scale = whole.width / plot.viewBox.baseVal.width
  for (const size of new Set(texts.map(t => parseFloat(getComputedStyle(t).fontSize))))
    if (size * scale < 9) say('text of', name, 'is', (size * scale).toFixed(1), 'pixels tall')
  if (!around || getComputedStyle(around).overflowX != 'auto' || around.scrollWidth + 1 < whole.width) say(name, 'is cut off')
  const frame = plot.querySelector('.frame')
  for (const text of texts) {
    const inner = text.matches('.pointname,.roofname') ? box(frame) : whole, b = box(text)
    words++
    if (b.left < inner.left - .5 || b.right > inner.right + .5 || b.top < inner.top - 1 || b.bottom > inner.bottom + 1)
      say('"' + text.textContent + '" leaves', name, b.left - inner.left, inner.right - b.right)
    if (contrast(getComputedStyle(text).fill) < 4.5) say('"' + text.textContent + '" is faint')
  }
  /* Turned text covers less than its box. */
  const level = texts.filter(t => !t.parentNode.hasAttribute('transform')).map(t => [t.textContent, box(t)])
  level.forEach(([a, p], i) => level.slice(i + 1).forEach(([b, q]) => {
    if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4) say('"' + a + '" lies on "' + b + '" in', name) }))
  for (const mark of plot.querySelectorAll('.mark,rect[class^=s]'))
    if (contrast(getComputedStyle(mark).fill) < 3) say('a mark is faint:', mark.getAttribute('class'))
}
for (const e of document.querySelectorAll('p,li,th,td,small,caption,figcaption,a'))
  if (contrast(getComputedStyle(e).color) < 4.5) say('faint:', e.textContent.slice(0, 40))
for (const table of document.querySelectorAll('table'))
  if (!table.caption || !table.querySelector('thead th[scope]')) say('a table without caption or headings')
for (const part of document.querySelectorAll('.scroll'))
  if (part.tabIndex != 0 || part.getAttribute('role') != 'region' || !part.getAttribute('aria-label'))
    say('keys do not reach what scrolls around', part.textContent.slice(0, 40))
const devices = document.querySelector('table.devices'), wide = innerWidth < 1200 ? 0 : devices.getBoundingClientRect().right
if (wide > devices.closest('.scroll').getBoundingClientRect().right + 1) say('the devices are not seen whole')
const root = document.documentElement
if (root.scrollWidth > innerWidth + 1) say('the page is', root.scrollWidth, 'wide in', innerWidth)
const result = {found, words, plots: document.querySelectorAll('figure svg:not(.keymark)').length,
  tables: document.querySelectorAll('table').length, title: document.title, text: document.body.innerText,
  width: innerWidth, dark: matchMedia('(prefers-color-scheme: dark)').matches, scripts: document.scripts.length,
  fetched: performance.getEntriesByType('resource').map(e => e.name)}
root.textContent = '[RESULT]' + JSON.stringify(result) + '[END]'
})</script>"""


def main():
    program = os.path.abspath(sys.argv[1])
    chromium = chromium_or_skip()
    here, cases = os.path.dirname(os.path.abspath(__file__)), Cases()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(here, "bench_compare_records.py"), folder], check=True)
        browser = Browser(chromium, folder)

        def page(name, *records):
            out = os.path.join(folder, name + ".html")
            subprocess.run([program, "bench", "compare", *(os.path.join(folder, r + ".json") for r in records), "-o", out],
                           check=True, stdout=subprocess.DEVNULL)
            return out

        three = page("three", "gpu", "cpu", "third")
        out, console = browser.run(three, "--dump-dom")
        cases.case("the page loads without a word on the console",
                   console + unless("In short" in out and "<script" not in out, "it was not loaded"))
        wide = browser.measure(three, MEASURE, "--window-size=1280,900")
        if not wide:
            cases.case("the page can be measured", ["Chromium gave no result"])
            print(f"1..{cases.number}")
            return 1
        cases.case("plots have a size, and their text lies within them and is legible",
                   wide["found"] + unless(wide["plots"] == 13 and wide["words"] > 150, f"{wide['plots']} plots, {wide['words']} words"))
        cases.case("nothing is fetched", wide["fetched"])
        cases.case("it names devices, ceilings, rows, and the papers' findings", [
            f"no {word}" for word in ("NVIDIA H200", "multiply-add fp32", "warp cubic", "0.769 ✗ does not hold", "GTX 480",
                                      "0.0200×", "sizes differ") if word not in wide["text"]])
        dark = browser.measure(three, MEASURE, "--window-size=1280,900", "--force-dark-mode")
        cases.case("dark, where the reader's system is", dark["found"] + unless(dark["dark"], "the scheme is light"))
        narrow = browser.measure(three, MEASURE, "--window-size=1024,700")
        cases.case("on a small laptop", narrow["found"])
        phone = browser.measure(three, MEASURE, "--window-size=500,900") # the least that Chromium has
        cases.case("on a phone", phone["found"] + unless(phone["width"] <= 500, f"the window is {phone['width']} wide"))
        for name, records in ("eight", [f"many-{i}" for i in range(8)]), ("alone", ["gpu"]), ("before", ["gpu", "after"]), \
                ("ceilings", ["ceilings"]):
            seen = browser.measure(page(name, *records), MEASURE, "--window-size=1280,900")
            cases.case(f"another set of records: {name}", seen["found"] + seen["fetched"])
        bad = page("hostile", "gpu", "hostile")
        out, console = browser.run(bad, "--dump-dom")
        seen = browser.measure(bad, MEASURE, "--window-size=1280,900")
        cases.case("markup in a record stays text", console + seen["found"] + seen["fetched"] +
                   unless(seen["title"].startswith("clvox bench") and seen["scripts"] == 1, "a script ran"))
        pdf = os.path.join(folder, "page.pdf")
        browser.run(three, "--print-to-pdf=" + pdf, "--no-pdf-header-footer")
        with open(pdf, "rb") as file:
            content = file.read()
        pages = len(re.findall(rb"/Type\s*/Page\b", content))
        cases.case("it prints", unless(content[:4] == b"%PDF" and 4 <= pages <= 16, f"{pages} pages"))
    print(f"1..{cases.number}")
    return 1 if cases.failures else 0


sys.exit(main())
