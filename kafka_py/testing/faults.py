"""The verbs of a cluster as a table: for commands, whose words are text, for buttons and for JSON.

Ours, no original. A name is that of a method of Cluster; so are its arguments, and its help is the method's first line.

Read next: cluster_command.py, which speaks JSON with programs in other languages
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_py.common.errors import KafkaException
from kafka_py.testing.cluster import Cluster, FaultError
from kafka_py.testing.links import ZOOKEEPER
from kafka_py.zookeeper.keeper_exception import KeeperException

_VERBS = (
    *("kill", "terminate", "stop", "cont", "start_broker", "restart"),
    *("cut", "slow_link", "heal", "hold_fetcher", "release_fetcher", "links"),
    *("expire_session", "stop_zookeeper", "start_zookeeper"),
    *("fail_log_dir", "heal_log_dir", "corrupt_tail", "fill_request_queue", "drain_request_queue"),
    *("create_topic", "delete_topic", "describe_topic"),
    *("move_leader", "elect_preferred", "unclean_election"),
    *("await_isr", "await_leader", "await_controller", "await_registered", "await_forgotten"),
    *("await_group_state", "await_no_under_replicated"),
)
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


class Argument(NamedTuple):
    """What a verb wants to be told.

    type: int, float, str, bool, ids (``0,2``), end (a broker's id or zookeeper) or settings (``name=value,…``). In JSON
    ids are a list, and settings an object.
    """

    name: str
    type: str
    optional: bool

    def parse(self, text: str) -> Any:
        """The value that the text stands for. Raises FaultError for none."""
        try:
            return _PARSERS[self.type](text)
        except ValueError as e:
            raise FaultError(f"{self.name} is no {self.type}: {text!r}") from e

    def check(self, value: Any) -> Any:
        """The value that JSON gave, as the verb wants it. Raises FaultError for one of another type."""
        if self.type == "settings" and isinstance(value, dict):
            return {name: _setting(each) for name, each in value.items()}
        if not _FITS[self.type](value):
            raise FaultError(f"{self.name} is no {self.type}: {json.dumps(value)}")
        return value


def _end(text: str) -> int | str:
    return ZOOKEEPER if text == ZOOKEEPER else int(text)


def _bool(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError(text)
    return text.lower() in _TRUE


def _ids(text: str) -> list[int]:
    return [int(id) for id in text.split(",") if id]


def _settings(text: str) -> dict[str, str]:
    """``a=b,c=d``; what has no = goes on with the value before, as a list of cleanup policies does."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if equals:
            found[name] = value
        elif found:
            found[next(reversed(found))] += f",{part}"
        else:
            raise ValueError(text)
    return found


def _setting(value: Any) -> str:
    """A number or a truth value as a file of properties has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": _bool,
    "ids": _ids,
    "end": _end,
    "settings": _settings,
}
_FITS: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": lambda value: _is_int(value) or isinstance(value, float),
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "ids": lambda value: isinstance(value, list) and all(map(_is_int, value)),
    "end": lambda value: _is_int(value) or value == ZOOKEEPER,
    "settings": lambda value: False,
}
_TYPES = {"End": "end", "Sequence[int]": "ids", "Mapping[str, str]": "settings"}


class Fault(NamedTuple):
    """A verb: what it wants, what it does, and how to have it done."""

    name: str
    signature: tuple[Argument, ...]
    help: str

    def call(self, cluster: Cluster, arguments: Mapping[str, str]) -> str:
        """Do it and say that it is done, with what the verb gives.

        Raises FaultError for arguments that are wrong or missing and for what cannot be done now, RuntimeError for a
        process that does not start, OSError, TimeoutError included. One verb at a time is at work, whoever asks.
        """
        self._refuse(arguments)
        values = {a.name: a.parse(arguments[a.name]) for a in self.signature if a.name in arguments}
        with cluster.lock:
            result = self._do(cluster, values)
        words = " ".join([self.name, *(f"{name}={text}" for name, text in arguments.items())])
        return f"{words}: {'done' if result is None else result}"

    def give(self, of: Any, arguments: Mapping[str, Any]) -> Any:
        """The same with values as JSON has them, null for left out; gives what the verb gives."""
        given = {name: value for name, value in arguments.items() if value is not None}
        self._refuse(given)
        return self._do(of, {a.name: a.check(given[a.name]) for a in self.signature if a.name in given})

    def _refuse(self, arguments: Mapping[str, Any]) -> None:
        """Raises FaultError for arguments that are unknown or missing."""
        known = {argument.name for argument in self.signature}
        if unknown := sorted(arguments.keys() - known):
            raise FaultError(f"{self.name} knows no {', '.join(unknown)}; {self.usage}")
        if missing := [a.name for a in self.signature if not a.optional and a.name not in arguments]:
            raise FaultError(f"{self.name} wants {', '.join(missing)}; {self.usage}")

    def _do(self, of: Any, values: Mapping[str, Any]) -> Any:
        try:
            return getattr(of, self.name)(**values)
        except (KafkaException, KeeperException, ValueError) as e:
            raise FaultError(f"{self.name}: {e}") from e

    @property
    def usage(self) -> str:
        """How the command is written."""
        return " ".join([self.name, *(f"[{a.name}]" if a.optional else a.name for a in self.signature)])

    def named(self, words: Sequence[str]) -> dict[str, str]:
        """The arguments of a command: in their order, or as ``name=value``, or ``--name`` for a bool.

        Raises FaultError for too many.
        """
        found: dict[str, str] = {}
        names = [argument.name for argument in self.signature]
        for word in words:
            name, equals, value = word.partition("=")
            option = name.removeprefix("--").replace("-", "_")
            if word.startswith("--"):
                found[option] = value if equals else "true"
            elif equals and name in names:
                found[name] = value
            else:
                left = [name for name in names if name not in found]
                if not left:
                    raise FaultError(f"Too many arguments: {word}; {self.usage}")
                found[left[0]] = word
        return found

    def listing(self) -> dict[str, Any]:
        """For JSON: name, help, arguments with name, type and whether they may be left out."""
        return {"name": self.name, "help": self.help, "arguments": [a._asdict() for a in self.signature]}


def fault_of(name: str, owner: type = Cluster) -> Fault:
    """The row of a method."""
    method = getattr(owner, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    signature = tuple(
        Argument(p.name, _type(str(p.annotation)), p.default is not inspect.Parameter.empty) for p in parameters
    )
    return Fault(name, signature, (inspect.getdoc(method) or "").partition("\n")[0])


def _type(annotation: str) -> str:
    plain = annotation.removesuffix(" | None")
    return _TYPES.get(plain, plain)


FAULTS: Mapping[str, Fault] = {name: fault_of(name) for name in _VERBS}
