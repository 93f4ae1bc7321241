"""Lengths, layout, words and headers that stand alone."""

import concurrent.futures
import os
import re
import subprocess
import sys

from passed import Passed, PassedAlone, versions
from tree import Finding, library_flags, without_noise

FILE_LINES_WARNED = 500
FILE_LINES = 700
FUNCTION_LINES = 70


def file_length(tree):
    """A file that is too long holds two ideas."""
    for path in tree.code("include", "src", "tests", "benchmarks", "examples"):
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES:
            yield Finding(path, lines, f"{lines} lines: split it by idea ({FILE_LINES} at most)")
        elif lines > FILE_LINES_WARNED:
            print(f"warning: {path}: {lines} lines, perhaps two ideas", file=sys.stderr)


_TYPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def functions(text):
    """(first line, last line) of each outermost function body."""
    head, line, stack = "", 1, []
    for token in re.finditer(r"[{};\n]|[^{};\n]+", without_noise(text)):
        piece = token.group(0)
        if piece == "{":
            inside = bool(stack) and stack[-1][0]
            scope = _TYPE.search(head.rpartition(")")[0] if ")" in head else head)
            body = not inside and not scope and not head.rstrip().endswith("=")
            stack.append((inside or body, body, line))
            head = ""
        elif piece == "}":
            if stack:
                _, body, first = stack.pop()
                if body:
                    yield first, line
            head = ""
        elif piece == ";":
            head = ""
        elif piece == "\n":
            line += 1
        elif not piece.lstrip().startswith("#"):
            head += piece


def function_length(tree):
    """A function that does not fit on a screen does two things."""
    for path in tree.code("include", "src", "tests", "benchmarks", "examples"):
        for first, last in functions(tree.text(path)):
            if last - first + 1 > FUNCTION_LINES:
                yield Finding(path, first, f"a function of {last - first + 1} lines: split it by idea "
                                           f"({FUNCTION_LINES} at most)")


def _groups(paths):
    """As many lists as there are processors, none of them empty."""
    count = os.cpu_count() or 1
    return [group for group in (paths[n::count] for n in range(count)) if group]


def _laid_out(tree, passed, paths):
    """The findings of one run of clang-format. Adds those without one to `passed`."""
    run = subprocess.run(["clang-format", "--dry-run", "--Werror", *paths], cwd=tree.root,
                         check=False, capture_output=True, text=True)
    told = {}
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: (.*)$", run.stderr, re.MULTILINE):
        told.setdefault(match.group(1), int(match.group(2)))
    if run.returncode not in (0, 1) or (run.returncode == 1 and not told):
        return [Finding(".", 0, f"clang-format failed: {run.stderr.strip()}")]
    for path in paths:
        if path not in told:
            passed.add(path)
    return [Finding(path, line, "layout: run clang-format -i on it") for path, line in told.items()]


def layout(tree):
    """Every C++ file is as clang-format leaves it."""
    paths = tree.code("include", "src", "tests", "benchmarks", "examples", "cmake")
    if not paths:
        return
    passed = PassedAlone(tree, "layout", versions("clang-format"), (tree.root / ".clang-format").read_bytes())
    stale = [path for path in paths if not passed.has(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda group: _laid_out(tree, passed, group), _groups(stale)):
            yield from findings


# Written apart, so that this file does not refuse itself.
_UNFINISHED = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]
_WORDS = [
    (re.compile(r"\b(" + "|".join(_UNFINISHED) + r")\b"),
     "unfinished work belongs on the issue, not in the tree"),
    (re.compile(r"(?<![\w.~])/(work|root|Users|home/\w+)/\w"), "a path of one machine"),
    (re.compile(r"(?<![\"“])\b[Ee]xactly" + r"[ -]once\b"),
     "say effect, loss, under which faults and until when, not these two words"),
    (re.compile(r"(?i)\b(co-authored" + r"-by|generated" + r" with)\b"), "how it was made is no part of it"),
]


def words(tree):
    """No unfinished work, no machine's paths, no empty promise."""
    for path in tree.paths:
        if path == "LICENSE":
            continue
        for number, line in enumerate(tree.text(path).split("\n"), 1):
            for pattern, why in _WORDS:
                if match := pattern.search(line):
                    yield Finding(path, number, f"\"{match.group(0)}\": {why}")


def shell(tree):
    """Shell scripts are as ShellCheck wants them, and end at the first error."""
    scripts = [p for p in tree.paths if re.match(r"#!.*\b(ba)?sh\b", tree.text(p)[:40])]
    for path in scripts:
        if "set -euo pipefail" not in tree.text(path):
            yield Finding(path, 1, "lacks: set -euo pipefail")
    if scripts:
        run = subprocess.run(["shellcheck", "-x", "-f", "gcc", *scripts], cwd=tree.root, check=False,
                             capture_output=True, text=True)
        for match in re.finditer(r"^(\S+?):(\d+):\d+: (.*)$", run.stdout, re.MULTILINE):
            yield Finding(match.group(1), int(match.group(2)), match.group(3))


def _compiler():
    return [os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
            "-Iinclude", "-Isrc", "-I.", *library_flags(), "-x", "c++", "-"]


def _stands_alone(tree, path):
    run = subprocess.run(
        _compiler(), input=f'#include "{path}"\n', cwd=tree.root, check=False, capture_output=True,
        text=True)
    if run.returncode != 0:
        first = next((l for l in run.stderr.split("\n") if "error" in l), run.stderr.strip())
        return Finding(path, 1, f"does not compile alone: {first}")
    return None


def headers(tree):
    """Every header compiles with nothing before it. Each costs most of a second: those that users
    include always, the others at night (SEMEL_NIGHTLY=1); and only where one has changed."""
    inside = ("include", "src", "tests", "benchmarks") if "SEMEL_NIGHTLY" in os.environ else ("include",)
    paths = [p for p in tree.code(*inside) if p.endswith(".h")]
    for path in paths:
        if "#pragma once" not in tree.text(path):
            yield Finding(path, 1, "lacks: #pragma once")
    passed = Passed(tree, "headers", versions(_compiler()[0]), _compiler())
    stale = [path for path in paths if not passed.has(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, finding in zip(stale, pool.map(lambda p: _stands_alone(tree, p), stale)):
            if finding:
                yield finding
            else:
                passed.add(path)
