"""What the tools that measure and check have in common: arguments, logging, client metrics.

Mirrors: tools/src/main/java/org/apache/kafka/tools/ToolsUtils.java @ 1.1.1
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kafka_py.utils.log4j_configurator import PatternLayout


class ToolArgumentParser(argparse.ArgumentParser):
    """Behaves like argparse4j, which Kafka's Java tools use and which itself is argparse in Java.

    No arguments at all ask for help; what makes no sense ends the process with 1.
    """

    def parse(self, args: Sequence[str]) -> argparse.Namespace:
        """What the arguments say."""
        if not args:
            self.print_help()
            raise SystemExit(0)
        return self.parse_args(list(args))

    def error(self, message: str) -> NoReturn:
        """Usage and message to standard error, and the end."""
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise SystemExit(1)


def log_to_stderr() -> None:
    """Warnings and worse go to standard error, in the form of Kafka's config/tools-log4j.properties."""
    handler = logging.StreamHandler()
    handler.setFormatter(PatternLayout("[%d] %p %m (%c)%n"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class ClientMetrics:
    """Keeps the last statistics that librdkafka gave; it gives them while the client is polled."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] = {}  # thread: main

    def settings(self) -> dict[str, Any]:
        """What a client needs to be set to."""
        return {"statistics.interval.ms": 200, "stats_cb": self.keep}

    def keep(self, text: str) -> None:
        """Statistics have come."""
        self._last = json.loads(text)

    def print_metrics(self) -> None:
        """All numbers about the client as a whole, by name, in the form of ToolsUtils.printMetrics."""
        tags = f"{{client-id={self._last.get('client_id', '')}}}"
        group = f"{self._last.get('type', 'client')}-metrics"
        metrics = {
            f"{group}:{name}:{tags}": value for name, value in self._last.items() if isinstance(value, int | float)
        }
        width = max(map(len, metrics), default=0)
        print(f"\n{'Metric Name':<{width}}   Value")
        for name, value in sorted(metrics.items()):
            print(f"{name:<{width}} : {value:.3f}" if isinstance(value, float) else f"{name:<{width}} : {value}")
