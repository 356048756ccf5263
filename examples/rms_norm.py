"""A fused op, RMSNorm with the residual sum before it, used in a PyTorch model and trained: it learns to write this file.

    python examples/rms_norm.py

The op is examples/rms_norm.cu, for CPU and GPUs. On a GPU the model is trained in bfloat16, once with the op and with
PyTorch's own functions, and the times are printed.
"""

import pathlib
import time

SOURCE = pathlib.Path(__file__).with_suffix(".cu")


def main():
    try:
        import torch
    except ImportError:
        return print("PyTorch is not installed")
    import tarsia.torch

    # 1. The op becomes torch.ops.tarsia.rms_norm_residual, differentiable and visible to torch.compile.
    gpu = torch.cuda.is_available()
    tarsia.load_inline({SOURCE.name: SOURCE.read_text()})
    fused = tarsia.torch.register(tarsia.op("rms_norm_residual"))
    print(fused.default._schema)

    def eager(x, residual, weight):
        total = x + residual
        return torch.nn.functional.rms_norm(total, weight.shape, weight, 1e-6), total

    def stepwise(x, residual, weight):  # as models write it
        total = x + residual
        wide = total.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight, total

    # 2. A stack of blocks around a residual stream: each adds to the stream and norms it, which is what the op does at once.
    class Model(torch.nn.Module):
        def __init__(self, norm, characters, context, width, blocks):
            super().__init__()
            self.norm, self.width = norm, width
            self.embed = torch.nn.Embedding(characters, width // 8)
            self.first = torch.nn.Linear(context * (width // 8), width)
            self.up = torch.nn.ModuleList(torch.nn.Linear(width, 2 * width) for _ in range(blocks))
            self.down = torch.nn.ModuleList(torch.nn.Linear(2 * width, width) for _ in range(blocks))
            self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(width)) for _ in range(blocks + 1))
            self.last = torch.nn.Linear(width, characters)

        def forward(self, text):
            x = self.first(self.embed(text).flatten(1))
            stream = torch.zeros_like(x)
            for up, down, weight in zip(self.up, self.down, self.weights):
                y, stream = self.norm(x, stream, weight)
                x = down(torch.nn.functional.silu(up(y)))
            y, _ = self.norm(x, stream, self.weights[-1])
            return self.last(y)

    # 3. Train it on the characters of this file.
    text = pathlib.Path(__file__).read_text()
    letters = sorted(set(text))
    codes = torch.tensor([letters.index(c) for c in text])
    context = 16
    windows = codes.unfold(0, context + 1, 1)
    device, dtype = ("cuda", torch.bfloat16) if gpu else ("cpu", torch.float32)
    width, blocks, batch, steps = (1024, 8, 16384, 120) if gpu else (128, 3, 512, 80)
    windows = windows.to(device)

    def train(norm):
        torch.manual_seed(0)
        model = Model(norm, len(letters), context, width, blocks).to(device, dtype)
        optimizer = torch.optim.AdamW(model.parameters(), 2e-3 if width < 512 else 2e-4)
        order = torch.randperm(len(windows), device=device)
        for step in range(steps):
            if step == 20:  # what was made for the first steps is there now
                began = now(torch, gpu)
            lines = windows[order[torch.arange(batch, device=device).add(batch * step) % len(order)]]
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(lines[:, :-1]).float(), lines[:, -1])
            loss.backward()
            optimizer.step()
        return model, loss.item(), (now(torch, gpu) - began) / (steps - 20) * 1e3

    model, loss, ms = train(fused)
    print(f"with the op:  loss {loss:.3f} after {steps} steps of {ms:.2f} ms")
    for name, norm in {"F.rms_norm": eager, "PyTorch step by step": stepwise}.items():
        _, eager_loss, eager_ms = train(norm)
        print(f"with {name}: loss {eager_loss:.3f} after {steps} steps of {eager_ms:.2f} ms, {eager_ms / ms:.2f} times as long")
        assert loss < 2 and abs(loss - eager_loss) < 0.3

    # 4. It writes.
    written = "".join(letters[i] for i in codes[:context].tolist())
    for _ in range(60):
        last = torch.tensor([[letters.index(c) for c in written[-context:]]], device=device)
        written += letters[model(last).argmax().item()]
    print(repr(written))
    print("ok")


def now(torch, gpu):
    if gpu:
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
