#!/usr/bin/env python3
"""Makes one file of MaskBench's data: each schema with its instances as tokens of Llama 3.

    prepare.py --data maskbench/data --modules "$(bench/grammar/maskbench/setup)" --out FOLDER

writes FOLDER/cases.jsonl, a schema a line, and FOLDER/llama3.tiktoken, the vocabulary. Instances
are written as the benchmark writes them: json.dumps, with a blank behind commas and colons.
"""

import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def tokens_of(texts, modules):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    made = subprocess.run(["node", HERE / "tokens.mjs", modules], input=lines, text=True,
                          capture_output=True, check=True).stdout
    return [json.loads(line) for line in made.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the benchmark's files")
    parser.add_argument("--modules", required=True, help="as setup prints it")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    vocabulary = subprocess.run(
        ["node", HERE / "tokens.mjs", options.modules, "--vocabulary"], capture_output=True,
        check=True).stdout
    (options.out / "llama3.tiktoken").write_bytes(vocabulary)

    cases, texts = [], []
    for file in sorted(options.data.glob("*.json")):
        case = json.loads(file.read_text())
        tests = []
        for test in case["tests"]:
            tests.append({"valid": test["valid"]})
            texts.append(json.dumps(test["data"], ensure_ascii=False))
        cases.append({"name": file.stem, "schema": case["schema"], "tests": tests})
    tests = [test for case in cases for test in case["tests"]]
    for test, tokens in zip(tests, tokens_of(texts, options.modules), strict=True):
        test["tokens"] = tokens
    with open(options.out / "cases.jsonl", "w") as out:
        for case in cases:
            out.write(json.dumps(case) + "\n")
    print(f"{len(cases)} schemas, {len(tests)} instances")


if __name__ == "__main__":
    main()
