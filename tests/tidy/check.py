#!/usr/bin/env python3
"""Checks what the compiler does not: layers, banned calls, leftovers, dead files, plain form, long
files, plain English in comments, and names that would meet in a unity build.

usage: check.py [--shrink] [ROOT]
  ROOT: the source tree, by default the one this file lies in
  --shrink: takes the lines off not_yet.txt that hold by now, first

Prints "file:line: rule: what is wrong, and what to do", and exits 1 when there is anything. One
line of code may be excused with a comment on it, "tidy-allow RULE: reason". layers.txt beside this
file is the table of modules; not_yet.txt lists files that a rule does not hold for yet, and only
shrinks; self_test.py shows every rule at work.
"""

import fnmatch
import functools
import os
import re
import sys

CODE_FOLDERS = ("src", "tools", "tests", "bench")
CODE_ENDINGS = (".h", ".cc")
TEXT_ENDINGS = CODE_ENDINGS + (".txt", ".cmake", ".py", ".sh", ".md", ".json", ".toml", ".1", ".in")
# Prose and data may be as wide as they are; markdown ends a line with blanks to break it.
WIDE_ENDINGS = (".md", ".json", ".jsonl", ".1")
LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 600

PROGRAMS = ("src/app", "tools", "bench", "tests")

# Rule, pattern, folders or files where it may stand, what to do instead.
BANNED = [
    ("sleep", r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w.:>])sleep\s*\(", (),
     "wait for the event itself; in tests advance a ManualClock"),
    ("rand", r"\bstd::(rand|srand|random_shuffle)\b|(?<![\w.:>])s?rand\s*\(", (),
     "take a base/random.h generator from the caller"),
    ("regex", r"\bstd::(basic_)?regex\b", (),
     "write the match out: std::regex overflows the stack on long text"),
    ("print", r"(?<![\w.])(std::)?(v?f?printf|puts|fputs|putchar)\s*\(|\bfmt::v?print\s*\("
              r"|\bstd::(cout|cerr|clog)\b", PROGRAMS
     + ("src/base/ensure.h", "src/base/uncaught.cc"),
     "return a value or an Error; only a program prints"),
    ("sprintf", r"(?<![\w.])(std::)?v?sn?printf\s*\(", (), "fmt::format"),
    ("new", r"(?<!operator )\bnew\s+[\w:]|(?<!operator )\bdelete(\[\])?\s+[\w:*(]", (),
     "std::make_unique, or a container"),
    ("system", r"\bstd::system\b|(?<![\w.:>])(system|popen)\s*\(", (),
     "no shell: posix_spawn with an argument list"),
    ("assert", r"(?<![\w.:>])assert\s*\(", (), "ENSURE(condition, \"why\"): it is on in release"),
    ("clock", r"\b(system_clock|steady_clock|high_resolution_clock)::now\b"
              r"|(?<![\w.:>])(gettimeofday|clock_gettime)\s*\(", PROGRAMS + ("src/base/clock.",),
     "take a Clock (base/clock.h) from the caller"),
    ("detach", r"\.detach\s*\(\s*\)", (), "keep the thread and join it"),
]

# What a text has to hold for a rule to be broken: looked for first, because it is found quickly.
NEEDLES = {
    "sleep": ("sleep",), "rand": ("rand",), "regex": ("regex",), "sprintf": ("printf",),
    "print": ("printf", "puts", "putchar", "fmt", "cout", "cerr", "clog"),
    "new": ("new", "delete"), "system": ("system", "popen"), "assert": ("assert",),
    "clock": ("_clock", "clock_gettime", "gettimeofday"), "detach": ("detach",),
}

# A new object that its owner takes at once: what a factory with a private constructor does.
OWNED_NEW = re.compile(r"\bunique_ptr<[^;(){}]*>(\s+\w+)?\(\s*new\b")

# Words of comments in src that make a reader guess whom or what a sentence is about.
SENTENCE = r"(?:^|(?<=[.:;!?] ))"
RIDDLES = [
    (re.compile(SENTENCE + r"(Who|Whose|Whoever|Whom)\b(?![^.:;!?]*\?)"),
     "begin with a noun: \"a client that ...\", \"the caller ...\""),
    (re.compile(SENTENCE + r"(Those|Of (?:those|these|them)|What of)\b"),
     "begin with a noun that says what is meant"),
    (re.compile(r"\b([Nn]obody|[Ss]omebody|[Tt]hose who(?:m|se)?|[Ww]hoever|[Ww]homever)\b"),
     "name it: \"no client\", \"another thread\", \"the caller\""),
]
# End-of-line comments that only point back at another line.
POINTER = re.compile(r"(likewise|the same|as above|of (?:this|that|these|those|it|them|both))\.?$",
                     re.I)

# Spelt in halves, so that this file does not report itself.
LEFTOVERS = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK")) + r")\b")
ALLOW = re.compile(r"tidy-allow ([\w-]+): \S")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


class Table:
    """layers.txt: the layers, what each module sees, where foreign headers enter."""

    def __init__(self, path):
        self.level = {}
        self.sees = {}
        self.foreign = {}  # header patterns -> folders
        self.faults = []
        levels = 0
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[0] == "layer":
                    for name in words[1:]:
                        self.level[name] = levels
                    levels += 1
                elif words[0] == "foreign" and "in" in words:
                    at = words.index("in")
                    self.foreign.setdefault(tuple(words[1:at]), []).extend(words[at + 1:])
                elif len(words) > 1 and words[1] == "sees":
                    self.sees.setdefault(words[0], []).extend(words[2:])
                else:
                    self.faults.append((number, "this line was not understood"))
        for name, seen in self.sees.items():
            for other in seen:
                if name not in self.level or other not in self.level:
                    self.faults.append((1, f"'{name} sees {other}' names a module without a layer"))
                elif self.level[other] >= self.level[name]:
                    self.faults.append((1, f"'{name} sees {other}' does not point down"))
        for name in self.level:
            if name not in self.sees:
                self.faults.append((1, f"there is no line '{name} sees ...'"))


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


STRING = (r'R"(?P<mark>[^ ()\\\t\n]*)\((?s:.*?)\)(?P=mark)"'  # raw
          r'|"(?:[^"\\\n]|\\.)*"'
          r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)*'")  # no digit before it: 1'000 is a number
COMMENT = r"//[^\n]*|/\*(?s:.*?)\*/"
TOKEN = re.compile(f"(?P<string>{STRING})|(?P<comment>{COMMENT})")


@functools.lru_cache(maxsize=None)
def without_comments(text):
    return TOKEN.sub(lambda m: blank(m) if m.group("comment") else m.group(), text)


def comment_blocks(text):
    """(text, [line of each part], is at the end of a line of code) of each comment; lines that
    follow each other are one comment, joined with blanks."""
    parts, lines = [], []
    last = None
    for match in TOKEN.finditer(text):
        if not match.group("comment"):
            continue
        line = text.count("\n", 0, match.start()) + 1
        begin = text.rfind("\n", 0, match.start()) + 1
        words = re.sub(r"^(//+|/\*+)\s?|\s*\*/$", "", match.group())
        if text[begin:match.start()].strip():
            yield words, [line], True
            continue
        if parts and line != last + 1:
            yield " ".join(parts), lines, False
            parts, lines = [], []
        parts.append(words)
        lines.append(line)
        last = line
    if parts:
        yield " ".join(parts), lines, False


def code_only(text):
    """The text with comments and the contents of strings blanked; positions stay."""
    return TOKEN.sub(blank, text)


# What is compiled as one: windrow_module(NAME x SOURCES a.cc b.cc DEPENDS y), and programs and
# libraries that windrow_compile_faster() names without TESTS.
MODULE = re.compile(r"\bwindrow_module\s*\(([^)]*)\)")
TARGET = re.compile(r"\badd_(?:executable|library)\s*\(\s*(\w+)([^)]*)\)")
FASTER = re.compile(r"\bwindrow_compile_faster\s*\(\s*(\w+)([^)]*)\)")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace(?P<name>\s+[\w:]+)?\s*$")
TEMPLATE = re.compile(r"\s*template\s*<")
TYPE = re.compile(r"(?:class|struct|union|enum(?:\s+(?:class|struct))?)\b(?:\s*\[\[[^\]]*\]\])?"
                  r"\s+(?P<name>\w+)\s*(?:final\s*)?(?=$|:[^:])")
ALIAS = re.compile(r"(?:using|concept)\s+(?P<name>\w+)\s*(?=\[\[|=)")
CONSTANT = re.compile(r"\b(?P<name>k[A-Z]\w*)\s*(?=$|=|\[|\()")
FUNCTION = re.compile(r"(?<![\w:])(?!(?:noexcept|requires|decltype|alignas|sizeof)\b)"
                      r"(?P<name>operator\s*[^\s\w(]+|\w+)\s*\(")
# Words that are no type by themselves: what follows them is no name of a parameter.
PART_OF_TYPE = {"const", "volatile", "unsigned", "signed", "long", "short", "struct", "enum"}


def cmake_modules(text):
    """The sources of each target of a CMakeLists.txt that is compiled in groups of sources."""
    text = re.sub(r"#.*", "", text)
    grouped = {match.group(1) for match in FASTER.finditer(text)
               if "TESTS" not in match.group(2).split()}
    for match in TARGET.finditer(text):
        if match.group(1) in grouped:
            yield [word for word in match.group(2).split() if word.endswith(".cc")]
    for match in MODULE.finditer(text):
        words = match.group(1).split()
        if "SOURCES" in words:
            words = words[words.index("SOURCES") + 1:]
            keywords = [at for at, word in enumerate(words) if re.fullmatch(r"[A-Z_]+", word)]
            yield [word for word in words[:min(keywords, default=len(words))]
                   if word.endswith(".cc")]


def closing(text, start):
    """The place behind the bracket that closes the one at `start`."""
    pairs = {"{": "}", "(": ")", "[": "]", "<": ">"}
    opening, closes = text[start], pairs[text[start]]
    depth = 0
    for at in range(start, len(text)):
        if text[at] == opening:
            depth += 1
        elif text[at] == closes and (closes != ">" or text[at - 1] != "-"):
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def at_top(text):
    """The text with what lies in brackets of any kind blanked, but for the brackets."""
    kept = []
    at = 0
    while at < len(text):
        before = text[max(0, at - 16):at].rstrip()
        is_list = text[at] == "<" and before[-1:].isalnum() and not before.endswith("operator")
        if is_list or text[at] in "({[":
            end = closing(text, at)
            kept.append(text[at] + " " * (end - at - 2) + text[end - 1])
            at = end
        else:
            kept.append(text[at])
            at += 1
    return "".join(kept)


def parameter_types(text):
    """The parameters of a function without their names and defaults, in one spelling."""
    types = []
    flat = at_top(text)
    begin = 0
    for end in [match.start() for match in re.finditer(",", flat)] + [len(text)]:
        equals = flat.find("=", begin, end)
        words = re.findall(r"\w+|[^\s\w]+", text[begin:end if equals < 0 else equals])
        named = len(words) > 1 and re.match(r"[A-Za-z_]", words[-1]) and words[-2] != "::"
        if named and not all(word in PART_OF_TYPE for word in words[:-1]):
            words.pop()
        types.append(" ".join(words))
        begin = end + 1
    return ", ".join(types)


def anonymous_names(text):
    """(key, meaning, place) of each type, alias, constant and function that an anonymous namespace
    of a source declares. The key is the scope, the name and, of a function, its parameters: others
    may have the same name. The meaning is that of an alias, which may be declared twice."""
    text = DIRECTIVE.sub(blank, code_only(text))
    scopes = []  # names of namespaces, "" for anonymous ones
    at = begin = 0
    while at < len(text):
        char = text[at]
        if char == "}" and scopes:
            scopes.pop()
            begin = at + 1
        elif char in "([":
            at = closing(text, at)
            continue
        elif char == "{":
            space = NAMESPACE.match(text[begin:at].strip())
            if space:
                scopes.append((space.group("name") or "").strip())
                begin = at + 1
            else:
                head = text[begin:at]
                end = closing(text, at)
                is_body = "(" in head and "=" not in re.sub("operator\\s*\\W+", "", at_top(head))
                if is_body or text[end:].lstrip()[:1] == ";":
                    yield from declared(head, begin, scopes)
                    begin = end
                at = end
                continue
        elif char == ";":
            yield from declared(text[begin:at], begin, scopes)
            begin = at + 1
        at += 1


def declared(head, begin, scopes):
    """What one declaration at the scope of namespaces declares, if they are anonymous."""
    if not scopes or scopes[-1] != "":
        return
    scope = "::".join(scopes)
    while TEMPLATE.match(head):
        end = closing(head, head.index("<"))
        head = " " * end + head[end:]
    stripped = head.strip()
    start = begin + head.index(stripped) if stripped else begin
    if re.match(r"(namespace|static_assert|friend|extern|using\s+(namespace\b|enum\b))", stripped):
        return
    flat = at_top(stripped)
    for pattern in (TYPE, ALIAS):
        match = pattern.match(flat)
        if match:
            meaning = stripped[match.end():] if pattern is ALIAS else None
            yield (scope, match.group("name"), None), meaning, start + match.start("name")
            return
    if re.match(r"(using|class|struct|union|enum)\b", stripped) and "(" not in flat:
        return  # a using-declaration, a specialisation, or without a name
    constant = CONSTANT.search(flat)
    equals = flat.find("=")
    if constant and (equals < 0 or constant.start() < equals) and "operator" not in flat:
        yield (scope, constant.group("name"), None), None, start + constant.start("name")
        return
    match = FUNCTION.search(flat)
    if match and (equals < 0 or "operator" in flat or match.start() < equals):
        opens = match.end() - 1
        parameters = parameter_types(stripped[opens + 1:closing(stripped, opens) - 1])
        name = re.sub(r"\s", "", match.group("name"))
        yield (scope, name, parameters), None, start + match.start("name")


def starts_with(path, places):
    """Whether a path lies in one of the folders, or is one of the files ("x." for x.h and x.cc)."""
    return any(path == p or path.startswith(p if p.endswith(".") else p + "/") for p in places)


class Checker:
    def __init__(self, root):
        self.root = root
        self.found = []
        self.excused = set()
        self.lines = {}
        self.table = Table(os.path.join(root, "tests/tidy/layers.txt"))
        self.not_yet = self.read_not_yet(os.path.join(root, "tests/tidy/not_yet.txt"))
        self.texts = dict(self.read_texts())
        self.code = {path: text for path, text in self.texts.items()
                     if path.endswith(CODE_ENDINGS) and starts_with(path, CODE_FOLDERS)}

    @staticmethod
    def read_not_yet(path):
        """not_yet.txt: lines "RULE FILE" -> their number in it."""
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            lines = [line.split("#")[0].split() for line in file]
        return {tuple(words): number for number, words in enumerate(lines, 1) if words}

    def read_texts(self):
        for folder, folders, files in os.walk(self.root):
            where = os.path.relpath(folder, self.root)
            folders[:] = sorted(f for f in folders if not self.is_foreign_folder(where, f))
            for name in sorted(files):
                path = os.path.normpath(os.path.join(where, name))
                if os.path.islink(os.path.join(folder, name)):
                    continue
                if name.endswith(TEXT_ENDINGS) or self.is_script(os.path.join(folder, name)):
                    try:
                        with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
                            yield path, file.read()
                    except UnicodeDecodeError:
                        self.report(path, 1, "utf8", "this text is not UTF-8")

    @staticmethod
    def is_foreign_folder(where, name):
        if name == "__pycache__":
            return True
        return where == "." and (name == "build" or (name.startswith(".") and name != ".ci"))

    @staticmethod
    def is_script(path):
        if "." in os.path.basename(path):
            return False
        with open(path, "rb") as file:
            return file.read(2) == b"#!"

    def report(self, path, line, rule, text):
        if line <= len(self.lines.get(path, ())):
            allowed = ALLOW.search(self.lines[path][line - 1])
            if allowed and allowed.group(1) == rule:
                return
        if (rule, path) in self.not_yet:
            self.excused.add((rule, path))
            return
        self.found.append((path, line, rule, text))

    def run(self):
        for path, text in self.texts.items():
            self.lines[path] = text.split("\n")
        for line, fault in self.table.faults:
            self.report("tests/tidy/layers.txt", line, "table", fault)
        for path, text in self.texts.items():
            self.check_form(path, text)
        for path, text in self.code.items():
            self.check_includes(path, without_comments(text))
            self.check_banned(path, code_only(text))
            self.check_length(path, text)
            if path.startswith("src/"):
                self.check_words(path, text)
        self.check_dead_files()
        self.check_modules()
        self.check_anonymous_names()
        for entry, number in self.not_yet.items():
            if entry not in self.excused:
                self.report("tests/tidy/not_yet.txt", number, "not-yet",
                            f"'{' '.join(entry)}' holds by now: take this line off "
                            "(check.py --shrink does)")
        return sorted(self.found)

    def check_form(self, path, text):
        for number, line in enumerate(text.split("\n"), 1):
            if "\r" in line:
                self.report(path, number, "line-end", "a carriage return; lines end with \\n alone")
            line = line.rstrip("\r")
            if len(line) > LINE_COLUMNS_MAX and not path.endswith(WIDE_ENDINGS):
                self.report(path, number, "long-line", f"{len(line)} columns; at most "
                            f"{LINE_COLUMNS_MAX}")
            if "\t" in line:
                self.report(path, number, "tab", "a tab; indent with two blanks")
            if line != line.rstrip(" ") and not path.endswith(".md"):
                self.report(path, number, "trailing-blank", "blanks at the end of the line")
            if LEFTOVERS.search(line):
                self.report(path, number, "leftover", f"'{LEFTOVERS.search(line).group()}': do it, "
                            "or open an issue and say here how things are")
        if text and not text.endswith("\n"):
            self.report(path, text.count("\n") + 1, "line-end", "the last line has no end")

    def check_includes(self, path, text):
        if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.M):
            self.report(path, 1, "pragma-once", "a header starts with #pragma once")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quote, name = match.groups()
            if ".." in name.split("/"):
                self.report(path, line, "parent-include", f'"{name}": write includes from src/, '
                            '"module/file.h"')
            elif quote == '"':
                self.check_own_include(path, line, name)
            self.check_foreign_include(path, line, name)

    def check_own_include(self, path, line, name):
        places = [os.path.join(self.root, folder, name) for folder in CODE_FOLDERS]
        if not any(os.path.exists(place) for place in places):
            self.report(path, line, "include-path", f'"{name}" is no file under src/ (nor tools/, '
                        'tests/, bench/): includes are written from there, and foreign headers in '
                        "angle brackets")
            return
        parts = path.split("/")
        target = name.split("/")[0]
        if parts[0] == "src":
            module = parts[1]
            if target != module and target not in self.table.sees.get(module, ()):
                allowed = " ".join(self.table.sees.get(module, ())) or "nothing"
                self.report(path, line, "layer", f'{module} may not include "{name}": it sees '
                            f"{allowed} (tests/tidy/layers.txt)")
        is_test = parts[0] != "src" or "testing" in parts or path.endswith("_test.cc")
        if "testing" in name.split("/") and not is_test:
            self.report(path, line, "testing", f'"{name}": what lies in testing/ is for tests only')

    def check_foreign_include(self, path, line, name):
        for patterns, places in self.table.foreign.items():
            meant = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            if meant and not starts_with(path, places):
                self.report(path, line, "foreign", f"<{name}> may enter only in "
                            f"{', '.join(places)} (tests/tidy/layers.txt)")

    def check_banned(self, path, text):
        text = OWNED_NEW.sub(blank, text)
        for rule, pattern, places, instead in BANNED:
            if starts_with(path, places) or not any(word in text for word in NEEDLES[rule]):
                continue
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                self.report(path, line, rule,
                            f"'{match.group().strip()}' is banned here: {instead}")

    def check_length(self, path, text):
        count = text.count("\n")
        if count > FILE_LINES_MAX:
            self.report(path, 1, "long-file", f"{count} lines; at most {FILE_LINES_MAX}: move an "
                        "idea into a file of its own")

    def check_words(self, path, text):
        for words, lines, at_code in comment_blocks(text):
            if at_code and POINTER.match(words):
                self.report(path, lines[0], "words", f"'// {words}' only points back: say what "
                            "this line holds, or nothing")
            for pattern, instead in RIDDLES:
                for match in pattern.finditer(words):
                    self.report(path, self.line_of(words, match.start(), lines, text), "words",
                                f"'{match.group(1)}' in a comment: {instead}")

    @staticmethod
    def line_of(words, place, lines, text):
        """The line of the source on which a place of a comment's joined text lies."""
        if len(lines) == 1:
            return lines[0]
        source = text.split("\n")
        at = 0
        for line in lines:
            at += len(re.sub(r"^\s*(//+|/\*+)\s?|\s*\*/$", "", source[line - 1])) + 1
            if place < at:
                return line
        return lines[-1]

    def check_dead_files(self):
        cmake = {os.path.dirname(path): text for path, text in self.texts.items()
                 if os.path.basename(path) == "CMakeLists.txt"}
        included = set()
        for text in self.code.values():
            included.update(name for _, name in INCLUDE.findall(without_comments(text)))
        for path in self.code:
            if path.endswith(".cc"):
                if not any(self.names(text, os.path.relpath(path, folder))
                           for folder, text in cmake.items() if starts_with(path, (folder,))):
                    self.report(path, 1, "dead-file",
                                "no CMakeLists.txt names it: add or delete it")
            elif "/".join(path.split("/")[1:]) not in included:
                self.report(path, 1, "dead-file", "nothing includes it: use or delete it")

    @staticmethod
    def names(cmake, path):
        return re.search(r"(?<![\w./-])" + re.escape(path) + r"(?![\w./-])",
                         re.sub(r"#.*", "", cmake)) is not None

    def check_modules(self):
        for module in sorted({path.split("/")[1] for path in self.code if path.startswith("src/")}):
            if module not in self.table.level:
                self.report(f"src/{module}", 1, "layer", "this module has no layer: give it one in "
                            "tests/tidy/layers.txt")

    def check_anonymous_names(self):
        """Unity builds compile several sources of a module as one."""
        for cmake, text in self.texts.items():
            if os.path.basename(cmake) != "CMakeLists.txt":
                continue
            for sources in cmake_modules(text):
                first = {}
                for source in sources:
                    path = os.path.normpath(os.path.join(os.path.dirname(cmake), source))
                    self.check_names_of_source(path, first)

    def check_names_of_source(self, path, first):
        code = self.code.get(path, "")
        for key, meaning, place in anonymous_names(code):
            line = code.count("\n", 0, place) + 1
            other, other_line, other_meaning = first.setdefault(key, (path, line, meaning))
            if other != path and (meaning is None or meaning != other_meaning):
                self.report(path, line, "unique-name", f"'{key[1]}' is in the anonymous namespace "
                            f"of {other}:{other_line} too, and a unity build compiles both as one: "
                            "give one of them a name of its own, or share it in a header")


def check(root):
    return Checker(root).run()


def shrink(root):
    """Takes the lines off not_yet.txt that excuse nothing any more."""
    stale = {line for path, line, rule, _ in check(root) if rule == "not-yet"}
    path = os.path.join(root, "tests/tidy/not_yet.txt")
    if stale:
        with open(path, encoding="utf-8") as file:
            kept = [text for line, text in enumerate(file, 1) if line not in stale]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(kept)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    arguments = [word for word in sys.argv[1:] if word != "--shrink"]
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(here))
    if len(arguments) < len(sys.argv) - 1:
        shrink(root)
    found = check(root)
    for path, line, rule, text in found:
        print(f"{path}:{line}: {rule}: {text}")
    if found:
        print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
