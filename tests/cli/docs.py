#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages say can be followed: links lead to files and headings, and commands have options that there are.
And the command includes nothing of the library but its public headers.
    docs.py CLVOX SOURCE
Prints a TAP line a case; needs no device."""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

PROGRAM, SOURCE = sys.argv[1:3]
PAGES = sorted(p for pattern in ("*.md", "doc/*.md", "doc/guide/*.md", "bench/*.md")
               for p in glob.glob(os.path.join(SOURCE, pattern)))
described = {}


def describe(*words):
    if words not in described:
        run = subprocess.run([PROGRAM, *words, "--describe-options"], capture_output=True, text=True, check=True)
        described[words] = json.loads(run.stdout)
    return described[words]


def anchors(path):
    """As GitHub names headings."""
    with open(path, encoding="utf-8") as file:
        heads = re.findall(r"^#+ (.*)$", file.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def links(path, text):
    for target in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(to):
            yield f"{target}: there is no such file"
        elif anchor and anchor not in anchors(to):
            yield f"{target}: there is no such heading"


def commands(text):
    """Of blocks, a command a line; and those between backticks."""
    text = text.replace("\\\n", " ")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.M | re.S)
    lines = [line for block in blocks for line in block.split("\n")] + re.findall(r"^ {4}(clvox .*)$", rest, re.M)
    return [c.strip() for c in lines + [c.replace("\n", " ") for c in re.findall(r"`([^`]+)`", rest)]
            if c.strip().startswith("clvox ")]


def known(page):
    rows = page["options"] + page["everywhere"]
    return {"--" + r["name"] for r in rows} | {"-" + r["letter"] for r in rows if r["letter"]}


def wrong(command):
    """What is wrong with a command, or None."""
    try:
        words = shlex.split(command.replace("[", " ").replace("]", " "), comments=True)[1:]
    except ValueError:
        return None  # a fragment
    verbs = {v["name"] for v in describe()["verbs"]}
    # `clvox momentum ...` is what the header of a momentum says.
    if not words or words[0] in ("VERB", "help", "momentum") or words[0].startswith("-"):
        return None
    if words[0] == "ants" and words[1:] and not words[1].startswith("-"):
        return None  # options of another program
    if words[0] not in verbs:
        return f"{words[0]} is no verb"
    page = describe(words[0])
    if len(words) > 1 and words[1] in page["words"]:
        page = describe(words[0], words[1])
    for word in page["words"]:
        if word.startswith("--") and word in words:
            page = describe(words[0], word)
    for word in words[1:]:
        if word in ("|", ">", "&&", ";"):
            break
        option = re.match(r"--[a-z][a-z0-9-]*|-[A-Za-z](?=$|,)", word)
        if option and option.group() not in known(page):
            return f"clvox {page['verb']} has no {option.group()}"
    return None


def main():
    failures, counted = {"links": [], "commands": [], "headers": []}, 0
    for path in PAGES:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = os.path.relpath(path, SOURCE)
        failures["links"] += [f"{name}: {said}" for said in links(path, text)]
        for command in commands(text):
            counted += 1
            said = wrong(command)
            if said:
                failures["commands"].append(f"{name}: {command}: {said}")
    for path in glob.glob(os.path.join(SOURCE, "src/cli/**/*.[ch]"), recursive=True):
        with open(path, encoding="utf-8") as file:
            wrong_headers = [h for h in re.findall(r'^#include "(.*)"', file.read(), re.M) if not h.startswith(("cli/", "clvox/"))]
        failures["headers"] += [f"{os.path.relpath(path, SOURCE)} includes {header}" for header in wrong_headers]
    if counted < 30:
        failures["commands"].append(f"only {counted} commands were found")
    titles = {"links": "links lead to files and headings", "commands": "commands have verbs and options that there are",
              "headers": "of the library, src/cli includes clvox/ headers alone"}
    for number, (case, said) in enumerate(failures.items(), 1):
        for line in said:
            print("#", line)
        print("not ok" if said else "ok", number, "-", titles[case])
    print(f"1..{len(failures)}")
    return 1 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
