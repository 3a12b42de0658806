#!/usr/bin/env python3
"""Shows and changes the configuration of topics, brokers, users and clients."""

from _launch import main

main("kafka_py.admin.config_command")
