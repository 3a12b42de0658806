"""Types, schemas and structs one by one."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.compact_array_of import CompactArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.raw_tagged_field import RawTaggedField
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import (
    BOOLEAN,
    BYTES,
    COMPACT_BYTES,
    COMPACT_NULLABLE_BYTES,
    COMPACT_NULLABLE_STRING,
    COMPACT_STRING,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    NULLABLE_BYTES,
    NULLABLE_STRING,
    RECORDS,
    STRING,
    UINT16,
    UNSIGNED_INT32,
    UNSIGNED_VARINT,
    UUID,
    Type,
    unsigned_varint,
)

SCHEMA = Schema(
    Field("boolean", BOOLEAN),
    Field("int8", INT8),
    Field("int16", INT16),
    Field("int32", INT32),
    Field("int64", INT64),
    Field("string", STRING),
    Field("nullable_string", NULLABLE_STRING),
    Field("bytes", BYTES),
    Field("nullable_bytes", NULLABLE_BYTES),
    Field("array", ArrayOf(INT32)),
    Field("null_array", ArrayOf(INT32, nullable=True)),
    Field("struct", Schema(Field("field", ArrayOf(INT32)))),
)


def filled() -> Struct:
    struct = Struct(SCHEMA)
    struct.set("boolean", True).set("int8", 1).set("int16", 1).set("int32", 1).set("int64", 1)
    struct.set("string", "1").set("nullable_string", None)
    struct.set("bytes", b"1").set("nullable_bytes", None)
    struct.set("array", [1]).set("null_array", None)
    return struct.set("struct", struct.instance("struct").set("field", [1, 2, 3]))


def round_trip(type_: Type, value: Any) -> Any:
    out: list[Any] = []
    type_.write(out, type_.validate(value))
    data = b"".join(out)
    assert type_.size_of(value) == len(data)
    read, end = type_.read_at(memoryview(data), 0)
    assert end == len(data)
    return read


@pytest.mark.ported("ProtocolSerializationTest.testSimple")
@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (BOOLEAN, [False, True]),
        (INT8, [-111, 127, -128]),
        (INT16, [-11111, 32767, -32768]),
        (UINT16, [0, 65535]),
        (INT32, [-11111111, 2**31 - 1, -(2**31)]),
        (UNSIGNED_INT32, [0, 2**32 - 1]),
        (INT64, [-11111111111, 2**63 - 1, -(2**63)]),
        (FLOAT64, [0.0, 2.5, -1e300]),
        (STRING, ["", "hello", "A\u00ea\u00f1\u00fcC", "x" * 32767]),
        (NULLABLE_STRING, [None, "", "hello"]),
        (BYTES, [b"", b"abcd"]),
        (NULLABLE_BYTES, [None, b"", b"abcd"]),
        (RECORDS, [None, b"", b"abcd"]),
        (UNSIGNED_VARINT, [0, 127, 128, 16383, 16384, 2**32 - 1]),
        (COMPACT_STRING, ["", "hello", "x" * 200]),
        (COMPACT_NULLABLE_STRING, [None, "", "hello"]),
        (COMPACT_BYTES, [b"", b"abcd"]),
        (COMPACT_NULLABLE_BYTES, [None, b"", b"abcd" * 100]),
        (UUID, [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]),
        (ArrayOf(INT32), [[], [1, 2, 3]]),
        (ArrayOf(STRING), [[], ["hello", "there", "beautiful"]]),
        (ArrayOf(INT32, nullable=True), [None, [], [1]]),
        (CompactArrayOf(INT32), [[], [1, 2, 3]]),
        (CompactArrayOf(COMPACT_STRING, nullable=True), [None, [], ["a"] * 130]),
    ],
    ids=str,
)
def test_values_are_read_as_written(type_: Type, values: list[Any]) -> None:
    for value in values:
        assert round_trip(type_, value) == value


@pytest.mark.ported("ProtocolSerializationTest.testSimple")
def test_struct_is_read_as_written() -> None:
    struct = filled()
    struct.validate()
    data = struct.to_bytes()
    assert len(data) == struct.size_of()
    assert SCHEMA.read(data) == struct


@pytest.mark.ported("ProtocolSerializationTest.testNulls")
@pytest.mark.parametrize("field", SCHEMA.fields, ids=str)
def test_only_nullable_fields_take_null(field: Any) -> None:
    struct = filled().set(field, None)
    if field.definition.type.is_nullable():
        struct.validate()
        assert SCHEMA.read(struct.to_bytes()).get(field) is None
        return
    with pytest.raises(SchemaException):
        struct.validate()
    with pytest.raises(SchemaException):
        struct.to_bytes()


@pytest.mark.ported("ProtocolSerializationTest.testDefault")
def test_default_stands_for_a_value_that_was_not_set() -> None:
    schema = Schema(Field("field", INT32, "doc", 42))
    struct = Struct(schema)
    assert struct.get("field") == 42
    struct.validate()
    assert schema.read(struct.to_bytes()).get("field") == 42


@pytest.mark.ported("ProtocolSerializationTest.testNullableDefault")
def test_null_may_be_the_default() -> None:
    schema = Schema(Field("field", NULLABLE_BYTES, "doc", None))
    struct = Struct(schema)
    assert struct.get("field") is None
    struct.validate()


def test_default_must_fit_its_type() -> None:
    with pytest.raises(SchemaException, match="hello is not an Integer"):
        Field("field", INT32, "doc", "hello")


@pytest.mark.ported("ProtocolSerializationTest.testReadArraySizeTooLarge")
def test_array_size_beyond_the_buffer() -> None:
    for array in (ArrayOf(INT8), ArrayOf(STRING)):
        schema = Schema(Field("field", array))
        with pytest.raises(
            SchemaException, match="Error reading field 'field': Error reading array of size 2147483647, only 4 bytes"
        ):
            schema.read(b"\x7f\xff\xff\xff" + bytes(4))


@pytest.mark.ported("ProtocolSerializationTest.testReadNegativeArraySize")
def test_negative_array_size() -> None:
    with pytest.raises(SchemaException, match="Error reading field 'field': Array size -1 cannot be negative"):
        Schema(Field("field", ArrayOf(INT8))).read(b"\xff\xff\xff\xff" + bytes(4))


@pytest.mark.ported("ProtocolSerializationTest.testReadStringSizeTooLarge")
def test_string_size_beyond_the_buffer() -> None:
    for type_ in (STRING, NULLABLE_STRING):
        with pytest.raises(SchemaException, match="Error reading string of length 10, only 4 bytes available"):
            Schema(Field("field", type_)).read(b"\0\x0a" + bytes(4))


@pytest.mark.ported("ProtocolSerializationTest.testReadNegativeStringSize")
def test_negative_string_size() -> None:
    with pytest.raises(SchemaException, match="String length -1 cannot be negative"):
        Schema(Field("field", STRING)).read(b"\xff\xff")
    assert Schema(Field("field", NULLABLE_STRING)).read(b"\xff\xff").get("field") is None


@pytest.mark.ported("ProtocolSerializationTest.testReadBytesSizeTooLarge")
def test_bytes_size_beyond_the_buffer() -> None:
    for type_ in (BYTES, NULLABLE_BYTES, RECORDS):
        with pytest.raises(SchemaException, match="Error reading bytes of size 1000000000, only 4 bytes available"):
            Schema(Field("field", type_)).read((10**9).to_bytes(4, "big") + bytes(4))


@pytest.mark.ported("ProtocolSerializationTest.testReadNegativeBytesSize")
def test_negative_bytes_size() -> None:
    with pytest.raises(SchemaException, match="Bytes size -20 cannot be negative"):
        Schema(Field("field", BYTES)).read((-20).to_bytes(4, "big", signed=True))


@pytest.mark.ported("ProtocolSerializationTest.testToString")
def test_struct_in_words() -> None:
    shown = str(filled())
    assert shown.startswith("{boolean=True,int8=1,int16=1")
    assert "nullable_string=null" in shown
    assert "struct={field=[1,2,3]}" in shown


def test_text_that_is_too_long_is_refused() -> None:
    schema = Schema(Field("field", STRING))
    with pytest.raises(SchemaException, match="String length 32768 is larger than the maximum string length"):
        Struct(schema).set("field", "x" * 32768).to_bytes()


def test_malformed_text_is_read_with_the_replacement_character() -> None:
    assert Schema(Field("field", STRING)).read(b"\0\x02a\xff").get("field") == "a\ufffd"


@pytest.mark.parametrize("type_", [STRING, NULLABLE_STRING, COMPACT_STRING, COMPACT_NULLABLE_STRING])
def test_text_that_could_not_be_written_again_is_refused(type_: Type) -> None:
    schema = Schema(Field("field", type_))
    good = schema.read(_length(type_, 10922) + b"\xff" * 10922)
    assert schema.read(good.to_bytes()).get("field") == "\ufffd" * 10922
    assert schema.read(_length(type_, 32767) + b"x" * 32767).get("field") == "x" * 32767
    for read in (schema.read_from, schema.read_at):
        with pytest.raises(SchemaException, match="String of 10923 bytes is not UTF-8"):
            read(memoryview(_length(type_, 10923) + b"\xff" * 10923), 0)


def _length(type_: Type, length: int) -> bytes:
    return unsigned_varint(length + 1) if "COMPACT" in type_.name else length.to_bytes(2, "big")


def test_number_out_of_range_is_refused() -> None:
    with pytest.raises(SchemaException, match="Error writing field 'field': 128 is not a Byte"):
        Struct(Schema(Field("field", INT8))).set("field", 128).to_bytes()


def test_failed_write_leaves_the_parts_as_they_were() -> None:
    schema = Schema(Field("first", STRING), Field("second", STRING))
    parts: list[Any] = [b"before"]
    with pytest.raises(SchemaException):
        schema.write(parts, Struct(schema).set("first", "a"))
    assert parts[0] == b"before"


def test_bytes_are_slices_of_the_message() -> None:
    message = bytearray(b"\0\0\0\x03abc")
    read = Schema(Field("field", BYTES)).read(message).get("field")
    assert isinstance(read, memoryview)
    message[4] = ord("x")
    assert bytes(read) == b"xbc"


def test_duplicate_field_is_refused() -> None:
    with pytest.raises(SchemaException, match="Schema contains a duplicate field: a"):
        Schema(Field("a", INT8), Field("a", INT8))


def test_unknown_field_and_foreign_field_are_refused() -> None:
    struct = filled()
    with pytest.raises(SchemaException, match="No such field: absent"):
        struct.get("absent")
    foreign = Schema(Field("boolean", BOOLEAN)).fields[0]
    with pytest.raises(SchemaException, match="Attempt to access field 'boolean' from a different schema instance"):
        struct.get(foreign)
    assert struct.get_or_else("absent", 7) == 7
    assert struct.set_if_exists("absent", 7) is struct


FLEXIBLE = Schema(
    Field("name", COMPACT_STRING),
    Field("inner", CompactArrayOf(Schema(Field("id", INT32), Field("_tagged_fields", TaggedFields())))),
    Field("_tagged_fields", TaggedFields({1: Field("known", INT32)})),
)


def test_unknown_tags_are_kept_at_every_level() -> None:
    inner = Struct(FLEXIBLE).instance("inner").set("id", 5)
    inner.set("_tagged_fields", {127: RawTaggedField(127, b"abc"), 300: RawTaggedField(300, b"")})
    struct = Struct(FLEXIBLE).set("name", "n").set("inner", [inner])
    struct.set("_tagged_fields", {1: 42, 127: RawTaggedField(127, b"x" * 200)})
    data = struct.to_bytes()
    read = FLEXIBLE.read(data)
    assert read == struct
    assert read.to_bytes() == data
    assert read.get("_tagged_fields")[1] == 42
    assert FLEXIBLE.is_flexible
    for cut in range(len(data)):
        with pytest.raises(SchemaException):
            FLEXIBLE.read(data[:cut])


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (b"\x02\x05\x00\x05\x00", "Invalid or out-of-order tag 5"),
        (b"\x02\x06\x00\x05\x00", "Invalid or out-of-order tag 5"),
        (b"\x01\x05\x7f\x00", "Error reading field 5 of size 127, only 1 bytes available"),
        (b"\x7f\x05\x00", "Error reading 127 tagged fields"),
        (b"\xff\xff\xff\xff\xff\x01", "Varint is too long"),
    ],
)
def test_malformed_tag_section(section: bytes, reason: str) -> None:
    with pytest.raises(SchemaException, match=reason):
        Schema(Field("_tagged_fields", TaggedFields())).read(section)
