"""What validating one option gave.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/ConfigValue.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ConfigValue:
    """An option's value, what is wrong with it, which values suit it and whether it matters.

    Mirrors: org.apache.kafka.common.config.ConfigValue
    Differs: Java's overloaded setters are set_value, set_recommended_values and set_visible.
    """

    __slots__ = ("_error_messages", "_name", "_recommended_values", "_value", "_visible")

    def __init__(
        self,
        name: str,
        value: Any = None,
        recommended_values: Sequence[Any] = (),
        error_messages: Sequence[str] = (),
    ) -> None:
        """Start visible and, by default, without errors."""
        self._name = name
        self._value = value  # thread: of its owner
        self._recommended_values = list(recommended_values)  # thread: of its owner
        self._error_messages = list(error_messages)
        self._visible = True  # thread: of its owner

    def name(self) -> str:
        """The option."""
        return self._name

    def value(self) -> Any:
        """Its typed value; None when it could not be read."""
        return self._value

    def recommended_values(self) -> list[Any]:
        """The values to offer."""
        return self._recommended_values

    def error_messages(self) -> list[str]:
        """What is wrong, in the order found."""
        return self._error_messages

    def visible(self) -> bool:
        """Whether the option matters, given the others."""
        return self._visible

    def set_value(self, value: Any) -> None:
        """Replace the value."""
        self._value = value

    def set_recommended_values(self, recommended_values: Sequence[Any]) -> None:
        """Replace the values to offer."""
        self._recommended_values = list(recommended_values)

    def add_error_message(self, error_message: str) -> None:
        """Note one more thing that is wrong."""
        self._error_messages.append(error_message)

    def set_visible(self, visible: bool) -> None:
        """Say whether the option matters."""
        self._visible = visible

    def __eq__(self, other: object) -> bool:
        """Equal when all five parts are."""
        if not isinstance(other, ConfigValue):
            return NotImplemented
        return all(getattr(self, slot) == getattr(other, slot) for slot in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # it changes while options are validated

    def __repr__(self) -> str:
        """All parts, for messages."""
        return (
            f"[{self._name},{self._value},{self._recommended_values},{self._error_messages},"
            f"{'true' if self._visible else 'false'}]"
        )
