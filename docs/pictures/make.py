#!/usr/bin/env python3
"""Makes run.svg: what `windrow run` shows in a terminal, while it runs and at its end.

usage: make.py [options]; --help lists them

It runs the job of ./demo, or its first rows, in a pseudo-terminal, keeps the screen once so many of
the rows are done, and the last screen, and draws both. Nothing is written by hand, so a figure in
the picture is one that a run printed.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
COLUMNS, LINES = 110, 50
REQUESTS = "examples/candidates.jsonl"

CHAR_WIDTH, LINE_HEIGHT, MARGIN, HEAD = 7.8, 18, 14, 30
COLOURS = {"31": "#f97583", "33": "#ffdf5d", "32": "#85e89d"}
PLAIN, DIM, BACKGROUND, FRAME = "#d1d5da", "#8b949e", "#1b1f24", "#2f363d"

ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+|\x1b")


class Screen:
    """What a terminal shows of what a program wrote: text, carriage returns, clearing to the end of
    the line, moving up, colours."""

    def __init__(self):
        self.lines = [[]]  # of (character, colour)
        self.line = self.column = 0
        self.colour = None

    def write(self, text):
        for match in ESCAPE.finditer(text):
            piece = match.group()
            if piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.line, self.column = self.line + 1, 0
                if self.line == len(self.lines):
                    self.lines.append([])
            elif match.group(2):
                self.control(match.group(1), match.group(2))
            elif piece != "\x1b":
                self.put(piece)

    def control(self, values, kind):
        if kind == "K":
            del self.lines[self.line][self.column:]
        elif kind == "A":
            self.line = max(0, self.line - int(values or 1))
        elif kind == "J":
            del self.lines[self.line][self.column:], self.lines[self.line + 1:]
        elif kind == "m":
            self.colour = next((COLOURS[v] for v in values.split(";") if v in COLOURS), None)

    def put(self, text):
        line = self.lines[self.line]
        line.extend([(" ", None)] * (self.column - len(line)))
        line[self.column:self.column + len(text)] = [(char, self.colour) for char in text]
        self.column += len(text)

    def shown(self):
        """The lines so far, without empty ones at the end."""
        lines = [list(line) for line in self.lines]
        while lines and not "".join(char for char, _ in lines[-1]).strip():
            lines.pop()
        return lines


def rows_done(folder):
    try:
        return Path(folder, "results.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


def watch(words, folder, rows_wanted, rows):
    """Runs a command in a terminal. Returns the screen once so many of its rows are done, or None
    if they were all done by then, and the last screen."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.chdir(folder)
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("WINDROW_")}
        os.execve(words[0], words, kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
                                           "XDG_CONFIG_HOME": folder})
    screen, middle, rest = Screen(), None, b""
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the program has closed the terminal
            data = b""
        if not data:
            break
        rest += data
        text = rest.decode(errors="ignore")
        rest = rest[len(text.encode()):]
        screen.write(text)
        if middle is None and rows_wanted <= rows_done(folder) < rows:
            middle = screen.shown()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        shown = "\n".join("".join(char for char, _ in line) for line in screen.shown())
        code = os.waitstatus_to_exitcode(status)
        raise SystemExit(f"make.py: the run ended with {code}:\n{shown}")
    return middle, screen.shown()


def spans(line):
    """(text, colour) of the runs of one colour."""
    found = []
    for char, colour in line:
        if found and found[-1][1] == colour:
            found[-1][0] += char
        else:
            found.append([char, colour])
    return found


def drawn(lines):
    """SVG of a terminal window with these lines; a line is a list of (character, colour)."""
    width = 2 * MARGIN + CHAR_WIDTH * max(map(len, lines))
    height = HEAD + 2 * MARGIN + LINE_HEIGHT * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
           f'width="{width:.0f}" height="{height:.0f}" role="img" '
           'aria-label="A terminal with the progress line of windrow run and its report">',
           f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
           f'<rect width="100%" height="{HEAD}" rx="8" fill="{FRAME}"/>']
    out += [f'<circle cx="{18 + 18 * i}" cy="{HEAD / 2:.0f}" r="5" fill="{DIM}"/>'
            for i in range(3)]
    out.append('<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" '
               f'font-size="13" fill="{PLAIN}" xml:space="preserve">')
    for number, line in enumerate(lines):
        y = HEAD + MARGIN + LINE_HEIGHT * (number + 0.75)
        parts = "".join(
            f'<tspan fill="{colour}">{html.escape(text)}</tspan>' if colour else html.escape(text)
            for text, colour in spans(line))
        if parts.strip():
            # The length is given, so that a font of another width does not move the columns.
            length = CHAR_WIDTH * len(line)
            out.append(f'<text x="{MARGIN}" y="{y:.1f}" textLength="{length:.1f}" '
                       f'lengthAdjust="spacingAndGlyphs">{parts}</text>')
    return "\n".join(out + ["</g>", "</svg>", ""])


def plain(text, colour=None):
    return [(char, colour) for char in text]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--windrow", default="build/release/src/app/windrow", metavar="PROGRAM")
    parser.add_argument("--model", default="models/windrow-demo.gguf", help="of the run")
    parser.add_argument("--limit", type=int, metavar="ROWS", help="only the first ones")
    parser.add_argument("--at", type=float, default=0.4, metavar="SHARE",
                        help="of the rows, when the progress line is kept (0.4)")
    parser.add_argument("-o", default=str(HERE / "run.svg"), metavar="FILE")
    arguments = parser.parse_args()
    program = Path(arguments.windrow).resolve()
    if not program.exists():
        print(f"make.py: there is no program {program}; build it: "
              "cmake --preset release && ninja -C build/release windrow", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="windrow-picture-") as folder:
        for name in ("examples", "models"):
            os.symlink(REPOSITORY / name, Path(folder, name))
        words = ["run", REQUESTS, "-o", "results.jsonl", "--model", arguments.model]
        with open(REPOSITORY / REQUESTS, "rb") as file:
            rows = sum(1 for _ in file)
        if arguments.limit:
            rows = min(rows, arguments.limit)
            words += ["--limit", str(rows)]
        middle, last = watch([str(program), *words], folder, int(arguments.at * rows), rows)
    lines = [plain("$ windrow " + " ".join(words))]
    if middle:
        lines += [*middle[-1:],
                  plain(f"    ... ({arguments.at:.0%} of the rows; at the end:)", DIM)]
    Path(arguments.o).write_text(drawn(lines + last), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
