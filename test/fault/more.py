# SPDX-License-Identifier: Apache-2.0
"""Cases of the fault tests beyond loading, passes and saving: commands that compare, draw, divide,
exchange weights, quantize, search, and run plugins."""
import os
import subprocess

RULES = """rule neg-of-neg exact {
  match opset 1.. { a = Neg (x) y = Neg (a) }
  emit opset 1.. { y = Identity (x) }
}
"""

NET = """<ir_version: 8, opset_import: ["" : 17]>
net (float[N, 8] x) => (float[N, 4] y) <float[8, 8] w = {%s}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8},
float[8, 4] v = {%s}> {
  h = MatMul (x, w)
  i = Add (h, b)
  r = Relu (i)
  y = MatMul (r, v)
}
"""


STACKED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,1,S,2] q, float[2,1,1,P,2] past) => (float[2,1,1,T,2] present, float[1,1,S,2] y)
   <int64 key = {0}, int64 value = {1}, int64[1] front = {0}> {
  pk = Gather <axis = 0> (past, key)
  pv = Gather <axis = 0> (past, value)
  k = Concat <axis = 2> (pk, q)
  v = Concat <axis = 2> (pv, q)
  t = Transpose <perm = [0, 1, 3, 2]> (k)
  s = MatMul (q, t)
  w = Softmax (s)
  y = MatMul (w, v)
  ku = Unsqueeze (k, front)
  vu = Unsqueeze (v, front)
  present = Concat <axis = 0> (ku, vu)
}
"""

PACKED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B,S,2] x) => (float[B,S,1] q, float[B,S,2] k) <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3},
int64[2] sizes = {1, 2}, int64[2] flat = {-1, 2}, int64[1] three = {3}> {
  rows = Reshape (x, flat)
  y = Gemm (rows, w, b)
  size = Shape <end = 2> (x)
  shape = Concat <axis = 0> (size, three)
  s = Reshape (y, shape)
  q, k = Split <axis = 2> (s, sizes)
}
"""


def net(seed=0):
    w = ", ".join(str((i * 5 + seed) % 17 / 4 - 2) for i in range(64))
    v = ", ".join(str((i * 3 + seed) % 13 / 4 - 1) for i in range(32))
    return NET % (w, v)


def add_files(tool, make, add, given, onnx, other):
    """Commands on models and on files beside them."""
    def quietly(*args):
        subprocess.run([tool, *args], capture_output=True)

    add("data", ["data", "--file", "w.data", "--attributes", "--threshold", "16", onnx, "{out}/out.onnx"])
    add("data per tensor", ["data", "--per-tensor", "--threshold", "16", onnx, "{out}/out.onnx"])
    add("data in shards", ["data", "--shard", "128", "--threshold", "16", onnx, "{out}/out.onnx"])
    for kind in ("safetensors", "npz"):
        add("export " + kind, ["weights", "--export", "{out}/w." + kind, onnx])
        path = os.path.join(given, "w." + kind)
        quietly("weights", "--export", path, other)
        add("import " + kind, ["weights", "--import", path, onnx, "{out}/out.onnx"])
    stripped = os.path.join(given, "stripped.onnx")
    quietly("strip", "--threshold", "16", onnx, stripped)
    add("strip", ["strip", "--threshold", "16", onnx, "{out}/out.onnx"])
    add("restore", ["restore", "--from", onnx, stripped, "{out}/out.onnx"])
    patch = os.path.join(given, "a.patch")
    quietly("diff", "--patch", patch, onnx, other)
    add("make patch", ["diff", "--patch", "{out}/a.patch", onnx, other], ok=1)
    whole = os.path.join(given, "diff.json")
    with open(whole, "wb") as f:
        subprocess.run([tool, "diff", "--json", "--patch", "-", onnx, other], stdout=f)
    add("patch from json", ["patch", onnx, whole, "{out}/out.onnx"])
    add("patch", ["patch", onnx, patch, "{out}/out.onnx"])
    add("split", ["split", "--at", "r", "-o", "{out}/part", onnx])
    quietly("split", "--at", "r", "-o", os.path.join(given, "part"), onnx)
    manifest = os.path.join(given, "part.split.json")
    add("run parts", ["run", manifest])
    add("merge parts", ["merge", manifest, "-o", "{out}/out.onnx"])


def add_reports(tool, make, add, onnx, other):
    """Commands that print or draw."""
    add("diff", ["diff", onnx, other], ok=1)
    add("diff all", ["diff", "--names", "--all", onnx, other], ok=1)
    add("diff as json", ["diff", "--json", onnx, other], ok=1)
    add("diff with a patch", ["diff", "--json", "--patch", "-", onnx, other], ok=1)
    small, log = other + ".small.onnx", other + ".log"
    subprocess.run([tool, "simplify", "--log", log, "--quiet", other, small], check=True)
    add("diff with a log", ["diff", "--json", "--log", log, other, small], ok=1)
    several = other + ".several.log"
    with open(several, "w") as f:
        for i in range(4):
            f.write('{"event": "rename-value", "graph": "main", "value": "b%d", "old": "a%d"}\n' % (i, i))
    add("verify with a log of several names", ["verify", "--log", several, onnx, onnx])
    extra = [onnx + ".extra%d.onnx" % i for i in range(2)]
    for i, path in enumerate(extra):  # field 900, of two bytes
        with open(onnx, "rb") as f, open(path, "wb") as g:
            g.write(f.read() + bytes([0xa2, 0x38, 2, i, 0]))
    add("diff unknown fields", ["diff", *extra], ok=1)
    add("diff as page", ["diff", "--html", "{out}/d.html", onnx, other], ok=1)
    for form in ("html", "svg", "dot"):
        add("view as " + form, ["view", "-o", "{out}/view." + form, onnx])
    add("info", ["info", onnx])
    add("info as json", ["info", "--json", onnx])
    add("nodes", ["nodes", onnx])
    add("find", ["find", "r = Relu (x)", onnx])
    add("cat", ["cat", onnx])
    add("ops", ["ops", "Resize"])
    add("rules", ["rules"])
    add("passes", ["passes"])


def add_changes(tool, make, add, given, onnx):
    """Quantization, conversion, searches, scripts, rules of the user."""
    add("quantize weights", ["quantize", "--weights", "int8", onnx, "{out}/out.onnx"])
    add("quantize dynamically", ["quantize", "--dynamic", onnx, "{out}/out.onnx"])
    add("quantize statically", ["quantize", "--static", onnx, "{out}/out.onnx"])
    add("matmul-bits", ["matmul-bits", onnx, "{out}/out.onnx"])
    quantized = os.path.join(given, "quantized.onnx")
    subprocess.run([tool, "quantize", "--weights", "int8", onnx, quantized], check=True, capture_output=True)
    add("unquantize", ["unquantize", quantized, "{out}/out.onnx"])
    add("to-float16", ["to-float16", onnx, "{out}/out.onnx"])
    add("opset", ["--pass", "", "--opset", "13", "--ir", "7", onnx, "{out}/out.onnx"])
    add("opset up", ["--pass", "", "--opset", "21", onnx, "{out}/out.onnx"])
    rules = os.path.join(given, "my.rules")
    with open(rules, "w", encoding="utf-8") as f:
        f.write(RULES)
    twice = make("twice_neg", '<ir_version: 8, opset_import: ["" : 17]>\n'
                 "g (float[2] x) => (float[2] y) { a = Neg (x)  y = Neg (a) }\n")
    add("rules of the user", ["--rules", rules, twice, "{out}/out.onnx"])
    script = os.path.join(given, "steps.txt")
    with open(script, "w", encoding="utf-8") as f:
        f.write("rename --value.h=first\noutputs{add=r}\nsimplify\n")
    add("edit", ["edit", script, onnx, "{out}/out.onnx"])
    with open(script + "2", "w", encoding="utf-8") as f:
        f.write("insert --after i --text 'j = Div (i, 2.0)'\nregion --from h --to r --text 'i = Neg (h) "
                "r = Relu (i)'\nrename --value.h=k\n")
    add("edit nodes", ["edit", "--json", script + "2", onnx, "{out}/out.onnx"])
    add("check results", ["--check=1", "--verify-each", "--stats", "--json", onnx, "{out}/out.onnx"])
    add("reduce", ["reduce", "--test", "/bin/grep -q Relu {}", onnx, "{out}/out.onnx"])
    stacked = make("stacked", STACKED)
    add("static-cache", ["static-cache", "--length", "4", stacked, "{out}/out.onnx"])
    packed = make("packed", PACKED)
    add("split-matmuls", ["--pass", "split-matmuls,fold", packed, "{out}/out.onnx"])
    add("bisect", ["bisect", "--test", "/bin/true", onnx], ok=1)
    add("mend", ["mend", make("mendable", '<ir_version: 8, opset_import: ["" : 9]>\n'
                              "g (float[2] x) => (float[2] y) { a = Add (x, x)  y = Hardswish (a) }\n"),
                 "{out}/out.onnx"], ok=1)


def add_plugin(add, plugin, model):
    """A pass of a plugin (examples/plugin/forward.c), in this process and in one of its own."""
    for name, more in (("plugin", []), ("isolated plugin", ["--isolate-plugins"])):
        add(name, [*more, "--plugin", plugin, "--pass", "forward{op=acme.Probe}", model,
                   "{out}/out.onnx"])


def add_more(tool, make, add, given, plain, plugin=None):
    onnx = plain(make("net", net()), os.path.join(given, "net.onnx"))
    other = plain(make("net_other", net(1)), os.path.join(given, "net_other.onnx"))
    add_files(tool, make, add, given, onnx, other)
    add_reports(tool, make, add, onnx, other)
    add_changes(tool, make, add, given, onnx)
    if plugin:
        add_plugin(add, plugin, make("probed", '<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>\n'
                                     "g (float[2] x) => (float[2] y) "
                                     "{ a = Abs (x)  b = acme.Probe (a)  y = Neg (b) }\n"))
