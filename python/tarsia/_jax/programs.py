"""The programs that a function of tarsia.jax keeps, and what tells them apart."""

from collections import OrderedDict


def identity(value):
    """A constant with its type: 1, 1.0 and True are equal, and not the same."""
    return (tuple, tuple(map(identity, value))) if isinstance(value, tuple) else (type(value), repr(value))


def layout(arguments):
    """Arguments of a callee as a key."""
    return tuple((kind, identity(value) if kind == "value" else layout(value) if kind == "list" else value)
                 for kind, value in arguments)


class Programs:
    """The programs that were used last, by what each was made for. XLA's code for them goes with them, save what an outer
    jax.jit has compiled, which is its own."""

    MOST = 64  # as many as a JaxOp keeps bindings

    def __init__(self):
        self._kept = OrderedDict()

    def find(self, key, make):
        program = self._kept.get(key)
        if program is None:
            program = self._kept[key] = make()
        try:
            self._kept.move_to_end(key)
            while len(self._kept) > self.MOST:
                self._kept.popitem(last=False)
        except KeyError:  # another thread was faster
            pass
        return program
