"""Recall: facts and queries go through windrow, and each query looks for its fact."""

import json
from pathlib import Path
from typing import Any

from tasks import facts as held_out_facts

from . import programs, recall

TARGETS = {5: 0.85}  # of recall at 5


def write_requests(texts: dict[str, str], file: Path) -> None:
    with open(file, "w", encoding="utf-8", newline="\n") as requests:
        for custom_id, text in texts.items():
            row = {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings",
                   "body": {"model": "windrow-embed", "input": text}}
            requests.write(json.dumps(row, ensure_ascii=False) + "\n")


def _read(file: Path) -> dict[str, list[float]]:
    vectors = {}
    with open(file, encoding="utf-8") as results:
        for line in results:
            row = json.loads(line)
            vectors[row["custom_id"]] = row["response"]["body"]["data"][0]["embedding"]
    return vectors


def measure(windrow: Path, model: Path, seed: int, folder: Path) -> dict[str, Any]:
    """{"facts", "queries", "dimensions", "recall": {"1", "5", "10"}, "target": {"5"}}"""
    held_out = held_out_facts.held_out("test", seed)
    requests, results = folder / "facts.jsonl", folder / "facts.results.jsonl"
    texts = {f"fact-{index}": fact for index, fact in enumerate(held_out.facts)}
    texts |= {f"query-{index}": query.text for index, query in enumerate(held_out.queries)}
    write_requests(texts, requests)
    programs.run_windrow(windrow, model, requests, results)
    vectors = _read(results)
    if len(vectors) < len(texts):
        raise programs.Unusable(f"{len(texts) - len(vectors)} of {len(texts)} texts have no "
                                f"embedding from {model}")
    facts = [vectors[f"fact-{index}"] for index in range(len(held_out.facts))]
    queries = [(vectors[f"query-{index}"], query.fact)
               for index, query in enumerate(held_out.queries)]
    found = recall.recall(facts, queries)
    return {"facts": len(facts), "queries": len(queries), "dimensions": len(facts[0]),
            "recall": {str(k): round(share, 4) for k, share in found.items()},
            "target": {str(k): share for k, share in TARGETS.items()}}


def table(measured: dict[str, Any]) -> str:
    lines = [f"{'embeddings':<14} {'queries':>7} {'recall':>8} {'target':>7}   "
             f"{measured['facts']} facts, {measured['dimensions']} dimensions"]
    for k, share in measured["recall"].items():
        lines.append(f"{'at ' + k:<14} {measured['queries']:>7} {share:>8.3f} "
                     f"{measured['target'].get(k, 'none'):>7}")
    return "\n".join(lines)
