#!/usr/bin/env python3
"""Lists, describes and deletes consumer groups, and sets their offsets."""

from _launch import main

main("kafka_py.admin.consumer_group_command")
