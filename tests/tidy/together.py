"""A compiler or linter over many files as one: reading the standard headers is most of the work, and so
it is done a few times only. A file that has passed is not read again until it changes."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from passed import Passed, versions
from tree import Finding, library_flags

_TOLD = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?(?:error|warning): (.*)$", re.MULTILINE)


def flags(tree):
    """Options of Clang to compile a file of src/."""
    return ["-std=c++20", "-ferror-limit=0", f"-I{tree.root}/include", f"-I{tree.root}/src", f"-I{tree.root}",
            *library_flags()]


def compiler():
    """Clang's name, or None. It comes with clang-tidy."""
    found = [name for name in ("clang++", "clang++-14") if shutil.which(name)]
    return found[0] if found else None


def passed_by(tree, command, *more):
    """The files that have passed this command, in this clone of the repository or in another."""
    words = [word.replace(str(tree.root), "") for word in command("whole")]
    return Passed(tree, words, versions(words[0]), pathlib.Path(__file__).read_bytes(), *more)


def _run(tree, command, is_broken, excused, paths, whole):
    """The findings of one run over these files, and the files that do not compile in it. `whole` is
    where `command` expects the one file."""
    whole.write_text("".join(f'#include "{tree.root / p}"  // NOLINT\n' for p in paths))
    run = subprocess.run(command(whole), cwd=tree.root, check=False, capture_output=True, text=True)
    findings, broken = [], set()
    told = _TOLD.findall(run.stdout + run.stderr)
    for path, line, text in told:
        shown = os.path.relpath(path, tree.root) if os.path.isabs(path) else path
        if excused(shown, text):
            continue
        findings.append(Finding(shown, int(line), text))
        if is_broken(text):
            broken.add(shown)
    if run.returncode != 0 and not told:
        findings.append(Finding(paths[0], 0, f"{command(whole)[0]} failed: {run.stderr.strip()[-400:]}"))
        broken.add(paths[0])
    return findings, broken


def _group(tree, command, is_broken, excused, passed, paths, whole):
    """The findings in these files. Two files of two rooms may use one local name: those that do not
    compile behind the others are read apart."""
    findings, broken = _run(tree, command, is_broken, excused, paths, whole)
    if not broken:
        passed.add_unless_found(paths, findings)
    if not broken or len(paths) == 1:
        return findings
    print(f"{len(paths)} files are read again: {', '.join(sorted(broken))} does not compile behind the others")
    good = [p for p in paths if p not in broken]
    apart = [p for p in paths if p in broken]
    groups = [good, apart] if good and apart else [[p] for p in paths]
    return [f for group in groups for f in _group(tree, command, is_broken, excused, passed, group, whole)]


def read_together(tree, groups, command, is_broken, passed, excused):
    """Yields the findings in all groups of files. `command` makes the tool's command line for one file;
    `is_broken` tells whether a message means that the file does not compile, `excused(path, text)` whether it is none. Adds to `passed`."""
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(_group, tree, command, is_broken, excused, passed, group,
                            pathlib.Path(scratch) / f"group_{n}.cc")
                for n, group in enumerate(groups) if group]
        seen = {finding for run in runs for finding in run.result()}
    yield from sorted(seen, key=str)
