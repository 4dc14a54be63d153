"""Real servers for the tests: private, started once per test process, surely stopped.

`postgres.py` is the server, `postgres_binaries.py` finds its programs, `keeper.py` guards its
life, `availability.py` says loudly which servers were missing, `fixtures.py` is what tests ask for.
"""
