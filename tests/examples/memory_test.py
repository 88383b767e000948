"""examples/memory: its files are those that its make.py writes, the expected observations follow
from the texts of the facts, and its comparison counts what it says."""

import collections
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/memory"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "tools/demo_model")]

import make  # noqa: E402
from compare import compare  # noqa: E402
from tasks import tasks_test  # noqa: E402
from tasks.attributes import ATTRIBUTES  # noqa: E402
from tasks.words import split_of  # noqa: E402

FACTS_OF_A_PROMPT = 4


def read_facts():
    """Texts by tags, in order."""
    facts = collections.defaultdict(list)
    for line in (EXAMPLE / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        facts[tuple(item["tags"])].append(item["content"])
    return facts


def read_expected():
    return json.loads((EXAMPLE / "expected.json").read_text(encoding="utf-8"))


def read_fact(text):
    """(person, attribute), value, "said" or "ended"."""
    reader = tasks_test.Consolidation()
    return reader.read(text, reader.FACTS)


class Files(unittest.TestCase):
    def test_make_writes_these(self):
        with tempfile.TemporaryDirectory() as folder:
            make.write(Path(folder))
            for name in ("facts.jsonl", "expected.json"):
                self.assertEqual((Path(folder) / name).read_bytes(), (EXAMPLE / name).read_bytes(),
                                 f"examples/memory/make.py writes {name}")

    def test_so_many_facts_of_uneven_tags(self):
        sizes = [len(texts) for texts in read_facts().values()]
        self.assertEqual((len(sizes), sum(sizes)), (40, 400))
        self.assertGreaterEqual(min(sizes), 3)
        self.assertLessEqual(max(sizes), 25)
        self.assertGreater(max(sizes), 5 * min(sizes))

    def test_one_prompt_has_one_fact_about_a_thing(self):
        for tags, texts in read_facts().items():
            things = [read_fact(text)[0] for text in texts]
            for at in range(len(things)):
                some = things[at:at + FACTS_OF_A_PROMPT]
                self.assertEqual(len(set(some)), len(some), (tags, at))

    def test_no_name_was_trained_on(self):
        for texts in read_facts().values():
            for text in texts:
                person = read_fact(text)[0][0]
                for name in person.split():
                    self.assertEqual(split_of(name), "test", text)


class Expected(unittest.TestCase):
    @staticmethod
    def worked_out(texts):
        """[(text, facts behind it)], from the texts of the facts alone."""
        known = {}  # (person, attribute) -> value, facts behind it, those with this value
        for text in texts:
            thing, value, kind = read_fact(text)
            old, count, told = known.get(thing, ("", 0, set()))
            if kind == "ended":
                if value != old:
                    raise AssertionError(f"{text!r} ends what was not so: {old!r}")
                del known[thing]
            elif value != old:
                known[thing] = value, count + 1, {text}
            elif text in told:
                known[thing] = value, count + 1, told
        normal = {attribute.name: attribute.normal for attribute in ATTRIBUTES}
        return sorted((normal[attribute].format(e=person, v=value), count)
                      for (person, attribute), (value, count, _) in known.items())

    def test_worked_out_again(self):
        facts = read_facts()
        expected = read_expected()
        self.assertEqual({tuple(one["tags"]) for one in expected}, set(facts))
        for one in expected:
            self.assertEqual([(wanted["text"], wanted["facts"]) for wanted in one["observations"]],
                             self.worked_out(facts[tuple(one["tags"])]), one["tags"])

    def test_what_it_is_about_begins_the_text_of_no_other(self):
        for one in read_expected():
            for wanted in one["observations"]:
                begins = [other["text"] for other in one["observations"]
                          if other["text"].startswith(wanted["about"])]
                self.assertEqual(begins, [wanted["text"]])

    def test_there_is_every_kind_of_fact(self):
        kinds = collections.Counter()
        for texts in read_facts().values():
            known = {}
            for text in texts:
                thing, value, kind = read_fact(text)
                old = known.get(thing)
                if kind == "ended":
                    kinds["ended"] += 1
                elif old is None:
                    kinds["new"] += 1
                elif old == value:
                    kinds["repeated"] += 1
                else:
                    kinds["refined" if old in value else "changed"] += 1
                known[thing] = None if kind == "ended" else value
        for kind in ("new", "changed", "refined", "ended", "repeated"):
            self.assertGreater(kinds[kind], 25, kinds)

    def test_some_people_have_tags_of_two_kinds(self):
        people = {tags: {read_fact(text)[0][0] for text in texts}
                  for tags, texts in read_facts().items()}
        shared = [tags for tags in people if "confidential" in tags
                  and people[tags] & people[tuple(tag for tag in tags if tag != "confidential")]]
        self.assertGreaterEqual(len(shared), 8)


class Compare(unittest.TestCase):
    EXPECTED = [
        {"tags": ["a"], "observations": [
            {"text": "Ann Ek lives in Oslo.", "about": "Ann Ek lives in ", "facts": 2},
            {"text": "Ann Ek has a cat.", "about": "Ann Ek has a ", "facts": 1}]},
        {"tags": ["a", "b"], "observations": [
            {"text": "Ann Ek lives in Rome.", "about": "Ann Ek lives in ", "facts": 1}]}]

    def score(self, *found):
        observations = [{"text": text, "tags": tags.split(), "proof_count": count}
                        for text, tags, count in found]
        score = compare(self.EXPECTED, observations)
        self.assertEqual(score.expected, 3)
        self.assertEqual(score.found, len(found))
        self.assertEqual(score.right + score.wrong + score.missing, score.expected)
        self.assertEqual(score.right + score.wrong + score.extra, score.found)
        kinds = collections.Counter(re.match(r"\w+", line).group() for line in score.differences)
        self.assertEqual((kinds["wrong"], kinds["missing"], kinds["extra"]),
                         (score.wrong, score.missing, score.extra))
        return score

    def test_all_right_in_any_order(self):
        score = self.score(("Ann Ek lives in Rome.", "b a", 1), ("Ann Ek has a cat.", "a", 1),
                           ("Ann Ek lives in Oslo.", "a", 2))
        self.assertEqual((score.right, score.facts_right, score.percent), (3, 3, 100.0))

    def test_nothing_found(self):
        score = self.score()
        self.assertEqual((score.right, score.missing, score.percent), (0, 3, 0.0))

    def test_another_text_about_the_same_is_wrong(self):
        score = self.score(("Ann Ek lives in Rome.", "a b", 1), ("Ann Ek has a cat.", "a", 1),
                           ("Ann Ek lives in Bonn.", "a", 2))
        self.assertEqual((score.right, score.wrong, score.missing, score.extra), (2, 1, 0, 0))

    def test_what_is_right_is_not_taken_for_another_text(self):
        score = self.score(("Ann Ek lives in Bonn.", "a", 1), ("Ann Ek lives in Oslo.", "a", 2),
                           ("Ann Ek has a cat.", "a", 1), ("Ann Ek lives in Rome.", "a b", 1))
        self.assertEqual((score.right, score.wrong, score.extra), (3, 0, 1))
        self.assertEqual(score.percent, 75.0)

    def test_under_other_tags_it_is_missing_and_extra(self):
        score = self.score(("Ann Ek lives in Oslo.", "a", 2), ("Ann Ek has a cat.", "c", 1),
                           ("Ann Ek lives in Rome.", "a b", 1))
        self.assertEqual((score.right, score.missing, score.extra), (2, 1, 1))

    def test_facts_behind_it_are_counted_apart(self):
        score = self.score(("Ann Ek lives in Oslo.", "a", 1), ("Ann Ek has a cat.", "a", 1),
                           ("Ann Ek lives in Rome.", "a b", 3))
        self.assertEqual((score.right, score.facts_right, score.percent), (3, 1, 100.0))

    def test_twice_is_once_too_many(self):
        score = self.score(("Ann Ek lives in Oslo.", "a", 2), ("Ann Ek lives in Oslo.", "a", 2),
                           ("Ann Ek has a cat.", "a", 1), ("Ann Ek lives in Rome.", "a b", 1))
        self.assertEqual((score.right, score.extra), (3, 1))


if __name__ == "__main__":
    unittest.main()
