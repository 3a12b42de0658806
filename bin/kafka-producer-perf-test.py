#!/usr/bin/env python3
"""Measures how fast records can be produced."""

from _launch import main

main("kafka_py.tools.producer_performance")
