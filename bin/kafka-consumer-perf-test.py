#!/usr/bin/env python3
"""Measures how fast records can be consumed."""

from _launch import main

main("kafka_py.tools.consumer_performance")
