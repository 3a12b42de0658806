#!/usr/bin/env python3
"""Talks to a ZooKeeper: zookeeper-shell.py host:port[/path] [command...]."""

from _launch import main

main("kafka_py.embedded.shell")
