# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: models, running the program, and judging what a failed run left."""

import os
import shutil
import subprocess
import sys
import tempfile

from more import add_more

HEAD = '<ir_version: 8, opset_import: ["" : 17%s]>\n'


def chain(n=180):
    """Constants that fold, names that repeat in value_info, an unused branch."""
    lines, last = [], "x"
    for i in range(n):
        lines.append(f"  k{i} = Add (c{i % 4}, c{(i + 1) % 4})")
        lines.append(f"  [node_{i}] v{i} = {'Mul' if i % 3 else 'Sub'} ({last}, k{i})")
        last = f"v{i}"
    lines.append("  dead = Relu (v0)")
    lines.append(f"  y = Identity ({last})")
    weights = ", ".join("float[3] c%d = {%d, %d.5, -1}" % (i, i + 1, i) for i in range(4))
    body = "\n".join(lines)
    return HEAD % "" + f"chain (float[N, 3] x) => (float[N, 3] y) <{weights}> {{\n{body}\n}}\n"


def control():
    """Subgraphs that capture, three deep, and a loop."""
    inner = "then_branch = a%d () => (float[2] t%d) { t%d = Mul (%s, half) %s }"
    deep = ""
    for level in range(6):
        extra = f"s{level} = If (p) <{deep}>" if deep else ""
        other = f"else_branch = b{level} () => (float[2] e{level}) {{ e{level} = Neg (x) }}"
        deep = inner % (level, level, level, "x", extra) + ", " + other
    loop = ("n = Loop (three, yes, x) <body = step (int64 i, bool go, float[2] s) => "
            "(bool on, float[2] next) { on = Identity (go) next = Add (s, half) }>")
    return (HEAD % "" + "control (float[2] x, bool p) => (float[2] y, float[2] z) "
            "<float half = {0.5}, int64 one = {1}, int64 two = {2}, int64 three = {3}, "
            "bool yes = {1}> {\n"
            f"  known = Less (one, two)\n  y = If (known) <{deep}>\n  {loop}\n"
            "  z = Identity (n)\n}\n")


def functions():
    """Functions calling functions, with attributes."""
    return (HEAD % ', "local" : 1' + "calls (float[2, 3] x) => (float[2, 3] y) "
            "<float[3] w = {1, 2, 3}, float[3] v = {1, 0, -1}> {\n"
            "  s = Add (w, v)\n  a = local.scaled (x, s)\n  y = local.twice (a)\n}\n"
            '<domain: "local", opset_import: ["" : 17, "local" : 1]>\n'
            "scaled (a, b) => (c) { m = Mul (a, b) c = Softmax <axis = 1> (m) }\n"
            '<domain: "local", opset_import: ["" : 17, "local" : 1]>\n'
            "twice (a) => (c) { two = Constant <value = float {2.0}> () b = Mul (a, two) "
            "c = local.scaled (b, two) }\n")


def weights(seed=1, floats=3000):
    """Tensors large enough for a data file."""
    a = ", ".join(str((i * 7 + seed) % 101) for i in range(floats))
    b = ", ".join(str((i * 3 + seed) % 67) for i in range(floats // 2))
    return (HEAD % "" + f"weights (float[1, {floats}] x) => (float[1, {floats}] y) "
            f"<float[{floats}] a = {{{a}}}, float[{floats // 2}] b = {{{b}}}, float one = {{1}}> "
            "{\n"
            f"  sum = Add (a, one)\n  p = Add (x, a)\n  q = ReduceSum (b)\n  y = Mul (p, q)\n}}\n")


def wrong():
    """Findings, so that diagnostics run out of memory too."""
    return (HEAD % "" + 'bad (float[2] x) => (float[2] y) { y = Relu ("no such value") }\n')


def faulty():
    """Findings of many kinds, of the loader and behind it."""
    return (HEAD % ', "acme" : 1, "local" : 1' + "many (float[2] x, int64[2] i, float[N, 3] z) => "
            "(float[2] y, float[?, ?] r) <float[3] b, float[2] gone, int64[2] s = {1, 3}, "
            "float[2] idle = {1, 2}> {\n"
            "  a = Relu (nothing)\n  b = Add (x, i)\n  c = Add (x, x)\n  [n] d = Not (c)\n"
            "  [n] e = Reul (x)\n  f = acme.Foo (x)\n  r = Reshape (z, s)\n"
            "  g = Cast <to = 99> (x)\n  h = local.unused (x, x)\n  y = Neg (c)\n}\n"
            '<domain: "local", opset_import: ["" : 11]>\n'
            "unused (a) => (b) { b = Softmax (a) }\n")


def idle():
    """Findings of a model that loads."""
    return (HEAD % ', "acme" : 1' + "idle (float[2] x, float[2] unread, float[N, 3] z) => "
            "(float[2] y, float[2] k, float[?, ?] r) <float[3] b, float[2] gone, "
            "int64[2] s = {1, 3}, float[2] c = {1, 2}> {\n"
            "  b = Neg (x)\n  [n] d = Abs (x)\n  [n] y = acme.Foo (d)\n  k = Exp (c)\n"
            "  r = Reshape (z, s)\n}\n")


def twice():
    """Initializers and nodes that are equal, in every encoding, and an inner graph that reads them."""
    text = ", ".join(f'float[3] f{i} = {{1, 2, 3}}, string[2] s{i} = {{"a", "bc"}}, int4[3] q{i} = '
                     "{33, 3}" for i in range(3))
    nodes = "\n".join(f"  a{i} = LeakyRelu <alpha = 0.5> (x)\n  b{i} = Mul (a{i}, f{i})\n"
                      f"  k{i} = Constant <value = float[2] {{1, 2}}> ()\n"
                      f"  u{i} = odd.Op (s{i}, q{i}, k{i})" for i in range(3))
    return ('<ir_version: 10, opset_import: ["" : 21, "odd" : 1]>\n'
            "twice (float[3] x, bool p) => (float[3] b1, float[3] b2, float[3] y, u0, u1, u2) "
            f"<{text}> {{\n{nodes}\n  y = If (p) <then_branch = t () => (float[3] o) "
            "<float[3] i = {1, 2, 3}, float[3] f0 = {1, 2, 3}> "
            "{ c = Add (b2, i) d = Add (c, f0) o = Sub (d, f1) }, else_branch = e () => (float[3] r) "
            "{ r = Sub (b0, b1) }>\n}\n")


def sequences():
    """Sequences and optionals with known places, read inside of graphs too."""
    return ('<ir_version: 8, opset_import: ["" : 17]>\n'
            "seqs (float[2] a, float[2] b, bool c) => (float[2] y, float[4] z, float[2, 2] v, int64 k) "
            "<int64 one = {1}> {\n  e = SequenceEmpty ()\n  s = SequenceInsert (e, a)\n"
            "  t = SequenceInsert (s, b)\n  k = SequenceLength (t)\n  z = ConcatFromSequence <axis = 0> (t)\n"
            "  y = If (c) <then_branch = g () => (float[2] o) { o = SequenceAt (t, one) }, "
            "else_branch = h () => (float[2] p) { p = Neg (a) }>\n"
            "  q = SequenceEmpty ()\n  r = SequenceInsert (q, a)\n  u = SequenceInsert (r, b)\n"
            "  v = ConcatFromSequence <axis = 0, new_axis = 1> (u)\n}\n")


def moves():
    """Chains of data movement: Transposes that meet, parts that are joined, shapes that are equal,
    zeros of a recurrent node, a branch that can only fail."""
    return ('<ir_version: 8, opset_import: ["" : 17]>\n'
            "moves (float[2, 3, 4] x, float[B, 4, T] z, float[4, 5] w, float[5, N, 3] s) => "
            "(float[2, 3, 4] y, float[2, 3, 4] j, float[?, ?] g, float[?, ?, ?] h) "
            "<float[3] k = {1, 2, 3}, int64[1] c0 = {0}, int64[1] c1 = {1}, int64[1] c2 = {2}, "
            "int64[1] c3 = {3}, int64[1] c4 = {4}, int64 i1 = {1}, int64 i2 = {2}, "
            f"float[1, 6, 3] gw = {{{', '.join('1' * 18)}}}, float[1, 6, 2] gr = {{{', '.join('1' * 12)}}}> "
            "{\n  a = Transpose <perm = [0, 2, 1]> (x)\n  b = Add (a, k)\n"
            "  y = Transpose <perm = [0, 2, 1]> (b)\n"
            "  p = Slice (x, c0, c2, c2)\n  q = Slice (x, c2, c4, c2)\n"
            "  r = Concat <axis = 2> (p, q)\n  j = Neg (r)\n"
            "  d = Shape (z)\n  e = Gather (d, i2)\n  f = Equal (e, i1)\n"
            "  t = If (f) <then_branch = g1 () => (float[B, 4] m) { m = Squeeze (z, c2) }, "
            "else_branch = g2 () => (float[B, 4, T] n) { n = Identity (z) }>\n  g = Gemm (t, w)\n"
            "  v = Shape (s)\n  n0 = Gather (v, i1)\n  n1 = Unsqueeze (n0, c0)\n"
            "  n2 = Concat <axis = 0> (c1, n1, c2)\n  h0 = ConstantOfShape (n2)\n"
            "  n3 = Cast <to = 6> (n2)\n  n4 = Cast <to = 7> (n3)\n  h1 = Expand (h0, n4)\n"
            "  , h2 = GRU <hidden_size = 2> (s, gw, gr, , , h1)\n  h = Add (h2, h1)\n}\n")


MODELS = {"chain": chain, "control": control, "functions": functions, "weights": weights,
          "twice": twice, "sequences": sequences, "moves": moves}

# Passes that `fold,prune` and the default do not reach.
PIPELINES = [("chain", "freeze{N=2},shapes"), ("chain", "names{all},outputs{add=v7}"),
             ("control", "bind{p=true},fold,shapes"), ("functions", "shapes,shapes{clear}"),
             ("weights", "ir{to=3},fold,ir{to=9}"), ("twice", "dedup,cse"),
             ("control", "constants{form=node},hoist-initializers,hoist-loop-state,unroll"),
             ("chain", "guard(decompose{all},names),constants"), ("sequences", "sequence"),
             ("moves", "fold,merge-shapes,transposes,merge-slices,merge-matmuls,recurrent,prune")]


class Case:
    """One command on one model, in folders of its own. {out} holds an older file."""

    def __init__(self, tool, name, args, root, ok=0):
        self.tool, self.name, self.ok = tool, name, ok
        self.args = args
        self.root = root
        self.out = os.path.join(root, "out")
        self.temporary = os.path.join(root, "temporary")  # where the program puts folders to work in
        self.expected = None

    def reset(self):
        for folder in (self.out, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        for name in ("out.onnx", "out.onnxtxt"):
            with open(os.path.join(self.out, name), "wb") as f:
                f.write(b"old")

    def state(self):
        found = {}
        for folder, _, names in os.walk(self.out):
            if folder != self.out:
                found[os.path.relpath(folder, self.out)] = None
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as f:
                    found[os.path.relpath(path, self.out)] = f.read()
        return found

    def left(self):
        """What a run left among temporary files."""
        return sorted(os.listdir(self.temporary))

    def run(self, **env):
        return subprocess.run([self.tool] + self.args,
                              env={**os.environ, "TMPDIR": self.temporary, **env},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def counts(self):
        """Runs once without faults; the number of calls and of allocations."""
        self.reset()
        self.before = self.state()
        r = self.run(SURG_FAULT_COUNT="1")
        if r.returncode != self.ok:
            sys.exit(f"{self.name}: exit {r.returncode} without faults: {r.stderr.decode()}")
        self.expected = self.state()
        for line in r.stderr.decode().splitlines():
            if line.startswith("faults: "):
                words = line.split()
                return int(words[2]), int(words[4])
        print("this program was built without fault injection")
        sys.exit(77)


SURGERY = """<ir_version: 10, opset_import: ["" : 17, "local" : 1, "acme" : 1]>
g (float[N,4] x, float[4] b, bool c) => (float[N,4] y, float[N,4] z) <float[4] w = {1,2,3,4}, float[4] b = {0,0,0,1}> {
  [m] t = Mul (x, w)
  f = acme.Foo <k = 2> (t)
  [call] u = local.f <k = 1, body = q () => (float[N,4] p) { i = Neg (t)  p = Relu (i) }> (f, c)
  y = HardSwish (u)
  z = Add (u, b)
}
<domain: "local", opset_import: ["" : 17]>
f <body, k: int = 0> (a, c) => (r) {
  k1 = Constant <value = float[1] {2}> ()
  s = Softmax <axis: int = @k> (a)
  v = Mul (s, k1)
  r = If (c) <then_branch: graph = @body, else_branch = e () => (o) { o = Identity (v) }>
}
"""

SECOND = """<ir_version: 10, opset_import: ["" : 17, "other" : 1]>
h (float[N,4] u, float[4] d) => (float[N,4] out, float[N,4] u) <float[4] w = {5,6,7,8}, float[4] d = {0,0,0,1}> {
  t = Mul (u, w)
  s = Add (t, d)
  out = other.g (s)
}
<domain: "other", opset_import: ["" : 17]>
g <k: int = 1> (a) => (b) { t = Abs (a)  b = Softmax <axis: int = @k> (t) }
"""

SCHEMA = """domain acme
op Foo
type T: float float16
input x: T [A, B]
output y: T [A, B * k / 2]
attr k: int
attr pads?: ints = [1, 2]
"""


def add_surgery(make, add):
    """Models cut, joined, renamed: everything that copies graphs."""
    path, second = make("surgery", SURGERY), make("second", SECOND)
    schema = path.replace("surgery.onnxtxt", "acme.schema")
    with open(schema, "w", encoding="utf-8") as f:
        f.write(SCHEMA)
    for args in (["inline"], ["inline", "--allow", "approx", "--op", "local.f", "--spec", "HardSwish"],
                 ["remove-op", "--op", "acme.Foo"], ["remove-node", "--name", "call"],
                 ["extract", "--schema", schema, "--from", "f,w", "--to", "z,t"],
                 ["rename", "--input.x=b", "--input.b=x", "--dim.N=M", "--node.m=n", "--value.t=f",
                  "--value.f=t"],
                 ["insert", "--op", "acme.Bar", "--at", "u", "--with", "w", "--k=1", "--s=a,b"],
                 ["map-op", "--from", "acme.Foo", "--to", "com.acme.Foo", "--k=kk"],
                 ["move-domain", "--from", "acme", "--to", "com.acme"]):
        add("surgery: " + " ".join(args[:2]), args + [path, "{out}/out.onnx"])
    add("surgery: merge", ["merge", path, second, "--connect", "z:u", "--prefix", "h/", "-o",
                           "{out}/out.onnx"])
    add("surgery: check", ["check", "--schema", schema, path])


def add_engines(tool, make, add, given):
    """What talks of engines: findings and verdicts, messages, an importer that is asked."""
    target = os.path.join(given, "npu.target")
    with open(target, "w", encoding="utf-8") as f:
        f.write('{"schema": 1, "name": "npu", "source": "a manual", "opset": {"": [7, 17]}, '
                '"rest": "refused", "ops": {"Add": {}, "Mul": {}, "Div": {}, '
                '"Clip": {"rank": {"input": [1, 4]}}, "Constant": {}}}\n')
    model = make("engine", HEAD % "" + "engine (float[N, 3] x) => (float[N, 3] y) "
                 "{ h = HardSwish (x)  y = Add (h, h) }\n")
    importer = os.path.join(given, "importer")
    with open(importer, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nif grep -q HardSwish \"$1\"; then echo 'No Op registered for HardSwish "
                "with domain_version of 13'; exit 1; fi\n")
    os.chmod(importer, 0o755)
    message = "No Op registered for HardSwish with domain_version of 13"
    add("explain", ["explain", message, model], ok=1)
    add("explain as json", ["explain", "--json", message, model], ok=1)
    add("doctor", ["doctor", "--target", target, "--error", message, model], ok=1)
    add("doctor as json", ["doctor", "--json", "--target", target, model], ok=1)
    add("profile", ["profile", "--dim", "N=1..4@2", model])
    add("check target", ["check", "--target", target, model], ok=1)
    add("check target as json", ["check", "--json", "--target", target, model], ok=1)
    add("check targets", ["check", "--targets", target + ",onnxruntime-1.10", model])
    add("targets", ["targets", target])
    add("repair", ["repair", "--check", "--target", target, model, "{out}/out.onnx"])
    mixed = make("mixed", HEAD % ', "acme" : 1' + "mixed (float[2, 3] x) => (float[2, 3] y) "
                 "{ a = Add (x, x)  b = acme.Foo (a)  c = Mul (b, b)  d = HardSwish (c)  y = Add (d, x) }\n")
    add("repair in parts", ["repair", "--target", target, mixed, "-o", "{out}/out.onnx"], ok=1)
    add("repair in parts as json", ["repair", "--json", "--partial", "--target", target, mixed, "-o",
                                    "{out}/out.onnx"], ok=1)
    add("check in parts", ["check", "--target", target, mixed], ok=1)
    add("view for a target", ["view", "--target", target, "-o", "{out}/v.html", mixed])
    add("repair for precision", ["repair", "--target", "onnxruntime-1.18", "--precision", "fp16", "--allow",
                                 "approx", model, "{out}/out.onnx"])
    add("repair until", ["repair", "--until", importer + " {}", model, "{out}/out.onnx"])
    add("probe", ["probe", "--import", importer + " {}", "--ops", "Sqrt", "-o", "{out}/asked.target"])


def build_cases(tool, root, plugin=None):
    """Models as files, and the commands that are run on them. `plugin`: a shared object of
    examples/plugin/forward.c."""
    cases = []
    given = os.path.join(root, "in")
    os.mkdir(given)

    def make(name, text):
        path = os.path.join(given, name + ".onnxtxt")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def plain(source, target, *more):
        r = subprocess.run([tool, "--pass", "", *more, source, target], capture_output=True)
        if r.returncode != 0:
            sys.exit(f"{source}: {r.stderr.decode()}")
        return target

    def add(name, args, ok=0):
        folder = os.path.join(root, "case%d" % len(cases))
        os.mkdir(folder)
        args = [a.replace("{out}", os.path.join(folder, "out")) for a in args]
        cases.append(Case(tool, name, args, folder, ok))

    for name, text in MODELS.items():
        path = make(name, text())
        onnx = plain(path, os.path.join(given, name + ".onnx"))
        add(name, ["--pass", "fold,prune", onnx, "{out}/out.onnx"])
        add(name + " from text", ["--pass", "fold,prune", path, "{out}/out.onnx"])
        add(name + " simplified", [onnx, "{out}/out.onnx"])
        add(name + " to text", ["--pass", "fold,prune", onnx, "{out}/out.onnxtxt"])
    for name, pipeline in PIPELINES:
        add(name + " through " + pipeline,
            ["--pass", pipeline, os.path.join(given, name + ".onnx"), "{out}/out.onnx"])
    outside = os.path.join(given, "external")
    os.mkdir(outside)
    onnx = os.path.join(given, "weights.onnx")
    add("weights outside", ["--pass", "fold,prune", "--external-data", "w.data", onnx,
                            "{out}/out.onnx"])
    external = plain(onnx, os.path.join(outside, "m.onnx"), "--external-data", "w.data")
    add("external data", ["--pass", "fold,prune", external, "{out}/out.onnx"])
    named = plain(onnx, os.path.join(outside, "n.onnx"), "--external-data", "NOTES")
    add("gathered data", ["--pass", "fold,prune", named, "{out}/out.onnx"])
    for name in ("control", "functions"):
        onnx = os.path.join(given, name + ".onnx")
        add("run " + name, ["run", "--all", "--json", onnx])
        add("run and time " + name, ["run", "--repeat", "2", "--per-node", "--ulp", "1", onnx])
        add("verify " + name, ["verify", "--runs", "1", onnx, onnx])
        add("verify layers " + name, ["verify", "--runs", "1", "--layers", onnx,
                                      make(name + "2", MODELS[name]().replace(
                                          "Mul (", "Add ("))], ok=1)
    for name, node in (("control", "y"), ("control", "on"), ("functions", "a"), ("chain", "v9")):
        add("isolate %s of %s" % (node, name),
            ["isolate", "--node", node, os.path.join(given, name + ".onnx"), "{out}/out.onnx"])
    onnx = os.path.join(given, "functions.onnx")
    data = os.path.join(given, "data")
    os.mkdir(data)
    subprocess.run([tool, "run", "--out", data, "--format", "pb", onnx], check=True)
    os.rename(os.path.join(data, "y.pb"), os.path.join(data, "output_0.pb"))
    for form in ("npy", "pb"):
        add("run to " + form, ["run", "--out", "{out}", "--format", form, onnx])
    add("run as expected", ["run", "--expect", data, onnx])
    for name, text, ok in (("faulty", faulty(), 1), ("idle", idle(), 0)):
        path = make(name, text)
        add("check " + name, ["check", path], ok=ok)
        add("check as sarif " + name, ["check", "--sarif", path], ok=ok)
    add_surgery(make, add)
    add_engines(tool, make, add, given)
    add("findings", ["--pass", "fold,prune", make("wrong", wrong()), "{out}/out.onnx"], ok=1)
    add_more(tool, make, add, given, plain, plugin)
    return cases


def workplace():
    return tempfile.mkdtemp(prefix="onnxsurg-fault-")
