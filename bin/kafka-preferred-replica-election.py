#!/usr/bin/env python3
"""Gives leadership of partitions back to their first replicas."""

from _launch import main

main("kafka_py.admin.preferred_replica_leader_election_command")
