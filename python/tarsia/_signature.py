"""Signatures of functions for inspect; imported when one is asked for."""

from inspect import Parameter, Signature


def of(function):
    """The Signature of a tarsia.Function; of several overloads, one that takes anything."""
    overloads = function._parameters
    if len(overloads) != 1 or "main" == function.__name__:
        return Signature([Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)])
    parameters = []
    for i, (name, optional) in enumerate(overloads[0]):
        kind = Parameter.POSITIONAL_OR_KEYWORD if name.isidentifier() else Parameter.POSITIONAL_ONLY
        default = ... if optional else Parameter.empty
        parameters.append(Parameter(name if name.isidentifier() else f"arg{i + 1}", kind, default=default))
    try:
        return Signature(parameters)
    except ValueError:  # a parameter that may be left out stands before one that may not
        return Signature([p.replace(default=Parameter.empty) for p in parameters])
