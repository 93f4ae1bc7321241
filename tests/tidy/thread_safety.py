"""Clang's -Wthread-safety over the code of src/ that locks: what a mutex guards is used with it held."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from rooms import room_of
from tree import Finding, is_test, library_flags, without_noise

OURS = ("src/system/mutex.h", "src/system/shared_mutex.h")
# Locks that the check cannot see through.
_BARE = re.compile(r"\bstd::(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex\b|"
                   r"\bstd::condition_variable\b(?!_any)")
_LOCKS = re.compile(r"\bsystem::(?:Mutex|SharedMutex|MutexLock|RelockableLock|ReaderLock|WriterLock)\b|"
                    r"\bSEMEL_(?:GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRE|RELEASE)")
_TYPE = re.compile(r"^\s*(class|struct) (\w+)\b[^;{]*\{", re.MULTILINE)
_TOLD = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?(?:error|warning): (.*)$", re.MULTILINE)


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


def _check(tree, paths, whole):
    """What Clang finds in these files, read as one."""
    whole.write_text("".join(f'#include "{tree.root / p}"\n' for p in paths))
    run = subprocess.run(
        [compiler(), "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-Wno-everything", "-Wthread-safety",
         "-Wthread-safety-beta", f"-I{tree.root}/include", f"-I{tree.root}/src",
         f"-I{tree.root}", *library_flags(), str(whole)],
        cwd=tree.root, check=False, capture_output=True, text=True)
    findings, broken = [], set()
    for path, line, text in _TOLD.findall(run.stderr):
        shown = os.path.relpath(path, tree.root) if os.path.isabs(path) else path
        findings.append(Finding(shown, int(line), text))
        if "[-W" not in text:
            broken.add(shown)
    if run.returncode != 0 and not findings:
        findings.append(Finding(paths[0], 0, f"clang failed: {run.stderr.strip()[-400:]}"))
    return findings, broken


def _room(tree, paths, scratch, number):
    """The files of a room as one; those that do not compile in company, each alone."""
    whole = pathlib.Path(scratch) / f"room_{number}.cc"
    findings, broken = _check(tree, paths, whole)
    if not broken or len(paths) == 1:
        return findings
    apart = [p for p in paths if p in broken] or paths
    together = [p for p in paths if p not in apart]
    parts = [[p] for p in apart] + ([together] if together else [])
    return [finding for part in parts for finding in _check(tree, part, whole)[0]]


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
    rooms = {}
    for path in _locking(tree):
        rooms.setdefault(room_of(path), []).append(path)
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(_room, tree, paths, scratch, n) for n, paths in enumerate(rooms.values())]
        seen = {finding for run in runs for finding in run.result()}
    yield from sorted(seen, key=str)
