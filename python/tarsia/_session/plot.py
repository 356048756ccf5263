"""Pictures of arrays: in a terminal, and as PNG or SVG in a file.

One dimension is a line, two are a heat map, height x width x 3 is an image in red, green and blue. What is larger than the
picture is brought down so that a peak stays: a column of a line shows the least and the greatest of its elements, and a cell
of a heat map the mean of its elements, or the one that stands far out. Elements that are not finite are left out and counted.
"""

import base64
import struct
import zlib

import numpy as np

from .. import _errors

_LINE = "#1f77b4"
_MAP = np.array([  # dark blue over green to yellow: the brightness grows with the value
    [68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]], dtype=float)
_NOTHING = np.array([127, 127, 127], dtype=np.uint8)  # what is not finite
# Digits of 3 x 5 dots for the labels of a PNG, a row of three bits each, from the top.
_GLYPHS = {"0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757", "7": "71111",
           "8": "75757", "9": "75717", "-": "00700", "+": "02720", ".": "00002", "e": "74647"}


def picture(array, width=80, height=24, colours=0, unicode=True):
    """A picture of at most so many columns and lines, as text that ends in a new line.

    colours: how many the terminal has: 0, 256 or 1 << 24. unicode: whether it shows more than ASCII.
    """
    kind, data = _read(array)
    width, height = max(width, 16), max(height, 6)
    if kind == "number":
        return f"{_number(data)}\n"
    if kind == "line":
        lines = _line_text(data, width, height, unicode)
    else:
        lines = _map_text(kind, data, width, height, colours, unicode)
    return "\n".join([*lines, *_left_out(data)]) + "\n"


def file_content(array, svg):
    """The bytes of a picture, SVG or PNG."""
    kind, data = _read(array)
    if kind == "number":
        raise _errors.ArgumentValueError("a single number has no picture that a file could hold")
    if kind == "line":
        return _line_svg(data) if svg else png(_line_pixels(data))
    return _map_svg(kind, data) if svg else png(_enlarged(_map_pixels(kind, data, 2048, 2048), 256))


def write(path, array):
    """Writes a picture to a path that ends in .png or .svg. Errors are tarsia.Error."""
    content = file_content(array, svg=str(path).lower().endswith(".svg"))
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise _errors.Error(f"cannot write {str(path)!r}: {error.strerror}") from None


def png(pixels):
    """The bytes of a PNG of height x width x channels bytes: 1 for grey, 3 for RGB, 4 for RGBA. Format:
    https://www.w3.org/TR/png-3/"""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + channels * width), np.uint8)  # each row begins with its filter, which is none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + chunk(b"IEND", b""))


def _read(array):
    """What is to be drawn: "number", "line", "map" or "image", and the data as float64."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        what = "complex numbers have" if array.dtype.kind == "c" else f"dtype {array.dtype} has"
        raise _errors.ArgumentTypeError(f"{what} no picture: pass real numbers, such as a magnitude")
    if array.size == 0:
        raise _errors.ArgumentValueError(f"nothing to draw: shape {array.shape} has no elements")
    if array.ndim == 0:
        return "number", array[()]
    if array.ndim == 3 and array.shape[2] == 3:
        return "image", _levels(array)
    if array.ndim > 2:
        raise _errors.ArgumentValueError(f"shape {array.shape} has no picture: pass one dimension (a line), two (a heat map), or "
                                         "height x width x 3 (an image); reshape the tensor, or copy a part of it")
    return ("line", "map")[array.ndim - 1], array.astype(float)


def _levels(array):
    """An image's elements from 0 to 255. Bytes are levels, numbers from 0 to 1 are shares, others are stretched."""
    data = array.astype(float)
    if array.dtype == np.uint8:
        return data
    low, high = _extent(data)
    if array.dtype.kind != "f" and low >= 0 and 1 < high <= 255:
        return data
    if low >= 0 and high <= 1:
        return data * 255
    return _share(data, low, high) * 255


def _extent(data):
    """The least and the greatest finite element; 0 and 0 if there is none."""
    finite = data[np.isfinite(data)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _share(data, low, high):
    """Where between low and high the data lies, from 0 to 1; one half if these are the same."""
    scale = max(abs(low), abs(high)) or 1.0  # high - low alone may be more than a float64 holds
    span = high / scale - low / scale
    if span == 0:
        return np.where(np.isfinite(data), 0.5, np.nan)
    with np.errstate(invalid="ignore"):
        return (data / scale - low / scale) / span


def _left_out(data):
    n = int(data.size - np.isfinite(data).sum())
    return [f"{n} of {data.size} elements are not finite"] if n else []


def _number(value):
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


# Lines.

def _columns(data, n):
    """The least and the greatest value in each of n columns, with which neighbours touch. NaN where there is nothing."""
    data = np.where(np.isfinite(data), data, np.nan)
    if data.size > n:
        starts = np.arange(n) * data.size // n
        low, high = np.fmin.reduceat(data, starts), np.fmax.reduceat(data, starts)
    else:
        at = np.arange(data.size)
        # Within a segment, a column goes from its left edge to its right one.
        edges = np.clip((np.arange(n + 1) - 0.5) / max(n - 1, 1), 0, 1) * (data.size - 1)
        values = np.interp(edges, at, data)
        low, high = np.fmin(values[:-1], values[1:]), np.fmax(values[:-1], values[1:])
        places = np.rint(at * ((n - 1) / max(data.size - 1, 1))).astype(int)
        for extreme, column in ((np.fmin, low), (np.fmax, high)):  # the elements themselves, alone between gaps too
            extreme.at(column, places, data)
    for i in range(1, n):
        if high[i - 1] < low[i]:
            low[i] = high[i - 1]
        elif low[i - 1] > high[i]:
            high[i] = low[i - 1]
    return low, high


def _ticks(data):
    """What the vertical axis goes from and to."""
    low, high = _extent(data)
    if low == high:
        around = abs(low) / 2 or 1.0
        low, high = low - around, high + around
    return low, high


def _label(share, low, high):
    """The value at a share of the axis, to four digits of the greatest one: nearly zero is zero."""
    scale = max(abs(low), abs(high))
    return f"{round(low / scale * (1 - share) + high / scale * share, 4) * scale + 0.0:.4g}"


def _line_dots(data, width, height):
    """height x width dots, those of the line are set."""
    low, high = _ticks(data)
    dots = np.zeros((height, width), bool)
    ends = _columns(_share(data, low, high), width)
    for x in range(width):
        if not np.isnan(ends[0][x]):
            bottom, top = (round(float(end[x]) * (height - 1)) for end in ends)
            dots[height - 1 - top:height - bottom, x] = True
    return dots


def _line_text(data, width, height, unicode):
    low, high = _ticks(data)
    rows = height - 2  # below them: the axis and its labels
    labels = {0: _label(1, low, high), rows - 1: _label(0, low, high)}
    if rows >= 5:
        labels[rows // 2] = _label(1 - rows // 2 / (rows - 1), low, high)
    margin = max(map(len, labels.values()))
    columns = width - margin - 2
    if unicode:
        grid = _braille(_line_dots(data, 2 * columns, 4 * rows))
        tick, bar, corner, line = "┤", "│", "└", "─"
    else:
        grid = ["".join("*" if dot else " " for dot in row) for row in _line_dots(data, columns, rows)]
        tick, bar, corner, line = "+", "|", "+", "-"
    first, last = "0", str(data.size - 1)
    return [*(f"{labels.get(i, ''):>{margin}} {tick if i in labels else bar}{row}".rstrip() for i, row in enumerate(grid)),
            " " * (margin + 1) + corner + line * columns,
            " " * (margin + 2) + (first + f"{last:>{columns - len(first)}}" if data.size > 1 else first)]


def _braille(dots):
    """Rows of characters, each of 4 x 2 dots."""
    height, width = dots.shape
    weights = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    codes = (dots.reshape(height // 4, 4, width // 2, 2) * weights[None, :, None, :]).sum(axis=(1, 3))
    return ["".join(chr(0x2800 + code) if code else " " for code in row) for row in codes]


def _line_pixels(data, width=800, height=400):
    pixels = np.full((height, width, 3), 255, np.uint8)
    low, high = _ticks(data)
    labels = [_label(share, low, high) for share in (1, 0.5, 0)]
    left, top, bottom = 16 + 8 * max(map(len, labels)), 12, height - 34
    pixels[top:bottom + 1, left] = pixels[bottom, left:width - 12] = 96
    for y, label in zip((top, (top + bottom) // 2, bottom), labels):
        pixels[y, left - 5:left] = 96
        _write_label(pixels, label, left - 8 - 8 * len(label), y - 5)
    _write_label(pixels, "0", left, bottom + 10)
    if data.size > 1:
        _write_label(pixels, str(data.size - 1), width - 12 - 8 * len(str(data.size - 1)), bottom + 10)
    dots = _line_dots(data, width - 14 - left, bottom - top - 1)
    dots[1:] |= dots[:-1].copy()  # two pixels thick
    pixels[top:bottom - 1, left + 2:width - 12][dots] = [int(_LINE[i:i + 2], 16) for i in (1, 3, 5)]
    return pixels


def _write_label(pixels, text, x, y):
    """Writes into pixels, 8 x 10 of them for each character."""
    for i, character in enumerate(text):
        rows = [int(bits) for bits in _GLYPHS.get(character, "00000")]
        dots = np.array([[bits >> 2 & 1, bits >> 1 & 1, bits & 1] for bits in rows], bool).repeat(2, axis=0).repeat(2, axis=1)
        pixels[y:y + 10, x + 8 * i:x + 8 * i + 6][dots] = 32


def _line_svg(data, width=800, height=400):
    low, high = _ticks(data)
    left, right, top, bottom = 90, width - 20, 20, height - 40
    if data.size <= right - left:
        shares = _share(np.where(np.isfinite(data), data, np.nan), low, high)
        step = (right - left) / max(data.size - 1, 1)
        points = [None if np.isnan(share) else (left + i * step, share) for i, share in enumerate(shares)]
    else:
        ends = _columns(_share(data, low, high), right - left)
        points = [point for i in range(right - left)
                  for point in ([None] if np.isnan(ends[0][i]) else [(left + i, ends[0][i]), (left + i, ends[1][i])])]
    path, begins = [], True
    for i, point in enumerate(points):
        if point is not None:
            path.append(f"{'M' if begins else 'L'}{point[0]:.2f} {bottom - point[1] * (bottom - top):.2f}")
            if begins and (i + 1 == len(points) or points[i + 1] is None):
                path.append("h0")  # an element alone, which round ends make a dot
        begins = point is None
    labels = [(left - 8, y + 4, "end", _label(share, low, high)) for y, share in ((top, 1), ((top + bottom) / 2, 0.5), (bottom, 0))]
    labels += [(left, bottom + 20, "start", "0")]
    labels += [(right, bottom + 20, "end", str(data.size - 1))] if data.size > 1 else []
    return _svg(width, height, f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#606060"/>'
                f'<path d="{"".join(path)}" fill="none" stroke="{_LINE}" stroke-width="1.5" stroke-linejoin="round" '
                'stroke-linecap="round"/>', labels)


def _svg(width, height, content, labels):
    texts = "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>' for x, y, anchor, text in labels)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>{content}{texts}</svg>\n').encode()


# Heat maps and images.

def _brought_down(data, height, width):
    """Two dimensions brought down to at most so many: means of blocks, or the element that stands far out of its block."""
    if data.shape[0] <= height and data.shape[1] <= width:
        return data
    height, width = min(height, data.shape[0]), min(width, data.shape[1])
    rows, columns = np.arange(height) * data.shape[0] // height, np.arange(width) * data.shape[1] // width
    finite = np.isfinite(data)
    known = np.where(finite, data, 0)

    def blocks(function, values):
        return function.reduceat(function.reduceat(values, rows, axis=0), columns, axis=1)

    low, high = _extent(data)
    scale = max(abs(low), abs(high)) or 1.0  # sums and squares of large values stay finite
    count = blocks(np.add, finite.astype(float))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = blocks(np.add, known / scale) / count
    least, greatest = (blocks(function, np.where(finite, data / scale, np.nan)) for function in (np.fmin, np.fmax))
    far = 4 * float(np.std(known[finite] / scale)) if finite.any() else 0.0
    with np.errstate(invalid="ignore"):
        extreme = np.where(greatest - mean >= mean - least, greatest, least)
        return np.where(np.abs(extreme - mean) > far, extreme, mean) * scale


def _map_pixels(kind, data, height, width):
    """height x width x 3 bytes, at most so many."""
    if kind == "image":
        planes = [_brought_down(data[:, :, i], height, width) for i in range(3)]
        levels = np.stack(planes, axis=2)
        bad = ~np.isfinite(levels).all(axis=2)
        pixels = np.clip(np.rint(np.where(np.isfinite(levels), levels, 0)), 0, 255).astype(np.uint8)
    else:
        values = _brought_down(data, height, width)
        shares = _share(values, *_extent(data))
        bad = ~np.isfinite(shares)
        at = np.clip(np.where(bad, 0, shares), 0, 1) * (len(_MAP) - 1)
        below = np.minimum(at.astype(int), len(_MAP) - 2)
        part = (at - below)[:, :, None]
        pixels = np.rint(_MAP[below] * (1 - part) + _MAP[below + 1] * part).astype(np.uint8)
    pixels[bad] = _NOTHING
    return pixels


def _enlarged(pixels, size):
    """Each pixel as a square of pixels, until the longer side has about `size` of them."""
    times = max(1, size // max(pixels.shape[:2]))
    return pixels.repeat(times, axis=0).repeat(times, axis=1)


def _fit(shape, width, height):
    """Rows and columns that keep the proportions of a shape, within a space of square pixels."""
    times = min(width / shape[1], height / shape[0], 1.0)
    return max(1, int(shape[0] * times)), max(1, int(shape[1] * times))


def _map_text(kind, data, width, height, colours, unicode):
    rows, columns = _fit(data.shape[:2], width, 2 * (height - 1))  # a character is two pixels high
    times = max(1, min(width // columns, 2 * (height - 1) // rows, 8))
    if colours:
        pixels = _map_pixels(kind, data, rows, columns).repeat(times, axis=0).repeat(times, axis=1)
        code = _direct if colours > 256 else _indexed
        lines = [_half_blocks(pixels[i:i + 2], code) for i in range(0, len(pixels), 2)]
    else:
        shades = " ░▒▓█" if unicode else " .:-=+*#%@"
        rows = max(1, rows // 2) if times == 1 else rows  # one value for the two pixels of a character
        if kind == "image":
            planes = [_brought_down(data[:, :, i], rows, columns) for i in range(3)]
            shares = (0.299 * planes[0] + 0.587 * planes[1] + 0.114 * planes[2]) / 255
        else:
            shares = _share(_brought_down(data, rows, columns), *_extent(data))
        lines = []
        for row in shares:
            one = "".join(shades[min(int(max(share, 0) * len(shades)), len(shades) - 1)] * times if np.isfinite(share) else "?" * times
                          for share in row)
            lines += [one] * max(1, times // 2)
    if kind == "map":
        low, high = _extent(data)
        legend = f"{data.shape[0]} x {data.shape[1]}, from {low:.4g} to {high:.4g}"
    else:
        legend = f"{data.shape[0]} x {data.shape[1]} pixels"
    return [*lines, legend]


def _direct(colour):
    return "2;" + ";".join(str(int(level)) for level in colour)


def _indexed(colour):
    """The nearest colour of the cube of 6 x 6 x 6, or of the 24 greys."""
    red, green, blue = (int(level) for level in colour)
    if max(red, green, blue) - min(red, green, blue) < 12:
        return f"5;{232 + max(0, min(23, (red - 3) // 10))}"
    steps = [0 if level < 48 else 1 if level < 115 else (level - 35) // 40 for level in (red, green, blue)]
    return f"5;{16 + 36 * steps[0] + 6 * steps[1] + steps[2]}"


def _half_blocks(pair, code):
    """One line of text for two rows of pixels, of which the second may be absent."""
    text, last = [], None
    for x in range(pair.shape[1]):
        style = "38;" + code(pair[0, x]) + (";48;" + code(pair[1, x]) if len(pair) > 1 else "")
        if style != last:
            text.append(f"\x1b[{style}m")
            last = style
        text.append("▀")
    return "".join(text) + "\x1b[0m"


def _map_svg(kind, data):
    pixels = _map_pixels(kind, data, 1024, 1024)
    rows, columns = pixels.shape[:2]
    size = 512 / max(rows, columns)
    width, height = columns * size, rows * size
    image = base64.b64encode(png(pixels)).decode()
    low, high = _extent(data)
    legend = f"{data.shape[0]} x {data.shape[1]}" + (f", from {low:.4g} to {high:.4g}" if kind == "map" else "")
    return _svg(round(max(width, 260) + 20), round(height + 44),
                f'<image x="10" y="10" width="{width:g}" height="{height:g}" preserveAspectRatio="none" '
                f'style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>', [(10, round(height + 32), "start", legend)])


def image_png(array):
    """An image as PNG: H x W, H x W x C or C x H x W, with 1, 3 or 4 channels; uint8 as it is, bool as black and white, floats from
    0 (dark) to 1."""
    import numpy as np

    if array.ndim == 3 and array.shape[2] not in (1, 3, 4):
        array = np.moveaxis(array, 0, 2)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.dtype == np.bool_:
        array = array * np.uint8(255)
    elif array.dtype.kind == "f":
        array = np.rint(np.clip(np.nan_to_num(array.astype(np.float32)), 0, 1) * 255).astype(np.uint8)
    return png(array)
