#!/usr/bin/env python3
"""Runs the main of any class of Kafka's: kafka-run-class.py [-daemon] kafka.Kafka server.properties."""

import re
import sys

from _launch import run


def module_of(name: str) -> str:
    """kafka.admin.TopicCommand -> kafka_py.admin.topic_command; a name of kafka_py's own stays as it is."""
    if name.startswith("kafka_py."):
        return name
    package, _, cls = re.sub(r"^(org\.apache\.)?kafka\.", "kafka_py.", name).rpartition(".")
    return f"{package}.{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', cls).lower()}"


daemon = sys.argv[1:2] if sys.argv[1:2] in (["-daemon"], ["--daemon"]) else []
rest = sys.argv[1 + len(daemon) :]
if not rest:
    sys.exit(f"USAGE: {sys.argv[0]} [-daemon] classname [opts]")
if daemon:
    run("", sys.argv[0], [*daemon, *rest])
else:
    run(module_of(rest[0]), sys.argv[0], rest[1:])
