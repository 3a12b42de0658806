"""Command lines as Kafka's tools take them.

Ours; behaves like joptsimple, the library those tools use: `--topic t` and `--topic=t`, abbreviations that are
unambiguous, options that may come several times, `--` before what is no option, and its messages and help table.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TextIO


class OptionException(Exception):
    """The command line makes no sense.

    Mirrors: joptsimple.OptionException
    """


def _always(options: OptionSet) -> bool:
    return True


class OptionSpec:
    """One option: its names, its argument, its meaning. The setters answer the option, to be chained.

    Mirrors: joptsimple.ArgumentAcceptingOptionSpec, joptsimple.OptionSpecBuilder
    """

    def __init__(self, names: Sequence[str], description: str) -> None:
        self.names = tuple(names)
        self.description = description
        # "", "required" or "optional"
        self.argument = ""  # thread: of its owner
        self.argument_name = ""  # thread: of its owner
        self.type: Callable[[str], Any] = str  # thread: of its owner
        self.type_name = ""  # thread: of its owner
        self.defaults: list[Any] = []  # thread: of its owner
        self.separator: str | None = None  # thread: of its owner
        self.is_required = False  # thread: of its owner
        self.is_available = _always  # thread: of its owner

    def with_required_arg(self) -> OptionSpec:
        """The option takes an argument."""
        self.argument = "required"
        return self

    def with_optional_arg(self) -> OptionSpec:
        """The option may take an argument."""
        self.argument = "optional"
        return self

    def described_as(self, name: str) -> OptionSpec:
        """What the help calls the argument."""
        self.argument_name = name
        return self

    def of_type(self, type_: Callable[[str], Any], name: str = "") -> OptionSpec:
        """What makes a value of the text; ValueError of it is reported to the user."""
        self.type = type_
        self.type_name = name or {int: "Integer", float: "Double", str: "String"}.get(type_, "")  # type: ignore[call-overload]
        return self

    def defaults_to(self, *values: Any) -> OptionSpec:
        """The values when the option is not given."""
        self.defaults = list(values)
        return self

    def with_values_separated_by(self, separator: str) -> OptionSpec:
        """One argument holds several values."""
        self.separator = separator
        return self

    def required(self) -> OptionSpec:
        """The option must be given."""
        self.is_required = True
        return self

    def available_if(self, other: OptionSpec) -> OptionSpec:
        """The option may be given only beside the other one."""
        self.is_available = lambda options: options.has(other)
        return self

    def convert(self, text: str) -> list[Any]:
        """The argument's value or values; OptionException if one is no such value."""
        values = text.split(self.separator) if self.separator else [text]
        try:
            return [self.type(value) for value in values]
        except (ValueError, TypeError) as e:
            raise OptionException(f"Cannot parse argument '{text}' of option {self.display_name}") from e

    @property
    def display_name(self) -> str:
        """The longest name, or all in brackets."""
        return self.names[0] if len(self.names) == 1 else "[" + ", ".join(f"'{n}'" for n in self.names) + "]"

    def __str__(self) -> str:
        return f"[{', '.join(self.names)}]"


class OptionSet:
    """What a command line said.

    Mirrors: joptsimple.OptionSet
    """

    def __init__(self, parser: OptionParser) -> None:
        self._parser = parser
        self._values: dict[OptionSpec, list[Any]] = {}
        self._detected: list[OptionSpec] = []
        self.non_option_arguments: list[str] = []

    def _spec(self, option: OptionSpec | str) -> OptionSpec:
        return option if isinstance(option, OptionSpec) else self._parser.find(option)

    def add(self, spec: OptionSpec, values: Sequence[Any]) -> None:
        """The option came, with these values."""
        self._values.setdefault(spec, []).extend(values)
        self._detected.append(spec)

    def has(self, option: OptionSpec | str) -> bool:
        """Whether the option was given."""
        return self._spec(option) in self._values

    def has_argument(self, option: OptionSpec | str) -> bool:
        """Whether the option was given with an argument."""
        return bool(self._values.get(self._spec(option)))

    def values_of(self, option: OptionSpec | str) -> list[Any]:
        """All values given, else the defaults."""
        spec = self._spec(option)
        return list(self._values.get(spec) or spec.defaults)

    def value_of(self, option: OptionSpec | str) -> Any:
        """The value, else the default, else None; OptionException if there are several."""
        values = self.values_of(option)
        if len(values) > 1:
            raise OptionException(
                f"Found multiple arguments for option {self._spec(option).display_name}, but you asked for only one"
            )
        return values[0] if values else None

    def specs(self) -> list[OptionSpec]:
        """The options given, in the order they came, as often as they came."""
        return list(self._detected)


class OptionParser:
    """Declares options and parses command lines.

    Mirrors: joptsimple.OptionParser
    """

    def __init__(self, allow_abbreviations: bool = True) -> None:
        self._allow_abbreviations = allow_abbreviations
        self._specs: list[OptionSpec] = []
        self._by_name: dict[str, OptionSpec] = {}
        self._exclusive: list[tuple[OptionSpec, ...]] = []

    def accepts(self, name: str, description: str = "") -> OptionSpec:
        """A new option of that name."""
        return self.accepts_all([name], description)

    def accepts_all(self, names: Sequence[str], description: str = "") -> OptionSpec:
        """A new option of these names."""
        spec = OptionSpec(names, description)
        self._specs.append(spec)
        self._by_name.update(dict.fromkeys(names, spec))
        return spec

    def mutually_exclusive(self, *specs: OptionSpec) -> None:
        """Of these options one may be given."""
        self._exclusive.append(specs)

    def find(self, name: str) -> OptionSpec:
        """The option of that name or abbreviation; OptionException if there is none or more than one."""
        if name in self._by_name:
            return self._by_name[name]
        candidates = {id(s): s for n, s in self._by_name.items() if n.startswith(name)} if name else {}
        if self._allow_abbreviations and len(candidates) == 1:
            return next(iter(candidates.values()))
        raise OptionException(f"{name} is not a recognized option")

    def parse(self, args: Sequence[str]) -> OptionSet:
        """What the arguments say; OptionException if they make no sense."""
        options = OptionSet(self)
        rest = list(args)
        while rest:
            arg = rest.pop(0)
            if arg == "--":
                options.non_option_arguments += rest
                break
            if arg.startswith("--") or (arg.startswith("-") and len(arg) > 1):
                self._parse_option(arg.removeprefix("-").removeprefix("-"), rest, options)
            else:
                options.non_option_arguments.append(arg)
        self._check_required(options)
        return options

    def _parse_option(self, text: str, rest: list[str], options: OptionSet) -> None:
        name, equals, value = text.partition("=")
        spec = self.find(name)
        if not spec.argument:
            if equals:
                raise OptionException(f"Option {spec.display_name} does not allow an argument")
            options.add(spec, [])
        elif equals:
            options.add(spec, spec.convert(value))
        elif spec.argument == "required":
            if not rest:
                raise OptionException(f"Option {spec.display_name} requires an argument")
            options.add(spec, spec.convert(rest.pop(0)))
        elif rest and not rest[0].startswith("-"):
            options.add(spec, spec.convert(rest.pop(0)))
        else:
            options.add(spec, [])

    def _check_required(self, options: OptionSet) -> None:
        missing = [s.display_name for s in self._specs if s.is_required and not options.has(s)]
        if missing:
            raise OptionException(f"Missing required option(s) [{', '.join(missing)}]")
        unavailable = {s for s in self._specs if options.has(s) and not s.is_available(options)}
        for specs in self._exclusive:
            given = [s for s in specs if options.has(s)]
            unavailable.update(given if len(given) > 1 else ())
        if unavailable:
            names = ", ".join(s.display_name for s in self._specs if s in unavailable)
            raise OptionException(f"Option(s) [{names}] are unavailable given other options on the command line")

    def print_help_on(self, sink: TextIO) -> None:
        """Write the table of options, by name, in 80 columns."""
        rows = [(self._usage(spec), self._explanation(spec)) for spec in sorted(self._specs, key=lambda s: s.names)]
        left = max(min(39, max([len(usage) for usage, _ in rows], default=6)), 6)
        right = 79 - left - 2
        lines = [("Option", "Description"), ("------", "-----------"), *rows]
        for usage, explanation in lines:
            first = textwrap.wrap(usage, left, subsequent_indent="  ", break_on_hyphens=False)
            second = textwrap.wrap(explanation, right, break_on_hyphens=False, subsequent_indent="  ") or [""]
            for i in range(max(len(first), len(second))):
                a = first[i] if i < len(first) else ""
                b = second[i] if i < len(second) else ""
                sink.write(f"{a:<{left}}  {b:<{right}}".rstrip() + "\n")

    @staticmethod
    def _usage(spec: OptionSpec) -> str:
        names = ", ".join(("-" if len(n) == 1 else "--") + n for n in spec.names)
        label = ": ".join(filter(None, (spec.type_name, spec.argument_name)))
        if not spec.argument:
            return names
        return f"{names} <{label or 'String'}>" if spec.argument == "required" else f"{names} [{label or 'String'}]"

    @staticmethod
    def _explanation(spec: OptionSpec) -> str:
        text = spec.description
        if spec.is_required:
            text = f"{text} (required)"
        if spec.defaults:
            shown = spec.defaults[0] if len(spec.defaults) == 1 else spec.defaults
            text = f"{text} (default: {shown})"
        return text
