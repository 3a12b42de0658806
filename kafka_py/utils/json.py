"""JSON as Kafka writes it to ZooKeeper and reads it back.

Mirrors: core/src/main/scala/kafka/utils/Json.scala and utils/json/ @ 1.1.1
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


class JsonProcessingException(ValueError):
    """The text is not JSON.

    Mirrors: com.fasterxml.jackson.core.JsonProcessingException
    """


class JsonMappingException(JsonProcessingException):
    """The text is JSON, but not of the expected kind.

    Mirrors: com.fasterxml.jackson.databind.JsonMappingException
    """


def _no_such_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_no_such_constant)
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def _read_tree(text: str) -> Any:
    """The first value in the text; what follows it is not looked at, as Jackson does."""
    try:
        return _decoder.raw_decode(text.lstrip())[0]
    except ValueError as e:
        raise JsonProcessingException(str(e)) from e


class Json:
    """Encodes without spaces, keys in the order they were put in; decodes to JsonValue.

    Mirrors: kafka.utils.Json
    """

    @staticmethod
    def parse_full(text: str) -> JsonValue | None:
        """The value; None if the text is not JSON.

        Old versions wrote backslashes unescaped (SSL principals have them), so a text that does not parse is tried
        again with its backslashes doubled.
        """
        for candidate in (text, text.replace("\\", "\\\\")):
            try:
                return JsonValue.of(_read_tree(candidate))
            except JsonProcessingException:
                continue
        return None

    @staticmethod
    def parse_bytes(data: bytes) -> JsonValue | None:
        """The value; None if the bytes are not JSON in UTF-8."""
        try:
            return Json.try_parse_bytes(data)
        except JsonProcessingException:
            return None

    @staticmethod
    def try_parse_bytes(data: bytes) -> JsonValue:
        """The value; JsonProcessingException if the bytes are not JSON in UTF-8."""
        try:
            text = bytes(data).decode()
        except UnicodeDecodeError as e:
            raise JsonProcessingException(str(e)) from e
        return JsonValue.of(_read_tree(text))

    @staticmethod
    def legacy_encode_as_string(obj: Any) -> str:
        """The object as JSON: None, bool, str, number, mapping or iterable; ValueError for anything else."""
        if obj is None or isinstance(obj, bool | str | int | float):
            return _dumps(obj)
        if isinstance(obj, Mapping):
            pairs = (f"{Json.legacy_encode_as_string(k)}:{Json.legacy_encode_as_string(v)}" for k, v in obj.items())
            return "{" + ",".join(pairs) + "}"
        if isinstance(obj, Iterable) and not isinstance(obj, bytes | bytearray | memoryview):
            return "[" + ",".join(map(Json.legacy_encode_as_string, obj)) + "]"
        raise ValueError(f"Unknown argument of type {type(obj)}: {obj}")

    @staticmethod
    def encode_as_string(obj: Any) -> str:
        """The object as JSON; TypeError if it has no JSON form."""
        return _dumps(obj)

    @staticmethod
    def encode_as_bytes(obj: Any) -> bytes:
        """The object as JSON in UTF-8; TypeError if it has no JSON form."""
        return _dumps(obj).encode()


class JsonValue:
    """A parsed value that is read with its expected kind given.

    `to(kind)` takes int (32 bits), float, bool, str, the string "long", or a function made by option, seq or map_of.

    Mirrors: kafka.utils.json.JsonValue
    Left out: hashCode, equals, toString -- __hash__, __eq__ and __str__ here
    """

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    @staticmethod
    def of(node: Any) -> JsonValue:
        """The value of the right class for a parsed node."""
        if isinstance(node, dict):
            return JsonObject(node)
        if isinstance(node, list):
            return JsonArray(node)
        return JsonValue(node)

    def to(self, kind: Any) -> Any:
        """The value as that kind; JsonMappingException if it is not."""
        return DecodeJson.decode(kind, self.node)

    def to_either(self, kind: Any) -> tuple[str | None, Any]:
        """(None, value) if it is of that kind, else (what is wrong, None)."""
        try:
            return None, DecodeJson.decode(kind, self.node)
        except JsonMappingException as e:
            return str(e), None

    @property
    def as_json_object(self) -> JsonObject:
        """The object; JsonMappingException if it is none."""
        if isinstance(self, JsonObject):
            return self
        raise JsonMappingException(f"Expected JSON object, received {self}")

    @property
    def as_json_object_option(self) -> JsonObject | None:
        """The object; None if it is none."""
        return self if isinstance(self, JsonObject) else None

    @property
    def as_json_array(self) -> JsonArray:
        """The array; JsonMappingException if it is none."""
        if isinstance(self, JsonArray):
            return self
        raise JsonMappingException(f"Expected JSON array, received {self}")

    @property
    def as_json_array_option(self) -> JsonArray | None:
        """The array; None if it is none."""
        return self if isinstance(self, JsonArray) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonValue) and type(self.node) is type(other.node) and bool(self.node == other.node)

    def __hash__(self) -> int:
        return hash(_dumps(self.node))

    def __str__(self) -> str:
        return _dumps(self.node)

    __repr__ = __str__


class JsonObject(JsonValue):
    """A parsed object: `value["field"].to(str)`.

    Mirrors: kafka.utils.json.JsonObject
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> JsonValue:
        if name not in self.node:
            raise JsonMappingException(f"No such field exists: `{name}`")
        return JsonValue.of(self.node[name])

    def get(self, name: str) -> JsonValue | None:
        """The field's value; None if there is no such field."""
        return JsonValue.of(self.node[name]) if name in self.node else None

    def iterator(self) -> Iterator[tuple[str, JsonValue]]:
        """The fields in the order they were written."""
        return ((name, JsonValue.of(node)) for name, node in self.node.items())

    def __iter__(self) -> Iterator[tuple[str, JsonValue]]:
        return self.iterator()

    def __contains__(self, name: object) -> bool:
        return name in self.node


class JsonArray(JsonValue):
    """A parsed array.

    Mirrors: kafka.utils.json.JsonArray
    """

    __slots__ = ()

    def iterator(self) -> Iterator[JsonValue]:
        """The elements."""
        return map(JsonValue.of, self.node)

    def __iter__(self) -> Iterator[JsonValue]:
        return self.iterator()

    def __len__(self) -> int:
        return len(self.node)


class DecodeJson:
    """Checks that a node is of the expected kind.

    Mirrors: kafka.utils.json.DecodeJson
    Left out: decodeEither, decodeOption, decodeSeq, decodeMap, decodeIterator -- implicits; see option, seq, map_of
    """

    @staticmethod
    def decode(kind: Any, node: Any) -> Any:
        """The node as that kind; JsonMappingException if it is not."""
        found = _DECODERS.get(kind) if isinstance(kind, type | str) else kind
        if found is None:
            raise TypeError(f"no decoder for {kind}")
        return found(node)

    @staticmethod
    def option(kind: Any) -> Callable[[Any], Any]:
        """null or that kind."""
        return lambda node: None if node is None else DecodeJson.decode(kind, node)

    @staticmethod
    def seq(kind: Any) -> Callable[[Any], list[Any]]:
        """An array of that kind."""

        def decode(node: Any) -> list[Any]:
            if not isinstance(node, list):
                raise JsonMappingException(f"Expected JSON array, received {_dumps(node)}")
            return [DecodeJson.decode(kind, element) for element in node]

        return decode

    @staticmethod
    def map_of(kind: Any) -> Callable[[Any], dict[str, Any]]:
        """An object whose fields are of that kind."""

        def decode(node: Any) -> dict[str, Any]:
            if not isinstance(node, dict):
                raise JsonMappingException(f"Expected JSON object, received {_dumps(node)}")
            return {name: DecodeJson.decode(kind, value) for name, value in node.items()}

        return decode


def _expect(name: str, test: Callable[[Any], bool], convert: Callable[[Any], T]) -> Callable[[Any], T]:
    def decode(node: Any) -> T:
        if not test(node):
            raise JsonMappingException(f"Expected `{name}` value, received {_dumps(node)}")
        return convert(node)

    return decode


def _whole(node: Any, low: int, high: int) -> bool:
    return isinstance(node, int) and not isinstance(node, bool) and low <= node <= high


_DECODERS: dict[Any, Callable[[Any], Any]] = {
    bool: _expect("Boolean", lambda n: isinstance(n, bool), bool),
    float: _expect("Double", lambda n: isinstance(n, float) or _whole(n, _LONG_MIN, _LONG_MAX), float),
    int: _expect("Int", lambda n: _whole(n, _INT_MIN, _INT_MAX), int),
    "long": _expect("Long", lambda n: _whole(n, _LONG_MIN, _LONG_MAX), int),
    str: _expect("String", lambda n: isinstance(n, str), str),
    dict: _expect("Object", lambda n: isinstance(n, dict), dict),
    list: _expect("Array", lambda n: isinstance(n, list), list),
}
