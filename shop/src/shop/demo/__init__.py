"""The whole shop on one machine, with nothing installed beside it: `python -m shop.demo`."""
