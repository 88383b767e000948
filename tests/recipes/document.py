"""The blocks of a document, and a shell that runs them.

A fenced block of `bash` is run. Comments of HTML, which a reader does not see, say more of the
block that follows:

    <!-- file: NAME -->      it is not run, but written to that file
    <!-- prints -->          the output of the block before has each of these lines, in this order;
                             "..." stands for anything, also for lines
    <!-- not run: REASON --> it is only shown

The blocks of a section (a heading of level 2) share a shell and a folder; a document whose sections
build on each other says <!-- one folder --> at its top.
"""

import collections
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

LIMIT_S = 180  # a section that has not ended by then never will

Block = collections.namedtuple("Block", "language text line file prints not_run")
Section = collections.namedtuple("Section", "name blocks")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"<!-- (file: (?P<file>\S+)|(?P<prints>prints)|not run: (?P<not_run>.+?)) -->"
                  r"\s*\Z", re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# Between the outputs of two blocks.
MARK = "\x1e"
# The documents use these ports; a run uses free ones, as other servers may have these.
PORTS = re.compile(r"\b(8080|8001|8002)\b")


def blocks_of(text, first_line):
    blocks = []
    end = 0
    for match in FENCE.finditer(text):
        note = NOTE.search(text[end:match.start()].rstrip() + "\n")
        found = note.groupdict() if note else {"file": None, "prints": None, "not_run": None}
        line = first_line + text.count("\n", 0, match.start())
        blocks.append(Block(match.group(1), match.group(2), line, found["file"],
                            found["prints"] is not None, found["not_run"]))
        end = match.end()
    return blocks


def sections_of(path):
    text = Path(path).read_text(encoding="utf-8")
    if "<!-- one folder -->" in text:
        return [Section("whole", blocks_of(text, 1))]
    starts = [match.start() for match in HEADING.finditer(text)] + [len(text)]
    sections = []
    for begin, end in zip(starts, starts[1:]):
        name = HEADING.match(text[begin:]).group(1)
        blocks = blocks_of(text[begin:end], 1 + text.count("\n", 0, begin))
        if blocks:
            sections.append(Section(name, blocks))
    return sections


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_run(block):
    return block.language == "bash" and not (block.file or block.prints or block.not_run)


def run(section, folder, program, repository):
    """Runs the blocks of a section in a folder. Returns (exit code, outputs by line of the block).
    """
    folder = Path(folder)
    for name in ("models", "examples"):
        (folder / name).symlink_to(Path(repository, name))
    tools = folder / ".tools"
    tools.mkdir()
    (tools / "windrow").write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    (tools / "windrow").chmod(0o755)
    (tools / "python3").symlink_to(sys.executable)
    ports = collections.defaultdict(free_port)

    def own(text):
        return PORTS.sub(lambda match: str(ports[match.group()]), text)

    script = ["set -euo pipefail", "trap 'kill $(jobs -p) 2>/dev/null || true; wait || true' EXIT"]
    for block in section.blocks:
        if block.file:
            (folder / block.file).write_text(own(block.text))
        elif is_run(block):
            script += [f"printf '{MARK}%d{MARK}' {block.line}", own(block.text)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINDROW_")}
    process = subprocess.Popen(
        ["bash", "-c", "\n".join(script)], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env=kept | {"PATH": f"{tools}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(folder),
                    # The port of `windrow serve`, where the document names none.
                    "WINDROW_LISTEN": f"127.0.0.1:{ports['8080']}",
                    "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"})
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise AssertionError(f"{section.name} did not end: {output}") from None
    pieces = output.split(MARK)
    return process.returncode, {int(line): text for line, text in zip(pieces[1::2], pieces[2::2])}


def missing_line(printed, shown):
    """The first line of what a document shows that was not printed; None: all were, in order."""
    at = 0
    for line in shown.splitlines():
        if line.strip() in ("", "..."):
            continue
        pattern = re.compile("^" + ".*".join(re.escape(part) for part in line.rstrip().split("..."))
                             + r"\s*$", re.MULTILINE)
        match = pattern.search(printed, at)
        if not match:
            return line
        at = match.end()
    return None
