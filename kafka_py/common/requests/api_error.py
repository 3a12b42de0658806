"""An error code with the message that explains it.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ApiError.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import ApiException
from kafka_py.common.protocol.errors import Errors

_MAX_STRING = 32767
_MAX_CHARACTER = 4  # bytes


class ApiError:
    """An error and, where there is more to say than the code says, a message.

    Mirrors: org.apache.kafka.common.requests.ApiError
    Differs: a message that repeats so long a name or value that it does not fit into a response is cut. In Java the
             response cannot be written then, and all that was asked for is answered with UNKNOWN_SERVER_ERROR.
    """

    __slots__ = ("_error", "_message")

    NONE: ClassVar[ApiError]

    def __init__(self, error: Errors, message: str | None = None) -> None:
        self._error = error
        self._message = message

    @staticmethod
    def from_throwable(t: BaseException) -> ApiError:
        """The error of an exception; its message only if it is not the error's own."""
        error = Errors.for_exception(t)
        message = str(t) if t.args else None
        return ApiError(error, None if message == error.message() else message)

    def short_message(self) -> str | None:
        """The message as far as it fits into a response; None for NONE."""
        message = self._message
        if self._error is Errors.NONE or message is None or len(message) <= _MAX_STRING // _MAX_CHARACTER:
            return None if self._error is Errors.NONE else message
        return message.encode("utf-8", "replace")[:_MAX_STRING].decode("utf-8", "ignore")

    def is_(self, error: Errors) -> bool:
        """Whether this is the given error."""
        return self._error is error

    def is_failure(self) -> bool:
        """Whether this is any error but NONE."""
        return self._error is not Errors.NONE

    def is_success(self) -> bool:
        """Whether this is NONE."""
        return self._error is Errors.NONE

    def error(self) -> Errors:
        """The error."""
        return self._error

    def message(self) -> str | None:
        """The message, None where the code says it all."""
        return self._message

    def message_with_fallback(self) -> str:
        """The message, or the error's own."""
        return self._error.message() if self._message is None else self._message

    def exception(self) -> ApiException | None:
        """The exception of the error with the message; None for NONE."""
        return self._error.exception(self._message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiError) and self._error is other._error and self._message == other._message

    def __hash__(self) -> int:
        return hash((self._error.code, self._message))

    def __str__(self) -> str:
        return f"ApiError(error={self._error}, message={'null' if self._message is None else self._message})"

    __repr__ = __str__


ApiError.NONE = ApiError(Errors.NONE)
