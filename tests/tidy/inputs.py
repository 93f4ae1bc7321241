"""Tests have the files of the repository, and the programs of the build, only by ways that list them as inputs."""

import re

from tree import Finding, is_test, without_noise

_DEFINES = re.compile(r"target_compile_definitions\([^)]*\)|COMPILE_DEFINITIONS\b[^)]*\)")
_FOLDER = re.compile(r"_(?:SOURCE|BINARY|LIST)_DIR\b")
_PROGRAM = re.compile(r"\$<TARGET_(?:FILE|OBJECTS|LINKER_FILE|SONAME_FILE)")
# What test::input() is made of.
_ITS_OWN = 'target_compile_definitions(semel_test_support PRIVATE SEMEL_ROOT="${PROJECT_SOURCE_DIR}")'
_COMPILED_IN = re.compile(r"\b__FILE__\b|\b__builtin_FILE\b|\bsource_location\b")


def inputs(tree):
    """No test knows a place that its list of inputs has not got (cmake/SemelInputs.cmake)."""
    for path in tree.code("src", "tests"):
        if not is_test(path):
            continue
        for match in _COMPILED_IN.finditer(without_noise(tree.text(path))):
            line = tree.text(path).count("\n", 0, match.start()) + 1
            yield Finding(path, line, "a file of the repository is read by test::input(), which lists it")
    for path in tree.paths:
        if not path.startswith(("src/", "tests/")) or not path.endswith("CMakeLists.txt"):
            continue
        text = tree.text(path)
        for match in _DEFINES.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match[0] != _ITS_OWN and _FOLDER.search(match[0]):
                yield Finding(path, line, "semel_test_reads() and test::input() give a test a file of the repository")
            elif _PROGRAM.search(match[0]):
                yield Finding(path, line, "semel_test_starts() gives a test a program of the build")
