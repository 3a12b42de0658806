"""The table of a component's options: name, type, default, checks, importance and documentation.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/ConfigDef.java @ 1.1.1
"""

from __future__ import annotations

import decimal
import enum
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from kafka_py.common.config.config_value import ConfigValue
from kafka_py.common.config.types.password import Password
from kafka_py.common.errors import ConfigException

_BLANKS = "".join(map(chr, range(33)))  # what Java's trim() takes off: not all that strip() does, and more
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})\Z")
_DOUBLE = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?\Z")
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
_NO_DEFAULT = enum.Enum("_NO_DEFAULT", "VALUE")


class ConfigDef:
    """The options a component knows, and the reading of raw values into typed ones.

    Mirrors: org.apache.kafka.common.config.ConfigDef
    Differs: Java's overloads of define() are one method with keyword arguments; Python has one int type, so the
        width of INT, SHORT and LONG is checked here as java.lang.Integer.parseInt and its kin do.
    Left out: toRst, toEnrichedRst, toHtmlTable with update modes, embed, withClientSslSupport,
        withClientSaslSupport -- nothing here renders reStructuredText, embeds definitions or configures clients
    """

    class Type(enum.Enum):
        """What a value is read as.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Type
        """

        BOOLEAN = "BOOLEAN"
        STRING = "STRING"
        INT = "INT"
        SHORT = "SHORT"
        LONG = "LONG"
        DOUBLE = "DOUBLE"
        LIST = "LIST"
        CLASS = "CLASS"
        PASSWORD = "PASSWORD"

        def __str__(self) -> str:
            """The bare name, as Java prints an enum."""
            return self.name

    class Importance(enum.Enum):
        """How likely a user is to set an option.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Importance
        """

        HIGH = "HIGH"
        MEDIUM = "MEDIUM"
        LOW = "LOW"

    class Width(enum.Enum):
        """How much room a form should give the value.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Width
        """

        NONE = "NONE"
        SHORT = "SHORT"
        MEDIUM = "MEDIUM"
        LONG = "LONG"

    class Recommender(Protocol):
        """Says which values suit an option, given the others.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Recommender
        """

        def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
            """The values to offer for the option."""

        def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
            """Whether the option matters at all."""

    class Validator(Protocol):
        """A check of one typed value.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Validator
        """

        def ensure_valid(self, name: str, value: Any) -> None:
            """Raise ConfigException when the value may not stand for that option."""

    class Range:
        """A number between two bounds, either of which may be open.

        Mirrors: org.apache.kafka.common.config.ConfigDef.Range
        """

        def __init__(self, min_: float | None, max_: float | None) -> None:
            """Bounds are inclusive; None means open."""
            self.min = min_
            self.max = max_

        @classmethod
        def at_least(cls, min_: float) -> ConfigDef.Range:
            """A range that is open upwards."""
            return cls(min_, None)

        @classmethod
        def between(cls, min_: float, max_: float) -> ConfigDef.Range:
            """A range closed on both ends."""
            return cls(min_, max_)

        def ensure_valid(self, name: str, value: Any) -> None:
            """Refuse None and numbers outside the bounds."""
            if value is None:
                raise ConfigException(name, None, "Value must be non-null")
            if self.min is not None and value < self.min:
                raise ConfigException(name, value, f"Value must be at least {self.min}")
            if self.max is not None and value > self.max:
                raise ConfigException(name, value, f"Value must be no more than {self.max}")

        def __str__(self) -> str:
            """The notation of Kafka's documentation."""
            if self.min is None:
                return f"[...,{self.max}]"
            return f"[{self.min},...]" if self.max is None else f"[{self.min},...,{self.max}]"

    class ValidString:
        """A string out of a fixed set.

        Mirrors: org.apache.kafka.common.config.ConfigDef.ValidString
        """

        def __init__(self, valid_strings: Sequence[str]) -> None:
            """Take the allowed strings in the order in which messages list them."""
            self.valid_strings = list(valid_strings)

        @classmethod
        def in_(cls, *valid_strings: str) -> ConfigDef.ValidString:
            """A validator that allows just these strings."""
            return cls(valid_strings)

        def ensure_valid(self, name: str, value: Any) -> None:
            """Refuse every other string."""
            if value not in self.valid_strings:
                raise ConfigException(name, value, f"String must be one of: {', '.join(self.valid_strings)}")

        def __str__(self) -> str:
            """The allowed strings in brackets."""
            return f"[{', '.join(self.valid_strings)}]"

    class ValidList:
        """A list each of whose entries comes out of a fixed set.

        Mirrors: org.apache.kafka.common.config.ConfigDef.ValidList
        """

        def __init__(self, valid_strings: Sequence[str]) -> None:
            """Take the strings an entry may be."""
            self.valid_string = ConfigDef.ValidString(valid_strings)

        @classmethod
        def in_(cls, *valid_strings: str) -> ConfigDef.ValidList:
            """A validator that allows just these entries."""
            return cls(valid_strings)

        def ensure_valid(self, name: str, value: Any) -> None:
            """Refuse a list with another entry."""
            for entry in value:
                self.valid_string.ensure_valid(name, entry)

        def __str__(self) -> str:
            """The allowed entries in brackets."""
            return str(self.valid_string)

    class NonNullValidator:
        """Any value but None.

        Mirrors: org.apache.kafka.common.config.ConfigDef.NonNullValidator
        """

        def ensure_valid(self, name: str, value: Any) -> None:
            """Refuse None."""
            if value is None:
                raise ConfigException(name, None, "entry must be non null")

    class CompositeValidator:
        """All of several checks, in their order.

        Mirrors: org.apache.kafka.common.config.ConfigDef.CompositeValidator
        """

        def __init__(self, validators: Sequence[ConfigDef.Validator]) -> None:
            """Take the checks."""
            self._validators = tuple(validators)

        @classmethod
        def of(cls, *validators: ConfigDef.Validator) -> ConfigDef.CompositeValidator:
            """A validator made of these."""
            return cls(validators)

        def ensure_valid(self, name: str, value: Any) -> None:
            """Raise what the first failing check raises."""
            for validator in self._validators:
                validator.ensure_valid(name, value)

    class NonEmptyString:
        """None or a string with at least one character.

        Mirrors: org.apache.kafka.common.config.ConfigDef.NonEmptyString
        """

        def ensure_valid(self, name: str, value: Any) -> None:
            """Refuse the empty string."""
            if value is not None and not value:
                raise ConfigException(name, value, "String must be non-empty")

        def __str__(self) -> str:
            """The words of Kafka's documentation."""
            return "non-empty string"

    class ConfigKey:
        """One row of the table.

        Mirrors: org.apache.kafka.common.config.ConfigDef.ConfigKey
        """

        __slots__ = (
            "default_value",
            "dependents",
            "display_name",
            "documentation",
            "group",
            "importance",
            "internal_config",
            "name",
            "order_in_group",
            "recommender",
            "type",
            "validator",
            "width",
        )

        def __init__(
            self,
            name: str,
            type_: ConfigDef.Type,
            default_value: Any,
            validator: ConfigDef.Validator | None,
            importance: ConfigDef.Importance,
            documentation: str,
            *,
            group: str | None = None,
            order_in_group: int = -1,
            width: ConfigDef.Width | None = None,
            display_name: str | None = None,
            dependents: Sequence[str] = (),
            recommender: ConfigDef.Recommender | None = None,
            internal_config: bool = False,
        ) -> None:
            """Read and check the default at once: a table with a bad default cannot be built (ConfigException)."""
            self.name = name
            self.type = type_
            no_default = default_value is ConfigDef.NO_DEFAULT_VALUE
            self.default_value = default_value if no_default else ConfigDef.parse_type(name, default_value, type_)
            self.validator = validator
            self.importance = importance
            self.documentation = documentation
            self.group = group
            self.order_in_group = order_in_group
            self.width = width or ConfigDef.Width.NONE
            self.display_name = display_name or name
            self.dependents = list(dependents)
            self.recommender = recommender
            self.internal_config = internal_config
            if validator is not None and not no_default:
                validator.ensure_valid(name, self.default_value)

        def has_default(self) -> bool:
            """Whether the option may be left unset."""
            return self.default_value is not ConfigDef.NO_DEFAULT_VALUE

    NO_DEFAULT_VALUE: Final = _NO_DEFAULT.VALUE

    def __init__(self, base: ConfigDef | None = None) -> None:
        """An empty table, or a copy of another one that can be extended on its own."""
        self._config_keys: dict[str, ConfigDef.ConfigKey] = dict(base._config_keys) if base else {}
        self._groups: list[str] = list(base._groups) if base else []
        self._configs_with_no_parent: set[str] | None = None  # volatile: whoever asks first

    def names(self) -> set[str]:
        """The names of all options."""
        return set(self._config_keys)

    def default_values(self) -> dict[str, Any]:
        """Option -> default, for those that have one."""
        return {key.name: key.default_value for key in self._config_keys.values() if key.has_default()}

    def define(
        self,
        name: str,
        type_: ConfigDef.Type,
        default_value: Any = NO_DEFAULT_VALUE,
        validator: ConfigDef.Validator | None = None,
        importance: ConfigDef.Importance = Importance.MEDIUM,
        documentation: str = "",
        *,
        group: str | None = None,
        order_in_group: int = -1,
        width: ConfigDef.Width | None = None,
        display_name: str | None = None,
        dependents: Sequence[str] = (),
        recommender: ConfigDef.Recommender | None = None,
    ) -> ConfigDef:
        """Add an option; the table itself is returned, so that calls can be chained."""
        return self.define_key(
            ConfigDef.ConfigKey(
                name,
                type_,
                default_value,
                validator,
                importance,
                documentation,
                group=group,
                order_in_group=order_in_group,
                width=width,
                display_name=display_name,
                dependents=dependents,
                recommender=recommender,
            )
        )

    def define_key(self, key: ConfigDef.ConfigKey) -> ConfigDef:
        """Add a ready row; raises ConfigException for a name that is there already."""
        if key.name in self._config_keys:
            raise ConfigException(f"Configuration {key.name} is defined twice.")
        if key.group is not None and key.group not in self._groups:
            self._groups.append(key.group)
        self._config_keys[key.name] = key
        self._configs_with_no_parent = None
        return self

    def define_internal(
        self, name: str, type_: ConfigDef.Type, default_value: Any, importance: ConfigDef.Importance
    ) -> ConfigDef:
        """Add an option that documentation does not show."""
        key = ConfigDef.ConfigKey(
            name, type_, default_value, None, importance, "", group="", display_name=name, internal_config=True
        )
        return self.define_key(key)

    def config_keys(self) -> dict[str, ConfigDef.ConfigKey]:
        """Name -> row, in the order of definition."""
        return self._config_keys

    def groups(self) -> list[str]:
        """The groups in the order of their first use."""
        return self._groups

    def parse(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Typed value of every option of the table, from given values and defaults.

        Options that the table does not know are left alone. Raises ConfigException for a value that cannot be
        read or fails its check, and for a required option that is missing.
        """
        undefined = self._undefined_dependent_configs()
        if undefined:
            joined = ",".join(undefined)
            raise ConfigException(
                f"Some configurations in are referred in the dependents, but not defined: {joined}",
            )
        parse_value = self.parse_value
        return {name: parse_value(key, props.get(name), name in props) for name, key in self._config_keys.items()}

    def parse_value(self, key: ConfigDef.ConfigKey, value: Any, is_set: bool) -> Any:
        """Typed and checked value of one option; its default when it is not set."""
        if is_set:
            parsed = ConfigDef.parse_type(key.name, value, key.type)
        elif key.default_value is _NO_DEFAULT.VALUE:
            raise ConfigException(_missing(key.name))
        else:
            parsed = key.default_value
        if key.validator is not None:
            key.validator.ensure_valid(key.name, parsed)
        return parsed

    def validate(self, props: Mapping[str, Any]) -> list[ConfigValue]:
        """As validate_all, without the names."""
        return list(self.validate_all(props).values())

    def validate_all(self, props: Mapping[str, Any]) -> dict[str, ConfigValue]:
        """Read every option and collect what is wrong with each instead of raising at the first."""
        config_values = {name: ConfigValue(name) for name in self._config_keys}
        for name in self._undefined_dependent_configs():
            undefined = ConfigValue(name)
            undefined.add_error_message(f"{name} is referred in the dependents, but not defined.")
            undefined.set_visible(False)
            config_values[name] = undefined
        parsed: dict[str, Any] = {}
        roots = self.get_configs_with_no_parent()
        for name in roots:
            self._parse_for_validate(name, props, parsed, config_values)
        for name in roots:
            self._validate(name, parsed, config_values)
        return config_values

    def get_configs_with_no_parent(self) -> set[str]:
        """Options that no other option names as its dependent."""
        if self._configs_with_no_parent is None:
            with_parent = {dependent for key in self._config_keys.values() for dependent in key.dependents}
            self._configs_with_no_parent = set(self._config_keys) - with_parent
        return self._configs_with_no_parent

    def _undefined_dependent_configs(self) -> list[str]:
        known = self._config_keys
        return sorted({d for key in known.values() for d in key.dependents if d not in known})

    def _parse_for_validate(
        self, name: str, props: Mapping[str, Any], parsed: dict[str, Any], configs: Mapping[str, ConfigValue]
    ) -> None:
        key = self._config_keys.get(name)
        if key is None:
            return
        config = configs[name]
        value = None
        if name in props:
            try:
                value = ConfigDef.parse_type(name, props[name], key.type)
            except ConfigException as e:
                config.add_error_message(str(e))
        elif not key.has_default():
            config.add_error_message(_missing(name))
        else:
            value = key.default_value
        if key.validator is not None:
            try:
                key.validator.ensure_valid(name, value)
            except ConfigException as e:
                config.add_error_message(str(e))
        config.set_value(value)
        parsed[name] = value
        for dependent in key.dependents:
            self._parse_for_validate(dependent, props, parsed, configs)

    def _validate(self, name: str, parsed: Mapping[str, Any], configs: Mapping[str, ConfigValue]) -> None:
        key = self._config_keys.get(name)
        if key is None:
            return
        value = configs[name]
        if key.recommender is not None:
            try:
                recommended = key.recommender.valid_values(name, parsed)
                before = value.recommended_values()
                value.set_recommended_values([r for r in recommended if r in before] if before else recommended)
                value.set_visible(key.recommender.visible(name, parsed))
            except ConfigException as e:
                value.add_error_message(str(e))
        for dependent in key.dependents:
            self._validate(dependent, parsed, configs)

    @staticmethod
    def parse_type(name: str, value: Any, type_: ConfigDef.Type) -> Any:
        """Read text (or accept an already typed value) as the type; None stays None.

        Raises ConfigException with Kafka's words for what is wrong.
        """
        if value is None:
            return None
        return _READERS[type_](name, value.strip(_BLANKS) if isinstance(value, str) else value, value)

    @staticmethod
    def convert_to_string(parsed_value: Any, type_: ConfigDef.Type | None = None) -> str | None:
        """The text that parse_type would read back, except that a password stays hidden."""
        if parsed_value is None:
            return None
        if isinstance(parsed_value, bool):
            return "true" if parsed_value else "false"
        if isinstance(parsed_value, float):
            return _double_text(parsed_value)
        if type_ is ConfigDef.Type.LIST:
            return ",".join(map(str, parsed_value))
        if isinstance(parsed_value, type):
            return f"{parsed_value.__module__}.{parsed_value.__qualname__}"
        return str(parsed_value)

    @staticmethod
    def convert_to_string_map_with_password_values(configs: Mapping[str, Any]) -> dict[str, str]:
        """Text of every value that is not None, passwords in the clear: only for what stays in this process."""
        result = {}
        for name, value in configs.items():
            if isinstance(value, Password):
                text: str | None = value.value()
            else:
                text = ConfigDef.convert_to_string(value, ConfigDef.Type.LIST if isinstance(value, list) else None)
            if text is not None:
                result[name] = text
        return result

    def sorted_configs(self) -> list[ConfigDef.ConfigKey]:
        """Options by group, required ones first, then by importance and name: the order of documentation."""
        groups = {group: n for n, group in enumerate(self._groups)}
        importance = list(ConfigDef.Importance)
        return sorted(
            self._config_keys.values(),
            key=lambda k: (
                -1 if k.group is None else groups[k.group],
                k.order_in_group,
                k.has_default(),
                importance.index(k.importance),
                k.name,
            ),
        )

    def to_html_table(self) -> str:
        """The documentation table of Kafka's web site."""
        rows = ['<table class="data-table"><tbody>', "<tr>"]
        rows += [f"<th>{header}</th>" for header in self.headers()] + ["</tr>"]
        for key in self.sorted_configs():
            if not key.internal_config:
                cells = "".join(f"<td>{self.get_config_value(key, header)}</td>" for header in self.headers())
                rows += ["<tr>", cells, "</tr>"]
        return "\n".join([*rows, "</tbody></table>"])

    def headers(self) -> list[str]:
        """Column titles of the documentation table."""
        return ["Name", "Description", "Type", "Default", "Valid Values", "Importance"]

    def get_config_value(self, key: ConfigDef.ConfigKey, header_name: str) -> str:
        """One cell of the documentation table."""
        match header_name:
            case "Name":
                return key.name
            case "Description":
                return key.documentation
            case "Type":
                return key.type.name.lower()
            case "Default":
                if not key.has_default():
                    return ""
                text = self.convert_to_string(key.default_value, key.type)
                return "null" if text is None else text or '""'
            case "Valid Values":
                return "" if key.validator is None else str(key.validator)
            case "Importance":
                return key.importance.name.lower()
        raise RuntimeError(f"Can't find value for header '{header_name}' in {key.name}")


def _missing(name: str) -> str:
    return f'Missing required configuration "{name}" which has no default value.'


def _type_name(value: Any) -> str:
    return type(value).__qualname__


def _read_boolean(name: str, trimmed: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(trimmed, str):
        lowered = trimmed.lower()
        if lowered == "true":
            return True
        if lowered == "false":
            return False
    raise ConfigException(name, value, "Expected value to be either true or false")


def _read_password(name: str, trimmed: Any, value: Any) -> Password:
    if isinstance(value, Password):
        return value
    if isinstance(trimmed, str):
        return Password(trimmed)
    raise ConfigException(name, value, f"Expected value to be a string, but it was a {_type_name(value)}")


def _read_string(name: str, trimmed: Any, value: Any) -> str:
    if isinstance(trimmed, str):
        return trimmed
    raise ConfigException(name, value, f"Expected value to be a string, but it was a {_type_name(value)}")


def _integer_reader(type_: ConfigDef.Type, bits: int, words: str) -> Callable[[str, Any, Any], int]:
    limit = 1 << (bits - 1)

    def read(name: str, trimmed: Any, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(trimmed, str):
            # int() would also read "1_000" and " 7", and refuse some thousand digits with an error of its own.
            match = _INTEGER.match(trimmed)
            if match is None:
                raise ConfigException(name, value, f"Not a number of type {type_}")
            number = int("".join(match.groups()))
        else:
            raise ConfigException(name, value, f"Expected value to be a {words}, but it was a {_type_name(value)}")
        if not -limit <= number < limit:
            raise ConfigException(name, value, f"Not a number of type {type_}")
        return number

    return read


def _read_double(name: str, trimmed: Any, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(trimmed, str):
        raise ConfigException(name, value, f"Expected value to be a double, but it was a {_type_name(value)}")
    match = _DOUBLE.match(trimmed)  # float() would also read "nan", "inf" and "1_0", and not "1.5d"
    if match is None:
        raise ConfigException(name, value, "Not a number of type DOUBLE")
    return float(match[1])


def _double_text(number: float) -> str:
    """A double as Java writes it: 0.5, 1.0E7, 1.7976931348623157E308."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    sign, digits, exponent = decimal.Decimal(repr(number)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{int(exponent) + len(rest)}"


def _read_list(name: str, trimmed: Any, value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(trimmed, str):
        return _COMMA.split(trimmed) if trimmed else []
    raise ConfigException(name, value, "Expected a comma separated list.")


def _load_class(dotted: str) -> type:
    module, _, attribute = dotted.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, type):
        raise ValueError(f"{dotted} is not a class")
    return found


def _read_class(name: str, trimmed: Any, value: Any) -> type:
    if isinstance(value, type):
        return value
    if isinstance(trimmed, str):
        try:
            return _load_class(trimmed)
        except (ImportError, AttributeError, ValueError) as e:
            raise ConfigException(name, value, f"Class {value} could not be found.") from e
    raise ConfigException(name, value, "Expected a Class instance or class name.")


_READERS: dict[ConfigDef.Type, Callable[[str, Any, Any], Any]] = {
    ConfigDef.Type.BOOLEAN: _read_boolean,
    ConfigDef.Type.PASSWORD: _read_password,
    ConfigDef.Type.STRING: _read_string,
    ConfigDef.Type.INT: _integer_reader(ConfigDef.Type.INT, 32, "32-bit integer"),
    ConfigDef.Type.SHORT: _integer_reader(ConfigDef.Type.SHORT, 16, "16-bit integer (short)"),
    ConfigDef.Type.LONG: _integer_reader(ConfigDef.Type.LONG, 64, "64-bit integer (long)"),
    ConfigDef.Type.DOUBLE: _read_double,
    ConfigDef.Type.LIST: _read_list,
    ConfigDef.Type.CLASS: _read_class,
}
