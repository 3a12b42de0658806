"""Runs the main of any class of Kafka's: `kafka-run-class.py [-daemon] kafka.Kafka server.properties`.

Mirrors: bin/kafka-run-class.sh @ 1.1.1
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys

from kafka_py.tools.launch import BROKER, run


def module_of(name: str) -> str:
    """kafka.admin.TopicCommand -> kafka_py.admin.topic_command; a name of kafka_py's own stays as it is."""
    if name.startswith("kafka_py."):
        return name
    package, _, cls = re.sub(r"^(org\.apache\.)?kafka\.", "kafka_py.", name).rpartition(".")
    return f"{package}.{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', cls).lower()}"


def exists(module: str) -> bool:
    """Whether there is such a module of kafka_py's; no package on the way to it runs more than its own docstring."""
    if not re.fullmatch(r"kafka_py(\.\w+)+", module):
        return False
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package it would be in
        return False


def main(args: list[str]) -> int:
    """The status of the class's own main; 1, with what Java says, for a class that is not there."""
    if not args:
        print("USAGE: kafka-run-class.py [-daemon] classname [opts]", file=sys.stderr)
        return 1
    module = module_of(args[0])
    if not exists(module):
        print(f"Error: Could not find or load main class {args[0]}", file=sys.stderr)
        return 1
    # the broker's module must not be there before it is decided whether compiled ones are used
    if module != BROKER and not hasattr(importlib.import_module(module), "main"):
        print(
            f"Error: Main method not found in class {args[0]}, please define the main method as:\n"
            "   def main(args: list[str]) -> int",
            file=sys.stderr,
        )
        return 1
    run(module, sys.argv[0], args[1:])
    return 0
