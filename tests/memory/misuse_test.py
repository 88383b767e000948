"""What people do wrong with `windrow memory`: they are told what is wrong, where, and what to do,
and lose nothing."""

import os
import random
import resource
import socket
import sqlite3
import subprocess
import unittest

from bank_program import Folder, faults_of_bank, flags_of
from model_server import CHAT, EMBED, ModelServer
from story import Story, write_lines


class Misuse(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(Folder())
        self.bank = self.folder.path / "bank.bank"

    def write(self, name, text):
        path = self.folder.path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def check(self, words, code, *texts, **more):
        """The command ends with this code, and says all of these texts in one line."""
        done = self.folder.memory(*words, **more)
        self.assertEqual(done.code, code, done)
        lines = [line for line in done.err.split("\n") if texts[0] in line]
        self.assertTrue(lines, f"{texts[0]!r} is not in: {done.err}")
        for text in texts[1:]:
            self.assertIn(text, lines[0])
        self.assertNotIn("Sanitizer", done.err)
        return done

    def retain(self, text="a: 1\n", *words):
        done = self.folder.memory("retain", self.bank, self.write("facts", text), *words)
        self.assertEqual(done.code, 0, done)


class Words(Misuse):
    def test_no_subcommand(self):
        self.check((), 2, "needs a word after it", "retain, recall, consolidate or show")

    def test_an_unknown_subcommand_names_the_nearest(self):
        self.check(("consolidat", self.bank), 2, "\"consolidat\" is not a subcommand",
                   "did you mean consolidate?")
        self.check(("forget", self.bank), 2, "\"forget\" is not a subcommand",
                   "retain, recall, consolidate and show")

    def test_no_bank(self):
        for verb in ("retain", "recall", "consolidate", "show"):
            self.check((verb,), 2, "no bank was named", "the path of its file")

    def test_no_query(self):
        self.retain()
        self.check(("recall", self.bank), 2, "no query was given", "recall BANK \"")
        self.check(("recall", self.bank, ""), 2, "no query was given")
        self.check(("recall", self.bank, "..."), 2, "query has no word", "letter or digit")

    def test_an_unknown_flag(self):
        self.check(("show", self.bank, "--tags", "x"), 2, "--tags", "did you mean --tag?")

    def test_words_too_many(self):
        self.check(("show", self.bank, "more"), 2, "more")


class Settings(Misuse):
    def check_setting(self, setting, *texts):
        for words in (("show", self.bank), ("retain", self.bank, os.devnull),
                      ("consolidate", self.bank)):
            self.check((*words, "--memory-set", setting), 2, "--memory-set", *texts)

    def setUp(self):
        super().setUp()
        self.retain()

    def test_an_unknown_key_names_the_nearest(self):
        self.check_setting("consolidation_llm_batch_sise=4", "consolidation_llm_batch_sise",
                           "did you mean consolidation_llm_batch_size?")

    def test_a_wrong_type_or_range_says_what_it_must_be(self):
        self.check_setting("consolidation_llm_batch_size=four", "consolidation_llm_batch_size",
                           "a whole number from 1 to 1000", "four")
        self.check_setting("consolidation_llm_batch_size=0", "a whole number from 1 to 1000")
        self.check_setting("enable_observations=maybe", "true or false", "maybe")
        self.check_setting("prompt_profile=demo2", "compact, demo, hindsight")
        self.check_setting("consolidation_dedup_threshold=1.5", "a number from 0 to 1")
        self.check_setting("consolidation_extra_body={", "an object")

    def test_no_value(self):
        self.check_setting("consolidation_llm_batch_size", "KEY=VALUE",
                           "consolidation_llm_batch_size=4")


class Files(Misuse):
    def check_left_as_it_was(self, path, *texts):
        """No command works on it or changes it."""
        before = path.read_bytes()
        for words in (("show", path), ("recall", path, "word"), ("consolidate", path),
                      ("retain", path, self.write("facts", "a: 1\n"))):
            self.check(words, 2, str(path), *texts)
            self.assertEqual(path.read_bytes(), before, words)

    def test_no_file(self):
        for words in (("show", self.bank), ("recall", self.bank, "word"),
                      ("consolidate", self.bank)):
            self.check(words, 2, str(self.bank), "there is no bank file", "retain something")
            self.assertEqual(os.listdir(self.folder.path), [], words)

    def test_a_missing_folder(self):
        bank = self.folder.path / "missing" / "a.bank"
        self.check(("show", bank), 2, "there is no bank file")
        self.check(("retain", bank, self.write("facts", "a: 1\n")), 2,
                   str(bank.parent), "there is no folder", "make it")

    def test_a_folder(self):
        folder = self.folder.path / "folder.bank"
        folder.mkdir()
        for words in (("show", folder), ("retain", folder, self.write("facts", "a: 1\n"))):
            self.check(words, 2, str(folder), "is a folder", "file of a bank")

    def test_a_file_that_is_no_database(self):
        path = self.write("text.bank", "a text of some length\n" * 400)
        self.check_left_as_it_was(path, "move it away")

    def test_an_empty_file(self):
        self.check_left_as_it_was(self.write("empty.bank", ""), "empty")

    def test_a_database_of_another_program(self):
        path = self.folder.path / "other.bank"
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE memories (id INTEGER)")
        other.close()
        self.check_left_as_it_was(path, "another program", "give the file of a bank")

    def test_a_bank_of_a_later_version(self):
        self.retain()
        with sqlite3.connect(self.bank) as bank:
            ((version,),) = bank.execute("PRAGMA user_version").fetchall()
            bank.execute(f"PRAGMA user_version = {version + 1}")
        bank.close()
        self.check_left_as_it_was(self.bank, "later version", "windrow")

    def test_a_truncated_bank(self):
        self.retain("".join(f"fact {i}: {i}\n" for i in range(300)))
        whole = self.bank.read_bytes()
        for size in (50, 4096, len(whole) // 2, len(whole) - 4096):
            with self.subTest(size):
                path = self.write("truncated.bank", whole[:size])
                self.check_left_as_it_was(path, "move it away")

    def test_names_with_blanks_and_other_scripts(self):
        for name in ("my bank.bank", "Straße 東京 🗼.bank", "no ending", "a'b\"c.bank", "%41.bank"):
            with self.subTest(name):
                bank = self.folder.path / "a folder ü" / name
                bank.parent.mkdir(exist_ok=True)
                facts = self.write("facts", "café: naïve 東京\n")
                done = self.folder.memory("retain", bank, facts, "--tag", "ort:köln")
                self.assertEqual(done.code, 0, done)
                self.assertTrue(bank.exists())
                shown = self.folder.show(bank)
                self.assertEqual(shown["stats"]["nodes_by_fact_type"]["world"], 1)
                found = self.folder.memory("recall", bank, "東京")
                self.assertIn("café: naïve 東京  [ort:köln]", found.out)

    def test_a_bank_in_the_working_folder(self):
        done = self.folder.memory("retain", "here.bank", self.write("facts", "a: 1\n"))
        self.assertEqual(done.code, 0, done)
        self.assertEqual(self.folder.show("here.bank")["stats"]["bank_id"], "here")


class Inputs(Misuse):
    def check_line(self, text, number, *texts):
        path = self.write("facts.jsonl", text)
        self.check(("retain", self.bank, path), 2, f"{path}: line {number}", *texts)
        self.assertFalse(self.bank.exists(), "a bank was made")

    def test_lines_that_cannot_be_used_are_named(self):
        fine = '{"content": "a: 1"}\n\n'
        self.check_line(fine + '{"content": "b: 1"\n', 3, "not JSON")
        self.check_line(fine + '  {"content": "b: 1"\n', 3, "not JSON")
        self.check_line(fine + '{"text": "b"}\n', 3, "content")
        self.check_line(fine + '{"content": 7}\n', 3, "content", "string")
        self.check_line(fine + '{"content": "  "}\n', 3, "content cannot be empty")
        self.check_line(fine + '{"content": "b", "tags": [1]}\n', 3, "tags[0]", "string")
        self.check_line(fine + '{"content": "b", "tags": {"x": 1}}\n', 3, "tags")
        self.check_line(fine + '{"content": "b", "timestamp": "soon"}\n', 3, "timestamp",
                        "2024-01-15T10:30:00Z")
        self.check_line(fine + '{"content": "b", "observation_scopes": "all"}\n', 3,
                        "observation_scopes", "per_tag")
        self.check_line(b"fine\nna\xefve\n", 2, "UTF-8")

    def test_files_that_cannot_be_read(self):
        missing = self.folder.path / "missing.jsonl"
        self.check(("retain", self.bank, missing), 2, str(missing), "No such file")
        self.check(("retain", self.bank, self.folder.path), 2, str(self.folder.path),
                   "directory")
        self.assertFalse(self.bank.exists(), "a bank was made")

    def test_nothing_to_retain_is_no_fault(self):
        done = self.folder.memory("retain", self.bank, self.write("facts", "\n \n\r\n"))
        self.assertEqual(done.code, 0, done)
        self.assertIn("0 items", done.err)

    def test_standard_input_and_line_ends_of_windows(self):
        done = subprocess.run([os.environ["WINDROW_PROGRAM"], "memory", "retain", self.bank, "-"],
                              input=b'a: 1\r\n{"content": "b: 2"}\r\n', cwd=self.folder.path,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        found = self.folder.memory("recall", self.bank, "a b")
        self.assertIn("  a: 1\n", found.out)
        self.assertIn("  b: 2\n", found.out)


class Models(Misuse):
    def setUp(self):
        super().setUp()
        self.server = self.enterContext(ModelServer())
        self.flags = flags_of(self.server)

    def test_no_model(self):
        self.retain()
        self.check(("consolidate", self.bank), 2, "--model", "--upstream")

    def test_models_that_are_not_named(self):
        self.retain()
        self.check(("consolidate", self.bank, "--upstream", self.server.url), 2,
                   "--memory-model NAME", "--memory-embed")

    def test_a_model_that_the_server_does_not_have(self):
        self.retain()
        done = self.folder.memory("consolidate", self.bank, "--upstream", self.server.url,
                                  "--memory-model", "chta")
        self.assertEqual(done.code, 3, done)
        self.assertIn("there is no model chta", done.err)
        self.assertEqual(self.folder.show(self.bank)["stats"]["failed_consolidation"], 0)

    def test_no_server(self):
        self.retain()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            port = taken.getsockname()[1]
            words = ("--upstream", f"http://127.0.0.1:{port}/v1", "--memory-model", CHAT,
                     "--memory-embed", EMBED)
            facts = self.write("more", "b: 1\n")
            for command in (("consolidate", self.bank), ("retain", self.bank, facts),
                            ("recall", self.bank, "a")):
                self.check((*command, *words), 3, str(port))
        stats = self.folder.show(self.bank)["stats"]
        self.assertEqual(stats["nodes_by_fact_type"]["world"], 1)
        self.assertEqual(stats["pending_consolidation"], 1)

    def test_an_embedding_of_another_size(self):
        story = Story(random.Random(1))
        part = write_lines(self.folder.path / "part.jsonl", story.more(20))
        self.retain(part.read_text(), *self.flags)
        self.server.embedding_size += 1
        more = self.write("more", "b: 1\n")
        for command in (("retain", self.bank, more), ("recall", self.bank, "topic1x1")):
            self.check((*command, *self.flags), 2, "256", "257")
        self.check(("consolidate", self.bank, *self.flags), 2, "256", "257")
        self.server.embedding_size -= 1
        done = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(faults_of_bank(self.bank, story), [])


class FullDisk(Misuse):
    """The limit of a file's size is what can be set without rights."""

    def setUp(self):
        super().setUp()
        self.server = self.enterContext(ModelServer())
        self.flags = flags_of(self.server)
        self.story = Story(random.Random(1))
        part = write_lines(self.folder.path / "part.jsonl", self.story.more(60))
        self.retain(part.read_text(), *self.flags)

    def limited(self, *words, size):
        return self.folder.memory(*words, *self.flags, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (size, size)))

    def check_told(self, done):
        self.assertEqual(done.code, 2, done)
        self.assertRegex(done.err, "File too large|the disk of .* is full")
        self.assertIn(str(self.bank), done.err)

    def test_retain(self):
        rest = self.story.more(60)
        path = write_lines(self.folder.path / "rest.jsonl", rest)
        for size in (0, 4096, self.bank.stat().st_size // 2, self.bank.stat().st_size // 8):
            with self.subTest(size):
                done = self.limited("retain", self.bank, path, size=size)
                self.check_told(done)
                stats = self.folder.show(self.bank)["stats"]
                self.assertEqual(stats["nodes_by_fact_type"]["world"], 60)
        self.retain(path.read_text(), *self.flags)
        done = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])

    def test_consolidate(self):
        for size in (0, 4096, 40_000, 100_000, 200_000):
            with self.subTest(size):
                done = self.limited("consolidate", self.bank, size=size)
                self.check_told(done)
                stats = self.folder.show(self.bank)["stats"]
                self.assertEqual(stats["failed_consolidation"], 0)
        done = self.folder.memory("consolidate", self.bank, *self.flags)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(faults_of_bank(self.bank, self.story), [])

    def test_a_new_bank(self):
        bank = self.folder.path / "new.bank"
        done = self.limited("retain", bank, self.write("facts", "a: 1\n"), size=4096)
        self.assertEqual(done.code, 2, done)
        self.assertIn("File too large", done.err)
        self.assertFalse(bank.exists())
        done = self.folder.memory("retain", bank, self.write("facts", "a: 1\n"))
        self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
