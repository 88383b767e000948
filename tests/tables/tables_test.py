#!/usr/bin/env python3
"""Tables in and out, with the program itself, compared with Python's csv and json.

usage: tables_test.py WINDROW [SEED]

Random tables of every delimiter, quoting and line end are answered by a simulated model; the table
that is written must have the records that Python's csv reads, in their order. Then: a bad record, a
killed run that is continued, embeddings as .npy, wrong inputs, previews, samples and pipelines.
With WINDROW_SOAK=1 the tables are others each time; SEED repeats a failure.
"""

import csv
import gzip
import io
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile

WINDROW = sys.argv[1]
SOAK = "WINDROW_SOAK" in os.environ
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**9) if SOAK else 1
MODEL = ["--model", "sim:instant,answer-tokens=4"]
FAILED = []


def check(name, condition, shown=""):
    if not condition:
        FAILED.append(name)
        print(f"FAILED {name}: {shown}")


def windrow(*words, code=0, **more):
    env = {"PATH": os.environ["PATH"], "HOME": os.getcwd()}
    done = subprocess.run([WINDROW, *words], capture_output=True, text=True, env=env, timeout=300,
                          check=False, **more)
    check(f"exit code of {' '.join(words)}", done.returncode == code,
          f"{done.returncode}, not {code}:\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done


def write(name, text, **more):
    with open(name, "w", newline="", encoding="utf-8", **more) as file:
        file.write(text)


def read_csv(name, delimiter=","):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter, strict=True))


def lines_of(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# --- random tables ------------------------------------------------------------------------------

LETTERS = ["a", "b", "é", "漢", " ", ",", ";", "\t", "|", '"', "\n", "\r\n", "'", "{{", "0", "=1"]


def random_table(chosen):
    columns = ["id"] + [f"column {i}" if i % 2 else f"c{i}" for i in range(chosen.randint(1, 4))]
    rows = []
    for i in range(chosen.randint(1, 12)):
        rows.append([f"row-{i}"] + ["".join(chosen.choices(LETTERS, k=chosen.randint(0, 8)))
                                    for _ in columns[1:]])
    return columns, rows


def test_round_trips(chosen):
    for i in range(12):
        columns, rows = random_table(chosen)
        delimiter = chosen.choice(",;\t|")
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter,
                            lineterminator=chosen.choice(["\n", "\r\n"]),
                            quoting=chosen.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer.writerow(columns)
        writer.writerows(rows)
        given = ("\ufeff" if chosen.random() < 0.3 else "") + text.getvalue()
        name = f"t{i}.csv"
        if chosen.random() < 0.3:
            name += ".gz"
            with gzip.open(name, "wb") as file:
                file.write(given.encode())
        else:
            write(name, given)
        ending = chosen.choice(["csv", "tsv", "json"])
        output = f"out{i}.{ending}"
        windrow("run", name, "--id", "id", "--prompt", "{{ record | tojson }}", *MODEL,
                "--max-tokens", "3", "-o", output)
        wanted = [dict(zip(columns, row)) for row in rows]
        if ending == "json":
            with open(output, encoding="utf-8") as file:
                found = json.load(file)
        else:
            found = read_csv(output, "\t" if ending == "tsv" else ",")
        check(f"table {i}", [{name: row[name] for name in columns} for row in found] == wanted,
              f"{given!r} became {found!r}")
        check(f"answers of table {i}", all(row["answer"] and not row["error"] for row in found))
        lines = {line["custom_id"]: line["windrow"]["line"] for line in lines_of(f"out{i}.jsonl")}
        at = 2
        for row in rows:
            check(f"line of {row[0]}", lines.get(row[0]) == at, f"{lines.get(row[0])}, not {at}")
            at += 1 + sum(value.count("\n") for value in row)


# --- one job ------------------------------------------------------------------------------------

def products(count):
    text = "sku;title;notes\n"
    for i in range(count):
        notes = '"two\nlines; and a ""quote"""' if i % 7 == 3 else f"note {i}"
        text += f"s{i};Title {i};{notes}\n"
        if i == 5:
            text += "bad;too short\n"
    return text


def test_job():
    write("products.csv", products(40))
    schema = {"type": "object", "properties": {"label": {"enum": ["red", "blue"]},
                                               "title": {"type": "integer", "minimum": 0,
                                                         "maximum": 9}},
              "required": ["label", "title"], "additionalProperties": False}
    write("schema.json", json.dumps(schema))
    asked = ["--id", "sku", "--prompt", "Classify: {{ title }} {{ notes }}", "--system",
             "You classify.", "--schema", "schema.json", *MODEL]
    done = windrow("run", "products.csv", *asked, "-o", "labelled.csv", code=1)
    check("the log is named", "labelled.jsonl" in done.stderr, done.stderr)
    rows = read_csv("labelled.csv")
    check("columns", list(rows[0]) == ["sku", "title", "notes", "answer", "label", "answer_title",
                                       "finish_reason", "error"], str(list(rows[0])))
    check("order", [row["sku"] for row in rows] ==
          [f"s{i}" for i in range(6)] + ["bad"] + [f"s{i}" for i in range(6, 40)])
    check("labels", all(row["label"] in ("red", "blue") and row["answer_title"].isdigit()
                        for row in rows if row["sku"] != "bad"), str(rows[:3]))
    check("the bad record", "2 values" in rows[6]["error"] and not rows[6]["answer"], str(rows[6]))
    error = lines_of("labelled.errors.jsonl")
    check("its line", [line["windrow"]["line"] for line in error] == [9], str(error))

    # The same as the table of the run, from the record alone.
    windrow("export", "labelled.jsonl", "-o", "again.csv")
    with open("labelled.csv", "rb") as one, open("again.csv", "rb") as other:
        check("export equals", one.read() == other.read())

    # What the table is made of is never replaced by it.
    for name, what in (("./products.csv", "the input"), ("labelled.job.json", "the record")):
        with open(name, "rb") as file:
            before = file.read()
        done = windrow("export", "labelled.jsonl", "-o", name, code=2)
        check(f"{name} is said", f"is {what}" in done.stderr, done.stderr)
        with open(name, "rb") as file:
            check(f"{name} is as before", file.read() == before)

    # A corrected record runs; nothing else does.
    write("products.csv", products(40).replace("bad;too short", "bad;no;more"))
    done = windrow("retry", "labelled.errors.jsonl", *MODEL, code=2)
    check("retry needs the flags", "the flags that windrow run had" in done.stderr, done.stderr)
    windrow("retry", "labelled.errors.jsonl", *asked)
    windrow("export", "labelled.errors.jsonl", "-o", "again.json")
    with open("again.json", encoding="utf-8") as file:
        again = json.load(file)
    check("after the retry", len(again) == 41 and not any(row["error"] for row in again))
    check("members keep their kinds", isinstance(again[0]["answer_title"], int))

    # Another template is another job.
    done = windrow("run", "products.csv", "--id", "sku", "--prompt", "Other: {{ title }}", *MODEL,
                   "-o", "labelled.csv", code=2)
    check("options changed", "prompt" in done.stderr, done.stderr)


def test_killed():
    write("many.csv", products(300))
    slow = ["--model", "sim:step-us=20000,answer-tokens=6"]  # most of it is left when it is killed
    command = ["run", "many.csv", "--prompt", "{{ title }}", *slow]
    windrow(*command, "-o", "whole.csv", code=1)
    with subprocess.Popen([WINDROW, *command, "-o", "cut.csv"], stderr=subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": os.getcwd()}) as process:
        while process.poll() is None:
            if os.path.exists("cut.jsonl") and os.path.getsize("cut.jsonl") > 20_000:
                process.send_signal(signal.SIGKILL)
                break
    check("the killed run wrote no table", not os.path.exists("cut.csv"))
    had = len(open("cut.jsonl", "rb").read().split(b"\n")) - 1
    write("other.csv", "id,x\nnone,1\n")
    done = windrow("export", "cut.jsonl", "--input", "other.csv", "-o", "x.csv", "--id", "id",
                   code=2)
    check("another input", "no record of other.csv has an outcome" in done.stderr, done.stderr)
    windrow("export", "cut.jsonl", "-o", "part.csv")
    check("the part is there", 0 < len(read_csv("part.csv")) <= had + 1)
    windrow(*command, "-o", "cut.csv", code=1)
    with open("whole.csv", "rb") as one, open("cut.csv", "rb") as other:
        check("the continued run equals", one.read() == other.read())


def test_embeddings():
    write("texts.jsonl", "".join(json.dumps({"n": i, "text": f"text {i}"}) + "\n"
                                 for i in range(9)) + '{"n": 9}\n')
    done = windrow("run", "texts.jsonl", "--id", "n", "--embed", "{{ text }}", "--model",
                   "sim:instant,embedding-size=5", "-o", "vectors.npy", code=1)
    check("NaN is said", "NaN" in done.stderr, done.stderr)
    with open("vectors.npy", "rb") as file:
        data = file.read()
    check("magic", data[:8] == b"\x93NUMPY\x01\x00")
    size = struct.unpack("<H", data[8:10])[0]
    check("alignment", (10 + size) % 64 == 0)
    header = eval(data[10:10 + size], {"__builtins__": {}}, {})  # a dict, as numpy reads it
    check("header", header == {"descr": "<f4", "fortran_order": False, "shape": (10, 5)}, header)
    numbers = struct.unpack("<50f", data[10 + size:])
    log = {line["custom_id"]: line["response"]["body"]["data"][0]["embedding"]
           for line in lines_of("vectors.jsonl")}
    for i in range(9):
        row = numbers[5 * i:5 * i + 5]
        check(f"vector {i}", all(abs(a - b) < 1e-6 for a, b in zip(row, log[str(i)])), str(row))
    check("the failed row", all(number != number for number in numbers[45:]))


def test_wrong_inputs():
    write("plain.csv", "a,b\n1,2\n3,4\n")
    done = windrow("run", "plain.csv", *MODEL, "-o", "x.jsonl", code=2)
    check("a table is recognised", "with the columns a, b" in done.stderr and "--prompt" in
          done.stderr, done.stderr)
    check("nothing was written", not os.path.exists("x.jsonl"))
    write("array.json", '[{"a": 1}, {"a": 2}]')
    done = windrow("run", "array.json", *MODEL, "-o", "x.jsonl", code=2)
    check("an array is recognised", "JSON array of records" in done.stderr, done.stderr)
    write("requests.jsonl", json.dumps({"custom_id": "a", "url": "/v1/completions",
                                        "body": {"prompt": "x"}}) + "\n")
    done = windrow("run", "requests.jsonl", "--prompt", "x", *MODEL, "-o", "x.jsonl", code=2)
    check("requests are recognised", "holds requests already" in done.stderr, done.stderr)
    done = windrow("run", "plain.csv", "--prompt", "{{ c }}", *MODEL, "-o", "x.jsonl", code=2)
    check("an unknown column", "'c' is undefined" in done.stderr and "the columns are a, b" in
          done.stderr, done.stderr)
    done = windrow("run", "plain.csv", "--id", "a", *MODEL, "-o", "x.jsonl", code=2)
    check("a prompt is missing", "--prompt" in done.stderr, done.stderr)
    write("p.parquet", "PAR1....")
    done = windrow("run", "p.parquet", "--prompt", "x", *MODEL, "-o", "x.jsonl", code=2)
    check("Parquet", "duckdb" in done.stderr, done.stderr)
    write("tabs.tsv", "name, long\ttown, street\nA\tB, C, D\n")
    windrow("run", "tabs.tsv", "--prompt", "{{ record['town, street'] }}", *MODEL, "-o",
            "tabs.json")
    write("mine.csv", "by,hand\n")
    mine = ["run", "plain.csv", "--prompt", "{{ a }}", *MODEL, "-o", "mine.csv"]
    done = windrow(*mine, code=2)
    check("a file of the user", "mine.csv is there already" in done.stderr, done.stderr)
    check("it is as before", read_csv("mine.csv") == [] and not os.path.exists("mine.jsonl"))
    windrow(*mine, "--fresh")
    check("it may be replaced", [row["a"] for row in read_csv("mine.csv")] == ["1", "3"])
    windrow(*mine)
    # Requests as a table of answers.
    windrow("run", "requests.jsonl", *MODEL, "-o", "answers.csv")
    check("requests as a table", [row["custom_id"] for row in read_csv("answers.csv")] == ["a"])
    os.rename("requests.jsonl", "requests.txt")
    windrow("run", "requests.txt", *MODEL, "-o", "named.csv")
    check("requests of any name", [row["custom_id"] for row in read_csv("named.csv")] == ["a"])
    windrow("run", "-", "--prompt", "{{ a }}", *MODEL, "-o", "in.jsonl", input="a,b\n1,2\n")
    check("a pipe", [line["custom_id"] for line in lines_of("in.jsonl")] == ["1"])


def test_some_rows():
    write("some.csv", "id,title\n" + "".join(f"r{i},Title {i}\n" for i in range(200)))
    command = ["run", "some.csv", "--id", "id", "--prompt", "{{ title }}", *MODEL]
    windrow(*command, "--sample", "20", "-o", "sampled.csv")
    first = [row["id"] for row in read_csv("sampled.csv")]
    check("a sample", len(first) == 20 and first != [f"r{i}" for i in range(20)], str(first))
    done = windrow(*command, "--sample", "30", "-o", "sampled.csv")
    more = [row["id"] for row in read_csv("sampled.csv")]
    check("a larger sample", len(more) == 30 and set(first) < set(more), str(more))

    before = sorted(os.listdir())
    done = windrow(*command, "--preview", "2")
    check("a preview", "r0" in done.stdout and "user: Title 1" in done.stdout and
          done.stdout.count("answer") == 2, done.stdout)
    done = windrow(*command, "--no-resume", "-o", "-")
    found = [json.loads(line)["custom_id"] for line in done.stdout.splitlines()]
    check("results to a pipe", sorted(found) == sorted(f"r{i}" for i in range(200)), done.stdout)
    done = windrow(*command, "--no-resume", "-o", "-", "--format", "csv", "--limit", "3")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    check("a table to a pipe", [row["id"] for row in rows] == ["r0", "r1", "r2"], done.stdout)
    check("nothing is kept", sorted(os.listdir()) == before)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([WINDROW, *command, "--no-resume", "-o", "-"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=300, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": os.getcwd()})
    check("a full disk is said", done.returncode == 2 and "No space left" in done.stderr,
          f"{done.returncode}: {done.stderr}")
    done = windrow(*command, "-o", "-", code=2)
    check("a pipe needs --no-resume", "--no-resume" in done.stderr, done.stderr)


def main():
    print(f"seed {SEED}")
    chosen = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="windrow-tables-") as folder:
        os.chdir(folder)
        test_round_trips(chosen)
        test_job()
        test_killed()
        test_embeddings()
        test_wrong_inputs()
        test_some_rows()
        os.chdir("/")
    print(f"{len(FAILED)} failed" if FAILED else "all passed")
    return 1 if FAILED else 0


sys.exit(main())
