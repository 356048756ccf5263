"""The texts of help() for functions and kernels: their signatures, and the comments above them in the source."""

import re
import textwrap


def doc(function, epilogue=""):
    """The docstring of a function or kernel: each overload's signature, and the comment above it."""
    recipe = function._recipe
    described = function._described
    indent = "    " if len(described) > 1 else ""  # below its overload
    parts = []
    for signature, location in described:
        comment = above(recipe, location) if recipe is not None else ""
        parts.append(signature + (f"\n\n{textwrap.indent(comment, indent)}\n" if comment else ""))
    return "\n".join(parts).rstrip() + (f"\n\n{epilogue}" if epilogue else "")


def above(recipe, location):
    """The text of the comment that ends right above a declaration, which is at "file:line"; empty if there is none."""
    file, _, line = location.rpartition(":")
    text = recipe.text_of(file)
    if text is None or not line.isdigit():
        return ""
    lines = text.split("\n")
    at = min(int(line), len(lines)) - 1  # lines[at] holds the name
    # What belongs to the declaration may stand above its name: template <...>, __global__, attributes, its type.
    while at > 0 and _goes_on(lines[at - 1]):
        at -= 1
    return "\n".join(_comment_before(lines, at)).strip("\n")


_OPENING = re.compile(r"\s*(template\b|extern\b|static\b|inline\b|constexpr\b|__\w+__|\[\[|[\w:<>,*&\s]+$)")


def _goes_on(line):
    """Whether the declaration of the next line begins in this one."""
    code = line.strip()
    if not code or code.startswith(("//", "/*", "*", "#")) or code.endswith(("*/", ";", "{", "}", "\\")):
        return False
    return bool(_OPENING.match(line))


def _comment_before(lines, at):
    """The lines of the comment that ends in lines[at - 1], without its marks."""
    end = at - 1
    if end < 0:
        return []
    if lines[end].strip().startswith("//"):
        begin = end
        while begin > 0 and lines[begin - 1].strip().startswith("//"):
            begin -= 1
        found = [re.sub(r"^\s*//[/!]?<? ?", "", line) for line in lines[begin:at]]
        return [line.rstrip() for line in found]
    if not lines[end].rstrip().endswith("*/"):
        return []
    begin = end
    while begin >= 0 and "/*" not in lines[begin]:
        begin -= 1
    if begin < 0 or lines[begin].split("/*", 1)[0].strip():
        return []  # the comment of something else, on its line
    body = "\n".join(lines[begin:at]).strip()
    body = re.sub(r"^/\*[*!]?", "", body[:-2])
    found = [re.sub(r"^\s*\*(?!\*) ?", "", line).rstrip() for line in body.split("\n")]
    first, rest = found[0].strip(), textwrap.dedent("\n".join(found[1:])).split("\n")
    return [first, *rest] if first else rest
