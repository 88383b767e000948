"""What can be said of a person, one value at a time, in how many ways, and in one normal form.

Consolidation and the embeddings share it. "{e}" is the person, "{v}" the value, which is always
written the same, never first in a sentence, so that it can be copied.
"""

import random
from dataclasses import dataclass
from typing import Callable

from .wording import chance, pick
from .words import Words

Draw = Callable[[random.Random, Words], str]


@dataclass(frozen=True)
class Attribute:
    name: str
    normal: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    ended: tuple[str, ...]
    value: Draw
    more_exact: str  # a pattern


_LISTS = {
    "{colour}": "red green blue black white brown grey yellow silver purple".split(),
    "{side}": ["north", "south", "east", "west", "centre", "old part"],
    "{kind}": ["cabin", "hotel", "tent", "farmhouse", "hostel", "camper"],
    "{group}": ["band", "quartet", "choir", "big band", "school", "club", "theatre"],
    "{food}": "rice beans cheese salad potatoes mushrooms onions lemon garlic herbs".split(),
}


def _fill(pattern: str, rng: random.Random, words: Words) -> str:
    for key, values in _LISTS.items():
        if key in pattern:
            pattern = pattern.replace(key, pick(rng, values))
    for kind in ("place", "company", "pet", "last"):
        if "{" + kind + "}" in pattern:
            pattern = pattern.replace("{" + kind + "}", getattr(words, kind)(rng))
    return pattern


def _name(kind: str) -> Draw:
    return lambda rng, words: getattr(words, kind)(rng)


def _one_of(text: str) -> Draw:
    values = text.split(", ")
    return lambda rng, words: pick(rng, values)


ATTRIBUTES = (
    Attribute(
        "home", "{e} lives in {v}.",
        ("{e} lives in {v}.", "{e} has moved to {v}.", "The home of {e} is in {v}.",
         "{e} has a flat in {v}.", "{e} settled in {v}.", "{e} is at home in {v}.",
         "You find the house of {e} in {v}.", "{e} resides in {v}."),
        ("Where does {e} live?", "Where is the home of {e}?", "In which town does {e} live?",
         "What is the place where {e} resides?", "Where has {e} moved to?"),
        ("{e} no longer lives in {v}.", "{e} has moved away from {v}.",
         "{e} gave up the flat in {v}.", "The home of {e} is not in {v} any more."),
        _name("place"), "the {side} of {v}"),
    Attribute(
        "employer", "{e} works at {v}.",
        ("{e} works at {v}.", "{e} has a job at {v}.", "{e} is employed by {v}.",
         "{e} was hired by {v}.", "The employer of {e} is {v}.", "{e} earns a living at {v}.",
         "{e} joined the staff of {v}.", "{e} is on the payroll of {v}."),
        ("Where does {e} work?", "Who is the employer of {e}?", "Which company employs {e}?",
         "At which firm does {e} have a job?", "Who hired {e}?"),
        ("{e} no longer works at {v}.", "{e} quit the job at {v}.", "{e} was dismissed by {v}.",
         "{e} has left the staff of {v}."),
        _name("company"), "{v} in {place}"),
    Attribute(
        "profession", "{e} is a {v}.",
        ("{e} is a {v}.", "{e} works as a {v}.", "By profession {e} is a {v}.",
         "{e} became a {v}.", "{e} makes money as a {v}.", "{e} has trained to be a {v}.",
         "The profession of {e} is that of a {v}."),
        ("What is the profession of {e}?", "What does {e} do for a living?",
         "What kind of work does {e} do?", "As what does {e} work?"),
        ("{e} is no longer a {v}.", "{e} stopped working as a {v}.",
         "{e} has retired as a {v}."),
        _one_of("baker, nurse, teacher, driver, painter, lawyer, surgeon, farmer, pilot, plumber, "
                "tailor, waiter, doctor, butcher, carpenter, chemist, judge, translator, gardener, "
                "mechanic, librarian, photographer, welder, dentist"),
        "{v} in {place}"),
    Attribute(
        "car", "{e} drives a {v}.",
        ("{e} drives a {v}.", "{e} bought a {v}.", "{e} gets around in a {v}.",
         "{e} owns a {v}.", "The car of {e} is a {v}.", "{e} goes to work in a {v}.",
         "In the garage of {e} stands a {v}."),
        ("What does {e} drive?", "What kind of car does {e} have?", "Which vehicle does {e} own?",
         "What stands in the garage of {e}?"),
        ("{e} no longer drives a {v}.", "{e} sold the {v}.", "{e} has scrapped the {v}."),
        _one_of("van, pickup, hatchback, minibus, jeep, coupe, limousine, sports car, "
                "station wagon, convertible, delivery van, minivan, roadster, camper van, "
                "small truck"),
        "{colour} {v}"),
    Attribute(
        "pet", "{e} has a {v}.",
        ("{e} has a {v}.", "{e} keeps a {v}.", "{e} adopted a {v}.", "{e} takes care of a {v}.",
         "The pet of {e} is a {v}.", "{e} shares the house with a {v}.",
         "At home {e} feeds a {v}."),
        ("Which pet does {e} have?", "What animal does {e} keep?", "What is the pet of {e}?",
         "Which animal lives with {e}?"),
        ("{e} no longer has a {v}.", "{e} gave the {v} away.", "{e} had to part with the {v}."),
        _one_of("cat, dog, parrot, rabbit, pony, hamster, goat, turtle, canary, ferret, goldfish, "
                "gecko, snake, donkey, goose, pigeon, mouse, lizard"),
        "{v} named {pet}"),
    Attribute(
        "food", "{e} likes to eat {v}.",
        ("{e} likes to eat {v}.", "The favourite food of {e} is {v}.", "{e} loves {v}.",
         "{e} could eat {v} every day.", "{e} always orders {v}.", "{e} is fond of {v}.",
         "For dinner {e} wants {v}."),
        ("What does {e} like to eat?", "What is the favourite food of {e}?",
         "Which dish does {e} love?", "What does {e} order for dinner?"),
        ("{e} no longer likes to eat {v}.", "{e} is tired of {v}.", "{e} has stopped eating {v}."),
        _one_of("pizza, pancakes, lentil soup, noodles, fish, curry, dumplings, omelettes, pasta, "
                "goulash, waffles, sushi, stew, burritos, ramen, risotto, tofu, lasagne"),
        "{v} with {food}"),
    Attribute(
        "instrument", "{e} plays the {v}.",
        ("{e} plays the {v}.", "{e} makes music on the {v}.", "The instrument of {e} is the {v}.",
         "{e} is good at the {v}.", "{e} practises the {v}.", "{e} took up the {v}.",
         "{e} has learned to play the {v}."),
        ("What instrument does {e} play?", "On what does {e} make music?",
         "Which instrument has {e} learned?", "What does {e} practise?"),
        ("{e} no longer plays the {v}.", "{e} gave up the {v}.", "{e} stopped practising the {v}."),
        _one_of("violin, piano, guitar, flute, trumpet, cello, harp, drums, oboe, saxophone, "
                "clarinet, banjo, accordion, tuba, viola, trombone, mandolin, bassoon"),
        "{v} in a {group}"),
    Attribute(
        "language", "{e} is learning {v}.",
        ("{e} is learning {v}.", "{e} takes lessons in {v}.", "{e} goes to a class in {v}.",
         "{e} wants to speak {v}.", "The language that {e} learns is {v}.",
         "{e} started with {v}.", "{e} has a teacher for {v}."),
        ("Which language is {e} learning?", "What does {e} want to speak?",
         "In which language does {e} take lessons?", "Which language class does {e} go to?"),
        ("{e} is no longer learning {v}.", "{e} has dropped the class in {v}.",
         "{e} ended the lessons in {v}."),
        _one_of("French, Spanish, Arabic, Italian, Japanese, Polish, Swedish, Greek, Turkish, "
                "Hindi, Korean, Dutch, Czech, Finnish, Swahili, Russian, Danish, Hungarian"),
        "{v} for a trip to {place}"),
    Attribute(
        "partner", "{e} is married to {v}.",
        ("{e} is married to {v}.", "{e} married {v}.", "The spouse of {e} is {v}.",
         "{e} wears the ring of {v}.", "{e} had a wedding with {v}.", "{e} tied the knot with {v}.",
         "{e} said yes to {v}."),
        ("Who is {e} married to?", "Who is the spouse of {e}?", "Whom did {e} marry?",
         "With whom did {e} have a wedding?"),
        ("{e} is no longer married to {v}.", "{e} divorced {v}.", "{e} and {v} got a divorce."),
        _name("first"), "{v} {last}"),
    Attribute(
        "sport", "{e} trains for {v}.",
        ("{e} trains for {v}.", "The sport of {e} is {v}.", "{e} competes in {v}.",
         "{e} spends each weekend on {v}.", "{e} got into {v}.", "{e} joined a team for {v}.",
         "{e} keeps fit by {v}."),
        ("What sport does {e} do?", "What does {e} train for?", "In what does {e} compete?",
         "How does {e} keep fit?"),
        ("{e} no longer trains for {v}.", "{e} left the team for {v}.",
         "{e} gave up {v} as a sport."),
        _one_of("rowing, cycling, judo, tennis, fencing, boxing, climbing, hockey, swimming, "
                "rugby, skating, archery, wrestling, diving, handball, karate, surfing, golf"),
        "{v} in {place}"),
    Attribute(
        "allergy", "{e} is allergic to {v}.",
        ("{e} is allergic to {v}.", "{e} gets a rash from {v}.", "{e} must avoid {v}.",
         "The allergy of {e} is to {v}.", "{e} cannot stand {v} for medical reasons.",
         "{e} reacts badly to {v}.", "Doctors warned {e} of {v}."),
        ("What is {e} allergic to?", "What must {e} avoid?", "From what does {e} get a rash?",
         "Which allergy does {e} have?"),
        ("{e} is no longer allergic to {v}.", "{e} got over the allergy to {v}.",
         "{e} does not react to {v} any more."),
        _one_of("pollen, nuts, dust, eggs, wool, milk, shellfish, celery, soy, latex, mustard, "
                "kiwi, wasps, strawberries, mould, feathers, nickel, gluten"),
        "{v} from {place}"),
    Attribute(
        "bank", "{e} has an account at {v}.",
        ("{e} has an account at {v}.", "{e} banks with {v}.", "The bank of {e} is {v}.",
         "{e} keeps the savings at {v}.", "{e} opened an account at {v}.",
         "The money of {e} lies at {v}.", "{e} got a credit card from {v}."),
        ("Where does {e} have an account?", "What is the bank of {e}?",
         "Where does {e} keep the savings?", "With whom does {e} bank?"),
        ("{e} no longer has an account at {v}.", "{e} closed the account at {v}.",
         "{e} took all savings away from {v}."),
        _name("company"), "the {place} branch of {v}"),
    Attribute(
        "project", "{e} leads project {v}.",
        ("{e} leads project {v}.", "{e} is in charge of project {v}.", "{e} took over project {v}.",
         "The head of project {v} is {e}.", "{e} manages project {v}.",
         "{e} was made leader of project {v}.", "{e} runs project {v}."),
        ("Which project does {e} lead?", "What project is {e} in charge of?",
         "Which project does {e} manage?", "What project was given to {e}?"),
        ("{e} no longer leads project {v}.", "{e} handed over project {v}.",
         "{e} was taken off project {v}."),
        _name("pet"), "{v} at {company}"),
    Attribute(
        "study", "{e} studies {v}.",
        ("{e} studies {v}.", "{e} is a student of {v}.", "{e} goes to lectures on {v}.",
         "{e} is working on a degree in {v}.", "The subject of {e} is {v}.", "{e} enrolled in {v}.",
         "{e} will be examined in {v}."),
        ("What does {e} study?", "What is the subject of {e}?",
         "In what is {e} working on a degree?", "Which lectures does {e} go to?"),
        ("{e} no longer studies {v}.", "{e} dropped out of {v}.",
         "{e} broke off the degree in {v}."),
        _one_of("chemistry, history, law, physics, biology, geology, logic, statistics, botany, "
                "economics, medicine, astronomy, philosophy, theology, geography, architecture"),
        "{v} in {place}"),
    Attribute(
        "holiday", "{e} spends the holidays in {v}.",
        ("{e} spends the holidays in {v}.", "{e} goes on holiday in {v}.",
         "Each summer {e} stays in {v}.", "{e} booked a vacation in {v}.",
         "The holidays of {e} take place in {v}.", "{e} relaxes in {v} every July.",
         "{e} takes the family to {v} for the summer."),
        ("Where does {e} spend the holidays?", "Where does {e} go in summer?",
         "Where did {e} book a vacation?", "Where does {e} relax every July?"),
        ("{e} no longer spends the holidays in {v}.", "{e} cancelled the vacation in {v}.",
         "{e} does not go on holiday in {v} any more."),
        _name("place"), "a {kind} near {v}"),
    Attribute(
        "collection", "{e} collects {v}.",
        ("{e} collects {v}.", "{e} has shelves full of {v}.", "{e} hunts for {v} at markets.",
         "The collection of {e} is one of {v}.", "{e} buys {v} as a hobby.",
         "{e} started a collection of {v}.", "{e} has hundreds of {v}."),
        ("What does {e} collect?", "What is in the collection of {e}?",
         "What does {e} hunt for at markets?", "What does {e} have hundreds of?"),
        ("{e} no longer collects {v}.", "{e} sold the collection of {v}.",
         "{e} threw away all the {v}."),
        _one_of("stamps, coins, postcards, teapots, maps, masks, clocks, shells, posters, buttons, "
                "toy trains, comics, medals, keys, vinyl records, dolls, fossils, bottles"),
        "{v} from {place}"),
)


def draw_value(attribute: Attribute, rng: random.Random, words: Words,
               exact: float = 0.25, but_not: str = "") -> str:
    """At times a more exact one; never one that holds or is held by `but_not`."""
    while True:
        value = attribute.value(rng, words)
        if but_not and (value in but_not or but_not in value):
            continue
        return refined(attribute, value, rng, words) if chance(rng, exact) else value


def refined(attribute: Attribute, value: str, rng: random.Random, words: Words) -> str:
    """The same value said more exactly: it has the old text in it."""
    return _fill(attribute.more_exact, rng, words).replace("{v}", value)
