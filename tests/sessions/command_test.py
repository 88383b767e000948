"""`windrow sessions` with a running server: list, show and export, and what people do wrong."""

import json
import resource
import socket
import unittest

from reference_test import QUESTION, WithUpstream
from safetensors import Samples
from session_program import tool, user
from sglang_server import SglangServer


class Commands(WithUpstream):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = cls.server.session()
        cls.session.say(QUESTION)
        cls.session.say(tool("r"))
        cls.tree = cls.server.session({"history": "tree"})
        cls.tree.say(QUESTION)
        for text in ("left", "right"):
            cls.tree.chat([*cls.tree.messages, user(text)])
        cls.session_files = 0

    def sessions(self, *words, url=None, **more):
        return self.folder.run("sessions", *words, "--url", url or self.server.url, **more)

    def check(self, done, code, *texts):
        self.assertEqual(done.code, code, done)
        for text in texts:
            self.assertIn(text, done.err)
        self.assertNotIn("Sanitizer", done.err)

    def file(self, name):
        path = self.folder.path / name
        self.assertFalse(path.exists(), name)
        return path

    def check_no_file(self, path):
        """Nor one that was begun."""
        self.assertEqual([one.name for one in path.parent.iterdir()
                          if one.name.startswith(path.name)], [])

    def test_list(self):
        done = self.sessions("list")
        self.assertEqual(done.code, 0, done)
        head, *lines = done.out.splitlines()
        self.assertEqual(head.split()[:4], ["ID", "MODEL", "HISTORY", "TURNS"])
        rows = {line.split()[0]: line.split()[1:4] for line in lines}
        self.assertEqual(rows[self.session.id], ["chat", "linear", "2"])
        self.assertEqual(rows[self.tree.id], ["chat", "tree", "3"])
        as_json = self.sessions("list", "--json")
        found = {one["id"]: one for one in json.loads(as_json.out)["sessions"]}
        self.assertEqual(found[self.session.id]["tokens"],
                         len(self.session.metadata["accumulated_token_ids"]))

    def test_show(self):
        done = self.sessions("show", self.session.id)
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"session {self.session.id}\nchat, linear: 2 turns, ", done.out)
        self.assertIn("turn 1: prompt ", done.out)
        done = self.sessions("show", self.tree.id)
        self.assertIn("  + turn 1: prompt", done.out)
        self.assertIn("  + turn 2: prompt", done.out)
        as_json = json.loads(self.sessions("show", self.tree.id, "--json").out)
        self.assertEqual(as_json["session_id"], self.tree.id)
        self.assertEqual(as_json["records"], [])

    def test_export(self):
        path = self.file("a file \u00fc.safetensors")
        done = self.sessions("export", self.session.id, "-o", path)
        self.check(done, 0, str(path), f"samples of session {self.session.id}")
        self.assertEqual(path.read_bytes(), self.session.samples())
        cut = self.file("cut.safetensors")
        done = self.sessions("export", self.session.id, "-o", cut, "--max-seq-len", "20")
        self.assertEqual(done.code, 0, done)
        self.assertEqual(len(Samples(cut.read_bytes()).one()["tokens"].values), 20)
        records = self.file("records.json")
        done = self.sessions("export", self.session.id, "-o", records, "--records")
        self.check(done, 0, "records of session")
        self.assertEqual(json.loads(records.read_bytes()), self.session.show())

    def test_a_file_that_is_there_is_left_alone_or_replaced_as_a_whole(self):
        path = self.file("there.safetensors")
        path.write_text("mine")
        done = self.sessions("export", "none", "-o", path)
        self.assertEqual(done.code, 2, done)
        self.assertEqual(path.read_text(), "mine")

    def test_a_full_disk(self):
        """The limit of a file's size is what can be set without rights."""
        size = len(self.session.samples())
        for limit in (0, 16, size - 1):
            with self.subTest(limit):
                path = self.file(f"full {limit}.safetensors")
                done = self.sessions("export", self.session.id, "-o", path,
                                     preexec_fn=lambda: resource.setrlimit(
                                         resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertEqual(done.code, 2, done)
                self.assertRegex(done.err, "File too large|is full")
                self.assertIn(str(path), done.err)
                self.check_no_file(path)
        path = self.file("enough.safetensors")
        done = self.sessions("export", self.session.id, "-o", path,
                             preexec_fn=lambda: resource.setrlimit(
                                 resource.RLIMIT_FSIZE, (size, size)))
        self.assertEqual(done.code, 0, done)

    def test_files_that_cannot_be_written(self):
        path = self.folder.path / "no folder" / "a.safetensors"
        done = self.sessions("export", self.session.id, "-o", path)
        self.check(done, 2, str(path.parent))
        done = self.sessions("export", self.session.id, "-o", self.folder.path)
        self.check(done, 2, str(self.folder.path))

    def test_an_unknown_session(self):
        for words in (("show", "0" * 32), ("export", "0" * 32, "-o", "x.safetensors")):
            done = self.sessions(*words)
            self.check(done, 2, f"session not found: session_id={'0' * 32}")
        self.check_no_file(self.folder.path / "x.safetensors")
        done = self.sessions("show", "../v1/models")
        self.assertEqual(done.code, 2, done)

    def test_words_and_flags_that_are_wrong(self):
        for words, texts in (
                (("lst",), ("lst", "list")),
                (("show",), ("ID",)),
                (("export", "x"), ("-o",)),
                (("list", "more"), ("more",)),
                (("export", "x", "-o", "f", "--max-seq-len", "none"), ("--max-seq-len",)),
                (("export", "x", "-o", "f", "--records", "--max-seq-len", "5"), ("--records",)),
                (("list", "--jsn"), ("--jsn", "--json")),
                (("list", "--api-key-env", "NOT_SET_ANYWHERE"), ("NOT_SET_ANYWHERE",))):
            with self.subTest(words):
                self.check(self.sessions(*words), 2, *texts)
        self.check(self.folder.run("sessions", "list", "--url", "nonsense"), 2, "--url")
        self.check(self.folder.run("sessions"), 2, "list, show ID, or export ID")

    def test_no_server(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            port = taken.getsockname()[1]
            path = self.file("none.safetensors")
            for words in (("list",), ("show", "x"), ("export", "x", "-o", path)):
                done = self.sessions(*words, url=f"http://127.0.0.1:{port}")
                self.check(done, 3, str(port), "--url")
            self.check_no_file(path)

    def test_a_server_without_sessions(self):
        with SglangServer() as other:
            other.script = lambda call: (_ for _ in ()).throw(ConnectionError())
            done = self.sessions("list", url=other.url.removesuffix("/v1"))
        self.assertEqual(done.code, 3, done)


class WithKeys(WithUpstream):
    def test_keys(self):
        file = self.folder.path / "keys"
        key = self.folder.run("keys", "add", file, "trainer").out.split()[-1]
        server = self.start("--api-keys", file)
        session = server.session(headers={"Authorization": f"Bearer {key}"})
        session.say(QUESTION)

        def run(*words, **variables):
            flags = ("--api-key-env", "SOME_KEY") if variables else ()
            return self.folder.run("sessions", *words, "--url", server.url, *flags,
                                   variables=variables)
        done = run("list")
        self.assertEqual(done.code, 2, done)
        self.assertIn("--api-key-env", done.err)
        listed = run("list", SOME_KEY=key)
        self.assertIn("trainer", listed.out)
        self.assertIn(session.id, listed.out)
        # The session's own key shows it, though it lists nothing.
        shown = run("show", session.id, SOME_KEY=session.key)
        self.assertEqual(shown.code, 0, shown)
        self.assertIn("turn 0: prompt", shown.out)
        self.assertNotIn(session.key, shown.out)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
