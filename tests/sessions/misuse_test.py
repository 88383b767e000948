"""What people do wrong with sessions of a server: they are told what is wrong, where, and what to
do."""

import http.client
import signal
import unittest
from urllib.parse import urlsplit

from reference_test import FLAGS, QUESTION, WithUpstream
from session_program import (LIMIT_S, MODEL_FILE, Folder, Server, Simulated, all_of, user,
                             wait_until)
from sglang_server import CHAT, SglangServer


class Flags(unittest.TestCase):
    def check(self, words, *texts):
        with Folder() as folder:
            done = folder.run("serve", "--listen", "127.0.0.1:0", "--model", MODEL_FILE, *words)
        self.assertEqual(done.code, 2, done)
        for text in texts:
            self.assertIn(text, done.err)

    def test_values_that_are_none(self):
        for words, texts in (
                (("--session-upstream", "openai"), ("sglang-chat", "vllm")),
                (("--session-history", "graph"), ("linear", "tree")),
                (("--session-match", "exact"), ("strict", "role_content_only")),
                (("--session-orphans", "keep"), ("stop", "commit")),
                (("--session-rows", "all"), ("first", "last")),
                (("--session-attempts", "0"), ("1",)),
                (("--session-idle-s", "soon"), ("soon",)),
                (("--sessions-max", "0"), ("1",)),
                (("--session-reply-mb", "-1"), ("-1",)),
                (("--session-mb-max", "11", "--sessions-mb-max", "10"), ("--sessions-mb-max",)),
                (("--session-body-mb", "100", "--max-body-mb", "50"), ("--max-body-mb",)),
                (("--session-new-rows", "--session-rows", "last"), ("contradict",)),
                (("--session-turn-max", "5"), ("--session-turns-max",))):
            with self.subTest(words):
                self.check(words, words[0], *texts)

    def test_a_tokenizer_that_is_none(self):
        with Folder() as folder, SglangServer() as upstream:
            none = folder.path / "none.gguf"
            none.write_text("no GGUF")
            for path, text in ((none, "none.gguf"), (folder.path / "missing.gguf", "missing")):
                done = folder.run("serve", "--listen", "127.0.0.1:0", "--upstream", upstream.url,
                                  "--tokenizer", f"chat={path}")
                self.assertEqual(done.code, 2, done)
                self.assertIn(text, done.err)


class Requests(WithUpstream):
    def test_options_of_sessions(self):
        for body, *texts in (
                ({"history": "graph"}, "history must be", "linear", "tree", "graph"),
                ({"match": 5}, "match must be", "strict"),
                ({"orphans": "keep"}, "orphans must be", "stop", "commit"),
                ({"retries": "none"}, "retries must be", "keep_all"),
                ({"priority": "high"}, "priority must be", "interactive"),
                ({"moe_layers": 0}, "moe_layers must be", "1 to 10000"),
                ({"temperature": -1}, "temperature must be", "0 or more"),
                ({"histroy": "tree"}, "histroy is no option of a session", "history"),
                (b"{\"history\": ", "invalid JSON body", "byte"),
                (b"\xff", "invalid JSON body"),
                (b"7", "must be a JSON object")):
            with self.subTest(body):
                self.check_error(self.server.ask("POST", "/sessions", body), 400, *texts)

    def test_methods_that_a_path_does_not_have(self):
        session = self.server.session()
        for method, path in (("PUT", "/sessions"), ("DELETE", "/sessions"), ("PATCH", "/sessions"),
                             ("POST", session.path), ("PUT", session.path)):
            with self.subTest(method=method, path=path):
                reply = self.server.ask(method, path)
                self.assertEqual(reply.status, 405, reply)
                self.assertTrue(dict(reply.headers).get("Allow"), reply)

    def test_queries_and_bodies(self):
        session = self.begun(1)
        for query, text in (("records=some", "none, last or all"), ("record=all", "record")):
            reply = self.server.ask("GET", f"{session.path}?{query}")
            self.check_error(reply, 400, text)
        for body, text in ((b"{", "invalid JSON body"), (b"[]", "must be a JSON object"),
                           ({"max_seq_len": 0}, "max_seq_len"), ({"max_seq_len": "9"}, "\"9\""),
                           ({"turns_apart": 1}, "turns_apart"), ({"metadata": []}, "metadata")):
            reply = self.server.ask("POST", f"{session.path}/samples", body)
            self.check_error(reply, 400, text)

    def test_turns(self):
        session = self.begun(1)
        before = session.show()
        for members, texts in (
                ({"n": 2}, ("n=2 is not accepted",)),
                ({"messages": {}}, ("messages must be a list",)),
                ({"messages": [{"content": "x"}]}, ("messages[0] has role=none",)),
                ({"messages": [*session.messages, {"role": "tester", "content": "x"}]},
                 ("messages[2]", "tester")),
                ({"messages": [{"role": "user", "content": 5}]}, ("content",)),
                ({"tools": "none"}, ("tools",))):
            with self.subTest(members):
                reply = self.server.ask("POST", f"{session.path}{CHAT}", {
                    "model": "chat", "messages": [QUESTION], **members})
                self.check_error(reply, 400, *texts)
        self.assertEqual(session.show(), before)

    def test_a_body_that_breaks_off(self):
        session = self.server.session()
        connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=LIMIT_S)
        connection.putrequest("POST", f"{session.path}{CHAT}")
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"{\"model\": ")
        connection.close()
        session.say(QUESTION)

    def test_ids_that_are_none(self):
        for name in ("%00", "a%2Fb", "x" * 3000, "%F0%9F", "..%2f"):
            with self.subTest(name[:10]):
                self.check_error(self.server.ask("GET", f"/sessions/{name}"), 404)
                self.assertEqual(self.server.ask("DELETE", f"/sessions/{name}").status, 404)


class Models(unittest.TestCase):
    def test_a_model_without_a_tokenizer(self):
        with Folder() as folder, SglangServer() as upstream:
            server = Server(folder, "--upstream", upstream.url, "--session-upstream", "sglang-chat")
            reply = server.session().chat([QUESTION])
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("--tokenizer chat=FILE.gguf", reply.error)
            self.assertEqual(upstream.turns(), [])
            self.assertEqual(server.stop(), 0)

    def test_a_server_that_does_not_say_what_it_is(self):
        with Folder() as folder, SglangServer() as upstream:
            server = Server(folder, "--upstream", upstream.url, *FLAGS[2:])
            reply = server.session().chat([QUESTION])
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("--session-upstream sglang, sglang-chat or vllm", reply.error)
            self.assertEqual(server.stop(), 0)

    def test_tokens_of_another_model(self):
        with Folder() as folder:
            simulated = Simulated(folder, "--token-ids", "5000-6000")
            server = Server(folder, "--upstream", simulated.url, "--session-upstream", "vllm",
                            "--tokenizer", f"sim={MODEL_FILE}")
            session = server.session()
            session.MODEL = "sim"
            reply = session.chat([QUESTION], max_tokens=4)
            self.assertEqual(reply.status, 502, reply)
            self.assertIn("--tokenizer names the file of another model", reply.error)
            self.assertEqual(session.records, [])
            self.assertEqual(server.stop(), 0)

    def test_names_of_models(self):
        with Folder() as folder:
            server = Server(folder, "--model", f"chat={MODEL_FILE}", "--model",
                            f"other={MODEL_FILE}")
            session = server.session()
            session.MODEL = "chta"
            reply = session.chat([QUESTION], max_tokens=4)
            self.assertEqual(reply.status, 404, reply)
            self.assertIn("chta", reply.error)
            self.assertEqual(session.records, [])
            session.MODEL = "chat"
            session.say(QUESTION, max_tokens=4)
            session.MODEL = "other"
            reply = session.chat([*session.messages, user("x")], max_tokens=4)
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("the turns of this session are of the model chat", reply.error)
            # Without a name it is the session's.
            reply = server.ask("POST", f"{session.path}{CHAT}", {
                "messages": [*session.messages, user("x")], "max_tokens": 4})
            self.assertEqual(reply.json["model"], "chat")
            self.assertEqual(len(session.records), 2)
            self.assertEqual(server.stop(), 0)

    def test_the_only_model_has_any_name(self):
        # Trainers name their checkpoint.
        with Folder() as folder:
            server = Server(folder, "--model", f"chat={MODEL_FILE}")
            session = server.session()
            session.MODEL = "/checkpoints/step_7"
            session.say(QUESTION, max_tokens=4)
            session.MODEL = "/checkpoints/step_8"
            session.say(user("x"), max_tokens=4)
            self.assertEqual(session.metadata["model"], "chat")
            # The engine's own server has no other paths to pass on.
            reply = server.ask("GET", f"{session.path}/v1/models")
            self.assertGreaterEqual(reply.status, 400)
            self.assertLess(reply.status, 502)
            self.assertEqual(server.stop(), 0)


class Interrupts(unittest.TestCase):
    def test_ctrl_c_while_the_engine_works(self):
        with Folder() as folder:
            server = Server(folder, "--model", f"chat={MODEL_FILE}", "--grace", "1")
            session = server.session()

            def turn(stream):
                try:
                    return session.chat([user("A long story.")], max_tokens=900,
                                        ignore_eos=True, stream=stream)
                except (http.client.HTTPException, ConnectionError):
                    return None  # the server broke off

            def interrupt():
                wait_until(lambda: server.metric("windrow_sessions_turns_in_flight") == 2,
                           "both turns are at the model")
                return server.stop(signal.SIGINT)
            *_, code = all_of(lambda: turn(True), lambda: turn(False), interrupt)
            self.assertEqual(code, 0, server.said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
