"""Sessions of the engine in this process: the tokens and log-probabilities of a conversation are
those that the model gives to the same tokens at once, nothing differs from the chat template, and
a client that leaves leaves nothing behind."""

import http.client
import json
import threading
import unittest
from urllib.parse import urlsplit

from safetensors import Samples
from session_program import (LIMIT_S, MODEL_FILE, Folder, Server, all_of, events_of, tool, user,
                             wait_until)

QUESTIONS = ("what is {} + 1?", "why?", "count to {}.", "thank you.")

# A conversation is as its template writes it, but for words of assistants: what they sampled may be
# written with other tokens.
HARD_KINDS = {"special_token_count", "special_token_type", "non_assistant_text"}
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


class WithEngine(unittest.TestCase):
    MORE_FLAGS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.server = Server(cls.folder, "--model", f"chat={MODEL_FILE}", "--threads", "2",
                            *cls.MORE_FLAGS)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.said[-20:]}")


class Scored(WithEngine):
    """Compares sessions with prompts."""

    # With these flags a token is computed in the same way in any batch, but for the number of rows.
    MORE_FLAGS = ("--kv-type", "f32", "--flash-attn", "off", "--no-share")
    CLOSE = 1e-3

    def scores(self, tokens):
        """The log-probability of each token, given those before it; None for the first."""
        reply = self.server.ask("POST", "/v1/completions", {
            "model": "chat", "prompt": tokens, "max_tokens": 1, "temperature": 0,
            "prompt_logprobs": 0, "return_token_ids": True})
        self.assertEqual(reply.status, 200, reply)
        (choice,) = reply.json["choices"]
        self.assertEqual(choice["prompt_token_ids"], tokens)
        return [None if one is None else one[str(token)]["logprob"]
                for one, token in zip(choice["prompt_logprobs"], tokens)]

    def check(self, session):
        sample = Samples(session.samples()).one()
        tokens = list(sample["tokens"].values)
        # A turn that its limit cut ends the sample.
        whole = session.metadata["accumulated_token_ids"]
        self.assertEqual(tokens, whole[:len(tokens)])
        self.assertEqual(len(tokens) < len(whole), any(
            record["response"]["choices"][0]["finish_reason"] == "length"
            for record in session.records[:-1]))
        mask = list(sample["loss_mask"].values)
        begin = len(tokens) - len(mask)
        told = list(sample["rollout_log_probs"].values)
        scores = self.scores(tokens)
        for place, sampled in enumerate(mask):
            if sampled:
                self.assertAlmostEqual(told[place], scores[begin + place], delta=self.CLOSE,
                                       msg=f"token {begin + place}")
            else:
                self.assertEqual(told[place], 0)
        self.assertGreater(sum(mask), 0)
        kinds = {one["type"] for one in session.metadata["tito_session_mismatch"]}
        self.assertFalse(kinds & HARD_KINDS, session.metadata["tito_session_mismatch"])
        return tokens

    def check_conversations(self, at_once):
        """Two, one whole and one as streams."""
        def talk(number):
            session = self.server.session()
            for turn, question in enumerate(QUESTIONS):
                session.say(user(f"Agent {number} asks: {question.format(turn + number)}"),
                            max_tokens=60, temperature=0, stream=number % 2 == 1)
            return session
        talks = [lambda i=i: talk(i) for i in range(2)]
        for session in all_of(*talks) if at_once else [one() for one in talks]:
            self.assertEqual(len(session.records), len(QUESTIONS))
            self.check(session)


class Shared(Scored):
    """As a server is started as a rule: prefixes are shared, and what is computed at the same time
    is rounded together."""

    MORE_FLAGS = ()
    CLOSE = 0.03

    def test_turn_by_turn_is_what_one_prompt_is(self):
        self.check_conversations(at_once=True)


class Exact(Scored):
    def test_turn_by_turn_is_what_one_prompt_is(self):
        self.check_conversations(at_once=False)

    def test_sampled_answers_have_the_models_own_logprobs(self):
        session = self.server.session()
        for turn in range(3):
            session.say(user(f"Tell me about {turn}."), max_tokens=24, temperature=0.8, seed=turn,
                        top_p=0.9)
        self.assertEqual(session.metadata["logprobs"], "raw")
        self.check(session)

    def test_tools_and_a_system_message(self):
        session = self.server.session()
        session.say({"role": "system", "content": "You call tools."}, user("Weather in Oslo?"),
                    tools=[WEATHER], max_tokens=40, temperature=0)
        session.say(tool("rain"), tools=[WEATHER], max_tokens=40, temperature=0)
        session.say(user("And in K\u00f6ln \u6771 <|im_end|>?"), tools=[WEATHER], max_tokens=40,
                    temperature=0)
        self.check(session)

    def test_the_reply_tells_ids_where_they_are_asked_for(self):
        session = self.server.session()
        reply = session.say(user("Hi."), max_tokens=8, return_token_ids=True, logprobs=True)
        (choice,) = reply.json["choices"]
        (record,) = session.records
        self.assertEqual(reply.json["prompt_token_ids"], record["request"]["input_ids"])
        self.assertEqual(record["request"]["input_ids"] + choice["token_ids"],
                         session.metadata["accumulated_token_ids"])
        plain = session.say(user("Again."), max_tokens=8)
        self.assertNotIn("token_ids", plain.json["choices"][0])

    def test_a_retry_replaces_the_turn(self):
        session = self.server.session()
        session.say(user("One."), max_tokens=8, temperature=0)
        session.say(user("Two."), max_tokens=8, temperature=0)
        session.messages = session.messages[:2]
        session.say(user("Three."), max_tokens=8, temperature=0)
        self.assertEqual((len(session.records), session.metadata["rollbacks"]), (2, 1))
        self.check(session)

    def test_a_tree_with_siblings(self):
        session = self.server.session({"history": "tree", "retries": "keep_all"})
        session.say(user("Root."), max_tokens=8, temperature=0)
        root = list(session.messages)
        replies = all_of(*[lambda i=i: session.chat([*root, user(f"Branch {i}.")], max_tokens=8,
                                                    temperature=0) for i in range(3)])
        self.assertEqual([reply.status for reply in replies], [200] * 3)
        nodes = session.metadata["tree"]["nodes"]
        self.assertEqual([node["parent"] for node in nodes], [None, 0, 0, 0])
        samples = Samples(session.samples()).samples
        self.assertEqual(len(samples), 3)
        tokens = [list(sample["tokens"].values) for sample in samples]
        shared = nodes[0]["num_tokens"]
        for one in tokens:
            self.assertEqual(one[:shared], tokens[0][:shared])
        # Each sampled token is trained on once.
        sampled = sum(end - begin for begin, end in
                      (node["completion_span"] for node in nodes))
        self.assertEqual(sum(sum(sample["loss_mask"].values) for sample in samples), sampled)
        cut = session.chat([*root, user("Cut.")], max_tokens=2, ignore_eos=True)
        answer = cut.json["choices"][0]
        self.assertEqual(answer["finish_reason"], "length")
        refused = session.chat([*root, user("Cut."), answer["message"], user("On.")])
        self.assertEqual(refused.status, 409, refused)
        self.assertIn("truncated generation cannot be extended", refused.error)

    def test_messages_of_anthropic(self):
        session = self.server.session()
        path = f"{session.path}/v1/messages"
        asked = [{"role": "user", "content": "Hi."}]
        first = self.server.ask("POST", path, {"model": "chat", "max_tokens": 8,
                                               "messages": asked, "temperature": 0})
        self.assertEqual(first.status, 200, first)
        second = self.server.ask("POST", path, {
            "model": "chat", "max_tokens": 8, "temperature": 0,
            "messages": [*asked, {"role": "assistant", "content": first.json["content"]},
                         {"role": "user", "content": "Go on."}]})
        self.assertEqual(second.status, 200, second)
        self.assertEqual(len(session.records), 2)
        self.check(session)
        gone = self.server.ask("POST", "/sessions/none/v1/messages", {
            "model": "chat", "max_tokens": 8, "messages": asked})
        self.assertEqual((gone.status, gone.json["type"]), (404, "error"), gone)


class Leaving(WithEngine):
    """Clients that disconnect before their answer is complete."""

    def begin(self, session, stream, max_tokens=900):
        connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=LIMIT_S)
        connection.request("POST", f"{session.path}/v1/chat/completions", json.dumps(
            {"model": "chat", "messages": [*session.messages, user("A long story.")],
             "max_tokens": max_tokens, "ignore_eos": True, "stream": stream}))
        return connection

    def in_flight(self):
        return self.server.metric("windrow_sessions_turns_in_flight")

    def check_left(self, session, stream):
        before = session.show()
        connection = self.begin(session, stream)
        if stream:
            reply = connection.getresponse()
            self.assertEqual(reply.status, 200)
            self.assertTrue(reply.readline().startswith(b"data: "))
            reply.close()
        else:
            wait_until(lambda: self.in_flight() == 1, "the turn is at the model")
        connection.close()
        wait_until(lambda: self.in_flight() == 0, "the turn has ended")
        self.assertEqual(session.show(), before)
        session.say(user("Next."), max_tokens=4)
        self.assertEqual(len(session.records), len(before["records"]) + 1)

    def test_nothing_is_committed(self):
        for stream in (True, False):
            with self.subTest(stream=stream):
                session = self.server.session()
                session.say(user("Hi."), max_tokens=4)
                self.check_left(session, stream)

    def test_before_the_first_turn_is_answered(self):
        self.check_left(self.server.session(), True)

    def test_where_orphans_are_committed(self):
        session = self.server.session({"orphans": "commit"})
        connection = self.begin(session, True, max_tokens=100)
        connection.getresponse().readline()
        connection.close()
        wait_until(lambda: len(session.show()["records"]) == 1, "the turn is committed")
        self.assertEqual(len(Samples(session.samples()).samples), 1)

    def test_a_delete_ends_a_stream(self):
        session = self.server.session()
        connection = self.begin(session, True)
        reply = connection.getresponse()
        reply.readline()
        self.assertEqual(session.delete().status, 204)
        text = reply.read().decode()
        connection.close()
        self.assertIn("session not found (deleted)", text)
        wait_until(lambda: self.in_flight() == 0, "the turn has ended")

    def test_many_that_leave_at_any_time(self):
        session = self.server.session()
        session.say(user("Hi."), max_tokens=4)

        def leave(number):
            connection = self.begin(session, number % 2 == 0)
            threading.Event().wait(0.01 * number)
            connection.close()
        all_of(*[lambda i=i: leave(i) for i in range(12)])
        wait_until(lambda: self.in_flight() == 0, "all turns have ended")
        self.assertEqual(len(session.records), 1)
        reply = session.chat([*session.messages, user("x")], max_tokens=4, stream=True)
        self.assertEqual(events_of(reply)[-1], "[DONE]")


if __name__ == "__main__":
    unittest.main(verbosity=2)
