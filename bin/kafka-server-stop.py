#!/usr/bin/env python3
"""Stops the brokers that were started on this machine."""

from _launch import main

main("kafka_py.kafka_server_stop")
