"""screening: does a candidate fit a job? The job comes first, so rows of one job share a prefix.

The answer follows from what is written: "years" is the sum over the positions, "missing" the
required skills that the profile does not name, in the job's order, and "fit" a rule over the two,
which the system prompt states.
"""

import random
from dataclasses import dataclass

from .example import Example, compact, make
from .skills import DOMAINS, SKILLS
from .wording import between, chance, listed, pick, upper_first, years
from .words import Words

# In the order written: the verdict follows from what already stands in the answer.
FIELDS = ("years", "missing", "fit")

SYSTEM = (
    f"You screen candidates for a job. Answer with JSON only: {', '.join(FIELDS)}. "
    "years: the sum of the years of all positions. "
    "missing: required skills that the profile does not name, in the job's order. "
    "fit: strong if nothing is missing and the years are enough; possible if one skill is missing "
    "and the years are enough, or nothing is missing and the years are 1 or 2 short; "
    "weak otherwise."
)
FITS = ("strong", "possible", "weak")
MOST_YEARS = 30
MOST_SKILLS = 7


@dataclass(frozen=True)
class Job:
    title: str
    domain: str
    required: list[str]
    least_years: int
    text: str


_JOBS = (
    "Job: {title}. Required: {skills}. Experience: at least {years}.",
    "Job: {title}. At least {years} of experience. Required skills: {skills}.",
    "Position: {title}\nMust have: {skills}\nMinimum: {years}",
    "We look for a {title} with {years} or more of work and these skills: {skills}.",
    "Open role: {title}. Needed: {skills}. Minimum experience {years}.",
    "{title_up} wanted. Skills: {skills}. Years: {least} or more.",
    "Vacancy: {title}. Requires {skills_and} and {years} of work.",
    "Role: {title}; minimum {years}; skills: {skills}.",
)

_INTROS = (
    "{name} applies.", "Candidate: {name}.", "Name: {name}.", "Profile of {name}.",
    "{name}, from {place}.", "{name} lives in {place}.", "Applicant {name}.", "My name is {name}.",
    "This is {name} from {place}.", "{name} wrote to us from {place}.", "CV of {name}, {place}.",
    "Application by {name}.",
)
_POSITIONS = (
    "{y} as {role} at {company}", "{y} at {company}", "{y} with {company}",
    "{y} at {company} as {role}", "{y} for {company}", "{y} in the {place} office of {company}",
    "{y} as {role} in {place}", "{y} as {role} for {company}",
)
_POSITION_LISTS = (
    "Past work: {}.", "Experience: {}.", "Worked {}.", "Has worked {}.", "Career: {}.",
    "Positions: {}.", "So far: {}.", "The record shows {}.", "Employment: {}.", "Spent {}.",
    "Before this, {}.", "Background: {}.",
)
_JOINS = (", then ", ", ", " and ", "; ", " and then ", ", before that ", ", later ", " plus ",
          ", after that ")
_ROWS = ("{company}: {y}", "{role}, {company}, {y}", "{company} ({y})", "{role} at {company} - {y}")
_SKILL_LISTS = (
    "Skills: {}.", "Knows {}.", "Good at {}.", "Brings {}.", "Works with {}.", "Trained in {}.",
    "Strong points: {}.", "Experienced in {}.", "Has learned {}.", "Can do {}.", "Skilled in {}.",
    "Daily work: {}.", "Also lists {}.", "Confident with {}.", "Names {}.", "Certificates: {}.",
)
_MORE_SKILLS = ("Also {}.", "Further: {}.", "In addition {}.", "Also knows {}.", "Some {} too.",
                "Recently {}.", "Uses {} as well.", "On top: {}.")
_FILLERS = (
    "Likes hiking.", "Can start next month.", "Plays chess.", "Speaks two languages.",
    "Sings in a choir.", "Wants to move to {place}.", "Has a driving licence.",
    "Looks for a new challenge.", "Enjoys teamwork.", "References on request.",
    "Open to part-time work.", "Grew up in {place}.", "Studied in {place}.",
    "Friendly and punctual.", "Keeps two dogs.", "Reads a lot.", "Happy to travel.",
    "Runs marathons.", "Volunteers at weekends.", "Prefers mornings.",
    "Colleagues praise the calm manner.", "Available at once.", "Would like a permanent contract.",
    "Married, with children.", "Loves music.",
)

def make_job(rng: random.Random) -> Job:
    domain = pick(rng, list(DOMAINS))
    titles, skills = DOMAINS[domain]
    title, required = pick(rng, titles), rng.sample(skills, between(rng, 2, 5))
    least = between(rng, 1, 10)
    text = pick(rng, _JOBS).format(
        title=title, title_up=upper_first(title), years=years(least), least=least,
        skills=", ".join(required), skills_and=listed(required, ", "))
    return Job(title, domain, required, least, text)


def _shortcomings(rng: random.Random, job: Job) -> tuple[int, int]:
    """How many skills are missing and how many years: each kind of fit is a third of the rows."""
    fit = pick(rng, FITS)
    count, least = len(job.required), job.least_years
    years_can_lack = least - 1  # every candidate has at least one year
    if fit == "strong":
        return 0, 0
    if fit == "possible":
        if years_can_lack and chance(rng, 0.5):
            return 0, between(rng, 1, min(2, years_can_lack))
        return 1, 0
    kind = rng.random()
    if years_can_lack >= 3 and kind < 0.3:
        return 0, between(rng, 3, years_can_lack)
    if years_can_lack and kind < 0.6:
        return between(rng, 1, count), between(rng, 1, years_can_lack)
    return between(rng, 2, count), 0


def judge(job_skills: list[str], least: int, held: set[str], total: int) -> tuple[str, list[str]]:
    missing = [skill for skill in job_skills if skill not in held]
    short = max(0, least - total)
    if not missing and not short:
        return "strong", missing
    if (len(missing) == 1 and not short) or (not missing and short <= 2):
        return "possible", missing
    return "weak", missing


def _parts(rng: random.Random, total: int) -> list[int]:
    """The years of one to three positions."""
    count = min(between(rng, 1, 3), total)
    if count == 1:
        return [total]
    cuts = sorted(rng.sample(range(1, total), count - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, total])]


def _positions(rng: random.Random, words: Words, job: Job, parts: list[int]) -> str:
    titles = DOMAINS[job.domain if chance(rng, 0.6) else pick(rng, list(DOMAINS))][0]

    def fill(pattern: str, part: int) -> str:
        return pattern.format(y=years(part), role=pick(rng, titles), company=words.company(rng),
                              place=words.place(rng) if "{place}" in pattern else "")

    if chance(rng, 0.2):
        row = pick(rng, _ROWS)
        return "\n" + "".join(f"- {fill(row, part)}\n" for part in parts)
    join = pick(rng, _JOINS)
    return pick(rng, _POSITION_LISTS).format(
        join.join(fill(pick(rng, _POSITIONS), part) for part in parts))


def _skills(rng: random.Random, held: list[str]) -> list[str]:
    """One or two sentences."""
    last = " and " if chance(rng, 0.7) else ", "
    if len(held) > 2 and chance(rng, 0.4):
        cut = between(rng, 1, len(held) - 1)
        return [pick(rng, _SKILL_LISTS).format(listed(held[:cut], last)),
                pick(rng, _MORE_SKILLS).format(listed(held[cut:], last))]
    return [pick(rng, _SKILL_LISTS).format(listed(held, last))]


def _others(rng: random.Random, job: Job, count: int) -> list[str]:
    """Skills that the job does not ask for, half of them of the same line of work."""
    others: list[str] = []
    while len(others) < count:
        skill = pick(rng, DOMAINS[job.domain][1] if chance(rng, 0.5) else SKILLS)
        if skill not in job.required and skill not in others:
            others.append(skill)
    return others


def _thought(job: Job, parts: list[int], held: list[str]) -> str:
    """The years, two at a time, and each skill in turn."""
    total, sums = parts[0], []
    for part in parts[1:]:
        sums.append(f"{total}+{part}={total + part}")
        total += part
    skills = ", ".join(f"{skill} {'yes' if skill in held else 'no'}" for skill in job.required)
    return f"Years: {', '.join(sums) or total} of {job.least_years}. {skills}."


def make_candidate(rng: random.Random, words: Words, job: Job) -> Example:
    lacking_skills, lacking_years = _shortcomings(rng, job)
    lacking = set(rng.sample(job.required, lacking_skills))
    held = [skill for skill in job.required if skill not in lacking]
    room = MOST_SKILLS - len(held)
    held += _others(rng, job, between(rng, max(0, 2 - len(held)), min(3, room)))
    rng.shuffle(held)
    if lacking_years:
        total = job.least_years - lacking_years
    else:
        total = between(rng, job.least_years, min(MOST_YEARS, job.least_years + 10))

    parts = _parts(rng, total)
    middle = [[_positions(rng, words, job, parts)], _skills(rng, held)]
    if chance(rng, 0.4):
        middle.reverse()
    sentences = [pick(rng, _INTROS).format(name=words.person(rng), place=words.place(rng)),
                 *middle[0], *middle[1]]
    for _ in range(between(rng, 0, 2)):
        sentences.insert(between(rng, 1, len(sentences)),
                         pick(rng, _FILLERS).format(place=words.place(rng)))
    profile = " ".join(sentences).replace(" \n", "\n").replace("\n ", "\n").rstrip("\n")

    fit, missing = judge(job.required, job.least_years, set(held), total)
    values = {"fit": fit, "years": total, "missing": missing}
    return make("screening", SYSTEM, f"{job.text}\n\n{profile}",
                compact({field: values[field] for field in FIELDS}), _thought(job, parts, held))


def screening(rng: random.Random, words: Words) -> Example:
    return make_candidate(rng, words, make_job(rng))
