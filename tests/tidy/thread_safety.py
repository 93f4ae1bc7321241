"""Clang's -Wthread-safety over the code of src/ that locks: what a mutex guards is used with it held."""

import re
import shutil

from rooms import room_of
from together import flags, passed_by, read_together
from tree import Finding, is_test, without_noise

OURS = ("src/system/mutex.h", "src/system/shared_mutex.h")
# Locks that the check cannot see through.
_BARE = re.compile(r"\bstd::(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex\b|"
                   r"\bstd::condition_variable\b(?!_any)")
_LOCKS = re.compile(r"\bsystem::(?:Mutex|SharedMutex|MutexLock|RelockableLock|ReaderLock|WriterLock)\b|"
                    r"\bSEMEL_(?:GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRE|RELEASE)")
_TYPE = re.compile(r"^\s*(class|struct) (\w+)\b[^;{]*\{", re.MULTILINE)


def compiler():
    """Clang's name, or None. It comes with clang-tidy."""
    found = [name for name in ("clang++", "clang++-14") if shutil.which(name)]
    return found[0] if found else None


def _guarded(tree):
    """A pattern for each room: the uses of its types that have guarded fields. A class is used by its
    members, a struct by everybody."""
    types = {}
    for path in tree.code("src"):
        if path.endswith(".h") and "SEMEL_GUARDED_BY" in tree.text(path):
            for kind, name in _TYPE.findall(without_noise(tree.text(path))):
                types.setdefault(room_of(path), []).append(name + (r"\b" if kind == "struct" else "::"))
    return {room: re.compile(r"\b(?:" + "|".join(names) + ")") for room, names in types.items()}


def _locking(tree):
    """The files that lock, or that use what is guarded. All others can break no rule."""
    guarded = _guarded(tree)
    for path in tree.code("src"):
        if is_test(path) or path in OURS:
            continue
        text, used = tree.text(path), guarded.get(room_of(path))
        if _LOCKS.search(text) or (path.endswith(".cc") and used and used.search(text)):
            yield path


def thread_safety(tree):
    """No bare mutex in src/, and no field used without the mutex that guards it."""
    for path in tree.code("src"):
        if path in OURS or is_test(path):
            continue
        for number, code in enumerate(without_noise(tree.text(path)).split("\n"), 1):
            if match := _BARE.search(code):
                yield Finding(path, number, f"{match.group(0)}: take its like in {' or '.join(OURS)}")
    if compiler() is None:
        yield Finding("tests/tidy/thread_safety.py", 0, "needs clang++, which comes with clang-tidy")
        return

    def command(whole):
        return [compiler(), "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta",
                *flags(tree), str(whole)]
    passed, rooms = passed_by(tree, command), {}
    for path in _locking(tree):
        if not passed.has(path):
            rooms.setdefault(room_of(path), []).append(path)
    yield from read_together(tree, rooms.values(), command, lambda text: "[-W" not in text, passed)
