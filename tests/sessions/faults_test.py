"""Every fault of a model's server: the agent is told what is wrong, its session is as it was before
and takes the next turn. And replies that are too large, servers that end or are killed."""

import http.client
import json
import select
import signal
import socket
import threading
import unittest
from urllib.parse import urlsplit

from safetensors import Samples
from session_program import (LIMIT_S, MODEL_FILE, Folder, Server, Simulated, all_of, events_of,
                             user, wait_until)
from upstreams_test import OfSim

ROWS = ("--routing-layers", "2", "--routing-topk", "2")
FLAGS = ("--tokenizer", f"sim={MODEL_FILE}", "--session-routed-experts", "--session-moe-layers",
         "2", "--request-timeout", "2", "--refusal-patience", "1")


class Switch:
    """A port behind which is another server from time to time."""

    def __enter__(self):
        self.target, self.lock, self.pairs = None, threading.Lock(), []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.accepting = threading.Thread(target=self.accept)
        self.accepting.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()
        self.to(None)

    def to(self, url):
        """Connections to the one before end."""
        with self.lock:
            self.target, pairs, self.pairs = url, self.pairs, []
        for one in pairs:
            for end in one:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has ended

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            parts = urlsplit(self.target)
            try:
                server = socket.create_connection((parts.hostname, parts.port))
            except OSError:
                client.close()
                continue
            with self.lock:
                self.pairs.append((client, server))
            threading.Thread(target=self.relay, args=(client, server), daemon=True).start()

    @staticmethod
    def relay(client, server):
        other = {client: server, server: client}
        with client, server:
            while True:
                for end in select.select([client, server], [], [])[0]:
                    try:
                        data = end.recv(1 << 16)
                        if not data:
                            return
                        other[end].sendall(data)
                    except OSError:
                        return


class Faults:
    """What a client is told, by the kind of the fault: the status and a text of its error. A status
    of 200 with an error: the stream had begun. None: such servers do not have this fault."""

    KIND = ""

    WHOLE = {}
    STREAMED = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.switch = cls.enterClassContext(Switch())
        cls.healthy = Simulated(cls.folder, *ROWS)
        cls.switch.to(cls.healthy.url)
        cls.server = Server(cls.folder, "--upstream", cls.switch.url, "--session-upstream",
                            cls.KIND, *FLAGS)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.said[-20:]}")

    def told(self, reply):
        """(status, error), of events as well."""
        if reply.status != 200:
            return reply.status, reply.body.decode(errors="replace")
        if not reply.body.startswith(b"data: "):
            return 200, reply.json.get("error")
        events = events_of(reply)
        errors = [json.loads(event)["error"] for event in events if "\"error\"" in event]
        if events[-1] != "[DONE]" and not errors:
            return 200, f"no end after {events[-1]}"
        return 200, errors[0]["message"] if errors else None  # of a stream that had begun

    def check(self, fault, stream, expected):
        chance = "=1:200ms" if fault == "slow-body" else "=1"
        faulty = Simulated(self.folder, *ROWS, "--fault", fault + chance)
        try:
            made = self.server.session()
            session = OfSim(made.server, made.id, made.key)
            session.say(user("first"), max_tokens=12)
            before = session.show()
            self.switch.to(faulty.url)
            reply = session.chat([*session.messages, user("second")], max_tokens=12, stream=stream)
            status, error = self.told(reply)
            if expected is None:
                self.assertEqual((status, error), (200, None))
            else:
                self.assertEqual(status, expected[0], error)
                self.assertIn(expected[1], error)
                self.assertEqual(session.show(), before)
        finally:
            self.switch.to(self.healthy.url)
            faulty.process.kill()
        session.messages = session.messages[:2]
        session.say(user("next"), max_tokens=12, stream=stream)
        tokens = session.metadata["accumulated_token_ids"]
        sample = Samples(session.samples()).one()
        self.assertEqual(list(sample["tokens"].values), tokens)
        self.assertEqual(sample["rollout_routed_experts"].shape, [len(tokens) - 1, 2, 2])

    def test_whole_replies(self):
        for fault, expected in self.WHOLE.items():
            with self.subTest(fault):
                self.check(fault, False, expected)

    def test_streams(self):
        for fault, expected in self.STREAMED.items():
            with self.subTest(fault):
                self.check(fault, True, expected)


# A reply of the server that is no answer passes through.
STATUSES = {
    "429": (429, "Rate limit reached"),
    "500": (500, "something went wrong inside"),
    "502": (502, "something went wrong inside"),
    "503": (503, "something went wrong inside"),
    "400": (400, "the request is refused by a fault"),
    "400-text": (400, "Bad Request"),
    "429-text": (429, "Too Many Requests"),
    "500-text": (500, "Internal Server Error"),
}
WHOLE = {
    **STATUSES,
    "stall": (502, "backend transport error: a server behind this one did not answer in time"),
    "reset": (502, "backend transport error: a server behind this one broke the connection off"),
    "slow-body": None,
    "truncated": (502, "the reply ends within its JSON"),
    "content-type": (502, "the reply is no JSON object"),
    "not-json": (502, "the reply is no JSON object"),
    "error-200": (502, "the server reports an error in place of an answer: something went wrong"),
    "swapped": None,  # not with token ids
    "few-rows": (502, "47 rows (of 48 tokens in all, from row 0 on)"),
    "bad-base64": (502, "rows that cannot be read: routed_experts: it is not base64"),
}


# Of kinds that are asked for whole replies whatever the client wants, which takes no other path.
AS_WHOLE = {fault: WHOLE[fault] for fault in ("400-text", "reset", "truncated", "few-rows")}


class SglangChat(Faults, unittest.TestCase):
    KIND = "sglang-chat"
    WHOLE = {
        **WHOLE,
        "null-content": (502, "assistant message content is None"),
        "no-tokens": (502, "meta_info and output_token_logprobs must be in choice"),
        "logprob-count": (502, "len(output_token_logprobs)=11 != completion_tokens=12"),
    }
    STREAMED = AS_WHOLE  # its server is not asked for a stream


class Sglang(Faults, unittest.TestCase):
    KIND = "sglang"
    WHOLE = {
        **WHOLE,
        "no-tokens": (502, "the reply has no meta_info"),
        "logprob-count": (502, "12 output_ids and 11 output_token_logprobs"),
    }
    STREAMED = {
        **STATUSES,
        "stall": (200, "a server behind this one did not answer in time"),
        "reset": (200, "a server behind this one broke the connection off"),
        "slow-body": None,
        "truncated": (200, "ends within its JSON"),
        "content-type": (502, "the reply is no stream of events"),
        "not-json": (502, "the reply is no stream of events"),
        "error-200": (502, "something went wrong inside"),
        "stream-error": (200, "the server reports an error in place of an answer"),
        "stream-garbage": (200, "ends within its JSON"),
        "no-done": (200, "there was no `data: [DONE]`"),
        "no-end": (200, "there was no `data: [DONE]`"),
        "no-tokens": (502, "event 1 of the reply has no meta_info"),
        "logprob-count": (200, "12 output_ids and 11 output_token_logprobs"),
        "few-rows": (200, "47 rows (of 48 tokens in all, from row 0 on)"),
        "bad-base64": (200, "rows that cannot be read: routed_experts: it is not base64"),
    }


class Vllm(Faults, unittest.TestCase):
    KIND = "vllm"
    WHOLE = {
        **WHOLE,
        "no-tokens": (502, "the reply has no token ids"),
        "logprob-count": (502, "12 tokens and 11 log-probabilities"),
    }
    STREAMED = AS_WHOLE  # events have no rows, so it is asked for whole replies


class Servers(unittest.TestCase):
    """A server of its own for each test."""

    def setUp(self):
        self.folder = self.enterContext(Folder())

    def started(self, *flags, more=(), kind="sglang"):
        self.simulated = Simulated(self.folder, "--context", "1000000", *flags)
        self.server = Server(self.folder, "--upstream", self.simulated.url, "--session-upstream",
                             kind, "--tokenizer", f"sim={MODEL_FILE}", *more)
        made = self.server.session()
        return OfSim(made.server, made.id, made.key)

    def check_gone(self, session, reply, *texts):
        """The server of the model is gone: the session is told so, and another one is as good."""
        self.assertEqual(reply.status, 502, reply)
        for text in ("backend transport error: ", *texts):
            self.assertIn(text, reply.error)
        self.assertEqual(len(session.records), 1)
        self.assertEqual(self.server.stop(), 0)

    def test_a_reply_above_the_limit(self):
        for kind in ("sglang-chat", "sglang", "vllm"):
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    # 1 MiB are 16 tokens of 128 layers x 128 experts.
                    session = self.started("--routing-layers", "128", "--routing-topk", "128",
                                           more=("--session-routed-experts", "--session-reply-mb",
                                                 "1"), kind=kind)
                    reply = session.chat([user("a question of more than sixteen tokens, " * 8)],
                                         stream=stream, max_tokens=4)
                    status = 200 if stream and kind == "sglang" else 502
                    self.assertEqual(reply.status, status, reply)
                    self.assertIn("more than 1 MiB", reply.body.decode())
                    self.assertIn("--session-reply-mb", reply.body.decode())
                    self.assertEqual(session.records, [])
                    plain = self.server.session({"routed_experts": False})
                    OfSim(self.server, plain.id, plain.key).say(user("short"), max_tokens=4)
                    self.assertEqual(self.server.stop(), 0)

    def test_a_server_that_has_ended(self):
        session = self.started()
        session.say(user("first"), max_tokens=4)
        self.simulated.process.terminate()
        self.simulated.process.wait()
        reply = session.chat([*session.messages, user("second")])
        self.check_gone(session, reply, "cannot be reached")

    def test_a_server_that_is_killed_in_the_middle_of_a_reply(self):
        session = self.started("--token-ms", "40", "--answer-tokens", "400")
        session.say(user("first"), max_tokens=2)

        def kill():
            wait_until(lambda: self.server.metric("windrow_sessions_turns_in_flight") == 1,
                       "the turn is at the model")
            self.simulated.process.kill()
        reply, _ = all_of(lambda: session.chat([*session.messages, user("second")]), kill)
        self.check_gone(session, reply)

    def test_a_server_that_is_killed_in_the_middle_of_a_stream(self):
        session = self.started("--token-ms", "40", "--answer-tokens", "400")
        session.say(user("first"), max_tokens=2)
        connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=LIMIT_S)
        connection.request("POST", f"{session.path}/v1/chat/completions", json.dumps(
            {"model": "sim", "stream": True, "messages": [*session.messages, user("second")]}))
        reply = connection.getresponse()
        self.assertEqual(reply.status, 200)
        reply.readline()
        self.simulated.process.send_signal(signal.SIGKILL)
        text = reply.read().decode()
        connection.close()
        self.assertIn("\"error\"", text)
        self.assertIn("backend transport error: ", text)
        self.assertEqual(len(session.records), 1)
        self.assertEqual(self.server.stop(), 0)

    def test_ctrl_c_while_turns_are_in_flight(self):
        session = self.started("--token-ms", "1000", "--answer-tokens", "400",
                               more=("--grace", "1"))

        def turn(stream):
            try:
                return session.chat([user("x")], stream=stream).status
            except (http.client.HTTPException, ConnectionError):
                return None  # the server broke off

        def interrupt():
            wait_until(lambda: self.server.metric("windrow_sessions_turns_in_flight") == 2,
                       "the turns are at the model")
            return self.server.stop(signal.SIGINT)
        *_, code = all_of(lambda: turn(True), lambda: turn(False), interrupt)
        self.assertEqual(code, 0, self.server.said)

    def test_a_reply_of_real_size(self):
        # 30 MB: as large a model's rows are.
        session = self.started("--routing-layers", "58", "--prompt-token-us", "0",
                               more=("--session-routed-experts", "--session-moe-layers", "58",
                                     "--max-body-mb", "64"))
        for turn in range(2):
            session.say(user(f"turn {turn} " * 3000), max_tokens=4)
        sample = Samples(session.samples()).one()
        tokens = len(sample["tokens"].values)
        self.assertGreater(tokens * 58 * 8 * 4, 20_000_000)
        self.assertEqual(sample["rollout_routed_experts"].shape, [tokens - 1, 58, 8])
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
