#!/usr/bin/env python3
"""Compares the replicas of topics."""

from _launch import main

main("kafka_py.tools.replica_verification_tool")
