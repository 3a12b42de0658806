#!/usr/bin/env python3
"""Starts ZooKeeper and a broker, sends a file through it and shows what happened; needs nothing but Python."""

from _venv import ensure_venv, rerun_inside

rerun_inside(ensure_venv())

from _launch import main  # noqa: E402

main("kafka_py.lab.kafka_lab")
