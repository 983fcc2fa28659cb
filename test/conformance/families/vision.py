# SPDX-License-Identifier: Apache-2.0
"""Detectors, segmentation networks and readers of text in pictures, as exporters write them."""
from net import BOOL, FLOAT, INT64, Net

IMAGE = ["float[1,3,32,32] image"]
ANY_IMAGE = ["float[batch,3,height,width] image"]


def stem(n, c=8, s=4, x="image"):
    return n.silu(n.conv(n.silu(n.conv(x, 3, c, s=2)), c, c, s=s // 2))


# --- detectors ---

def yolov8(opset=17, ins=IMAGE, nodes=True):
    """Distances as expected values of 16 bins; anchors folded."""
    n = Net(opset, nodes)
    x = stem(n)
    a, b = n.split(n.silu(n.conv(x, 8, 8, k=1)), [4, 4], 1)
    x = n.silu(n.conv(n.Concat(a, b, n.Add(b, n.silu(n.conv(b, 4, 4))), axis=1), 12, 8, k=1))
    box = n.Reshape(n.conv(x, 8, 64, k=1), [1, 64, -1] if ins is IMAGE else [0, 64, -1])
    score = n.Reshape(n.conv(x, 8, 5, k=1), [1, 5, -1] if ins is IMAGE else [0, 5, -1])
    bins = n.Softmax(n.Transpose(n.Reshape(box, [0, 4, 16, -1]), perm=[0, 2, 1, 3]), axis=1)
    far = n.Reshape(n.Conv(bins, n.const("float", [1, 16, 1, 1], [float(i) for i in range(16)]),
                           kernel_shape=[1, 1]), [0, 4, -1])
    lt, rb = n.split(far, [2, 2], 1)
    if ins is IMAGE:
        anchors = n.weight(1, 2, 64, scale=4.0)
    else:  # computed from the size, as for dynamic axes
        h, w = (n.Cast(n.dim(x, i), to=INT64) for i in (2, 3))
        ys = n.Add(n.Cast(n.Range(0, h, 1), to=FLOAT), 0.5)
        xs = n.Add(n.Cast(n.Range(0, w, 1), to=FLOAT), 0.5)
        size = n.dims(h, w)
        grid = [n.Reshape(n.Expand(n.unsqueeze(xs, 0), size), [1, 1, -1]),
                n.Reshape(n.Expand(n.unsqueeze(ys, 1), size), [1, 1, -1])]
        anchors = n.Concat(*grid, axis=1)
    lo, hi = n.Sub(anchors, lt), n.Add(anchors, rb)
    box = n.Mul(n.Concat(n.Div(n.Add(lo, hi), 2.0), n.Sub(hi, lo), axis=1), 8.0)
    y = n.Concat(box, n.Sigmoid(score), axis=1)
    return n.done(ins, (y, "float[1,9,64]" if ins is IMAGE else "float[batch,9,anchors]"))


def yolov10():
    """The best boxes without suppression: TopK, GatherElements, Mod."""
    n = Net(13, True)
    x = stem(n)
    y = n.Transpose(n.Reshape(n.conv(x, 8, 9, k=1), [1, 9, -1]), perm=[0, 2, 1])
    box, score = n.split(y, [4, 5], -1)
    score = n.Sigmoid(score)
    best = n.reduce("ReduceMax", score, [-1], 0)
    _, i = n.TopK(best, [20], axis=-1, largest=1, sorted=1, outs=2)
    i = n.unsqueeze(i, -1)
    box = n.GatherElements(box, n.Tile(i, [1, 1, 4]), axis=1)
    score = n.GatherElements(score, n.Tile(i, [1, 1, 5]), axis=1)
    v, j = n.TopK(n.Reshape(score, [1, -1]), [20], axis=-1, largest=1, sorted=1, outs=2)
    label, at = n.Mod(j, 5), n.Div(j, 5)
    box = n.GatherElements(box, n.Tile(n.unsqueeze(at, -1), [1, 1, 4]), axis=1)
    y = n.Concat(box, n.unsqueeze(v, -1), n.unsqueeze(n.Cast(label, to=FLOAT), -1), axis=-1)
    return n.done(IMAGE, (y, "float[1,20,6]"))


def yolov7_nms():
    """Suppression and gathering at the end of the graph."""
    n = Net(12, True)
    x = stem(n)
    y = n.Transpose(n.Reshape(n.Sigmoid(n.conv(x, 8, 8, k=1)), [1, 8, -1]), perm=[0, 2, 1])
    box, conf, cls = n.split(y, [4, 1, 3], 2)
    score = n.Mul(cls, conf)
    turn = n.const("float", [4, 4], [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, -0.5, 0.0, 0.5, 0.0, 0.0, -0.5, 0.0, 0.5])
    box = n.MatMul(box, turn)
    kept = n.NonMaxSuppression(box, n.Transpose(score, perm=[0, 2, 1]), [10], [0.45], [0.05])
    rows, label = n.Gather(kept, [2], axis=1), n.Gather(kept, [1], axis=1)
    at = n.squeeze(rows, 1)
    boxes = n.Gather(n.squeeze(box, 0), at, axis=0)
    _, first = n.TopK(n.squeeze(n.reduce("ReduceMax", score, [2]), 0, 2), [1], axis=0, outs=2)
    out = n.Concat(n.Cast(n.Gather(kept, [0], axis=1), to=FLOAT), boxes, n.Cast(label, to=FLOAT), axis=1)
    return n.done(IMAGE, (out, "float[found,6]"), (first, "int64[1]"))


def ssd_tf():
    """As tf2onnx writes it: NHWC outside, uint8 picture, normalised in the graph, suppression."""
    n = Net(11)
    x = n.Transpose(n.Sub(n.Mul(n.Cast("image", to=FLOAT), 0.007843), 1.0), perm=[0, 3, 1, 2])
    x = n.Clip(n.Conv(x, n.weight(8, 3, 3, 3), n.weight(8), auto_pad="SAME_UPPER", strides=[2, 2]), 0.0, 6.0)
    x = n.Clip(n.Conv(x, n.weight(8, 1, 3, 3), n.weight(8), auto_pad="SAME_UPPER", group=8, strides=[2, 2]), 0.0, 6.0)
    box = n.Reshape(n.Transpose(n.conv(x, 8, 8, k=1), perm=[0, 2, 3, 1]), [1, -1, 4])
    score = n.Reshape(n.Transpose(n.conv(x, 8, 6, k=1), perm=[0, 2, 3, 1]), [1, -1, 3])
    size = n.Exp(n.slice(box, 2, 4, 2))
    centre = n.Add(n.Mul(n.slice(box, 0, 2, 2), 0.1), n.weight(1, 128, 2))
    half = n.Mul(size, 0.5)
    box = n.Concat(n.Sub(centre, half), n.Add(centre, half), axis=2)
    score = n.slice(n.Sigmoid(score), 1, 3, 2)
    kept = n.NonMaxSuppression(box, n.Transpose(score, perm=[0, 2, 1]), 10, 0.6, 0.3)
    at = n.Cast(n.slice(kept, 2, 3, 1), to=INT64)
    y = n.Gather(n.squeeze(box, 0), n.squeeze(at, 1), axis=0)
    count = n.Cast(n.slice(n.Shape(y), 0, 1, 0), to=FLOAT)
    return n.done(["uint8[1,32,32,3] image"], (y, "float[found,4]"), (count, "float[1]"))


def torchvision_roi():
    """Proposals by NonZero and TopK, boxes clipped through ScatterND, RoiAlign, sizes computed."""
    n = Net(11, True)
    x = n.Relu(n.conv("image", 3, 4, s=4))
    score = n.Reshape(n.Sigmoid(n.conv(x, 4, 1, k=1)), [-1])
    many = n.dim(score, 0)
    k = n.Cast(n.reduce("ReduceMin", n.Cast(n.Concat(n.unsqueeze(many, 0), [12], axis=0), to=FLOAT), [0]), to=INT64)
    top, i = n.TopK(score, k, axis=0, largest=1, sorted=1, outs=2)
    box = n.Reshape(n.Transpose(n.conv(x, 4, 4, k=1), perm=[0, 2, 3, 1]), [-1, 4])
    box = n.Gather(box, i, axis=0)
    xs = n.Clip(n.Gather(box, [0, 2], axis=1), 0.0, 32.0)
    ys = n.Clip(n.Gather(box, [1, 3], axis=1), 0.0, 32.0)
    box = n.Reshape(n.Concat(n.unsqueeze(xs, 2), n.unsqueeze(ys, 2), axis=2), n.Concat(n.Shape(top), [4], axis=0))
    wide = n.Not(n.Less(n.Sub(n.Gather(box, 2, axis=1), n.Gather(box, 0, axis=1)), -1.0))
    keep = n.squeeze(n.Transpose(n.NonZero(wide), perm=[1, 0]), 1)
    box = n.Gather(box, keep, axis=0)
    batch = n.squeeze(n.ConstantOfShape(n.Concat(n.slice(n.Shape(box), 0, 1, 0), [1], axis=0), value="int64[1] {0}"), 1)
    r = n.RoiAlign(x, box, batch, mode="avg", output_height=2, output_width=2, sampling_ratio=2, spatial_scale=0.25)
    y = n.gemm(n.Flatten(r, axis=1), 16, 3)
    return n.done(IMAGE, (box, "float[rois,4]"), (n.Softmax(y, axis=-1), "float[rois,3]"))


def detr(opset=14):
    """Transformer over pixels, learned queries."""
    n = Net(opset, True)
    x = n.conv(stem(n, s=8), 8, 16, k=1)
    size = n.dims(n.dim(x, 0), n.dim(x, 1), -1)
    x = n.Transpose(n.Reshape(x, size), perm=[0, 2, 1])
    x = n.Add(x, n.weight(1, 16, 16))
    x = n.layer_norm(n.Add(x, n.attention(x)))
    q = n.Expand(n.weight(1, 6, 16), n.dims(n.dim(x, 0), 1, 1))
    q = n.layer_norm(n.Add(q, n.attention(q, over=x)))
    q = n.layer_norm(n.Add(q, n.feed_forward(q)))
    return n.done(IMAGE, (n.dense(q, 16, 4), "float[1,6,4]"), (n.Sigmoid(n.dense(n.Relu(n.dense(q, 16, 16)), 16, 4)), "float[1,6,4]"))


def rt_detr():
    """Deformable attention by GridSample."""
    n = Net(16, True)
    x = stem(n)
    q = n.Tile(n.weight(1, 6, 16), [1, 1, 1])
    ref = n.Sigmoid(n.dense(q, 16, 2))
    off = n.Reshape(n.dense(q, 16, 8), [1, 6, 4, 2])
    where = n.Add(n.unsqueeze(ref, 2), n.Mul(off, 0.1))
    grid = n.Sub(n.Mul(where, 2.0), 1.0)
    value = n.GridSample(x, grid, align_corners=0, mode="bilinear", padding_mode="zeros")
    share = n.Softmax(n.dense(q, 16, 4), axis=-1)
    y = n.reduce("ReduceSum", n.Mul(value, n.unsqueeze(share, 1)), [-1], 0)
    y = n.Transpose(y, perm=[0, 2, 1])
    best, i = n.TopK(n.reduce("ReduceMax", y, [-1], 0), [3], axis=1, outs=2)
    y = n.GatherElements(y, n.Expand(n.unsqueeze(i, -1), [1, 3, 8]), axis=1)
    return n.done(IMAGE, (y, "float[1,3,8]"), (best, "float[1,3]"))


def picodet():
    """Paddle: HardSwish by parts, Shape and Slice for sizes, Resize to a computed size."""
    n = Net(11)
    hs = lambda v: n.Div(n.Mul(v, n.Clip(n.Add(v, 3.0), 0.0, 6.0)), 6.0)
    a = hs(n.norm2d(n.conv("image", 3, 8, s=2, bias=False), 8))
    b = hs(n.norm2d(n.conv(a, 8, 8, s=2, group=8, bias=False), 8))
    size = n.Cast(n.slice(n.Shape(a), 2, 4, 0), to=INT64)
    empty = n.const("float", [0], [])
    up = n.Resize(b, empty, empty, n.Concat(n.slice(n.Shape(b), 0, 2, 0), size, axis=0),
                  coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor")
    y = n.conv(n.Concat(a, up, axis=1), 16, 8, k=1)
    y = n.Transpose(n.Reshape(y, n.Concat(n.slice(n.Shape(y), 0, 1, 0), [8], [-1], axis=0)), perm=[0, 2, 1])
    return n.done(["float[batch,3,32,32] image"], (n.Softmax(y, axis=2), "float[batch,256,8]"))


def centernet():
    """Peaks by MaxPool and Equal, TopK, GatherND."""
    n = Net(12)
    x = stem(n)
    heat = n.Sigmoid(n.conv(n.Relu(n.conv(x, 8, 8)), 8, 3, k=1))
    peak = n.MaxPool(heat, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    heat = n.Mul(heat, n.Cast(n.Equal(n.Sub(peak, heat), 0.0), to=FLOAT))
    score, i = n.TopK(n.Reshape(heat, [1, -1]), [8], axis=1, outs=2)
    label = n.Cast(n.Floor(n.Div(n.Cast(i, to=FLOAT), 64.0)), to=INT64)
    place = n.Sub(i, n.Mul(label, 64))
    size = n.Transpose(n.Reshape(n.conv(x, 8, 2, k=1), [1, 2, 64]), perm=[0, 2, 1])
    wh = n.GatherND(n.squeeze(size, 0), n.unsqueeze(n.squeeze(place, 0), 1))
    return n.done(IMAGE, (score, "float[1,8]"), (label, "int64[1,8]"), (wh, "float[8,2]"))


def focus():
    """YOLOv5: strided slices, anchors written through ScatterND."""
    n = Net(11, True)
    rows = [n.slice("image", i, 9223372036854775807, 2, 2) for i in (0, 1)]
    x = n.Concat(*[n.slice(r, j, 9223372036854775807, 3, 2) for j in (0, 1) for r in rows], axis=1)
    x = n.silu(n.conv(x, 12, 8, s=2))
    y = n.Sigmoid(n.Transpose(n.Reshape(n.conv(x, 8, 14, k=1), [1, 2, 7, 8, 8]), perm=[0, 1, 3, 4, 2]))
    xy = n.Mul(n.Add(n.Sub(n.Mul(n.slice(y, 0, 2, 4), 2.0), 0.5), n.weight(1, 1, 8, 8, 2)), 4.0)
    at = n.const("int64", [1, 2, 8, 8, 2, 5], [v for a in range(2) for h in range(8) for w in range(8)
                                               for c in range(2) for v in (0, a, h, w, c)])
    y = n.ScatterND(y, at, xy)
    return n.done(IMAGE, (n.Reshape(y, [1, -1, 7]), "float[1,128,7]"))


# --- segmentation ---

def deeplab_dynamic():
    """Output as large as the input, by its Shape; ASPP with a pooled branch."""
    n = Net(11, True)
    x = n.Relu(n.conv("image", 3, 8, s=4))
    pool = n.conv(n.GlobalAveragePool(x), 8, 4, k=1)
    empty = n.const("float", [0], [])
    grow = lambda v, like: n.Resize(v, empty, empty, n.Concat(n.slice(n.Shape(v), 0, 2, 0), n.Cast(
        n.slice(n.Shape(like), 2, 4, 0), to=INT64), axis=0), coordinate_transformation_mode="pytorch_half_pixel",
        cubic_coeff_a=-0.75, mode="linear", nearest_mode="floor")
    parts = [n.Relu(n.conv(x, 8, 4, k=1)), n.Relu(n.conv(x, 8, 4, d=2)), grow(pool, x)]
    y = n.conv(n.Concat(*parts, axis=1), 12, 5, k=1)
    return n.done(ANY_IMAGE, (grow(y, "image"), "float[batch,5,height,width]"))


def segformer():
    n = Net(13, True)
    x = n.conv("image", 3, 16, k=7, s=4)
    h, w = n.dim(x, 2), n.dim(x, 3)
    t = n.layer_norm(n.Transpose(n.Reshape(x, n.dims(n.dim(x, 0), 16, -1)), perm=[0, 2, 1]))
    back = n.Reshape(n.Transpose(t, perm=[0, 2, 1]), n.dims(n.dim(t, 0), n.dim(t, 2), h, w))
    small = n.conv(back, 16, 16, k=2, s=2, pad=0)
    small = n.layer_norm(n.Transpose(n.Reshape(small, [0, 16, -1]), perm=[0, 2, 1]))
    t = n.Add(t, n.attention(t, over=small))
    m = n.dense(n.layer_norm(t), 16, 32)
    m = n.Reshape(n.Transpose(m, perm=[0, 2, 1]), n.dims(n.dim(m, 0), 32, h, w))
    m = n.conv(m, 32, 32, group=32)
    m = n.Transpose(n.Reshape(m, [0, 32, -1]), perm=[0, 2, 1])
    t = n.Add(t, n.dense(n.gelu(m), 32, 16))
    y = n.Reshape(n.Transpose(n.dense(t, 16, 8), perm=[0, 2, 1]), n.dims(n.dim(t, 0), 8, h, w))
    y = n.Resize(n.conv(y, 8, 4, k=1), None, [1.0, 1.0, 4.0, 4.0], coordinate_transformation_mode="half_pixel", mode="linear")
    return n.done(["float[batch,3,32,32] image"], (n.ArgMax(y, axis=1, keepdims=0), "int64[batch,32,32]"))


def u2net(opset=11):
    n = Net(opset, True)
    a = n.Relu(n.norm2d(n.conv("image", 3, 8), 8))
    b = n.Relu(n.norm2d(n.conv(n.MaxPool(a, ceil_mode=1, kernel_shape=[2, 2], strides=[2, 2]), 8, 8), 8))
    c = n.Relu(n.norm2d(n.conv(n.MaxPool(b, ceil_mode=1, kernel_shape=[2, 2], strides=[2, 2]), 8, 8, d=2), 8))
    up = lambda v, like: n.Resize(v, n.const("float", [0], []), n.const("float", [0], []), n.Concat(
        n.slice(n.Shape(v), 0, 2, 0), n.slice(n.Shape(like), 2, 4, 0), axis=0), mode="linear",
        coordinate_transformation_mode="align_corners")
    d = n.Relu(n.conv(n.Concat(up(c, b), b, axis=1), 16, 8))
    e = n.Sigmoid(n.conv(n.Concat(up(d, a), a, axis=1), 16, 1))
    low, high = n.reduce("ReduceMin", e, [1, 2, 3]), n.reduce("ReduceMax", e, [1, 2, 3])
    return n.done(["float[1,3,31,31] image"], (n.Div(n.Sub(e, low), n.Sub(high, low)), "float[1,1,31,31]"))


def matting_recurrent():
    """A ConvGRU whose state goes in and out; the size of it by the graph's inputs."""
    n = Net(12)
    x = n.Relu(n.conv("image", 3, 8, s=2))
    state = n.Expand("state", n.Shape(x))
    both = n.Concat(x, state, axis=1)
    r, z = n.split(n.Sigmoid(n.conv(both, 16, 16)), [8, 8], 1)
    c = n.Tanh(n.conv(n.Concat(x, n.Mul(r, state), axis=1), 16, 8))
    h = n.Add(n.Mul(n.Sub(1.0, z), state), n.Mul(z, c))
    up = n.Resize(h, n.const("float", [0], []), [1.0, 1.0, 2.0, 2.0], coordinate_transformation_mode="half_pixel", mode="linear")
    y = n.Clip(n.conv(up, 8, 1, k=1), 0.0, 1.0)
    return n.done(["float[1,3,height,width] image", "float[1,8,rows,columns] state"], (y, "float[1,1,height,width]"),
                  (h, "float[1,8,h2,w2]"))


def sam_decoder():
    """Points embedded by Sin and Cos, padding labels by Where, tokens repeated over the picture."""
    n = Net(16, True)
    at = n.Sub(n.Mul(n.Div(n.Add("points", 0.5), 32.0), 2.0), 1.0)
    p = n.Mul(n.MatMul(at, n.weight(2, 8)), 6.2831854820251465)
    p = n.Concat(n.Sin(p), n.Cos(p), axis=-1)
    label = n.Expand(n.unsqueeze("labels", -1), n.Shape(p))
    off = n.Cast(n.Equal(label, -1.0), to=FLOAT)
    p = n.Add(n.Mul(p, n.Sub(1.0, off)), n.Mul(n.weight(1, 16), off))
    p = n.Add(p, n.Mul(n.weight(1, 16), n.Cast(n.Equal(label, 1.0), to=FLOAT)))
    t = n.Concat(n.Expand(n.weight(1, 4, 16), n.dims(n.dim(p, 0), 4, 16)), p, axis=1)
    src = n.Transpose(n.Reshape("embedding", [1, 16, -1]), perm=[0, 2, 1])
    t = n.layer_norm(n.Add(t, n.attention(t)), 16)
    t = n.layer_norm(n.Add(t, n.attention(t, over=src)))
    src = n.layer_norm(n.Add(src, n.attention(src, over=t)))
    up = n.Reshape(n.Transpose(src, perm=[0, 2, 1]), [1, 16, 8, 8])
    up = n.gelu(n.ConvTranspose(up, n.weight(16, 8, 2, 2), n.weight(8), kernel_shape=[2, 2], strides=[2, 2]))
    h, w = n.dim(up, 2), n.dim(up, 3)
    masks = n.MatMul(n.dense(n.slice(t, 1, 4, 1), 16, 8), n.Reshape(up, [1, 8, -1]))
    masks = n.Reshape(masks, n.dims(1, -1, h, w))
    best = n.ArgMax(n.dense(n.Gather(t, 0, axis=1), 16, 3), axis=1, keepdims=0)
    y = n.Gather(masks, best, axis=1)
    return n.done(["float[1,16,8,8] embedding", "float[1,points,2] points", "float[1,points] labels"],
                  (masks, "float[1,masks,h,w]"), (y, "float[1,1,h,w]"))


def hrnet(opset=9):
    n = Net(opset)
    a = n.Relu(n.norm2d(n.conv("image", 3, 4, bias=False), 4))
    b = n.Relu(n.norm2d(n.conv(a, 4, 8, s=2, bias=False), 8))
    up = lambda v: n.Upsample(v, [1.0, 1.0, 2.0, 2.0], mode="nearest")
    a2 = n.Relu(n.Add(a, up(n.norm2d(n.conv(b, 8, 4, k=1), 4))))
    b2 = n.Relu(n.Add(b, n.norm2d(n.conv(a, 4, 8, s=2), 8)))
    y = n.conv(n.Concat(a2, up(b2), axis=1), 12, 3, k=1)
    return n.done(IMAGE, (n.LogSoftmax(y, axis=1) if opset >= 13 else n.Softmax(y, axis=1), "float[1,3,32,32]"))


def modnet():
    """Half BatchNormalization, half InstanceNormalization."""
    n = Net(11, True)
    x = n.conv("image", 3, 8, s=2)
    a, b = n.slice(x, 0, 4, 1), n.slice(x, 4, 8, 1)
    x = n.Relu(n.Concat(n.norm2d(a, 4), n.InstanceNormalization(b, n.const("float", [4], [1.0] * 4),
                                                                n.const("float", [4], [0.0] * 4), epsilon=1e-5), axis=1))
    g = n.Sigmoid(n.gemm(n.Relu(n.gemm(n.Reshape(n.GlobalAveragePool(x), [1, -1]), 8, 4)), 4, 8))
    x = n.Mul(x, n.Expand(n.unsqueeze(n.unsqueeze(g, 2), 3), n.Shape(x)))
    y = n.Sigmoid(n.conv(n.Resize(x, n.const("float", [0], []), [1.0, 1.0, 2.0, 2.0], mode="linear",
                                  coordinate_transformation_mode="pytorch_half_pixel"), 8, 1))
    return n.done(["float[1,3,height,width] image"], (y, "float[1,1,height,width]"))


def unet3d():
    n = Net(17, True)
    c3 = lambda x, a, b, s=1: n.Conv(x, n.weight(b, a, 3, 3, 3), n.weight(b), kernel_shape=[3] * 3, pads=[1] * 6, strides=[s] * 3)
    a = n.LeakyRelu(n.InstanceNormalization(c3("volume", 1, 4), n.weight(4), n.weight(4)), alpha=0.01)
    b = n.LeakyRelu(c3(a, 4, 8, 2), alpha=0.01)
    u = n.ConvTranspose(b, n.weight(8, 4, 2, 2, 2), n.weight(4), kernel_shape=[2] * 3, strides=[2] * 3)
    return n.done(["float[1,1,8,8,8] volume"], (c3(n.Concat(u, a, axis=1), 8, 2), "float[1,2,8,8,8]"))


def mask_query():
    """Masks as Einsum of queries and pixels."""
    n = Net(14, True)
    x = n.conv(stem(n), 8, 16, k=1)
    q = n.layer_norm(n.weight(1, 5, 16))
    q = n.Add(q, n.attention(q, over=n.Transpose(n.Reshape(x, [1, 16, -1]), perm=[0, 2, 1])))
    m = n.Einsum(q, x, equation="bqc,bchw->bqhw")
    c = n.Softmax(n.dense(q, 16, 4), axis=-1)
    y = n.Einsum(n.slice(c, 0, 3, 2), n.Sigmoid(m), equation="bqc,bqhw->bchw")
    return n.done(IMAGE, (y, "float[1,3,8,8]"))


# --- text in pictures ---

def crnn(opset=11):
    """Convolutions, two LSTM in both directions, a class for each column."""
    n = Net(opset, True)
    x = n.MaxPool(n.Relu(n.conv("image", 1, 8)), kernel_shape=[2, 2], strides=[2, 2])
    x = n.MaxPool(n.Relu(n.norm2d(n.conv(x, 8, 8, bias=False), 8)), kernel_shape=[16, 1], strides=[16, 1])
    x = n.Transpose(n.squeeze(x, 2), perm=[2, 0, 1])
    for width in (8, 16):
        many = n.dims(2, n.dim(x, 1), 8)
        zero = n.ConstantOfShape(many, value="float[1] {0.0}")
        x = n.LSTM(x, n.weight(2, 32, width), n.weight(2, 32, 8), n.weight(2, 64), None, zero, zero,
                   direction="bidirectional", hidden_size=8, outs=3)[0]
        x = n.Reshape(n.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, -1])
    t, b, c = n.dim(x, 0), n.dim(x, 1), n.dim(x, 2)
    y = n.gemm(n.Reshape(x, n.dims(n.Mul(t, b), c)), 16, 11)
    y = n.Reshape(y, n.dims(t, b, -1))
    return n.done(["float[batch,1,32,width] image"], (n.LogSoftmax(y, axis=2), "float[steps,batch,11]"))


def svtr():
    """Paddle's reader: attention over the columns, sizes by Shape and Slice, Softmax over classes."""
    n = Net(11)
    x = n.conv(n.norm2d(n.conv("x", 3, 8, s=2, bias=False), 8), 8, 16, s=2)
    x = n.AveragePool(x, kernel_shape=[8, 1], strides=[8, 1])
    many = n.slice(n.Shape(x), 0, 1, 0)
    t = n.Transpose(n.Reshape(x, n.Concat(many, [16], [-1], axis=0)), perm=[0, 2, 1])
    m = n.layer_norm(t)
    qkv = n.Transpose(n.Reshape(n.dense(m, 16, 48), n.Concat(many, [-1], [3], [2], [8], axis=0)), perm=[2, 0, 3, 1, 4])
    q, k, v = (n.squeeze(n.slice(qkv, i, i + 1, 0), 0) for i in range(3))
    a = n.Softmax(n.MatMul(n.Mul(q, 0.3535), n.Transpose(k, perm=[0, 1, 3, 2])), axis=3)
    t = n.Add(t, n.dense(n.Reshape(n.Transpose(n.MatMul(a, v), perm=[0, 2, 1, 3]), [0, -1, 16]), 16, 16))
    return n.done(["float[batch,3,32,width] x"], (n.Softmax(n.dense(n.layer_norm(t), 16, 9), axis=2), "float[batch,columns,9]"))


def dbnet(opset=13):
    n = Net(opset)
    x = n.Relu(n.conv("x", 3, 8, s=4))
    y = n.Relu(n.norm2d(n.ConvTranspose(x, n.weight(8, 4, 2, 2), n.weight(4), kernel_shape=[2, 2], strides=[2, 2]), 4))
    y = n.Sigmoid(n.ConvTranspose(y, n.weight(4, 1, 2, 2), n.weight(1), kernel_shape=[2, 2], strides=[2, 2]))
    return n.done(["float[batch,3,height,width] x"], (y, "float[batch,1,height,width]"))


def trocr_step():
    """One step of a decoder, its last token's class."""
    n = Net(14, True)
    x = n.Add(n.Mul(n.Gather(n.weight(20, 16), "ids"), 4.0), n.Gather(n.weight(34, 16), n.Add(n.unsqueeze(
        n.Range(0, n.dim("ids", 1), 1), 0), 2)))
    long = n.dim("ids", 1)
    tri = n.Less(n.unsqueeze(n.Range(0, long, 1), 0), n.unsqueeze(n.Add(n.Range(0, long, 1), 1), 1))
    full = n.Where(tri, 0.0, -3.4028234663852886e+38)
    x = n.layer_norm(n.Add(x, n.attention(x, mask=n.unsqueeze(full, 0, 1))))
    x = n.layer_norm(n.Add(x, n.attention(x, over="encoded")))
    y = n.MatMul(n.layer_norm(n.Add(x, n.feed_forward(x))), n.weight(16, 20))
    return n.done(["int64[batch,length] ids", "float[batch,patches,16] encoded"],
                  (n.ArgMax(n.Gather(y, -1, axis=1), axis=-1, keepdims=0), "int64[batch]"))


def parseq():
    """Positions of the end by CumSum; Trilu; all characters at once."""
    n = Net(14, True)
    p = n.Transpose(n.Reshape(n.conv("image", 3, 16, k=4, s=4, pad=0), [0, 16, -1]), perm=[0, 2, 1])
    p = n.Add(p, n.attention(n.layer_norm(p)))
    q = n.Expand(n.weight(1, 5, 16), n.dims(n.dim("image", 0), 5, 16))
    keep = n.Trilu(n.const("float", [5, 5], [1.0] * 25), upper=0)
    y = n.Add(q, n.attention(q, mask=n.Mul(n.Sub(1.0, keep), -1e4)))
    y = n.dense(n.Add(y, n.attention(y, over=p)), 16, 12)
    ids = n.ArgMax(y, axis=-1, keepdims=0)
    end = n.Greater(n.CumSum(n.Cast(n.Equal(ids, 0), to=INT64), 1), 0)
    return n.done(["float[batch,3,16,32] image"], (n.Where(end, n.const("int64", [], [0]), ids), "int64[batch,5]"), (y, "float[batch,5,12]"))


def ctc_greedy():
    """Repeated and blank columns removed: Slice, Not Equal, NonZero, GatherND."""
    n = Net(13)
    ids = n.ArgMax(n.dense("columns", 8, 6), axis=2, keepdims=0)
    last = n.slice(ids, 0, -1, 1)
    moved = n.Not(n.Equal(n.slice(ids, 1, 2147483647, 1), last))
    keep = n.Concat(n.Cast(n.slice(n.Equal(ids, ids), 0, 1, 1), to=BOOL), moved, axis=1)
    keep = n.And(keep, n.Not(n.Equal(ids, 0)))
    at = n.Transpose(n.NonZero(keep), perm=[1, 0])
    return n.done(["float[batch,steps,8] columns"], (n.GatherND(ids, at), "int64[kept]"))


def rotation_head():
    """ResNet head with L2 norm, Clip with one bound, constant folded badly."""
    n = Net(12, True)
    x = n.reduce("ReduceMean", stem(n), [2, 3], 0)
    x = n.Div(x, n.Expand(n.Clip(n.reduce("ReduceL2", x, [1]), 1e-12), n.Shape(x)))
    one = n.Cast(n.Sub(n.Add(n.ConstantOfShape([1], value="float[1] {1.0}"), 1.0), 1.0), to=FLOAT)
    return n.done(IMAGE, (n.Atan(n.Div(n.gemm(x, 8, 1), one)), "float[1,1]"))


def deskew():
    """A picture turned by a grid that the network itself computes."""
    n = Net(20, True)
    t = n.Reshape(n.gemm(n.Flatten(n.GlobalAveragePool(stem(n)), axis=1), 8, 6), [-1, 2, 3])
    grid = n.AffineGrid(t, n.const("int64", [4], [1, 3, 16, 16]), align_corners=0)
    return n.done(IMAGE, (n.GridSample("image", grid, mode="linear"), "float[1,3,16,16]"))


def tf_reader():
    """Keras: NHWC, BatchNormalization as products, reversed LSTM, Softmax of the last axis."""
    n = Net(15)
    x = n.Transpose("image", perm=[0, 3, 1, 2])
    x = n.Relu(n.Add(n.Mul(n.Conv(x, n.weight(8, 1, 3, 3), auto_pad="SAME_UPPER", strides=[4, 2]), n.weight(1, 8, 1, 1)),
                     n.weight(1, 8, 1, 1)))
    x = n.Reshape(n.Transpose(x, perm=[0, 3, 2, 1]), [-1, 16, 64])
    y = n.LSTM(n.Transpose(x, perm=[1, 0, 2]), n.weight(1, 32, 64), n.weight(1, 32, 8), n.weight(1, 64),
               direction="reverse", hidden_size=8, outs=1)
    y = n.Transpose(n.squeeze(y, 1), perm=[1, 0, 2])
    return n.done(["float[batch,32,32,1] image"], (n.Softmax(n.dense(y, 8, 7), axis=-1), "float[batch,16,7]"))


DETECTOR = {
    "yolov8": yolov8, "yolov8-open": lambda: yolov8(16, ANY_IMAGE), "yolov10": yolov10, "yolov7-nms": yolov7_nms,
    "ssd-tf": ssd_tf, "torchvision-roi": torchvision_roi, "detr": detr, "rt-detr": rt_detr, "picodet": picodet,
    "centernet": centernet, "yolov5-focus": focus,
}
SEGMENTATION = {
    "deeplab-open": deeplab_dynamic, "segformer": segformer, "u2net": u2net, "matting-recurrent": matting_recurrent,
    "sam-decoder": sam_decoder, "hrnet-9": hrnet, "modnet": modnet, "unet3d": unet3d, "mask-query": mask_query,
    "u2net-19": lambda: u2net(13),
}
OCR = {
    "crnn": crnn, "crnn-14": lambda: crnn(14), "svtr": svtr, "dbnet": dbnet, "trocr-step": trocr_step, "parseq": parseq,
    "ctc-greedy": ctc_greedy, "rotation-head": rotation_head, "deskew": deskew, "tf-reader": tf_reader,
}
