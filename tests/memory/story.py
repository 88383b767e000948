"""Facts that a test tells a bank, and what must become of them: one observation of each topic in
each scope, with the last value, whose sources are all facts about it."""

import collections
import json

# The facts behind an observation, in the order in which they were told.
Expected = collections.namedtuple("Expected", "text facts")

# Tags and observation_scopes of the facts; no two of them feed the same scope.
TAG_SETS = (
    [([], None)]
    + [([f"user:{name}"], None) for name in ("ann", "ben", "cleo", "dora", "emil")]
    + [(["team:red", "user:finn"], None), (["team:blue", "user:finn"], None),
       (["team:red"], None), (["ort:köln", "x y"], None)]
    + [(["room:1", "room:2"], "per_tag"), (["day:mon", "day:tue"], "per_tag")])
TOPICS = 5  # of a tag set
VALUES = 4  # of a topic, so that many facts repeat an earlier one


def scopes_of(tags, scopes):
    return [(tag,) for tag in sorted(tags)] if scopes == "per_tag" else [tuple(sorted(tags))]


class Story:
    def __init__(self, random):
        self.random = random
        self.items = []

    def more(self, count):
        """So many facts more, as retain takes them."""
        added = []
        for _ in range(count):
            # Scopes of uneven size.
            at = min(self.random.randrange(len(TAG_SETS)), self.random.randrange(len(TAG_SETS)))
            tags, scopes = TAG_SETS[at]
            topic = self.random.randrange(TOPICS)
            item = {"content": f"topic{at}x{topic}: value{self.random.randrange(VALUES)}",
                    "tags": tags}
            if scopes:
                item["observation_scopes"] = scopes
            added.append(item)
        self.items += added
        return added

    def expected(self):
        """Expected by (scope, topic)."""
        found = {}
        for item in self.items:
            for scope in scopes_of(item["tags"], item.get("observation_scopes")):
                key = scope, item["content"].split(":")[0]
                before = found[key].facts if key in found else []
                found[key] = Expected(item["content"], before + [item["content"]])
        return found

    def passes(self):
        """How often a fact is consolidated in a scope."""
        return sum(len(scopes_of(item["tags"], item.get("observation_scopes")))
                   for item in self.items)


def write_lines(path, items):
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items),
                    encoding="utf-8")
    return path
