"""What every task promises: python3 -m unittest tasks.tasks_test, in tools/demo_model.

Answers are worked out a second time, from the text of the prompt alone and by other means.
"""

import datetime
import functools
import itertools
import json
import re
import tempfile
import unittest
import zlib
from pathlib import Path

from . import PROBES, TASKS, batch, example, facts, render_system
from .attributes import ATTRIBUTES
from .skills import DOMAINS, SKILLS
from .tools import TOOLS
from .words import SPLITS, split_of, words_of

ROWS = 300
NUMBERS = {key for tool in TOOLS for key, kind in tool.kinds.items()
           if kind in ("few", "level", "amount", "degrees")}
VALUE_OF = {"state": "on|off"}
NUMBER_OF_EXAMPLES = {
    "screening": 0x27a1671a,
    "extraction": 0x795b3251,
    "consolidation": 0xee795c3c,
    "sort": 0x8d0ff751,
    "merge": 0x10558343,
    "sum": 0xf7bc59ab,
    "sort32": 0xcf3145d1,
    "tool_calling": 0xa94deb9e,
    "merge8": 0x4d415331,
    "merge16": 0x71320215,
    "merge32": 0xa6e2e4f5,
    "sum2": 0xa8aab3c2,
    "sum3": 0x5b317c4b,
    "sort64": 0xa683aabe,
}


def rows(task, split="train"):
    return [example(task, split, seed) for seed in range(ROWS)]


def user_text(row):
    return row.messages[1]["content"]


class All(unittest.TestCase):
    def test_the_same_seed_gives_the_same_example(self):
        for task in TASKS:
            for seed in range(20):
                self.assertEqual(example(task, "test", seed), example(task, "test", seed), task)

    def test_other_seeds_give_others(self):
        for task in TASKS:
            self.assertGreater(len({user_text(row) for row in rows(task)}), 0.95 * ROWS, task)

    def test_no_request_is_in_both_splits(self):
        for task in TASKS:
            train, test = ({user_text(row) for row in rows(task, split)} for split in SPLITS)
            self.assertFalse(train & test, task)
        # few or nameless requests
        for task in ("sort", "merge", "sum", "sort32", "tool_calling", *PROBES):
            for split in SPLITS:
                self.assertEqual({split_of(user_text(row)) for row in rows(task, split)}, {split})

    def test_examples_have_not_moved(self):
        """On any machine: what a model was tested on must stay what the seed gives. A change of a
        task changes its number, and the shipped model's accuracy has to be measured again."""
        for task, number in NUMBER_OF_EXAMPLES.items():
            found = 0
            for row in (example(task, split, seed) for split in SPLITS for seed in range(50)):
                text = repr((row.messages, row.answer, row.thought, row.tools))
                found = zlib.crc32(text.encode(), found)
            self.assertEqual(f"0x{found:08x}", f"0x{number:08x}", task)

    def test_candidates_of_the_repository_are_these(self):
        examples = Path(__file__).resolve().parents[3] / "examples"
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("candidates.jsonl", "candidates.key.jsonl")]
            batch.write(batch.candidates(), *files)
            for file in files:
                self.assertEqual(file.read_bytes(), (examples / file.name).read_bytes(),
                                 "python3 -m tasks candidates writes them")

    def test_names_of_the_splits_are_disjoint_and_thousands(self):
        train, test = words_of("train"), words_of("test")
        for kind, names in train.names.items():
            self.assertFalse(set(names) & set(test.names[kind]), kind)
            self.assertGreater(len(names), 2000, kind)
            self.assertGreater(len(test.names[kind]), 500, kind)
        everything = [{name for names in words.names.values() for name in names}
                      for words in (train, test)]
        self.assertFalse(everything[0] & everything[1])

    def test_prompts_are_short(self):
        for task in TASKS:
            sizes = [sum(len(turn["content"]) for turn in row.messages) for row in rows(task)]
            self.assertLess(max(sizes), 1200, task)
            self.assertLess(sum(sizes) / len(sizes), 750, task)

    def test_no_placeholder_is_left(self):
        for task in TASKS:
            for row in rows(task):
                self.assertNotRegex(user_text(row) + row.answer, r"\{[a-zA-Z_]*\}", task)
                self.assertNotIn("  ", user_text(row), task)

    def test_answers_fit_the_tokens_of_a_request(self):
        for task in [*TASKS, *PROBES]:
            longest = max(len(row.answer) for row in rows(task))
            self.assertLessEqual(longest / 2, batch.MAX_TOKENS[task], task)


class Digits(unittest.TestCase):
    def test_sorted_by_counting(self):
        for task, size in (("sort", 8), ("sort32", 32), ("sort64", 64)):
            for row in rows(task):
                given = re.findall(r"\d", user_text(row))
                self.assertEqual(len(given), size)
                self.assertEqual(row.answer, " ".join(
                    digit for digit in "0123456789" for _ in range(given.count(digit))))

    def merged_sizes(self, row):
        """How long the lists are that the prompt has; each is sorted, and the answer has all."""
        text = re.sub(r"[12]\)", "", user_text(row))
        lists = [item.split() for item in re.findall(r"\d(?: \d)*", text)]
        self.assertTrue(all(item == sorted(item) for item in lists))
        given = sum(lists, [])
        self.assertEqual(row.answer, " ".join(
            digit for digit in "0123456789" for _ in range(given.count(digit))))
        return [len(item) for item in lists]

    def test_merged_by_counting(self):
        pairs = [self.merged_sizes(row) for row in rows("merge")]
        self.assertEqual({size for pair in pairs for size in pair}, set(range(1, 33)))
        wanted = sum(pair in ([8, 8], [16, 16], [32, 32]) for pair in pairs)
        self.assertAlmostEqual(wanted / ROWS, 0.5, delta=0.1)

    def test_merges_of_one_size(self):
        for size in (8, 16, 32):
            for row in rows(f"merge{size}"):
                self.assertEqual(self.merged_sizes(row), [size, size])

    def summands(self, row):
        """The numbers that the prompt has; the answer has their running sums."""
        numbers = [int(number) for number in re.findall(r"\d+", user_text(row))]
        steps = list(itertools.accumulate(numbers))[1:]
        self.assertEqual(json.loads(row.answer), {"steps": steps[:-1], "sum": steps[-1]})
        return numbers

    def test_sums(self):
        for task, limit in (("sum", 999), ("sum2", 99), ("sum3", 999)):
            largest = max(max(self.summands(row)) for row in rows(task))
            self.assertTrue(0.95 * limit < largest <= limit, task)


class Screening(unittest.TestCase):
    def test_no_skill_hides_in_another_word_of_ours(self):
        self.assertGreaterEqual(len(SKILLS), 150)
        self.assertEqual(len(SKILLS), len(set(SKILLS)))
        titles = [title for titles, _ in DOMAINS.values() for title in titles]
        for skill in SKILLS:
            for other in SKILLS + titles:
                self.assertFalse(skill != other and skill in other, f"{skill} in {other}")

    def judged(self, text):
        """By the system prompt's rules, from the text."""
        job, profile = text.split("\n\n")
        least = int(re.search(r"\d+", job).group())
        required = sorted((skill for skill in SKILLS if skill in job), key=job.index)
        missing = [skill for skill in required if skill not in profile]
        total = sum(int(number) for number in re.findall(r"(\d+) years?\b", profile))
        if total >= least:
            fit = ["strong", "possible"][len(missing)] if len(missing) < 2 else "weak"
        else:
            fit = "possible" if not missing and total + 2 >= least else "weak"
        return {"fit": fit, "years": total, "missing": missing}

    def test_judged_again(self):
        for row in rows("screening") + [row for _, row in batch.candidates()]:
            self.assertEqual(json.loads(row.answer), self.judged(user_text(row)), user_text(row))

    def test_thoughts_lead_to_the_answer(self):
        for row in rows("screening"):
            years, skills = row.thought.removesuffix(".").split(". ")
            total = 0
            for one, other, their_sum in re.findall(r"(\d+)\+(\d+)=(\d+)", years):
                self.assertEqual(int(one) + int(other), int(their_sum))
                self.assertIn(total, (0, int(one)))
                total = int(their_sum)
            total = total or int(re.search(r"\d+", years).group())
            missing = [skill.removesuffix(" no") for skill in skills.split(", ")
                       if skill.endswith(" no")]
            answer = json.loads(row.answer)
            self.assertEqual((total, missing), (answer["years"], answer["missing"]), row.thought)

    def test_each_fit_is_about_a_third(self):
        fits = [json.loads(row.answer)["fit"] for row in rows("screening")]
        for fit in ("strong", "possible", "weak"):
            self.assertGreater(fits.count(fit), ROWS / 4)

    def test_candidates_of_twenty_jobs(self):
        jobs, ids = {}, set()
        for custom_id, row in batch.candidates():
            ids.add(custom_id)
            job = user_text(row).split("\n\n")[0]
            jobs[job] = jobs.get(job, 0) + 1
        self.assertEqual(len(ids), 2000)
        self.assertEqual(list(jobs.values()), [100] * 20)


class Extraction(unittest.TestCase):
    DAY = r"\d{4}-\d\d-\d\d"
    BACK = (("the day before yesterday", 2), ("yesterday", 1), ("today", 0), ("this morning", 0),
            ("this afternoon", 0), ("two days ago", 2), ("2 days ago", 2), ("three days ago", 3),
            ("3 days ago", 3))

    def time_in(self, sentence, written):
        if date := re.search(self.DAY, sentence):
            return date.group()
        for phrase, days in self.BACK:
            if phrase in sentence.lower():
                return str(datetime.date.fromisoformat(written) - datetime.timedelta(days))
        return ""

    def test_everything_is_copied_or_counted_back(self):
        for row in rows("extraction"):
            header, written, body = re.split(f"({self.DAY})", user_text(row), maxsplit=1)
            sentences = re.split(r"(?<=[.!?]) |\n", body)
            before = 0
            for fact in json.loads(row.answer)["facts"]:
                place, = [number for number, sentence in enumerate(sentences)
                          if fact["fact"] in sentence]
                self.assertGreaterEqual(place, before)
                around = sentences[place].replace(fact["fact"], "", 1)
                self.assertEqual(fact["time"], self.time_in(around, written), body)
                if fact["entity"] not in around:
                    self.assertRegex(around, r"\b([Ss]he|[Hh]e)\b")
                    self.assertIn(fact["entity"], sentences[before])
                    sentences[place] += fact["entity"]  # for the next "she"
                before = place

    def test_one_to_three_facts_with_and_without_time(self):
        facts = [json.loads(row.answer)["facts"] for row in rows("extraction")]
        self.assertEqual({len(some) for some in facts}, {1, 2, 3})
        times = [fact["time"] != "" for some in facts for fact in some]
        self.assertGreater(sum(times), len(times) / 2)
        self.assertLess(sum(times), len(times) * 0.9)


@functools.cache
def as_pattern(wording):
    """The pieces beside its values, and what finds it."""
    pattern = re.escape(wording)
    for key in set(re.findall(r"\{(\w+)\}", wording)):
        value = r"\d+" if key in NUMBERS else VALUE_OF.get(key, r"(?:[^.?!:,]|\b:\b)+?")
        pattern = pattern.replace(rf"\{{{key}\}}", rf"(?P<_{key}>{value})")
    return re.split(r"\{\w+\}", wording), re.compile(pattern + r"(?:$|(?=[.?!,]))")


def best_reading(text, readings, possible=lambda tag, values: True):
    """The reading (a tag and a wording) that explains most letters of the text, and its values.

    Said twice or ambiguous is an error: then a prompt has no right answer.
    """
    found = {}
    for tag, wording in readings:
        pieces, pattern = as_pattern(wording)
        match = all(piece in text for piece in pieces) and pattern.search(text)
        if match:
            values = {key[1:]: value for key, value in match.groupdict().items()}
            if possible(tag, values):
                found.setdefault(sum(map(len, pieces)), []).append((tag, values))
    best = found[max(found)]
    if len({str(reading) for reading in best}) != 1:
        raise AssertionError(f"{text!r} may be read as {best}")
    return best[0]


class Consolidation(unittest.TestCase):
    FACTS = [((attribute.name, kind), wording.rstrip(".")) for attribute in ATTRIBUTES
             for kind, wordings in (("said", attribute.statements), ("ended", attribute.ended))
             for wording in wordings]
    KNOWN = [((attribute.name, "said"), attribute.normal.rstrip(".")) for attribute in ATTRIBUTES]

    def read(self, text, readings):
        """(person, attribute), value, kind."""
        (attribute, kind), values = best_reading(text, readings)
        person = re.search(r"\w+ \w+$", values["e"]).group()
        return (person, attribute), values["v"], kind

    def decided(self, text):
        known = {}
        for observation, name in re.findall(r"^(.*) \((O\d)\)$", text, re.M):
            thing, value, _ = self.read(observation, self.KNOWN)
            self.assertNotIn(thing, known)
            known[thing] = name, value
        normal = {attribute.name: attribute.normal for attribute in ATTRIBUTES}
        decided = {"creates": [], "updates": [], "deletes": []}
        done = {}
        for name, fact in re.findall(r"^(F\d): (.*)$", text, re.M):
            thing, value, kind = self.read(fact, self.FACTS)
            if thing in done:
                done[thing].append(name)
                continue
            done[thing] = ids = [name]
            text_now = normal[thing[1]].format(e=thing[0], v=value)
            observation, old = known.get(thing, (None, None))
            if observation is None:
                decided["creates"].append({
                    "text": text_now, "source_fact_ids": ids, "reason": "new"})
            elif kind == "ended":
                self.assertEqual(value, old)
                decided["deletes"].append({"observation_id": observation, "reason": "ended"})
            elif value != old:
                decided["updates"].append({
                    "text": text_now, "observation_id": observation, "source_fact_ids": ids,
                    "reason": "refined" if old in value else "changed"})
        return decided

    def test_decided_again(self):
        for row in rows("consolidation"):
            self.assertEqual(row.answer, json.dumps(
                self.decided(user_text(row)), ensure_ascii=False, separators=(",", ":")),
                user_text(row))

    def test_thoughts_lead_to_the_answer(self):
        for row in rows("consolidation"):
            thought = {}  # what it is about -> what becomes of it, and the facts
            for line in row.thought.splitlines():
                fact, about, what = re.fullmatch(r"(F\d): .* \((\S+)\) (\w+)", line).groups()
                thing = fact if about == "-" else about
                thought.setdefault(thing, (what, []))[1].append(fact)
            answer = json.loads(row.answer)
            acted = {}
            for create in answer["creates"]:
                ids = create["source_fact_ids"]
                acted[ids[0]] = ("new", ids)
            for update in answer["updates"]:
                acted[update["observation_id"]] = (update["reason"], update["source_fact_ids"])
            for delete in answer["deletes"]:
                acted[delete["observation_id"]] = ("ended", None)
            self.assertEqual(acted, {
                thing: (what, None if what == "ended" else ids)
                for thing, (what, ids) in thought.items() if what != "known"}, row.thought)

    def test_every_kind_of_action_and_none(self):
        answers = "".join(row.answer for row in rows("consolidation"))
        for reason in ("new", "changed", "refined", "ended"):
            self.assertGreater(answers.count(f'"reason":"{reason}"'), ROWS / 10)
        self.assertGreater(answers.count('"source_fact_ids":["F1","F2"]'), 5)
        self.assertGreater(answers.count('{"creates":[],"updates":[],"deletes":[]}'), 5)


class ToolCalling(unittest.TestCase):
    def called(self, row):
        text = user_text(row)
        names = {tool["function"]["name"] for tool in row.tools}
        self.assertEqual(len(names), 3)
        readings = []
        for tool in TOOLS:
            if tool.name in names:
                for wording in tool.wordings:
                    bare = wording.rstrip(".?!")
                    readings.append((tool, bare))
                    if bare[0].islower():
                        readings.append((tool, bare[0].upper() + bare[1:]))

        def possible(tool, values):
            properties = tool.offer["function"]["parameters"]["properties"]
            return all(value in properties[key].get("enum", [value])
                       for key, value in values.items())

        return best_reading(text, readings, possible)

    def test_called_again(self):
        for row in rows("tool_calling"):
            tool, values = self.called(row)
            arguments = {key: int(values[key]) if key in NUMBERS else values[key]
                         for key in tool.kinds}
            text = json.dumps({"name": tool.name, "arguments": arguments}, ensure_ascii=False)
            self.assertEqual(row.answer, f"<tool_call>\n{text}\n</tool_call>", user_text(row))

    def test_every_tool_is_called(self):
        names = {json.loads(row.answer.split("\n")[1])["name"] for row in rows("tool_calling")}
        self.assertGreaterEqual(len(TOOLS), 24)
        self.assertGreater(len(names), 0.9 * len(TOOLS))

    def test_tools_are_lines_of_the_system_turn(self):
        tool = next(tool for tool in TOOLS if tool.name == "get_forecast")
        self.assertEqual(render_system("Do.", [tool.offer, tool.offer]),
                         "Do.\n\nTools:\n" + "\n".join(
                             ["get_forecast(city, days): weather of the next days"] * 2))


class Facts(unittest.TestCase):
    def test_attributes_have_many_wordings(self):
        self.assertGreaterEqual(len(ATTRIBUTES), 12)
        for attribute in ATTRIBUTES:
            self.assertGreaterEqual(len(set(attribute.statements)), 6)
            self.assertGreaterEqual(len(set(attribute.questions)), 4)
        for every in ("statements", "questions", "ended"):
            wordings = [wording for attribute in ATTRIBUTES
                        for wording in getattr(attribute, every)]
            self.assertEqual(len(wordings), len(set(wordings)))

    def test_held_out_facts_share_people(self):
        held = facts.held_out()
        self.assertEqual(held, facts.held_out())
        self.assertEqual(f"0x{zlib.crc32(repr(held).encode()):08x}", "0xe7c0c2cc")  # not moved
        self.assertEqual((len(set(held.facts)), len(held.queries)), (1000, 1000))
        self.assertEqual({query.fact for query in held.queries}, set(range(1000)))
        self.assertEqual(len({query.text for query in held.queries}), 1000)
        self.assertFalse({query.text for query in held.queries} & set(held.facts))

    def test_a_query_reads_as_its_fact(self):
        held = facts.held_out()
        statements = [(attribute.name, wording.rstrip(".")) for attribute in ATTRIBUTES
                      for wording in attribute.statements]
        both = statements + [(attribute.name, wording.rstrip("?")) for attribute in ATTRIBUTES
                             for wording in attribute.questions]
        for query in held.queries:
            asked, told = best_reading(query.text, both), best_reading(held.facts[query.fact],
                                                                       statements)
            self.assertEqual((asked[0], asked[1]["e"]), (told[0], told[1]["e"]))


if __name__ == "__main__":
    unittest.main()
