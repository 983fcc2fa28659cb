# SPDX-License-Identifier: Apache-2.0
"""Large models: weights stay in their files; time and memory are those of the graph."""
import os
import resource
import subprocess
import sys

import onnxsurg

from common import PROGRAM, Case, main

GIB = 1 << 30
WALK = '''
import sys, time
import onnxsurg
onnxsurg.parse('<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Abs (x) }')
def peak():
    # ru_maxrss would include the parent's memory, from before the exec
    with open('/proc/self/status') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('VmHWM'))
before, start = peak(), time.perf_counter()
m = onnxsurg.load(sys.argv[1])
size = 0
for node in m.graph.nodes:
    for t in node.inputs:
        if t.is_constant:
            size += t.data.nbytes
            assert t.data.read(t.data.nbytes - 8, 8) == bytes(8)
    node.name = node.name + '_edited'
m.save(sys.argv[2])
print(size, peak() - before, time.perf_counter() - start)
'''


def chain(count, elements):
    """A model that adds external weights one after the other, as bytes of a protobuf message."""
    def field(number, kind, data):
        if kind == 0:
            return varint(number << 3) + varint(data)
        data = data if isinstance(data, bytes) else data.encode()
        return varint(number << 3 | 2) + varint(len(data)) + data

    def varint(n):
        out = b''
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    def entry(key, value):
        return field(13, 2, field(1, 2, key) + field(2, 2, str(value)))

    def value(name):
        dim = field(1, 2, field(1, 0, elements))
        return field(1, 2, name) + field(2, 2, field(1, 2, field(1, 0, 1) + field(2, 2, dim)))

    graph = b''
    for i in range(count):
        graph += field(1, 2, field(1, 2, 'x%d' % i) + field(1, 2, 'w%d' % i) +
                       field(2, 2, 'x%d' % (i + 1)) + field(3, 2, 'node%d' % i) +
                       field(4, 2, 'Add'))
    graph += field(2, 2, 'big')
    for i in range(count):
        graph += field(5, 2, field(1, 0, elements) + field(2, 0, 1) + field(8, 2, 'w%d' % i) +
                       entry('location', 'weights.bin') + entry('offset', i * elements * 4) +
                       entry('length', elements * 4) + field(14, 0, 1))
    graph += field(11, 2, value('x0')) + field(12, 2, value('x%d' % count))
    return field(1, 0, 8) + field(7, 2, graph) + field(8, 2, field(2, 0, 17))


class Big(Case):
    def test_ten_gib_by_reference(self):
        count, elements = 640, 4 << 20
        (self.folder / 'big.onnx').write_bytes(chain(count, elements))
        with open(self.folder / 'weights.bin', 'wb') as f:
            f.truncate(count * elements * 4)
        r = subprocess.run([sys.executable, '-c', WALK, str(self.folder / 'big.onnx'),
                            str(self.folder / 'out.onnx')], capture_output=True, text=True,
                           env=os.environ)
        self.assertEqual(r.returncode, 0, r.stderr)
        size, growth, seconds = r.stdout.split()
        print('10 GiB: %s MiB more, %.2f s' % (int(growth) >> 10, float(seconds)), file=sys.stderr)
        self.assertEqual(int(size), 10 * GIB)
        self.assertLess(int(growth), 64 << 10)
        self.assertLess(float(seconds), 10)  # 1 s on a free machine
        self.assertEqual(onnxsurg.load(self.folder / 'out.onnx').graph.nodes[639].name,
                         'node639_edited')
        self.assertEqual(sorted(os.listdir(self.folder)), ['big.onnx', 'out.onnx', 'weights.bin'])

    def test_time_of_simplify(self):
        """Prints the ratio to the program's time; it is not judged."""
        lines = ['<ir_version: 8, opset_import: ["" : 17]>',
                 'g (float[N, 4] x0) => (float[N, 4] x4000) <float[4] w = {1.0, 2.0, 3.0, 4.0}> {']
        for i in range(4000):
            lines.append('x%d = %s (x%d%s)' % (i + 1, ('Add', 'Relu', 'Identity', 'Mul')[i % 4], i,
                                               ', w' if i % 2 != 1 and i % 4 != 2 else
                                               ', w' if i % 4 == 3 else ''))
        path = self.folder / 'a.onnx'
        onnxsurg.parse('\n'.join(lines + ['}'])).save(path)

        def seconds():
            used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF,
                                                    resource.RUSAGE_CHILDREN)]
            return sum(u.ru_utime + u.ru_stime for u in used)

        def best(f):
            """Seconds of the processor, which other processes disturb less than the clock."""
            times = []
            for _ in range(5):
                start = seconds()
                f()
                times.append(seconds() - start)
            return max(min(times), 1e-6)
        ours = best(lambda: onnxsurg.simplify(path, output=self.folder / 'b.onnx'))
        program = best(lambda: subprocess.run([PROGRAM, '--quiet', str(path),
                                               str(self.folder / 'c.onnx')], check=True))
        self.assertEqual((self.folder / 'b.onnx').read_bytes(),
                         (self.folder / 'c.onnx').read_bytes())
        print('simplify: %.1f ms, the program %.1f ms, ratio %.2f' % (
            ours * 1e3, program * 1e3, ours / program), file=sys.stderr)


if __name__ == '__main__':
    main()
