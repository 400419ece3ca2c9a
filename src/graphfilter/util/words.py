"""Words that notes, errors and pages share: counts with their nouns, lists of names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Numbers from here on are written with an exponent.
_LONGEST = 1e15


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun, singular or plural.

    >>> count(1, "edge"), count(2000, "edge"), count(2, "vertex", "vertices")
    ('1 edge', '2,000 edges', '2 vertices')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


# What rows are, where the name of the column of ids says so in English.
_NOUNS = """
    account address airport applicant article asset author bank book borrower branch building
    bus car card case cell city claim client company compound contact contract country county
    customer device district document drug employee event film firm flight gene hospital hotel
    house household invoice item job journal lender loan location machine member merchant message
    molecule movie municipality node order page paper parcel parish part patient payment person
    phone plant player policy port post product project property protein provider publication
    region restaurant road route row sample school seller sensor server service session shipment
    shop site song species spot station stop store street student subject supplier team ticket
    town track transaction trip tweet unit user vehicle village vendor visit web website worker
"""
# A word of ours, not part of a name, a path, an option or a quotation.
_VERTEX = re.compile(
    r"(?<![\w'\"`“/.-])(?:(an?) )?(vert(?:ex|ices))(?![\w\"`”/-]|'(?!s\b)|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True)
class Noun:
    """What a user calls a vertex.

    Examples
    --------
    >>> Noun.found("", "account_id").put("Vertices like a vertex's of 'vertex', vertices.csv.")
    "Accounts like an account's of 'vertex', vertices.csv."
    >>> Noun.found("Kunde,Kunden", "id").many, Noun.found("", "kundennr").many
    ('Kunden', 'rows')
    >>> Noun.found("", "county").count(2), Noun.found("", "UserID").count(2)
    ('2 counties', '2 users')
    """

    one: str = "vertex"
    many: str = "vertices"

    @classmethod
    def found(cls, given: str, column: str | None) -> Noun:
        """Return the noun that was given, else that in the name of the column of ids.

        A row where that is no English word for a thing; a vertex where there is no table (None).
        """
        if given:
            one, _, many = (part.strip() for part in given.partition(","))
            return cls(one, many or _plural(one))
        if column is None:
            return cls()
        apart = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column))
        words = [re.sub(r"(?<=\w{4})(?<!o)id$", "", word.lower()) for word in apart]
        known = {form: word for word in _NOUNS.split() for form in (_plural(word), word)}
        word = next((known[word] for word in reversed(words) if word in known), "row")
        return cls(word, _plural(word))

    def count(self, n: int) -> str:
        """Return a count of them."""
        return count(n, self.one, self.many)

    def put(self, text: str) -> str:
        """Return a text of ours with this noun in the place of vertex and vertices."""

        def noun(match: re.Match[str]) -> str:
            article, word = match[1] or "", match[2]
            put = self.one if word.lower() == "vertex" else self.many
            if article:
                an = "an" if put[0].lower() in "aeio" else "a"
                return f"{an.capitalize() if article[0] == 'A' else an} {put}"
            return put[0].upper() + put[1:] if word[0] == "V" else put

        return _VERTEX.sub(noun, text)


def _plural(word: str) -> str:
    if word in ("vertex", "person"):
        return {"vertex": "vertices", "person": "people"}[word]
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def listed_names(names: Sequence[str], most: int = 10) -> str:
    """Quote names for an error: ten of them, the beginning of long ones."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(repr(name[:80]) for name in names[:most]) + more


def number(value: float) -> str:
    """Write a number with four significant digits, or all those before the point.

    >>> number(12345.67), number(12.345), number(0.0012), number(-1e150)
    ('12,346', '12.35', '0.0012', '-1e+150')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < _LONGEST else f"{value:.4g}"


def read_number(text: Any) -> float | None:
    """Return the finite number that a text is, None where it is none.

    >>> read_number("1e-3"), read_number("nan"), read_number("x")
    (0.001, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def signed(value: float, beside: float = 0.0) -> str:
    """Write a difference with its sign, as finely as the larger one ``beside`` it needs.

    >>> signed(-12345.67), signed(0.5), signed(-0.00123), signed(0.00123, 2.5)
    ('-12,346', '+0.50', '-0.0012', '+0.00')
    """
    size = max(abs(value), abs(beside))
    if size and not 1e-5 < size < _LONGEST:
        return f"{value:+.2g}"
    digits = 0 if size >= 1000 else max(2, 1 - math.floor(math.log10(size or 1)))
    return f"{value:+,.{digits}f}"


def say_bytes(n_bytes: float) -> str:
    """Write an amount of memory.

    >>> say_bytes(300), say_bytes(3_500_000), say_bytes(8 << 30)
    ('0.3 KiB', '3.3 MiB', '8.0 GiB')
    """
    power = 3 if n_bytes >= 1 << 30 else 2 if n_bytes >= 1 << 20 else 1
    return f"{n_bytes / 1024**power:,.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"
