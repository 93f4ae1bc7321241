#!/usr/bin/env python3
"""A test runs again where anything that it reads has changed, and after each failure."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml

import passes
import inputs
from passed import Entries
from tree import Tree

PASSED = '<testsuite><testcase name="{}" status="run"/></testsuite>'
FAILED = '<testsuite><testcase name="{}" status="fail"/></testsuite>'
SKIPPED = '<testsuite><testcase name="{}" status="notrun"/></testsuite>'


class Passes(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.entries = Entries(self.root / "build/passes")
        self.facts = ["a machine"]
        for name in ("docs/page.md", "docs/other.md", "spec/keys.json", "src/core/a.cc", "src/core/a_test.cc",
                     "tests/cli/run_test.cc", "tests/cli/redis/semel.yaml", "examples/one/run"):
            self.write(name, name)
        self.write("build/unit", "its bytes")
        self.write("build/started", "bytes of another program")
        self.write("build/unit.inputs", f"{self.root}/spec\n{self.root}/docs/page.md\n{self.root}/build/started\n")
        self.write("build/CMakeCache.txt", "settings")
        self.write("build/run.inputs", f"{self.root}/tests/cli/redis\n")
        self.unit = self.a_test("asan:unit.1", [f"{self.root}/build/unit"])
        self.script = self.a_test("example.one", ["/bin/sh", f"{self.root}/examples/one/run"])
        self.tidy = self.a_test("tidy.words", ["/bin/true"], LABELS=["tidy"])
        self.listed = self.a_test("run", ["/bin/true"], WORKING_DIRECTORY=f"{self.root}/build")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def a_test(self, name, command, **properties):
        properties = {"WORKING_DIRECTORY": f"{self.root}/build/tests", "TIMEOUT": 120.0, **properties}
        return {"name": name, "command": command,
                "properties": [{"name": n, "value": v} for n, v in properties.items()]}

    def tree(self):
        return Tree(self.root)

    def planned(self, *tests):
        return passes.plan(tests, passes.Keys(self.tree(), self.facts), self.entries)

    def waits(self, *tests):
        """Whether each of these tests is to run."""
        numbers = self.planned(*tests)[1]
        return [n in numbers for n in range(1, len(tests) + 1)]

    def after(self, result, test, meanwhile=lambda: None):
        """A run of this test with this result."""
        planned, _ = self.planned(test)
        meanwhile()
        contents = passes.Contents()
        contents.seen = planned["files"]
        doubts = passes.unsure(planned, contents, [f"{self.root}/{path}" for path in self.tree().paths])
        passes.keep(planned, doubts, xml.fromstring(result.format(test["name"])), self.entries)

    def passes_unless(self, test, change):
        self.after(PASSED, test)
        self.assertEqual(self.waits(test), [False], "it has passed")
        change()
        self.assertEqual(self.waits(test), [True])

    def test_a_test_runs_until_it_has_passed(self):
        self.assertEqual(self.waits(self.unit, self.script, self.tidy), [True] * 3)
        for result in (FAILED, SKIPPED):
            self.after(result, self.unit)
            self.assertEqual(self.waits(self.unit), [True], result)
        self.after(PASSED, self.unit)
        self.assertEqual(self.waits(self.unit, self.script), [False, True])

    def test_a_failure_forgets_the_pass(self):
        self.after(PASSED, self.unit)
        self.after(FAILED, self.unit)
        self.assertEqual(self.waits(self.unit), [True])

    def test_a_change_of_what_a_program_reads(self):
        for name in ("build/unit", "build/started", "spec/keys.json", "docs/page.md", "spec/new.json"):
            with self.subTest(name):
                self.passes_unless(self.unit, lambda name=name: self.write(name, "changed"))
        self.passes_unless(self.unit, lambda: (self.root / "build/unit").chmod(0o755))
        self.passes_unless(self.unit, lambda: (self.root / "spec/keys.json").unlink())
        self.passes_unless(self.unit, lambda: self.write("build/unit.inputs", f"{self.root}/docs\n"))
        self.after(PASSED, self.unit)
        self.write("src/core/a.cc", "no program is made of it yet")
        self.write("tests/cli/run_test.cc", "it is of another one")
        self.assertEqual(self.waits(self.unit), [False])

    def test_back_again_is_as_before(self):
        self.after(PASSED, self.unit)
        self.write("spec/keys.json", "changed")
        self.assertEqual(self.waits(self.unit), [True])
        self.write("spec/keys.json", "spec/keys.json")
        self.assertEqual(self.waits(self.unit), [False])

    def test_a_script_reads_the_repository(self):
        for name in ("src/core/a.cc", "docs/other.md", "examples/one/run", "build/CMakeCache.txt", "examples/two/run"):
            with self.subTest(name):
                self.passes_unless(self.script, lambda name=name: self.write(name, "changed"))
        self.after(PASSED, self.script)
        self.after(PASSED, self.tidy)
        for name in ("src/core/a_test.cc", "tests/cli/run_test.cc"):
            self.write(name, "changed")
        self.assertEqual(self.waits(self.script, self.tidy), [False, True], "the style of tests is looked at too")
        self.passes_unless(self.script, lambda: (self.root / "src/core/a_test.cc").unlink())

    def test_a_script_with_a_list(self):
        self.passes_unless(self.listed, lambda: self.write("tests/cli/redis/semel.yaml", "changed"))
        self.after(PASSED, self.listed)
        self.write("docs/page.md", "changed")
        self.assertEqual(self.waits(self.listed), [False])

    def test_how_it_is_run(self):
        self.after(PASSED, self.unit)
        command = [*self.unit["command"], "--gtest_filter=A.*"]
        self.assertEqual(self.waits(self.a_test("asan:unit.1", command)), [True])
        self.assertEqual(self.waits(self.a_test("asan:unit.2", self.unit["command"])), [True])
        self.assertEqual(self.waits(self.a_test("asan:unit.1", self.unit["command"], ENVIRONMENT=["A=1"])), [True])
        self.assertEqual(self.waits(self.a_test("asan:unit.1", self.unit["command"], COST=9.0)), [False])
        self.facts = ["another machine"]
        self.assertEqual(self.waits(self.unit), [True])

    def test_the_machine(self):
        def told(**environment):
            with unittest.mock.patch.dict(os.environ, environment):
                return passes.machine()
        before = told()
        self.assertEqual(told(OLDPWD="/another", SHLVL="9"), before)
        self.assertNotEqual(told(SEMEL_TEST_SEED="7"), before)
        self.assertNotEqual(told(TMPDIR="/proc"), before)
        cache = self.root / "cache"
        (cache / "semel-tests").mkdir(parents=True)
        empty = told(XDG_CACHE_HOME=str(cache))
        (cache / "semel-tests/mysql-9").mkdir()
        self.assertNotEqual(told(XDG_CACHE_HOME=str(cache)), empty)

    def test_what_changes_during_the_run(self):
        self.after(PASSED, self.unit, lambda: self.write("spec/keys.json", "changed"))
        self.assertEqual(self.waits(self.unit), [True])
        self.write("spec/keys.json", "spec/keys.json")
        self.assertEqual(self.waits(self.unit), [True], "which one it has seen is not known")
        self.after(PASSED, self.unit, lambda: self.write("spec/new.json", "new"))
        (self.root / "spec/new.json").unlink()
        self.assertEqual(self.waits(self.unit), [True])
        self.after(PASSED, self.unit, lambda: self.write("docs/other.md", "is not its own"))
        self.assertEqual(self.waits(self.unit), [False])
        self.after(PASSED, self.script, lambda: self.write("docs/third.md", "new"))
        (self.root / "docs/third.md").unlink()
        self.assertEqual(self.waits(self.script), [True])

    def test_another_clone(self):
        self.after(PASSED, self.unit)
        self.after(PASSED, self.script)
        with tempfile.TemporaryDirectory() as other:
            shutil.copytree(self.root, other, dirs_exist_ok=True)
            root, self.root = self.root, pathlib.Path(other)
            moved = [{**test, "command": [word.replace(str(root), other) for word in test["command"]]}
                     for test in (self.unit, self.script)]
            self.assertEqual(self.waits(*moved), [True, True])
            self.root = root

    def test_what_always_runs(self):
        absent = {"name": "not built", "properties": []}
        benchmark = self.a_test("benchmark.core", self.unit["command"], LABELS=["benchmark"])
        server = self.a_test("servers.redis.up", self.unit["command"], LABELS=["servers"], FIXTURES_SETUP=["redis"])
        for test in (absent, benchmark, server):
            self.after(PASSED, test)
        # ctest starts the server where a test needs it.
        self.assertEqual(self.waits(absent, benchmark, server), [True, True, False])
        self.assertEqual(self.planned(server)[0]["tests"], {})

    def refused(self, part, path, text):
        self.write(path, text)
        findings = [str(finding) for finding in inputs.inputs(Tree(self.root, [path]))]
        self.assertEqual([part in finding for finding in findings], [True] if part else [], findings)

    def test_no_other_way_to_a_file(self):
        self.refused("test::input", "src/core/b_test.cc", "auto f = __FILE__;\n")
        self.refused(None, "src/core/b.cc", "auto f = __FILE__;\n")
        self.refused("semel_test_reads", "tests/x/CMakeLists.txt",
                     'target_compile_definitions(semel_x PRIVATE\n  PLACE="${CMAKE_CURRENT_SOURCE_DIR}/y")\n')
        self.refused("semel_test_starts", "src/x/CMakeLists.txt",
                     'target_compile_definitions(semel_x PRIVATE P="$<TARGET_FILE:semel_cli>")\n')
        self.refused("semel_test_starts", "tests/y/CMakeLists.txt",
                     'set_source_files_properties(a.cc PROPERTIES COMPILE_DEFINITIONS "P=$<TARGET_FILE:a>")\n')
        self.refused(None, "tests/z/CMakeLists.txt", 'target_compile_definitions(semel_x PRIVATE A="b")\n'
                     "add_test(NAME a COMMAND ${PROJECT_SOURCE_DIR}/a)\n")
        self.refused(None, "tests/support/CMakeLists.txt",
                     'target_compile_definitions(semel_test_support PRIVATE SEMEL_ROOT="${PROJECT_SOURCE_DIR}")\n')

    def test_in_ctest(self):
        """The real one: numbers, results and fixtures are read as they are written."""
        build = self.root / "build"
        self.write("build/CTestTestfile.cmake", "\n".join((
            'add_test(good "/bin/true")', 'add_test(bad "/bin/false")', 'add_test(up "/bin/true")',
            'set_tests_properties(up PROPERTIES FIXTURES_SETUP server LABELS servers)',
            'add_test(last "/bin/true")', 'set_tests_properties(last PROPERTIES FIXTURES_REQUIRED server)', "")))

        def run():
            planned, numbers = passes.plan(passes.described(build), passes.Keys(self.tree(), self.facts), self.entries)
            passes.write_numbers(build / "numbers", numbers)
            told = subprocess.run(["ctest", "--test-dir", str(build), "-I", str(build / "numbers"), "--output-junit",
                                   "times.xml"], check=False, capture_output=True, text=True).stdout
            passes.keep(planned, set(), xml.parse(build / "times.xml").getroot(), self.entries)
            return {name for name in ("good", "bad", "up", "last") if f": {name} ." in told}
        self.assertEqual(run(), {"good", "bad", "up", "last"})
        self.assertEqual(run(), {"bad"})
        (self.root / "spec/keys.json").write_text("changed")
        self.assertEqual(run(), {"good", "bad", "up", "last"})


if __name__ == "__main__":
    sys.exit(unittest.main())
