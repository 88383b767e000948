"""What every benchmark here needs of the machine: cores, programs, processes and what they used."""

import argparse
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
BUSY_LOAD = 0.5  # a load average above it before the start deserves a word
START_SECONDS_MAX = 20
LOOK_SECONDS = 0.05  # between looks at a process's memory, the last of which may miss so much


class Problem(Exception):
    """Why there is nothing to measure, as a message for the user."""


def parser_for(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--windrow", metavar="PROGRAM",
                        default=os.path.join(ROOT, "build/release/src/app/windrow"))
    parser.add_argument("--cores", type=int, default=2, metavar="N",
                        help="everything runs on these (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="the sizes of the targets")
    parser.add_argument("--json", action="store_true", help="one object at the end, not a table")
    return parser


def main(parser, measure):
    """Runs `measure`, which gives the object of --json, and ends the program.

    1: a target was missed, 2: nothing could be measured.
    """
    options = parser.parse_args()
    try:
        if not os.access(options.windrow, os.X_OK):
            raise Problem(f"there is no {options.windrow}: cmake --preset release && "
                          "ninja -C build/release windrow, or name it with --windrow")
        cores = sorted(os.sched_getaffinity(0))[:options.cores]
        os.sched_setaffinity(0, cores)
        load = os.getloadavg()[0]
        if load > BUSY_LOAD:
            say(f"note: the load is {load:.1f} already; what runs beside this takes its part")
        figures = measure(options)
    except Problem as problem:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {problem}")
    figures = {"cores": len(cores), "load_before": load, **figures}
    if options.json:
        print(json.dumps(figures, indent=2))
    missed = [name for name, target in figures["targets"].items() if not target["met"]]
    if not options.json:
        print_targets(figures["targets"])
    sys.exit(1 if missed else 0)


def say(text):
    print(text, file=sys.stderr, flush=True)


def target(value, least=None, most=None, aim=None):
    met = (least is None or value >= least) and (most is None or value <= most)
    return {"value": value, "least": least, "most": most, "aim": aim, "met": met}


def print_targets(targets):
    print()
    for name, one in targets.items():
        bound = f"at least {one['least']}" if one["most"] is None else f"at most {one['most']}"
        aim = f", aim {one['aim']}" if one["aim"] is not None else ""
        verdict = "met" if one["met"] else "MISSED"
        print(f"{name:<50} {one['value']:>9.3f}   {bound}{aim}: {verdict}")


def print_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells))


def find_program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not found:
        raise Problem(f"there is no {name}: run bench/runner/setup")
    return found


def python_with_aiohttp():
    """Another Python may be first on the path than the one Debian's packages are for."""
    for python in (sys.executable, "/usr/bin/python3"):
        run = subprocess.run([python, "-c", "import aiohttp"], capture_output=True, check=False)
        if run.returncode == 0:
            return python
    raise Problem("no Python here has aiohttp: run bench/runner/setup")


# --- processes ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Used:
    """What a process came to, as the kernel counted it."""

    wall_s: float
    cpu_s: float
    rss_bytes: int  # at its largest

    def rate(self, rows):
        return rows / self.wall_s

    def figures(self, rows):
        return {"rows": rows, "wall_s": round(self.wall_s, 3), "cpu_s": round(self.cpu_s, 3),
                "rows_per_s": round(rows / self.wall_s, 1),
                "rows_per_cpu_s": round(rows / self.cpu_s, 1), "rss_bytes": self.rss_bytes}


def rss_max_of(pid):
    """By its own account: what wait4 tells begins with the memory of the Python that started it."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Job:
    """A process that is waited for, and never outlives the benchmark."""

    def __init__(self, command, limit_s=3600):
        self.command = command
        self.limit_s = limit_s
        self.log = tempfile.TemporaryFile()
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)

    def running(self):
        return self.process.poll() is None

    def finish(self):
        """Waits for its end. Fails unless it says that all went well."""
        looked = 0.0
        rss_bytes = 0
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            now = time.monotonic()
            if now - self.began > self.limit_s:
                self.stop()
                raise Problem(f"it took longer than {self.limit_s} s: {' '.join(self.command)}")
            if now - looked > LOOK_SECONDS:
                rss_bytes = rss_max_of(self.process.pid) or rss_bytes
                looked = now
            time.sleep(0.002)
        wall_s = time.monotonic() - self.began
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode != 0:
            raise Problem(f"ended with {self.process.returncode}: {' '.join(self.command)}\n"
                          + self.output())
        return Used(wall_s=wall_s, cpu_s=usage.ru_utime + usage.ru_stime,
                    rss_bytes=rss_bytes)

    def stop(self, how=signal.SIGTERM):
        if self.process.returncode is None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def output(self):
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.log.close()


# --- servers ------------------------------------------------------------------------------------


class SimUpstream(Job):
    """`windrow sim-upstream`; url once it is entered, stats once it was stopped."""

    def __init__(self, windrow, flags):
        super().__init__([windrow, "sim-upstream", "--port", "0", "--stats", *flags])
        self.url = ""
        self.stats = {}

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while "\n" not in (text := self.output()):
            if not self.running() or time.monotonic() > deadline:
                self.stop()
                raise Problem(f"the simulated upstream does not start:\n{text}")
            time.sleep(0.02)
        self.url = text.splitlines()[0].strip()
        return self

    def end(self):
        """What it counted."""
        self.stop()
        self.stats = json.loads(self.output().splitlines()[-1])
        return self.stats

    def answer_tokens(self):
        """How many it has made so far."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/metrics", timeout=10) as reply:
            for line in reply.read().decode().splitlines():
                if line.startswith("vllm:generation_tokens_total"):
                    return int(float(line.split()[-1]))
        raise Problem("the simulated upstream does not count its tokens")


MODELS = '{"object":"list","data":[{"id":"sim","object":"model"}]}'
ANSWER = ('{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"sim",'
          '"choices":[{"index":0,"message":{"role":"assistant","content":"It is green."},'
          '"finish_reason":"stop"}],"usage":{"prompt_tokens":16,"completion_tokens":4,'
          '"total_tokens":20}}')


class Nginx(Job):
    """One worker that gives every request the same reply."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="windrow-nginx-")
        self.port = free_port()
        path = os.path.join(self.folder, "nginx.conf")
        # No temporary files: what is asked lies in memory.
        with open(path, "w", encoding="utf-8") as config:
            config.write(f"""daemon off;
worker_processes 1;
pid {self.folder}/pid;
error_log {self.folder}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_buffer_size 64k;
  client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  default_type application/json;
  server {{
    listen 127.0.0.1:{self.port};
    location = /v1/models {{ return 200 '{MODELS}'; }}
    location / {{ return 200 '{ANSWER}'; }}
  }}
}}
""")
        super().__init__([find_program("nginx"), "-p", self.folder, "-c", path,
                          "-e", f"{self.folder}/error.log"])
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                with urllib.request.urlopen(self.url + "/models", timeout=1):
                    return self
            except OSError as error:
                if not self.running() or time.monotonic() > deadline:
                    self.__exit__()
                    raise Problem(f"nginx does not start: {error}\n{self.output()}") from error
                time.sleep(0.02)

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# --- rows ---------------------------------------------------------------------------------------


def body_of(number):
    return {"model": "sim", "max_tokens": 32, "messages": [
        {"role": "system", "content": "You answer in one short sentence."},
        {"role": "user", "content": f"Question {number}: which colour has the number "
                                    f"{number * 7919 % 100003}, and why would anybody say so?"}]}


def write_rows(path, count, make_body=body_of):
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            out.write(json.dumps({"custom_id": f"row-{number}", "method": "POST",
                                  "url": "/v1/chat/completions", "body": make_body(number)}))
            out.write("\n")


def check_results(path, count):
    """Every row once, and an answer in each."""
    seen = set()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["response"]["status_code"] != 200 or not row["response"]["body"]["choices"]:
                raise Problem(f"{path}: a row without an answer: {line[:200]}")
            seen.add(row["custom_id"])
    if len(seen) != count:
        raise Problem(f"{path} has {len(seen)} of {count} rows")


def run_command(windrow, rows, results, url, concurrency="auto", *more):
    return [windrow, "run", rows, "-o", results, "--upstream", url,
            "--concurrency", str(concurrency), "--quiet", *more]
