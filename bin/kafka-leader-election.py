#!/usr/bin/env python3
"""Has leaders of partitions elected."""

from _launch import main

main("kafka_py.admin.leader_election_command")
