/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of symbolic dims and of what is known of elements; see infer_rows.h. */
#include "infer_rows.h"

#define SHAPE "s = Shape(x)\n"
#define SHOW(v) "y = ConstantOfShape(" v ")"

const infer_row infer_symbolic[] = {
    /* windows */
    {13, "float[N,3,H,W] x, float[8,3,3,3] w", "",
     "y = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w)",
     "y float[N,8,floor((H+1)/2),floor((W+1)/2)]"},
    {13, "float[N,3,H,W] x, float[8,3,3,3] w", "", "y = Conv <pads = [1,1,1,1]> (x, w)",
     "y float[N,8,H,W]"},
    {13, "float[N,3,H,W] x, float[8,3,3,5] w", "", "y = Conv <dilations = [2,2]> (x, w)",
     "y float[N,8,H-4,W-8]"},
    {13, "float[N,3,H,W] x", "", "y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)",
     "y float[N,3,floor(H/2),floor(W/2)]"},
    {13, "float[N,3,H,W] x", "",
     "y = MaxPool <kernel_shape = [3,3], strides = [2,2], ceil_mode = 1> (x)",
     "y float[N,3,floor(H/2),floor(W/2)]"},
    {13, "float[N,3,H,W] x", "",
     "y = MaxPool <kernel_shape = [2,2], strides = [2,2], pads = [1,1,1,1], ceil_mode = 1> (x)",
     "y float[N,3,?,?]"},
    {13, "float[N,3,H,W] x", "",
     "y = AveragePool <kernel_shape = [3,3], strides = [2,2], auto_pad = \"SAME_UPPER\"> (x)",
     "y float[N,3,floor((H+1)/2),floor((W+1)/2)]"},
    {13, "float[N,3,H,W] x, float[3,8,2,2] w", "", "y = ConvTranspose <strides = [2,2]> (x, w)",
     "y float[N,8,2*H,2*W]"},
    {13, "float[N,G,H,W] x, float[G,8,3,3] w", "",
     "y = ConvTranspose <strides = [2,2], output_padding = [1,1], pads = [1,1,1,1]> (x, w)",
     "y float[N,8,2*H,2*W]"},
    {13, "float[N,C,H,W] x", "",
     "y = DepthToSpace <blocksize = 2> (x)\n"
     "z = SpaceToDepth <blocksize = 2> (y)",
     "y float[N,floor(C/4),2*H,2*W]; z float[N,4*floor(C/4),H,W]"},
    {13, "float[1,3,H,W] x", "float[4] k = {1, 1, 2, 1.5}", "y = Resize(x, , k)",
     "y float[1,3,2*H,W+floor(W/2)]"},
    {13, "float[1,3,H,W] x", "float[4] k = {1, 1, 0.1, 0.5}", "y = Resize(x, , k)",
     "y float[1,3,?,floor(W/2)]"},
    {13, "float[1,3,H,W] x", "int64[2] p = {2, 3}, int64[2] k = {2, 2}, int64[2] c = {1, 3}",
     SHAPE "q = Gather(s, p)\n m = Mul(q, k)\n t = Concat <axis = 0> (c, m)\n"
           "y = Resize(x, , , t)",
     "y float[1,3,2*H,2*W]"},
    /* pieces */
    {13, "float[N,H] x", "int64[1] a = {1}, int64[1] b = {9223372036854775807}, int64[1] i = {1}",
     "y = Slice(x, a, b, i)", "y float[N,H-min(H,1)]"},
    {13, "float[N,H] x", "int64[1] a = {0}, int64[1] b = {-1}, int64[1] i = {1}",
     "y = Slice(x, a, b, i)", "y float[N,max(H-1,0)]"},
    {13, "float[N,H] x",
     "int64[1] a = {0}, int64[1] b = {2147483647}, int64[1] i = {1}, int64[1] k = {2}",
     "y = Slice(x, a, b, i, k)", "y float[N,floor((H+1)/2)]"},
    {13, "float[N,H] x",
     "int64[1] a = {-1}, int64[1] b = {-9223372036854775808}, int64[1] i = {1}, int64[1] k = {-1}",
     "y = Slice(x, a, b, i, k)", "y float[N,H]"},
    {13, "float[N,H] x", "int64[1] a = {-1}, int64[1] b = {0}, int64[1] i = {1}, int64[1] k = {-2}",
     "y = Slice(x, a, b, i, k)", "y float[N,floor((H+min(H-1,0))/2)-min(H-1,0)]"},
    {13, "float[N,512] x, float[S] k", "int64[1] a = {0}, int64[1] i = {1}",
     "b = Shape(k)\n y = Slice(x, a, b, i)", "y float[N,min(S,512)]"},
    {13, "float[N,H] x, float[S] k", "int64[1] i = {1}, int64[1] e = {-1}",
     "b = Shape(k)\n m = Mul(b, e)\n z = Sub(e, e)\n y = Slice(x, z, m, i)", "y float[N,?]"},
    {13, "float[N,H] x, float[S] k", "int64[1] i = {1}, int64[1] e = {-1}",
     "b = Shape(k)\n l = Mul(b, e)\n m = Add(l, e)\n z = Sub(e, e)\n y = Slice(x, z, m, i)",
     "y float[N,max(H-S-1,0)]"},
    {13, "float[N,H] x", "int64[1] a = {0}, int64[1] b = {-9223372036854775808}, int64[1] i = {1}",
     "y = Slice(x, a, b, i)", "y float[N,0]"},
    {13, "float[N,H] x", "", "y, z = Split <axis = 1> (x)",
     "y float[N,floor(H/2)]; z float[N,floor(H/2)]"},
    {18, "float[N,H] x", "", "y, z = Split <axis = 1, num_outputs = 2> (x)",
     "y float[N,floor((H+1)/2)]; z float[N,H-floor((H+1)/2)]"},
    {13, "float[N,H] x, float[S] k", "int64[1] i = {1}",
     SHAPE "h = Gather(s, i)\n a = Shape(k)\n r = Sub(h, a)\n l = Concat <axis = 0> (a, r)\n"
           "y, z = Split <axis = 1> (x, l)",
     "y float[N,S]; z float[N,H-S]"},
    {13, "float[N,H] x", "int64[4] p = {0, 1, 0, 2}", "y = Pad(x, p)", "y float[N,H+3]"},
    {13, "float[N,H] x, float[A,B] k", "int64[2] z = {0, 0}",
     "b = Shape(k)\n p = Concat <axis = 0> (z, b)\n y = Pad(x, p)", "y float[A+N,B+H]"},
    {13, "float[N,H] x, float[A,B] k", "", "b = Shape(k)\n y = Tile(x, b)", "y float[A*N,B*H]"},
    {13, "float[N,H] x, float[M,H] k", "", "y = Concat <axis = 0> (x, k, x)", "y float[M+2*N,H]"},
    {13, "float[N,H] x", "int64[2] i = {-1, 0}", SHAPE "k = GatherElements(s, i)\n" SHOW("k"),
     "y float[H,N]"},
    {13, "float[N,H] x, int64[2] i", "", SHAPE "k = GatherElements(s, i)\n" SHOW("k"),
     "y float[?,?]"},
    /* ranges */
    {13, "float[N,H] x", "int64 a = {3}, int64 k = {2}, int64 i = {0}",
     SHAPE "n = Gather(s, i)\n y = Range(a, n, k)", "y int64[max(floor(N/2)-1,0)]"},
    {13, "float[N,H] x", "int64 a = {0}, int64 k = {-1}, int64 i = {0}",
     SHAPE "n = Gather(s, i)\n y = Range(n, a, k)", "y int64[N]"},
    {13, "float[N,H] x, float[P] p", "int64 i = {1}, int64 o = {1}, int64 e = {0}",
     SHAPE "n = Gather(s, i)\n q = Shape(p)\n r = Squeeze(q)\n t = Add(r, n)\n y = Range(r, t, o)",
     "y int64[H]"},
    /* Reshape */
    {13, "float[N,S,768] x", "int64[4] z = {0, 0, 12, 64}", "y = Reshape(x, z)",
     "y float[N,S,12,64]"},
    {13, "float[N,S,768] x", "int64[2] z = {-1, 768}", "y = Reshape(x, z)", "y float[N*S,768]"},
    {13, "float[N,S,768] x", "int64[2] z = {-1, 768}, int64[1] h = {768}",
     SHAPE "f = Reshape(x, z)\n a, b, c = Split(s)\n t = Concat <axis = 0> (a, b, h)\n"
           "y = Reshape(f, t)",
     "y float[N,S,768]"},
    {13, "float[N,S,768] x", "int64[1] z = {-1}, int64[1] h = {12}",
     SHAPE "a, b, c = Split(s)\n t = Concat <axis = 0> (b, a, h, z)\n y = Reshape(x, t)",
     "y float[S,N,12,64]"},
    {13, "float[N,S] x, float[M] k", "int64[1] z = {-1}",
     "m = Shape(k)\n t = Concat <axis = 0> (m, z)\n y = Reshape(x, t)", "y float[?,?]"},
    {14, "float[N,S] x, float[M] k", "int64[1] z = {-1}",
     "m = Shape(k)\n t = Concat <axis = 0> (m, z)\n y = Reshape <allowzero = 1> (x, t)",
     "y float[M,floor(N*S/M)]"},
    {13, "float[N,S] x, int64[1] k", "", "y = Reshape(x, k)", "y float[N*S]"},
    {13, "float[N,S] x, int64[1] k", "int64[1] n = {5}",
     "t = Concat <axis = 0> (n, k)\n y = Reshape(x, t)", "y float[5,floor(N*S/5)]"},
    {13, "float[N,H] x", "int64[2] o = {-1, -2}", SHAPE "t = Add(s, o)\n y = Reshape(x, t)",
     "y float[?,?]"},
    {13, "float[2,H] x", "int64[2] z = {4, -1}", "y = Reshape(x, z)", "y float[4,floor(H/2)]"},
    /* broadcasting */
    {13, "float[N,1] a, float[1,M] b", "", "y = Add(a, b)", "y float[N,M]"},
    {13, "float[N,4] x, float[N,4] k", "",
     "t = Concat <axis = 0> (x, k)\n u = Concat <axis = 0> (k, x)\n"
     "y = Add(t, u)",
     "y float[2*N,4]"},
    {13, "float[N,4] x, float[1,4] k", "",
     "t = Concat <axis = 0> (x, k)\n u = Concat <axis = 0> (k, x)\n"
     "y = Mul(t, u)\n z = MatMul(t, k)",
     "y float[N+1,4]; z -"},
    {13, "float[N] x", "int64[2] t = {1, 1}",
     SHAPE "m = Max(s, t)\n e = Expand(x, m)\n"
           "y = ConstantOfShape(m)",
     "y float[max(N,1),max(N,1)]"},
    {13, "float[N,512] x, float[S] k", "int64[1] a = {0}, int64[1] i = {1}",
     "b = Shape(k)\n t = Slice(x, a, b, i)\n y = Add(t, k)\n z = Add(k, t)",
     "y float[N,S]; z float[N,S]"},
    /* elements */
    {13, "float[N,2,H,W] x",
     "int64[4] z = {0, 0, 0, 0}, int64[1] a = {-1}, int64[1] e = {-9223372036854775807},"
     "int64[1] i = {0}, int64[2] m = {-1, 2}, int64[4] p = {1, 2, 3, 4}, int64[1] f = {-1}",
     "c = Concat <axis = 0> (p, z)\n r = Reshape(c, m)\n s = Slice(r, a, e, i, a)\n"
     "t = Transpose <perm = [1, 0]> (s)\n v = Reshape(t, f)\n w = Cast <to = 7> (v)\n y = Pad(x, "
     "w)",
     "y float[N,2,H+7,W+3]"},
    {13, "float[N,3] x", "int64[2,2] p = {1, 2, 3, 4}, int64[2] i = {1, 0}, int64[1] f = {-1}",
     "g = Gather <axis = 1> (p, i)\n k = Concat <axis = 1> (g, p)\n a, b = Split <axis = 1> (k)\n"
     "u = Concat <axis = 0> (b, a)\n r = Reshape(u, f)\n" SHOW("r"),
     "y float[1,2,3,4,2,1,4,3]"},
    {13, "float[N,3] x, int64[2] o", "int64[2,1] p = {1, 2}, int64[1] f = {-1}, int64[1] q = {1}",
     "g = Unsqueeze(o, q)\n k = Concat <axis = 1> (g, p)\n r = Reshape(k, f)\n" SHOW("r"),
     "y float[?,1,?,2]"},
    {13, "float[N,H] x", "int64[2] k = {2, 3}",
     SHAPE "a = Div(s, k)\n b = Mod(s, k)\n"
           "d = Add(a, b)\n c = Add(d, s)\n" SHOW("c"),
     "y float[2*N-floor(N/2),2*H-2*floor(H/3)]"},
    {13, "float[N,H] x", "int64[2] k = {-2, 3}", SHAPE "a = Div(s, k)\n m = Max(a, k)\n" SHOW("m"),
     "y float[?,max(floor(H/3),3)]"},
    {13, "float[N,H] x", "int64[1] z = {0}", SHAPE "p = ReduceProd <keepdims = 1> (s)\n" SHOW("p"),
     "y float[H*N]"},
    {13, "float[N,H] x", "int64[1] z = {0}",
     SHAPE "p = ReduceSum <keepdims = 0> (s)\n"
           "q = Unsqueeze(p, z)\n" SHOW("q"),
     "y float[H+N]"},
    {13, "float[N,H] x", "",
     SHAPE "p = ReduceMax <keepdims = 1> (s)\n q = ReduceMin <keepdims = 1> (s)\n"
           "r = Concat <axis = 0> (p, q)\n" SHOW("r"),
     "y float[max(H,N),min(H,N)]"},
    {14, "float[N,H,4] x", "int64 a = {0}",
     SHAPE "p = CumSum(s, a)\n q = CumSum <reverse = 1, exclusive = 1> (s, a)\n"
           "r = Concat <axis = 0> (p, q)\n" SHOW("r"),
     "y float[N,H+N,H+N+4,H+4,4,0]"},
    {13, "float[N,H] x", "", SHAPE "n = Neg(s)\n a = Abs(n)\n" SHOW("a"), "y float[N,H]"},
    {13, "float[N,H] x", "int64[2] k = {-1, 5}",
     SHAPE
     "c = Greater(s, k)\n e = Equal(s, s)\n"
     "a = And(c, e)\n o = Or(c, e)\n n = Not(e)\n x1 = Xor(o, n)\n w = Where(x1, s, k)\n" SHOW("w"),
     "y float[N,H]"},
    {13, "float[N,H] x", "int64[2] k = {-1, 5}",
     SHAPE "c = Less(s, k)\n w = Where(c, k, s)\n" SHOW("w"), "y float[N,?]"},
    {13, "float[N,H] x", "int64[2] o = {1, 1}",
     SHAPE
     "t = Add(s, o)\n c = GreaterOrEqual(t, o)\n"
     "e = LessOrEqual(t, s)\n w = Where(c, t, s)\n v = Where(e, t, s)\n z = Mul(w, v)\n" SHOW("z"),
     "y float[N*N+N,H*H+H]"},
    {13, "float[N,H,3] x", "int64[1] i = {-1}, int64[1] u = {7}, int64[1,1] j = {0}",
     SHAPE "a = ScatterElements(s, i, u)\n b = ScatterND(a, j, u)\n" SHOW("b"), "y float[7,H,7]"},
    {13, "float[N,H,3] x", "int64[3] i = {1, 0, 2}, int64[3] z = {1, 0, 5}",
     "q = NonZero(z)\n y = Neg(q)\n" SHAPE "t = Transpose(q)\n r = Squeeze(q)\n g = Gather(s, r)\n"
     "u = ConstantOfShape(g)",
     "y int64[1,2]; t int64[2,1]; u float[N,3]"},
    {13, "float[N,H] x", "int64[2,2] p = {1, 2, 3, 4}, int64[1] m = {-1}",
     "t = Transpose(p)\n r = Reshape(t, m)\n" SHOW("r"), "y float[1,3,2,4]"},
    {13, "float[N,H] x", "int64[2,1] p = {1, 2}, int64[1] m = {-1}",
     SHAPE "t = Mul(p, s)\n r = Reshape(t, m)\n" SHOW("r"), "y float[N,H,2*N,2*H]"},
    {13, "float[N,H] x", "int64[2,1] p = {1, 2}, int64[1] a = {1}",
     SHAPE "t = Mul(p, s)\n r = ReduceSum <keepdims = 0> (t, a)\n" SHOW("r"),
     "y float[H+N,2*H+2*N]"},
    {13, "float[N,H] x, float[A,B] z", "int64 i = {0}, int64[1] q = {0}",
     SHAPE "t = Shape(z)\n n = Gather(s, i)\n c = Equal(n, n)\n"
           "p = If (c) <then_branch = a () => (int64 u) { u = Identity(s) },\n"
           "else_branch = b () => (int64 v) { v = Identity(t) }>\n" SHOW("p"),
     "y float[N,H]"},
    {13, "float[N,H] x, bool c", "int64[2] k = {1, 2}",
     SHAPE "p = If (c) <then_branch = a () => (int64 u) { u = Identity(s) },\n"
           "else_branch = b () => (int64 v) { w = Add(s, k)\n v = Sub(w, k) }>\n" SHOW("p"),
     "y float[N,H]"},
    /* through floats */
    {13, "float[N,H] x", "double[1] k = {0.5}",
     SHAPE "f = Cast <to = 11> (s)\n g = Mul(f, k)\n"
           "a = Floor(g)\n b = Ceil(g)\n i = Cast <to = 7> (a)\n j = Cast <to = 7> (b)\n"
           "l = Cast <to = 7> (g)\n o = Concat <axis = 0> (i, j, l)\n" SHOW("o"),
     "y float[floor(N/2),floor(H/2),floor((N+1)/2),floor((H+1)/2),floor(N/2),floor(H/2)]"},
    {13, "float[N,H] x", "double[2] k = {0.75, 4}, double[1] one = {1.5}",
     SHAPE
     "f = Cast <to = 11> (s)\n g = Div(f, k)\n h = Mul(f, k)\n m = Add(h, one)\n t = Sub(m, one)\n"
     "a = Floor(m)\n b = Floor(t)\n c = Floor(g)\n i = Cast <to = 7> (a)\n j = Cast <to = 7> (b)\n"
     "l = Cast <to = 7> (c)\n o = Concat <axis = 0> (i, j, l)\n" SHOW("o"),
     "y float[floor((3*N+2)/4)+1,4*H+1,floor(3*N/4),4*H,?,floor(H/4)]"},
    {13, "float[N,H] x", "float[1] k = {0.5}",
     SHAPE "f = Cast <to = 1> (s)\n g = Mul(f, k)\n"
           "a = Floor(g)\n i = Cast <to = 7> (a)\n" SHOW("i"),
     "y float[?,?]"},
    {13, "float[N,H] x", "double[1] k = {-0.5}",
     SHAPE "f = Cast <to = 11> (s)\n g = Mul(f, k)\n"
           "i = Cast <to = 7> (g)\n n = Neg(i)\n" SHOW("n"),
     "y float[?,?]"},
    {14, "float[N,L,1] x", "", "y = Identity(x)", "y float[N,L,1]"},
    {17, "float[N,L,1] x", "", "y = DFT <onesided = 1> (x)", "y float[N,floor(L/2)+1,2]"},
    {11, "float[N,K] x, float[K2] k", "", "b = Shape(k)\n y, z = TopK(x, b)",
     "y float[N,K2]; z int64[N,K2]"},
};
const unsigned infer_symbolic_count = sizeof infer_symbolic / sizeof infer_symbolic[0];
