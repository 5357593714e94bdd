#!/usr/bin/env python3
"""Paged decode on one Hopper GPU, side by side with DeepGEMM's fp8_paged_mqa_logits: same process, same
inputs, rounds alternating, fused pages of 64 keys in random order, depth 128, f32 scores.

    decode_vs_deepgemm.py [--mlaindex PATH] [--shapes B,N,H,CONTEXT ...] [--rounds 5] [--samples 9] [--cold] [--overlap]

N is next_n. Contexts are CONTEXT for a batch of one, else uniform from 0.7 to 1.3 of it. Launches are
replayed from CUDA graphs of 20, so the host's cost does not count; L2 is warm where the keys fit it. With --cold
every launch of a graph reads another copy of the keys, as every layer of a model does, so that they do not.
"deepgemm" is its scoring kernel alone, with its schedule given; "deepgemm+schedule" also launches what computes
the schedule, as a step must whose lengths changed: once a step, for all layers. Ours has no such launch. --overlap lets launches
of both start while the ones before them end (programmatic dependent launch). GB/s counts keys, scales and scores once. The
share of the copy rate is that of a read of 4 GiB in the same run.

Needs torch with CUDA and the deep_gemm package (its wheel, sgl-deep-gemm); without deep_gemm, or where
it has no kernel (N above 2), only our times are printed. Both results are checked against each other.
"""
import argparse
import itertools
import statistics
import struct

import torch

from gpu import F32, Kernel, aligned, alternating_medians, as_graph, microseconds, peer, tensor_map

SHAPES = [
    "1,1,64,8192", "1,1,64,65536", "1,1,64,131072", "16,1,64,8192", "64,1,64,8192", "64,2,64,8192", "64,1,64,65536",
    "64,2,64,65536", "256,1,64,8192", "256,2,64,32768", "256,1,32,32768", "256,1,64,65536", "64,3,64,65536", "64,4,64,65536",
    "64,6,64,65536", "64,8,64,65536"
]
DEPTH, PAGE = 128, 64
PAGE_BYTES = PAGE * (DEPTH + 4)
LAUNCHES = 20
COLD_BYTES = 400 << 20  # several times L2
NUM_SMS = torch.cuda.get_device_properties(0).multi_processor_count


def ours(mlaindex, plan, next_n, heads, q, q_scale, pages, table, lens, width, overlap):
    options = ["--arch", "sm_90a", "--heads", str(heads), "--depth", str(DEPTH), "--layout", "paged", "--page-size",
               str(PAGE), "--mask", "context"]
    if plan:
        options += ["--plan", plan]
    tokens, batch = q.shape[0], table.shape[0]
    kernel = Kernel(mlaindex, options, ["--tokens", str(tokens), "--keys", str(table.shape[1] * PAGE), "--requests", str(batch)])
    scores = torch.empty(tokens, width, device="cuda")
    arguments = struct.pack("<QQQQQqqiiiiii", q_scale.data_ptr(), 0, scores.data_ptr(), 0, lens.data_ptr(), heads, width,
                            tokens, table.shape[1] * PAGE, width, batch, 0, 0)
    arguments += struct.pack("<QQqqiiii", table.data_ptr(), table.data_ptr(), table.stride(0), table.stride(0),
                             pages.shape[0], pages.shape[0], next_n, table.shape[1] * PAGE)
    padded_heads = max(8, 1 << (heads - 1).bit_length())
    columns = kernel.launch["mma_n"]
    launch = kernel.bind(
        tensor_map(q.data_ptr(), [DEPTH, heads, tokens], [DEPTH, heads * DEPTH], [DEPTH, padded_heads, columns // padded_heads]),
        tensor_map(pages.data_ptr(), [DEPTH, PAGE, pages.shape[0]], [DEPTH, PAGE_BYTES], [DEPTH, PAGE, 1]),
        tensor_map(pages.data_ptr() + PAGE * DEPTH, [PAGE, pages.shape[0]], [PAGE_BYTES], [PAGE, 1], F32, 0),
        aligned(arguments), overlap=overlap)

    def call():
        launch()
        return scores

    call.plan = kernel.plan
    return call


def in_turn(calls):
    """A call that makes the next of `calls`."""
    order = itertools.cycle(calls)
    return lambda: next(order)()


def read_rate():
    """Bytes a second of a read of 4 GiB."""
    data = torch.zeros(1 << 30, dtype=torch.float32, device="cuda")
    times = [microseconds(lambda: data.max(), 5) for _ in range(5)]
    return data.numel() * 4 / statistics.median(times) * 1e6


def compare(arguments, deep_gemm, rate, batch, next_n, heads, context):
    """Prints a line; returns DeepGEMM's times over ours: alone, with its schedule; none where it has no kernel."""
    low, high = (context, context) if batch == 1 else (int(0.7 * context), int(1.3 * context))
    lens = torch.randint(low, high + 1, (batch,), dtype=torch.int32)
    width = (int(lens.max()) + PAGE - 1) // PAGE
    used = (lens + PAGE - 1) // PAGE
    order = torch.randperm(int(used.sum()), dtype=torch.int32)
    table = torch.zeros(batch, width, dtype=torch.int32)
    taken = 0
    for row, count in enumerate(used.tolist()):
        table[row, :count] = order[taken:taken + count]
        taken += count
    pages = torch.empty(taken, 1, PAGE_BYTES, dtype=torch.uint8, device="cuda")
    for begin in range(0, taken, 8192):
        part = pages[begin:begin + 8192, 0]
        part[:, :PAGE * DEPTH] = torch.randn(part.shape[0], PAGE * DEPTH, device="cuda").to(torch.float8_e4m3fn).view(torch.uint8)
        part[:, PAGE * DEPTH:] = (torch.rand(part.shape[0], PAGE, device="cuda") + 0.5).view(torch.uint8)
    q = torch.randn(batch * next_n, heads, DEPTH, device="cuda").to(torch.float8_e4m3fn)
    q_scale = torch.randn(batch * next_n, heads, device="cuda")
    table, device_lens = table.cuda(), lens.cuda()
    columns = (int(lens.max()) + 255) // 256 * 256
    plans = [""] if not arguments.plans else arguments.plans
    copies = [pages]
    if arguments.cold:
        copies += [pages.clone() for _ in range(min(LAUNCHES, COLD_BYTES // pages.nbytes) - 1)]
    calls = {}
    for plan in plans:
        of_copies = [ours(arguments.mlaindex, plan, next_n, heads, q, q_scale, copy, table, device_lens, columns, arguments.overlap) for copy in copies]
        calls[of_copies[0].plan] = in_turn(of_copies)
    if deep_gemm and next_n <= 2:
        lens_2d = device_lens[:, None].expand(batch, next_n).contiguous()
        schedule = deep_gemm.get_paged_mqa_logits_metadata(lens_2d, PAGE, NUM_SMS)
        caches = [copy.view(taken, PAGE, 1, DEPTH + 4) for copy in copies]
        wide_q = q.view(batch, next_n, heads, DEPTH)

        def theirs_on(cache, new_schedule):
            def call():
                made = deep_gemm.get_paged_mqa_logits_metadata(lens_2d, PAGE, NUM_SMS) if new_schedule else schedule
                return deep_gemm.fp8_paged_mqa_logits(wide_q, cache, q_scale, lens_2d, table, made, columns, False)

            return call

        calls["deepgemm"] = in_turn([theirs_on(cache, False) for cache in caches])
        calls["deepgemm+schedule"] = in_turn([theirs_on(cache, True) for cache in caches])
        last = torch.arange(next_n)[None] - next_n + 1 + lens[:, None]
        visible = torch.arange(columns, device="cuda")[None] < last.reshape(-1, 1).cuda()
        theirs = calls["deepgemm"]()[visible]
        for name, call in calls.items():
            difference = float((call()[visible] - theirs).norm() / theirs.norm())
            if not difference < 1e-4:
                raise SystemExit(f"{name} and deepgemm disagree: relative difference {difference}")
        del theirs, visible
    graphs = {name: as_graph(call, LAUNCHES) for name, call in calls.items()}
    timers = {name: lambda graph=graph: microseconds(graph, 1) / LAUNCHES for name, graph in graphs.items()}
    for timer in timers.values():
        timer()
    times = alternating_medians(timers, arguments.rounds, arguments.samples)
    medians = {name: statistics.median(values) for name, values in times.items()}
    keys = int(lens.long().sum())
    moved = keys * (DEPTH + 4) + 4 * keys * next_n
    text = f"B={batch:<4} N={next_n} H={heads:<3} context {context:<6}"
    for name, time in medians.items():
        text += f"  {name} {time:7.2f} us {moved / time / 1e3:5.0f} GB/s ({moved / time * 1e6 / rate:.2f})"
    best = min(time for name, time in medians.items() if not name.startswith("deepgemm"))
    ratios = [time / best for name, time in medians.items() if name.startswith("deepgemm")]
    print(text + "".join(f"  ratio {ratio:.3f}" for ratio in ratios), flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mlaindex", default="build/mlaindex")
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--plans", nargs="+", help="plans to time; the ratio is that of the fastest (default: the default plan)")
    parser.add_argument("--cold", action="store_true", help="keys that are not in L2")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=9)
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    deep_gemm = peer(arguments.overlap)
    rate = read_rate()
    print(f"read rate {rate / 1e9:.0f} GB/s")
    ratios = []
    for shape in arguments.shapes:
        of_shape = compare(arguments, deep_gemm, rate, *map(int, shape.split(",")))
        if of_shape:
            ratios.append(of_shape)
    for name, column in zip(["alone", "with its schedule"], zip(*ratios)):
        print(f"DeepGEMM {name}: geometric mean of the ratios {statistics.geometric_mean(column):.3f}, lowest {min(column):.3f}")


if __name__ == "__main__":
    main()
