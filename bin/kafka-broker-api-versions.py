#!/usr/bin/env python3
"""Prints which API versions the brokers of a cluster offer."""

from _launch import main

main("kafka_py.admin.broker_api_versions_command")
