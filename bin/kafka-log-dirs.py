#!/usr/bin/env python3
"""Shows the partitions in the brokers' log directories, as JSON."""

from _launch import main

main("kafka_py.admin.log_dirs_command")
