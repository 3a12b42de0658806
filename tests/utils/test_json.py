"""JSON is written as Kafka writes it, and read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.utils.json import (
    DecodeJson,
    Json,
    JsonArray,
    JsonMappingException,
    JsonObject,
    JsonProcessingException,
    JsonValue,
)


@pytest.mark.ported("JsonTest.testJsonParse")
def test_parse() -> None:
    assert Json.parse_full("{}") == JsonObject({})
    assert Json.parse_full("") is None
    assert Json.parse_full('{"foo":"bar"s}') is None
    assert Json.parse_full("NaN") is None
    assert Json.parse_full('{"foo":"bar", "is_enabled":true}') == JsonObject({"foo": "bar", "is_enabled": True})
    assert Json.parse_full(" [1, 2, 3]") == JsonArray([1, 2, 3])

    decoded = Json.parse_full(Json.legacy_encode_as_string({"foo1": "bar1\\,bar2", "foo2": "\\bar"}))
    assert decoded == Json.parse_full(r'{"foo1":"bar1\\,bar2", "foo2":"\\bar"}')
    # what 1.0 wrote, with backslashes bare, is read as well
    assert decoded == Json.parse_full(r'{"foo1":"bar1\,bar2", "foo2":"\\bar"}'.replace(r"\\bar", r"\bar"))


def test_parse_bytes() -> None:
    assert Json.parse_bytes('"ü"'.encode()) == JsonValue("ü")
    assert Json.parse_bytes(b"\xff") is None
    with pytest.raises(JsonProcessingException):
        Json.try_parse_bytes(b"{")


VALUES: list[tuple[Any, str]] = [
    (None, "null"),
    (1, "1"),
    (1.0, "1.0"),
    ("str", '"str"'),
    (True, "true"),
    (False, "false"),
    ([], "[]"),
    ([None], "[null]"),
    ([1, "2", [3], None], '[1,"2",[3],null]'),
    ({}, "{}"),
    ({"b": 1, "a": None}, '{"b":1,"a":null}'),
    ({"a": [1, 2], "c": [3, 4]}, '{"a":[1,2],"c":[3,4]}'),
    ("str1\\,str2", '"str1\\\\,str2"'),
    ('"quoted"', '"\\"quoted\\""'),
    ("größe/", '"größe/"'),
]


@pytest.mark.ported("JsonTest.testEncodeAsString")
@pytest.mark.ported("JsonTest.testEncodeAsBytes")
@pytest.mark.ported("JsonTest.testLegacyEncodeAsString")
@pytest.mark.parametrize(("value", "text"), VALUES)
def test_encode(value: Any, text: str) -> None:
    assert Json.encode_as_string(value) == text
    assert Json.encode_as_bytes(value) == text.encode()
    assert Json.legacy_encode_as_string(value) == text


def test_encode_what_has_no_json_form() -> None:
    assert Json.legacy_encode_as_string(n for n in (1, 2)) == "[1,2]"
    with pytest.raises(ValueError, match="Unknown argument"):
        Json.legacy_encode_as_string(object())
    with pytest.raises(TypeError):
        Json.encode_as_string(object())


@pytest.mark.ported("JsonValueTest", changes="kinds in place of implicits")
def test_decode() -> None:
    value = Json.parse_full(
        '{"bool":false,"int":1234,"long":3000000000,"double":16.244355,"string":"s","array":[4,2],"object":{"a":1},"null":null}'
    )
    assert value is not None
    fields = value.as_json_object
    assert fields["bool"].to(bool) is False
    assert fields["int"].to(int) == 1234
    assert fields["int"].to("long") == 1234
    assert fields["int"].to(float) == 1234.0
    assert fields["long"].to("long") == 3_000_000_000
    assert fields["double"].to(float) == 16.244355
    assert fields["string"].to(str) == "s"
    assert fields["array"].to(DecodeJson.seq(int)) == [4, 2]
    assert fields["object"].to(DecodeJson.map_of(int)) == {"a": 1}
    assert fields["null"].to(DecodeJson.option(int)) is None
    assert fields["int"].to(DecodeJson.option(int)) == 1234
    assert [element.to(int) for element in fields["array"].as_json_array] == [4, 2]
    assert dict(fields)["string"] == JsonValue("s")
    assert fields.get("none") is None
    assert fields["array"].as_json_object_option is None
    assert fields["object"].as_json_array_option is None
    assert str(fields["object"]) == '{"a":1}'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("true", int),
        ("1", bool),
        ("3000000000", int),
        ("1.5", "long"),
        ('"1"', int),
        ("1", str),
        ("true", float),
        ("{}", DecodeJson.seq(int)),
        ("[]", DecodeJson.map_of(int)),
        ('["a"]', DecodeJson.seq(int)),
    ],
)
def test_decode_refuses_other_kinds(text: str, kind: Any) -> None:
    value = Json.parse_full(text)
    assert value is not None
    with pytest.raises(JsonMappingException, match="Expected"):
        value.to(kind)
    error, _ = value.to_either(kind)
    assert error is not None


def test_missing_field_and_wrong_container() -> None:
    with pytest.raises(JsonMappingException, match="No such field exists: `a`"):
        JsonObject({})["a"]
    with pytest.raises(JsonMappingException):
        _ = JsonArray([]).as_json_object
    with pytest.raises(JsonMappingException):
        _ = JsonObject({}).as_json_array
    with pytest.raises(TypeError):
        JsonValue(1).to("short")
    assert JsonValue(1) != JsonValue(True)
