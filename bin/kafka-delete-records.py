#!/usr/bin/env python3
"""Deletes the records of partitions below given offsets."""

from _launch import main

main("kafka_py.admin.delete_records_command")
