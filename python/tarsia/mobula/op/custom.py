"""Operators by their names."""

from ..._compile_options import to_text
from ..._errors import MissingOp, explains_misuse
from ..glue.common import CUSTOM_OP_LIST


@explains_misuse()
def Custom(op_name):
    """The operator of a name."""
    op_name = to_text(op_name, "op_name")
    if op_name not in CUSTOM_OP_LIST:
        raise MissingOp(f"there is no operator {op_name!r}; there are {', '.join(sorted(CUSTOM_OP_LIST)) or 'none so far'}")
    return CUSTOM_OP_LIST[op_name]


@explains_misuse()
def CustomList():
    """The names of all operators."""
    return CUSTOM_OP_LIST.keys()
