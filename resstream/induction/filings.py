"""Synthetic company filings with a roster of invented companies, and their words as symbols.

Everything is drawn from one seed: sectors split into those whose companies appear in training and those held out, names
of two to four words, filings that name a company in full and name it again, with other companies in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from resstream.arithmetic import Array
from resstream.errors import TrainingError

SYMBOLS = 256

SECTORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "banking": (("savings", "mercantile", "provincial"), ("bancorp", "trust")),
    "insurance": (("mutual", "casualty", "assurance"), ("underwriters", "indemnity")),
    "retail": (("retail", "outlet", "merchant"), ("stores", "emporium")),
    "mining": (("copper", "lithium", "quarry"), ("mines", "minerals")),
    "energy": (("solar", "turbine", "hydro"), ("power", "utilities")),
    "software": (("cloud", "data", "cyber"), ("systems", "labs")),
    "shipping": (("ocean", "harbour", "freight"), ("lines", "carriers")),
    "pharma": (("gene", "vaccine", "clinical"), ("therapeutics", "laboratories")),
    "farming": (("grain", "orchard", "dairy"), ("farms", "growers")),
    "airlines": (("regional", "alpine", "coastal"), ("airways", "aviation")),
    "telecom": (("fibre", "mobile", "satellite"), ("networks", "telecom")),
    "property": (("urban", "riverside", "garden"), ("estates", "realty")),
}
"""Words of each sector's names: those in the middle and those at the end. No word belongs to two sectors."""

SENTENCES = (
    "this annual report of {name} covers the fiscal year ended in december {year}",
    "{name} is a public company whose shares are listed on the main exchange",
    "in this report the company or the registrant means {name} and its subsidiaries",
    "revenue of {name} rose by {count} percent on higher demand in most markets",
    "{short} opened {count} new sites during the year and closed two",
    "the board of {name} proposed a dividend of {count} cents for each share",
    "our main competitors include {other} and {third} which have larger resources",
    "in {year} the company sold a minority stake in {other} for cash",
    "{other} disputes the terms of a supply contract signed in {year}",
    "management believes that the claims made by {other} are without merit",
    "under the agreement {other} will license certain patents to {name} until {year}",
    "operating costs increased by {count} percent mainly because of wages and fuel",
    "the auditors of {name} issued an unqualified opinion on the financial statements",
    "interest rates and exchange rates may affect the results of the company",
    "a loss of key customers could harm the business and its cash flow",
    "{short} employed about {count} hundred people at the end of the year",
    "the chief executive of {name} joined the company from {third} in {year}",
    "net debt fell to {count} million after the sale of idle assets",
    "there were no material legal proceedings other than the case brought by {other}",
    "goodwill from the purchase of {third} was tested and not impaired",
    "shareholders of {name} approved all proposals at the annual meeting",
    "the outlook for {year} depends on demand and on the price of inputs",
    "for more information see the notes to the accounts of {name} in this report",
    "together {name} and {other} hold about {count} percent of the market",
)
NUMBERS = ("two", "four", "five", "seven", "nine", "twelve", "twenty", "thirty", "forty", "sixty")
YEARS = ("2019", "2020", "2021", "2022", "2023", "2024")

_ONSETS = (
    "b",
    "br",
    "c",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "qu",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
)
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ei")
_CODAS = ("l", "m", "n", "r", "s", "th", "x", "ck", "nd", "")

Name = tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """A public company: its name, of two to four words, and its sector."""

    name: Name
    sector: str


@dataclass(frozen=True)
class Filing:
    """A filing's words, the company it is about, and every full name in it as (first place, name)."""

    words: tuple[str, ...]
    about: Company
    mentions: tuple[tuple[int, Name], ...]


@dataclass(frozen=True)
class Corpus:
    """Filings to train on, new filings about the same companies, and filings about companies never seen in training."""

    training: tuple[Filing, ...]
    seen: tuple[Filing, ...]
    unseen: tuple[Filing, ...]


@cache
def symbol(word: str) -> int:
    """The symbol of a word, 0..255: the first byte of its BLAKE2b hash, the same on every machine and in every run."""
    return hashlib.blake2b(word.encode(), digest_size=1).digest()[0]


def symbols(words: Sequence[str]) -> Array:
    """The symbols of words, (n,) integers."""
    return np.array([symbol(word) for word in words])


def invented_word(random: np.random.Generator, used: set[str]) -> str:
    """A word of two or three invented syllables that is not in `used`, to which it is added."""
    while True:
        parts = [random.choice(_ONSETS) + random.choice(_VOWELS) for _ in range(random.integers(2, 4))]
        word = "".join(parts) + str(random.choice(_CODAS))
        if word not in used:
            used.add(word)
            return word


def plain_words() -> set[str]:
    """Every word that filings share, and every word of a sector."""
    shared = {word for sentence in SENTENCES for word in sentence.split() if "{" not in word}
    return shared | set(NUMBERS) | set(YEARS) | {word for middle, last in SECTORS.values() for word in middle + last}


def roster(random: np.random.Generator, companies_a_sector: int = 6) -> tuple[list[Company], list[Company]]:
    """Invented companies, split by sector: three quarters of the sectors for training, the rest held out."""
    used = plain_words()
    order = [str(sector) for sector in random.permutation(sorted(SECTORS))]
    held_out = set(order[: len(order) // 4])
    groups: tuple[list[Company], list[Company]] = ([], [])
    for sector in sorted(SECTORS):
        middle, last = SECTORS[sector]
        for _ in range(companies_a_sector):
            between = [str(word) for word in random.choice(middle, size=random.integers(0, 3), replace=False)]
            name = (invented_word(random, used), *between, str(random.choice(last)))
            groups[sector in held_out].append(Company(name, sector))
    return groups


def fresh_companies(random: np.random.Generator, count: int) -> list[Company]:
    """Companies whose names, of two to four words, are invented word by word."""
    used = plain_words()
    sizes = random.integers(2, 5, count)
    return [Company(tuple(invented_word(random, used) for _ in range(size)), "fresh") for size in sizes]


def filing(random: np.random.Generator, companies: Sequence[Company], about: Company, sentences: int = 14) -> Filing:
    """A filing about one company that mentions two others of the same list."""
    others = [company for company in companies if company != about]
    other, third = (others[i] for i in random.choice(len(others), 2, replace=False))
    words: list[str] = []
    mentions: list[tuple[int, Name]] = []
    choices = {"{count}": NUMBERS, "{year}": YEARS}
    full = {"{name}": about.name, "{other}": other.name, "{third}": third.name}
    for index in (0, *random.permutation(np.arange(1, len(SENTENCES)))[: sentences - 1]):
        for word in SENTENCES[index].split():
            if word in full:
                mentions.append((len(words), full[word]))
                words.extend(full[word])
            elif word == "{short}":
                words.append(about.name[0])
            elif word in choices:
                words.append(choices[word][int(random.integers(len(choices[word])))])
            else:
                words.append(word)
    return Filing(tuple(words), about, tuple(mentions))


def filings(random: np.random.Generator, companies: Sequence[Company], count: int) -> tuple[Filing, ...]:
    """Filings about companies of a list (three or more), drawn with equal chances."""
    if len(companies) < 3:
        raise TrainingError(f"companies: a filing mentions three, got a list of {len(companies)}")
    return tuple(filing(random, companies, companies[int(random.integers(len(companies)))]) for _ in range(count))


def corpus(seed: int, training: int = 300, test: int = 100) -> Corpus:
    """The corpus of a seed: filings to train on, new ones about the same companies, others about unseen companies."""
    random = np.random.default_rng([seed, 0])
    known, held_out = roster(random)
    return Corpus(filings(random, known, training), filings(random, known, test), filings(random, held_out, test))


def fresh_filings(seed: int, count: int = 300) -> tuple[Filing, ...]:
    """Filings whose companies are invented anew for each one, so that no name is ever met twice."""
    random = np.random.default_rng([seed, 1])
    return tuple(
        filing(random, companies, companies[0]) for companies in (fresh_companies(random, 3) for _ in range(count))
    )


# ---- queries ----------------------------------------------------------------

WINDOW = 48


@dataclass(frozen=True)
class Query:
    """A word of a name that the filing gave in full within the 48 words before: predict the word that follows it."""

    filing: Filing
    place: int
    """Where the query word stands; the answer is the next word."""
    name: Name

    @property
    def window(self) -> tuple[str, ...]:
        """The last 48 words, up to and including the query word."""
        return self.filing.words[max(0, self.place - WINDOW + 1) : self.place + 1]

    @property
    def answer(self) -> str:
        """The word that follows."""
        return self.filing.words[self.place + 1]


def queries(documents: Sequence[Filing]) -> list[Query]:
    """Every query of the filings: each word but the last of a full name that lies in full in the 48 words before it."""
    found = []
    for document in documents:
        for index, (start, name) in enumerate(document.mentions):
            for place in range(start, start + len(name) - 1):
                earlier = (first for first, other in document.mentions[:index] if other == name)
                if any(first >= place - WINDOW for first in earlier):
                    found.append(Query(document, place, name))
    return found


# ---- collisions -------------------------------------------------------------


@dataclass(frozen=True)
class Collisions:
    """How the hash treats the words of some filings."""

    words: int
    symbols: int
    colliding_words: int
    """Words that share their symbol with another word."""
    name_words: int
    colliding_name_words: int


def collisions(documents: Sequence[Filing]) -> Collisions:
    """Count the words that share a symbol, among all words and among those of names."""
    vocabulary = sorted({word for document in documents for word in document.words})
    in_names = {word for document in documents for _, name in document.mentions for word in name}
    by_symbol: dict[int, list[str]] = {}
    for word in vocabulary:
        by_symbol.setdefault(symbol(word), []).append(word)
    colliding = {word for words in by_symbol.values() if len(words) > 1 for word in words}
    return Collisions(len(vocabulary), len(by_symbol), len(colliding), len(in_names), len(in_names & colliding))
