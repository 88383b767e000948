"""extraction: the facts that a short message states, each with its entity and its day.

A fact's text is the verb phrase as it stands in the message, without "also" and without the time.
The time is the day as YYYY-MM-DD: a date of the message copied, a word like "yesterday" counted
back from the message's own date (never across a month's border), "" where nothing is said.
"""

import random

from .example import Example, compact, make
from .wording import between, chance, pick, upper_first
from .words import Words

SYSTEM = (
    'List the facts of the message as JSON: {"facts":[{"entity":who,"fact":what,"time":day}]}. '
    "fact: the words of the message without the time. "
    'time: YYYY-MM-DD, counted from the date of the message, "" if not said.'
)
FIRST_DAY, LAST_DAY = 4, 28  # of a message: three days earlier is the same month

_RELATIVE = (
    ("today", 0), ("this morning", 0), ("this afternoon", 0), ("yesterday", 1),
    ("yesterday morning", 1), ("yesterday evening", 1), ("two days ago", 2), ("2 days ago", 2),
    ("three days ago", 3),
    ("3 days ago", 3), ("the day before yesterday", 2), ("earlier today", 0),
)

_HEADERS = (
    "Message of {}:\n", "Message from {}: ", "[{}] ", "Date: {}\n", "E-mail, {}:\n", "Note of {}: ",
    "Chat, {}:\n", "{}: ", "Sent {}.\n", "Written on {}:\n", "Date: {}. ", "Received {}:\n",
    "({}) ", "Diary, {}. ",
)

_DONE_BY_PERSON = (
    "moved to {place}", "left {place}", "visited {place}", "flew to {place}",
    "came back from {place}", "bought a house in {place}", "rented a flat in {place}",
    "got lost in {place}", "joined {company}", "quit {company}", "started a job at {company}",
    "signed a contract with {company}", "got an offer from {company}",
    "had an interview at {company}", "founded {company}", "bought shares of {company}",
    "retired from {company}", "adopted a {animal} named {pet}", "found a {colour} {animal}",
    "lost the {animal} {pet}", "bought a {colour} {thing}", "sold the {colour} {thing}",
    "broke a {thing}", "repaired the {thing}", "lost a {colour} {thing}",
    "borrowed a {thing} from {person}", "gave a {thing} to {person}", "met {person}",
    "called {person}", "married {person}", "met {person} in {place}", "had dinner with {person}",
    "wrote a letter to {person}", "sent {person} a {colour} {thing}",
    "passed the exam in {subject}", "began a course in {subject}", "gave a talk about {subject}",
    "won a prize for {subject}", "taught {subject} in {place}", "finished a book about {subject}",
    "learned to {skill}", "started to {skill}", "stopped trying to {skill}", "became {role}",
    "was promoted to {role}", "broke an arm", "caught a cold", "turned {number}", "ran {number} km",
    "paid {number} euros for a {thing}", "planted {number} trees", "baked {number} cakes",
    "won {number} games", "took the train to {place}", "missed the bus to {place}",
)
_DONE_BY_COMPANY = (
    "opened an office in {place}", "closed the office in {place}", "hired {person}",
    "dismissed {person}", "bought {company}", "moved to {place}", "hired {number} people",
    "sold a factory in {place}", "launched a {colour} {thing}", "signed a contract with {company}",
    "promoted {person}", "won a prize for {subject}", "lost {number} customers",
    "raised prices by {number} percent", "named {person} as {role}", "sued {company}",
    "built a school in {place}",
)
_ANIMALS = "cat dog parrot rabbit pony hamster goat turtle puppy kitten goose ferret".split()
_COLOURS = "red green blue black white brown grey yellow silver orange purple golden".split()
_THINGS = ("bicycle car guitar lamp piano tent phone laptop watch kayak sofa camera coat "
           "carpet drum violin boat printer table kettle scooter tractor bag mirror "
           "umbrella").split()
_SUBJECTS = ("chemistry history law physics biology music geology logic statistics botany "
             "economics medicine astronomy pottery photography cooking French Spanish Arabic "
             "Latin").split()
_SKILLS = ("swim,ski,dance,juggle,drive a truck,play the piano,play chess,sing,knit,sail,"
           "bake bread,paint,ride a horse,speak Italian,speak Japanese,code,surf,weld").split(",")
_ROLES = ("team lead,head of sales,chief engineer,director,mayor,captain,head nurse,treasurer,"
          "editor,project lead,head chef,coach,vice president,judge").split(",")

_PLAIN = (
    "{e} {f}.", "{e} {f}!", "I heard that {e} {f}.", "By the way, {e} {f}.",
    "Did you know that {e} {f}?", "News: {e} {f}.", "It seems that {e} {f}.",
    "As you may know, {e} {f}.", "Believe it or not, {e} {f}.", "Someone said that {e} {f}.",
    "Just to tell you: {e} {f}.", "I am glad that {e} {f}.", "And {e} {f}.", "Finally {e} {f}.",
    "Note: {e} {f}.", "To my surprise {e} {f}.",
)
_TIMED = (
    "{e} {f} {t}.", "{e} {f} {t}.", "{T}, {e} {f}.", "{T} {e} {f}.", "I heard that {e} {f} {t}.",
    "By the way, {e} {f} {t}.", "Did you know that {e} {f} {t}?", "News: {e} {f} {t}.",
    "It was {t} that {e} {f}.", "{e} {f} ({t}).", "{e} {f}, that was {t}.",
    "Just to tell you: {e} {f} {t}.", "I think {e} {f} {t}.", "Guess what, {t} {e} {f}!",
    "And {t} {e} {f}.", "So {e} {f} {t}!",
)
_SAME_PLAIN = ("{p} also {f}.", "{p} {f}, too.", "{p} {f} as well.", "Also, {q} {f}.",
               "Besides, {q} {f}.")
_SAME_TIMED = ("{p} also {f} {t}.", "{T}, {q} also {f}.", "{T} {q} {f}.", "{p} {f} {t}, too.",
               "Also, {q} {f} {t}.")
_NOTE_PLAIN = ("- {e}: {f}", "* {e} {f}", "- {e} {f}")
_NOTE_TIMED = ("- {e}: {f} ({t})", "* {e} {f}, {t}", "- {t}: {e} {f}", "- {e} {f} {t}")
_OPENINGS = ("Hi!", "Hello {first},", "Dear {first},", "Hi {first}!", "Good morning!",
             "How are you?", "Thanks for your letter.", "Long time no see!", "Short update.",
             "Hey {first},")
_CLOSINGS = ("Best, {first}", "Please write back.", "See you soon!", "Thanks!", "Talk later.",
             "Bye, {first}", "Any news from you?", "Yours, {first}", "Take care!",
             "Please tell the others.")


def _fact(rng: random.Random, words: Words, patterns: tuple[str, ...], entity: str,
          earlier: list[dict[str, str]]) -> str:
    while True:
        pattern = pick(rng, patterns)
        values = {key[1:-1]: draw(rng, words) for key, draw in _VALUES.items() if key in pattern}
        fact = pattern.format(**values)
        if entity in values.values():  # no person meets themselves
            continue
        if not any(fact in other["fact"] or other["fact"] in fact for other in earlier):
            return fact


_VALUES = {
    "{place}": lambda rng, words: words.place(rng),
    "{company}": lambda rng, words: words.company(rng),
    "{person}": lambda rng, words: words.person(rng) if chance(rng, 0.5) else words.first(rng),
    "{pet}": lambda rng, words: words.pet(rng),
    "{animal}": lambda rng, words: pick(rng, _ANIMALS),
    "{colour}": lambda rng, words: pick(rng, _COLOURS),
    "{thing}": lambda rng, words: pick(rng, _THINGS),
    "{subject}": lambda rng, words: pick(rng, _SUBJECTS),
    "{skill}": lambda rng, words: pick(rng, _SKILLS),
    "{role}": lambda rng, words: pick(rng, _ROLES),
    "{number}": lambda rng, words: str(between(rng, 2, 99)),
}


def _time(rng: random.Random, year: int, month: int, day: int) -> tuple[str, str]:
    """How it is said and what it means; ("", "") for nothing."""
    kind = rng.random()
    if kind < 0.3:
        return "", ""
    if kind < 0.7:
        said, back = pick(rng, _RELATIVE)
        return said, f"{year}-{month:02}-{day - back:02}"
    if chance(rng, 0.5):
        month, day = between(rng, 1, 12), between(rng, 1, 28)
        year -= between(rng, 0, 3)
    else:
        day = between(rng, 1, day)
    date = f"{year}-{month:02}-{day:02}"
    return f"on {date}", date


def extraction(rng: random.Random, words: Words) -> Example:
    year, month = between(rng, 2015, 2034), between(rng, 1, 12)
    day = between(rng, FIRST_DAY, LAST_DAY)
    wanted = between(rng, 1, 3)
    notes = wanted > 1 and chance(rng, 0.15)
    pronoun = pick(rng, ("she", "he"))
    facts: list[dict[str, str]] = []
    sentences: list[str] = []
    last_person = ""  # the person a pronoun would mean
    while len(facts) < wanted:
        said, time = _time(rng, year, month, day)
        values = {"t": said, "T": upper_first(said)}

        if last_person and not notes and chance(rng, 0.4):
            fact = _fact(rng, words, _DONE_BY_PERSON, last_person, facts)
            facts.append({"entity": last_person, "fact": fact, "time": time})
            values.update(p=upper_first(pronoun), q=pronoun, f=fact)
            sentences.append(pick(rng, _SAME_TIMED if said else _SAME_PLAIN).format(**values))
            continue

        if chance(rng, 0.2):
            entities, patterns = [words.company(rng)], _DONE_BY_COMPANY
        else:
            one = words.person if chance(rng, 0.6) else words.first
            entities, patterns = [one(rng)], _DONE_BY_PERSON
            if wanted - len(facts) >= 2 and not notes and chance(rng, 0.15):
                entities.append(one(rng))
        fact = _fact(rng, words, patterns, entities[0], facts)
        facts += [{"entity": entity, "fact": fact, "time": time} for entity in entities]
        last_person = entities[0] if patterns is _DONE_BY_PERSON and len(entities) == 1 else ""
        values.update(e=" and ".join(entities), f=fact)
        timed, plain = (_NOTE_TIMED, _NOTE_PLAIN) if notes else (_TIMED, _PLAIN)
        sentences.append(pick(rng, timed if said else plain).format(**values))

    first = words.first(rng)
    if not notes and chance(rng, 0.25):
        sentences.insert(0, pick(rng, _OPENINGS).format(first=first))
    if not notes and chance(rng, 0.25):
        sentences.append(pick(rng, _CLOSINGS).format(first=first))
    text = pick(rng, _HEADERS).format(f"{year}-{month:02}-{day:02}")
    if notes:
        text = text.rstrip() + "\n"
    return make("extraction", SYSTEM, text + ("\n" if notes else " ").join(sentences),
                compact({"facts": facts}))
