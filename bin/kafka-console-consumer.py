#!/usr/bin/env python3
"""Prints the records of a topic."""

from _launch import main

main("kafka_py.tools.console_consumer")
