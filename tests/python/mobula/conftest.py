"""What the tests of MobulaOP's package share."""

import pytest

import tarsia.mobula as mobula


@pytest.fixture
def load(tmp_path):
    """Writes NAME/NAME.cpp, NAME/NAME.py and other files of that folder, and loads it. Gives mobula.func."""
    before = dict(mobula.func._bound), dict(mobula.glue.CUSTOM_OP_LIST)

    def write_and_load(name, source=None, script=None, **files):
        folder = tmp_path / name
        folder.mkdir()
        for file, text in {f"{name}.cpp": source, f"{name}.py": script, **files}.items():
            if text is not None:
                (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        mobula.op.load(name, str(tmp_path))
        return mobula.func

    yield write_and_load
    # Names that come again in another test would be warned about.
    for held, kept in zip((mobula.func._bound, mobula.glue.CUSTOM_OP_LIST), before):
        for name in set(held) - set(kept):
            del held[name]
