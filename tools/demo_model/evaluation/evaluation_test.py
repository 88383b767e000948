"""The pure parts of the evaluation: python3 -m unittest evaluation.evaluation_test."""

import random
import unittest

from . import answers, recall


class Recall(unittest.TestCase):
    def test_the_nearest_is_by_direction_not_length(self):
        facts = [[0.0, 9.0], [0.1, 0.0], [5.0, 5.0]]
        self.assertEqual(recall.recall(facts, [([2.0, 0.1], 1)]), {1: 1.0, 5: 1.0, 10: 1.0})
        self.assertEqual(recall.recall(facts, [([2.0, 0.1], 2)])[1], 0.0)

    def test_shares_are_of_the_queries(self):
        facts = [[1.0, number / 10] for number in range(20)]
        queries = [([1.0, 0.0], right) for right in (0, 3, 7, 15)]
        self.assertEqual(recall.recall(facts, queries), {1: 0.25, 5: 0.5, 10: 0.75})

    def test_a_model_that_says_nothing_finds_nothing(self):
        for vector in ([1.0, 1.0], [0.0, 0.0]):
            facts = [vector] * 50
            self.assertEqual(recall.recall(facts, [(vector, 0)]), {1: 0.0, 5: 0.0, 10: 0.0})

    def test_like_sorting_all_of_them(self):
        seed = 7
        rng = random.Random(seed)
        facts = [[rng.gauss(0, 1) for _ in range(4)] for _ in range(60)]
        for _ in range(50):
            query, right = [rng.gauss(0, 1) for _ in range(4)], rng.randrange(60)
            units = [recall.unit(fact) for fact in facts]
            order = sorted(range(60), key=lambda i: -sum(a * b for a, b in zip(query, units[i])))
            self.assertEqual(recall.rank(query, units, right), order.index(right), f"seed {seed}")


class Table(unittest.TestCase):
    def test_a_line_for_each_task(self):
        scores = {"screening": {"rows": 500, "right": 481, "percent": 96.2, "missing": 2,
                                "parts": {"fit": 99.0, "years": 97.1}, "target": 95},
                  "sort32": {"rows": 500, "right": 5, "percent": 1.0, "missing": 0, "parts": {},
                             "target": None}}
        self.assertEqual(answers.table(scores), "\n".join([
            "task              rows  accuracy  target",
            "screening          500    96.2 %    95 %   fit 99.0, years 97.1",
            "               2 of them have no answer",
            "sort32             500     1.0 %    none"]))


if __name__ == "__main__":
    unittest.main()
