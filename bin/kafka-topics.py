#!/usr/bin/env python3
"""Creates, deletes, describes and changes topics."""

from _launch import main

main("kafka_py.admin.topic_command")
