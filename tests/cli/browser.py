# SPDX-License-Identifier: Apache-2.0
"""Pages in Chromium, for tests that print TAP: what it says on the console, what a script measures in the page."""
import html
import json
import os
import re
import shutil
import subprocess
import sys


def chromium_or_skip():
    """Its program; ends the test, as skipped, where there is none."""
    found = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if not found:
        print("1..0 # SKIP there is no chromium: tools/setup test")
        sys.exit(0)
    return found


FRAME = """<!doctype html><iframe width=%d height=900 style="border:0"></iframe><script>
const frame = document.querySelector('iframe')
frame.srcdoc = %s
const wait = setInterval(() => { const text = frame.contentDocument.documentElement.textContent
  if (text.startsWith('[RESULT]')) { clearInterval(wait); document.documentElement.textContent = text } }, 100)
</script>"""


class Browser:
    def __init__(self, program, folder):
        self.command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                        "--disable-component-update", "--enable-logging=stderr", "--virtual-time-budget=4000",
                        "--user-data-dir=" + os.path.join(folder, "profile")]
        self.folder = folder

    def run(self, page, *options):
        # A home of its own: it writes there.
        env = {**os.environ, "HOME": self.folder}
        done = subprocess.run([*self.command, *options, "file://" + page], capture_output=True, text=True, timeout=3600,
                              env=env, check=False)
        return done.stdout, [line for line in done.stderr.split("\n") if "CONSOLE" in line]

    def measure(self, page, script, *options, width=None):
        """What a script that is added to the page puts between [RESULT] and [END], as JSON: brackets are no letters of
        base64. The page is as it is but for the script: its own policy may forbid any. width: in a frame of so many
        pixels, as Chromium has no window below 500."""
        with open(page, encoding="utf-8") as file:
            text = file.read()
        probe = os.path.join(self.folder, "probe.html")
        with open(probe, "w", encoding="utf-8") as file:
            inner = re.sub(r"<meta http-equiv=.*?>", "", text).replace("</body>", script + "</body>")
            file.write(inner if width is None else FRAME % (width, json.dumps(inner).replace("</", "<\\/")))
        out, _ = self.run(probe, "--dump-dom", "--virtual-time-budget=20000", *options)
        found = re.search(r"\[RESULT\](.*)\[END\]", out, re.S)
        return json.loads(html.unescape(found.group(1))) if found else None


class Cases:
    def __init__(self):
        self.number = self.failures = 0

    def case(self, name, wrong):
        self.number += 1
        for line in wrong[:20]:
            print("# " + line)
        print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}", flush=True)
        self.failures += bool(wrong)


def unless(true, text):
    return [] if true else [text]
