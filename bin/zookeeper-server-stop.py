#!/usr/bin/env python3
"""Stops the ZooKeepers that were started on this machine."""

from _launch import main

main("kafka_py.embedded.stop")
