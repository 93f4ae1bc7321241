"""comments.py FILE: prints a header with its comments as Doxygen reads them. It reads /// before a declaration, ///<
behind one, and indented lines as code."""

import re
import sys

_ALONE = re.compile(r"^(?P<indent> *)//(?P<said>(?: .*)?)$")
_BEHIND = re.compile(r"^(?P<code>.*[;,)}\w] +)// (?P<said>.*)$")


def converted(text):
    behind = None  # the column of a comment behind a declaration, while the next lines go on with it
    lines = []
    for number, line in enumerate(text.split("\n")):
        if alone := _ALONE.match(line):
            said = alone["said"]
            if said.startswith("   "):
                said = "  " + said  # four blanks and more are code
            goes_on = behind is not None and len(alone["indent"]) == behind
            if number == 0:
                lines.append("/// @file")
            lines.append(f"{alone['indent']}///{'<' if goes_on else ''}{said}")
            continue
        found = _BEHIND.match(line) if not line.lstrip().startswith("#") else None
        behind = len(found["code"]) if found else None
        lines.append(f"{found['code']}///< {found['said']}" if found else line)
    return "\n".join(lines)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(converted(file.read()))
