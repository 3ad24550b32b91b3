"""TextNumbers: the texts of a program, each of which is a number in C, and tables by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from parallel_pool._translator import containers
from parallel_pool._translator.refusal import Refusal
from parallel_pool._translator.values import Fixed, Txt, Value

if TYPE_CHECKING:
    from parallel_pool._translator.body import Body

# pp_field.text
_WRITER = """\
static int32_t write_text(const void *code, char *out) {
  int32_t at, length;
  memcpy(&at, code, sizeof(at));
  if (at < 0 || at >= NUM_TEXTS) return -1;
  length = (int32_t)strlen(all_texts[at]);
  memcpy(out, all_texts[at], (size_t)length);
  return length;
}"""


class TextNumbers:
    """The texts of a program, in the order in which they were found.

    What a function says of a text is a table, which is written when all texts are known.

    Attributes:
        are_shown: a field shows texts.
    """

    def __init__(self, name: Callable[[str], str]) -> None:
        """
        Args:
            name: makes a name of a hint.
        """
        self.name = name
        self._numbers: dict[str, int] = {"": 0}
        self.are_shown = False
        self._tables: list[tuple[str, Callable[[str], int]]] = []
        self._letter_tables: list[str] = []

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def c(self, value: Value) -> str:
        """Returns the C expression of a text's number."""
        if isinstance(value, Txt):
            return value.c
        if isinstance(value, Fixed) and isinstance(value.value, (str, bytes)):
            return str(self.number(text_of(value.value)))
        raise Refusal(f"{value.type} is no text")

    def table(self, c: str, function: Callable[[str], int]) -> str:
        """Returns what a function says of a text that is not known."""
        name = self.name("texts")
        self._tables.append((name, function))
        return f"{name}[{c}]"

    def rank(self, text: str) -> int:
        """Returns the place of a text among all, in Python's order."""
        return sorted(self._numbers).index(text)

    def length(self, c: str) -> str:
        return self.table(c, len)

    def letter(self, body: Body, c: str, at: str) -> str:
        """Returns the text of one letter of a text."""
        place = body.c_variable("t", "int64_t")
        body.emit(f"{place} = {at};")
        length = self.length(c)
        body.check(
            f"pp_python_index(&{place}, {length})", "IndexError", "string index out of range"
        )
        name = self.name("letters")
        self._letter_tables.append(name)
        return f"{name}[{c}][{place}]"

    def known(self) -> list[str]:
        return list(self._numbers)

    def lines(self) -> list[str]:
        """Returns the tables of texts, when all texts are known."""
        count = -1
        found: dict[str, list[int]] = {}
        while count != len(self._numbers):
            count = len(self._numbers)
            if self._letter_tables:
                for text in list(self._numbers):
                    for each in text:
                        self.number(each)
            for name, function in self._tables:
                found[name] = [function(text) for text in list(self._numbers)]
        # without such tables, letters are no texts
        spelled = list(self._numbers) if self._letter_tables else []
        widest = max(map(len, self._numbers))
        rows = ", ".join(
            "{" + (", ".join(str(self.number(each)) for each in text) or "0") + "}"
            for text in spelled
        )
        letters = [
            f"static const int32_t {name}[{len(self._numbers)}][{max(1, widest)}] = {{{rows}}};"
            for name in self._letter_tables
        ]
        return [
            f"enum {{ NUM_TEXTS = {len(self._numbers)} }};",
            *(self._writer() if self.are_shown else []),
            *letters,
            *(
                f"static const int32_t {name}[{len(values)}] = {{{', '.join(map(str, values))}}};"
                for name, values in found.items()
            ),
        ]

    def _writer(self) -> list[str]:
        """Returns the function that writes the text of a number."""
        longest = max(len(text.encode()) for text in self._numbers)
        texts = ", ".join(map(containers.c_text, self._numbers))
        return [
            f"enum {{ LONGEST_TEXT = {max(1, longest)} }};",
            f"static const char *const all_texts[NUM_TEXTS] = {{{texts}}};",
            *_WRITER.splitlines(),
        ]


def text_of(value: str | bytes) -> str:
    """Returns the text that stands for one: no text of the user's equals that of bytes."""
    return value if isinstance(value, str) else f"\0bytes {value!r}"
