"""Examples as files: a Batch file of requests, and beside it the key with the right answers."""

import json
import random
from pathlib import Path
from typing import Any, Iterable, Iterator

from .example import Example
from .screening import make_candidate, make_job
from .words import words_of

MODEL = "windrow-demo"

# Room for the longest right answer even at a token for every second character.
MAX_TOKENS = {
    "screening": 192,
    "extraction": 256,
    "consolidation": 512,
    "sort": 32,
    "merge": 144,
    "sum": 48,
    "sort32": 80,
    "merge8": 48,
    "merge16": 80,
    "merge32": 144,
    "sum2": 48,
    "sum3": 48,
    "sort64": 144,
    "tool_calling": 128,
}

JOBS = 20
CANDIDATES_OF_JOB = 100


def request(custom_id: str, example: Example) -> dict[str, Any]:
    body: dict[str, Any] = {"model": MODEL, "messages": example.messages}
    if example.tools is not None:
        body["tools"] = example.tools
    body["max_tokens"] = MAX_TOKENS[example.task]
    body["temperature"] = 0
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def key(custom_id: str, example: Example) -> dict[str, str]:
    return {"custom_id": custom_id, "task": example.task, "answer": example.answer}


def candidates() -> Iterator[tuple[str, Example]]:
    """The file of a recruiter: the jobs mixed, all names of the test split."""
    rng, words = random.Random("candidates/test/1"), words_of("test")
    jobs: dict[str, Any] = {}
    while len(jobs) < JOBS:
        job = make_job(rng)
        jobs.setdefault(job.title, job)
    rows = [make_candidate(rng, words, job)
            for job in jobs.values() for _ in range(CANDIDATES_OF_JOB)]
    rng.shuffle(rows)
    for number, row in enumerate(rows, 1):
        yield f"candidate-{number:04}", row


def write(rows: Iterable[tuple[str, Example]], requests_file: Path, key_file: Path) -> int:
    """How many rows were written."""
    count = 0
    with (open(requests_file, "w", encoding="utf-8", newline="\n") as requests,
          open(key_file, "w", encoding="utf-8", newline="\n") as keys):
        for custom_id, example in rows:
            for file, make in ((requests, request), (keys, key)):
                file.write(json.dumps(make(custom_id, example), ensure_ascii=False) + "\n")
            count += 1
    return count
