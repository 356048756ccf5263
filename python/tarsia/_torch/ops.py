"""Cells of operators over functions and ops: how they are called, inferred and differentiated."""

import typing

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .. import _tarsia
from .._errors import ArgumentValueError, Unsupported
from .register import Cell, flat, kernel, refusal, runs_direct, save_nothing, saving
from .._schema import (PORT_HIDDEN, PORT_MUTABLE, PORT_NO_GRADIENT, TENSOR, Argument, Schema, flags_at, identifier, needs_of,
                       ports_of)

BACKWARD = 1  # tarsia_pass
SHARED_STATE = 16  # TARSIA_OP_SHARED_STATE: nothing of a forward is in the state
BACKWARD_ARGUMENTS = tuple(Argument(name, type, name) for name, type in (
    ("gradients", "Tensor[]"), ("inputs", "Tensor?[]"), ("outputs", "Tensor[]"), ("wanted", "bool[]")))


def backward_schema(schema, constant):
    """That of the operator that computes the gradients of one with this schema. An op may write to its states in backward,
    too: they are an argument that is written to. Compiled graphs take no such operator that gives a list, so it gives as
    many tensors as there are inputs with a gradient, of no elements where none is wanted."""
    attributes = tuple(one for one in schema.arguments if one.keyword)
    if not schema.written:
        return Schema((*BACKWARD_ARGUMENTS, *attributes), ("Tensor[]",))
    n = sum(not constant(i) for i, one in enumerate(schema.arguments) if not one.keyword)
    states = Argument("states", "Tensor[]", "states", writes=True)
    return Schema((*BACKWARD_ARGUMENTS, states, *attributes), ("Tensor",) * n)


def _counting(quiet, written):
    """A function that tells autograd of writes to these arguments, and to no others."""

    def call(*args):
        result = quiet(*args)
        tensors = [one for i in written for one in flat(args[i:i + 1]) if one is not None]
        torch.autograd.graph.increment_version([one for one in tensors if not one.is_inference()])
        return result

    return call if written else quiet


def function_cell(function, description, schema, fake, mutates):
    """The Cell of a tarsia.Function. `mutates`, if given, knows better than its types what it writes to."""
    if mutates is not None:
        function = _counting(function._quiet, schema.written)
    name, _, _, parameters, _ = description
    call = function
    if any(one.startswith("Tensor") for one in schema.returns) and not any(one.is_tensor for one in schema.arguments):

        def call(*args):  # no tensor says whose the results are
            return of_torch(function(*args))
    elif schema.returns and any(type[0] == TENSOR for _, type in parameters):

        def call(*args):
            result = function(*args)
            for one in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(one, torch.Tensor) and any(one is arg for arg in args):
                    raise Unsupported(f"{name} gave one of its arguments as its result, which an operator of PyTorch "
                                      f"must not: return a new tensor, or write into the argument and return nothing")
            return result

    if fake is None:
        if schema.returns:

            def fake(*args):
                raise Unsupported(
                    f"{name} gives results whose shapes nothing tells before it runs, so that torch.compile and "
                    f"torch.export cannot trace it: register it with fake=, a function of the same parameters that "
                    f"gives empty tensors of the right shapes")
        else:

            def fake(*args):
                pass

    return Cell(call, fake, save_nothing, refusal(
        f"{name} has no gradient: pair it with a function that computes one, tarsia.torch.function(lib.{name}, "
        f"lib.{name}_backward), or detach() what no gradient is wanted of"))


class OpCell:
    """An op with attributes that are fixed, as its operator runs it. The state of an op that has some lives here: one
    for each combination of shapes, dtypes, device and attributes."""

    def __init__(self, op, description, schema, fixed, fake, ports):
        self._op = op
        self._ports = ports
        self._description = description
        self._fixed = dict(fixed)
        self._renamed = {one.name: one.key for one in schema.arguments if one.keyword and one.name != one.key}
        self._schema = schema
        self._fake = fake
        self._positional = [one for one in schema.arguments if not one.keyword]
        self._has_lists = any(one.is_list for one in self._positional)
        self._hidden = [bool(flags & PORT_HIDDEN) for _, flags in description["outputs"]]
        # Of an op whose attributes decide it, as many are visible as the operator gives.
        self._n_visible = len(schema.returns) if description["tells_visible"] and schema.returns != ("Tensor[]",) else None
        if self._n_visible is not None:
            self._hidden = [i >= self._n_visible for i in range(len(self._hidden))]
        self._any_hidden = any(self._hidden)
        self._bound = {} if description["state"] else None
        # Where hidden outputs were not saved for backward, the state may hold them, found again by the memory of the forward's tensors.
        has_state = self._bound is not None and not description["flags"] & SHARED_STATE
        self._remembers = (self._any_hidden or description["tells_visible"]) and has_state
        self._made, self._most_made = set(), 256  # the memory of first results, as far as it was not freed
        self._states = schema.written  # inputs that the op writes to, which have no gradient
        # For attributes, the inputs that it writes to; None where the schema says it.
        self._lists_writes: typing.Any = {} if description["names_inputs"] and schema.returns == ("Tensor[]",) else None
        self._backward_operator: typing.Any = None  # set when they are made
        self._backward_kernel: typing.Any = None
        # Whether a call is one of the op, with the same arguments; and backward too.
        counts = description["arity"] or description["tells_visible"]
        self._counts = counts and schema.returns != ("Tensor[]",)  # tried when it was registered
        self._is_plain = not (self._fixed or self._renamed or self._bound is not None)
        self._is_simple = self._is_plain and not self._any_hidden
        self._needs_all = description["backward_needs"] is None and not description["amends_needs"]
        self._plans = {}  # which inputs need a gradient: what _plan says

    def can_differentiate(self):
        """Whether there is a schema for what computes the gradients."""
        if not self._states:
            return True
        inputs = [one for one in self._positional if not one.writes]
        return bool(self._schema.returns) and not any(self._positional[i].is_list for i in self._states) and not any(
            one.is_list for one in inputs) and not all(self.is_constant(i) for i in range(len(self._positional)))

    def cell(self, differentiable):
        call = self.call if self._has_lists or self._counts or self._any_hidden or not self._is_plain else self._op
        if differentiable:
            return Cell(call, self.infer, self.save, self.gradients, straight=self._remembers, keeps=self._any_hidden)
        why = "writes to its inputs, so that it" if self._schema.written else "declares no .backward, so that it"
        refuse = refusal(f"{self._op.name} {why} has no gradient: detach() what no gradient is wanted of")

        def gradients(ctx, needs, *gradients):
            if self._schema.written or any(need and not self.is_constant(i) for i, need in enumerate(needs)):
                refuse(ctx, needs, *gradients)
            return [None] * len(needs)

        return Cell(call, self.infer, save_nothing, gradients)

    def use_backward(self, operator, overload):
        """The operator that gives the gradients, and what it runs."""
        self._backward_operator, self._backward_kernel = operator, kernel(overload.schema, overload.cell)

    def backward_cell(self):
        refuse = refusal(f"the gradient of {self._op.name} has no gradient of its own: it cannot be differentiated twice")
        if not self._states:
            return Cell(self.backward, lambda gradients, inputs, outputs, wanted, **attributes: [
                torch.empty(one.shape, dtype=one.dtype, device=one.device)
                for one, wants in zip(inputs, wanted) if wants], save_nothing, refuse)

        def call(gradients, inputs, outputs, wanted, states, **attributes):
            made = iter(self.backward(gradients, self._with_states(inputs, states), outputs, wanted, **attributes))
            torch.autograd.graph.increment_version([one for one in states if not one.is_inference()])
            return self._row([next(made) if wants else None for wants in wanted], outputs[0])

        def fake(gradients, inputs, outputs, wanted, states, **attributes):
            return self._row([torch.empty(one.shape, dtype=one.dtype, device=one.device) if wants else None
                              for one, wants in zip(inputs, wanted)], outputs[0])

        return Cell(call, fake, save_nothing, refuse)

    def _with_states(self, inputs, states):
        """The inputs with those that the op writes to in their places."""
        given = iter(states)
        return [next(given) if i in self._states else one for i, one in enumerate(inputs)]

    def _row(self, made, like):
        """The gradients as an operator that writes to states gives them."""
        row = [like.new_empty(0) if one is None else one for i, one in enumerate(made) if not self.is_constant(i)]
        return row[0] if len(row) == 1 else tuple(row)

    def _check_writes(self, attributes):
        """Refuses a call that writes to an element of a list, which the schema does not say."""
        key = tuple((name, _hashable(value)) for name, value in sorted(attributes.items()))
        written = self._lists_writes.get(key)
        if written is None:
            ports = ports_of(self._op, self._description, attributes)
            written = self._lists_writes[key] = [(i, name) for i, (name, flags) in enumerate(ports) if flags & PORT_MUTABLE]
        if written:
            i, name = written[0]
            raise Unsupported(f"{self._op.name} writes to input {i}{f' ({name})' if name else ''} with these attributes, which an "
                              f"operator that takes a list of tensors cannot tell PyTorch: give the attributes that decide the inputs "
                              f"when you register it, attributes={{…}} or arguments={{…}}")

    def attributes(self, given):
        """The attributes under Tarsia's names."""
        attributes = {self._renamed.get(name, name): value for name, value in given.items() if value is not None}
        return {**self._fixed, **attributes}

    def call(self, *args, **given):
        inputs, attributes = flat(args), self.attributes(given)
        if self._lists_writes is not None:
            self._check_writes(attributes)
        if self._any_hidden and getattr(saving, "on", False):
            result = self._call_with_hidden(inputs, attributes)
        elif self._bound is None:
            result = self._op(*inputs, **attributes)
        else:
            result = self._binding(inputs, attributes)(*inputs)
        if self._schema.returns == ("Tensor[]",):
            return list(result) if isinstance(result, tuple) else [] if result is None else [result]
        if self._counts:
            self._check_count(len(result) if isinstance(result, tuple) else int(result is not None))
        return result

    def _call_with_hidden(self, inputs, attributes):
        """A call that leaves the hidden outputs for `save`."""
        bound = self._binding_of(inputs, attributes)
        if len(bound.outputs) != len(self._hidden):  # attributes bring more of them
            return bound(*inputs)
        made = bound.with_hidden(*inputs)
        visible = tuple(one for one, hidden in zip(made, self._hidden) if not hidden)
        if visible:
            saving.hidden = visible[0], [one for one, hidden in zip(made, self._hidden) if hidden]
        return visible[0] if len(visible) == 1 else visible

    def _check_count(self, n):
        if n != len(self._schema.returns):
            raise Unsupported(f"{self._op.name} has {n} outputs with these attributes, and its operator {len(self._schema.returns)}: "
                              f"fix the attributes that decide this when you register it, attributes={{…}}")

    def _binding_of(self, inputs, attributes):
        return self._op.bind(*inputs, **attributes) if self._bound is None else self._binding(inputs, attributes)

    def _binding(self, inputs, attributes):
        metas = tuple(one if one is None else (one.shape, one.dtype, one.device) for one in inputs)
        key = (metas, tuple((name, _hashable(value)) for name, value in sorted(attributes.items())))
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bound.setdefault(key, self._op.bind(*inputs, **attributes))
        return bound

    def infer(self, *args, **given):
        if self._fake is not None:
            return self._fake(*args, **given)
        if not self._schema.returns:
            return None
        inputs = flat(args)
        first = next((one for one in inputs if one is not None), None)
        device = first.device if first is not None else torch.device("cpu")
        symbolic = any(isinstance(extent, torch.SymInt) for one in inputs if one is not None for extent in one.shape)
        n_visible = len(self._hidden) - sum(self._hidden)
        if symbolic and not (self._description["infer"] or self._description["arity"]):
            results = [torch.empty(first.shape, dtype=first.dtype, device=device) for _ in range(n_visible)]
        else:
            results = [torch.empty(shape, dtype=dtype, device=device)
                       for shape, dtype in self._inferred(inputs, self.attributes(given))]
        if self._schema.returns == ("Tensor[]",):
            return results
        if self._counts:
            self._check_count(len(results))
        return results[0] if len(results) == 1 else tuple(results)

    def _inferred(self, inputs, attributes):
        shapes = [False if one is None else tuple(int(extent) for extent in one.shape) for one in inputs]
        dtypes = [None if one is None else one.dtype for one in inputs]
        attributes = {name: _plain(value) for name, value in attributes.items()}
        shapes, dtypes = self._op.infer(shapes, dtypes, **attributes)
        n_inputs = len(inputs) if self._description["arity"] else len(shapes) - len(self._hidden)
        for i, (shape, dtype) in enumerate(zip(shapes[n_inputs:], dtypes[n_inputs:])):
            if self._n_visible is not None and i >= self._n_visible:
                break
            if i < len(self._hidden) and self._hidden[i]:
                continue
            if shape is None or None in shape or dtype is None:
                raise Unsupported(f"{self._op.name} does not tell the shape or dtype of output {i} before it runs")
            yield shape, getattr(torch, dtype)

    def save(self, ctx, inputs, attributes, result):
        if self._has_lists:
            inputs = flat(inputs)
            ctx.call = len(inputs), attributes
        else:
            if len(inputs) < len(self._positional):
                inputs = (*inputs, *[None] * (len(self._positional) - len(inputs)))
            if attributes:
                ctx.call = len(inputs), attributes
        if self._states:  # the op goes on writing to them, and backward gets them as they are then
            ctx.states = [inputs[i] for i in self._states]
            inputs = [None if i in self._states else one for i, one in enumerate(inputs)]
        results = result if isinstance(result, (tuple, list)) else (result,)
        hidden = self._hidden_of(results) if self._any_hidden else ()
        if self._remembers and not hidden:
            self._note(results[0])
        if not self._needs_all:
            inputs, results, hidden = self._kept(inputs, results, hidden, attributes, ctx.states)
        ctx.save_for_backward(*inputs, *results, *hidden)

    def _hidden_of(self, results):
        """The hidden outputs of the call that gave the results; none if it was traced."""
        first, hidden = saving.__dict__.pop("hidden", (None, ()))
        return hidden if results and first is results[0] else ()

    def _note(self, result):
        self._made.add(_memory_of(result))
        if len(self._made) > self._most_made:
            for one in list(self._made):  # other threads add to it
                if one is not None and one.expired():
                    self._made.discard(one)
            self._most_made = max(256, 2 * len(self._made))

    def _kept(self, inputs, results, hidden, attributes, states):
        """Inputs, visible results and hidden ones, with a stand-in for each that backward does not need."""
        n_out = len(self._hidden) if self._any_hidden else len(results)
        if self._description["amends_needs"]:
            if not all(one is None or runs_direct(one.detach()) for one in inputs):
                return inputs, results, hidden  # traced or transformed: there is nothing to bind
            bound_to = self._with_states(inputs, states) if states else inputs
            needs = self._binding_of(bound_to, self.attributes(attributes)).backward_needs
            needs = needs or [True] * (2 * n_out + len(inputs))
            n_out = (len(needs) - len(inputs)) // 2  # attributes may bring hidden outputs
        else:
            needs = needs_of(self._description, len(inputs), n_out)
        of_inputs, of_outputs = needs[n_out:n_out + len(inputs)], needs[n_out + len(inputs):]
        of_hidden = [need for need, is_hidden in zip(of_outputs, self._hidden) if is_hidden]
        if self._any_hidden:
            of_outputs = [need for need, is_hidden in zip(of_outputs, self._hidden) if not is_hidden]
        return tuple([one if need else _stand_in(one) for one, need in zip(row, needed)]
                     for row, needed in ((inputs, of_inputs), (results, of_outputs), (hidden, of_hidden)))

    def gradients(self, ctx, needs, *gradients):
        n, attributes = ctx.call or (len(self._positional), {})
        saved = ctx.saved_tensors
        inputs, outputs = saved[:n], saved[n:]
        wanted, requests = self._plans.get(needs) or self._plan(needs, n)
        if requests is None:
            return [None] * len(needs)
        direct = runs_direct(gradients[0])
        states = (ctx.states,) if self._states else ()
        has_hidden = len(outputs) > len(gradients)
        if direct and self._remembers and not has_hidden and _memory_of(outputs[0]) not in self._made:
            outputs = (_elsewhere(outputs[0]), *outputs[1:])
        if direct and self._is_simple and not states:
            try:
                made = self._op.backward(gradients, inputs, outputs, req=requests, **attributes)
            except ArgumentValueError:  # the kernel knows what to do
                pass
            else:
                for dx in made:
                    if dx is None:
                        return [torch.zeros_like(x) if dx is None and wants else dx
                                for dx, x, wants, _ in zip(made, inputs, wanted, needs)]
                return made
        run = self._backward_kernel if direct else self._backward_operator
        made = run(gradients, inputs, outputs, wanted, *states, **attributes)
        if states:  # all that have one, wanted or not
            made = iter([made] if isinstance(made, torch.Tensor) else made)
            row = [None if self.is_constant(i) else next(made) for i in range(n)]
            return [one if wants else None for one, wants in zip(row, wanted[:len(needs)])]
        made = iter(made)
        return [next(made) if wants else None for wants in wanted[:len(needs)]]

    def _plan(self, needs, n):
        """For which of n inputs a gradient is wanted, and what to ask for; None: for none."""
        wanted = [need and not self.is_constant(i) for i, need in enumerate(needs)] + [False] * (n - len(needs))
        plan = wanted, ["write" if wants else "null" for wants in wanted] if any(wanted) else None
        if not self._has_lists:
            self._plans[needs] = plan
        return plan

    def is_constant(self, i):
        return bool(flags_at(self._ports, i) & (PORT_NO_GRADIENT | PORT_MUTABLE))

    def backward(self, gradients, inputs, outputs, wanted, **given):
        attributes = self.attributes(given) if given or self._fixed else {}
        requests = ["write" if wants else "null" for wants in wanted]
        if self._any_hidden or self._bound is not None:
            bound = self._binding_of(inputs, attributes)
            if self._any_hidden:  # those that were saved stand behind the visible ones
                n_visible = len(gradients)
                visible, kept, values = iter(outputs[:n_visible]), iter(outputs[n_visible:]), iter(gradients)
                gradients = [torch.zeros(meta[0], dtype=getattr(torch, meta[1]), device=outputs[0].device) if hidden
                             else next(values) for hidden, meta in zip(self._hidden, bound.outputs)]
                outputs = [next(kept, None) if hidden else next(visible) for hidden in self._hidden]
            made = bound.backward(gradients, inputs, outputs, req=requests)
        else:
            made = self._op.backward(gradients, inputs, outputs, req=requests, **attributes)
        return [torch.zeros_like(x) if dx is None else dx
                for dx, x, wants in zip(made, inputs, wanted) if wants]


def _memory_of(tensor):
    """What equals that of another tensor if both are in memory that was not freed in between; None of tensors within
    a transformation, which have no memory."""
    try:
        return StorageWeakRef(tensor.untyped_storage())
    except (NotImplementedError, RuntimeError):
        return None


def _elsewhere(tensor):
    """A copy where no result of an operator begins, since allocators align those further: memory that a hook of
    saved tensors has filled may be that of another forward, which this one must not be taken for."""
    room = tensor.new_empty(16 + tensor.numel() * tensor.itemsize, dtype=torch.uint8)
    return room[16:].view(tensor.dtype).view(tensor.shape).copy_(tensor)


_stand_ins = {}


def _stand_in(tensor):
    """A tensor of the same shape, dtype and device with memory for one element."""
    if tensor is None or tensor.is_sparse or tensor.layout != torch.strided:
        return tensor
    if type(tensor) is not torch.Tensor or not runs_direct(tensor):
        return tensor.new_empty(()).expand(tensor.shape)
    key = tensor.shape, tensor.dtype, tensor.device
    found = _stand_ins.get(key)
    if found is None:
        if len(_stand_ins) >= 1024:
            _stand_ins.clear()
        with torch.no_grad():
            found = _stand_ins.setdefault(key, tensor.detach().new_empty(()).expand(tensor.shape))
    return found


def has_backward(description):
    return any(step == BACKWARD for _, step, _ in description["implementations"])


def op_named(name):
    return _tarsia.op(name)


def operator_name(name):
    """A qualified C++ name's last part, as an operator can be called."""
    depth, start = 0, 0
    for i, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if depth == 0 and name.startswith("::", i):
            start = i + 2
    return identifier(name[start:])


def _plain(value):
    """Symbolic numbers as numbers: what follows is then for these values alone."""
    if isinstance(value, torch.SymInt):
        return int(value)
    if isinstance(value, torch.SymFloat):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def of_torch(result):
    """What a function has given, its tensors those of PyTorch."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(of_torch, result))
    return torch.from_dlpack(result) if hasattr(result, "__dlpack__") else result


def _hashable(value):
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value
