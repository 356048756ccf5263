"""Pictures of arrays, and the command that draws them."""

import io
import re
import struct
import zlib

import numpy as np
import pytest

import tarsia
from tarsia._session import plot
from tarsia._session.commands import Commands

_BRAILLE = re.compile("[\u2801-\u28ff]")


def lines(array, *arguments, **options):
    return plot.picture(array, *arguments, **options).splitlines()


def pixels(content):
    """The pixels of a PNG whose rows have no filter, after checking its sums."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(content):
        size, name = struct.unpack(">I4s", content[at:at + 8])
        chunks[name] = content[at + 8:at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size:at + 12 + size])[0] == zlib.crc32(name + chunks[name])
        at += 12 + size
    assert b"IEND" in chunks
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_line_has_axes_with_labels():
    drawn = lines(np.arange(101), 40, 12)
    assert len(drawn) == 12 and all(len(line) <= 40 for line in drawn)
    assert drawn[0].split()[:2] == ["100", "┤"] and drawn[9].split()[0] == "0"
    assert drawn[-1].split() == ["0", "100"]
    assert _BRAILLE.search(drawn[0]).start() > 30 and _BRAILLE.search(drawn[9]).start() < 9  # it rises


def test_a_line_without_unicode():
    drawn = plot.picture(np.arange(10.0), 30, 8, unicode=False)
    assert drawn.isascii() and "*" in drawn


def test_a_number_is_its_text():
    assert plot.picture(np.array(1.5)) == "1.5\n" and plot.picture(np.array(7)) == "7\n"


@pytest.mark.parametrize("shape, said", [((0,), "no elements"), ((3, 0), "no elements"), ((4, 5, 6), "reshape"), ((2, 2, 2, 3), "reshape")])
def test_shapes_that_have_no_picture_say_what_to_do(shape, said):
    with pytest.raises(tarsia.ArgumentValueError, match=said):
        plot.picture(np.zeros(shape))


def test_complex_numbers_and_texts_have_no_picture():
    for array in (np.zeros(3, complex), np.array(["a"])):
        with pytest.raises(tarsia.ArgumentTypeError, match="no picture"):
            plot.picture(array)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), (1,), (1, 1)])
def test_dtypes_and_small_shapes(dtype, shape, tmp_path):
    array = (np.arange(np.prod(shape)) % 2).astype(dtype).reshape(shape)
    for colours in (0, 256, 1 << 24):
        assert plot.picture(array, 30, 10, colours)
    for name in ("a.png", "a.svg"):
        plot.write(tmp_path / name, array)
        assert (tmp_path / name).stat().st_size > 60


@pytest.mark.parametrize("shape", [(50,), (5, 10)])
def test_what_is_not_finite_is_left_out_and_counted(shape, tmp_path):
    array = np.arange(50.0).reshape(shape)
    array.flat[[3, 20, 21]] = np.nan, np.inf, -np.inf
    drawn = lines(array, 40, 12)
    assert drawn[-1] == "3 of 50 elements are not finite"
    assert "49" in drawn[0] or "to 49" in drawn[-2]
    plot.write(tmp_path / "a.svg", array)
    plot.write(tmp_path / "a.png", array)
    assert lines(np.full(shape, np.nan), 40, 12)[-1] == "50 of 50 elements are not finite"


def test_an_element_alone_between_gaps_is_drawn(tmp_path):
    array = np.array([np.nan, 1, np.nan, np.nan, 2, np.nan])
    assert sum(len(_BRAILLE.findall(line)) for line in lines(array, 40, 12)) == 2
    plot.write(tmp_path / "a.svg", array)
    assert (tmp_path / "a.svg").read_text().count("h0") == 2


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, 1e-300])
def test_constant_data(value):
    drawn = lines(np.full(30, value), 40, 11)
    assert sum(bool(_BRAILLE.search(line)) for line in drawn) == 1
    assert "from" in lines(np.full((4, 4), value), 40, 11)[-1]


def test_the_whole_range_of_float64():
    array = np.array([-1.7e308, 1.7e308, 0])
    assert lines(array, 40, 11)[0].startswith(" 1.7e+308 ┤") and lines(array, 40, 11)[-3].startswith("-1.7e+308 ┤")
    assert lines(array.reshape(1, 3), 40, 11)[-1] == "1 x 3, from -1.7e+308 to 1.7e+308"


def test_a_peak_of_a_huge_line_is_seen():
    array = np.zeros(1_000_000)
    array[777_777] = 1
    top = lines(array, 60, 12)[0]
    assert 0.7 < (_BRAILLE.search(top).start() - 3) / 57 < 0.85


def test_a_peak_of_a_huge_map_is_seen_and_noise_is_averaged():
    array = np.zeros((1000, 1500))
    array[900, 100] = 1
    drawn = lines(array, 60, 20)
    assert drawn[-1] == "1000 x 1500, from 0 to 1" and "".join(drawn[:-1]).count("█") == 1
    assert max(map(len, drawn)) <= 60 and len(drawn) <= 20
    board = np.indices((1000, 1000)).sum(axis=0) % 2
    assert set("".join(lines(board, 60, 20)[:-1])) <= set("▒")


@pytest.mark.parametrize("width", [1, 5, 20])
def test_narrow_terminals(width):
    for array in (np.arange(1000) * 1e-20, np.zeros((30, 300)), np.zeros((300, 30))):
        assert max(map(len, lines(array, width, 3))) <= max(width, 30)


def test_colours_of_maps():
    array = np.array([[0, 1], [2, 3]])
    true, indexed = plot.picture(array, 20, 10, 1 << 24), plot.picture(array, 20, 10, 256)
    assert "\x1b[38;2;68;1;84;48;2;68;1;84m▀" in true and "\x1b[38;5;" in indexed and "38;2" not in indexed
    assert all(line.endswith("\x1b[0m") for line in true.splitlines()[:-1])
    assert "\x1b" not in plot.picture(array, 20, 10, 0)


def test_images_are_drawn_in_their_colours(tmp_path):
    red_blue = np.array([[[255, 0, 0], [0, 0, 255]]], np.uint8)
    for array in (red_blue, red_blue / 255, red_blue.astype(np.int32)):
        assert "38;2;255;0;0" in plot.picture(array, 20, 10, 1 << 24) and "38;2;0;0;255" in plot.picture(array, 20, 10, 1 << 24)
        plot.write(tmp_path / "a.png", array)
        drawn = pixels((tmp_path / "a.png").read_bytes())
        assert drawn[0, 0].tolist() == [255, 0, 0] and drawn[-1, -1].tolist() == [0, 0, 255]
    assert lines(red_blue, 20, 10)[-1] == "1 x 2 pixels"


def test_files_of_maps_and_lines(tmp_path):
    plot.write(tmp_path / "map.png", np.arange(6).reshape(2, 3))
    drawn = pixels((tmp_path / "map.png").read_bytes())
    assert drawn.shape == (170, 255, 3) and len(np.unique(drawn.reshape(-1, 3), axis=0)) == 6
    plot.write(tmp_path / "line.PNG", np.sin(np.arange(5000)))
    assert pixels((tmp_path / "line.PNG").read_bytes()).shape == (400, 800, 3)
    plot.write(tmp_path / "map.svg", np.arange(6).reshape(2, 3))
    assert "from 0 to 5" in (tmp_path / "map.svg").read_text() and "data:image/png" in (tmp_path / "map.svg").read_text()
    for n in (3, 5000):
        plot.write(tmp_path / "line.svg", np.arange(n))
        assert f">{n - 1}</text>" in (tmp_path / "line.svg").read_text()
    with pytest.raises(tarsia.Error, match="cannot write '/nowhere/a.png'"):
        plot.write("/nowhere/a.png", np.arange(3))
    with pytest.raises(tarsia.ArgumentValueError, match="single number"):
        plot.write(tmp_path / "number.png", np.array(1))


@pytest.fixture(scope="module")
def ask():
    session = tarsia.Session()
    commands = Commands(session)

    def run(text):
        out = io.StringIO()
        assert commands.run(text, out)
        return out.getvalue()

    run.session = session
    return run


def test_the_command_draws_tensors_and_containers_and_leaves_nothing_behind(ask, tmp_path):
    ask.session.run("#include <vector>\n#include <array>\nauto x = arange(50); std::vector<float> v{1, 5, 2};").raise_if_failed()
    before = ask.session.source
    assert ask(":plot x").splitlines()[-1].split() == ["0", "49"]
    assert ask(":plot full({4, 6}, 2.5)").splitlines()[-1] == "4 x 6, from 2.5 to 2.5"
    assert ask(":plot v").split()[0] == "5"
    assert ask(":plot std::array<int, 2>{3, 4}").split()[0] == "4"
    assert ask(f":plot x {tmp_path}/x.svg") == "" and (tmp_path / "x.svg").read_text().startswith("<svg")
    assert ask(f":plot  x   {tmp_path}/x.png") == "" and pixels((tmp_path / "x.png").read_bytes()).shape == (400, 800, 3)
    assert ask.session.source == before


def test_the_command_says_what_is_wrong(ask):
    for text, error in ((":plot", tarsia.ArgumentValueError), (":plot a.png", tarsia.Error), (":plot nope", tarsia.CompileError),
                        (":plot zeros({2, 3, 4})", tarsia.ArgumentValueError), (":plot zeros({0})", tarsia.ArgumentValueError)):
        with pytest.raises(error):
            ask(text)
