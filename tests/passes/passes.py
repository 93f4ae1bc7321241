#!/usr/bin/env python3
"""passes.py plan|keep BUILD: which tests have passed before, with all that they read as it is now.

plan  writes BUILD/passes/plan.json, the key of each test, and BUILD/passes/run, which ctest reads (-I): the
      numbers of the tests whose key has not passed. Prints how many are left out.
keep  reads the results that ctest wrote (BUILD/times.xml): remembers the keys of those that passed,
      forgets those of the others.

A key is a digest of all that a test can see (CONTRIBUTING.md, "Tests that are not run again"): its command,
properties and environment, the machine's packages, and what it reads. For a program with a list of inputs
(cmake/SemelInputs.cmake) this is the program and its list, for any other test the whole repository."""

import functools
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "tidy"))

from passed import Entries, cache_folder  # noqa: E402
from tree import Tree  # noqa: E402

# They name a session or a place, and no test asks for them. TMPDIR is another folder in each run: what kind of
# disk it is on is a part of the key.
UNSEEN = {"COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL", "SSH_AUTH_SOCK", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY",
          "TMPDIR", "_"}
# ctest begins the long ones first by it.
NO_INPUT = {"COST"}
# Servers are started for those that need them; a benchmark measures this machine at this hour.
ALWAYS = {"servers", "benchmark"}
# Programs that tests look for, which a place before that of the packages may have.
TOOLS = ("python3", "go", "node", "java", "javac", "chromium", "clang++", "c++", "cmake", "ctest")


def is_test_code(path):
    """C++ of test programs alone: no test but those of the style reads it, and it is in none that is installed."""
    if not path.endswith((".cc", ".h")):
        return False
    return (path.startswith("src/") and path.endswith("_test.cc")) or path.startswith(
        ("tests/chaos/", "tests/cli/", "tests/golden/", "tests/producer/", "tests/runner/"))


def _output_of(*command):
    try:
        run = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        return str(error).encode()
    return str(run.returncode).encode() + run.stdout


def _file_of(tool):
    """Which file a program is: the place, size and time of what the shell finds."""
    found = shutil.which(tool)
    if found is None:
        return f"no {tool}"
    about = os.stat(found)
    return f"{tool} {os.path.realpath(found)} {about.st_size} {about.st_mtime_ns}"


def machine():
    """What all tests of this machine have in common."""
    memory = os.environ.get("TMPDIR", "/tmp")
    fetched = cache_folder()
    return [
        _output_of("dpkg-query", "-W", "-f=${Package} ${Version} ${Architecture} ${db:Status-Abbrev}\n"),
        # Those that are no packages too; behind Python may be another one, with packages of its own.
        *map(_file_of, TOOLS), _output_of("python3", "-VV"), _output_of("python3", "-m", "pip", "freeze"),
        platform.platform(), os.cpu_count(), os.getuid(), _output_of("stat", "-f", "-c", "%T", memory),
        # The first Kafka broker that runs leaves its formatted folder there.
        sorted(one.name for one in fetched.iterdir() if "-formatted" not in one.name) if fetched.is_dir() else [],
        *(f"{name}={value}" for name, value in sorted(os.environ.items()) if name not in UNSEEN),
        *(file.read_bytes() for file in (HERE, HERE.parents[1] / "tidy/passed.py", HERE.parents[1] / "tidy/tree.py")),
    ]


class Contents:
    """Digests of files, each read once; `same` tells whether all are as they were."""

    def __init__(self):
        self.seen = {}

    @staticmethod
    def _state(path):
        try:
            about = os.stat(path)
        except OSError:
            return None
        # The last cannot be set back.
        return [about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns]

    def digest(self, path):
        path = str(path)
        if path not in self.seen:
            state = self._state(path)
            try:
                with open(path, "rb") as file:
                    told = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                told = f"unreadable: {error.errno}"
            mode = "x" if os.access(path, os.X_OK) else "-"
            self.seen[path] = [state, mode + told]
        return self.seen[path][1]

    def changed(self):
        """The files that are not as they were when they were read."""
        return {path for path, (state, _) in self.seen.items() if self._state(path) != state}


class Keys:
    """The key of each test, and what it is made of: places, which are files and folders, and the files in them."""

    def __init__(self, tree, facts, contents=None):
        self._tree = tree
        self._root = str(tree.root)
        self._contents = contents or Contents()
        self._facts = hashlib.sha256(repr(facts).encode())

    @property
    def contents(self):
        return self._contents

    @property
    def paths(self):
        return [f"{self._root}/{path}" for path in self._tree.paths]

    @functools.cache
    def _below(self, place):
        """The files of the repository in this place, or the file that it is."""
        if not place.startswith(self._root + "/"):
            return (place,)
        inside = place.removeprefix(self._root + "/")
        below = tuple(f"{self._root}/{path}" for path in self._tree.paths if path.startswith(inside + "/"))
        return below or (place,)

    @functools.cache
    def _listed(self, name):
        """The places of a list of inputs, or None where there is none."""
        try:
            lines = pathlib.Path(name + ".inputs").read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        return (name + ".inputs", *filter(None, lines))

    @functools.cache
    def _files(self, places):
        return tuple(sorted({file for place in places for file in self._below(place)}))

    @functools.cache
    def _everything(self, with_test_code):
        return tuple(f"{self._root}/{path}" for path in self._tree.paths if with_test_code or not is_test_code(path))

    @functools.cache
    def _settings(self, folder):
        """What the build of a folder was configured with."""
        for above in (pathlib.Path(folder), *pathlib.Path(folder).parents):
            if (above / "CMakeCache.txt").is_file():
                return (str(above / "CMakeCache.txt"),)
        return ()

    @functools.cache
    def _digest(self, files):
        digest = hashlib.sha256()
        for path in files:
            digest.update(f"{path}\0{self._contents.digest(path)}\0".encode())
        return digest.hexdigest()

    def of(self, test):
        """The key of a test as ctest describes it, its places and their files; None for one that always runs."""
        command = test.get("command")
        properties = {p["name"]: p["value"] for p in test.get("properties", []) if p["name"] not in NO_INPUT}
        labels = set(properties.get("LABELS", []))
        if not command or labels & ALWAYS:
            return None
        here = properties.get("WORKING_DIRECTORY", "/")
        places = self._listed(command[0]) or self._listed(f"{here}/{test['name']}")
        started = tuple(word for word in command if os.path.isfile(word))
        names = ()
        if places is not None:
            places += started
            files = self._files(places)
        else:
            # The names of all files: a build of the repository may take each that is there.
            places, names = (self._root,), self._tree.paths
            files = self._everything("tidy" in labels) + self._settings(here) + started
        parts = [self._facts.hexdigest(), test["name"], command, sorted(properties.items()), names, self._digest(files)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest(), places, files


def described(build):
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True,
                            text=True)
    return json.loads(listed.stdout)["tests"]


def plan(tests, keys, entries):
    """What keep needs of each test that has a key, and the numbers of the tests that are to run."""
    known, made_of, numbers = {}, [], []
    places_of = {}
    for number, test in enumerate(tests, 1):
        found = keys.of(test)
        if found is None:
            # A server runs where a test needs it: ctest sees to that.
            if not {"FIXTURES_SETUP", "FIXTURES_CLEANUP"} & {p["name"] for p in test.get("properties", [])}:
                numbers.append(number)
            continue
        key, *places = found
        if str(places) not in places_of:
            places_of[str(places)] = len(made_of)
            made_of.append(places)
        known[test["name"]] = [key, places_of[str(places)]]
        if not entries.has(key):
            numbers.append(number)
    return {"tests": known, "made_of": made_of, "files": keys.contents.seen, "paths": keys.paths}, numbers


def write_numbers(file, numbers):
    """As ctest -I reads them."""
    # From 0 to 0: only those that are named.
    file.write_text(",".join(["0", "0", "1", *map(str, numbers)]) + "\n", encoding="utf-8")


def unsure(planned, contents, paths):
    """Which of planned["made_of"] are not, or may not be, as they were."""
    changed = contents.changed() | (set(paths) ^ set(planned["paths"]))
    def is_in(path, places):
        return any(path == place or path.startswith(place + "/") for place in places)
    return {n for n, (places, files) in enumerate(planned["made_of"])
            if not changed.isdisjoint(files) or any(is_in(path, places) for path in changed & set(paths))}


def keep(planned, doubts, results, entries):
    """Remembers what has passed and forgets what has not. Of a test whose files changed during the run nothing is
    known: it may have seen the one or the other."""
    for case in results.iter("testcase"):
        key, made_of = planned["tests"].get(case.get("name"), (None, None))
        if key is None:
            continue
        if case.get("status") != "run":
            entries.remove(key)
        elif made_of not in doubts:
            entries.add(key)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("plan", "keep"):
        sys.exit("usage: passes.py plan|keep BUILD")
    build = pathlib.Path(sys.argv[2]).resolve()
    folder, results = build / "passes", build / "times.xml"
    folder.mkdir(parents=True, exist_ok=True)
    entries = Entries(folder / "entries")
    tree = Tree(HERE.parents[2])
    if sys.argv[1] == "plan":
        tests = described(build)
        planned, numbers = plan(tests, Keys(tree, machine()), entries)
        (folder / "plan.json").write_text(json.dumps(planned))
        write_numbers(folder / "run", numbers)
        results.unlink(missing_ok=True)
        waiting = len(planned["tests"]) - sum(tests[n - 1]["name"] in planned["tests"] for n in numbers)
        print(f"{waiting} of {len(tests)}")
        return
    planned = json.loads((folder / "plan.json").read_text())
    contents = Contents()
    contents.seen = planned["files"]
    doubts = unsure(planned, contents, [f"{tree.root}/{path}" for path in tree.paths])
    keep(planned, doubts, xml.parse(results).getroot(), entries)


if __name__ == "__main__":
    main()
