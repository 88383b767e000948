"""What every task promises: python3 -m unittest tasks.tasks_test, in tools/demo_model.

Answers are worked out a second time from the text of the prompt alone, by other means.
"""

import json
import re
import unittest

from . import TASKS, batch, example
from .skills import DOMAINS, SKILLS
from .words import words_of

ROWS = 300


def rows(task, split="train"):
    return [example(task, split, seed) for seed in range(ROWS)]


def user_text(row):
    return row.messages[1]["content"]


class All(unittest.TestCase):
    def test_the_same_seed_gives_the_same_example(self):
        for task in TASKS:
            for seed in range(20):
                self.assertEqual(example(task, "test", seed), example(task, "test", seed), task)

    def test_other_seeds_and_splits_give_others(self):
        for task in TASKS:
            texts = {user_text(row) for split in ("train", "test") for row in rows(task, split)}
            self.assertGreater(len(texts), 1.98 * ROWS, task)

    def test_examples_have_not_moved(self):
        """On any machine: what a model was trained on must stay what the seed gives."""
        self.assertEqual(example("sort", "train", 0).answer, "0 1 3 3 4 5 5 9")

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
        for task in TASKS:
            longest = max(len(row.answer) for row in rows(task))
            self.assertLessEqual(longest / 2, batch.MAX_TOKENS[task], task)


class Digits(unittest.TestCase):
    def test_sorted_by_counting(self):
        for task, size in (("sort", 8), ("sort32", 32)):
            for row in rows(task):
                given = re.findall(r"\d", user_text(row))
                self.assertEqual(len(given), size)
                self.assertEqual(row.answer, " ".join(
                    digit for digit in "0123456789" for _ in range(given.count(digit))))

    def test_merged_by_counting(self):
        sizes = set()
        for row in rows("merge"):
            text = re.sub(r"[12]\)", "", user_text(row))
            lists = re.findall(r"\d(?: \d)*", text)
            self.assertTrue(all(item == " ".join(sorted(item.split())) for item in lists))
            given = " ".join(lists).split()
            sizes.update(len(item.split()) for item in lists)
            self.assertEqual(row.answer, " ".join(
                digit for digit in "0123456789" for _ in range(given.count(digit))))
        self.assertEqual(sizes, set(range(1, 17)))

    def test_sums(self):
        for row in rows("sum"):
            numbers = [int(number) for number in re.findall(r"\d+", user_text(row))]
            total, steps = numbers[0], []
            for number in numbers[1:]:
                total += number
                steps.append(total)
            self.assertEqual(json.loads(row.answer), {"steps": steps[:-1], "sum": steps[-1]})


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
    BACK = {"today": 0, "this": 0, "earlier": 0, "yesterday": 1, "day before": 2, "two": 2,
            "2 days": 2, "three": 3, "3 days": 3}

    def test_everything_is_copied_or_counted_back(self):
        for row in rows("extraction"):
            text = user_text(row)
            written = re.search(r"\d{4}-\d\d-\d\d", text).group()
            for fact in json.loads(row.answer)["facts"]:
                self.assertIn(fact["entity"], text)
                self.assertIn(fact["fact"], text)
                if not fact["time"] or fact["time"] in text.replace(written, "", 1):
                    continue
                self.assertEqual(fact["time"][:8], written[:8])
                back = int(written[8:]) - int(fact["time"][8:])
                self.assertTrue(any(word in text.lower() for word, days in self.BACK.items()
                                    if days == back), text)

    def test_the_order_is_that_of_the_message(self):
        for row in rows("extraction"):
            facts = json.loads(row.answer)["facts"]
            places = [user_text(row).index(fact["fact"]) for fact in facts]
            self.assertEqual(places, sorted(places))

    def test_one_to_three_facts_with_and_without_time(self):
        facts = [json.loads(row.answer)["facts"] for row in rows("extraction")]
        self.assertEqual({len(some) for some in facts}, {1, 2, 3})
        times = [fact["time"] != "" for some in facts for fact in some]
        self.assertGreater(sum(times), len(times) / 2)
        self.assertLess(sum(times), len(times) * 0.9)


if __name__ == "__main__":
    unittest.main()
