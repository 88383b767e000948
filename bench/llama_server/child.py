"""A child process that never outlives the comparison."""

import os
import subprocess
import tempfile


class Problem(Exception):
    """Why there is nothing to compare, as a message for the user."""


class TooSlow(Problem):
    """A contender did not end within the limit; the others may still be compared."""


def settings_of_others_left_out():
    """The environment without what would change llama-server's settings behind our back."""
    return {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")}


class Child:
    """A context manager: at its end, however that comes, the process has ended too.

    Its standard error, and its standard output unless that is read, go to a temporary file;
    last_words() returns the end of it.
    """

    def __init__(self, command, read_output=False):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=self.log, env=settings_of_others_left_out(),
            stdout=subprocess.PIPE if read_output else self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.process.poll() is None:
                self.process.terminate()
                self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
            self.log.close()

    def last_words(self, lines=12):
        self.log.seek(0)
        text = self.log.read().decode("utf-8", "replace")
        return "\n".join("  | " + line for line in text.splitlines()[-lines:])

    def cpu_plugin(self):
        """The file of libggml's CPU plug-in it has loaded; which one decides the speed."""
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            names = {os.path.basename(line.split()[-1]) for line in maps if "libggml-cpu" in line}
        return ", ".join(sorted(names))
