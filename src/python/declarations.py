#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the module clvox._abi: what the public headers declare, for ctypes.
    declarations.py VERSION INCLUDE OUT
INCLUDE: the folder that clvox/clvox.h is in. Reads the C that these headers are written in, and fails at anything else."""
import os
import re
import sys

PLAIN = {"int": "c_int", "unsigned": "c_uint", "unsigned int": "c_uint", "long": "c_long", "double": "c_double", "float": "c_float",
         "char": "c_char", "bool": "c_bool", "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64",
         "uint32_t": "c_uint32", "uint64_t": "c_uint64"}
DIMENSION = re.compile(r"\[([^]]*)\]")


class Declarations:
    def __init__(self):
        self.constants, self.enums, self.callbacks = {}, set(), {}
        self.structs, self.opaque, self.functions = {}, set(), {}

    # ---- types --------------------------------------------------------------

    def base(self, words):
        name = " ".join(w for w in words.split() if w not in ("const", "struct", "enum"))
        if name in PLAIN:
            return PLAIN[name]
        if name in self.enums:
            return "c_int"
        if name in self.structs or name in self.opaque or name in self.callbacks or name == "void":
            return name
        sys.exit(f"declarations: the type {words} is not known")

    def pointer(self, kind, stars):
        """kind, behind that many stars."""
        if stars and kind in ("void", "c_char"):
            kind, stars = {"void": "c_void_p", "c_char": "c_char_p"}[kind], stars - 1
        elif stars and kind in self.opaque and kind not in self.structs:
            kind, stars = "c_void_p", stars - 1
        elif kind == "void":
            kind = "None"
        return "POINTER(" * stars + kind + ")" * stars

    def sized(self, kind, dimensions):
        for size in reversed(dimensions):
            kind = f"{kind} * {self.value(size)}" if " " not in kind else f"({kind}) * {self.value(size)}"
        return kind

    def value(self, text):
        return eval(re.sub(r"\b(\d+)u\b", r"\1", text), {"__builtins__": {}}, self.constants)  # pylint: disable=eval-used

    def callback(self, result, parameters):
        return "CFUNCTYPE(" + ", ".join([self.pointer(*self.stars(result)), *self.parameters(parameters)]) + ")"

    def stars(self, text):
        return self.base(text.replace("*", " ")), text.count("*")

    def declared(self, text, parameter=False):
        """Name and type of each declarator: `double a, b[3]`."""
        function = re.fullmatch(r"(.*?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)", text, re.S)
        if function:
            yield function[2], self.callback(function[1], function[3])
            return
        row = re.fullmatch(r"(.*?)\(\s*\*\s*(\w+)\s*\)((?:\s*\[[^]]*\])+)", text, re.S)
        if row:
            yield row[2], f"POINTER({self.sized(self.base(row[1]), DIMENSION.findall(row[3]))})"
            return
        first = re.match(r"((?:(?:const|struct|enum) )*(?:unsigned(?: int)?|\w+)(?: const)?)\b(.*)", text, re.S)
        kind = self.base(first[1])
        for one in first[2].split(","):
            name = re.fullmatch(r"((?:\s|\*|\bconst\b)*)(\w*)\s*((?:\[[^]]*\])*)\s*", one)
            if not name:
                sys.exit(f"declarations: cannot read {text}")
            dimensions, own = DIMENSION.findall(name[3]), self.pointer(kind, name[1].count("*"))
            if parameter and dimensions:
                yield name[2], f"POINTER({self.sized(own, dimensions[1:])})"
            else:
                yield name[2], self.sized(own, dimensions)

    def parameters(self, text):
        depth, part, parts = 0, "", []
        for c in text + ",":
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += c
        return [kind for p in parts if p != "void" for _, kind in self.declared(p, True)]

    # ---- statements ---------------------------------------------------------

    def enumerate(self, body):
        value = -1
        for entry in filter(None, (e.strip() for e in body.split(","))):
            name, _, said = (part.strip() for part in entry.partition("="))
            value = self.value(said) if said else value + 1
            self.constants[name] = value

    def statement(self, text):
        text = " ".join(text.split())
        if match := re.fullmatch(r"(?:typedef )?enum ?\w* ?\{(.*)\} ?(\w*)", text):
            self.enumerate(match[1])
            self.enums.add(match[2])
        elif match := re.fullmatch(r"typedef struct (\w+) ?\{(.*)\} ?(\w+)", text):
            self.structs[match[3]] = None
            fields = [f for part in match[2].split(";") if part.strip() for f in self.declared(part.strip())]
            self.structs[match[3]] = fields
        elif match := re.fullmatch(r"typedef struct \w+ (\w+)", text):
            self.opaque.add(match[1])
        elif match := re.fullmatch(r"typedef (.*)\( ?\* ?(\w+) ?\) ?\((.*)\)", text):
            self.callbacks[match[2]] = self.callback(match[1], match[3])
        elif match := re.fullmatch(r"CLVOX_API (.*?)(\w+)\((.*)\)( CLVOX_\w+\(.*\))?", text):
            if "..." not in match[3]:  # those are for C
                self.functions[match[2]] = (self.pointer(*self.stars(match[1])), self.parameters(match[3]))
        else:
            sys.exit(f"declarations: cannot read {text}")

    def header(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"#ifdef __cplusplus.*?#endif", " ", text, flags=re.S)
        text = re.sub(r"(?m)^\s*#.*(?:\\\n.*)*$", "", text)
        depth, part = 0, ""
        for c in text:
            depth += (c in "({") - (c in ")}")
            if c == ";" and depth == 0:
                self.statement(part)
                part = ""
            else:
                part += c

    def written(self, version):
        out = ["# Made by src/python/declarations.py from the headers of the library.",
               "from ctypes import *  # pylint: disable=all", "", f"VERSION = {version!r}", ""]
        out += [f"{name} = {value}" for name, value in self.constants.items()]
        out += [f"\n\nclass {name}(Structure):\n    pass" for name in self.structs] + ["\n"]
        out += [f"{name} = {kind}" for name, kind in self.callbacks.items()]
        for name, fields in self.structs.items():
            out += [f"{name}._fields_ = ["] + [f"    ({field!r}, {kind})," for field, kind in fields] + ["]"]
        out += ["FUNCTIONS = {"]
        out += [f"    {name!r}: ({result}, [{', '.join(kinds)}])," for name, (result, kinds) in self.functions.items()]
        return "\n".join(out + ["}"]) + "\n"


def in_order(include, name, seen):
    """The texts of a header and of those that it includes, these first."""
    if name in seen:
        return
    seen.add(name)
    with open(os.path.join(include, name), encoding="utf-8") as file:
        text = file.read()
    for other in re.findall(r'#include "(clvox/\w+\.h)"', text):
        yield from in_order(include, other, seen)
    yield text


def main():
    version, include, out = sys.argv[1:]
    declarations = Declarations()
    for text in in_order(include, "clvox/clvox.h", set()):
        declarations.header(text)
    with open(out, "w", encoding="utf-8") as file:
        file.write(declarations.written(version))


if __name__ == "__main__":
    main()
