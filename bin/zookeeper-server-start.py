#!/usr/bin/env python3
"""Starts a single-node ZooKeeper (or, with --real, Apache ZooKeeper)."""

from _launch import main

main("kafka_py.embedded.main")
