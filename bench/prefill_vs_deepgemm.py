#!/usr/bin/env python3
"""Prefill on one Hopper GPU, side by side with DeepGEMM's fp8_mqa_logits: same process, same inputs,
rounds alternating, warm L2, causal, depth 128, f32 scores, no clean pass.

    prefill_vs_deepgemm.py [--mlaindex PATH] [--shapes S,K,H[,B] ...] [--rounds 5] [--samples 9] [--fill] [--fold bf16]
                           [--plans NAME ...] [--cublas] [--overlap]

S tokens in all against K keys in all, H heads, of B requests (1) whose lengths are in the ratio 1 : 2 : ... : B.
A sample is the replay of a CUDA graph of ten launches between two events, so that no launch waits for the host; a
round is the median of its samples, a figure the median of its rounds. The last line is the geometric mean of the
ratios. DeepGEMM has kernels for 32 and 64 heads: below, q and
weights are padded to 32 for it, before the clock starts. --fill times our kernel with -inf in the
hidden slots as well. --fold bf16 takes our kernels whose head sum rounds to bf16. --plans times several plans; the
ratio is that of the fastest, without it that of the plan that the shipped table routes to. --cublas times cuBLAS' FP8
matrix product of 8192 x 8192 x 8192 (torch._scaled_mm, bf16 result) after the rounds of each shape, as the tensor core's
roof: in the same rounds it would leave our kernel, which comes next, the clocks of a GPU at its power limit. --overlap lets
launches of both start while the ones before them end (programmatic dependent launch).

Needs torch with CUDA and the deep_gemm package (its wheel, sgl-deep-gemm); without deep_gemm only our
times are printed. Our kernel is what `mlaindex compile --emit cubin` gives, launched as
generator/kernel_arguments.h says. Both results are checked against each other before timing.
"""
import argparse
import statistics
import struct

import torch

from gpu import Kernel, aligned, alternating_medians, as_graph, microseconds, peer, tensor_map

SHAPES = [
    "1024,8192,32", "1024,8192,64", "2048,8192,64", "2048,65536,64", "2048,65536,32", "8192,8192,64", "8192,65536,64",
    "8192,65536,32", "4096,131072,64", "2048,8192,16", "2048,8192,8"
]
DEPTH = 128
LAUNCHES = 10  # in a graph


def offsets_of(total, requests):
    """[requests + 1]: where requests begin whose lengths are in the ratio 1 : 2 : ... : requests."""
    parts = requests * (requests + 1) // 2
    return [total * (i * (i + 1) // 2) // parts for i in range(requests + 1)]


def ours(mlaindex, plan, query_offsets, key_offsets, heads, q, q_scale, k, k_scale, fold, overlap, fill="none"):
    """A call that launches our kernel and gives its scores. plan: None for the routed one."""
    tokens, keys, requests = query_offsets[-1], key_offsets[-1], len(query_offsets) - 1
    options = [
        "--arch", "sm_90a", "--heads", str(heads), "--depth", str(DEPTH), "--mask", "ragged_causal", "--fold", fold,
        f"--fill={fill}"
    ]
    if plan:
        options += ["--plan", plan]
    kernel = Kernel(mlaindex, options, ["--tokens", str(tokens), "--keys", str(keys), "--requests", str(requests)])
    padded_heads = max(4, 1 << (heads - 1).bit_length())
    scores = torch.empty(tokens, keys, device="cuda")
    offsets = [torch.tensor(n, dtype=torch.int32, device="cuda") for n in (query_offsets, key_offsets)]
    arguments = struct.pack(
        "<QQQQQqqiiiiIHH", q_scale.data_ptr(), k_scale.data_ptr(), scores.data_ptr(), offsets[0].data_ptr(),
        offsets[1].data_ptr(), heads, keys, tokens, keys, keys, requests,
        *(kernel.launch[name] for name in ("unit_share", "in_sequence", "log2_pieces")))
    launch = kernel.bind(
        tensor_map(q.data_ptr(), [DEPTH, 2, tokens, heads // 2], [DEPTH, heads * DEPTH, 2 * DEPTH],
                   [DEPTH, 2, 2 if padded_heads > 64 else 4, padded_heads // 2]),
        tensor_map(k.data_ptr(), [DEPTH, keys], [DEPTH], [DEPTH, kernel.launch["tile_keys"]]), aligned(bytes(128)),
        aligned(arguments), overlap=overlap)

    def call():
        launch()
        return scores

    call.keeps = offsets
    call.plan = kernel.plan
    return call


def padded(q, q_scale):
    """At least 32 heads, the others of zero weight."""
    tokens, heads, depth = q.shape
    if heads >= 32:
        return q, q_scale
    wide = torch.zeros(tokens, 32, depth, dtype=torch.uint8, device="cuda")
    wide[:, :heads] = q.view(torch.uint8)
    weights = torch.zeros(tokens, 32, device="cuda")
    weights[:, :heads] = q_scale
    return wide.view(torch.float8_e4m3fn), weights


def visible_ranges(query_offsets, key_offsets):
    """Of every token: token j of n sees the first m - (n - 1 - j) of its request's m keys."""
    start, end = [], []
    for request in range(len(query_offsets) - 1):
        length = query_offsets[request + 1] - query_offsets[request]
        later = torch.arange(length - 1, -1, -1, dtype=torch.int32, device="cuda")
        start.append(torch.full_like(later, key_offsets[request]))
        end.append((key_offsets[request + 1] - later).clamp(min=key_offsets[request]))
    return torch.cat(start), torch.cat(end)


def graph_timer(call):
    """A function that gives the microseconds of one of LAUNCHES calls in a graph, which has run once."""
    replay = as_graph(call, LAUNCHES)
    replay()
    return lambda: microseconds(replay, 1) / LAUNCHES


def cublas_rate(rounds, samples, size=8192):
    """TFLOP/s of cuBLAS' FP8 matrix product of random e4m3 data."""
    a, b = (torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    timer = graph_timer(lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16))
    times = alternating_medians({"cublas": timer}, rounds, samples)["cublas"]
    return 2 * size**3 / statistics.median(times) / 1e6


def compare(arguments, deep_gemm, tokens, keys, heads, requests=1):
    """Prints a line; returns DeepGEMM's time over ours, or None."""
    q = torch.randn(tokens, heads, DEPTH, device="cuda").to(torch.float8_e4m3fn)
    k = torch.randn(keys, DEPTH, device="cuda").to(torch.float8_e4m3fn)
    q_scale = torch.randn(tokens, heads, device="cuda")
    k_scale = torch.rand(keys, device="cuda") + 0.5
    offsets = offsets_of(tokens, requests), offsets_of(keys, requests)
    start, end = visible_ranges(*offsets)
    inputs = (*offsets, heads, q, q_scale, k, k_scale, arguments.fold, arguments.overlap)
    calls = {}
    for plan in arguments.plans or [None]:
        call = ours(arguments.mlaindex, plan, *inputs)
        calls[call.plan] = call
    our_plans = list(calls)
    if arguments.fill:
        calls["filled"] = ours(arguments.mlaindex, our_plans[0], *inputs, "-inf")
    if deep_gemm:
        wide_q, weights = padded(q, q_scale)
        calls["deepgemm"] = lambda: deep_gemm.fp8_mqa_logits(wide_q, (k, k_scale), weights, start, end, False)
        column = torch.arange(keys, device="cuda")[None]
        visible = (column >= start[:, None]) & (column < end[:, None])
        theirs = calls["deepgemm"]()[visible]
        for plan in our_plans:
            difference = float((calls[plan]()[visible] - theirs).norm() / theirs.norm())
            if not difference < (1e-4 if arguments.fold == "f32" else 1e-2):
                raise SystemExit(f"{plan} and deepgemm disagree: relative difference {difference}")
        del theirs, visible, column
    times = alternating_medians({name: graph_timer(call) for name, call in calls.items()}, arguments.rounds, arguments.samples)
    medians = {name: statistics.median(values) for name, values in times.items()}
    operations = 2 * DEPTH * heads * int((end - start).long().sum())
    text = f"S={tokens:<5} K={keys:<6} H={heads:<3} B={requests:<2}"
    for plan in our_plans:
        text += f" {plan} {medians[plan]:8.1f} us {operations / medians[plan] / 1e6:6.0f} TFLOP/s "
    if arguments.fill:
        text += f" filled {medians['filled'] / medians[our_plans[0]]:.3f}x "
    if arguments.cublas:
        roof = cublas_rate(arguments.rounds, arguments.samples)
        best = min(medians[plan] for plan in our_plans)
        text += f" cublas {roof:.0f} TFLOP/s, ours {operations / best / 1e6 / roof:.3f} of it "
    ratio = None
    if deep_gemm:
        best = min(our_plans, key=medians.get)
        ratio = medians["deepgemm"] / medians[best]
        worst = min(d / o for d, o in zip(times["deepgemm"], times[best]))
        text += f" deepgemm {medians['deepgemm']:8.1f} us  ratio {ratio:.3f} (worst round {worst:.3f})"
    print(text, flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mlaindex", default="build/mlaindex")
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--plans", nargs="+", help="plans to time (default: the routed one)")
    parser.add_argument("--cublas", action="store_true")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--fold", choices=("f32", "bf16"), default="f32")
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    deep_gemm = peer(arguments.overlap)
    ratios = []
    for shape in arguments.shapes:
        ratio = compare(arguments, deep_gemm, *map(int, shape.split(",")))
        if ratio:
            ratios.append(ratio)
    if ratios:
        print(f"geometric mean of the ratios {statistics.geometric_mean(ratios):.3f}, lowest {min(ratios):.3f}")


if __name__ == "__main__":
    main()
