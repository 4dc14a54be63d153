"""Real servers for the tests: private, started once per test process, surely stopped.

`postgres.py`, `mariadb.py`, `pgbouncer.py` and `sshd.py` are the servers, `…_binaries.py` find
their programs, `debian_packages.py` fetches what is not installed, `place.py` gives them a
directory and a port, `keeper.py` guards their life, `availability.py` says loudly which were
missing, `fixtures.py` is what tests ask for. `sftp_server.py` is one more for SFTP, inside the
test's own process, with faults on demand; `budget_line.py` is a line that breaks, `small_disk.py` a
disk that is soon full.
"""
