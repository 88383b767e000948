#!/usr/bin/env python3
"""Writes unicode_tables.inc: what Python's str methods know of characters.

usage: unicode_tables.py >unicode_tables.inc

The templates were written for Python, so its own answers are the reference (Debian 12's Python has
Unicode 14). Run it again when the oracle's Python has another version, then tests/tidy/format.sh.
"""

import sys
import unicodedata

LAST = 0x10FFFF
BITS = ("isalpha", "isdecimal", "isdigit", "isnumeric", "isspace", "isprintable", "isupper",
        "islower", "istitle")


def bits(code):
    char = chr(code)
    mask = sum(1 << at for at, name in enumerate(BITS) if getattr(char, name)())
    # 'A'.istitle() is true, and so is that of every capital letter; only Lt is meant here.
    if unicodedata.category(char) != "Lt":
        mask &= ~(1 << BITS.index("istitle"))
    return mask


def property_ranges():
    start, mask = 0, bits(0)
    for code in range(1, LAST + 2):
        now = bits(code) if code <= LAST else -1
        if now != mask:
            if mask:
                yield start, code - 1, mask
            start, mask = code, now


def mappings(method):
    for code in range(LAST + 1):
        text = getattr(chr(code), method)()
        if text != chr(code):
            yield code, text


def ranges_of(pairs):
    """Runs of (first, last, stride, delta); stride is 1 or 2."""
    run = None
    for code, delta in pairs:
        if run and run[3] == delta and code - run[1] in (1, 2) and run[2] in (0, code - run[1]):
            run[2] = code - run[1]
            run[1] = code
            continue
        if run:
            yield tuple(run)
        run = [code, code, 0, delta]
    if run:
        yield tuple(run)


def table(head, rows):
    print(head)
    for row in rows:
        print("    {" + ", ".join(row) + "},")
    print("};\n")


def c_text(text):
    return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'


def main():
    print("// Written by unicode_tables.py from Python's answers, Unicode "
          f"{unicodedata.unidata_version}; do not edit.\n// clang-format off\n")
    table("constexpr PropertyRange kProperties[] = {",
          ((f"{a:#x}", f"{b:#x}", str(m)) for a, b, m in property_ranges()))
    for method in ("upper", "lower", "title", "casefold"):
        all_pairs = list(mappings(method))
        table(f"constexpr CaseRange k{method.capitalize()}[] = {{",
              ((f"{a:#x}", f"{b:#x}", str(s or 1), str(d)) for a, b, s, d in ranges_of(
                  (code, ord(text) - code) for code, text in all_pairs if len(text) == 1)))
        table(f"constexpr LongCase k{method.capitalize()}Long[] = {{",
              ((f"{code:#x}", c_text(text)) for code, text in all_pairs if len(text) > 1))
    print("// clang-format on")


if __name__ == "__main__":
    sys.exit(main())
