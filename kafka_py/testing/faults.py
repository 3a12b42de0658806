"""The verbs of a cluster as a table: for commands, whose words are text, and for buttons, which are listed as JSON.

Ours, no original. A name is that of a method of Cluster; so are its arguments, and its help is the method's first line.
"""

from __future__ import annotations

import inspect
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
    *("move_leader", "elect_preferred", "unclean_election"),
    *("await_isr", "await_leader", "await_controller", "await_registered", "await_forgotten"),
    *("await_group_state", "await_no_under_replicated"),
)
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


class Argument(NamedTuple):
    """What a verb wants to be told. type: int, float, str, bool, ids (``0,2``) or end (a broker's id or zookeeper)."""

    name: str
    type: str
    optional: bool

    def parse(self, text: str) -> Any:
        """The value that the text stands for. Raises FaultError for none."""
        try:
            return _PARSERS[self.type](text)
        except ValueError as e:
            raise FaultError(f"{self.name} is no {self.type}: {text!r}") from e


def _end(text: str) -> int | str:
    return ZOOKEEPER if text == ZOOKEEPER else int(text)


def _bool(text: str) -> bool:
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError(text)
    return text.lower() in _TRUE


def _ids(text: str) -> list[int]:
    return [int(id) for id in text.split(",") if id]


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": _bool,
    "ids": _ids,
    "end": _end,
}
_TYPES = {"End": "end", "Sequence[int]": "ids"}


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
        known = {argument.name for argument in self.signature}
        if unknown := sorted(arguments.keys() - known):
            raise FaultError(f"{self.name} knows no {', '.join(unknown)}; {self.usage}")
        if missing := [a.name for a in self.signature if not a.optional and a.name not in arguments]:
            raise FaultError(f"{self.name} wants {', '.join(missing)}; {self.usage}")
        values = {a.name: a.parse(arguments[a.name]) for a in self.signature if a.name in arguments}
        with cluster.lock:
            try:
                result = getattr(cluster, self.name)(**values)
            except (KafkaException, KeeperException, ValueError) as e:
                raise FaultError(f"{self.name}: {e}") from e
        words = " ".join([self.name, *(f"{name}={text}" for name, text in arguments.items())])
        return f"{words}: {'done' if result is None else result}"

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


def _fault(name: str) -> Fault:
    method = getattr(Cluster, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    signature = tuple(
        Argument(p.name, _type(str(p.annotation)), p.default is not inspect.Parameter.empty) for p in parameters
    )
    return Fault(name, signature, (inspect.getdoc(method) or "").partition("\n")[0])


def _type(annotation: str) -> str:
    plain = annotation.removesuffix(" | None")
    return _TYPES.get(plain, plain)


FAULTS: Mapping[str, Fault] = {name: _fault(name) for name in _VERBS}
