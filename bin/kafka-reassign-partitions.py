#!/usr/bin/env python3
"""Brings partitions to other brokers, and replicas to other log directories."""

from _launch import main

main("kafka_py.admin.reassign_partitions_command")
