"""Runs a module as `python -m` does, for as long as somebody holds the other end of stdin.

    python -m shop.demo.tether MODULE ARGUMENT...

The pipe closes when its holder ends, however it ends, so that no child outlives a killed parent.
"""

import os
import runpy
import signal
import sys
import threading
import time

_PATIENCE = 10.0


def main() -> None:
    module = sys.argv[1]
    del sys.argv[0]
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with_the_pipe() -> None:
    # Not sys.stdin: a thread that reads it holds a lock which the interpreter's end waits for.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    main()
