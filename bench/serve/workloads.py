"""What clients send, as lines for bench_load; the same for every server."""

import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMAS = os.path.join(HERE, "../grammar/schemas")

WORDS = ("time year people way day man thing woman life child world school state family student "
         "group country problem hand part place case week company system program question work "
         "government number night point home water room mother area money story fact month lot "
         "right study book eye job word business issue side kind head house service friend").split()


def text(random_words, count):
    return " ".join(random_words.choice(WORDS) for _ in range(count))


def line(path, body=None):
    return json.dumps({"path": path} if body is None else {"path": path, "body": body})


def chats(count, seed, prompt_words, answer_tokens, system_words=0, **fields):
    """Chats with prompts that begin alike, for `system_words`, and then differ."""
    rng = random.Random(seed)
    system = text(random.Random(0), system_words) if system_words else "You are brief."
    return [line("/v1/chat/completions", {
        "model": "chat",
        "messages": [{"role": "system", "content": system},
                     {"role": "user", "content": text(rng, prompt_words)}],
        "max_tokens": answer_tokens, "temperature": 0.7, "seed": i, **fields,
    }) for i in range(count)]


def schema(name, string_characters=24, items=2):
    """A schema of Graphiti's, its texts and lists told to be short: a model with random weights
    would go on for ever inside them."""
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as file:
        value = json.load(file)

    def brief(node):
        if isinstance(node, list):
            return [brief(item) for item in node]
        if not isinstance(node, dict):
            return node
        node = {key: brief(item) for key, item in node.items()}
        if node.get("type") == "string":
            node["maxLength"] = string_characters
        if node.get("type") == "array":
            node["minItems"] = node["maxItems"] = items
        if node.get("type") == "integer":
            node.update(minimum=0, maximum=99)
        return node

    return brief(value)


def extractions(count, seed, prompt_words=120, name="summarized_entities"):
    """The structured calls of Graphiti: a fixed instruction, then what differs."""
    rng = random.Random(seed)
    form = schema(name)
    return [line("/v1/chat/completions", {
        "model": "chat",
        "messages": [{"role": "system", "content": "You write summaries of entities. "
                      + text(random.Random(1), 60)},
                     {"role": "user", "content": text(rng, prompt_words)}],
        "max_tokens": 400, "temperature": 1, "seed": i,
        "response_format": {"type": "json_schema",
                            "json_schema": {"name": name, "schema": form}},
    }) for i in range(count)]


def rerankings(count, seed):
    """One token with its log-probabilities: Graphiti's reranker."""
    rng = random.Random(seed)
    return [line("/v1/chat/completions", {
        "model": "chat",
        "messages": [{"role": "system", "content":
                      "You are an expert tasked with determining whether the passage is relevant "
                      "to the query. " + text(random.Random(2), 40)},
                     {"role": "user", "content": text(rng, 40)}],
        "max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 2,
        "logit_bias": {"6432": 1, "7983": 1},
    }) for _ in range(count)]


def embeddings(count, seed, words=12):
    rng = random.Random(seed)
    return [line("/v1/embeddings", {"model": "embed", "input": text(rng, words)})
            for _ in range(count)]


def embedded_tokens(count, vocabulary, tokens_min=5, tokens_max=40):
    """The inputs of bench_embed, token by token."""
    spread = tokens_max - tokens_min + 1
    return [line("/v1/embeddings", {"model": "embed", "input": [
        100 + (i * 31 + j * 17) % (vocabulary - 200)
        for j in range(tokens_min + i * 7919 % spread)]}) for i in range(count)]


def healths():
    return [line("/health")]
