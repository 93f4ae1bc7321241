"""tidy.py CHECK [ROOT]: runs one check over the repository; exits 1 where it finds anything."""

import pathlib
import sys

import docs
import inputs
import lint
import misuses
import results
import rooms
import style
import thread_safety
import truth
import truth_numbers
import unity
from tree import Tree

CHECKS = {
    "layering": rooms.layering,
    "third_party": rooms.third_party,
    "purity": rooms.purity,
    "twins": rooms.twins,
    "file_length": style.file_length,
    "function_length": style.function_length,
    "layout": style.layout,
    "words": style.words,
    "shell": style.shell,
    "headers": style.headers,
    "docs": docs.docs,
    "navigation": docs.navigation,
    "sentences": docs.sentences,
    "cited_files": truth.cited_files,
    "cited_names": truth.cited_names,
    "cited_rules": truth.cited_rules,
    "anchors": truth.anchors,
    "room_rows": truth.room_rows,
    "bare_numbers": truth_numbers.bare_numbers,
    "page_defaults": truth_numbers.page_defaults,
    "page_facts": truth_numbers.page_facts,
    "lint": lint.lint,
    "unity": unity.unity,
    "inputs": inputs.inputs,
    "results": results.results,
    "misuses": misuses.misuses,
    "thread_safety": thread_safety.thread_safety,
}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: tidy.py {'|'.join(CHECKS)} [ROOT]")
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else here.parents[2]).resolve()
    findings = list(CHECKS[sys.argv[1]](Tree(root)))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
