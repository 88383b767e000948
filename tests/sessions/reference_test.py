"""What the trainers' reference server promises of sessions: their life, what its upstream is sent,
where a request belongs, and which messages count as the same. Cases of its tests, in our words."""

import json
import re
import socket
import unittest
from urllib.parse import urlsplit

from session_program import MODEL_FILE, Folder, Server, tool, user
from sglang_server import CHAT, END, Said, SglangServer, completion, ids_of

FLAGS = ("--session-upstream", "sglang-chat", "--tokenizer", f"chat={MODEL_FILE}")
QUESTION = user("What is 1+2?")


class WithUpstream(unittest.TestCase):
    """One server and one upstream for all tests of a class; the upstream forgets between them."""

    MORE_FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.upstream = cls.enterClassContext(SglangServer())
        cls.server = cls.start()

    @classmethod
    def start(cls, *more):
        return Server(cls.folder, "--upstream", cls.upstream.url, *FLAGS, *cls.MORE_FLAGS, *more)

    @classmethod
    def tearDownClass(cls):
        cls.upstream.released.set()
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.said[-20:]}")

    def setUp(self):
        self.upstream.reset()

    def tearDown(self):
        self.upstream.released.set()

    def begun(self, turns, **options):
        """A session with so many turns."""
        session = self.server.session(options or None)
        for number in range(turns):
            session.say(QUESTION if number == 0 else tool(f"tool-result-{number}"))
        return session

    def check_error(self, reply, status, *texts):
        self.assertEqual(reply.status, status, reply)
        self.assertEqual(dict(reply.headers)["Content-Type"], "application/json")
        self.assertEqual(list(reply.json), ["error"])
        for text in texts:
            self.assertIn(text, reply.error)


class Life(WithUpstream):
    def test_the_instance_id_is_stable(self):
        first, second = (self.server.ask("GET", "/health") for _ in range(2))
        self.assertEqual(first.status, 200)
        self.assertEqual(first.json["status"], "ok")
        self.assertRegex(first.json["session_server_instance_id"], "^[0-9a-f]{32}$")
        self.assertEqual(first.json["session_server_instance_id"],
                         second.json["session_server_instance_id"])

    def test_a_new_session(self):
        session = self.server.session()
        self.assertRegex(session.id, "^[0-9a-f]{32}$")
        shown = session.show()
        self.assertEqual(shown["session_id"], session.id)
        self.assertEqual(shown["records"], [])
        self.assertEqual(shown["metadata"]["accumulated_token_ids"], [])

    def test_an_unknown_session(self):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/samples"), ("POST", CHAT)):
            body = {"model": "chat", "messages": [QUESTION]} if path == CHAT else None
            reply = self.server.ask(method, f"/sessions/nonexistent{path}", body)
            self.check_error(reply, 404)
            self.assertEqual(reply.error, "session not found: session_id=nonexistent")
        self.assertEqual(self.upstream.turns(), [])

    def test_a_deleted_session(self):
        session = self.begun(1)
        first = session.delete()
        self.assertEqual((first.status, first.body), (204, b""))
        gone = f"session not found (deleted): session_id={session.id}"
        for reply in (session.delete(), session.chat([QUESTION]),
                      self.server.ask("GET", session.path)):
            self.check_error(reply, 404)
            self.assertEqual(reply.error, gone)

    def test_no_header_of_a_reply_is_there_twice(self):
        # The reference also has a Server header; ours names no product.
        with socket.create_connection(("127.0.0.1", urlsplit(self.server.url).port)) as raw:
            raw.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: raw.recv(4096), b"")).decode().lower()
        self.assertEqual(len(re.findall(r"^date:", text, re.MULTILINE)), 1)
        self.assertEqual(len(re.findall(r"^server:", text, re.MULTILINE)), 0)

    def test_options_that_are_none(self):
        for body in (b"{", b"[]", b"null", {"evaluation": None}, {"evaluation": 1},
                     {"evaluation": "false"}, {"evalution": True}, {"temperature": "0.6"},
                     {"top_p": [0.9]}, {"top_k": 20.5}, {"top_k": True}):
            with self.subTest(body):
                self.check_error(self.server.ask("POST", "/sessions", body), 400)
        for body in (b"", {}, {"evaluation": False}, {"top_k": 40.0}, {"temperature": 1}):
            self.assertEqual(self.server.ask("POST", "/sessions", body).status, 200)

    def test_a_path_of_the_session_is_not_taken_for_one_of_the_upstream(self):
        # Before all other paths: its own three, and both chats.
        session = self.begun(1)
        self.upstream.reset()
        self.upstream.script = lambda call: Said(
            call.body + b"|" + call.method.encode(), 207, "text/x-other")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            body = None if method == "GET" else b"{\"a\": 1}"
            reply = self.server.ask(method, f"{session.path}/v1/oth%20er/x?b=%C3%BC&c", body)
            self.assertEqual(reply.status, 207)
            self.assertEqual(reply.body, (body or b"") + b"|" + method.encode())
            self.assertEqual(dict(reply.headers)["Content-Type"], "text/x-other")
            call = self.upstream.calls[-1]
            self.assertEqual((call.method, call.path), (method, "/v1/oth%20er/x?b=%C3%BC&c"))
            self.assertEqual(call.header("X-SMG-Routing-Key"), [session.id])
        calls = len(self.upstream.calls)
        self.assertEqual(self.server.ask("POST", f"{session.path}/samples").status, 200)
        self.assertEqual(self.server.ask("GET", session.path).status, 200)
        self.assertEqual(len(self.upstream.calls), calls)


class Sent(WithUpstream):
    """What the upstream gets."""

    MORE_FLAGS = ("--session-routed-experts", "--session-indexer-topk")

    def setUp(self):
        super().setUp()
        # Rows are no subject here, and a reply may leave them out.
        self.session = self.server.session()

    def test_fields_are_forced_and_streams_never_asked_for(self):
        self.session.say(QUESTION, stream=True, stream_options={"include_usage": True},
                         logprobs=False, return_meta_info=False, no_stop_trim=True,
                         return_routed_experts=False, temperature=0.5, own_field={"a": [1, 2.5]},
                         n=1)
        (sent,) = self.upstream.turns()
        for name in ("stream", "stream_options", "n"):
            self.assertNotIn(name, sent)
        for name, value in (("logprobs", True), ("return_meta_info", True),
                            ("no_stop_trim", False), ("return_routed_experts", True),
                            ("return_indexer_topk", True), ("temperature", 0.5),
                            ("own_field", {"a": [1, 2.5]}), ("messages", [QUESTION]),
                            ("model", "chat")):
            self.assertEqual(sent[name], value, name)
        self.assertEqual(list(sent)[-1], "input_ids")

    def test_an_evaluation_asks_for_no_rows(self):
        session = self.server.session({"evaluation": True, "temperature": 0.6, "top_k": 20})
        session.say(QUESTION, top_k=10, temperature=None)
        (sent,) = self.upstream.turns()
        for name in ("return_routed_experts", "return_indexer_topk", "routed_experts_start_len"):
            # The reference sends false; absent is false for SGLang.
            self.assertFalse(sent.get(name), name)
        self.assertEqual((sent["temperature"], sent["top_k"]), (0.6, 10))

    def test_the_headers(self):
        self.server.ask("POST", f"{self.session.path}{CHAT}",
                        {"model": "chat", "messages": [QUESTION]},
                        {"X-SMG-Routing-Key": "another", "X-Agent": "a b",
                         "Authorization": "Bearer of-this-server"})
        (call,) = self.upstream.calls
        self.assertIn(self.session.id, call.header("X-SMG-Routing-Key"))
        self.assertEqual(call.header("X-Agent"), ["a b"])
        self.assertEqual(call.header("Content-Type"), ["application/json"])
        # Unlike the reference: a key for this server is not told to another.
        self.assertEqual(call.header("Authorization"), [])

    def test_the_first_prompt_is_the_template_and_later_ones_go_on(self):
        self.session.say(QUESTION)
        whole = self.server.ask("POST", "/tokenize", {"model": "chat", "messages": [QUESTION]})
        first = self.upstream.turns()[0]["input_ids"]
        self.assertEqual(first, whole.json["tokens"])
        self.session.say(tool("tool-result-1"))
        stored = first + ids_of(0)
        second = self.upstream.turns()[1]["input_ids"]
        self.assertEqual(second[:len(stored)], stored)
        self.assertGreater(len(second), len(stored))
        self.assertEqual(self.session.metadata["accumulated_token_ids"], second + ids_of(1))

    def test_an_answer_without_its_end_token_is_ended(self):
        # The reference's own mock answers so.
        self.upstream.script = lambda call: Said(completion(call, ids=[700, 701]))
        self.session.say(QUESTION)
        self.session.say(tool("tool-result-1"))
        first, second = (sent["input_ids"] for sent in self.upstream.turns())
        self.assertEqual(second[:len(first) + 3], [*first, 700, 701, END])

    def test_template_arguments_go_into_the_prompt_and_to_the_upstream(self):
        for arguments in ({"enable_thinking": True}, {}):
            session = self.server.session()
            session.say(QUESTION, chat_template_kwargs=arguments)
            sent = self.upstream.turns()[-1]
            self.assertEqual(sent.get("chat_template_kwargs", {}), arguments)
        reply = self.session.chat([QUESTION], chat_template_kwargs="oops")
        self.check_error(reply, 400, "chat_template_kwargs must be an object")
        reply = self.session.chat([QUESTION], chat_template_kwargs={"tools": []})
        self.check_error(reply, 400, "tools belongs at the top level")

    def test_fields_of_the_session_server_are_refused(self):
        for name, value in (("input_ids", [1, 2, 3]), ("routed_experts_start_len", 0),
                            ("logprob_start_len", 0)):
            reply = self.session.chat([QUESTION], **{name: value})
            self.check_error(reply, 400, f"{name}=", " is not accepted: ")
        self.assertEqual(self.upstream.turns(), [])
        self.assertEqual(self.session.records, [])
        self.session.say(QUESTION, input_ids=None)  # as if it was not sent

    def test_bodies_that_are_none(self):
        path = f"{self.session.path}{CHAT}"
        reply = self.server.ask("POST", path, b"{not json")
        self.check_error(reply, 400)
        self.assertTrue(reply.error.startswith("invalid JSON body:"), reply)
        # The reference fails at these with a bare 500.
        for body in (b"[]", b"\"a\"", b"{\"messages\": [1]}", b"\xff\xfe", b"",
                     b"{\"messages\": []}"):
            self.check_error(self.server.ask("POST", path, body), 400)
        self.assertEqual(self.upstream.turns(), [])


class Histories(WithUpstream):
    def test_records(self):
        session = self.begun(2)
        records = session.records
        self.assertEqual([record["request"]["messages"][-1] for record in records],
                         [QUESTION, tool("tool-result-1")])
        for record, sent in zip(records, self.upstream.turns()):
            self.assertEqual((record["method"], record["path"], record["status_code"]),
                             ("POST", CHAT, 200))
            self.assertEqual(record["request"]["input_ids"], sent["input_ids"])
            # Ours are those that the session keeps: answers as the model wrote them.
            self.assertEqual([(one["role"], one["content"])
                              for one in record["request"]["messages"]],
                             [(one["role"], one["content"]) for one in sent["messages"]])

    def check_rollback(self, change):
        """Two turns, the second one asked again with other or the same words: it is replaced."""
        session = self.begun(2)
        again = session.chat([*session.messages[:2], change])
        self.assertEqual(again.status, 200, again)
        records = session.records
        self.assertEqual(len(records), 2)
        self.assertEqual(records[-1]["request"]["messages"][-1], change)
        first, _, third = (sent["input_ids"] for sent in self.upstream.turns())
        self.assertEqual(third[:len(first) + 3], first + ids_of(0))
        self.assertEqual(session.metadata["accumulated_token_ids"], third + ids_of(2))

    def test_a_turn_that_is_dropped_and_asked_again(self):
        self.check_rollback(tool("tool-result-1"))

    def test_a_turn_that_is_asked_again_with_another_result(self):
        self.check_rollback(tool("tool-result-DIFFERENT"))

    def test_two_turns_cannot_be_dropped(self):
        session = self.begun(3)
        before = session.show()
        reply = session.chat([*session.messages[:2], tool("tool-result-DIFFERENT")])
        self.check_error(reply, 400)
        self.assertEqual(
            reply.error, "rollback failed: discard_count=2 exceeds max_assistant_rollback_steps=1 "
            "(stored has 6 messages, request has 3 messages)")
        self.assertEqual(session.show(), before)
        session.say(tool("tool-result-3"))
        self.assertEqual(len(session.messages), 8)
        self.assertEqual(len(session.records), 4)

    def test_the_first_turn_again(self):
        session = self.begun(1)
        again = session.chat([QUESTION])
        self.assertEqual(again.status, 200)
        self.assertEqual(len(session.records), 1)
        session.messages = [QUESTION, again.json["choices"][0]["message"]]
        session.say(tool("tool-result-1"))
        self.assertEqual(len(session.records), 2)

    def test_another_first_turn(self):
        session = self.begun(1)
        self.assertEqual(session.chat([user("Another")]).status, 200)
        (record,) = session.records
        self.assertEqual(record["request"]["messages"], [user("Another")])

    def test_the_whole_conversation_again_goes_on_from_it(self):
        session = self.begun(1)
        self.assertEqual(session.chat(session.messages).status, 200)
        self.assertEqual(len(session.records), 2)

    def test_assistants_that_no_turn_made_are_no_turns(self):
        shots = [user("Q"), {"role": "assistant", "content": "A"}, user("Q2")]
        session = self.server.session()
        session.say(*shots)
        session.say(tool("tool-result-1"))
        reply = session.chat([*session.messages[:4], tool("tool-result-DIFFERENT")])
        self.assertEqual(reply.status, 200)
        records = session.records
        self.assertEqual([record["request"]["messages"][-1]["content"] for record in records],
                         ["Q2", "tool-result-DIFFERENT"])

    def test_a_role_that_no_template_has(self):
        session = self.begun(2)
        before = session.show()
        reply = session.chat([*session.messages, {"role": "narrator", "content": "x"}])
        self.check_error(reply, 400, "narrator")
        self.assertEqual(session.show(), before)

    def test_a_retry_that_fails_loses_nothing(self):
        # The reference had removed the turn by then.
        session = self.begun(2)
        before = session.show()
        self.upstream.script = lambda call: Said({"error": "busy"}, 400)
        reply = session.chat([*session.messages[:2], tool("tool-result-DIFFERENT")])
        self.assertEqual(reply.status, 400)
        self.assertEqual(session.show(), before)


class Matching(WithUpstream):
    """Which messages count as the same, by the rule of the session."""

    CALL = {"id": "c1", "type": "function",
            "function": {"name": "f", "arguments": "{\"x\": 1, \"y\": [2]}"}}

    def same(self, rule, change):
        """Whether an answer that is sent back changed goes on from its turn."""
        self.upstream.script = lambda call: Said(completion(
            call, text="text", message={"tool_calls": [{**self.CALL, "index": 0}],
                                        "reasoning_content": "thoughts"}))
        session = self.server.session({"match": rule})
        session.say(QUESTION)
        answer = json.loads(json.dumps(session.messages[-1]))
        change(answer)
        reply = session.chat([QUESTION, answer, tool("r")])
        self.assertEqual(reply.status, 200, reply)
        return len(session.records) == 2

    def test_the_rules(self):
        def set_call(**members):
            return lambda answer: answer["tool_calls"][0].update(members)

        def arguments(text):
            return set_call(function={"name": "f", "arguments": text})

        table = (  # what the agent changes; whether strict, loose and role_content see the same
            ("nothing", lambda answer: None, "slr"),
            ("no index", lambda answer: answer["tool_calls"][0].pop("index"), "slr"),
            ("null members", lambda answer: answer.update(name=None, refusal=None), "slr"),
            ("unknown member", lambda answer: answer.update(annotations=[]), "slr"),
            ("blanks of arguments", arguments("{\"y\":[2],\"x\":1.0}"), "lr"),
            ("arguments as an object", arguments({"x": 1, "y": [2]}), "lr"),
            ("other arguments", arguments("{\"x\": 2, \"y\": [2]}"), "r"),
            ("true for 1", arguments("{\"x\": true, \"y\": [2]}"), "r"),
            ("another id", set_call(id="c2"), "r"),
            ("no calls", lambda answer: answer.pop("tool_calls"), "r"),
            ("no thoughts", lambda answer: answer.pop("reasoning_content"), "r"),
            ("another text", lambda answer: answer.update(content="other"), ""),
        )
        for name, change, seen in table:
            for letter, rule in (("s", "strict"), ("l", "loose_tool_call"),
                                 ("r", "role_content_only")):
                with self.subTest(name, rule=rule):
                    self.assertEqual(self.same(rule, change), letter in seen)


if __name__ == "__main__":
    unittest.main(verbosity=2)
