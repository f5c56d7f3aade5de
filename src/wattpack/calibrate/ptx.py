"""The kernel of the load that needs nothing but the driver, as PTX text that the driver compiles for its GPU.

Every thread computes for a given time and then ends; it touches no memory but one word per block, in which it leaves
the number of its multiprocessor. On GPUs with tensor cores that have the instruction (compute capability 8.0 and
above) it multiplies matrices of half precision in registers, else it multiplies and adds single numbers.
"""

from __future__ import annotations

ENTRY = "spin"
TENSOR_CAPABILITY = 80
PIECES = 64  # instructions between two looks at the clock
CHAINS = 4  # independent results, so that an instruction does not wait for the one before

_TEMPLATE = """.version {version}
.target sm_{target}
.address_size 64

.visible .entry spin(
    .param .u64 multiprocessors, .param .u64 nanoseconds, .param .u64 most_rounds)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<10>;
    .reg .f32 %f<24>;
    ld.param.u64 %rd1, [multiprocessors];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [nanoseconds];
    ld.param.u64 %rd3, [most_rounds];
    mov.u64 %rd4, %globaltimer;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 40503, %r1;
{start}
again:
{body}
    mov.u64 %rd5, %globaltimer;
    sub.u64 %rd6, %rd5, %rd4;
    sub.u64 %rd3, %rd3, 1;
    setp.lt.u64 %p1, %rd6, %rd2;
    setp.ne.u64 %p2, %rd3, 0;
    and.pred %p1, %p1, %p2;
    @%p1 bra again;
{sum}
    mov.u32 %r4, %smid;
    setp.eq.u32 %p1, %r1, 0;
    setp.eq.f32 %p3, %f0, 0f7F7FFFFF;
    or.pred %p1, %p1, %p3;
    mul.wide.u32 %rd7, %r2, 4;
    add.u64 %rd8, %rd1, %rd7;
    @%p1 st.global.u32 [%rd8], %r4;
    ret;
}}
"""


def kernel(capability: int) -> str:
    """PTX for a GPU of this compute capability, e.g. 90. The sums are stored in theory, so that nothing is dropped."""
    tensor = capability >= TENSOR_CAPABILITY
    results = 4 * CHAINS if tensor else 16
    total = "\n".join(f"    add.f32 %f0, %f0, %f{i};" for i in range(1, results))
    return _TEMPLATE.format(
        version="7.0" if tensor else "6.0",
        target=TENSOR_CAPABILITY if tensor else 50,
        start=_tensor_start() if tensor else _plain_start(),
        body=_tensor_body() if tensor else _plain_body(),
        sum=total,
    )


def _tensor_start() -> str:
    """Registers 5 to 10 hold two halves each, from 0.5 to 1, different in every thread; the sums start at 0."""
    lines = []
    for i in range(5, 11):
        lines += [
            f"    mad.lo.u32 %r3, %r3, 1664525, {1013904223 + i};",
            f"    and.b32 %r{i}, %r3, 0x03FF03FF;",
            f"    or.b32 %r{i}, %r{i}, 0x38003800;",
        ]
    lines += [f"    mov.f32 %f{i}, 0f00000000;" for i in range(4 * CHAINS)]
    return "\n".join(lines)


def _tensor_body() -> str:
    lines = []
    for piece in range(PIECES):
        first = 4 * (piece % CHAINS)
        sums = ", ".join(f"%f{first + i}" for i in range(4))
        lines.append(
            "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            f"{{{sums}}}, {{%r5, %r6, %r7, %r8}}, {{%r9, %r10}}, {{{sums}}};"
        )
    return "\n".join(lines)


def _plain_start() -> str:
    lines = ["    cvt.rn.f32.u32 %f16, %r3;", "    mov.f32 %f17, 0f3F7FBE77;", "    mov.f32 %f18, 0f3F000000;"]
    lines += [f"    add.f32 %f{i}, %f16, {float_bits(i)};" for i in range(16)]
    return "\n".join(lines)


def _plain_body() -> str:
    return "\n".join(f"    fma.rn.f32 %f{i % 16}, %f{i % 16}, %f17, %f18;" for i in range(4 * PIECES))


def float_bits(value: float) -> str:
    """A single-precision number as PTX writes it."""
    import struct

    return "0f" + struct.pack(">f", value).hex().upper()
