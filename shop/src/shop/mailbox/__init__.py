"""A mail catcher: takes every mail by SMTP, delivers none, shows them on a page.

For development and tests. Runs as `python -m shop.mailbox --smtp-port 1025 --web-port 8025`.
"""
