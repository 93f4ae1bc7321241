"""Remembers the files that have passed a check, by their text and the text of all that they include."""

import hashlib
import os
import pathlib
import posixpath
import subprocess
import time

from tree import includes

UNUSED_SECONDS = 30 * 24 * 3600

# Where the compiler looks for a header of the repository, in its order.
_ROOTS = ("include", "src", "")


def cache_folder():
    """Outside of the tree: every worktree has the same files, or most of them."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(cache) / "semel-tests"


class Entries:
    """A folder of digests, each of something that has passed. One that nobody asks for is forgotten in time. A
    folder that cannot be written holds none."""

    def __init__(self, folder):
        self._folder = folder
        self._remove_unused()

    def has(self, digest):
        try:
            os.utime(self._folder / digest)
        except OSError:
            return False
        return True

    def add(self, digest):
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / digest).touch()
        except OSError:
            pass

    def remove(self, digest):
        (self._folder / digest).unlink(missing_ok=True)

    def _remove_unused(self):
        try:
            for entry in self._folder.iterdir():
                if entry.stat().st_mtime < time.time() - UNUSED_SECONDS:
                    entry.unlink()
        except OSError:
            pass


def _output_of(*command):
    run = subprocess.run(command, check=False, capture_output=True)
    return run.stdout if run.returncode == 0 else b""


def versions(*tools):
    """The versions of the tools, and of the packages whose headers they read."""
    try:
        packages = _output_of("dpkg-query", "-W", "*-dev")
    except FileNotFoundError:
        packages = b""
    return packages + b"".join(_output_of(tool, "--version") for tool in tools)


class Passed:
    """Knows a file by the texts of itself and of all that it includes, and by `how` it is checked.
    Holds passes only."""

    def __init__(self, tree, *how):
        self._tree = tree
        self._paths = set(tree.paths)
        self._how = hashlib.sha256()
        for part in how:
            self._add(self._how, part if isinstance(part, bytes) else str(part).encode())
        self._direct, self._digests = {}, {}
        self._entries = Entries(cache_folder() / "tidy")

    @staticmethod
    def _add(digest, part):
        digest.update(str(len(part)).encode() + b":" + part)

    def _resolve(self, path, quoted, name):
        roots = (posixpath.dirname(path), *_ROOTS) if quoted else _ROOTS
        for root in roots:
            found = posixpath.normpath(posixpath.join(root, name))
            if found in self._paths:
                return found
        return None

    def _includes(self, path):
        if path not in self._direct:
            found = (self._resolve(path, quoted, name)
                     for _, quoted, name in includes(self._tree.text(path)))
            self._direct[path] = {f for f in found if f}
        return self._direct[path]

    def closure(self, path):
        """The file and everything of the repository that it includes."""
        seen, waiting = set(), [path]
        while waiting:
            if (one := waiting.pop()) not in seen:
                seen.add(one)
                waiting += self._includes(one)
        return seen

    def _digest(self, path):
        if path not in self._digests:
            self._digests[path] = hashlib.sha256(self._tree.text(path).encode()).digest()
        return self._digests[path]

    def _entry(self, path):
        digest = self._how.copy()
        self._add(digest, path.encode())
        for one in sorted(self.closure(path)):
            self._add(digest, one.encode())
            digest.update(self._digest(one))
        return digest.hexdigest()

    def has(self, path):
        return self._entries.has(self._entry(path))

    def add(self, path):
        self._entries.add(self._entry(path))

    def add_unless_found(self, paths, findings):
        """Adds the files that have no finding, neither in them nor in anything that they include. Adds
        none if a finding is in no file of the repository."""
        found = {finding.path for finding in findings}
        for path in paths if found <= self._paths else []:
            if not found & self.closure(path):
                self.add(path)


class PassedAlone(Passed):
    """Knows a file by its own text: the check reads nothing that it includes."""

    def closure(self, path):
        return {path}
