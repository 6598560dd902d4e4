"""A submission's side of grading: an IPython that runs cells and calls functions as the grader asks.

It is started inside a sandbox and knows neither the tests nor the course. The two sides exchange lines of
JSON: numbers, texts and arrays pass as values, a function as a number by which the other side may call it.
Nothing that a line can hold is run by the side that reads it.
"""

import base64
import json
import os
import signal
import sys
import traceback

import numpy as np

SECONDS, PATIENCE = 20, 60  # of computing, and in all, that a cell or a call may take
OUTPUT = 200_000  # characters that are kept of what a cell prints
KINDS = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1", "c": "<c16"}


class Peer:
    """One end of the line. `read` and `write` pass whole lines."""

    def __init__(self, read, write):
        self.read, self.write, self.functions = read, write, []

    def pack(self, value):
        """A value as JSON; what cannot pass keeps the name of its type."""
        if isinstance(value, np.random.Generator):
            bits = value.bit_generator
            state = bits.state
            bits.state = bits.jumped().state  # the next call with this generator gets other numbers
            return {"generator": state}
        if hasattr(value, "__array__"):  # NumPy's numbers, arrays, tables
            array = np.asarray(value)
            kind = array.dtype.kind
            if kind in KINDS:
                data = base64.b64encode(np.ascontiguousarray(array, KINDS[kind]).tobytes()).decode()
                return {"array": data, "kind": kind, "shape": array.shape}
        for kind in (tuple, list):  # and what is one with names, as NumPy's results are
            if isinstance(value, kind):
                return {kind.__name__: [self.pack(part) for part in value]}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if callable(value):
            self.functions.append(value)
            return {"function": len(self.functions) - 1}
        return {"other": type(value).__name__}

    def unpack(self, value):
        if not isinstance(value, dict):
            return value
        if "array" in value:
            flat = np.frombuffer(base64.b64decode(value["array"]), KINDS[value["kind"]])
            return flat.reshape(value["shape"]).copy()
        if "generator" in value:
            bits = np.random.PCG64(value["generator"]["state"]["state"])  # a seed of its own for rng.spawn
            bits.state = value["generator"]
            return np.random.Generator(bits)
        if "function" in value:
            return lambda *args, **named: self.call(value["function"], args, named)
        if "other" in value:
            return type(str(value["other"])[:50], (), {})()
        kind = tuple if "tuple" in value else list
        return kind(self.unpack(part) for part in value[kind.__name__])

    def call(self, number, args, named):
        """Call a function of the other side."""
        return self.unpack(
            self.ask(call=number, args=self.pack(args), named={k: self.pack(v) for k, v in named.items()})
        )

    def ask(self, **message):
        """Send a question and answer the other side's until its answer comes."""
        self.write(json.dumps(message))
        while True:
            reply = json.loads(self.read())
            if "call" in reply:
                self.answer(reply)
            elif "error" in reply:
                raise RuntimeError(str(reply["error"]))
            else:
                return reply["value"]

    def answer(self, message, others=None):
        """Do what a message asks for; the answer is a value or an error, never an exception."""
        try:
            if "call" in message:
                args = self.unpack(message["args"])
                named = {key: self.unpack(value) for key, value in message["named"].items()}
                value = self.pack(self.functions[message["call"]](*args, **named))
            else:
                value = getattr(others, message["do"])(message["with"])
            self.write(json.dumps({"value": value}))
        except BaseException as error:  # whatever an answer does, also sys.exit
            self.write(json.dumps({"error": told(error)}))


def told(error):
    """An exception in a line, with the place in the student's own cells."""
    try:
        text = str(error)[:500]
    except BaseException:
        text = ""
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<ipython-input")]
    where = f" (in line {own[-1].lineno} of `{own[-1].name}`)" if own else ""
    return f"{type(error).__name__}: {text}{where}"


class Notebook:
    """The cells of one submission, in one IPython without a front end."""

    def __init__(self, peer):
        from IPython.core.history import HistoryManager
        from IPython.core.interactiveshell import InteractiveShell

        HistoryManager.enabled = False
        InteractiveShell.enable_gui = lambda self, gui=None: None  # there is none
        self.peer, self.shell = peer, InteractiveShell.instance(colors="nocolor")
        self.shell.enable_matplotlib("inline")

    def run(self, source):
        """Run a cell; its outputs, as texts and pictures."""
        from IPython.utils.capture import capture_output

        with capture_output() as found:
            self.shell.run_cell(source)
        # What was printed, by Python; a longer text is cut.
        text = found.stdout + found.stderr
        text = text[:OUTPUT] + ("\n[output cut by the grader]\n" if len(text) > OUTPUT else "")
        outputs = [{"text": text}] if text else []
        for shown in found.outputs:
            data = shown.data or {}
            if "image/png" in data:
                png = data["image/png"]
                png = base64.b64encode(png).decode() if isinstance(png, bytes) else str(png)
                outputs.append({"png": png.replace("\n", "")})
            elif "text/plain" in data:
                outputs.append({"text": str(data["text/plain"])[:OUTPUT]})
        return outputs[:50]

    def names(self, wanted):
        space = self.shell.user_ns
        return {name: self.peer.pack(space[name]) for name in wanted if name in space}


def main():
    lines, replies = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nowhere, number)

    def write(line):
        replies.write(line + "\n")
        replies.flush()

    def late(*_):
        raise KeyboardInterrupt(f"stopped: it took more than {SECONDS} seconds")

    for kind in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(kind, late)
    peer = Peer(lines.readline, write)
    notebook = Notebook(peer)
    for line in lines:
        signal.alarm(PATIENCE)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            peer.answer(json.loads(line), notebook)
        except KeyboardInterrupt:  # between two steps of our own
            write(json.dumps({"error": "stopped: it took too long"}))
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    sys.exit(main())
