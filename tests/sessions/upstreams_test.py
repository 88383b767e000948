"""Sessions before simulated servers of each kind: what a trainer collects is exactly what the model
was sent and answered, token by token, with the log-probabilities and rows of each."""

import base64
import json
import struct
import unittest

from safetensors import Samples
from session_program import (MODEL_FILE, Conversation, Folder, Server, Simulated, all_of, ask,
                             user)

LAYERS, TOPK, INDEXER_LAYERS, INDEXER_TOPK = 3, 4, 2, 5
TURNS = 5
SESSIONS = 3

SIMULATED = ("--context", "100000", "--routing-layers", LAYERS, "--routing-topk", TOPK,
             "--routing-experts", "300")
INDEXER = ("--indexer-layers", INDEXER_LAYERS, "--indexer-topk", INDEXER_TOPK)
SESSION_FLAGS = ("--tokenizer", f"sim={MODEL_FILE}", "--session-routed-experts",
                 "--session-moe-layers", LAYERS)


class OfSim(Conversation):
    MODEL = "sim"


class OneKind:
    """A kind of server. All tests are run for each; `direct` asks the simulated one itself."""

    KIND = ""
    MORE = ()
    SESSION_MORE = ()
    HAS_INDEXER = False

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.simulated = Simulated(cls.folder, *SIMULATED, *cls.MORE)
        cls.server = Server(cls.folder, "--upstream", cls.simulated.url, "--session-upstream",
                            cls.KIND, *SESSION_FLAGS, *cls.SESSION_MORE)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}: {cls.server.said[-20:]}")

    def session(self, **options):
        made = self.server.session(options or None)
        return OfSim(made.server, made.id, made.key)

    def direct(self, prompt, tokens):
        """(ids, log-probabilities, rows by kind) that the simulated server says itself. All kinds
        of servers say the same, so it is asked as SGLang."""
        reply = ask(self.simulated.url, "POST", "/generate", {
            "input_ids": prompt, "return_logprob": True, "return_routed_experts": True,
            "return_indexer_topk": self.HAS_INDEXER,
            "sampling_params": {"max_new_tokens": tokens}})
        self.assertEqual(reply.status, 200, reply)
        info = reply.json["meta_info"]
        ids = reply.json["output_ids"]
        self.assertEqual([token for _, token, *_ in info["output_token_logprobs"]], ids)
        rows = {}
        for field, width in (("routed_experts", LAYERS * TOPK),
                             ("indexer_topk", INDEXER_LAYERS * INDEXER_TOPK)):
            if field not in info:
                continue
            data = base64.b64decode(info[field], validate=True)
            values = struct.unpack(f"<{len(data) // 4}i", data)
            self.assertEqual(len(values), width * (len(prompt) + len(ids) - 1))
            rows[field] = [list(values[i:i + width]) for i in range(0, len(values), width)]
        return ids, [logprob for logprob, *_ in info["output_token_logprobs"]], rows

    def talk(self, name, **members):
        """A conversation: (session, what each turn read and sampled)."""
        session = self.session()
        for turn in range(TURNS):
            session.say(user(f"{name}: question {turn}, \u00fc\u6771 <|im_end|>"),
                        max_tokens=12, **members)
        return session

    def check(self, session):
        """Every turn is what the server says to its prompt, and the sample is made of them."""
        records = session.records
        self.assertEqual(len(records), TURNS)
        tokens, mask, logprobs = [], [], []
        for record in records:
            prompt = record["request"]["input_ids"]
            self.assertEqual(prompt[:len(tokens)], tokens)
            ids, said, rows = self.direct(prompt, 12)
            if mask:
                between = len(prompt) - len(tokens)
                mask += [0] * between
                logprobs += [0.0] * between
            tokens = prompt + ids
            mask += [1] * len(ids)
            logprobs += said
        sample = Samples(session.samples()).one()
        self.assertEqual(list(sample["tokens"].values), tokens)
        self.assertEqual(list(sample["loss_mask"].values), mask)
        self.assertEqual(list(sample["rollout_log_probs"].values), logprobs)
        self.assertEqual(sample["response_length"], len(mask))
        # Rows of the first prefix that has them: those of the last turn are the same, because the
        # simulated server computes a row of the tokens before it alone.
        shapes = {"routed_experts": [LAYERS, TOPK], "indexer_topk": [INDEXER_LAYERS, INDEXER_TOPK]}
        for field, expected in rows.items():
            told = sample[f"rollout_{field}"]
            self.assertEqual(told.shape, [len(tokens) - 1, *shapes[field]], field)
            self.assertEqual(told.rows(), expected, field)
        if not self.HAS_INDEXER:
            self.assertIsNone(sample["rollout_indexer_topk"])
        # Nothing of the conversation is written in another way than the template would; the
        # assistant's words are drawn tokens, which a text need not give back.
        kinds = {one["type"] for one in session.metadata["tito_session_mismatch"]}
        self.assertLessEqual(kinds, {"assistant_text"})

    def test_conversations_at_the_same_time(self):
        for session in all_of(*[lambda i=i: self.talk(f"agent {i}") for i in range(SESSIONS)]):
            self.check(session)

    def test_streamed_conversations(self):
        def talk(number):
            return self.talk(f"streaming agent {number}", stream=True,
                             stream_options={"include_usage": True})
        for session in all_of(*[lambda i=i: talk(i) for i in range(SESSIONS)]):
            self.check(session)

    def test_a_stream_says_what_a_whole_reply_says(self):
        whole, streamed = self.session(), self.session()
        for turn in range(TURNS):
            whole.say(user(f"q {turn}"), max_tokens=12)
            streamed.say(user(f"q {turn}"), max_tokens=12, stream=True)
        self.assertEqual(whole.messages, streamed.messages)
        self.assertEqual(Samples(whole.samples()).one()["tokens"].values,
                         Samples(streamed.samples()).one()["tokens"].values)

    def test_a_length_cuts_the_sample(self):
        session = self.session()
        session.say(user("first"), max_tokens=12)
        session.say(user("second"), max_tokens=2)
        sample = Samples(session.samples()).one()
        self.assertEqual(sample["status"], "truncated")
        whole = len(sample["tokens"].values)
        short = Samples(session.samples(max_seq_len=whole - 1)).one()
        self.assertEqual(short["tokens"].values, sample["tokens"].values[:-1])
        self.assertEqual(short["rollout_routed_experts"].rows(),
                         sample["rollout_routed_experts"].rows()[:-1])
        empty = Samples(session.samples(max_seq_len=2))
        self.assertEqual((empty.samples, empty.empty_reason), ([], "all_truncated"))
        self.assertEqual(Samples(self.session().samples()).empty_reason, "no_records")

    def test_a_retry_and_a_branch(self):
        line, tree = self.session(), self.session(history="tree", retries="keep_all")
        for session in (line, tree):
            session.say(user("first"), max_tokens=12)
            session.say(user("second"), max_tokens=12)
            session.messages = session.messages[:2]
            session.say(user("another second"), max_tokens=12)
        prompt = line.records[-1]["request"]["input_ids"]
        ids, _, rows = self.direct(prompt, 12)
        sample = Samples(line.samples()).one()
        self.assertEqual(list(sample["tokens"].values), prompt + ids)
        self.assertEqual(sample["rollout_routed_experts"].rows(), rows["routed_experts"])
        made = Samples(tree.samples()).samples
        self.assertEqual(len(made), 2)
        # Trees are told from the newest; what branches share is trained on once.
        self.assertEqual(list(made[0]["tokens"].values), prompt + ids)
        self.assertEqual(made[0]["rollout_routed_experts"].rows(), rows["routed_experts"])
        shared = sum(sum(one["loss_mask"].values) for one in made)
        sampled = sum(end - begin for begin, end in
                      (node["completion_span"] for node in tree.metadata["tree"]["nodes"]))
        self.assertEqual(shared, sampled)


class SglangChat(OneKind, unittest.TestCase):
    KIND = "sglang-chat"
    MORE = (*INDEXER, "--routing-twice")
    SESSION_MORE = ("--session-indexer-topk",)
    HAS_INDEXER = True


class Sglang(OneKind, unittest.TestCase):
    KIND = "sglang"
    MORE = INDEXER
    SESSION_MORE = ("--session-indexer-topk",)
    HAS_INDEXER = True


class SglangIncremental(OneKind, unittest.TestCase):
    KIND = "sglang"
    MORE = (*INDEXER, "--incremental-streaming")
    SESSION_MORE = ("--session-indexer-topk", "--session-new-rows")
    HAS_INDEXER = True


class Vllm(OneKind, unittest.TestCase):
    """vLLM's streams have no rows, so a session that wants them must not lose them."""

    KIND = "vllm"


class Drift(unittest.TestCase):
    """A server that gives other rows for the same tokens each time."""

    def rows_of_turns(self, which):
        with Folder() as folder:
            simulated = Simulated(folder, *SIMULATED, "--routing-drift")
            server = Server(folder, "--upstream", simulated.url, "--session-upstream", "sglang",
                            *SESSION_FLAGS, "--session-rows", which)
            made = server.session()
            session = OfSim(made.server, made.id, made.key)
            found = []
            for turn in range(3):
                session.say(user(f"q {turn}"), max_tokens=12)
                found.append(Samples(session.samples()).one()["rollout_routed_experts"].rows())
            self.assertEqual(server.stop(), 0)
        return found

    def test_the_first_rows_stay(self):
        first, second, third = self.rows_of_turns("first")
        self.assertEqual(second[:len(first)], first)
        self.assertEqual(third[:len(second)], second)

    def test_the_last_rows_replace_them(self):
        first, second, third = self.rows_of_turns("last")
        self.assertNotEqual(second[:len(first)], first)
        self.assertNotEqual(third[:len(second)], second)
        self.assertGreater(len(third), len(second))


class Headers(unittest.TestCase):
    def test_the_weight_version_and_cached_tokens_are_told(self):
        with Folder() as folder:
            simulated = Simulated(folder, "--weight-version", "step 7")
            server = Server(folder, "--upstream", simulated.url, "--session-upstream", "sglang",
                            "--tokenizer", f"sim={MODEL_FILE}")
            made = server.session()
            session = OfSim(made.server, made.id, made.key)
            for turn in range(2):
                session.say(user(f"a question that is longer than a block of the cache {turn}"),
                            max_tokens=12)
            sample = Samples(session.samples()).one()
            self.assertEqual(sample["weight_versions"], ["step 7"] * 2)
            figures = sample["prefix_cache_info"]
            prompts = [record["request"]["input_ids"] for record in session.records]
            self.assertEqual(figures["total_prompt_tokens"], sum(map(len, prompts)))
            self.assertGreater(figures["cached_tokens"], 0)
            self.assertNotIn("sim-", json.dumps(session.messages))
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
