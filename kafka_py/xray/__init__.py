"""Watching the broker from inside: what a request went through, told by the broker itself.

The first view is the journal of finished requests (``kafka.py.xray=on``): which threads had a request and when. The
live view of queues, purgatories and threads comes with the stage of that name.
"""
