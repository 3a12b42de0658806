#!/usr/bin/env python3
"""Consumes as a member of a group and prints JSON about all that happens."""

from _launch import main

main("kafka_py.tools.verifiable_consumer")
