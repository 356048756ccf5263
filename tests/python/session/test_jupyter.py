"""The Jupyter kernel, asked by a real client; what it displays; and its installation."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib

import pytest
from places import REPO

import tarsia
from tarsia._jupyter import display

pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")

TIMEOUT = 120


def command(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "tarsia", "jupyter", *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Jupyter knows the kernel and nothing of this user's."""
    folder = tmp_path_factory.mktemp("jupyter")
    done = command("install", "--prefix", str(folder))
    assert done.returncode == 0, done.stderr
    patch = pytest.MonkeyPatch()
    patch.setenv("JUPYTER_PATH", str(folder / "share" / "jupyter"))
    for name in ("DATA", "CONFIG", "RUNTIME"):
        patch.setenv(f"JUPYTER_{name}_DIR", str(folder / name.lower()))
    yield folder
    patch.undo()


class Client:
    """A client, and the kernel that it is connected with: one of its own, or that of another client."""

    def __init__(self, other=None):
        from jupyter_client import BlockingKernelClient
        from jupyter_client.manager import start_new_kernel

        if other is None:
            self.manager, self.client = start_new_kernel(kernel_name="tarsia", startup_timeout=TIMEOUT)
        else:
            self.manager, self.client = other.manager, BlockingKernelClient(connection_file=other.manager.connection_file)
            self.client.load_connection_file()
            self.client.start_channels()
            self.client.wait_for_ready(timeout=TIMEOUT)

    def run(self, text, **options):
        """(the reply, the messages about the cell as (kind, content))."""
        messages = []
        reply = self.client.execute_interactive(text, timeout=TIMEOUT, stop_on_error=False, output_hook=messages.append, **options)
        return reply["content"], [(one["msg_type"], one["content"]) for one in messages
                                  if one["msg_type"] not in ("status", "execute_input")]

    def value(self, text):
        reply, messages = self.run(text)
        assert reply["status"] == "ok", reply
        return next((content["data"]["text/plain"] for kind, content in messages if kind == "execute_result"), None)

    def error(self, text):
        """The error of a cell that fails: its name, its message, and what is shown."""
        reply, messages = self.run(text)
        content = next(content for kind, content in messages if kind == "error")
        assert reply["status"] == "error" and {name: reply[name] for name in content} == content
        return content["ename"], content["evalue"], "\n".join(content["traceback"])

    def written(self, text, name="stdout"):
        return "".join(content["text"] for kind, content in self.run(text)[1] if kind == "stream" and content["name"] == name)

    def ask(self, what, *arguments):
        number = getattr(self.client, what)(*arguments)
        return self.reply(number)

    def reply(self, number):
        while True:
            message = self.client.get_shell_msg(timeout=TIMEOUT)
            if message["parent_header"].get("msg_id") == number:
                return message["content"]

    def begin(self, text):
        """Runs a cell, which writes something; returns its number and what it wrote as soon as that is there."""
        number = self.client.execute(text, stop_on_error=False)
        while True:
            message = self.client.get_iopub_msg(timeout=TIMEOUT)
            if message["msg_type"] == "stream" and message["parent_header"].get("msg_id") == number:
                return number, message["content"]["text"]

    def child(self):
        """The process that runs the cells."""
        return int(self.value("#include <unistd.h>\ngetpid()"))

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel(installed):
    client = Client()
    yield client
    client.end()


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_kernel_says_what_it_is(kernel):
    info = kernel.ask("kernel_info")
    assert (info["implementation"], info["language_info"]["name"], info["language_info"]["file_extension"]) == ("tarsia", "c++", ".cu")
    assert "Tarsia" in info["banner"] and info["help_links"]


def test_cells_share_what_they_define_and_have_values(kernel):
    assert kernel.value("int square(int x) { return x * x; }") is None
    assert kernel.value("square(7)") == "49"
    assert kernel.value("") is None


def test_what_a_cell_writes_comes_before_its_value(kernel):
    _, messages = kernel.run('#include <cstdio>\nprintf("one\\n"); printf("two, without an end"); 3')
    assert [kind for kind, _ in messages] == ["stream", "execute_result"]
    assert messages[0][1] == {"name": "stdout", "text": "one\ntwo, without an end"}
    assert kernel.written('#include <iostream>\nstd::cerr << "an error\\n";', "stderr") == "an error\n"
    text = kernel.written('for (int i = 0; i < 200000; i++) printf("%d\\n", i);')
    assert text == "".join(f"{i}\n" for i in range(200000))


def test_output_is_there_while_the_cell_runs(kernel, tmp_path):
    number, text = kernel.begin('#include <cstdio>\n#include <unistd.h>\nprintf("begins\\n");\n'
                                f'while (access("{tmp_path}/seen", F_OK) != 0) usleep(1000);')
    assert text == "begins\n"
    (tmp_path / "seen").touch()
    assert kernel.reply(number)["status"] == "ok"
    assert kernel.written(":undo")


def test_warnings_and_notes_are_on_standard_error(kernel):
    assert "warning: non-void function" in kernel.written("int without_return() { }", "stderr")
    kernel.value("int of_int(int x) { return x; } int caller() { return of_int(1); }")
    assert "note: 'caller' of cell" in kernel.written("long of_int(int x) { return x; }", "stderr")


def test_an_error_of_the_compiler_has_its_line_and_a_caret(kernel):
    name, message, shown = kernel.error("int a = 1;\nint y = nope + 1;")
    assert name == "CompileError" and "nope" in message
    assert re.search(r"cell \d+:2:9: error: use of undeclared identifier 'nope'\n    int y = nope \+ 1;\n            \^", shown)


def test_cells_have_the_numbers_of_the_notebook(kernel):
    kernel.run(":help")
    kernel.run(":bench 1 + 1")
    reply, _ = kernel.run("nope")
    assert f"cell {reply['execution_count']}:1:1: error" in reply["traceback"][0]


def test_an_exception_has_its_line(kernel):
    _, message, shown = kernel.error("#include <stdexcept>\n\nthrow std::runtime_error(\"ouch\");")
    assert message == "ouch" and re.match(r"cell \d+:3: error: ouch\n", shown)
    assert "bad_alloc" in kernel.error("#include <vector>\nstd::vector<char> all_memory(1ul << 50);")[1]


@pytest.mark.parametrize("text, how", [
    ("int* null = nullptr;\n*null = 1;", r"SIGSEGV(.|\n)*cell \d+:2\b"),
    ("#include <cstdlib>\nexit(3);", "exit code 3"),
    ("#include <signal.h>\n#include <unistd.h>\nkill(getpid(), SIGKILL);", "SIGKILL"),
])
def test_a_crash_is_an_error_and_the_session_goes_on(kernel, text, how):
    kernel.value('#include <cstdio>\nint kept = 3; fprintf(stderr, "not again\\n"); puts("not again");')
    _, message, shown = kernel.error(text)
    assert re.search(how, message) and "note: a new process has run cell" in shown
    _, messages = kernel.run("kept")
    assert [(kind, content["data"]["text/plain"]) for kind, content in messages] == [("execute_result", "3")]


def test_a_type_of_living_values_may_be_defined_again(kernel):
    kernel.value("struct Again { int a; }; Again again{1};")
    assert "no longer there: again" in kernel.written("struct Again { double b; };", "stderr")
    assert kernel.value("Again{0.5}.b") == "0.5"


def test_an_interrupt_ends_a_loop_and_not_the_kernel(kernel):
    kernel.value("int before_loop = 5;")
    number, _ = kernel.begin('#include <cstdio>\nputs("begins");\nfor (;;) {}')
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(number)
    assert reply["status"] == "error" and re.search(r"SIGINT(.|\n)*cell \d+:3", reply["evalue"])
    assert kernel.value("before_loop") == "5"


def test_an_interrupt_is_an_exception_where_the_cell_asks(kernel):
    child = kernel.child()
    number, _ = kernel.begin('#include <cstdio>\nputs("begins");\nfor (;;) tarsia::check_interrupt();')
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(number)
    assert (reply["status"], reply["ename"]) == ("error", "Interrupted")
    assert kernel.child() == child
    kernel.manager.interrupt_kernel()  # while no cell runs
    assert kernel.value("1") == "1" and kernel.child() == child


def test_interrupts_in_haste_take_nothing_from_what_is_restored(kernel):
    kernel.value("int before_haste = 6;")
    number, _ = kernel.begin('#include <cstdio>\nputs("begins");\nfor (;;) {}')
    for _ in range(8):
        kernel.manager.interrupt_kernel()
        time.sleep(0.1)
    assert kernel.reply(number)["status"] == "error"
    assert kernel.value("before_haste") == "6"


def test_commands_of_the_prompt(kernel):
    assert ":image" in kernel.written(":help") and ":undo" in kernel.written(":help")
    kernel.value("int taken = 1;")
    assert kernel.written(":undo") == "taken back: taken\n"
    assert kernel.value(":set opt=1\n:set std=c++23\n__cplusplus > 202002L") == "true"
    assert kernel.error("\n:set opt=1\n\nnope")[2].splitlines()[1] == "    nope"
    for text, said in ((":nothing", "there is no command ':nothing'"), (":quit", "notebook"), (":edit", "terminal")):
        assert said in kernel.error(text)[1]


def test_a_file_is_a_cell(kernel, tmp_path):
    (tmp_path / "f.cu").write_text("#include <cstdio>\nputs(\"read\");\nfull({2}, 3)")
    _, messages = kernel.run(f":load {tmp_path}/f.cu")
    assert [kind for kind, _ in messages] == ["stream", "execute_result"] and "text/html" in messages[1][1]["data"]
    (tmp_path / "f.cu").write_text("\nnope")
    assert "nope\n    ^" in kernel.error(f":load {tmp_path}/f.cu")[2]


def test_completion(kernel):
    kernel.value("int some_long_name = 1;")
    reply = kernel.ask("complete", "1 + some_lo + 2", 11)
    assert "some_long_name" in reply["matches"] and (reply["cursor_start"], reply["cursor_end"]) == (4, 11)
    reply = kernel.ask("complete", ":un", 3)
    assert (reply["matches"], reply["cursor_start"]) == ([":undo"], 0)
    assert not any(one.startswith(":") for one in kernel.ask("complete", "std::un", 7)["matches"])


@pytest.mark.parametrize("text, status", [("f(1)", "complete"), (":help", "complete"), ("int f() {", "incomplete"), ("f(1,", "incomplete")])
def test_whether_a_cell_is_whole(kernel, text, status):
    assert kernel.ask("is_complete", text)["status"] == status


def test_tensors_are_tables(kernel):
    _, messages = kernel.run("full({2, 3}, 0.5)")
    data = messages[0][1]["data"]
    assert data["text/plain"].startswith("float32[2, 3] cpu\n")
    assert "<b>float32</b> 2 × 3, cpu" in data["text/html"] and data["text/html"].count("<td>0.5</td>") == 6
    runs = 'int runs = 0; tarsia::Tensor counted() { runs++; return zeros({2}); }'
    kernel.value(runs)
    kernel.run("counted()")
    assert kernel.value("runs") == "1"
    assert "text/html" not in kernel.run("3")[1][0][1]["data"]


def test_images(kernel):
    before = kernel.written(":source")
    _, messages = kernel.run(":image full({4, 5}, 0.5)")
    [(kind, content)] = messages
    assert kind == "display_data" and content["data"]["text/plain"] == "image, 5 x 4, grey"
    assert base64.b64decode(content["data"]["image/png"]).startswith(b"\x89PNG")
    assert kernel.written(":source") == before
    for text, said in ((":image", "takes a tensor"), (":image nope", "nope"), (":image 3", "is no image"),
                       (":image zeros({3})", "is no image"), (":image zeros({3, 4}, tarsia::int32)", "uint8")):
        assert said in kernel.error(text)[2]


def test_pictures_and_watched_files(kernel, tmp_path):
    [(kind, content)] = kernel.run(":plot arange(5)")[1]
    assert kind == "display_data" and content["data"]["image/svg+xml"].startswith("<svg") and content["data"]["text/plain"]
    file = tmp_path / "watched.cc"
    file.write_text("int watched() { return 1; }")
    assert kernel.value(f":watch {file}\nwatched()") == "1"
    file.write_text("int watched() { return 22; }")
    assert kernel.value("watched()") == "22"
    kernel.run(f":watch -{file}")


def test_a_silent_cell_runs_without_a_trace(kernel):
    kernel.value("int silent = 1;")
    reply, messages = kernel.run("++silent", silent=True)
    assert reply["status"] == "ok" and messages == []
    assert kernel.value("silent") == "2"


def test_a_client_that_disconnects_ends_nothing(kernel):
    kernel.value("#include <unistd.h>\nint finished = 0;")
    other = Client(kernel)
    other.begin('#include <cstdio>\nputs("begins"); sleep(1); finished = 1;')
    other.client.stop_channels()
    assert kernel.value("finished") == "1"


def test_a_restart_gives_a_fresh_session(installed):
    client = Client()
    try:
        client.value("int lost = 1;")
        child = client.child()
        client.manager.restart_kernel(now=False)
        client.client.wait_for_ready(timeout=TIMEOUT)
        assert "lost" in client.error("lost")[1] and client.value("2") == "2"
        wait_until(lambda: not is_there(child))
    finally:
        client.end()


@pytest.mark.parametrize("how", ["shutdown", "kill"])
def test_the_kernel_takes_a_running_cell_with_it(installed, how):
    client = Client()
    child = client.child()
    client.begin('#include <cstdio>\nputs("begins");\nfor (;;) {}')
    if how == "kill":
        os.kill(client.manager.provisioner.pid, signal.SIGKILL)
    client.client.stop_channels()
    client.manager.shutdown_kernel(now=how == "kill")
    wait_until(lambda: not is_there(child))


def test_the_notebook_of_the_examples(installed):
    import nbclient
    import nbformat

    kept = nbformat.read(REPO / "examples" / "softmax.ipynb", as_version=4)
    nbformat.validate(kept)
    assert kept.metadata.kernelspec.name == "tarsia"
    ran = nbformat.read(REPO / "examples" / "softmax.ipynb", as_version=4)
    for cell in ran.cells:
        cell.update({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {})
    nbclient.NotebookClient(ran, timeout=TIMEOUT, coalesce_streams=True).execute()
    for cell, expected in zip(ran.cells, kept.cells):
        assert [shown(one) for one in cell.get("outputs", [])] == [shown(one) for one in expected.get("outputs", [])]


def shown(output):
    """What an output must have on any machine: numbers of tensors to four digits, and no bytes of compressed images."""
    kept = json.loads(json.dumps({name: value for name, value in output.items() if name != "metadata"}))
    if "data" in kept:
        kept["data"].pop("image/png", None)
        for kind in kept["data"]:
            kept["data"][kind] = re.sub(r"\d\.\d+", lambda number: f"{float(number.group()):.4f}", kept["data"][kind])
    return kept


def test_the_kernel_is_installed_and_removed(tmp_path):
    done = command("install", "--prefix", str(tmp_path))
    spec = json.loads((tmp_path / "share" / "jupyter" / "kernels" / "tarsia" / "kernel.json").read_text())
    assert done.returncode == 0 and str(tmp_path) in done.stdout
    assert spec["argv"] == [sys.executable, "-m", "tarsia._jupyter", "-f", "{connection_file}"]
    assert (spec["language"], spec["interrupt_mode"]) == ("c++", "signal")
    assert command("uninstall", "--prefix", str(tmp_path)).returncode == 0
    again = command("uninstall", "--prefix", str(tmp_path))
    assert again.returncode == 1 and "there is no kernel 'tarsia'" in again.stderr
    done = command("install", "--user", JUPYTER_DATA_DIR=str(tmp_path / "mine"))
    assert done.returncode == 0 and (tmp_path / "mine" / "kernels" / "tarsia" / "kernel.json").exists()


def test_what_is_missing_is_told(tmp_path):
    (tmp_path / "ipykernel.py").write_text("raise ImportError(\"No module named 'ipykernel'\")")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command("install", "--prefix", str(tmp_path), PYTHONPATH=path)
    assert done.returncode == 1 and "pip install 'tarsia[jupyter]'" in done.stderr and "Traceback" not in done.stderr
    assert command("install", "--prefix", "/proc/nowhere").returncode == 1
    assert command("nothing").returncode == 2


def test_tables_of_more_dimensions_have_their_indices():
    html = display.html_of_value("int64[2, 2, 7] gpu:0\n{{{1, …, 3},\n  {4, …, 6}},\n …,\n {{7, …, 9},\n  {1, …, 1}}}")
    assert "<b>int64</b> 2 × 2 × 7, gpu:0" in html and html.count("<table") == 2
    assert "<div>[0]</div>" in html and "<div>…</div>" in html and "<div>[-1]</div>" in html
    assert display.html_of_value("float32[3] cpu {0.5, nan, -1e-05}").count("<td>") == 3


@pytest.mark.parametrize("text", [None, "", "3", '"float32[3] cpu {1, 2, 3}"', "float32[] cpu 3", "float32[2] cpu {1, 2", "x[2] cpu 1}"])
def test_other_values_are_no_tables(text):
    assert display.html_of_value(text) is None


def pixels(data):
    """The bytes of an image's rows."""
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4:at], "big")
    return zlib.decompress(data[at + 4:at + 4 + size])


def test_what_an_image_is(tmp_path):
    import numpy as np

    session = tarsia.Session()

    def image(array):
        np.save(tmp_path / "x.npy", array)
        cell = session.run(f'image(load_npy("{tmp_path}/x.npy"))').raise_if_failed()
        return pixels(cell.image), cell.value

    assert image(np.array([[0, 255], [7, 8]], np.uint8)) == (b"\0\x00\xff\0\x07\x08", "image, 2 x 2, grey")
    assert image(np.array([[-1, 0.5, 2, np.nan]], np.float32)) == (b"\0\x00\x80\xff\x00", "image, 4 x 1, grey")
    assert image(np.array([[True, False]])) == (b"\0\xff\x00", "image, 2 x 1, grey")
    rgb = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)
    assert image(rgb)[1] == "image, 5 x 2, RGB" and image(rgb) == image(np.moveaxis(rgb, 2, 0))
    assert image(np.zeros((2, 5, 4), np.float16))[1] == "image, 5 x 2, RGBA"
    for array in (np.zeros(3), np.zeros((2, 2), np.int64), np.zeros((2, 2, 2)), np.zeros((0, 4)), np.zeros((1, 2, 3, 4))):
        with pytest.raises(tarsia.Error, match="is no image"):
            image(array)
    assert session.run("zeros({4, 4})").image is None


def test_an_image_that_is_the_value_of_a_cell_is_shown_as_one(kernel):
    _, messages = kernel.run("image(full({2, 3}, 1))")
    (kind, content), = messages
    assert kind == "execute_result" and content["data"]["text/plain"] == "image, 3 x 2, grey" and "text/html" not in content["data"]
    assert pixels(base64.b64decode(content["data"]["image/png"])) == b"\0\xff\xff\xff" * 2
    assert "is no image" in kernel.error("image(zeros({7}))")[1]
    assert kernel.value("int image = 3; image") == "3"  # an own declaration takes the name
    kernel.value(":undo")


READ = "#include <iostream>\n#include <string>\n{ std::string word; std::cout << \"who? \"; std::cin >> word; std::cout << word << '.' << std::endl; }"


def test_a_cell_that_reads_asks_the_person(kernel):
    asked = []

    def answer(message):
        asked.append(message["content"]["prompt"])
        kernel.client.input("Ada")

    out = []
    reply = kernel.client.execute_interactive(READ, timeout=TIMEOUT, allow_stdin=True, stdin_hook=answer, output_hook=out.append)
    text = "".join(one["content"]["text"] for one in out if one["msg_type"] == "stream")
    assert reply["content"]["status"] == "ok" and asked == [""] and text == "who? Ada.\n"
    assert kernel.client.execute_interactive("#include <cstdio>\nint number = 0; scanf(\"%d\", &number);", timeout=TIMEOUT, allow_stdin=True,
                                             stdin_hook=lambda _: kernel.client.input("37 5"))["content"]["status"] == "ok"
    assert kernel.value("number") == "37"
    assert kernel.error("int* nowhere_to_read = nullptr; *nowhere_to_read = 1;")[0] == "Error"
    assert kernel.value("number") == "37"  # the cell that runs again reads the same


def test_where_nobody_can_be_asked_a_read_has_ended(kernel):
    _, messages = kernel.run(READ, allow_stdin=False)
    assert "".join(content["text"] for _, content in messages) == "who? .\n"


def test_a_cell_in_a_subshell_is_answered_with_an_error(kernel):
    assert kernel.ask("kernel_info").get("supported_features") == []
    control = kernel.client.control_channel
    message = kernel.client.session.msg("create_subshell_request")
    control.send(message)
    answer = control.get_msg(timeout=TIMEOUT)["content"]
    if "subshell_id" not in answer:
        pytest.skip("needs an ipykernel with subshells")

    def ask(kind, **content):
        message = kernel.client.session.msg(kind, content)
        message["header"]["subshell_id"] = answer["subshell_id"]
        kernel.client.shell_channel.send(message)
        return kernel.reply(message["header"]["msg_id"])

    reply = ask("execute_request", code="1 + 1", silent=False, store_history=True, user_expressions={}, allow_stdin=False, stop_on_error=False)
    assert (reply["status"], reply["ename"]) == ("error", "Unsupported") and "one at a time" in reply["evalue"]
    assert ask("complete_request", code="std::un", cursor_pos=7)["matches"] == []
    assert kernel.value("2") == "2"


def test_an_interrupt_ends_a_read(kernel):
    child = kernel.child()
    number = kernel.client.execute(READ, allow_stdin=True, stop_on_error=False)
    assert kernel.client.get_stdin_msg(timeout=TIMEOUT)["msg_type"] == "input_request"
    kernel.manager.interrupt_kernel()
    reply = kernel.reply(number)
    assert (reply["status"], reply["ename"]) == ("error", "Interrupted")
    assert kernel.value("1") == "1" and kernel.child() == child


def test_standard_error_is_there_while_a_cell_runs(kernel, tmp_path):
    number, text = kernel.begin(f'#include <cstdio>\n#include <unistd.h>\nfputs("begins\\n", stderr); while (access("{tmp_path}/go", F_OK) != 0) usleep(1000);')
    assert text == "begins\n"
    (tmp_path / "go").touch()
    assert kernel.reply(number)["status"] == "ok"


def test_a_thread_that_writes_for_ever_does_not_keep_a_cell_from_its_end(kernel):
    kernel.value('#include <atomic>\n#include <cstdio>\n#include <thread>\nstd::atomic<bool> writes{true};\n'
                 'std::thread writer([] { while (writes) puts("a line"); });')
    assert kernel.value("1") == "1"
    kernel.value("writes = false; writer.join();")
    assert kernel.value(":undo\n:undo\n:undo\n2") == "2"
