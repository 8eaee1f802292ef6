#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No product that may overflow in the size of an allocation of what reads files: src/io, src/base, src/batch, src/cli.
    sizes.py SOURCE
Arguments of malloc, calloc, realloc, reallocarray, alloca, clv_array and clv_large multiply and shift nothing but
literals, enumerators and sizeof: a count goes to calloc, reallocarray, clv_array or clv_times, which multiply with a
check. Prints a TAP line a folder."""
import os
import re
import sys

# Products of two ints in size_t, which calloc then multiplies with a check: path and the argument.
ALLOWED = {("src/cli/cmd_stats/subjects.c", "(size_t)(r->covariates + 1) * (size_t)r->subjects")}
CALL = re.compile(r"\b(malloc|calloc|realloc|reallocarray|alloca|aligned_alloc|clv_array|clv_array_moved|clv_large|"
                  r"clv_large_zeros)\s*\(")
MOVES = ("realloc", "reallocarray", "clv_array_moved")  # the first argument is no size
OPERAND = r"(?:\d\w*|[A-Z][A-Z0-9_]*|SIZE_OF)"


def arguments(text, at):
    """Of a call whose parenthesis opens before `at`."""
    depth, begin, found = 1, at, []
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if not depth or (depth == 1 and text[i] == ","):
            found.append(text[begin:i])
            begin = i + 1
        if not depth:
            break
    return found


def constant_products_removed(text):
    text = re.sub(r"\bsizeof\s*\(\s*\w+(?:\s+\w+)*\s*\**\s*\)", "SIZE_OF", text)
    text = re.sub(r"\bsizeof\s*\(?\s*\**\s*\w+(?:(?:->|\.)\w+|\[[^\]]*\])*\s*\)?", "SIZE_OF ", text)
    text = re.sub(r"\(\s*(?:size_t|uint\d+_t|int\d*(?:_t)?|unsigned|double)\s*\)", "", text)
    before = None
    while before != text:
        before = text
        text = re.sub(r"\(\s*" + OPERAND + r"(?:\s*[-+]\s*" + OPERAND + r")*\s*\)", "SIZE_OF", text)
        text = re.sub(r"(?<![\w.>\])*])\s*" + OPERAND + r"\s*(?:\*|<<)\s*" + OPERAND + r"\b", " SIZE_OF", text)
    return text


def products(path, name):
    """Lines of a file at fault. A star that follows nothing, a comma or a parenthesis is no product."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'',
                  lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)
    for call in CALL.finditer(text):
        for i, argument in enumerate(arguments(text, call.end())):
            if i == 0 and call.group(1) in MOVES or (name, " ".join(argument.split())) in ALLOWED:
                continue
            if re.search(r"[\w)\]]\s*\*\s*[\w(*]|<<", constant_products_removed(argument)):
                yield f"{name}:{text.count(chr(10), 0, call.start()) + 1}: {call.group(1)}: {' '.join(argument.split())}"


def main():
    source, failures = sys.argv[1], 0
    folders = ("io", "base", "batch", "cli")
    for number, folder in enumerate(folders, 1):
        faults, count = [], 0
        for place, _, names in sorted(os.walk(os.path.join(source, "src", folder))):
            for name in sorted(n for n in names if n.endswith((".c", ".h"))):
                path = os.path.join(place, name)
                count += 1
                faults += products(path, os.path.relpath(path, source))
        failures += bool(faults)
        print("not ok" if faults or not count else "ok", number, "-", f"src/{folder}: sizes of {count} files are multiplied with a check")
        for fault in faults:
            print("#", fault)
    print(f"1..{len(folders)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
