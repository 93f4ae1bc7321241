"""Every check finds what it is there to find, and leaves alone what is fine."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import docs  # which finds the modules of docs/site
import comments as reference_comments
import links
import lint
import misuses
import pages
import passed
import results
import rooms
import style
import thread_safety
import truth
import truth_numbers
import unity
from tree import Tree

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LONG_BODY = "".join(f"  use({n});\n" for n in range(style.FUNCTION_LINES))


class Checks(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        cache = unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.root / "cache"))
        cache.start()
        self.addCleanup(cache.stop)
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(REPOSITORY / name, self.root / name)

    def tree(self, **files):
        """A tree of these files; `__` in a name stands for a slash."""
        paths = []
        for name, text in files.items():
            path = name.replace("__", "/")
            stem, _, ending = path.rpartition("_")
            paths.append(f"{stem}.{ending}")
            target = self.root / paths[-1]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return Tree(self.root, paths)

    def found(self, check, **files):
        """The findings of `check` in a tree of these files."""
        tree = self.tree(**files)
        with contextlib.redirect_stderr(io.StringIO()):
            return [str(f) for f in check(tree)]

    def refused(self, check, part, **files):
        findings = self.found(check, **files)
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(part, findings[0])

    def fine(self, check, **files):
        self.assertEqual(self.found(check, **files), [])

    def test_layering(self):
        self.refused(rooms.layering, "core may not know engine",
                     src__core__a_h='#include "engine/engine.h"\n')
        self.refused(rooms.layering, "sources may not know stores/sqlite",
                     src__sources__a_cc='#include "stores/sqlite/schema.h"\n')
        self.refused(rooms.layering, "only <semel", include__semel__a_h='#include "core/b.h"\n')
        self.refused(rooms.layering, "names no room", src__core__a_cc='#include "b.h"\n')
        self.refused(rooms.layering, "is in no room", src__attic__a_cc="")
        self.fine(rooms.layering, src__engine__a_cc='#include "core/b.h"\n#include "engine/c.h"\n',
                  src__cli__main_cc='#include "compose/compose.h"\n',
                  src__core__b_test_cc='#include "tests/support/c.h"\n')

    def test_third_party(self):
        self.refused(rooms.third_party, "belongs to src/base/",
                     src__sources__a_cc="#include <simdjson.h>\n")
        self.refused(rooms.third_party, "belongs to src/stores/sqlite/",
                     src__cli__a_cc="#include <sqlite3.h>\n")
        self.refused(rooms.third_party, "in a header", src__config__a_h="#include <yaml-cpp/yaml.h>\n")
        self.refused(rooms.third_party, "alone", include__semel__a_h="#include <fmt/format.h>\n")
        self.refused(rooms.third_party, "has no owner", src__core__a_cc="#include <boost/any.hpp>\n")
        self.fine(rooms.third_party, src__stores__sqlite__a_cc="#include <sqlite3.h>\n#include <vector>\n",
                  src__core__a_test_cc="#include <gtest/gtest.h>\n",
                  include__semel__result_h="#include <tl/expected.hpp>\n")

    def test_twins(self):
        of = "namespace semel::a {{\n{}\n}}  // namespace semel::a\n".format
        unnamed = "namespace {{\n{}\n}}  // namespace\n".format
        self.refused(rooms.twins, "semel::a::B is in src/x/a.h too",
                     src__x__a_h=of("struct B {"), src__y__b_cc=of("class B final : public C {"))
        self.refused(rooms.twins, "semel::a::B is in src/x/a.h too", src__x__a_h=of("struct B {"),
                     src__y__b_h=of('class SEMEL_CAPABILITY("a lock") [[nodiscard]] B {'))
        self.fine(rooms.twins, src__x__a_h=of("struct B {"), src__y__b_cc=of(unnamed("struct B {")),
                  src__z__c_h=of("struct B;\nstruct B make(int);").replace("::a", "::c"),
                  src__y__d_test_cc=of("struct B {"))

    def test_purity(self):
        self.refused(rooms.purity, "<mutex>", src__core__a_h="#include <mutex>\n")
        self.refused(rooms.purity, "<fstream>", src__base__a_cc="#include <fstream>\n")
        self.refused(rooms.purity, "::now", src__core__a_cc="auto t = std::chrono::system_clock::now();\n")
        self.refused(rooms.purity, "getenv", src__base__a_cc='auto x = getenv("HOME");\n')
        self.refused(rooms.purity, "std::mutex", src__core__a_cc="std::mutex m;\n")
        self.fine(rooms.purity, src__core__a_cc='// std::mutex\nauto s = "getenv(";\n#include <map>\n',
                  src__core__a_test_cc="#include <thread>\n", src__engine__a_cc="#include <mutex>\n")

    def test_lengths(self):
        self.refused(style.file_length, f"{style.FILE_LINES + 1} lines",
                     src__core__a_cc="int x;\n" * (style.FILE_LINES + 1))
        self.fine(style.file_length, src__core__a_cc="int x;\n" * style.FILE_LINES)
        self.refused(style.function_length, "72 lines",
                     src__core__a_cc="namespace a {\nvoid f(\n    int x) {\n" + LONG_BODY + "}\n}\n")
        self.refused(style.function_length, "72 lines",
                     src__core__a_cc="struct A final : B {\n  A() : b_{1} {\n" + LONG_BODY + "  }\n};\n")
        self.refused(style.function_length, "a function of",
                     tests__a_test_cc="TEST(A, B) {\n  if (x) {\n" + LONG_BODY + "  }\n}\n")
        self.fine(style.function_length, src__core__a_cc=(
            "namespace a {\nclass A {\n" + "  void f() { g(); }  // }\n" * 200 + "};\n"
            "const int kTable[] = {\n" + "  1,\n" * 200 + "};\n" + "void h() {}\n" * 100 + "}\n"))

    def test_layout(self):
        self.refused(style.layout, "clang-format", src__core__a_cc="int  x ;\n")
        self.fine(style.layout, src__core__a_cc="int x;\n")
        # Each by its own text, whatever it includes.
        files = {"src__core__a_cc": '#include "core/a.h"\n', "src__core__a_h": "int  x ;\n", "src__core__b_cc": "int y;\n"}
        for files["src__core__a_h"], findings, runs in (("int  x ;\n", 1, 3), ("int  x ;\n", 1, 1), ("int x;\n", 0, 1),
                                                        ("int x;\n", 0, 0)):
            found, started = self.checked(style.layout, "clang-format", **files)
            self.assertEqual((len(found), started), (findings, min(runs, os.cpu_count())), found)

    def test_words(self):
        unfinished, path, bare = "TO" + "DO later", "see /wo" + "rk/x", "exactly" + " once"
        self.refused(style.words, "issue", src__core__a_cc=f"// {unfinished}\n")
        self.refused(style.words, "one machine", docs__a_md=path)
        self.refused(style.words, "under which faults", docs__a_md=f"It happens {bare}.")
        self.fine(style.words, docs__a_md=f'The words "{bare}" mean nothing; see docs/work/a.')

    def test_shell(self):
        self.refused(style.shell, "lacks", a_sh="#!/bin/bash\ntrue\n")
        self.refused(style.shell, "SC2086", a_sh='#!/bin/bash\nset -euo pipefail\nrm $1\n')
        self.fine(style.shell, a_sh='#!/bin/bash\nset -euo pipefail\nrm "$1"\n')

    def test_headers(self):
        self.refused(style.headers, "does not compile alone",
                     include__semel__a_h="#pragma once\nstd::vector<int> f();\n")
        self.refused(style.headers, "#pragma once", include__semel__a_h="int f();\n")
        self.fine(style.headers, include__semel__a_h="#pragma once\n#include <vector>\nstd::vector<int> f();\n")

    def test_docs(self):
        page = "Text.\n\n<!-- examples/a.yaml -->\n```yaml\nb: 1\nc: 2\n```\n"
        self.fine(docs.docs, docs__a_md=page, examples__a_yaml="a: 0\n\n  b: 1\n  c: 2\nd: 3\n")
        self.refused(docs.docs, "differs from", docs__a_md=page, examples__a_yaml="b: 1\nd: 0\nc: 2\n")
        self.refused(docs.docs, "is not there", docs__a_md=page)
        self.refused(docs.docs, "without", docs__a_md="```cpp\nint x;\n```\n")
        self.refused(docs.docs, "leads nowhere", docs__a_md="See [it](nothing.md).\n")
        self.refused(docs.docs, "180 at most", README_md="x\n" * 181)

    def test_navigation(self):
        nav = "# D\n\n## A\n\n- [B](b.md): as [c](c.md)\n- More: [D](d/d.md),\n  [E](../e.md)\n"
        self.fine(docs.navigation, docs__README_md=nav, docs__b_md="", docs__d__d_md="", e_md="", f_md="")
        self.refused(docs.navigation, "docs/f.md:1: is not in docs/README.md", docs__README_md=nav, docs__b_md="",
                     docs__d__d_md="", e_md="", docs__f_md="")
        self.refused(docs.navigation, "docs/d/d.md is not there", docs__README_md=nav, docs__b_md="", e_md="")
        self.assertEqual(docs.site.sections(nav), [("A", [(None, "B", "docs/b.md"), ("More", "D", "docs/d/d.md"),
                                                          ("More", "E", "e.md")])])

    def test_sentences(self):
        self.refused(docs.sentences, 'docs/a.md:2: a sentence that begins with "What"', docs__a_md="One.\nWhat waits, waits.\n")
        self.refused(docs.sentences, '"Of"', README_md="- Of several, the first.\n")
        self.refused(docs.sentences, '"Who"', README_md="One. Who waits\nis late.\n")
        self.fine(docs.sentences, README_md="## What it is\n\nWhat is it? This, and what it does.\n\n| What it is |\n|---|\n",
                  docs__a_md="```\nWhat waits.\n```\n", src__a_md="What waits.\n")
        self.refused(docs.sentences, 'src/a.h:2: a sentence that begins with "What"', src__a_h="int a;\n// What waits.\n")
        self.refused(docs.sentences, 'src/a.h:2: a sentence that begins with "Of"', src__a_h="// One.\n// Of these.\n")
        self.refused(docs.sentences, '"Those"', src__a_h="int a;  // Those that wait\n")
        self.refused(docs.sentences, 'src/a.h:2: ', src__a_h="int a;  // one\n// Who waits, waits.\nint b;\n")
        self.fine(docs.sentences, src__a_h="int a;  // one\n        // What it was\n")
        self.fine(docs.sentences, src__a_h="// It keeps\n// What it was.\n// What is it?\nauto a = \"// What waits\";\n")

    def test_links_of_the_site(self):
        page = '<h1 id="a">A</h1><a href="{}">b</a>'
        self.tree(index_html=page.format("b/c.html#b"), b__c_html='<p id="b"><a href="../index.html#a">')
        self.assertEqual(links.broken(self.root), [])
        for link, said in (("b/d.html", "leads nowhere"), ("b/c.html#c", "no such anchor"), ("#b", "no such anchor"),
                           ("b/", "leads nowhere")):
            self.tree(index_html=page.format(link))
            (found,) = links.broken(self.root)
            self.assertEqual(found, f"index.html: {link} {said}".replace("no such", "has no such"))
        self.assertEqual(links.broken(self.root, skip="index.html"), [])

    def test_comments_for_the_reference(self):
        header = "// A.\n//\n//   f();\n#include <a>  // as b\n// Of f.\nint f();  // One,\n          // two.\n  // Of g.\n"
        self.assertEqual(reference_comments.converted(header),
                         "/// @file\n/// A.\n///\n///     f();\n#include <a>  // as b\n/// Of f.\n"
                         "int f();  ///< One,\n          ///< two.\n  /// Of g.\n")

    def test_pages_of_the_site(self):
        self.tree(README_md="One\n- [two](a/)\n\n```\n[kept](a/)\n```\n", a__README_md="[b](b.yaml#c)\n",
                  a__b_yaml="c: 1\n")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        site = self.root / "staged"
        pages.stage(self.root, site)
        self.assertEqual((site / "README.md").read_text(),
                         "One\n\n- [two](a/README.md)\n\n```\n[kept](a/)\n```\n")
        self.assertEqual((site / "a/README.md").read_text(), "[b](b.yaml.md#c)\n")
        self.assertIn("c: 1", (site / "a/b.yaml.md").read_text())

    def test_cited_files(self):
        self.refused(truth.cited_files, "b.h is not there", src__core__a_h="// As b.h says.\n")
        self.refused(truth.cited_files, "tests/core/b_suite is not there",
                     include__semel__a_h="#pragma once\n// Every store runs tests/core/b_suite.\n")
        self.refused(truth.cited_files, "a.md:2: docs/b.md is not there", docs__a_md="One.\nSee `docs/b.md`.\n")
        # A file of that name elsewhere is another file.
        self.refused(truth.cited_files, "b.cc is not there", src__core__a_cc="/* see\n   b.cc */\n",
                     src__engine__b_cc="")
        self.fine(truth.cited_files, src__core__b_h="", src__engine__c_h="", include__semel__d_h="", docs__e_md="",
                  src__core__a_h="// b.h, engine/c.h, semel/d.h, src/core, docs/e.md and <gone.h>.\n",
                  src__core__f_cc='auto name = "gone.h";\n', docs__g_md="```\ngone.cc\n```\n",
                  src__core__CMakeLists_txt="# From tests/support/fetch_NAME: src/core/b.h.\n")

    def test_cited_names(self):
        self.refused(truth.cited_names, "kGone is nowhere", src__core__a_h="int f();  // kGone by f()\n")
        self.refused(truth.cited_names, "gone is nowhere", src__core__a_h="// Calls gone().\n")
        self.refused(truth.cited_names, "gone is nowhere", src__core__a_h="struct A {};\n// A::gone.\n")
        self.refused(truth.cited_names, "gone_too is nowhere", src__core__a_h="// gone_too\n",
                     docs__a_md="gone_too", src__core__b_h="// gone_too\n".replace("gone_too", "it"))
        self.refused(truth.cited_names, "docs/a.md:2: gone_field is", docs__a_md="A word.\nSee `gone_field`.\n")
        self.fine(truth.cited_names, docs__a_md="gone_field, `Gone` and `lease`.\n```\n`gone_field`\n```\n")
        self.fine(truth.cited_names, src__core__b_cc='auto sql = "lease_until";\nvoid kept();\n',
                  src__core__a_h="// kept() sets `lease_until`.\n")

    def test_cited_rules(self):
        rule = '<a id="rule-1"></a>\n### 1. A\n\nB.\n\nTests:\n- `tests/a_test.cc`: `A.B`\n'
        test, cites = "TEST_P(A, B) {\n", "// C (docs/contract.md,\n// rule 1).\n"
        self.fine(truth.cited_rules, docs__contract_md=rule, tests__a_test_cc=test, src__core__a_h=cites)
        self.refused(truth.cited_rules, "has no rule 2", docs__contract_md=rule, tests__a_test_cc=test,
                     src__core__a_h=cites.replace("rule 1", "rule 2"))
        self.refused(truth.cited_rules, "of what?", docs__contract_md=rule, tests__a_test_cc=test,
                     src__core__a_h="// D (contract, rule 1).\n")
        self.refused(truth.cited_rules, "by its path", docs__contract_md=rule, tests__a_test_cc=test,
                     src__core__a_h="// As the design document says.\n")
        self.refused(truth.cited_rules, "has no test A.B", docs__contract_md=rule, tests__a_test_cc="TEST(A, Bc) {\n",
                     src__core__a_h="")
        self.refused(truth.cited_rules, "tests/a_test.cc is not there", docs__contract_md=rule, src__core__a_h="")
        self.refused(truth.cited_rules, "without its tests", src__core__a_h="",
                     docs__contract_md=rule.split("Tests:")[0])
        self.refused(truth.cited_rules, "where rule 1 should", tests__a_test_cc=test, src__core__a_h="",
                     docs__contract_md=rule.replace("rule-1", "rule-2"))

    def test_anchors(self):
        page = '# A\n\n## On a `cluster`\n\n<a id="b"></a>\n'
        self.fine(truth.anchors, docs__a_md=page, docs__c_md="[x](a.md#on-a-cluster), [y](a.md#b), [z](a.md).\n")
        self.refused(truth.anchors, "docs/a.md has no anchor #c", docs__a_md=page, docs__c_md="[x](a.md#c)\n")
        self.refused(truth.anchors, "has no anchor #d", docs__a_md=page + "[x](#d)\n")

    def test_room_rows(self):
        but = sorted(set(rooms.KNOWS) - rooms.KNOWS["compose"] - {"compose"})
        said = {"base": "the contract", "compose": f"all but {', '.join(but)}", "cli": "all"}
        rows = [f"| `src/{room}` | x | {said.get(room, ', '.join(sorted(known)))} |"
                for room, known in rooms.KNOWS.items()]
        files = {f"src__{room.replace('/', '__')}__a_cc": "" for room in rooms.KNOWS}
        page = "\n".join(["| room | does | may know |", "|---|---|---|", *rows, ""])
        self.fine(truth.room_rows, ARCHITECTURE_md=page, **files)
        self.refused(truth.room_rows, "src/guard has no row", **files,
                     ARCHITECTURE_md="\n".join(r for r in page.split("\n") if "`src/guard`" not in r))
        self.refused(truth.room_rows, "differs in strategies", **files,
                     ARCHITECTURE_md=page.replace("| `src/tap` | x | ", "| `src/tap` | x | strategies, "))
        self.refused(truth.room_rows, "src/attic is no room", **files,
                     ARCHITECTURE_md=page + "| `src/attic` | x | core |\n")
        del files["src__guard__a_cc"]
        self.refused(truth.room_rows, "src/guard is not there", ARCHITECTURE_md=page, **files)

    def test_bare_numbers(self):
        for said in ("spread over 256 slots", "waits 5 ms", "half a second later", "at most 12", "Default is 8",
                     "after 3 attempts", "keeps 64KiB", "in two seconds", "about once a second", "at a third of its length"):
            self.refused(truth_numbers.bare_numbers, "name the constant", src__core__a_h=f"int f();  // {said}\n")
        self.fine(truth_numbers.bare_numbers, src__core__a_h=(
            '// Shows "20s" as `20 s`; 0: none; counts from 1; a 64-bit number; port 5432.\n'
            "// 4 bytes (RFC 9562).\n\n//   head: 1 version · 16 bytes of key\n"),
            src__core__a_test_cc="// waits 5 ms\n", tests__b_cc="// 3 messages\n")

    def test_page_defaults(self):
        rows = "| `consumers[].in_flight.held` | integer | `10000` |  | Kept. |\n"
        self.fine(truth_numbers.page_defaults, docs__config_md=rows,
                  docs__a_md="`in_flight.held` (10000) and `b` (3)\n")
        self.refused(truth_numbers.page_defaults, "is not 5000", docs__config_md=rows,
                     docs__a_md="`in_flight.held` (5000)\n")

    def test_page_facts(self):
        page, said, file, code = truth_numbers.FACTS[0]
        of = {page.replace("/", "__").replace(".md", "_md"):
              "\n".join(words for where, words, _, _ in truth_numbers.FACTS if where == page),
              file.replace("/", "__").replace(".h", "_h"):
              "\n".join(value for _, _, where, value in truth_numbers.FACTS if where == file)}
        self.fine(truth_numbers.page_facts, **of)
        self.refused(truth_numbers.page_facts, "no longer has",
                     **{name: text.replace(code, "") for name, text in of.items()})
        self.refused(truth_numbers.page_facts, "no longer says",
                     **{name: text.replace(said, "") for name, text in of.items()})
    def test_unity(self):
        room, of = "semel_room(a)\n", "namespace semel::a {{\nnamespace {{\n\n{}\n}}  // namespace\n\n{}}}  // namespace semel::a\n".format
        for one, other in (
                ("int f() { return 1; }\n", "int f(long x) {\n  return x;\n}\n"),
                ("std::vector<std::pair<int, int>> f(\n    int x) {\n}\n", "[[noreturn]] void f(std::string) {\n}\n"),
                ("constexpr int kOne = 1;\n", "const char* const kOne[] = {\n    \"}\",\n};\n"),
                ("struct A {\n  int b;\n};\n", "using A = int;\n"),
                ("enum class A { kB };\n", "template <class T>\nclass A final : public B<T> {};\n"),
                ("using x::A;\n", "using y::A;\n"),
                ("static int f() { return 1; }\n", "auto f = [] { return g(1); };\n")):
            self.refused(unity.unity, "src/a/b.cc:4: ", src__a__CMakeLists_txt=room,
                         src__a__a_cc=of(one, ""), src__a__b_cc=of(other, ""))
        self.refused(unity.unity, "f is in src/a/d/a.cc:4 too", src__a__CMakeLists_txt=room,
                     src__a__d__a_cc=of("int f();\n", ""),
                     src__a__e_cc="namespace semel {\nnamespace {\nint f();\n}  // namespace\n}  // namespace semel\n")
        self.refused(unity.unity, "f is in src/a/a.cc:7 too", src__a__CMakeLists_txt=room,
                     src__a__a_cc=of("", "int f() {}\n"), src__a__b_cc=of("int f(int) {}\n", ""))
        self.refused(unity.unity, "Result is in include/semel/a.h", src__a__CMakeLists_txt=room,
                     include__semel__a_h="namespace semel {\nstruct Result {};\n}  // namespace semel\n",
                     src__a__b_cc=of("struct Result {};\n", ""))
        self.refused(unity.unity, "M: a macro", src__a__a_cc="#define M 1\n")
        self.refused(unity.unity, "using namespace std:", src__a__a_cc="using namespace std;\n")
        self.fine(unity.unity, src__a__CMakeLists_txt=room, src__b__CMakeLists_txt=room,
                  src__a__a_cc=of("using x::A;\nusing B = int;\nint f() { return 1; }\nint f(int) { return g(); }\n", "void A::g() {}\n"),
                  src__a__b_cc=of("using x::A;\nusing B = int;\nstruct C {\n  int f();\n};\nstruct D;\n", "void B::g() {}\n"),
                  src__a__c_cc=of("// f()\nstruct D {\n};\n", "") + "#define M 1\n#undef M\n",
                  src__b__a_cc=of("int f() { return 1; }\n", "") + "using namespace std::chrono_literals;\n",
                  src__a__a_test_cc=of("int f() { return 1; }\n", ""))

    def test_unity_over_folders(self):
        one = "namespace {\nint f() { return 1; }\n}  // namespace\n"
        for listed in ("../b/c.cc", "${PROJECT_SOURCE_DIR}/tests/b/c.cc", "${b}/c.cc"):
            self.refused(unity.unity, "f is in ", tests__b__c_cc=one, tests__b__CMakeLists_txt="",
                         tests__a__CMakeLists_txt=f"set(b ${{PROJECT_SOURCE_DIR}}/tests/b)\nx(a.cc {listed})\n",
                         tests__a__a_cc=one)

    def test_suites(self):
        fixture = "namespace semel {{\nnamespace {{\nclass A : public B {{}};\nTEST_F(A, {}) {{}}\n}}  // namespace\n}}  // namespace semel\n".format
        self.refused(unity.unity, "suite A is in src/x/a_test.cc too",
                     src__x__CMakeLists_txt="", src__y__CMakeLists_txt="",
                     src__x__a_test_cc=fixture("One"), src__y__b_test_cc=fixture("Two"))
        self.refused(unity.unity, "suite A is in", src__x__a_test_cc="TEST(A, One) {}\n", tests__b_cc="TEST(A, Two) {}\n")
        shared = "namespace semel {\nclass A : public B {};\n}  // namespace semel\n"
        self.refused(unity.unity, "test A.One is in", tests__a_h=shared, tests__a_cc="TEST_F(A, One) {}\n",
                     tests__b_cc="TEST_F(A, One) {}\n")
        self.refused(unity.unity, "A is instantiated as Memory in", tests__a_h=shared,
                     tests__a_cc="INSTANTIATE_TEST_SUITE_P(Memory, A, 1);\n",
                     tests__b_cc="INSTANTIATE_TEST_SUITE_P(Memory, A, 2);\n")
        self.refused(unity.unity, "the linker would make them one", src__x__a_test_cc="int f() { return 1; }\n",
                     src__y__b_test_cc="int f() { return 2; }\n")
        self.fine(unity.unity, tests__a_h=shared + "int make();\n", tests__a_cc="TEST_P(A, One) {}\n" "int make() { return 1; }\n",
                  tests__b_cc="TEST_P(A, Two) {}\nINSTANTIATE_TEST_SUITE_P(Memory, A, 2);\n",
                  tests__c_cc="INSTANTIATE_TEST_SUITE_P(Redis, A, 2);\n",
                  tests__d_cc="int make() { return 2; }\n")

    def test_lint(self):
        # Several in one run, and without a header of the standard: each run, and each header, costs a second.
        found = "\n".join(self.found(
            lint.lint, src__core__a_cc="namespace semel {\nint BadName() { return 1; }\n}  // namespace semel\n",
            src__core__b_cc=(
                "namespace std {\ntemplate <class T>\nT&& move(T& value) { return static_cast<T&&>(value); }\n}\n"
                "namespace semel {\nstruct Text {\n  Text(Text&&) noexcept;\n  int size() const;\n};\nvoid take(Text text);\n"
                "int f(Text text) {\n  take(std::move(text));\n  return text.size();\n}\n}  // namespace semel\n"),
            include__semel__a_h="#pragma once\nnamespace semel {\nstruct A {\n  A(int x);\n};\n}  // namespace semel\n"))
        self.assertEqual(found.count("\n"), 2, found)
        for said in ("src/core/a.cc:2: invalid case style for function 'BadName' [readability-identifier-naming",
                     "src/core/b.cc:13: 'text' used after it was moved [bugprone-use-after-move",
                     "include/semel/a.h:4: single-argument constructors must be marked explicit"):
            self.assertIn(said, found)
        # Two files with one local name are read apart, each once.
        same = "namespace {\nint same() { return 1; }\n}  // namespace\n"
        files = {"src__core__a_cc": same + "int a() { return same(); }\n",
                 "src__core__b_cc": same + "int BadName() { return same(); }\n"}
        found, runs = self.checked(lint.lint, "clang-tidy", **files)
        self.assertIn("BadName", "\n".join(found))
        self.assertEqual(runs, 2)
        # Those that collide in a way that nobody foresaw are read again.
        files["src__core__a_cc"] = "int a() { return 1; }\n"
        files["src__core__b_cc"] = "int a() { return 1; }\nint BadName() { return 1; }\n"
        found, runs = self.checked(lint.lint, "clang-tidy", **files)
        self.assertIn("BadName", "\n".join(found))
        self.assertGreater(runs, 2)

    def test_checks_at_night(self):
        def enabled(*options):
            listed = subprocess.run(["clang-tidy", "--list-checks", *options], cwd=REPOSITORY, check=True,
                                    capture_output=True, text=True)
            return set(re.findall(r"^    (\S+)$", listed.stdout, re.MULTILINE))
        config, without = f"--config-file={REPOSITORY / '.clang-tidy'}", ",".join(f"-{check}" for check in lint.AT_NIGHT)
        self.assertEqual(enabled(config) - enabled(config, f"--checks={without}"), set(lint.AT_NIGHT))

    def test_lint_at_night(self):
        copies = ("namespace semel {\nstruct Text {\n  Text(const Text& other);\n  ~Text();\n};\nvoid f(Text) {}\n"
                  "}  // namespace semel\n")
        with unittest.mock.patch.dict(os.environ, {"SEMEL_NIGHTLY": "1"}):
            self.refused(lint.lint, "performance-unnecessary-value-param", src__core__a_cc=copies)
            self.fine(lint.lint, src__compose__absent__a_cc=copies, src__core__a_absent_cc=copies.replace(" f(", " g("))

    def stale(self, how="", **files):
        """The files that have not passed yet. Afterwards all of them have."""
        tree = self.tree(**files)
        known = passed.Passed(tree, how)
        stale = [path for path in tree.paths if not known.has(path)]
        for path in stale:
            known.add(path)
        return stale

    def test_passed_by_content(self):
        files = {"src__x__a_cc": '#include "x/a.h"\n', "src__x__a_h": "#include <semel/b.h>\n",
                 "include__semel__b_h": '#include "semel/c.h"\n', "include__semel__c_h": "int c;\n",
                 "src__x__d_cc": "int d;\n"}
        self.assertEqual(len(self.stale(**files)), 5)
        self.assertEqual(self.stale(**files), [])
        self.assertEqual(len(self.stale("another version", **files)), 5)
        files["src__x__d_cc"] = "int e;\n"
        self.assertEqual(self.stale(**files), ["src/x/d.cc"])
        files["include__semel__c_h"] = "long c;\n"
        self.assertEqual(self.stale(**files), ["include/semel/b.h", "include/semel/c.h", "src/x/a.cc", "src/x/a.h"])
        # A header that is found before the one that was included until now.
        files["src__x__x__a_h"] = "int a;\n"
        self.assertEqual(self.stale(**files), ["src/x/a.cc", "src/x/x/a.h"])

    def test_passed_is_forgotten_and_does_not_need_its_folder(self):
        file = {"src__x__a_cc": "int a;\n"}
        self.stale(**file)
        folder = self.root / "cache/semel-tests/tidy"
        (entry,) = folder.iterdir()
        old = time.time() - passed.UNUSED_SECONDS + 3600
        os.utime(entry, (old, old))
        self.assertEqual(self.stale(**file), [], "what is used stays")
        self.assertGreater(entry.stat().st_mtime, old)
        os.utime(entry, (old - 7200, old - 7200))
        self.assertEqual(self.stale(**file), ["src/x/a.cc"])
        shutil.rmtree(self.root / "cache")
        (self.root / "cache").write_text("no folder")
        for _ in range(2):
            self.assertEqual(self.stale(**file), ["src/x/a.cc"])

    def checked(self, check, program, **files):
        """The findings, and how often the check started the program."""
        with unittest.mock.patch.object(subprocess, "run", wraps=subprocess.run) as run:
            found = self.found(check, **files)
        return found, sum(call.args[0][0] == program and "--version" not in call.args[0]
                          for call in run.call_args_list)

    def test_only_what_changed_is_checked(self):
        bad = {"src__core__a_cc": '#include "core/a.h"\nint a() { return BadName(); }\n',
               "src__core__a_h": "#pragma once\nint BadName();\n", "src__core__b_cc": "int b() { return 1; }\n"}
        for expected in (2, 1):
            found, runs = self.checked(lint.lint, "clang-tidy", **bad)
            self.assertEqual((len(found), runs), (1, expected), "a failure stays one")
        good = {name: text.replace("BadName", "good_name") for name, text in bad.items()}
        self.assertEqual(self.checked(lint.lint, "clang-tidy", **good), ([], 1))
        self.assertEqual(self.checked(lint.lint, "clang-tidy", **good), ([], 0))
        self.assertEqual(self.checked(lint.lint, "clang-tidy", **bad)[1], 1, "what is included counts")
        header = {"include__semel__a_h": "#pragma once\nstd::string a();\n",
                  "include__semel__b_h": "#pragma once\nint b();\n"}
        compiler = os.environ.get("CXX", "g++")
        self.assertEqual(self.checked(style.headers, compiler, **header)[1], 2)
        self.assertEqual(self.checked(style.headers, compiler, **header)[1], 1, "a failure stays one")
        header["include__semel__a_h"] = "#pragma once\n#include <string>\nstd::string a();\n"
        self.assertEqual(self.checked(style.headers, compiler, **header), ([], 1))
        self.assertEqual(self.checked(style.headers, compiler, **header), ([], 0))

    def test_results(self):
        headers = {f"include__semel__{name}_h": (REPOSITORY / f"include/semel/{name}.h").read_text()
                   for name in ("error", "result", "standard")}
        # As they are, tidy.results compiles them.
        headers["include__semel__result_h"] = headers["include__semel__result_h"].replace(
            "class [[nodiscard]] expected;", "class expected;")
        self.assertIn("g++ is silent about: nothing();",
                      "\n".join(self.found(results.results, **headers)))

    def test_misuses(self):
        public = REPOSITORY / "include"
        headers = {str(path.relative_to(REPOSITORY)).replace("/", "__").removesuffix(".h") + "_h": path.read_text()
                   for path in public.rglob("*.h")}
        # As they are, tidy.misuses compiles them.
        headers["include__semel__verdict_h"] = headers["include__semel__verdict_h"].replace(
            "  Kind kind() const", "  Verdict() : details_(Discard{}) {}\n  Kind kind() const")
        self.assertIn("compiles: semel::Verdict nothing_said;",
                      "\n".join(self.found(misuses.misuses, **headers)))

    def test_thread_safety(self):
        room = {f"src__system__{name}_h": (REPOSITORY / f"src/system/{name}.h").read_text()
                for name in ("mutex", "shared_mutex", "thread_annotations")}
        room["src__engine__a_h"] = (
            '#pragma once\n#include "system/mutex.h"\nnamespace semel {\nclass A {\n public:\n'
            "  void grow() SEMEL_EXCLUDES(mutex_);\n  void both();\n  void right();\n  void other();\n\n private:\n"
            "  system::Mutex mutex_;\n  int size_ SEMEL_GUARDED_BY(mutex_) = 0;\n};\n}  // namespace semel\n")

        def body(grow, both):
            return (f'#include "engine/a.h"\nnamespace semel {{\nvoid A::grow() {{ {grow} }}\n'
                    f"void A::both() {{ {both} }}\n}}  // namespace semel\n")

        lock = "const system::MutexLock lock(mutex_); "
        # Right and wrong in one run.
        found = self.found(lint.lint, **room, src__engine__a_cc=body(
            "++size_;\n", f"{lock}\ngrow();\n}}\nvoid A::right() {{ {lock} ++size_; }}\nvoid A::other() {{ grow();"))
        self.assertEqual(len(found), 2, found)
        self.assertIn("src/engine/a.cc:3: writing variable 'size_' requires holding mutex", found[0])
        self.assertIn("src/engine/a.cc:6: cannot call function 'grow' while mutex 'mutex_' is held", found[1])
        check = thread_safety.thread_safety
        self.refused(check, "std::mutex", src__engine__b_cc="#include <mutex>\nstd::mutex m;\n", **room)
        self.refused(check, "std::condition_variable",
                     src__engine__b_h="#include <condition_variable>\nstd::condition_variable c;\n", **room)
        self.fine(check, src__engine__b_cc="// std::mutex\nstd::condition_variable_any c;\n",
                  src__engine__c_test_cc="std::mutex m;\n", **room)


if __name__ == "__main__":
    unittest.main()
