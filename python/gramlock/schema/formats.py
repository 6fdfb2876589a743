"""The formats of JSON Schema 2020-12, each from the grammar of its RFC.

A format is an ECMA-262 pattern for the whole text, put together from parts named as in the RFC.
Where it asks for more than a regular language can say, or than is worth its cost, `unwritten` says
what is left out (the language is then too small) and `unchecked` what is let through (too large).

Leap seconds, of which the hour and minute determine the offset, are written for offsets of quarter
hours: 96 pairs instead of 1440.

A name that is not in :data:`FORMATS` says nothing about the text, as the standard has it.

Tested by tests/test_formats.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from gramlock.schema import idn
from gramlock.syntax.regex import parse
from gramlock.syntax.regex_expr import Encoding

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = ["FORMATS", "Format", "format_expression"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        name: As in the schema.
        source: The document that defines it.
        pattern: ECMA-262 pattern of the whole text, if `build` is None.
        build: Makes the expression where a pattern would be too long.
        wide: Pattern of a superset of what the document allows; None if the format is exact or no
            superset is of use. Its complement stands for the complement of the format.
        unwritten: What the document allows and is never written, one line; None if nothing.
        unchecked: What the document forbids and is let through, one line; None if nothing.
    """

    name: str
    source: str
    pattern: str = ""
    build: Callable[[Expressions, Encoding], int] | None = None
    wide: str | None = None
    unwritten: str | None = None
    unchecked: str | None = None

    @property
    def gap(self) -> str | None:
        """How the language differs from the document's, one line; None if it does not."""
        parts = [part for part in (self.unwritten, self.unchecked) if part is not None]
        return "; ".join(parts) or None

    @property
    def has_superset(self) -> bool:
        """Whether there is a language that certainly has all texts of the format."""
        return self.gap is None or self.wide is not None


def format_expression(
    expressions: Expressions, name: str, encoding: Encoding, wide: bool = False
) -> int | None:
    """The texts of a format, without quotes; None for a name that is no known format.

    With *wide* all texts that the document allows are among them, if the format has a superset.

    Cost: memoised in the store; the first use of a format parses its pattern (milliseconds).
    """
    form = FORMATS.get(name)
    if form is None:
        return None
    pattern = form.wide if wide else None
    key = ("format", name, encoding, pattern)
    known: int | None = expressions.cache.get(key)
    if known is None:
        if pattern is not None:
            known = parse(pattern).full(expressions, encoding)
        elif form.build is not None:
            known = form.build(expressions, encoding)
        else:
            known = parse(form.pattern).full(expressions, encoding)
        expressions.cache[key] = known
    return known


def _any_of(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


# -- dates and times: RFC 3339 --------------------------------------------------------------------

_LEAP_YEAR = (
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])"  # the year in its century, not 00
    "|(?:[02468][048]|[13579][26])00)"  # the century
)
_DAY_28 = "(?:0[1-9]|1[0-9]|2[0-8])"
_MONTH_DAY = _any_of(
    f"(?:0[1-9]|1[0-2])-{_DAY_28}",
    "(?:0[13-9]|1[0-2])-(?:29|30)",
    "(?:0[13578]|1[02])-31",
)
_DATE = _any_of(f"[0-9]{{4}}-{_MONTH_DAY}", f"{_LEAP_YEAR}-02-29")

_HOUR = "(?:[01][0-9]|2[0-3])"
_FRACTION = r"(?:\.[0-9]+)?"
_OFFSET = f"(?:[Zz]|[+\\-]{_HOUR}:[0-5][0-9])"


def _leap_second(hour: int) -> str:
    """Times of this local hour that are 23:59:60 in UTC, for offsets of whole quarter hours."""
    rest = 23 - hour
    after = (hour + 1) % 24
    ways = [
        (14, f"\\+{hour:02}:15|-{rest:02}:45"),
        (29, f"\\+{hour:02}:30|-{rest:02}:30"),
        (44, f"\\+{hour:02}:45|-{rest:02}:15"),
        (59, f"\\+{after:02}:00|-{rest:02}:00" + ("|[Zz]" if hour == 23 else "")),
    ]
    minutes = [f"{minute}:60{_FRACTION}(?:{offsets})" for minute, offsets in ways]
    return f"{hour:02}:{_any_of(*minutes)}"


_TIME = _any_of(
    f"{_HOUR}:[0-5][0-9]:[0-5][0-9]{_FRACTION}{_OFFSET}",
    *(_leap_second(hour) for hour in range(24)),
)
_ANY_TIME = f"{_HOUR}:[0-5][0-9]:(?:[0-5][0-9]|60){_FRACTION}{_OFFSET}"
_LEAP_SECONDS = "a leap second is only written with an offset of whole quarter hours"

_DURATION_TIME = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DURATION_DATE = "(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
_DURATION = f"P(?:{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME}|[0-9]+W)"
_ANY_DURATION = re.sub("[A-Z]", lambda letter: f"[{letter[0]}{letter[0].lower()}]", _DURATION)

# -- hosts and addresses --------------------------------------------------------------------------

_END, _INNER = "[A-Za-z0-9]", "[A-Za-z0-9\\-]"
_DOMAIN = f"{_END}(?:{_INNER}{{0,61}}{_END})?(?:\\.{_END}(?:{_INNER}{{0,61}}{_END})?)*"


def _label() -> str:
    """A label of 1 to 63 characters without "--" as its third and fourth ones."""
    third = f"{_END}(?:{_INNER}{{0,59}}{_END})?"
    fourth = f"\\-{_END}(?:{_INNER}{{0,58}}{_END})?"
    return f"{_END}(?:{_END}|{_INNER}(?:{third}|{fourth}))?"


_LABELS = f"{_label()}(?:\\.{_label()})*"


def _at_most(e: Expressions, encoding: Encoding, item: int, count: int) -> int:
    """The texts of *item* that have at most *count* characters."""
    character = e.codepoints([(0, 0x10FFFF)], encoding)
    return e.intersect([item, e.repeat(character, 1, count)])


def _hostname(e: Expressions, encoding: Encoding) -> int:
    return _at_most(e, encoding, parse(_LABELS).full(e, encoding), 253)


_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = f"{_OCTET}(?:\\.{_OCTET}){{3}}"

_H16 = "[0-9A-Fa-f]{1,4}"


def _ipv6() -> str:
    """Eight groups, the last two perhaps as an IPv4 address, a run of them perhaps as ``::``."""
    low = _any_of(f"{_H16}:{_H16}", _IPV4)
    forms = [f"(?:{_H16}:){{6}}{low}"]
    for after in range(5, -1, -1):  # groups between "::" and the last two
        before = 5 - after
        head = f"(?:(?:{_H16}:){{0,{before - 1}}}{_H16})?" if before else ""
        forms.append(f"{head}::(?:{_H16}:){{{after}}}{low}")
    forms.append(f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}")
    forms.append(f"(?:(?:{_H16}:){{0,6}}{_H16})?::")
    return _any_of(*forms)


_IPV6 = _ipv6()

# -- mail: RFC 5321, RFC 6531 ---------------------------------------------------------------------

_ATEXT = "A-Za-z0-9!#$%&'*+\\-\\/=?\\^_`\\{|\\}~"
# Other tags than IPv6 would have to be registered, and none is.
_ADDRESS = f"\\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_IPV6})\\]"


def _local_part(more: str) -> str:
    """Dot-string or quoted string, *more* characters allowed besides ASCII."""
    atext = f"[{_ATEXT}{more}]"
    quoted = f'"(?:[ !#-\\[\\]-~{more}]|\\\\[ -~])*"'
    return f"(?:{atext}(?:\\.?{atext})*|{quoted})"


def _mailbox(e: Expressions, encoding: Encoding, more: str, domain: int) -> int:
    """A local part of at most 64 characters, and a domain or an address."""
    local = _at_most(e, encoding, parse(_local_part(more)).full(e, encoding), 64)
    address = parse(_ADDRESS).full(e, encoding)
    return e.concat([local, parse("@").full(e, encoding), e.union([domain, address])])


def _email(e: Expressions, encoding: Encoding) -> int:
    domain = _at_most(e, encoding, parse(_DOMAIN).full(e, encoding), 255)
    return _mailbox(e, encoding, "", domain)


def _idn_email(e: Expressions, encoding: Encoding) -> int:
    return _mailbox(e, encoding, "\\u{80}-\\u{10FFFF}", idn.host_name(e, encoding))


# -- identifiers: RFC 3986, RFC 3987 --------------------------------------------------------------

_PERCENT = "%[0-9A-Fa-f]{2}"
_UNRESERVED = "A-Za-z0-9\\-._~"
_SUB_DELIMS = "!$&'()*+,;="
_UCS = "\\u{A0}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFEF}" + "".join(
    f"\\u{{{plane:X}{1000 if plane == 14 else 0:04}}}-\\u{{{plane:X}FFFD}}"
    for plane in range(1, 15)
)
_PRIVATE = "\\u{E000}-\\u{F8FF}\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"


def _identifier(letters: str, private: str, with_scheme: bool) -> str:
    """URI, or a relative reference; *letters* and *private* are what an IRI adds."""

    def some(more: str, count: str) -> str:
        return f"(?:[{_UNRESERVED}{_SUB_DELIMS}{letters}{more}]|{_PERCENT}){count}"

    future = f"[Vv][0-9A-Fa-f]+\\.[{_UNRESERVED}{_SUB_DELIMS}:]+"
    host = f"(?:\\[(?:{_IPV6}|{future})\\]|{some('', '*')})"
    authority = f"(?:{some(':', '*')}@)?{host}(?::[0-9]*)?"
    segments = f"(?:\\/{some(':@', '*')})*"
    first = some(":@", "+") if with_scheme else some("@", "+")
    path = _any_of(
        f"\\/\\/{authority}{segments}",
        f"\\/(?:{some(':@', '+')}{segments})?",
        f"{first}{segments}",
        "",
    )
    scheme = "[A-Za-z][A-Za-z0-9+\\-.]*:" if with_scheme else ""
    query = f"(?:\\?{some(f':@/?{private}', '*')})?"
    return f"{scheme}{path}{query}(?:#{some(':@/?', '*')})?"


_URI = _identifier("", "", True)
_URI_REFERENCE = _any_of(_URI, _identifier("", "", False))
_IRI = _identifier(_UCS, _PRIVATE, True)
_IRI_REFERENCE = _any_of(_IRI, _identifier(_UCS, _PRIVATE, False))

_HEX = "[0-9A-Fa-f]"
_UUID = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"

_VARIABLE = f"(?:[A-Za-z0-9_]|{_PERCENT})(?:\\.?(?:[A-Za-z0-9_]|{_PERCENT}))*"
_VARSPEC = f"{_VARIABLE}(?::[1-9][0-9]{{0,3}}|\\*)?"
_URI_TEMPLATE = (
    f"(?:[!#$&-;=?-\\[\\]_a-z~{_UCS}{_PRIVATE}]|{_PERCENT}"
    f"|\\{{[+#.\\/;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\\}})*"
)

_JSON_POINTER = "(?:\\/(?:[^~\\/]|~[01])*)*"
_RELATIVE_POINTER = f"(?:0|[1-9][0-9]*)(?:[+\\-][1-9][0-9]*)?(?:#|{_JSON_POINTER})"

# -- regular expressions: ECMA-262 ----------------------------------------------------------------

_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ESCAPE = "\\\\" + _any_of(
    "[dDwWsStnvfr]",
    "[\\^$\\\\.*+?()\\[\\]\\{\\}|\\/]",
    f"x{_HEX}{{2}}",
    f"u{_HEX}{{4}}",
    f"u\\{{(?:{_HEX}{{1,5}}|10{_HEX}{{4}})\\}}",
    "c[A-Za-z]",
    "[pP]\\{(?:L[ulmto]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?|Any|ASCII)\\}",
)
_RANGES = _any_of(  # a-b where b is not before a
    *(
        f"{first}\\-[{first}-{run[-1]}]"
        for run in (_DIGITS, _LETTERS, _LETTERS.lower())
        for first in run
    )
)
_BRACKET = f"\\[\\^?(?:{_RANGES}|[^\\\\\\[\\]\\-\\^]|{_ESCAPE}|\\\\[b\\-])*\\]"
_COUNT = _any_of(
    "[0-9]+,?",
    *(f"{low},(?:[{low}-9]|[1-9][0-9]{{1,3}})" for low in _DIGITS),
    "[1-9][0-9],[1-9][0-9]{2,3}",
)
_QUANTIFIER = f"(?:(?:[*+?]|\\{{{_COUNT}\\}})\\??)?"
_ATOM = _any_of("[^\\^$\\\\.*+?()\\[\\]\\{\\}|]", "\\.", _ESCAPE, _BRACKET)
_REGEX_DEPTH = 3


def _regex(e: Expressions, encoding: Encoding) -> int:
    """Patterns whose groups nest to a depth; every one of them is valid."""

    def part(pattern: str) -> int:
        return parse(pattern).full(e, encoding)

    quantifier, close, bar = part(_QUANTIFIER), part("\\)"), part("\\|")
    capture, look = part("\\((?:\\?:)?"), part("\\(\\?<?[=!]")
    name = part("\\(\\?<[A-Za-z_$][A-Za-z0-9_$]*>")
    terms = [e.concat([part(_ATOM), quantifier]), part("[\\^$]|\\\\[bB]")]
    body = named = e.NEVER  # without any named group; with one
    for _ in range(_REGEX_DEPTH + 1):
        group = e.concat([capture, body, close, quantifier])
        line = e.repeat(e.union([*terms, group, e.concat([look, body, close])]), 0, None)
        holding = e.union(
            [
                e.concat([name, body, close, quantifier]),
                e.concat([capture, named, close, quantifier]),
                e.concat([look, named, close]),
            ]
        )
        before = e.repeat(e.concat([line, bar]), 0, None)
        after = e.repeat(e.concat([bar, line]), 0, None)
        body = e.concat([line, after])
        named = e.concat([before, line, holding, line, after])
    return e.union([body, named])


# -- the table ------------------------------------------------------------------------------------


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        form.name: form
        for form in (
            Format(
                "date-time",
                "RFC 3339, 5.6",
                f"{_DATE}[Tt]{_TIME}",
                wide=f"{_DATE}[Tt]{_ANY_TIME}",
                unwritten=_LEAP_SECONDS,
            ),
            Format("date", "RFC 3339, 5.6", _DATE),
            Format("time", "RFC 3339, 5.6", _TIME, wide=_ANY_TIME, unwritten=_LEAP_SECONDS),
            Format(
                "duration",
                "RFC 3339, appendix A",
                _DURATION,
                wide=_ANY_DURATION,
                unwritten="only capital letters are written",
            ),
            Format("email", "RFC 5321, 4.1.2 and 4.5.3.1", build=_email),
            Format(
                "idn-email",
                "RFC 6531, 3.3",
                build=_idn_email,
                unwritten=idn.UNWRITTEN,
                unchecked=f"the local part is counted in characters; {idn.UNCHECKED}",
            ),
            Format(
                "hostname",
                "RFC 1123, 2.1",
                build=_hostname,
                wide=f"(?=.{{1,253}}$){_DOMAIN}",
                unwritten=(
                    "no label has -- as third and fourth character: among these are A-labels, "
                    "whose Punycode is not regular"
                ),
            ),
            Format(
                "idn-hostname",
                "RFC 5890, 2.3.2.3",
                build=idn.host_name,
                unwritten=idn.UNWRITTEN,
                unchecked=idn.UNCHECKED,
            ),
            Format("ipv4", "RFC 2673, 3.2", _IPV4),
            Format("ipv6", "RFC 4291, 2.2", _IPV6),
            Format("uri", "RFC 3986, appendix A", _URI),
            Format("uri-reference", "RFC 3986, appendix A", _URI_REFERENCE),
            Format("iri", "RFC 3987, 2.2", _IRI),
            Format("iri-reference", "RFC 3987, 2.2", _IRI_REFERENCE),
            Format("uuid", "RFC 4122, 3", _UUID),
            Format("uri-template", "RFC 6570, 2 (with erratum 6937)", _URI_TEMPLATE),
            Format("json-pointer", "RFC 6901, 3", _JSON_POINTER),
            Format(
                "relative-json-pointer",
                "draft-bhutton-relative-json-pointer-00, 3",
                _RELATIVE_POINTER,
            ),
            Format(
                "regex",
                "ECMA-262, 22.2.1",
                build=_regex,
                unwritten=(
                    f"groups nest at most {_REGEX_DEPTH} deep; at most one has a name; no "
                    "back-references, \\0 or identity escapes; ranges only among digits or "
                    "letters of one case; general categories only; counts in order of at most "
                    "four digits"
                ),
            ),
        )
    }
)
"""The formats that are enforced, by name."""
