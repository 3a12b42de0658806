"""How beans become Prometheus series: names and labels as jmx_exporter makes them with its rules for Kafka.

Ours; follows the rule format of jmx_exporter, so that dashboards made for Kafka find their series. An attribute is
written as `domain<type=T, name=N, k=v><>Attribute`; the first rule whose pattern is found in that text names it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """Pattern, name and labels; `$n` stands for a group of the pattern. Kind: gauge, counter or untyped."""

    pattern: str
    name: str
    kind: str = "gauge"
    labels: tuple[tuple[str, str], ...] = ()


_TWO = r", (.+)=(.+), (.+)=(.+)"
_ONE = r", (.+)=(.+)"
_THREE_LABELS = (("clientId", "$3"), ("topic", "$4"), ("partition", "$5"))

DEFAULT_RULES: tuple[Rule, ...] = (
    # special cases
    Rule(r"kafka.server<type=(.+), name=(.+), clientId=(.+), topic=(.+), partition=(.*)><>Value", "kafka_server_$1_$2",
         labels=_THREE_LABELS),
    Rule(r"kafka.server<type=(.+), name=(.+), clientId=(.+), brokerHost=(.+), brokerPort=(.+)><>Value",
         "kafka_server_$1_$2", labels=(("clientId", "$3"), ("broker", "$4:$5"))),
    Rule(r"kafka.coordinator.(\w+)<type=(.+), name=(.+)><>Value", "kafka_coordinator_$1_$2_$3"),
    # counters of events
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)PerSec\w*" + _TWO + "><>Count", "kafka_$1_$2_$3_total", "counter",
         (("$4", "$5"), ("$6", "$7"))),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)PerSec\w*" + _ONE + "><>Count", "kafka_$1_$2_$3_total", "counter",
         (("$4", "$5"),)),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)PerSec\w*><>Count", "kafka_$1_$2_$3_total", "counter"),
    # quotas
    Rule(r"kafka.server<type=(.+), user=(.+), client-id=(.+)><>([a-z-]+)", "kafka_server_quota_$4",
         labels=(("resource", "$1"), ("user", "$2"), ("clientId", "$3"))),
    Rule(r"kafka.server<type=(.+), client-id=(.+)><>([a-z-]+)", "kafka_server_quota_$3",
         labels=(("resource", "$1"), ("clientId", "$2"))),
    Rule(r"kafka.server<type=(.+), user=(.+)><>([a-z-]+)", "kafka_server_quota_$3",
         labels=(("resource", "$1"), ("user", "$2"))),
    # how idle threads are: meters of the idle time
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*><>MeanRate", "kafka_$1_$2_$3_percent"),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*><>OneMinuteRate", "kafka_$1_$2_$3_percent_oneminuterate"),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*><>Value", "kafka_$1_$2_$3_percent"),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*" + _ONE + "><>Value", "kafka_$1_$2_$3_percent",
         labels=(("$4", "$5"),)),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*" + _ONE + "><>MeanRate", "kafka_$1_$2_$3_percent",
         labels=(("$4", "$5"),)),
    # gauges
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _TWO + "><>Value", "kafka_$1_$2_$3",
         labels=(("$4", "$5"), ("$6", "$7"))),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _ONE + "><>Value", "kafka_$1_$2_$3", labels=(("$4", "$5"),)),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)><>Value", "kafka_$1_$2_$3"),
    # histograms and timers, as summaries
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _TWO + "><>Count", "kafka_$1_$2_$3_count", "untyped",
         (("$4", "$5"), ("$6", "$7"))),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _TWO + r"><>(\d+)thPercentile", "kafka_$1_$2_$3",
         labels=(("$4", "$5"), ("$6", "$7"), ("quantile", "0.$8"))),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _ONE + "><>Count", "kafka_$1_$2_$3_count", "untyped", (("$4", "$5"),)),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)" + _ONE + r"><>(\d+)thPercentile", "kafka_$1_$2_$3",
         labels=(("$4", "$5"), ("quantile", "0.$6"))),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)><>Count", "kafka_$1_$2_$3_count", "untyped"),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)><>(\d+)thPercentile", "kafka_$1_$2_$3", labels=(("quantile", "0.$4"),)),
    # the other metrics library: one bean per group and tags
    Rule(r"kafka.server<type=([\w-]+-metrics)" + _TWO + r"><>([\w.-]+)", "kafka_server_$1_$6",
         labels=(("$2", "$3"), ("$4", "$5"))),
    Rule(r"kafka.server<type=([\w-]+-metrics)" + _ONE + r"><>([\w.-]+)", "kafka_server_$1_$4", labels=(("$2", "$3"),)),
    Rule(r"kafka.server<type=([\w-]+)><>([\w.-]+)", "kafka_server_$1_$2"),
)  # fmt: skip

_BEAN_PART = re.compile(r'([^=,]+)=("(?:\\.|[^"\\])*"|[^,]*)')


class Series(NamedTuple):
    """What an attribute is called in Prometheus."""

    name: str
    kind: str
    labels: tuple[tuple[str, str], ...]


class RuleBook:
    """Applies rules and remembers the outcome, for an attribute's name never changes."""

    def __init__(self, rules: tuple[Rule, ...] = DEFAULT_RULES) -> None:
        self._rules = [(re.compile(rule.pattern), rule) for rule in rules]
        self._known: dict[tuple[str, str], Series | None] = {}

    def series(self, bean: str, attribute: str) -> Series | None:
        """The attribute's series; None if no rule wants it."""
        key = (bean, attribute)
        if key not in self._known:
            self._known[key] = self._apply(bean, attribute)
        return self._known[key]

    def _apply(self, bean: str, attribute: str) -> Series | None:
        domain, _, properties = bean.partition(":")
        parts = ", ".join(f"{k}={unquote(v)}" for k, v in _BEAN_PART.findall(properties))
        text = f"{domain}<{parts}><>{attribute}"
        for pattern, rule in self._rules:
            found = pattern.search(text)
            # the attribute must be matched whole: Count is not CountSomething
            if found and found.end() == len(text):
                labels = tuple(
                    (_safe(_fill(k, found)), _fill(v, found)) for k, v in rule.labels if _fill(v, found) != ""
                )
                return Series(_safe(_fill(rule.name, found)).lower(), rule.kind, labels)
        return None

    def forget(self) -> None:
        """Start over: called when many beans have gone."""
        self._known.clear()

    def __len__(self) -> int:
        return len(self._known)


def _fill(template: str, found: re.Match[str]) -> str:
    return re.sub(r"\$(\d)", lambda m: found[int(m[1])], template)


def _safe(name: str) -> str:
    name = re.sub(r"[^a-zA-Z0-9_:]", "_", name)
    return "_" + name if name[:1].isdigit() else name


def unquote(value: str) -> str:
    """A value of a bean's name without the quotes it needed there."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], value[1:-1])
    return value
