"""What a binding has planned: implementations, steps, and where each value lies."""

import json

from .. import _tarsia
from .._compile_options import write_text
from .._errors import methods_explain_misuse


@methods_explain_misuse(made="the plan of a tarsia.BoundGraph is one")
class Plan:
    """The plan of a bound graph. ``print(plan)`` shows it as text, :meth:`svg` draws it."""

    def __init__(self, bound):
        self._bound = bound
        self._json = json.loads(_tarsia.graph_plan(bound))

    @property
    def bytes(self):
        """The most memory that the graph owns during a call, outputs included; inputs, parameters and constants not."""
        return self._json["bytes"]

    @property
    def lower_bound(self):
        """The largest sum of the bytes of values that are live at one step. No plan needs less."""
        return self._json["lower_bound"]

    @property
    def workspace(self):
        """The largest workspace of a step, in bytes, which :attr:`bytes` includes."""
        return self._json["workspace"]

    @property
    def milliseconds(self):
        """How long it took to plan memory."""
        return self._json["milliseconds"]

    @property
    def shared(self):
        """Pairs of values of which the second took over the first one's memory, as the implementation allows."""
        return [tuple(pair) for pair in self._json["shared"]]

    @property
    def implementations(self):
        """The name of the implementation chosen for each node."""
        return dict(self._json["implementations"])

    @property
    def measured(self):
        """Seconds of a call by node and implementation, where the choice was measured; None for one that failed."""
        return {node: dict(times) for node, times in self._json["measured"].items()}

    @property
    def conversions(self):
        """What is converted on the way: storage types that an implementation does not take, and devices."""
        return list(self._json["conversions"])

    @property
    def _storage_conversions(self):
        """Those of storage types alone."""
        return list(self._json["storage_conversions"])

    @property
    def steps(self):
        """The steps in their order: dicts with name, kind, device, inputs, outputs, write requests and the bytes of their workspace."""
        return list(self._json["steps"])

    @property
    def values(self):
        """The tensors of a run: dicts with name, type, device, bytes, where they lie and when they are needed."""
        return list(self._json["values"])

    def svg(self, path=None):
        """Draws memory over time as SVG. Writes it to ``path``, or returns the text."""
        text = _tarsia.graph_plan_svg(self._bound)
        if path is None:
            return text
        write_text(path, text)
        return None

    def _repr_svg_(self):
        return self.svg()

    def __str__(self):
        lines = [f"{self.bytes} bytes planned, at least {self.lower_bound} are live at once, {len(self.steps)} steps"]
        places = {value["name"]: value for value in self._json["values"]}
        for number, step in enumerate(self._json["steps"]):
            name = self._json["implementations"].get(step["name"])
            lines.append(f"{number:4} {step['name']} on {step['device']}" + (f" by {name}" if name else ""))
            for output, request in zip(step["outputs"], step["requests"], strict=True):
                if output is None:
                    continue
                value = places[output]
                inside = "" if value["where"].startswith("within") else "in "
                place = inside + value["where"] + (f" + {value['offset']}" if value.get("offset") else "")
                how = {"inplace": ", in place", "add": ", added"}.get(request, "")
                lines.append(f"       {output}: {value['type']}, {value['bytes']} bytes {place}{how}")
        lines += [f"     {text}" for text in self.conversions]
        return "\n".join(lines)

    def __repr__(self):
        return f"<tarsia plan: {self.bytes} bytes, {len(self.steps)} steps>"
