"""Cells of a session, as tests run them."""


def ok(session, *texts):
    """Runs cells, none of which may fail."""
    for text in texts:
        session.run(text).raise_if_failed()


def value(session, text):
    """What a cell shows, as text; none may fail."""
    return session.run(text).raise_if_failed().value
