#!/usr/bin/env python3
"""Produces growing numbers and prints JSON about each."""

from _launch import main

main("kafka_py.tools.verifiable_producer")
