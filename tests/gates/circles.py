#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circle of imports among the Python files of bench, tools, tests and the package, nor of includes among headers, nor
of the modules of some rooms of src: a .c and the header of its name.
    circles.py SOURCE
Prints a TAP line a tree."""
import ast
import os
import re
import sys


def files(root, ending):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith(ending):
                yield os.path.join(folder, name)


def modules_of(path, statement, root):
    """The files that an import statement may name: beside its file, below root, or relative."""
    base = os.path.dirname(path)
    if isinstance(statement, ast.Import):
        return [(place, alias.name) for alias in statement.names for place in (base, root)]
    for _ in range(statement.level - 1):
        base = os.path.dirname(base)
    places = (base,) if statement.level else (base, root)
    stems = [statement.module] if statement.module else []
    stems += [f"{statement.module}.{a.name}" if statement.module else a.name for a in statement.names]
    return [(place, stem) for place in places for stem in stems]


def imports(path, root):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for place, stem in modules_of(path, node, root):
                yield os.path.join(place, *stem.split(".")) + ".py"


def includes(path, roots):
    with open(path, encoding="utf-8") as file:
        for name in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
            for root in (os.path.dirname(path), *roots):
                yield os.path.normpath(os.path.join(root, name))


def modules(room, roots):
    """What each module of a room includes; and a header is of all modules that define what it declares."""
    known = {os.path.normpath(path): os.path.splitext(os.path.normpath(path))[0] for path in (*files(room, ".c"), *files(room, ".h"))}
    texts = {}
    for path in known:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    home = {name: known[path] for path, text in texts.items() if path.endswith(".c")
            for name in re.findall(r"^(?!static|typedef|extern)\w[\w *]*?\b(\w+)\([^;]*?\)\n\{", text, re.M)}
    graph = {module: set() for module in known.values()}
    for path, module in known.items():
        graph[module].update(known[to] for to in includes(path, roots) if to in known)
        if path.endswith(".h"):
            graph[module].update(home[name] for name in re.findall(r"\b(\w+)\(", texts[path]) if name in home)
    return {module: sorted(to - {module}) for module, to in graph.items()}


def circle(graph):
    """The names on a circle of the graph, or None."""
    state, way = {}, []

    def visit(node):
        state[node] = "open"
        way.append(node)
        for to in graph[node]:
            if state.get(to) == "open":
                return way[way.index(to):] + [to]
            if to not in state:
                found = visit(to)
                if found:
                    return found
        state[node] = "done"
        way.pop()
        return None
    for node in graph:
        if node not in state:
            found = visit(node)
            if found:
                return found
    return None


def main():
    source = sys.argv[1]
    trees = []
    for name in ("bench", "tools", "tests", "src/python/clvox"):
        root = os.path.join(source, name)
        # A package names its parts, and these may name it: not a circle that anyone has to read.
        known = [path for path in files(root, ".py") if not path.endswith("__init__.py")]
        trees.append((f"Python in {name}", {path: sorted({to for to in imports(path, root) if to in known} - {path}) for path in known}))
    roots = [os.path.join(source, name) for name in ("src", "include", "tests", "")]
    headers = [os.path.normpath(p) for name in ("src", "include", "bench", "tests") for p in files(os.path.join(source, name), ".h")]
    trees.append(("headers", {path: sorted({to for to in includes(path, roots) if to in headers}) for path in headers}))
    for room in ("anatomy", "atlas", "transform"):
        trees.append((f"modules of src/{room}", modules(os.path.join(source, "src", room), roots)))
    failures = 0
    for number, (name, graph) in enumerate(trees, 1):
        found = circle(graph)
        failures += bool(found)
        print("not ok" if found else "ok", number, "-", name + ":", len(graph), "files without a circle of imports")
        if found:
            print("#", " -> ".join(os.path.relpath(path, source) for path in found))
    print(f"1..{len(trees)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
