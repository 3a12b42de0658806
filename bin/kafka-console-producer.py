#!/usr/bin/env python3
"""Reads lines and produces them."""

from _launch import main

main("kafka_py.tools.console_producer")
