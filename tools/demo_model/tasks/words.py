"""Names of persons, companies, places and pets, and which half of the world they belong to.

A name is of the split "train" or "test" by a hash of its text alone, whatever kind it is used as.
So the model is tested on names it never saw, and no two lists have to be kept apart.
"""

import functools
import random
import zlib

SPLITS = ("train", "test")
_TEST_OF = 5  # every fifth name, about
_POOL = 9000  # made names of a kind, both splits together

_FIRST = """
Ada Adam Agnes Ahmed Aisha Akira Alan Albert Alice Alina Amara Amir Ana Andre Anita Anton Arjun
Astrid Barbara Beatriz Ben Bianca Boris Bruno Carla Carlos Carmen Cecilia Chen Chloe Clara Claude
Conrad Dalia Daniel Daria David Diana Diego Edith Edwin Elena Eli Elsa Emil Emma Erik Esther Eva
Farid Fatima Felix Fiona Frank Frida Gabriel Gemma George Gloria Grace Greta Gustav Hana Hannah
Harald Hassan Helen Henry Hugo Ibrahim Ida Igor Ines Ingrid Irene Isaac Ivan Jack Jana Jasmine Jean
Joanna Johan Jonas Jorge Julia Karim Karin Katya Keiko Kenji Kofi Lara Laura Leila Leo Lena Liam
Lidia Linda Louis Lucia Lukas Magda Malik Marco Maria Martin Maya Mei Mia Milan Mina Miriam Mohamed
Monica Nadia Nathan Nikolai Nina Noah Nora Olga Oliver Omar Oscar Otto Pablo Paula Pedro Peter Petra
Philip Priya Quentin Rafael Ravi Rebecca Rita Robert Rosa Ruth Salma Samir Samuel Sandra Sara Selma
Simon Sofia Stefan Sven Tamara Tariq Tessa Theo Thomas Tomas Ursula Valentina Vera Victor Viola
Walter Wanda Wei Yara Yusuf Zoe
""".split()

_LAST = """
Abbott Acosta Adler Aguilar Allen Almeida Andersen Aoki Baker Banerjee Barros Bauer Becker Bennett
Berg Bianchi Blake Bogdan Brandt Bruun Campbell Cardoso Castillo Chavez Clark Conti Costa Cruz Dahl
Davies Delgado Diaz Dietrich Dubois Eriksen Evans Farkas Fernandez Fischer Flores Fontaine Foster
Fournier Garcia Gomez Gonzalez Graham Greco Gruber Gupta Haddad Hansen Harris Hartmann Hayashi
Herrera Hoffman Holm Horvat Hughes Ito Ivanov Jansen Jensen Jimenez Johnson Kapoor Kaya Keller Khan
Kim Klein Koch Kovacs Kowalski Kumar Laine Lambert Larsen Lehmann Lindgren Lopez Lund Maier Marino
Martins Mehta Meyer Mohr Moreau Moreno Morris Mueller Murphy Nagy Nakamura Nguyen Nilsson Novak
Okafor Olsen Ortiz Osman Park Patel Pereira Petrov Popescu Price Quinn Rahman Ramos Reyes Ricci
Rivera Romano Rossi Roux Sato Schmidt Schneider Shah Silva Singh Smith Sokolov Soto Suzuki Takahashi
Tanaka Taylor Torres Tran Turner Vargas Vasquez Vega Virtanen Vogel Wagner Walker Weber Weiss Wood
Wright Yamamoto Yilmaz Young Zhang Ziegler
""".split()

_PLACE = """
Aberdeen Aalborg Antwerp Arles Bergen Bilbao Bologna Bordeaux Bremen Brno Bruges Cadiz Cardiff
Cordoba Cork Dakar Darwin Delft Derby Dover Dresden Dublin Durban Essen Exeter Galway Geneva Genoa
Ghent Granada Graz Haifa Hobart Izmir Jena Kassel Kiel Kobe Krakow Kyoto Leeds Leiden Lille Lima
Linz Lisbon Lugano Lund Lyon Madrid Malmo Milan Nagoya Nantes Naples Odense Osaka Oslo Ostrava Oulu
Oxford Padua Parma Perth Pisa Plovdiv Porto Poznan Prague Quito Riga Rouen Seville Siena Split
Tampere Tartu Trento Trieste Tromso Turin Turku Utrecht Valencia Varna Verona Vienna Vigo Vilnius
York Zagreb Zurich
""".split()

_ONSETS = ("b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh sk sl st t th tr v w z").split()
_VOWELS = ("a e i o u ai ea ei ia io oa ou").split()
_MIDDLES = ("b d g l ll m n nd nn r rr s ss t th v z lm rk rs nt lv").split()
_FIRST_ENDS = "a e i o an en in on ara ela ika ina is or us ya".split()
_LAST_ENDS = "ek en er ic in is man ov sen ski son ström ard ell ing ott ay ez ini ara".split()
_PLACE_ENDS = ("burg by dal field ford ham holm mouth port stad ton vik wick bridge sk ava ino "
               "mar").split()
_COMPANY_ENDS = "ane ax ent era ex ia ica ion ivo ix on ora os um yx ware tec line soft".split()
_COMPANY_TAILS = ("", "", "", "", " Group", " Systems", " Partners", " Works", " Labs", " Services")
_PET_ENDS = "bo by chi fy ky ko lo mo nie py to xie zy".split()


def split_of(text: str) -> str:
    return "test" if zlib.crc32(text.encode()) % _TEST_OF == 0 else "train"


def _made(kind: str, ends: list[str], with_middle: bool = True) -> set[str]:
    rng = random.Random(f"names/{kind}")
    names: set[str] = set()
    wanted = _POOL if with_middle else _POOL // 3
    while len(names) < wanted:
        name = rng.choice(_ONSETS) + rng.choice(_VOWELS)
        if with_middle:
            name += rng.choice(_MIDDLES)
        elif rng.random() < 0.7:
            name += rng.choice("lmnrst")
        names.add((name + rng.choice(ends)).capitalize())
    return names


@functools.lru_cache(maxsize=None)
def _all_names() -> dict[str, list[str]]:
    """Both splits, in a fixed order."""
    pools = {
        "first": _made("first", _FIRST_ENDS) | set(_FIRST),
        "last": _made("last", _LAST_ENDS) | set(_LAST),
        "place": _made("place", _PLACE_ENDS) | set(_PLACE),
        "company": _made("company", _COMPANY_ENDS),
        "pet": _made("pet", _PET_ENDS, with_middle=False),
    }
    return {kind: sorted(names) for kind, names in pools.items()}


# Real-looking names are few beside the made ones, so they are drawn more often than their share.
_REAL = {"first": _FIRST, "last": _LAST, "place": _PLACE}
_REAL_SHARE = 0.35


class Words:
    """Draws names of one split; the caller's generator alone decides which."""

    def __init__(self, split: str):
        if split not in SPLITS:
            raise ValueError(f"no such split: {split!r}; there are {', '.join(SPLITS)}")
        self.split = split
        self.names = {kind: [name for name in names if split_of(name) == split]
                      for kind, names in _all_names().items()}
        self._real = {kind: [name for name in names if split_of(name) == split]
                      for kind, names in _REAL.items()}

    def _draw(self, kind: str, rng: random.Random) -> str:
        real = self._real.get(kind)
        names = real if real and rng.random() < _REAL_SHARE else self.names[kind]
        return names[int(rng.random() * len(names))]

    def first(self, rng: random.Random) -> str:
        return self._draw("first", rng)

    def last(self, rng: random.Random) -> str:
        return self._draw("last", rng)

    def person(self, rng: random.Random) -> str:
        return f"{self._draw('first', rng)} {self._draw('last', rng)}"

    def place(self, rng: random.Random) -> str:
        return self._draw("place", rng)

    def company(self, rng: random.Random) -> str:
        return self._draw("company", rng) + _COMPANY_TAILS[int(rng.random() * len(_COMPANY_TAILS))]

    def pet(self, rng: random.Random) -> str:
        return self._draw("pet", rng)

    def distinct(self, kind: str, count: int, rng: random.Random) -> list[str]:
        """So many different names of a kind: "person", "place", "company", "pet", ..."""
        draw = getattr(self, kind)
        names: list[str] = []
        while len(names) < count:
            name = draw(rng)
            if name not in names:
                names.append(name)
        return names


@functools.lru_cache(maxsize=None)
def words_of(split: str) -> Words:
    return Words(split)
