"""Operators of PyTorch over functions and ops.

An operator's kernels are few lines around the call of a Cell, which holds what is called now. Registering again what
has the same schema puts the new code into the cells: nothing is taken from under a thread that is calling, and graphs
that were compiled go on with the new code. Taking an operator out empties its cells.

A new schema is a new definition under a new overload name (_versioned), which `default` then stands for. The old
definition goes, but a kernel that is never called stays (_keep_record).
"""

import atexit
import hashlib
import threading

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from .._compile_options import wrong_type
from .._errors import ArgumentTypeError, ArgumentValueError, NotFound, Unsupported


class Cell:
    """What an operator calls now: `call` and `fake` as the operator is called, `save(ctx, inputs, attributes, result)`
    after a call that gradients are wanted of, and `gradients(ctx, needs, *gradients)`, which gives a sequence for the
    inputs in one row, as `needs` has them: shorter where optional ones were left out. ctx.call is theirs, None at
    first. Gradients that nobody has come as zeros. `straight`: `save` gets the very tensors that `call` got, so they
    are made contiguous before both. `keeps`: `call` leaves something in `saving` for the `save` that follows."""

    __slots__ = ("call", "fake", "save", "gradients", "straight", "keeps")

    def __init__(self, call, fake, save, gradients, straight=False, keeps=False):
        self.call, self.fake, self.save, self.gradients = call, fake, save, gradients
        self.straight, self.keeps = straight, keeps

    def take(self, other):
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))


saving = threading.local()  # `on`: `save` follows this thread's call of a Cell that keeps something


def save_nothing(ctx, inputs, attributes, result):
    """The `save` of a Cell whose gradients need nothing."""


def refusal(text):
    """The `gradients` of a Cell that has none: an error."""

    def gradients(ctx, needs, *gradients):
        raise RuntimeError(text)

    return gradients


class Overload:
    """One schema of an operator, and how it is run. `overload` is "" for the first. vmap is a rule, or True for one
    call after the other. `has_gradient`: it has one although it writes to arguments, which are states."""

    def __init__(self, schema, cell, *, overload="", tags=(), ordered=False, vmap=None, autocast=None, has_gradient=False):
        self.overload, self.schema, self.cell, self.has_gradient = overload, schema, cell, has_gradient
        self.tags, self.ordered, self.vmap, self.autocast = tuple(tags), ordered, vmap, autocast
        self.has_autograd = any(one.is_tensor for one in schema.arguments) and (
            bool(schema.written) or any(one.startswith("Tensor") for one in schema.returns))

    def key(self):
        """Two with the same key differ in their cells alone."""
        return (self.schema.text(self.overload), self.tags, self.ordered, self.vmap, self.autocast, self.has_gradient)


class _Operator:
    """What is defined under a name. `version` counts its definitions; inactive: it was taken out. `digest` is of all
    that graphs are compiled by."""

    def __init__(self, qualified, library, overloads, version):
        self.library, self.overloads, self.version, self.active = library, overloads, version, True
        told = repr((qualified, version, [(one.schema.text(one.overload), one.ordered, one.autocast) for one in overloads]))
        self.digest = int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")

    def empty(self):
        self.active = False
        for overload in self.overloads:
            overload.cell.take(Cell(_taken_out, _taken_out, _taken_out, _taken_out))


_lock = threading.RLock()
_operators = {}  # "tarsia::relu": _Operator
_keepers = {}  # namespace: a Library that stays
_tags = ["", ""]  # the user's part of PyTorch's tag, and what stands there since _tell_caches()
_digests = [0]  # of all operators, as one


def install(namespace, name, overloads):
    """Registers the overloads as torch.ops.namespace.name, and gives that."""
    qualified = f"{namespace}::{name}"
    with _lock:
        old = _operators.get(qualified)
        if old and [one.key() for one in old.overloads] == [one.key() for one in overloads]:
            for mine, new in zip(old.overloads, overloads):
                mine.cell.take(new.cell)
            old.active = True
            _tell_caches()  # the user may have set the tag since
            return getattr(getattr(torch.ops, namespace), name)
        version = 1
        if old:
            _destroy(old.library)
            old.empty()
            del _operators[qualified]
            _digests[0] ^= old.digest
            version = old.version + 1
        library = torch.library.Library(namespace, "FRAGMENT")
        try:
            named = {overload.overload: _define(library, namespace, name, overload, version) for overload in overloads}
        except BaseException:
            _destroy(library)
            raise
        made = _operators[qualified] = _Operator(qualified, library, overloads, version)
        _digests[0] ^= made.digest
        packet = getattr(getattr(torch.ops, namespace), name)
        if version > 1:
            for short, overload in named.items():
                setattr(packet, short or "default", getattr(packet, overload))
        _tell_caches()
        return packet


def _tell_caches():
    """Puts the schemas and versions of all operators into the keys under which PyTorch keeps compiled graphs on disk.

    Work-around: PyTorch's key of a graph has the names of operators, without their schemas.
    Trigger: an operator has another schema, or another version, than when a process before this one compiled the
    graph. Symptom: a graph that calls an overload which this process lacks, or that takes a tensor as unwritten.
    Removal: the key has the schemas of the operators that a graph calls.
    """
    config = getattr(torch.compiler, "config", None)
    now = getattr(config, "cache_key_tag", None)
    if not isinstance(now, str):  # a PyTorch without the tag
        return
    if now != _tags[1]:  # the user has set it
        _tags[0] = now
    _tags[1] = f"{_tags[0]} tarsia:{_digests[0]:016x}".lstrip()
    config.cache_key_tag = _tags[1]


def _destroy(library):
    """Takes out what the library defines.

    Work-around: a Library of PyTorch takes its names out once more when it is collected.
    Trigger: an operator is defined anew before the collector finds the old Library. Symptom: what has the names by
    then, which is not the old Library's own, goes. Removal: a Library that was destroyed remembers that it was.
    """
    library._destroy()
    library._op_defs.clear()


def remove(qualified):
    """Takes an operator out: calls are errors from now on. Whether there was one."""
    with _lock:
        operator = _operators.get(qualified)
        if operator is None or not operator.active:
            return False
        operator.empty()
        return True


def names():
    """The qualified names of the operators that are registered."""
    with _lock:
        active = [name for name, operator in _operators.items() if operator.active]
        return tuple(name for name in active if not name.endswith("_backward") or name[:-9] not in active)


def _taken_out(*args, **kwargs):
    raise NotFound("this operator was taken out by tarsia.torch.unregister")


@atexit.register
def _let_go():
    """Work-around: PyTorch never frees what is registered.
    Trigger: the interpreter ends while operators are registered. Symptom: the libraries that they hold outlive it.
    Removal: PyTorch lets go of its kernels before the interpreter is gone.
    """
    for operator in _operators.values():
        operator.empty()


def _versioned(overload, version):
    """The name of an overload in an operator's definition of that version.

    Work-around: PyTorch keeps the Python object of each overload for ever.
    Trigger: an operator is registered again with another schema. Symptom: the object of that name still has the old
    one. Removal: PyTorch makes a new object for a new definition.
    """
    if version == 1:
        return overload
    return f"{overload}_version{version}" if overload else f"version{version}"


def _keep_record(namespace, name):
    """Gives an overload a kernel that is never called and stays when the definition goes.

    Work-around: PyTorch frees the record of an overload that has neither schema nor kernels.
    Trigger: somebody has kept an operator whose definition was replaced. Symptom: their call is one of freed memory.
    Removal: the operator's Python object keeps the record.
    """
    keeper = _keepers.get(namespace)
    if keeper is None:
        keeper = _keepers[namespace] = torch.library.Library(namespace, "FRAGMENT")
    keeper.impl(name, _taken_out, "PrivateUse3")  # no tensor is of that device


def _define(library, namespace, name, overload, version):
    """Defines one overload; gives the name that it has as such."""
    schema, cell = overload.schema, overload.cell
    full = _versioned(overload.overload, version)
    name = f"{name}.{full}" if full else name
    qualified = f"{namespace}::{name}"
    library.define(schema.text(name), tags=(*_layout_tags(), *overload.tags))
    _keep_record(namespace, name)
    run = kernel(schema, cell)
    library.impl(name, run, "CompositeExplicitAutograd")

    def fake(*args, **kwargs):
        return cell.fake(*args, **kwargs)

    torch.library.register_fake(qualified, fake, lib=library)
    if overload.has_autograd:
        make = _autograd_kernel_of_writer if schema.written and not overload.has_gradient else _autograd_kernel
        library.impl(name, make(_operator(qualified), schema, cell, run), "Autograd", with_keyset=True)
    if overload.ordered:
        _order(library, qualified)
    if overload.vmap:
        rule = loop_over_batch(_operator(qualified)) if overload.vmap is True else overload.vmap
        torch.library.register_vmap(qualified, rule, lib=library)
    for device, dtype in overload.autocast or ():
        torch.library.register_autocast(qualified, device, dtype, lib=library)
    return full


_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_after_views = torch._C._after_ADInplaceOrView_keyset
_any_requires_grad = torch._C._any_requires_grad
_is_grad_enabled = torch.is_grad_enabled
_keys_of = torch._C._dispatch_keys
_in_transform = torch._C._are_functorch_transforms_active
_in_dynamo = torch.compiler.is_dynamo_compiling
_n_modes = torch._C._len_torch_dispatch_stack
_Key = torch._C.DispatchKey
_plain_keys = {}  # of a set of dispatch keys: whether the kernel comes next after autograd
_direct_keys = {}  # of a tensor's set of dispatch keys: whether only autograd comes before the kernel


def _is_plain(keys):
    plain = _plain_keys[keys.raw_repr()] = (keys & _after_views).highestPriorityTypeId() in (_Key.CPU, _Key.CUDA)
    return plain


def runs_direct(tensor):
    """Whether an operator that is called with this tensor now would go to its kernel: no gradient is wanted, nobody
    traces or transforms, and it is a tensor like any other."""
    if _in_dynamo() or _is_grad_enabled() or _n_modes() or _in_transform():
        return False
    keys = _keys_of(tensor)
    direct = _direct_keys.get(keys.raw_repr())
    if direct is None:
        wrapped = keys.has(_Key.FuncTorchBatched) or keys.has(_Key.FuncTorchGradWrapper)
        direct = _direct_keys[keys.raw_repr()] = _is_plain(keys) and not wrapped
    return direct


def _autograd_kernel(operator, schema, cell, run):
    """What torch.library.register_autograd makes, in less time: no dispatch where the kernel comes next anyway, lists
    put into a row by hand. The dispatcher comes here once for each level of torch.func's transformations, so that
    the Function is one for a single level, without what Function.apply does for those who call it from outside."""
    has_lists = has_tensor_lists(schema)
    is_plain_row = all(one == "Tensor" for one in schema.returns)  # what autograd takes as it is
    written = schema.written  # states, which have no gradient

    def redispatch(keys, args, named):
        with _below_autograd():
            return operator.redispatch(keys & _after_autograd, *args, **named)

    def forward(ctx, how, *row):
        keys, named, lengths, plain, given = how
        args = row if lengths is None else _grouped(row, lengths)
        if cell.straight:
            args = [arg if i in written else contiguous(arg) for i, arg in enumerate(args)]
        if cell.keeps:
            saving.on = True
        try:
            if plain:
                result = run(*args, **named)
            elif not _in_transform():
                result = redispatch(keys, args, named)
            else:  # the levels below decide for themselves whether they want gradients
                with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                    result = redispatch(keys, args, named)
        finally:
            if cell.keeps:
                saving.on = False
        cell.save(ctx, args, named, result)
        if is_plain_row:
            return result
        given.append(result)
        return tuple(flat(_several(result)))

    def backward(ctx, *gradients):
        return (None, *cell.gradients(ctx, ctx.needs_input_grad[1:], *gradients))

    name = f"{schema.text('Backward').partition('(')[0]}_{operator._opname}"
    function = subclass(name, torch.autograd.function._SingleLevelFunction, {
        "forward": staticmethod(forward), "backward": staticmethod(backward),
        "_compiled_autograd_key": staticmethod(torch.autograd.Function._compiled_autograd_key)})
    node = function._backward_cls  # what ctx is
    node.apply = backward  # the engine calls it; PyTorch's own first looks at what else there might be
    node.call = node.states = None
    apply = function.apply

    def autograd(keys, *args, **named):
        plain = _plain_keys.get(keys.raw_repr())
        if plain is None:
            plain = _is_plain(keys)
        if forward_ad._current_level >= 0:
            _refuse_tangents(operator, args)
        if not (_is_grad_enabled() and _any_requires_grad(*(flat(args) if has_lists else args))):
            return run(*args, **named) if plain else redispatch(keys, args, named)
        for i in written:
            if i < len(args) and args[i] is not None and args[i].requires_grad:
                raise RuntimeError(f"{operator.name()} writes to its argument {schema.arguments[i].name!r}, which requires a gradient: "
                                   f"pass a tensor that does not, such as a buffer, or detach() it")
        lengths = None
        if has_lists:
            lengths, args = [len(one) if isinstance(one, (list, tuple)) else None for one in args], flat(args)
        given = []
        if plain:
            result = apply((keys, named, lengths, True, given), *args)
        else:
            with enable_single_level_autograd_function():
                result = apply((keys, named, lengths, False, given), *args)
        return result if is_plain_row else _shaped(result, given[0])

    return autograd


class _Written(torch.autograd.function._SingleLevelFunction):
    """Tells autograd that a tensor follows from others through an operator that has no gradient: `made`, or else the
    first of the others, which was written to. One at a time: what was written to may be a view."""

    @staticmethod
    def forward(ctx, cell, made, *inputs):
        ctx.cell = cell
        if made is not None:
            return made
        ctx.mark_dirty(inputs[0])
        return inputs[0]

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, *ctx.cell.gradients(ctx, ctx.needs_input_grad[2:], *gradients))


def _autograd_kernel_of_writer(operator, schema, cell, run):
    """That of an operator that writes to its arguments, which has no gradient: a backward through what it gives, or
    has written, is an error."""
    has_lists = has_tensor_lists(schema)

    def autograd(keys, *args, **named):
        plain = _plain_keys.get(keys.raw_repr())
        if plain is None:
            plain = _is_plain(keys)
        wants = _is_grad_enabled() and _any_requires_grad(*(flat(args) if has_lists else args))
        dirty = [one for i in schema.written for one in flat(args[i:i + 1]) if one is not None] if wants else ()
        for one in dirty:
            if one.is_leaf and one.requires_grad:
                raise RuntimeError(f"{operator.name()} writes to a leaf that requires a gradient: call it under "
                                   f"torch.no_grad(), or give it a copy")
        if plain:
            result = run(*args, **named)
        else:
            with _below_autograd():
                result = operator.redispatch(keys & _after_autograd, *args, **named)
        if not wants:
            return result
        row = flat(args)
        with enable_single_level_autograd_function():
            for one in dirty:
                _Written.apply(cell, None, one, *row)
            made = [_Written.apply(cell, one, *row) if isinstance(one, torch.Tensor) else one
                    for one in flat(_several(result))]
        return _shaped(made, result)

    return autograd


def subclass(name, base, members):
    """A class made at run time, of which type checkers know nothing more."""
    return type(name, (base,), members)


def _several(result):
    return result if isinstance(result, (list, tuple)) else (result,)


def _shaped(row, result):
    """The first of the row in the shape that the result has, of at most two levels."""
    if not isinstance(result, (list, tuple)):
        return row[0]
    items = iter(row)
    return type(result)([next(items) for _ in one] if isinstance(one, (list, tuple)) else next(items) for one in result)


def _refuse_tangents(operator, args):
    for one in flat(args):
        if isinstance(one, torch.Tensor) and forward_ad.unpack_dual(one).tangent is not None:
            raise Unsupported(f"{operator.name()} has no rule for forward mode (jvp, jacfwd, forward_ad): "
                              f"differentiate in reverse mode, with vjp, jacrev or backward")


def has_tensor_lists(schema):
    return any(one.is_list and one.is_tensor for one in schema.arguments if not one.keyword)


def flat(args):
    """The arguments, and the elements of lists among them, in one row."""
    row = []
    for arg in args:
        row.extend(arg) if isinstance(arg, (list, tuple)) else row.append(arg)
    return row


def _grouped(row, lengths):
    """The reverse."""
    items = iter(row)
    return [next(items) if n is None else [next(items) for _ in range(n)] for n in lengths]


def _layout_tags():
    """Compiled graphs hand tensors over as they were: pointers need contiguous memory."""
    tag = getattr(torch.Tag, "needs_exact_strides", None) or getattr(torch.Tag, "needs_fixed_stride_order", None)
    return (tag,) if tag is not None else ()


def _order(library, qualified):
    """Calls keep their order in compiled graphs, and none is left out."""
    register = getattr(torch.library, "_register_effectful_op", None)
    if register is not None:
        from torch._library.effects import EffectType

        register(qualified, EffectType.ORDERED, lib=library)
        return
    from torch._higher_order_ops import effects

    effects._register_effectful_op(_operator(qualified), effects._EffectType.ORDERED)


def _operator(qualified):
    """The overload of that name."""
    packet, _, overload = qualified.partition(".")
    namespace, _, name = packet.partition("::")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


def kernel(schema, cell):
    """What the dispatcher calls. Tensors that are only read are made contiguous where that is what was wrong."""
    written = schema.written

    def again(error, args, kwargs):
        straight = [arg if i in written else contiguous(arg) for i, arg in enumerate(args)]
        if all(a is b for a, b in zip(straight, args)):
            raise error
        return cell.call(*straight, **kwargs)

    def run(*args, **kwargs):
        try:
            return cell.call(*args, **kwargs)
        except ArgumentValueError as error:
            return again(error, args, kwargs)

    return run


def contiguous(value):
    """The tensor, or list of tensors, in plain contiguous memory; itself where it is so already."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return value
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        return value if value.is_contiguous() else value.contiguous()
    if isinstance(value, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in value):
        straight = [contiguous(one) for one in value]
        return value if all(a is b for a, b in zip(straight, value)) else straight
    return value


def split_name(name, default):
    """The namespace and the name of an operator given as "relu", "mine::relu" or None."""
    if name is None:
        return "tarsia", default
    if not isinstance(name, str):
        raise ArgumentTypeError(f"an operator's name is a str, not {type(name).__name__}")
    namespace, colons, last = name.rpartition("::")
    if not name.isascii() or not last.isidentifier() or (colons and not namespace.isidentifier()):
        raise ArgumentValueError(f"{name!r} names no operator: write 'relu' or 'mine::relu'")
    return namespace or "tarsia", last


def autocast_rules(autocast):
    """((device, dtype), …) of a dtype for all devices, or a dict of device to dtype."""
    if autocast is None:
        return None
    if isinstance(autocast, torch.dtype):
        return ("cpu", autocast), ("cuda", autocast)
    if not isinstance(autocast, dict) or not all(isinstance(dtype, torch.dtype) for dtype in autocast.values()):
        raise wrong_type("autocast", "a torch.dtype, or a dict of device to dtype such as {'cuda': torch.float16}", autocast)
    for device in autocast:
        try:
            torch.amp.is_autocast_available(device)
        except (TypeError, RuntimeError):
            raise ArgumentValueError(f"autocast: PyTorch knows no device {device!r}; there are 'cpu', 'cuda' and others") from None
    return tuple(sorted(autocast.items()))


def check_vmap(vmap):
    """What torch.library.register_vmap takes, True, or nothing."""
    if vmap is not None and not isinstance(vmap, bool) and not callable(vmap):
        raise wrong_type("vmap", "a rule as torch.library.register_vmap takes it, or True", vmap)


def loop_over_batch(op):
    """A rule for vmap: one call for each element of the batch."""

    def rule(info, in_dims, *args, **kwargs):
        calls = []
        for k in range(info.batch_size):
            calls.append(op(*(_element(arg, dim, k) for arg, dim in zip(args, in_dims)), **kwargs))
        if calls[0] is None:  # it writes
            return None, None
        if not isinstance(calls[0], (tuple, list)):
            return _stack(calls), 0
        stacked = type(calls[0])(_stack(group) for group in zip(*calls))
        return stacked, type(calls[0])([0] * len(stacked))

    return rule


def _element(arg, dim, k):
    if isinstance(arg, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(arg)
        return [_element(one, d, k) for one, d in zip(arg, dims)]
    return arg if dim is None or arg is None else arg.select(dim, k)


def _stack(results):
    if not isinstance(results[0], torch.Tensor):
        raise Unsupported("vmap=True is for operators that give tensors")
    return torch.stack(results)
