"""The other two engines: Windrow's, and @huggingface/jinja under node."""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SOAK = "WINDROW_SOAK" in os.environ  # ./test --full: as much as there is time for


def run_lines(command, requests):
    """Gives a process all requests as JSON lines and returns its answers."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}")
    answers = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    if len(answers) != len(requests):
        raise SystemExit(f"{command[0]} gave {len(answers)} answers to {len(requests)} cases")
    return answers


def ours(program, requests):
    return run_lines([program], requests)


def hugging_face(module, requests):
    return run_lines(["node", os.path.join(HERE, "hugging_face.mjs"), module], requests)
