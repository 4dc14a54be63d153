import socket


def free_port(wanted: int) -> int:
    """The wanted port, or any other where it is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            # As servers do, so that a port just left counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("this machine has no free port")
