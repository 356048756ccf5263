"""tarsia.define_op: ops that are written in Python, around inline kernels."""

import atexit
import inspect
import typing

from .. import _tarsia
from .._compile import recipe as _recipe
from .._compile.loading import forget_ops
from .._errors import ArgumentTypeError, explains_misuse
from .attributes import attribute_of, descriptions_of
from .implementations import Implementation, checked_devices, implementation_of, layouts_of, listed, names_of, pairs_of, specs_of
from .._sparse import STORAGES

atexit.register(_tarsia.forget_ops)

_OPTIONAL, VARIADIC, _MUTABLE, _NO_GRADIENT, _HIDDEN = 1, 2, 4, 8, 16  # flags of ports
_MAX_NDIM = 32


def describe_exception(exception):
    """What an error says of an exception in the op's own code: its class, its text, and where it was raised."""
    import traceback

    frames = traceback.extract_tb(exception.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(exception).__name__}: {exception}{place}"


class Meta:
    """What is known of an input or output: shape (with None for unknown extents), dtype, and storage ("dense", "row_sparse" or "csr"). What is
    unknown is None. `infer` sets what it can.
    """

    __slots__ = ("dtype", "shape", "storage")

    def __init__(self, shape, dtype, storage):
        self.shape, self.dtype, self.storage = shape, dtype, storage

    def __repr__(self):
        return f"Meta(shape={self.shape}, dtype={self.dtype!r}, storage={self.storage!r})"


class BindInfo:
    """What a keyword-only parameter `info` of `infer` gets. device: "cpu" or "gpu"."""

    __slots__ = ("_choose", "_put", "_set", "device")

    def __init__(self, device, choose, set_attribute, put):
        self.device, self._choose, self._set, self._put = device, choose, set_attribute, put

    def choose(self, name):
        """Chooses the forward of this name for the device, whatever predicates and priorities say. Backward is then the one of that
        name, if there is one, and else chosen as usual. The last call counts.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(f"choose takes the name of an implementation, not {name!r}")
        self._choose(name)

    def set_attribute(self, name, value):
        """Replaces the value of an attribute. It is checked as a caller's."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"set_attribute takes the name of an attribute, not {name!r}")
        self._put(name, self._set(name, value))


def takes_any_keyword(function):
    return any(parameter.kind == parameter.VAR_KEYWORD for parameter in inspect.signature(function).parameters.values())


def parameters_of(function):
    """The names of a function's positional parameters, and of its keyword-only ones."""
    positional, keywords = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(parameter.name)
        elif parameter.kind == parameter.KEYWORD_ONLY:
            keywords[parameter.name] = parameter
        elif parameter.kind == parameter.VAR_POSITIONAL:
            raise ArgumentTypeError(f"{function.__qualname__} takes *{parameter.name}: an op's tensors have a name each")
    return positional, keywords


def spec_of(name, function, implementations, **more):
    """An op as the extension takes it, with nothing but implementations unless `more` says so. function: where it is declared."""
    code = getattr(function, "__code__", None)
    return {"name": name, "description": "", "location": f"{code.co_filename}:{code.co_firstlineno}" if code else "", "inputs": [],
            "outputs": [], "attributes": [], "inplace": [], "backward_needs": None, "implementations": implementations,
            "counts_outputs": False, "infers": False, "amends": False, "extends": False, "any_attributes": False, "sparse": False,
            "stateful": False, "random": False, **more}


class Definition:
    """An op in Python, as the extension calls it: with the GIL held, on any thread."""

    def __init__(self, name, author, functions, attributes, options):
        self.name = name
        self.author = author  # a class, or None for plain functions
        self.attributes = attributes
        # 1. The functions, and their parameters.
        declared = self._take_functions(functions, bool(options["sparse"]))
        tensors = self._read_parameters()
        # 2. The ports by their names, and what each function takes of them.
        self._name_ports(tensors["forward"], options["outputs"])
        self._count_parameters(tensors, declared)
        # 3. Inference.
        is_sparse = any(one.sparse for one in declared.values())
        self._check_inference(is_sparse)
        # 4. What is special about ports.
        flags = self._flags_of_inputs(options)
        hidden = self._hidden_outputs(options["hidden"])
        # 5. Tensors that may share memory, and how they lie there.
        pairs = pairs_of(options["inplace"], self.inputs, self.outputs, f"op '{name}': inplace")
        own_pairs = self._own_pairs(declared, tensors, options)
        layouts = {what: layouts_of(one.layout, tensors[what], self.inputs, self.outputs, one.of, f"op '{name}': layout of {what}")
                   for what, one in declared.items()}
        # 6. The implementations, one for each device.
        self.implementations = []  # the key of the function of each, in the order of the registry
        implementations = []
        for what, one in declared.items():
            devices = checked_devices(options["devices"] if one.devices is None else one.devices, f"op '{name}'")
            self.implementations += [what] * len(devices)
            implementations += specs_of(one, one.of, devices, "requests" in self.keywords[what], own_pairs[what], layouts[what])
        # 7. All of it, as the extension takes it.
        self.spec = self._describe(flags, hidden, pairs, implementations, is_sparse, options)

    def _take_functions(self, functions, is_sparse):
        """{key: Implementation} of what runs. The functions about an implementation get keys of their own beside it."""
        declared = {what: implementation_of(function) or Implementation(what, sparse=is_sparse) for what, function in functions.items()
                    if what in ("forward", "backward") or what not in _FUNCTIONS}
        self.functions = {**functions, **{f"when of {what}": one.when for what, one in declared.items() if one.when},
                          **{f"workspace of {what}": one.workspace for what, one in declared.items() if one.workspace}}
        if functions.get("forward") is None:
            raise ArgumentTypeError(f"op '{self.name}': there is no forward; define forward(self, inputs…, outputs…)")
        return declared

    def _read_parameters(self):
        """{key: the names of the tensors that a function takes}. What else it takes are attributes and the like."""
        self.keywords, tensors = {}, {}
        self.takes_others = {what for what, function in self.functions.items() if self.author is None and takes_any_keyword(function)}
        for what, function in self.functions.items():
            positional, keywords = parameters_of(function)
            known = {"requests"}
            if self.author is None:
                known.update(attribute.name for attribute in self.attributes)
            else:
                positional = positional[1:]
            if what == "infer":
                known.add("info")
            unknown = sorted(set(keywords) - known)
            if unknown:
                raise ArgumentTypeError(f"op '{self.name}': {what} has a parameter '{unknown[0]}' that is no attribute of the op")
            tensors[what], self.keywords[what] = positional, list(keywords)
        return tensors

    def _name_ports(self, parameters, outputs):
        """Inputs and outputs are the parameters of forward."""
        self.outputs = names_of(outputs, f"op '{self.name}': outputs") if outputs else parameters[-1:]
        n_out = len(self.outputs)
        if not n_out or parameters[-n_out:] != self.outputs:
            raise ArgumentTypeError(f"op '{self.name}': forward takes the inputs and then the outputs, "
                                    f"{', '.join(self.outputs) or 'of which there is none'}; its parameters are {', '.join(parameters)}")
        self.inputs = parameters[:-n_out]

    def _count_parameters(self, tensors, declared):
        n_in, n_out = len(self.inputs), len(self.outputs)
        passes = {"forward": (n_in + n_out, "the inputs and then the outputs, which it writes"),
                  "backward": (2 * n_out + 2 * n_in, "the gradients of the outputs, the inputs, the outputs, and the gradients of the "
                                                     "inputs, which it writes")}
        about = [what for what in self.functions if what.startswith(("when of ", "workspace of "))]
        for what, wanted, order in (
                *((what, *passes[one.of]) for what, one in declared.items()),
                *((what, n_in + n_out, "what is known of inputs and outputs") for what in about),
                ("arity", 0, "none"), ("infer_shape", n_in, "the shapes of the inputs"), ("infer_dtype", n_in, "the dtypes of the inputs"),
                ("infer_storage", n_in, "the storages of the inputs"), ("infer", n_in + n_out, "what is known of inputs and outputs")):
            if what in tensors and len(tensors[what]) != wanted:
                raise ArgumentTypeError(f"op '{self.name}': {what} takes {wanted} arguments ({order}), not {len(tensors[what])}")

    def _check_inference(self, is_sparse):
        redundant = "infer" in self.functions and [what for what in _INFERENCE if what in self.functions]
        if redundant:
            raise ArgumentTypeError(f"op '{self.name}': infer tells all that {redundant[0]} would: define one of them")
        if "infer_storage" in self.functions and not is_sparse:
            raise ArgumentTypeError(f"op '{self.name}': infer_storage without an implementation that takes sparse tensors: sparse=True")

    def _flags_of_inputs(self, options):
        """{input: its flags}."""
        flags = dict.fromkeys(self.inputs, 0)
        self.variadic_output = self.outputs[-1] in names_of(options["variadic"], f"op '{self.name}': variadic")
        if self.variadic_output != ("arity" in self.functions):
            raise ArgumentTypeError(f"op '{self.name}': a last output of any number of tensors is named by variadic, and counted by "
                                    f"arity(self): there has to be both or neither")
        for key, flag in (("optional", _OPTIONAL), ("variadic", VARIADIC), ("mutable", _MUTABLE), ("no_gradient", _NO_GRADIENT)):
            for port in names_of(options[key], f"op '{self.name}': {key}"):
                if flag == VARIADIC and self.variadic_output and port == self.outputs[-1]:
                    continue
                if port not in flags:
                    raise ArgumentTypeError(f"op '{self.name}': {key} names '{port}', which is no input; there are "
                                            f"{', '.join(self.inputs) or 'none'}")
                flags[port] |= flag
        many = [port for port in self.inputs if flags[port] & VARIADIC]
        if many and many != self.inputs[-1:]:
            raise ArgumentTypeError(f"op '{self.name}': variadic is the last input, '{self.inputs[-1]}', or none")
        self.variadic = bool(many)
        return flags

    def _hidden_outputs(self, given):
        hidden = names_of(given, f"op '{self.name}': hidden")
        for port in hidden:
            if self.variadic_output and port == self.outputs[-1]:
                raise ArgumentTypeError(f"op '{self.name}': hidden names '{port}', of which there is any number")
            if port not in self.outputs:
                raise ArgumentTypeError(f"op '{self.name}': hidden names '{port}', which is no output; there are {', '.join(self.outputs)}")
        return hidden

    def _own_pairs(self, declared, tensors, options):
        """{key: the in-place pairs of an implementation alone}."""
        n_in, n_out = len(self.inputs), len(self.outputs)
        own_pairs = {}
        for what, one in declared.items():
            plain = options[f"{what}_inplace"] if what in ("forward", "backward") else ()
            given = [*listed(one.inplace), *listed(plain)]
            if one.of == "backward" and (self.variadic or self.variadic_output) and any(isinstance(pair, str) for pair in given):
                raise ArgumentTypeError(f"op '{self.name}': {what}: with any number of tensors, in-place pairs of backward are numbers, "
                                        f"such as (0, 0)")
            n = n_in if one.of == "forward" else 2 * n_out + n_in
            own_pairs[what] = pairs_of(given, tensors[what][:n], tensors[what][n:], f"op '{self.name}': inplace of {what}")
        return own_pairs

    def _describe(self, flags, hidden, pairs, implementations, is_sparse, options):
        name, author, forward = self.name, self.author, self.functions["forward"]
        needs = options["backward_needs"]
        descriptions = descriptions_of(forward)
        takes_any = takes_any_keyword(forward) if author is None else inspect.isfunction(author.__init__) and takes_any_keyword(author.__init__)

        def flag_of_output(port):
            return _HIDDEN if port in hidden else VARIADIC if self.variadic_output and port == self.outputs[-1] else 0

        return spec_of(
            name, forward, implementations,
            description=inspect.getdoc(author if author is not None else forward) or "",
            inputs=[(port, flag, descriptions.get(port, "")) for port, flag in flags.items()],
            outputs=[(port, flag_of_output(port), descriptions.get(port, "")) for port in self.outputs],
            attributes=[attribute.spec(name) for attribute in self.attributes],
            inplace=pairs,
            backward_needs=None if needs is None else names_of(needs, f"op '{name}': backward_needs"),
            counts_outputs=self.variadic_output,
            infers=bool(self.functions.keys() & {"infer", *_INFERENCE}),
            amends="info" in self.keywords.get("infer", ()) and not any(attribute.name == "info" for attribute in self.attributes),
            any_attributes=takes_any,
            sparse=is_sparse,
            stateful=bool(options["stateful"]),
            random=bool(options["random"]))

    # ---- called by the extension ----

    def create(self, values, others):
        named = {attribute.name: value for attribute, value in zip(self.attributes, values)}
        if self.author is None:
            return named, dict(others)
        instance = self._unborn(named)
        instance.__init__(**dict(others))
        return instance

    def forward(self, index, instance, tensors, requests):
        n_in = len(tensors) - len(requests)
        arguments = [*self._by_port(tensors[:n_in]), *self._by_output(tensors[n_in:])]
        self._run(self.implementations[index], instance, arguments, tuple(self._by_output(requests)))

    def backward(self, index, instance, tensors, requests):
        n_in = len(requests)
        n_out = len(tensors) // 2 - n_in
        inputs, outputs = tensors[n_out : n_out + n_in], tensors[n_out + n_in : -n_in]
        arguments = [*self._by_output(tensors[:n_out]), *self._by_port(inputs), *self._by_output(outputs),
                     *self._by_port(tensors[-n_in:])]
        self._run(self.implementations[index], instance, arguments, tuple(self._by_port(requests)))

    def count_outputs(self, values, others):
        named = {attribute.name: value for attribute, value in zip(self.attributes, values)}
        instance = named, dict(others)
        if self.author is not None:  # without __init__, which is for what is bound
            instance = self._unborn(named)
        n = self._call("arity", instance, ())
        if not isinstance(n, int) or n < 0:
            raise TypeError(f"arity gives the number of tensors of '{self.outputs[-1]}', not {n!r}")
        return len(self.outputs) - 1 + n

    def applies(self, index, instance, inputs, outputs):
        return bool(self._call(self._about("when", index), instance, self._metas(inputs, outputs)[0]))

    def workspace(self, index, instance, inputs, outputs):
        n = self._call(self._about("workspace", index), instance, self._metas(inputs, outputs)[0])
        if not hasattr(n, "__index__") or n.__index__() < 0:
            raise TypeError(f"workspace gives a number of bytes, not {n!r}")
        return n.__index__()

    def _about(self, what, index):
        """What self.functions calls a function about an implementation."""
        return f"{what} of {self.implementations[index]}"

    def infer(self, instance, inputs, outputs, amendments=None):
        """(shape, dtype, storage) of the inputs and then the outputs, None for what stays as it is."""
        if "infer" in self.functions:
            info = None
            if amendments is not None:
                device, choose, set_attribute = amendments
                info = BindInfo(device, choose, set_attribute, lambda name, value: self._put(instance, name, value))
            return self._infer_all(instance, inputs, outputs, info)
        n = len(outputs)
        shapes, dtypes, storages = [None] * n, [None] * n, [None] * n
        given = [meta for meta in inputs if meta is not None]
        if all(shape is not None and None not in shape for shape, _, _ in given):
            shapes = self._inferred("infer_shape", instance, self._by_port([meta and meta[0] for meta in inputs]), self._shape, n)
            if shapes is None:
                shapes = [given[0][0] if given else None] * n
        if all(dtype is not None for _, dtype, _ in given):
            dtypes = self._inferred("infer_dtype", instance, self._by_port([meta and meta[1] for meta in inputs]), self._dtype, n)
            if dtypes is None:
                dtypes = [given[0][1] if given else None] * n
        if "infer_storage" in self.functions:  # what is left unknown is dense
            arguments = self._by_port([meta and (meta[2] or "dense") for meta in inputs])
            storages = self._inferred("infer_storage", instance, arguments, self._storage, n)
        return [None] * len(inputs) + [*zip(shapes, dtypes, storages)]

    # ---- its own ----

    def _unborn(self, named):
        """An instance with its attributes, before __init__."""
        instance = self.author.__new__(self.author)
        for name, value in named.items():
            setattr(instance, name, value)
        return instance

    def _put(self, instance, name, value):
        """Changes an attribute of an instance."""
        if self.author is not None:
            if any(attribute.name == name for attribute in self.attributes):
                setattr(instance, name, value)
            return
        attributes, others = instance
        (attributes if name in attributes else others)[name] = value

    def _by_port(self, items):
        """One item for each input, of the variadic one a list."""
        n = len(self.inputs) - 1
        return [*items[:n], list(items[n:])] if self.variadic else items

    def _by_output(self, items):
        n = len(self.outputs) - 1
        return [*items[:n], list(items[n:])] if self.variadic_output else items

    def _run(self, what, instance, tensors, requests):
        given = self._call(what, instance, tensors, requests)
        if given is not None:
            raise TypeError(f"{what} writes to its outputs and returns nothing, but returned a {type(given).__name__}")

    def _call(self, what, instance, arguments, requests=None, info=None):
        function, keywords = self.functions[what], self.keywords[what]
        named = {"requests": requests} if "requests" in keywords else {}
        if info is not None:
            named["info"] = info
        if self.author is not None:
            return function(instance, *arguments, **named)
        attributes, others = instance
        named.update((name, attributes[name]) for name in keywords if name not in named and name != "requests")
        if what in self.takes_others:
            named.update(others)
        return function(*arguments, **named)

    def _metas(self, inputs, outputs):
        """What is known: as arguments of a function, and in one row."""
        metas = [given and Meta(*given) for given in (*inputs, *outputs)]
        return [*self._by_port(metas[: len(inputs)]), *self._by_output(metas[len(inputs) :])], metas

    def _infer_all(self, instance, inputs, outputs, info):
        arguments, metas = self._metas(inputs, outputs)
        found = self._call("infer", instance, arguments, info=info)
        if found is not None:
            raise TypeError(f"infer sets what it can in its arguments and returns nothing, but returned a {type(found).__name__}")
        return [meta and (None if meta.shape is None else self._shape("infer", meta.shape, None),
                          None if meta.dtype is None else self._dtype("infer", meta.dtype),
                          None if meta.storage is None else self._storage("infer", meta.storage)) for meta in metas]

    def _inferred(self, what, instance, arguments, read, n):
        if what not in self.functions:
            return None
        found = self._call(what, instance, arguments)
        one = n == 1
        items = [found] if one and not self._is_several(what, found) else list(found) if isinstance(found, (list, tuple)) else [found]
        if len(items) != n:
            raise TypeError(f"{what} gives one item for each of {n} outputs, not {found!r}")
        return [read(what, item) for item in items]

    @staticmethod
    def _is_several(what, found):
        return isinstance(found, (list, tuple)) and bool(found) and (
            what != "infer_shape" or isinstance(found[0], (list, tuple)))

    @staticmethod
    def _shape(what, item, *unknown):
        try:
            shape = tuple(extent if extent in unknown else extent.__index__() for extent in item)
        except (TypeError, AttributeError):
            raise TypeError(f"{what}: {item!r} is no shape: a tuple of ints") from None
        if len(shape) > _MAX_NDIM:
            raise ValueError(f"{what}: a shape has at most {_MAX_NDIM} extents, not {len(shape)}")
        return shape

    @staticmethod
    def _dtype(what, item):
        name = getattr(item, "name", None) or str(item).removeprefix("torch.")
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"{what}: {item!r} is no dtype: a str such as 'float32'")
        return name

    @staticmethod
    def _storage(what, item):
        if item not in STORAGES:
            raise TypeError(f"{what}: {item!r} is no storage: 'dense', 'row_sparse' or 'csr'")
        return item


_OPTIONS = {"outputs": None, "optional": (), "variadic": (), "mutable": (), "no_gradient": (), "hidden": (), "inplace": (),
            "forward_inplace": (), "backward_inplace": (), "backward_needs": None, "devices": ("cpu", "gpu"), "sparse": False, "stateful": False, "random": False}
_INFERENCE = ("infer_shape", "infer_dtype", "infer_storage")
_FUNCTIONS = ("forward", "backward", "arity", *_INFERENCE, "infer")


def _of_class(author, options):
    name = options.pop("name", None) or author.__name__
    for key in _OPTIONS:
        if key not in options and key in vars(author):
            options[key] = vars(author)[key]
    functions = {what: inspect.getattr_static(author, what) for what in _FUNCTIONS if hasattr(author, what)}
    for base in reversed(author.__mro__):
        functions.update((what, inspect.getattr_static(author, what)) for what, member in vars(base).items() if implementation_of(member))
    for what, function in functions.items():
        if not inspect.isfunction(function):
            raise ArgumentTypeError(f"op '{name}': {what} has to be a plain method")
    try:
        annotations = typing.get_type_hints(author, include_extras=True)
    except NameError as cause:
        raise ArgumentTypeError(f"op '{name}': an annotation cannot be read: {cause}") from cause
    attributes = []
    for attribute, annotation in annotations.items():
        if attribute.startswith("_") or attribute in _OPTIONS or typing.get_origin(annotation) is typing.ClassVar:
            continue
        has_default = hasattr(author, attribute)
        attributes.append(attribute_of(name, attribute, annotation, getattr(author, attribute, None), has_default))
    return Definition(name, author, functions, attributes, {**_OPTIONS, **options})


def _of_functions(forward, options):
    name = options.pop("name", None) or forward.__name__
    if not isinstance(name, str):
        raise ArgumentTypeError(f"define_op: name must be a str, got {name!r}")
    if name == "<lambda>":
        raise ArgumentTypeError("define_op: a lambda has no name that the op could take: pass name=")
    functions = {"forward": forward}
    functions.update((what, options.pop(what)) for what in _FUNCTIONS[1:] if options.get(what) is not None)
    for what in _FUNCTIONS[1:]:
        options.pop(what, None)
    others = options.pop("implementations", None) or ()
    for function in [others] if callable(others) else others:
        if not implementation_of(function):
            raise ArgumentTypeError(f"op '{name}': {function!r} among implementations needs tarsia.implementation(\"forward\", …)")
        what = function.__name__
        functions[what if what not in functions and what not in _FUNCTIONS else f"{what} {len(functions)}"] = function
    attributes = []
    keywords = parameters_of(forward)[1]
    try:
        hints = typing.get_type_hints(forward, include_extras=True) if keywords else {}
    except NameError as cause:
        raise ArgumentTypeError(f"op '{name}': an annotation cannot be read: {cause}") from cause
    for attribute, parameter in keywords.items():
        if attribute == "requests":
            continue
        has_default = parameter.default is not parameter.empty
        attributes.append(attribute_of(name, attribute, hints.get(attribute) if attribute in hints or has_default else str,
                                     parameter.default if has_default else None, has_default))
    return Definition(name, None, functions, attributes, {**_OPTIONS, **options})


@explains_misuse("pass a class or a function, and options by name")
def define_op(author=None, /, **options):
    """Registers an op that is written in Python: a class with a forward, or a function.

        @tarsia.define_op
        class scale:
            '''Multiplies by a factor.'''
            factor: float = 2.0                          # an attribute

            def forward(self, x, y):                     # inputs, then outputs, which it writes to
                lib.scale(self.factor, x, y, x.size)

            def backward(self, dy, x, y, dx):            # gradients of outputs, inputs, outputs, gradients of inputs
                lib.scale(self.factor, dy, dx, dx.size)

        y = scale(x, factor=3.0)                         # also tarsia.ops.scale, and tarsia.op("scale").bind(x)

    Tensors are contiguous and belong to the caller's framework.

    Attributes are the annotated members of the class: bool, int, float, str, tuples of one of them, Literal of strings, or None. Annotated
    adds a description and a tarsia.Range. If __init__ takes **others, callers may pass undeclared attributes, which arrive as strings. A
    function takes attributes as keyword-only parameters; pass backward=, infer_shape= and so on to define_op.

    Without inference all outputs are like the first input. infer_shape(self, shapes…) and infer_dtype(self, dtypes…) return the
    shapes and dtypes of the outputs, infer_storage(self, storages…) says which are "csr" or "row_sparse". In place of these three,
    infer(self, inputs…, outputs…) gets what is known, and sets shape, dtype and storage of any input or output. Its keyword-only
    parameter `info` has info.choose(name), which picks an implementation, and info.set_attribute(name, value).

    A keyword-only parameter `requests` of forward or backward gets the write requests. Without it Tarsia deals with them.

    Options, or members of the class with these names:
        name: of the op.
        outputs: the names of the outputs; by default the last parameter of forward.
        optional, mutable, no_gradient: names of inputs.
        variadic: the last input, a list of any number of tensors; also the last output, whose number arity(self) gives.
        hidden: names of outputs that callers do not get.
        inplace: "x -> y", pairs that may share memory in every forward.
        forward_inplace, backward_inplace: such pairs of forward, or of backward ("dy -> dx"), alone.
        backward_needs: names of what backward needs: inputs, outputs, and "dy" for the gradient of an output y. It gets None for the
            rest, which callers need not keep. By default it gets all.
        devices: ("cpu", "gpu").
        sparse: forward and backward also take scipy.sparse.csr_matrix, torch.sparse_csr and tarsia.RowSparse. A sparse output is a
            tarsia.SparseOutput.
        implementations: of a function: further ones, marked with tarsia.implementation. In a class, mark methods.
        stateful: what an instance keeps belongs to one binding, and the calls of that binding wait for each other.
        random: two calls differ.

    Returns the tarsia.Op. It replaces an op of the same name.
    """
    if author is None:
        return lambda author: define_op(author, **options)
    known = [*_OPTIONS, *_FUNCTIONS[1:], "implementations"]
    unknown = sorted(set(options) - {"name", *known})
    if unknown:
        raise ArgumentTypeError(f"define_op has no option '{unknown[0]}'; there are name, {', '.join(known)}")
    if inspect.isclass(author):
        given = [what for what in (*_FUNCTIONS[1:], "implementations") if what in options]
        if given:
            raise ArgumentTypeError(f"define_op: {given[0]} of a class is a method of it")
        definition = _of_class(author, dict(options))
    elif inspect.isfunction(author):
        definition = _of_functions(author, dict(options))
    else:
        raise ArgumentTypeError(f"define_op takes a class with forward, or a function, got {type(author).__name__}")
    _tarsia.define_op(definition, definition.spec)
    forget_ops()
    _recipe.forget_ops(None, definition.name)
    return _tarsia.op(definition.name)
