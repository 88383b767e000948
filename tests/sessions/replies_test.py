"""What the trainers' reference server promises of replies: errors of the upstream pass through,
replies that cannot be used change nothing, a stream is exactly two events, and no reply has the
rows that the session keeps. Cases of its tests, in our words."""

import base64
import json
import re
import unittest

from reference_test import FLAGS, QUESTION, WithUpstream
from safetensors import Samples
from session_program import Folder, Server, events_of, message_of, tool, user
from sglang_server import Said, SglangServer, completion, ids_of, logprobs_of, rows_text

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}}}}
    for name in ("get_weather", "get_time")]


def without_times(record):
    return {name: value for name, value in record.items() if not name.endswith("timestamp")}


class Errors(WithUpstream):
    def check_next_turn(self, session, first):
        """Nothing is recorded, and a conversation begins with another first turn."""
        self.assertEqual(session.records, [])
        self.upstream.script = lambda call: Said(completion(call))
        session.messages = []
        session.say(first)
        self.assertEqual(len(session.records), 1)

    def test_an_error_of_the_upstream_passes_byte_for_byte(self):
        texts = ((400, b"{\"error\" :  \"context too long\", \"b\": 1.50, \"a\": \"\xc3\xbc\"}",
                  "application/json"),
                 (400, b"  no JSON at all \xff\n", "text/x-odd; charset=latin-1"),
                 (404, b"{}", "application/problem+json"), (422, b"", "text/plain"),
                 (500, b"<html>", "text/html"), (501, b"[1]", "application/json"))
        for status, body, kind in texts:
            for stream in (False, True):
                with self.subTest(status=status, stream=stream):
                    self.upstream.reset()
                    self.upstream.script = lambda call: Said(body, status, kind)
                    session = self.server.session()
                    reply = session.chat([QUESTION], stream=stream)
                    self.assertEqual((reply.status, reply.body), (status, body))
                    self.assertEqual(dict(reply.headers)["Content-Type"], kind)
                    self.assertEqual(len(self.upstream.turns()), 1)  # asked once
                    self.check_next_turn(session, user("Another first turn"))

    def test_replies_that_cannot_be_used(self):
        def changed(change):
            def script(call):
                body = completion(call)
                change(body, body["choices"][0])
                return Said(body)
            return script

        def spoil_count(body, choice):
            choice["meta_info"]["completion_tokens"] += 1

        scripts = {
            "meta_info and output_token_logprobs must be in choice":
                changed(lambda body, choice: choice.pop("meta_info")),
            "assistant message content is None":
                changed(lambda body, choice: choice["message"].update(content=None)),
            "len(output_token_logprobs)=3 != completion_tokens=4": changed(spoil_count),
            # The reference fails at all below with a bare 500.
            "output_token_logprobs": changed(
                lambda body, choice: choice["meta_info"].pop("output_token_logprobs")),
            "content": changed(lambda body, choice: choice.update(message=None)),
            "choices": changed(lambda body, choice: body.update(choices=[])),
            "JSON": lambda call: Said(b"no JSON"),
            "token": changed(lambda body, choice: choice["meta_info"].update(
                output_token_logprobs=[[-0.5, 99999, "x"]], completion_tokens=1)),
        }
        session = self.begun(1)
        before = session.show()
        for text, script in scripts.items():
            for stream in (False, True):
                with self.subTest(text, stream=stream):
                    self.upstream.script = script
                    reply = session.chat([*session.messages, tool("r")], stream=stream)
                    self.check_error(reply, 502, text)
                    self.assertEqual(session.show(), before)
        self.upstream.reset()
        session.say(tool("r"))
        self.assertEqual(len(session.records), 2)

    def test_a_connection_that_breaks(self):
        session = self.server.session()
        self.upstream.script = lambda call: Said(completion(call), dropped=100)
        self.check_error(session.chat([QUESTION]), 502, "backend transport error: ")
        self.check_next_turn(session, QUESTION)

    def test_an_upstream_that_is_not_there(self):
        with Folder() as folder:
            with SglangServer() as upstream:
                server = Server(folder, "--upstream", upstream.url, *FLAGS)
                session = server.session()
                session.say(QUESTION)
                before = session.show()
            reply = session.chat([*session.messages, tool("r")])
            self.check_error(reply, 502, "backend transport error: ", "cannot be reached")
            self.assertEqual(session.show(), before)
            self.assertEqual(server.stop(), 0)


class Streams(WithUpstream):
    def both(self, script, messages, **members):
        """The same turn whole and as a stream: (reply, events, records of both)."""
        replies, records = [], []
        for stream in (False, True):
            self.upstream.script = script
            session = self.server.session()
            flags = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
            replies.append(session.chat(messages, **members, **flags))
            records.append(session.records)
        self.assertEqual(replies[1].status, 200, replies[1])
        self.assertEqual(dict(replies[1].headers)["Content-Type"],
                         "text/event-stream; charset=utf-8")
        return replies[0], events_of(replies[1]), records

    def test_one_chunk_and_the_end(self):
        whole, events, records = self.both(
            lambda call: Said(completion(call, text="a \u00fc \"b\"\n", ids=ids_of(7))),
            [QUESTION])
        self.assertEqual(len(events), 2)
        self.assertEqual(events[1], "[DONE]")
        chunk = json.loads(events[0])
        self.assertEqual(chunk["object"], "chat.completion.chunk")
        for name in ("created", "model"):
            self.assertEqual(chunk[name], whole.json[name])
        (choice,) = chunk["choices"]
        self.assertEqual(choice["index"], 0)
        self.assertEqual(choice["delta"], message_of(whole))
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertNotIn("meta_info", choice)
        self.assertNotIn("usage", chunk)  # the upstream told none
        first, second = (one for (one,) in records)
        for record in (first, second):
            for name in ("id", "created"):
                record["response"].pop(name, None)
            record["response"]["choices"][0]["meta_info"].pop("id")
        self.assertEqual(without_times(first), without_times(second))

    def test_tool_calls_carry_their_index(self):
        calls = [{"id": f"call0000{i}", "index": 7, "type": "function",
                  "function": {"name": name, "arguments": "{\"city\": \"K\u00f6ln\"}"}}
                 for i, name in enumerate(("get_weather", "get_time"))]
        whole, events, _ = self.both(
            lambda call: Said(completion(call, text="", finish="tool_calls",
                                         message={"tool_calls": calls})),
            [QUESTION], tools=TOOLS)
        self.assertEqual(len(events), 2)
        (choice,) = json.loads(events[0])["choices"]
        self.assertEqual(choice["finish_reason"], "tool_calls")
        streamed = choice["delta"]["tool_calls"]
        self.assertEqual([call["index"] for call in streamed], [0, 1])
        self.assertEqual([{**call, "index": 7} for call in streamed],
                         whole.json["choices"][0]["message"]["tool_calls"])

    def test_a_streamed_call_goes_on_with_its_result(self):
        # An agent builds the call anew, without its index.
        call = {"id": "call00000", "index": 0, "type": "function",
                "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}
        self.upstream.script = lambda got: Said(completion(
            got, text="", finish="tool_calls", message={"tool_calls": [call]}))
        session = self.server.session()
        session.say(QUESTION, tools=TOOLS, stream=True)
        self.assertNotIn("index", session.messages[-1]["tool_calls"][0])
        self.upstream.script = lambda got: Said(completion(got, text="Final answer after tool."))
        reply = session.say({**tool("rain"), "tool_call_id": "call00000"}, tools=TOOLS)
        self.assertEqual(message_of(reply)["content"], "Final answer after tool.")
        records = session.records
        self.assertEqual(len(records), 2)
        first, second = (record["request"]["input_ids"] for record in records)
        self.assertEqual(second[:len(first) + 3], first + ids_of(0))

    def test_usage_and_a_length(self):
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        _, events, _ = self.both(lambda call: Said(completion(call, finish="length", usage=usage)),
                                 [QUESTION])
        chunk = json.loads(events[0])
        self.assertEqual(chunk["usage"], usage)
        self.assertEqual(chunk["choices"][0]["finish_reason"], "length")

    def test_values_that_are_not_true_ask_for_no_stream(self):
        # As Python's bool().
        for stream in (False, None, 0, "", []):
            reply = self.server.session().chat([QUESTION], stream=stream)
            self.assertEqual(reply.json["object"], "chat.completion")
        self.assertEqual(events_of(self.server.session().chat([QUESTION], stream=1))[-1], "[DONE]")


class Rows(WithUpstream):
    """Rows are kept for samples, and no reply to a turn has them."""

    MORE_FLAGS = ("--session-routed-experts", "--session-indexer-topk", "--session-moe-layers", "2")

    def answer(self, call):
        asked = len(call.json["input_ids"])
        begin = call.json.get("routed_experts_start_len", 0)
        ids = ids_of(call.number)
        rows = rows_text(begin, asked + len(ids) - 1 - begin)
        body = completion(call, ids=ids, meta={
            "routed_experts": rows, "indexer_topk": rows_text(0, asked + len(ids) - 1),
            "indexer_topk_num_layers": 2})
        body["sglext"] = {"routed_experts": rows}
        return Said(body)

    def check_samples(self, session):
        sample = Samples(session.samples()).one()
        tokens = list(sample["tokens"].values)
        self.assertEqual(tokens, session.metadata["accumulated_token_ids"])
        expected = [[(8 * row + layer + k) % 64 for layer in range(2) for k in range(2)]
                    for row in range(len(tokens) - 1)]
        for field in ("rollout_routed_experts", "rollout_indexer_topk"):
            self.assertEqual(sample[field].shape, [len(tokens) - 1, 2, 2])
            self.assertEqual(sample[field].rows(), expected)
        mask, logprobs = [], []
        prompts = [record["request"]["input_ids"] for record in session.records]
        for number, prompt in enumerate(prompts):
            between = len(prompt) - len(prompts[0]) - len(mask)
            mask += [0] * between + [1] * 3
            logprobs += [0.0] * between + logprobs_of(ids_of(number))
        self.assertEqual(list(sample["loss_mask"].values), mask)
        self.assertEqual(list(sample["rollout_log_probs"].values), logprobs)
        self.assertEqual(sample["response_length"], len(mask))
        self.assertEqual(sample["status"], "completed")
        self.assertEqual(sample["weight_versions"], ["w1"] * len(prompts))

    def test_no_reply_has_rows(self):
        self.upstream.script = self.answer
        session = self.server.session()
        for stream in (False, True):
            reply = session.say(QUESTION if not stream else tool("r"), stream=stream)
            self.assertNotRegex(reply.body, b"\"(routed_experts|indexer_topk)\"|sglext|AAAA")
            if not stream:
                self.assertIn("output_token_logprobs", reply.json["choices"][0]["meta_info"])
        self.check_samples(session)

    def test_records_have_the_rows(self):
        self.upstream.script = self.answer
        session = self.server.session()
        session.say(QUESTION)
        (record,) = session.records
        text = json.dumps(record["response"])
        found = re.search("\"routed_experts\": \"([^\"]+)\"", text)
        if found:  # the reference keeps the upstream's text
            base64.b64decode(found[1], validate=True)
        self.check_samples(session)

    def test_rows_that_a_session_does_not_ask_for_are_left_out(self):
        # Whatever they are: the reference's mock sends lists.
        self.upstream.script = lambda call: Said(completion(call, meta={
            "routed_experts": [[0, 1], [2, 3]], "indexer_topk": [[4], [5]]}))
        session = self.server.session({"evaluation": True})
        reply = session.say(QUESTION)
        self.assertNotRegex(reply.body, b"\"(routed_experts|indexer_topk)\"")
        sample = Samples(session.samples()).one()
        self.assertEqual((sample["rollout_routed_experts"], sample["rollout_indexer_topk"]),
                         (None, None))

    def test_rows_that_cannot_be_used(self):
        def too_few(call):
            body = self.answer(call)
            text = json.loads(body.body)
            text["choices"][0]["meta_info"]["routed_experts"] = rows_text(0, 3)
            return Said(text)

        def no_base64(call):
            # In the rows of new tokens: others are not read again.
            body = self.answer(call).body
            end = body.index(b"\"", body.index(b"\"routed_experts\": \"") + 20)
            return Said(body[:end - 8] + b"*" + body[end - 7:])

        self.upstream.script = self.answer
        session = self.server.session()
        session.say(QUESTION)
        before = session.show()
        for script in (too_few, no_base64):
            self.upstream.script = script
            reply = session.chat([*session.messages, tool("r")])
            self.check_error(reply, 502)
            self.assertEqual(session.show(), before)
        self.upstream.script = self.answer
        session.say(tool("r"))
        self.upstream.reset()
        self.assertEqual(len(session.records), 2)


class NewRows(Rows):
    """The same where only rows of new tokens are asked for."""

    MORE_FLAGS = (*Rows.MORE_FLAGS, "--session-new-rows")

    def test_where_the_rows_begin(self):
        self.upstream.script = self.answer
        session = self.server.session()
        session.say(QUESTION)
        first = session.metadata["accumulated_token_ids"]
        session.say(tool("r"))
        session.chat([*session.messages[:2], tool("DIFFERENT")])
        sent = self.upstream.turns()
        # The reference sends 0 for the first turn.
        self.assertEqual([body.get("routed_experts_start_len", 0) for body in sent],
                         [0, len(first) - 1, len(first) - 1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
