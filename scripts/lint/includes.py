"""Include directions: a folder of src/ may use those before it, as docs/architecture.md has them."""

import re

import tree

LAYERS = ["base", "types", "graph", "ops", "backends", "plan", "formats", "text", "models", "media", "runtime", "c_api",
          "tools"]
# Folders that may use less than their place in the order allows.
ONLY = {"formats": {"base", "types"}, "text": {"base", "types", "formats"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# The only library that the public headers may show.
PUBLIC_LIBRARIES = {"tl/expected.hpp"}


def public_problem(kind, name):
    if kind == '"':
        return None if name == "tacet.h" or name.startswith("tacet/") else "a public header may include only public headers"
    if name in PUBLIC_LIBRARIES or re.fullmatch(r"[a-z0-9_]+(\.h)?", name):
        return None
    return "a public header may include only the standard library and tl/expected.hpp"


def layer_problem(path, kind, name):
    if kind == "<" or name == "tacet.h" or name.startswith("tacet/"):
        return None
    layer = "tools" if path.parts[0] == "tools" else path.parts[1]
    target = name.split("/")
    if layer not in LAYERS:
        return f"src/{layer} is not a layer; add it to scripts/lint/includes.py"
    if layer == "tools" and (tree.ROOT / "tools" / name).is_file():
        return None
    if not (tree.ROOT / "src" / name).is_file():
        return "there is no such file; write the path from src/ or include/"
    if target[0] not in LAYERS:
        return f"src/{target[0]} is not a layer; add it to scripts/lint/includes.py"
    allowed = ONLY.get(layer, set(LAYERS[:LAYERS.index(layer)])) | {layer}
    if target[0] not in allowed:
        return f"{layer} may not use {target[0]}"
    if layer == "backends" and target[0] == "backends" and len(target) > 2:
        backend = path.parts[2]
        if backend not in (target[1], "registry.cpp"):
            return f"backends/{backend} may not use backends/{target[1]}"
    return None


def check(files):
    problems = []
    for path in files:
        if path.suffix not in tree.CPP or path.parts[0] not in ("src", "include", "tools"):
            continue
        content = tree.text(path) or ""
        for match in INCLUDE.finditer(content):
            kind, name = match.groups()
            problem = public_problem(kind, name) if path.parts[0] == "include" else layer_problem(path, kind, name)
            if problem:
                line = content.count("\n", 0, match.start(2)) + 1
                problems.append(f"{path}:{line}: {name}: {problem}")
    return problems
