"""Guards that the page of errors, and the drawing in their module, show the tree as it is."""

from __future__ import annotations

from tools.errors_page import PAGE, drawing, page

from todoke import errors


def test_the_page_of_errors_is_in_step_with_the_tree() -> None:
    """api 3.11"""
    written = PAGE.read_text(encoding="utf-8")
    assert page(written) == written, "run `python tools/errors_page.py`"


def test_the_drawing_of_the_tree_shows_every_class_with_its_meaning() -> None:
    """api 3.11"""
    lines = [f"{name:<26} {meaning}".rstrip() for name, meaning in drawing()]
    assert "\n".join(lines) in (errors.__doc__ or "")


def test_every_error_says_when_it_happens_and_what_to_do() -> None:
    """api 3.11: in words of its own, not in those of the class above it"""
    ours = [one for one in vars(errors).values() if isinstance(one, type)]
    tree = [one for one in ours if issubclass(one, errors.TodokeError)]
    assert len(tree) > 15
    assert not [one.__name__ for one in tree if not {"when", "remedy"} <= set(vars(one))]
