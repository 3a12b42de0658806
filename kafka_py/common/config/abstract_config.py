"""Typed access to a component's options, remembering which of them were used.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/AbstractConfig.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.types.password import Password
from kafka_py.common.configurable import Configurable
from kafka_py.common.errors import ConfigException, KafkaException
from kafka_py.utils.logging import Logging

T = TypeVar("T")


class AbstractConfig(Logging):
    """Given values read through a ConfigDef, with defaults for the rest.

    Mirrors: org.apache.kafka.common.config.AbstractConfig
    Thread: built by one thread, read by all; `used` only ever grows.
    Differs: getShort, getInt and getLong answer Python's int; the maps handed out are plain dictionaries whose
        look-ups are not recorded, except those of RecordingMap.get.
    """

    def __init__(self, definition: ConfigDef, originals: Mapping[Any, Any], do_log: bool = True) -> None:
        """Read all options; raises ConfigException for one that is missing, unreadable or out of bounds."""
        for key, value in originals.items():
            if not isinstance(key, str):
                raise ConfigException(str(key), value, "Key must be a string.")
        self._originals: dict[str, Any] = dict(originals)
        self._definition = definition
        self._used: set[str] = set()
        self._values: dict[str, Any] = definition.parse(self._originals)
        updates = self.post_process_parsed_config(dict(self._values))
        if updates:
            self._values.update(updates)
            definition.parse(self._values)
        if do_log:
            self.log_all()

    def post_process_parsed_config(self, parsed_values: dict[str, Any]) -> dict[str, Any]:
        """Values that follow from other values; a subclass answers those it wants to replace."""
        return {}

    def get(self, key: str) -> Any:
        """The typed value of an option; raises ConfigException for one the definition does not know."""
        try:
            value = self._values[key]
        except KeyError:
            raise ConfigException(f"Unknown configuration '{key}'") from None
        self._used.add(key)
        return value

    def ignore(self, key: str) -> None:
        """Count the option as used."""
        self._used.add(key)

    def get_short(self, key: str) -> int | None:
        """A 16-bit option; None when it has no value."""
        found: int | None = self.get(key)
        return found

    def get_int(self, key: str) -> int | None:
        """A 32-bit option; None when it has no value."""
        found: int | None = self.get(key)
        return found

    def get_long(self, key: str) -> int | None:
        """A 64-bit option; None when it has no value."""
        found: int | None = self.get(key)
        return found

    def get_double(self, key: str) -> float | None:
        """A floating point option; None when it has no value."""
        found: float | None = self.get(key)
        return found

    def get_list(self, key: str) -> list[str]:
        """An option that is a list of strings."""
        found: list[str] = self.get(key)
        return found

    def get_boolean(self, key: str) -> bool:
        """An option that is on or off."""
        found: bool = self.get(key)
        return found

    def get_string(self, key: str) -> str | None:
        """A text option; None when it has no value."""
        found: str | None = self.get(key)
        return found

    def get_password(self, key: str) -> Password | None:
        """A secret option; None when it has no value."""
        found: Password | None = self.get(key)
        return found

    def get_class(self, key: str) -> type | None:
        """An option that names a class; None when it has no value."""
        found: type | None = self.get(key)
        return found

    def type_of(self, key: str) -> ConfigDef.Type | None:
        """The type of an option; None for one the definition does not know."""
        config_key = self._definition.config_keys().get(key)
        return None if config_key is None else config_key.type

    def unused(self) -> set[str]:
        """The given options that nobody has asked for."""
        return set(self._originals) - self._used

    def originals(self) -> RecordingMap:
        """A copy of what was given."""
        return RecordingMap(self, self._originals)

    def originals_strings(self) -> RecordingMap:
        """As originals(); raises TypeError when a value is not text."""
        for key, value in self._originals.items():
            if not isinstance(value, str):
                raise TypeError(
                    f"Non-string value found in original settings for key {key}: "
                    f"{None if value is None else type(value).__qualname__}"
                )
        return RecordingMap(self, self._originals)

    def originals_with_prefix(self, prefix: str, strip: bool = True) -> RecordingMap:
        """What was given under names that begin with the prefix and go on after it."""
        cut = len(prefix)
        found = {
            key[cut:] if strip else key: value
            for key, value in self._originals.items()
            if key.startswith(prefix) and len(key) > cut
        }
        return RecordingMap(self, found, prefix)

    def values_with_prefix_override(self, prefix: str) -> RecordingMap:
        """All values, those given under the prefix taking the place of the general ones."""
        result = dict(self._values)
        keys = self._definition.config_keys()
        cut = len(prefix)
        for name, value in self._originals.items():
            if name.startswith(prefix) and len(name) > cut:
                short = name[cut:]
                # A second prefix, such as the SASL mechanism's, may stand before the option's own name.
                config_key = keys.get(short) or keys.get(short[short.find(".") + 1 :])
                if config_key is not None:
                    result[short] = self._definition.parse_value(config_key, value, True)
        return RecordingMap(self, result, prefix, with_ignore_fallback=True)

    def values_with_prefix_all_or_nothing(self, prefix: str) -> RecordingMap:
        """The values given under the prefix, or all general values when there is none."""
        with_prefix = self.originals_with_prefix(prefix)
        if not with_prefix:
            return RecordingMap(self, self._values, "", with_ignore_fallback=True)
        keys = self._definition.config_keys()
        result = {
            name: self._definition.parse_value(keys[name], value, True)
            for name, value in with_prefix.items()
            if name in keys
        }
        return RecordingMap(self, result, prefix, with_ignore_fallback=True)

    def values(self) -> RecordingMap:
        """A copy of all typed values."""
        return RecordingMap(self, self._values)

    def log_unused(self) -> None:
        """Warn about every given option that nobody has asked for."""
        for key in sorted(self.unused()):
            self.warn("The configuration '%s' was supplied but isn't a known config.", key)

    def log_all(self) -> None:
        """Write all values to the log, secrets hidden."""
        lines = [f"\t{name} = {_shown(value)}" for name, value in sorted(self._values.items())]
        self.info("%s values: \n%s\n", type(self).__name__, "\n".join(lines))

    def get_configured_instance(self, key: str, t: type[T]) -> T | None:
        """An object of the class an option names, configured; None when the option has no value."""
        cls = self.get_class(key)
        return None if cls is None else self._configured(cls, t, self.originals())

    def get_configured_instances(
        self, key: str, t: type[T], config_overrides: Mapping[str, Any] | None = None
    ) -> list[T]:
        """One configured object for each class a list option names."""
        configs = self.originals()
        configs.update(config_overrides or {})
        objects = []
        for entry in self.get_list(key) or []:
            try:
                cls = ConfigDef.parse_type(key, entry, ConfigDef.Type.CLASS)
            except ConfigException as e:
                raise KafkaException(f"{entry} ClassNotFoundException exception occurred") from e
            objects.append(self._configured(cls, t, configs))
        return objects

    def _configured(self, cls: type, t: type[T], configs: Mapping[str, Any]) -> T:
        instance = cls()
        if not isinstance(instance, t):
            raise KafkaException(f"{cls.__qualname__} is not an instance of {t.__qualname__}")
        if isinstance(instance, Configurable):
            instance.configure(configs)
        return instance

    def __eq__(self, other: object) -> bool:
        """Equal to a configuration of the same class that was given the same options."""
        return type(self) is type(other) and isinstance(other, AbstractConfig) and self._originals == other._originals

    def __hash__(self) -> int:
        """Hash of what was given."""
        return hash(frozenset((key, str(value)) for key, value in self._originals.items()))


class RecordingMap(dict[str, Any]):
    """A map of options that notes which of them are looked up with get().

    Mirrors: org.apache.kafka.common.config.AbstractConfig.RecordingMap
    """

    def __init__(
        self,
        config: AbstractConfig,
        content: Mapping[str, Any],
        prefix: str = "",
        with_ignore_fallback: bool = False,
    ) -> None:
        """Remember under which prefix the looked up options were given."""
        super().__init__(content)
        self._config = config
        self._prefix = prefix
        self._with_ignore_fallback = with_ignore_fallback

    def get(self, key: str, default: Any = None) -> Any:
        """The value, the option being counted as used."""
        self._config.ignore(self._prefix + key)
        if self._with_ignore_fallback:
            self._config.ignore(key)
        return super().get(key, default)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return ConfigDef.convert_to_string(value) or ""
