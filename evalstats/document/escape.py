"""Make text that came from a file harmless in each output: terminal, HTML, Markdown, LaTeX, Typst, CSV."""

import html
import re
import unicodedata

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#!|~$^@])")
# Active only where a block begins: lists, headings underlined, fenced blocks.
_MARKDOWN_START = re.compile(r"^(\d*)([-+=:.)])")
# What renderers turn into links by themselves.
_MARKDOWN_LINK = re.compile(r"(:)(?=//)|(?<=www)(\.)", re.IGNORECASE)
# GitHub finds mentions and references after Markdown is done, where a backslash no longer helps: a joiner of no width does.
_MENTION = re.compile(r"(?<=[@#])(?=\w)|(?<=\bGH)(?=-\d)")
_TYPST = re.compile(r"([\\#$*_`<>@~\[\]=+/-])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


# Joiners that Persian, Indic scripts and emoji need, between letters that are not ASCII.
_JOINERS = "\u200c\u200d"
# Control, format, surrogate, private use.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
# GitHub runs a line that begins with "::", and GitHub and Azure a command "##[" or "##vso[" wherever it stands.
_COMMAND = re.compile(r"^([^\S\n]*)(?=::)|(?<=#)(?=#\[|#vso\[)", re.MULTILINE)

# U+FFFE, U+FFFF and their like in every plane: XML and Typst cannot hold them.
_NO_CHARACTER = re.compile(
    f"[\ufdd0-\ufdef{''.join(chr(plane << 16 | 0xFFFE + k) for plane in range(17) for k in (0, 1))}]"
)
_HASH = re.compile(r"(?<=#)#(?=\[|vso\[)")


def one_line(text: str) -> str:
    r"""Return text on one line, with characters that cannot be seen spelled out; line breaks become spaces.

    They are spelled out, not dropped, so that two names that differ stay different.

    >>> print(one_line("a\x1b[31mb\u202ec\nd"))
    a\x1b[31mb\u202ec d
    """
    spaced = re.sub(r"\s+", " ", text)
    if spaced.isprintable():
        return spaced
    return "".join(_shown(spaced, place) for place in range(len(spaced)))


def _shown(text: str, place: int) -> str:
    char = text[place]
    if unicodedata.category(char) not in _UNSEEN and not _NO_CHARACTER.match(char):
        return char
    around = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    if char in _JOINERS and len(around) == 2 and not any(beside.isascii() for beside in around):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def inert(text: str) -> str:
    r"""Return lines that no build server takes for commands: a backslash stands where one would begin.

    >>> print(inert("::error::x"), inert("a ##[group]b"), inert("a::b"))
    \::error::x a #\#[group]b a::b
    """
    return _COMMAND.sub(lambda match: f"{match[1] or ''}\\", text)


def for_html(text: str) -> str:
    """Escape for HTML text and attribute values.

    >>> for_html("<script>")
    '&lt;script&gt;'
    """
    return _HASH.sub("&#35;", html.escape(one_line(text), quote=True))


def for_markdown(text: str) -> str:
    r"""Escape for Markdown running text and table cells.

    >>> for_markdown("a|b*c")
    'a\\|b\\*c'
    """
    escaped = _MENTION.sub("\u2060", _MARKDOWN.sub(r"\\\1", one_line(text).strip().replace("&", "&amp;")))
    return _MARKDOWN_LINK.sub(r"\\\g<0>", _MARKDOWN_START.sub(r"\1\\\2", escaped))


def for_latex(text: str) -> str:
    r"""Escape for LaTeX text.

    >>> for_latex("50% of A_1")
    '50\\% of A\\_1'
    """
    line = one_line(text)
    # An empty group keeps a line from beginning with what a build server runs.
    return ("{}" if line.lstrip().startswith("::") else "") + "".join(_LATEX.get(char, char) for char in line)


def for_typst(text: str) -> str:
    r"""Escape for Typst markup.

    >>> for_typst("#eval")
    '\\#eval'
    """
    return _TYPST.sub(r"\\\1", one_line(text))


def for_csv(text: str) -> str:
    """Disarm a cell that a spreadsheet would run as a formula.

    >>> for_csv("=cmd()"), for_csv("plain")
    ("'=cmd()", 'plain')
    """
    cleaned = one_line(text)
    return f"'{cleaned}" if cleaned.startswith(_FORMULA) else cleaned
