"""No number in a comment that a constant states: it would be wrong once the constant changes."""

import re

from tree import Finding, is_test
from truth import comments

_TIMES = r"(?:milli|micro|nano)?seconds?|ms|µs|us|s|minutes?|min|hours?|h|days?|d|weeks?|months?|years?"
_SIZES = r"[kKMG]i?B|(?:kilo|mega|giga)bytes?"
_LIMITS = (r"bytes?|characters?|digits?|slots?|lanes?|shards?|times|attempts?|tries|retries|rows?|messages?|"
           r"records?|connections?|sessions?|threads?|workers?|partitions?|entries|keys?|items?|headers?|"
           r"lines?|files?|crashes|round trips?|per ?cent|calls?|nodes?|tables?|generations?")
_WORDS = (r"two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|sixteen|twenty|thirty|forty|fifty|"
          r"sixty|(?:a |some )?hundred|(?:a |some )?thousand|(?:a |some )?million|half an?|a quarter of an?|"
          r"a third of an?|a tenth of an?")
_DIGITS = r"\d+(?:[,.' ]\d{3})*(?:\.\d+)?"
# A number beside a unit or beside what a limit counts; or behind words that set a limit or a default.
_NUMBER = re.compile(
    rf"(?<![\w.#$%²-])(?:{_DIGITS} ?(?:{_TIMES}|{_SIZES}|{_LIMITS}|%)(?!\w)"
    rf"|(?i:{_WORDS}) (?:{_TIMES}|{_SIZES})(?!\w)"
    r"|(?i:at most|at least|up to|no more than|more than|less than|fewer than|by default|defaults? (?:is|to|of))"
    r" (?:[2-9]|\d{2,})(?![\w.]))")
# Examples, in quotes or backticks; layouts of bytes, whose parts stand between dots.
_EXAMPLE = re.compile(r'"[^"\n]*"|`[^`\n]*`|“[^”\n]*”')
# What others have laid down: a standard, a protocol, a product's version.
_STANDARD = re.compile(r"\b(?:RFC|ISO|IEEE|FIPS|POSIX|HTTP|AMQP|RESP|UTF-8|SHA-\d+|HMAC|UUIDs?|ULIDs?|"
                       r"(?i:version|section)) ?\d*")


def bare_numbers(tree):
    """A comment in include/ or src/ states no time, size, count, limit or default of our own."""
    for path in tree.code("include", "src"):
        if is_test(path):
            continue
        for line, said in comments(tree.text(path)):
            if "·" in said:
                continue
            plain = _EXAMPLE.sub(lambda m: " " * len(m[0]), said)
            for match in _NUMBER.finditer(plain):
                begin = plain.rfind("\n", 0, match.start()) + 1
                if _STANDARD.search(said[begin:(plain + "\n").find("\n", match.end())]):
                    continue
                yield Finding(path, line + plain.count("\n", 0, match.start()),
                              f"\"{match[0].strip()}\": name the constant, or leave the number out")
