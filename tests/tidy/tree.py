"""What the tidy checks read: the repository's own files, and C++ text with its noise taken out."""

import functools
import pathlib
import re
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something a check refuses: where, and what to do about it."""

    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    """The files of a repository; paths are relative to its root, with forward slashes."""

    def __init__(self, root, paths=None):
        self.root = pathlib.Path(root)
        self.paths = sorted(paths if paths is not None else self._tracked())
        self._texts = {}

    def _tracked(self):
        listed = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=False, capture_output=True)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
            return [n for n in names if n and (self.root / n).is_file()]
        found = (p.relative_to(self.root) for p in self.root.rglob("*") if p.is_file())
        return [p.as_posix() for p in found if p.parts[0] not in ("build", ".git")]

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def code(self, *folders):
        """C++ files below the folders."""
        return [p for p in self.paths
                if p.endswith((".h", ".cc")) and p.startswith(tuple(f + "/" for f in folders))]


_NOISE = re.compile(
    r'R"(?P<d>[^ ()\\\t\n]*)\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\''
    r"|(?P<said>(?://[^\n]*(?:\n[ \t]*(?=//))?)+|/\*.*?\*/)", re.DOTALL)


def without_noise(text):
    """The text with comments and the insides of literals blanked, line by line as it was."""
    def blank(match):
        whole = match.group(0)
        kept = '""' if whole[0] in 'R"' else ("0" if whole[0] == "'" else " ")
        return kept + "\n" * whole.count("\n")
    return _NOISE.sub(blank, text)


def without_comments(text):
    """The text with a space for each comment."""
    return _NOISE.sub(lambda match: " " if match["said"] else match[0], text)


def comments(text):
    """(line, text) of each comment of C++ text; lines below each other, in one column, are one comment."""
    for match in _NOISE.finditer(text):
        said = match["said"]
        if not said:
            continue
        line = text.count("\n", 0, match.start()) + 1
        if said.startswith("/*"):
            yield line, said
            continue
        begun = column = match.start() - text.rfind("\n", 0, match.start()) - 1
        parts = []
        for at, whole in enumerate(said.splitlines(), line):
            words = whole.lstrip(" \t")
            if at > line:
                column = len(whole) - len(words)
            if parts and column == begun:
                parts[-1][1].append(words[2:])
            else:
                parts.append((at, [words[2:]]))
                begun = column
        for at, lines in parts:
            yield at, "\n".join("  " + one for one in lines)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(text):
    """(line, quoted?, name) of each include directive."""
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


def is_test(path):
    name = path.rpartition("/")[2]
    return path.startswith("tests/") or name.endswith("_test.cc") or name.startswith("test_")


@functools.cache
def library_flags():
    """Where the headers of libraries are that keep them in folders of their own."""
    run = subprocess.run(["pkg-config", "--cflags", "libpq", "libmariadb"], check=True, capture_output=True,
                         text=True)
    return run.stdout.split()
