#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the modules clvox._abi, what the public headers declare, for ctypes, and clvox._results, a class for each struct,
with the types of its fields.
    declarations.py VERSION INCLUDE ABI RESULTS
INCLUDE: the folder that clvox/clvox.h is in. Reads the C that these headers are written in, and fails at anything else."""
import keyword
import os
import re
import sys

PLAIN = {"int": "c_int", "unsigned": "c_uint", "unsigned int": "c_uint", "long": "c_long", "double": "c_double", "float": "c_float",
         "char": "c_char", "bool": "c_bool", "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64",
         "uint32_t": "c_uint32", "uint64_t": "c_uint64"}
DIMENSION = re.compile(r"\[([^]]*)\]")


class Declarations:
    def __init__(self):
        self.constants, self.enums, self.callbacks = {}, {}, {}
        self.structs, self.opaque, self.functions = {}, set(), {}
        self.words = {}  # of structs the fields that are one of an enumeration

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
        """The words of its values: what their names do not have in common."""
        value, names = -1, {}
        for entry in filter(None, (e.strip() for e in body.split(","))):
            name, _, said = (part.strip() for part in entry.partition("="))
            value = self.value(said) if said else value + 1
            self.constants[name] = names[name] = value
        common = os.path.commonprefix(list(names)).rpartition("_")[0] if len(names) > 1 else ""
        return {number: name[len(common):].lstrip("_").lower() for name, number in names.items()}

    def statement(self, text):
        text = " ".join(text.split())
        if match := re.fullmatch(r"(?:typedef )?enum ?\w* ?\{(.*)\} ?(\w*)", text):
            self.enums[match[2]] = self.enumerate(match[1])
        elif match := re.fullmatch(r"typedef struct (\w+) ?\{(.*)\} ?(\w+)", text):
            self.structs[match[3]] = None
            fields = [f for part in match[2].split(";") if part.strip() for f in self.declared(part.strip())]
            self.structs[match[3]] = fields
            kinds = (re.match(r"(?:enum )?(\w+) (\w+(?:, ?\w+)*)$", part.strip()) for part in match[2].split(";"))
            self.words[match[3]] = {name.strip(): self.enums[kind[1]] for kind in kinds if kind and kind[1] in self.enums
                                    for name in kind[2].split(",")}
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
        out += ["}", f"WORDS = { {name: fields for name, fields in self.words.items() if fields} }"]
        return "\n".join(out) + "\n"

    # ---- classes -------------------------------------------------------------

    def hint(self, struct, field, kind):
        """The type of a field in Python."""
        one = re.sub(r" \* \d+$", "", kind)
        several = one != kind
        if field in self.words[struct]:
            return "str"
        made = {"POINTER(clvox_volume)": "Volume", "POINTER(clvox_surface)": "Surface",
                "POINTER(clvox_shape)": "Union[Surface, Curves, Cloud]"}.get(one)
        if one in self.structs:
            made = python_name(one)
        if made:
            return f"List[{made}]" if several else made
        if kind == "c_char_p" or one == "c_char":
            return "str"
        if several:
            return "np.ndarray"
        return {"c_bool": "bool", "c_double": "float", "c_float": "float"}.get(
            kind, "int" if kind in PLAIN.values() else "Any")

    def classes(self):
        out = ["# Made by src/python/declarations.py from the headers of the library.", "from __future__ import annotations", "",
               "from typing import TYPE_CHECKING, Any, Dict, List, Type, Union", "", "from ._result import Result", "",
               "if TYPE_CHECKING:", "    import numpy as np", "    from .shape import Cloud, Curves", "    from .surface import Surface",
               "    from .volume import Volume"]
        for name, fields in self.structs.items():
            out += ["", "", f"class {python_name(name)}(Result):"]
            out += [f"    {field + '_' * keyword.iskeyword(field)}: {self.hint(name, field, kind)}" for field, kind in fields]
        out += ["", "", "OF: Dict[str, Type[Result]] = {"] + [f"    {name!r}: {python_name(name)}," for name in self.structs]
        return "\n".join(out + ["}"]) + "\n"


def python_name(struct):
    """clvox_register_result is RegisterResult."""
    return "".join(word.capitalize() for word in struct.split("_")[1:]) or struct.capitalize()


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
    version, include, abi, results = sys.argv[1:]
    declarations = Declarations()
    seen = set()
    for header in ("clvox/clvox.h", "clvox/files.h"):  # the second one is for the command and this package
        for text in in_order(include, header, seen):
            declarations.header(text)
    for path, text in ((abi, declarations.written(version)), (results, declarations.classes())):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
