"""python -m tarsia.compat: scripts of early PyTorch's time run as they are."""

import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

SOURCES = pathlib.Path(__file__).parent / "sources"

BUILD = '''
import os
import torch
from torch.utils.ffi import create_extension

this_file = os.path.dirname(os.path.realpath(__file__))
ffi = create_extension(
    "_ext.mix",
    headers=["src/mix.h"],
    sources=["src/mix.c"],
    define_macros=[],
    relative_to=__file__,
    with_cuda=False,
    extra_objects=[],
    extra_compile_args=["-std=c99"],
)

if __name__ == "__main__":
    ffi.build()
'''

SCRIPT = '''
import sys
import torch
import torch.nn as nn
from torch.autograd import Function, Variable
try:
    import nowhere  # what is not there need not be
except ImportError:
    pass
from _ext import mix


class Mix(Function):
    def __init__(self, weight):
        super(Mix, self).__init__()
        self.weight = float(weight)
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        self.save_for_backward(a, b)
        out = a.new()
        mix.mix_forward(a, b, self.weight, out)
        return out

    def backward(self, grad_out):
        a, b = self.saved_tensors
        assert self.needs_input_grad == (True, True) and torch.equal(a, torch.ones(3))
        grad_a, grad_b = grad_out.new(), grad_out.new()
        mix.mix_backward(grad_out.contiguous(), self.weight, grad_a, grad_b)
        return grad_a, grad_b


class Net(nn.Module):
    def forward(self, a, b):
        self.last = Mix(3)
        return self.last(a, b)


a, b = Variable(torch.ones(3), requires_grad=True), Variable(torch.ones(3) * 2, requires_grad=True)
net = Net()
y = net(a, b)
y.sum().backward()
print(y.data.tolist(), a.grad.tolist(), b.grad.tolist(), net.last.calls, net.last.weight, sys.argv[1:])
'''


def run(*words, cwd):
    return subprocess.run([sys.executable, "-W", "error::DeprecationWarning", "-m", "tarsia.compat", *words], cwd=cwd,
                          capture_output=True, text=True)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src").mkdir()
    for name in ("mix.c", "mix.h"):
        (tmp_path / "src" / name).write_text((SOURCES / name).read_text())
    (tmp_path / "build.py").write_text(BUILD)
    (tmp_path / "test.py").write_text(SCRIPT)
    return tmp_path


EXPECTED = "[7.0, 7.0, 7.0] [1.0, 1.0, 1.0] [3.0, 3.0, 3.0] 1 3.0 ['word']"


def test_a_build_script_and_then_the_test(project):
    built = run("build.py", cwd=project)
    assert built.returncode == 0, built.stderr
    assert (project / "_ext/mix/__init__.py").is_file() and (project / "_ext/__init__.py").is_file()
    ran = run("test.py", "word", cwd=project)
    assert ran.stdout.strip() == EXPECTED, ran.stderr


def test_an_extension_that_nobody_built_is_built_when_it_is_imported(project):
    (project / "build_other.py").write_text("from torch.utils.ffi import create_extension\nraise RuntimeError('this script was run')\n")
    ran = run("test.py", "word", cwd=project)
    assert ran.stdout.strip() == EXPECTED, ran.stderr


def test_packages_of_the_old_builder_are_imported(project):
    run("build.py", cwd=project)
    (project / "_ext/mix/__init__.py").write_text(
        "from torch.utils.ffi import _wrap_function\nfrom ._mix import lib as _lib, ffi as _ffi\n\n__all__ = []\n"
        "for symbol in dir(_lib):\n    fn = getattr(_lib, symbol)\n"
        "    globals()[symbol] = _wrap_function(fn, _ffi) if callable(fn) else fn\n    __all__.append(symbol)\n")
    ran = run("test.py", "word", cwd=project)
    assert ran.stdout.strip() == EXPECTED, ran.stderr


OLD_INIT = """
from torch.utils.ffi import _wrap_function
from ._mix import lib as _lib, ffi as _ffi

__all__ = []
def _import_symbols(locals):
    for symbol in dir(_lib):
        fn = getattr(_lib, symbol)
        locals[symbol] = _wrap_function(fn, _ffi) if callable(fn) else fn
        __all__.append(symbol)

_import_symbols(locals())
"""


def packaged(project):
    """The project with its files in a package: a module of it imports the extension beside it."""
    (project / "net/functions").mkdir(parents=True)
    for name in ("src", "build.py"):
        (project / name).rename(project / "net" / name)
    (project / "net/__init__.py").touch()
    (project / "net/functions/__init__.py").touch()
    (project / "net/functions/mix.py").write_text("from .._ext import mix\n")
    (project / "test.py").write_text(SCRIPT.replace("from _ext import mix", "from net.functions.mix import mix"))
    return project


def test_an_unbuilt_extension_in_a_package_is_built(project):
    ran = run("test.py", "word", cwd=packaged(project))
    assert ran.stdout.strip() == EXPECTED, ran.stderr
    assert (project / "net/_ext/mix/_mix.py").is_file() and not (project / "_ext").exists()


@pytest.mark.parametrize("is_package", [False, True])
def test_an_extension_of_which_the_old_package_is_there_is_built(project, is_package):
    at = (packaged(project) / "net" if is_package else project) / "_ext/mix"
    at.mkdir(parents=True)
    (at.parent / "__init__.py").touch()
    (at / "__init__.py").write_text(OLD_INIT)
    ran = run("test.py", "word", cwd=project)
    assert ran.stdout.strip() == EXPECTED, ran.stderr


FUNCTIONS = '''
import torch
from torch.autograd import Function
import tarsia


class Scale(Function):
    def forward(self, x, by):
        self.by = by
        return x * by

    def backward(self, dy):
        return dy * self.by, None


class InPlace(Function):
    def forward(self, x):
        self.mark_dirty(x)
        return x.add_(1)

    def backward(self, dy):
        return dy


class Wrong(Function):
    def forward(self, x, y):
        return x + y

    def backward(self, dy):
        return dy


class New(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


x = torch.ones(2, requires_grad=True)
Scale()(x, 3).sum().backward()
print(x.grad.tolist())
print(InPlace()(torch.zeros(2)).tolist(), InPlace()(x * 1).requires_grad)
print(New.apply(x).tolist())
try:
    Wrong()(x, x).sum().backward()
except tarsia.ArgumentTypeError as error:
    print(error)
try:
    Scale()(x, by=3)
except tarsia.ArgumentTypeError as error:
    print(error)
try:
    Scale().needs_input_grad
except tarsia.ArgumentTypeError as error:
    print(error)
try:
    New()(x)
except RuntimeError as error:
    print("refused")
'''


def test_functions_are_called_as_instances(tmp_path):
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    ran = subprocess.run([sys.executable, "-m", "tarsia.compat", "functions.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "[3.0, 3.0]", "[1.0, 1.0] True", "[2.0, 2.0]",
        "Wrong.backward gave 1 gradients; its forward takes 2 inputs, of each of which it has to give one, or None",
        "Scale()(...) takes its inputs by position, and by by name: autograd knows inputs by their places",
        "Scale.needs_input_grad follows from the inputs of a call, and there was none", "refused"], ran.stderr


STATE = '''
import weakref
import torch
from torch.autograd import Function
import tarsia


class Square(Function):
    def forward(self, x):
        self.needed = self.needs_input_grad
        y = x * x
        self.save_for_backward(x, y)
        return y

    def backward(self, dy):
        x, y = self.saved_tensors
        assert torch.equal(y, x * x)
        return 2 * x * dy


x = torch.tensor([3.], requires_grad=True)
f = Square()
y = f(x)
print(f.needed, f.needs_input_grad, [one.tolist() for one in f.saved_tensors], f.saved_variables[0].requires_grad)
print(f.backward(torch.ones(1)))
y.sum().backward(retain_graph=True)
print(f.backward(torch.ones(1)).item(), x.grad.item())
y.sum().backward()
try:
    f.saved_tensors
except RuntimeError as error:
    print("freed")
del y
try:
    f.saved_tensors
except tarsia.Error as error:
    print(error)
f = Square()
f(x)
print(f.backward(torch.ones(1)).item())  # nothing holds its output
f = Square()
f(x.detach())
print(f.saved_tensors, f.needs_input_grad)
f = Square()
print(f.saved_tensors)
f = Square()
Square.needs_input_grad = None  # which follows from a call
print(f.forward(torch.tensor([2.])).item(), f.backward(torch.ones(1)).item())
f = Square()
held = weakref.ref(f)
y = f(x)
del f, y
print(held())
'''


def test_functions_keep_their_state_after_a_call_and_run_directly(tmp_path):
    (tmp_path / "state.py").write_text(STATE)
    ran = subprocess.run([sys.executable, "-m", "tarsia.compat", "state.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "(True,) (True,) [[3.0], [9.0]] True", "tensor([6.])", "6.0 6.0", "freed",
        "Square: its backward has run, which freed the saved tensors; call it again, or run backward with retain_graph=True and keep the output",
        "6.0", "() (False,)", "()", "4.0 4.0", "None"], ran.stderr


def test_words_that_are_no_program_are_refused(tmp_path):
    for words in ((), ("--help",), ("gone",)):
        ran = run(*words, cwd=tmp_path)
        assert ran.returncode == 1 and ran.stderr.startswith("usage: python -m tarsia.compat SCRIPT")
    assert "there is no file gone.py" in run("gone.py", cwd=tmp_path).stderr


def test_a_module_that_is_not_there_is_not_there(project):
    (project / "test.py").write_text("try:\n    import nowhere\nexcept ModuleNotFoundError as error:\n    print(error)\n")
    assert run("test.py", cwd=project).stdout.strip() == "No module named 'nowhere'"
