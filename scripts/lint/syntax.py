"""Scripts parse: bash -n, Python's compiler, node --check."""

import subprocess

import tree


def problem(path):
    shell = tree.interpreter(path)
    if path.suffix == ".sh" or shell in ("bash", "sh"):
        run = subprocess.run(["bash", "-n", path], stderr=subprocess.PIPE, text=True)
        return run.stderr.strip() if run.returncode else None
    if path.suffix == ".py" or shell == "python3":
        try:
            compile(tree.text(path), str(path), "exec")
        except SyntaxError as error:
            return f"{path}:{error.lineno}: {error.msg}"
    if path.suffix in (".js", ".mjs", ".cjs"):
        run = subprocess.run(["node", "--check", path], stderr=subprocess.PIPE, text=True)
        return f"{path}: {run.stderr.strip()}" if run.returncode else None
    return None


def check(files):
    return [p for p in map(problem, files) if p]
