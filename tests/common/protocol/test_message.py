"""Messages that are declared once: what comes of a declaration."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.common.errors import SchemaException, UnsupportedVersionException
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.raw_tagged_field import RawTaggedField
from kafka_py.common.protocol.types.type import BYTES, INT8, INT16, INT32, STRING


class Book(Message, latest=3, flexible=2):
    """All kinds of fields."""

    class Page(ErrorEntry):
        """A nested one."""

        class Note(Message, bare=True):
            """Without tags of its own."""

            mark: int = field(INT8, default=7)

        number: int = field(INT32)
        error_code: int = field(INT16, default=0)
        notes: list[Note] = field(ListOf(Note), since=1, default_factory=list)
        note: Note = field(Note, since=3, default=None)

    title: str = field(STRING, nullable=1)
    cover: bytes = field(BYTES, until=1, default=b"")
    pages: list[Page] = field(ListOf(Page))
    words: list[str] = field(ListOf(STRING, boxed=True), since=1, nullable=2, default_factory=list)
    price: int = field(INT32, since=1, default=5, ignorable=False)
    colour: str = field(STRING, since=2, tag=4, default="none")
    sizes: list[int] = field(ListOf(INT16), since=2, tag=6, default_factory=list)
    last: Page | None = field(Page, since=3, tag=7, default=None)


def a_book() -> Book:
    note = Book.Page.Note(mark=1)
    return Book(title="t", pages=[Book.Page(number=3, notes=[note], note=Book.Page.Note())], words=["w", ""])


def again(book: Book, version: int) -> Book:
    """Written and read by the flat code, which must do as the walk over the schema does."""
    parts: list[Any] = []
    book.write(parts, version)
    written = b"".join(parts)
    assert written == book.struct_at(version).to_bytes()
    read, end = Book.read(written, version)
    assert end == len(written)
    assert Book.schema(version).layout.from_struct(Book.schema(version).read(written)) == read
    everywhere = range(len(written))
    for cut in {*everywhere[:300], *everywhere[-300:]}:
        with pytest.raises(SchemaException):
            Book.read(written[:cut], version)
    return read


def test_layouts_of_the_versions() -> None:
    assert str(Book.schema(0)) == "{title:STRING,cover:BYTES,pages:ARRAY({number:INT32,error_code:INT16})}"
    assert "words:ARRAY(STRING),price:INT32" in str(Book.schema(1))
    assert str(Book.schema(2)).startswith("{title:COMPACT_NULLABLE_STRING,pages:COMPACT_ARRAY({number:INT32,")
    assert "notes:COMPACT_ARRAY({mark:INT8})" in str(Book.schema(2))
    assert str(Book.schema(2)).endswith("TAGGED_FIELDS_TYPE_NAME(4: colour, 6: sizes)}")
    assert Book.schema(1) is Book.schema(1)
    for version in (-1, 4):
        with pytest.raises(ValueError, match=f"Invalid version for Book: {version}"):
            Book.schema(version)


@pytest.mark.parametrize("version", range(4))
def test_a_message_is_read_as_it_was_written(version: int) -> None:
    book = a_book()
    read = again(book, version)
    assert read.pages[0].number == 3
    assert read.words == (["w", ""] if version else [])
    assert [note.mark for note in read.pages[0].notes] == ([1] if version else [])
    assert read.price == 5
    assert (read == book) == (version == 3)


def test_constructor_knows_the_fields() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'pages'"):
        Book(title="t")  # type: ignore[call-arg]
    assert Book(title="t", pages=[]).words == []
    assert not hasattr(a_book(), "__dict__")


def test_what_a_version_lacks_is_ignored_or_refused() -> None:
    book = a_book()
    book.price = 6
    assert again(book, 1).price == 6
    with pytest.raises(UnsupportedVersionException, match="non-default price at version 0"):
        book.write([], 0)
    book.price, book.cover = 5, b"c"
    assert again(book, 0).cover == b"c"
    assert again(book, 2).cover == b""


def test_null_where_it_may_be() -> None:
    book = a_book()
    book.title = None  # type: ignore[assignment]
    book.words = None  # type: ignore[assignment]
    assert again(book, 2).words is None
    with pytest.raises(SchemaException, match="Missing value for field 'title'"):
        book.write([], 0)
    book.title = "t"
    with pytest.raises(SchemaException, match="Missing value for field 'words'"):
        book.write([], 1)
    with pytest.raises(SchemaException, match="Error reading field 'title': String length -1 cannot be negative"):
        Book.read(b"\xff\xff", 0)


def test_tagged_fields_known_and_unknown() -> None:
    book = a_book()
    book.colour, book.sizes = "red", [1, 2]
    book.last = Book.Page(number=9, note=Book.Page.Note())
    raw = {5: RawTaggedField(5, b"five"), 300: RawTaggedField(300, b"x" * 200)}
    book.unknown_tags = raw  # type: ignore[attr-defined]
    book.pages[0].unknown_tags = {0: RawTaggedField(0, b"")}  # type: ignore[attr-defined]
    read = again(book, 3)
    assert (read.colour, read.sizes, read.last) == ("red", [1, 2], book.last)
    assert read.unknown_tagged_fields() == raw
    assert read.pages[0].unknown_tagged_fields() == {0: RawTaggedField(0, b"")}
    assert a_book().unknown_tagged_fields() == {}
    read = again(book, 2)
    assert read.last is None
    assert again(a_book(), 0).colour == "none"


def test_long_and_strange_values() -> None:
    book = a_book()
    book.title, book.words = "\N{GRINNING FACE}" * 5000, ["w" * 126, "w" * 127, "w" * 128] * 50
    for version in range(1, 4):
        assert again(book, version).words == book.words
    for version in range(4):
        book.title = "x" * 32768
        with pytest.raises(SchemaException, match="is larger than the maximum string length"):
            book.write([], version)
        book.title = "\ud800"
        parts: list[Any] = []
        book.write(parts, version)
        assert Book.read(b"".join(parts), version)[0].title == "?"


def test_words_and_errors() -> None:
    book = a_book()
    assert str(book.pages[0]) == "{number=3,error_code=0,notes=[{mark=1}],note={mark=7}}"
    book.pages[0].error_code = 3
    codes: list[int] = []
    book.add_error_codes(codes)
    assert codes == [3]
    assert book.pages[0].error.name == "UNKNOWN_TOPIC_OR_PARTITION"


def test_declarations_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="needs a default"):
        field(INT8, since=1)
