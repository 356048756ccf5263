"""Names of write requests."""


class req:
    """What an operator does with a result: an entry of ``self.req``."""

    null = "null"
    write = "write"
    inplace = "inplace"
    add = "add"
