#!/usr/bin/env python3
"""Writes one file of every stored format with the program of WINDROW_PROGRAM.

usage: WINDROW_PROGRAM=... store.py FOLDER     FOLDER: tests/formats/VERSION, which must not exist

Run it when a format gets a new version, and commit the folder. Folders of earlier versions stay as
they are: they are what users have.
"""

import json
import sys
from pathlib import Path

import program

ROWS = ["red", "green", "blue", "a wrong row", "white", "black"]


def request(number, text):
    body = {"model": "sim", "messages": [{"role": "user", "content": text}], "temperature": 0}
    if text == "a wrong row":
        body["temperature"] = 9
    return {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions",
            "body": body}


def lines(texts):
    return "".join(json.dumps(request(number, text)) + "\n" for number, text in enumerate(texts))


def store_job(folder):
    folder.mkdir()
    (folder / "requests.jsonl").write_text(lines(ROWS))
    program.run_job(folder, codes=(1,))  # one row is wrong
    (folder / "results.lock").unlink(missing_ok=True)


def store_cache(folder):
    folder.mkdir()
    (folder / "requests.jsonl").write_text(lines(ROWS[:3]))
    with program.simulated_server(folder) as url:
        run_with_cache(folder, url)
    for file in folder.glob("results*"):
        file.unlink()
    (folder / "answers.cache.lock").unlink(missing_ok=True)


def run_with_cache(folder, url):
    program.run(folder, "run", "requests.jsonl", "-o", "results.jsonl", "--upstream", url,
                "--cache", "answers.cache")


def store_keys(folder):
    folder.mkdir()
    told = {}
    for name, limits in (("alice", ["--rpm", "600", "--weight", "3"]), ("bob", ["--admin"])):
        told[name] = json.loads(program.run(folder, "keys", "add", "keys.txt", name, *limits,
                                            "--json"))["key"]
    # Not part of the format: the test asks a server with them.
    (folder / "told.json").write_text(json.dumps(told, indent=2) + "\n")


def store_bank(folder):
    folder.mkdir()
    facts = "Alice Miller lives in Oslo.\nAlice Miller plays the violin.\n"
    program.run(folder, "memory", "retain", "notes.bank", "--embed", program.EMBEDDER,
                "--tag", "alice", "--memory-set", "retain_extraction_mode=verbatim", given=facts)
    (folder / ".lock").unlink(missing_ok=True)


def store_server(folder):
    folder.mkdir()
    with program.serving_data(folder) as server:
        mark = "windrow-boundary"
        form = (f"--{mark}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
                f"--{mark}\r\nContent-Disposition: form-data; name=\"file\"; "
                f"filename=\"requests.jsonl\"\r\n\r\n{lines(ROWS[:3])}\r\n--{mark}--\r\n")
        file = json.loads(server.ask("/v1/files", form.encode(),
                                     kind=f"multipart/form-data; boundary={mark}"))
        batch = server.json("/v1/batches", {"input_file_id": file["id"], "completion_window": "24h",
                                            "endpoint": "/v1/chat/completions"})
        while batch["status"] not in ("completed", "failed"):
            batch = server.json(f"/v1/batches/{batch['id']}")
        bank = "/v1/default/banks/notes"
        server.json(bank, {}, method="PUT")
        server.json(f"{bank}/memories", {"items": [{"content": "Alice Miller lives in Oslo."}]})
    for lock in [*folder.rglob("*.lock")]:
        lock.unlink()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir()
    store_job(folder / "job")
    store_cache(folder / "cache")
    store_keys(folder / "keys")
    store_bank(folder / "bank")
    store_server(folder / "server")


if __name__ == "__main__":
    main()
