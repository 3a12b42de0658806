"""Requests that are declared messages.

Ours in its form: what Kafka 2.5.1 puts into two classes, the generated XRequestData and the XRequest around it, is one
class here, which is declared and has the name of 1.1.1.
Read next: response_message.py; heartbeat_request.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.field import NO_DEFAULT
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_error import ApiError


class RequestMessage(AbstractRequest, Message):
    """A request whose fields are declared.

    ``ANSWERED`` tells which list of the response (by its name in the schema) has an entry for each entry of which list
    here (by its attribute), at any depth: the answer to a request that failed as a whole is made by it. ``EACH_ONCE``:
    Kafka has read the request into maps, so it answers what was named twice once, and what has nothing under it never.
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {}
    EACH_ONCE: ClassVar[bool] = False

    _version: int = field(None, alias="version", default=-1)

    class Builder(AbstractRequest.Builder):
        """Holds the request until its version is known."""

        def __init__(
            self,
            request: RequestMessage,
            oldest_allowed_version: int | None = None,
            latest_allowed_version: int | None = None,
        ) -> None:
            super().__init__(request.API_KEY, oldest_allowed_version, latest_allowed_version)
            self._request = request

        def build(self, version: int | None = None) -> RequestMessage:
            return self._request.at(self._version_or_latest(version))

        def __str__(self) -> str:
            return f"(type={type(self._request).__name__}, {Message.__str__(self._request)})"

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        request, _ = cls.read(buffer, version)
        request._version = version
        return request

    def at(self, version: int) -> Self:
        """The same request at a version; nested messages are shared."""
        request: Self = type(self).blank()
        tags = ("unknown_tags",) if hasattr(self, "unknown_tags") else ()
        for name in (*(spec.name for spec in self.FIELDS), *type(self).ARGUMENTS, *tags):
            setattr(request, name, getattr(self, name))
        request._version = version
        return request

    def to_struct(self) -> Struct:
        return self.struct_at(self._version)

    def to_parts(self) -> Parts:
        out: Parts = []
        self.write(out, self._version)
        return out

    def answered(self) -> Mapping[str, str]:
        """The lists that an answer to this request as a whole has entries for."""
        return self.ANSWERED

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> Any:
        """The answer with the error wherever it has room for one, and the request's names repeated.

        It is of the API's response class, which the type checker cannot know.
        """
        response_class = self.API_KEY.response_class()
        answered = self.answered()
        made = _failed(response_class, self, ApiError.from_throwable(e), answered, throttle_time_ms)
        for spec in response_class.FIELDS if self.EACH_ONCE else ():
            nested = spec.nested()
            if nested is not None and spec.wire in answered:
                setattr(made, spec.name, _each_once(nested, getattr(made, spec.name), answered))
        return made

    def __str__(self) -> str:
        return self.to_string(True)


def _failed(cls: Any, source: Any, error: ApiError, answered: Mapping[str, str], throttle_time_ms: int = 0) -> Any:
    """A message of ``cls`` that says ``error``; fields without a default are those that name what is answered.

    Lists that nothing here corresponds to are empty.
    """
    made = cls.blank()
    for spec in cls.FIELDS:
        name, nested = spec.name, spec.nested()
        value = spec.absent_value()
        if name == "error_code":
            value = error.error().code
        elif name == "error_message":
            value = error.short_message()
        elif name == "throttle_time_ms":
            value = throttle_time_ms
        elif nested is not None and spec.wire in answered:
            entries = getattr(source, answered[spec.wire]) or ()
            value = [_failed(nested, entry, error, answered) for entry in entries]
        elif spec.default is NO_DEFAULT and spec.factory is None and not isinstance(spec.type, ListOf):
            value = getattr(source, name) if isinstance(source, Message) else source
        setattr(made, name, value)
    return made


def _each_once(cls: Any, entries: list[Any], answered: Mapping[str, str]) -> list[Any]:
    """The entries, each name once with all that stands under it, and none without any."""
    inner = next((spec for spec in cls.FIELDS if spec.nested() is not None and spec.wire in answered), None)
    names = [spec.name for spec in cls.FIELDS if spec.default is NO_DEFAULT and not isinstance(spec.type, ListOf)]
    found: dict[tuple[Any, ...], Any] = {}
    for entry in entries:
        kept = found.setdefault(tuple(getattr(entry, name) for name in names), entry)
        if inner is not None and kept is not entry:
            getattr(kept, inner.name).extend(getattr(entry, inner.name))
    if inner is None:
        return list(found.values())
    for entry in found.values():
        setattr(entry, inner.name, _each_once(inner.nested(), getattr(entry, inner.name), answered))
    return [entry for entry in found.values() if getattr(entry, inner.name)]
