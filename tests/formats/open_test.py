"""Files that earlier versions stored are opened by this one: every folder beside this file that is
named like a version, made by store.py with the program of that version. The program works on
copies."""

import json
import re
import shutil
import sqlite3
import tempfile
import unittest
from pathlib import Path

import program
import store

VERSIONS = sorted(folder for folder in program.HERE.iterdir()
                  if re.fullmatch(r"\d+\.\d+\.\d+", folder.name))


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def formats_of(folder):
    """The version that each stored file says it has."""
    def database(path):
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        try:
            return connection.execute("PRAGMA user_version").fetchone()[0]
        finally:
            connection.close()

    return {"job record": json.loads((folder / "job/results.job.json").read_text())["windrow_job"],
            "cache": (folder / "cache/answers.cache").read_bytes().split(b"\n")[0].decode(),
            "bank": database(folder / "bank/notes.bank"),
            "server": database(folder / "server/data/windrow.db")}


class StoredFiles(unittest.TestCase):
    @staticmethod
    def copies(part):
        """A copy of that part of each version; its path names the version."""
        for version in VERSIONS:
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / version.name / part
                shutil.copytree(version / part, copy)
                yield copy

    def test_every_version_of_every_format_is_stored(self):
        with tempfile.TemporaryDirectory() as folder:
            now = Path(folder) / "now"
            now.mkdir()
            store.store_job(now / "job")
            store.store_cache(now / "cache")
            store.store_bank(now / "bank")
            store.store_server(now / "server")
            made = formats_of(now)
        stored = [formats_of(version) for version in VERSIONS]
        for name, version in made.items():
            self.assertIn(version, [formats[name] for formats in stored],
                          f"no stored {name} has the version that this program writes: store.py")

    def test_a_job_is_read_continued_and_retried(self):
        for folder in self.copies("job"):
            results, errors = folder / "results.jsonl", folder / "results.errors.jsonl"
            before = results.read_bytes()
            self.assertEqual({line["custom_id"] for line in read_lines(results)},
                             {"row-0", "row-1", "row-2", "row-4", "row-5"})
            self.assertEqual([line["custom_id"] for line in read_lines(errors)], ["row-3"])

            status = json.loads(program.run(folder, "status", "results.jsonl", "--json"))
            self.assertEqual(status["state"], "finished", status)
            self.assertEqual(status["rows"],
                             {"succeeded": 5, "failed": 1, "total": 6, "left": 0})
            self.assertEqual(status["files"]["results"]["odd_lines"], 0, status)

            # Nothing is left to do, and nothing changes.
            program.run_job(folder, codes=(1,))
            self.assertEqual(results.read_bytes(), before)

            # A torn line and a new row: these two run, and the other lines stay.
            last = read_lines(results)[-1]["custom_id"]
            whole = before[:before.rstrip(b"\n").rfind(b"\n") + 1]
            results.write_bytes(before[:-15])
            with (folder / "requests.jsonl").open("a") as file:
                file.write(json.dumps(store.request(6, "yellow")) + "\n")
            program.run_job(folder, codes=(1,))
            self.assertTrue(results.read_bytes().startswith(whole))
            added = results.read_bytes()[len(whole):].decode().splitlines()
            self.assertEqual({json.loads(line)["custom_id"] for line in added}, {last, "row-6"})

            # The wrong row is corrected.
            requests = (folder / "requests.jsonl").read_text().replace('"temperature": 9',
                                                                       '"temperature": 1')
            (folder / "requests.jsonl").write_text(requests)
            program.run(folder, "retry", "results.errors.jsonl", "--model", program.MODEL)
            self.assertEqual(errors.read_bytes(), b"")
            self.assertEqual(len(read_lines(results)), 7)

    def test_a_job_is_refused_with_other_settings(self):
        for folder in self.copies("job"):
            with (folder / "requests.jsonl").open("a") as file:
                file.write(json.dumps(store.request(6, "new")) + "\n")
            program.run_job(folder, "--kv-type", "q8_0", codes=(2,))

    def test_answers_come_from_a_cache(self):
        for folder in self.copies("cache"):
            with program.simulated_server(folder) as url:
                store.run_with_cache(folder, url)
            answered = read_lines(folder / "results.jsonl")
            self.assertEqual([line["windrow"]["attempts"] for line in answered], [0, 0, 0])

    def test_keys_are_accepted(self):
        for folder in self.copies("keys"):
            listed = json.loads(program.run(folder, "keys", "list", "keys.txt", "--json"))
            self.assertEqual([key["name"] for key in listed], ["alice", "bob"])
            self.assertEqual((listed[0]["rpm"], listed[0]["weight"]), (600, 3))
            self.assertEqual((listed[0]["admin"], listed[1]["admin"]), (False, True))
            with program.serving_data(folder, "--api-keys", "keys.txt") as server:
                self.assertEqual(server.status_of("/v1/models"), 401)
                for key in json.loads((folder / "told.json").read_text()).values():
                    server.key = key
                    self.assertEqual(server.status_of("/v1/models"), 200)

    def test_a_bank_is_recalled_from_and_grows(self):
        for folder in self.copies("bank"):
            found = program.run(folder, "memory", "recall", "notes.bank",
                                "Where does Alice Miller live?", "--embed", program.EMBEDDER)
            self.assertIn("Oslo", found.splitlines()[0])
            program.run(folder, "memory", "retain", "notes.bank", "--embed", program.EMBEDDER,
                        "--memory-set", "retain_extraction_mode=verbatim",
                        given="Bob Stone repairs clocks.\n")
            found = program.run(folder, "memory", "recall", "notes.bank", "Who repairs clocks?",
                                "--embed", program.EMBEDDER)
            self.assertIn("Bob Stone", found)

    def test_the_folder_of_a_server_is_served(self):
        for folder in self.copies("server"):
            with program.serving_data(folder) as server:
                batches = server.json("/v1/batches")["data"]
                self.assertEqual([batch["status"] for batch in batches], ["completed"])
                self.assertEqual(batches[0]["request_counts"]["completed"], 3)
                answers = server.ask(f"/v1/files/{batches[0]['output_file_id']}/content").decode()
                self.assertEqual({json.loads(line)["custom_id"] for line in answers.splitlines()},
                                 {"row-0", "row-1", "row-2"})
                given = server.ask(f"/v1/files/{batches[0]['input_file_id']}/content").decode()
                self.assertEqual(given.strip(), store.lines(store.ROWS[:3]).strip())
                found = server.json("/v1/default/banks/notes/memories/list")["items"]
                self.assertEqual([memory["text"] for memory in found],
                                 ["Alice Miller lives in Oslo."])


if __name__ == "__main__":
    unittest.main()
