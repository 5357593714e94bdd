#!/usr/bin/env python3
"""Writes the case files of the hardware test with PyTorch, so that they do not come from the
library's own code. Needs torch and safetensors; no GPU.

    make_cases.py FOLDER [--seed N]

Data:   exact       small integers, on which every arch is exact: |sum of products| < 2^13 for any
                    part of a dot product, |score| < 2^24, k_scale a power of two
        exact_bf16  exact also where relu, weights and sums are rounded to bf16: few elements of q are not zero,
                    so that the weighted dot products of a score are at most 256 together
        full_range  every finite e4m3 byte alike
        normal      quantised normal values
        nan         normal, with a NaN in q, k, q_scale and k_scale
Masks:  full, ragged_causal, ragged, ranges (empty rows, ends past the keys, starts that are no
        multiple of 4), one_key, one_token

--paged writes keys in pages instead, of 16 to 256 keys in random order, with NaN in every byte and -1 in
every table entry that no token may look at. Masks: context (1 to 8 tokens a request), context_rows,
ragged, ragged_causal; lengths of 0, below 0, past the table, and whole pages among them.
"""
import argparse
import pathlib

import torch
from safetensors.torch import save_file

HEADS = (1, 4, 8, 12, 16, 32, 64, 128)
DEPTHS = (32, 64, 128)
TOKENS, KEYS = 70, 700  # neither is a multiple of a block or a tile


def e4m3_bytes(shape, generator):
    """Every byte but the two NaNs, as float8_e4m3fn."""
    data = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    data[(data & 0x7F) == 0x7F] = 0
    return data.view(torch.float8_e4m3fn)


def integers(shape, limit, generator):
    return torch.randint(-limit, limit + 1, shape, generator=generator).float()


def make_data(kind, tokens, keys, heads, depth, generator):
    if kind == "exact":
        powers = torch.randint(-3, 4, (keys,), generator=generator).float()
        signs = 2 * torch.randint(0, 2, (keys,), generator=generator).float() - 1
        return {
            "q": integers((tokens, heads, depth), 7, generator).to(torch.float8_e4m3fn),
            "q_scale": integers((tokens, heads), 3, generator),
            "k": integers((keys, depth), 7, generator).to(torch.float8_e4m3fn),
            "k_scale": torch.exp2(powers) * signs,
        }
    if kind == "exact_bf16":
        elements = max(1, min(depth, 128 // heads))  # times 2 of k and all heads: 256
        q = torch.zeros(tokens, heads, depth)
        at = torch.randint(0, depth, (tokens, heads, elements), generator=generator)
        q.scatter_(2, at, 2 * torch.randint(0, 2, at.shape, generator=generator).float() - 1)
        return {
            "q": q.to(torch.float8_e4m3fn),
            "q_scale": integers((tokens, heads), 1, generator) * torch.exp2(integers((tokens, 1), 3, generator)),
            "k": integers((keys, depth), 2, generator).to(torch.float8_e4m3fn),
            "k_scale": torch.exp2(integers((keys,), 3, generator)) * (2 * torch.randint(0, 2, (keys,), generator=generator) - 1),
        }
    data = {
        "q_scale": torch.randn(tokens, heads, generator=generator),
        "k_scale": torch.randn(keys, generator=generator),
    }
    if kind == "full_range":
        data["q"] = e4m3_bytes((tokens, heads, depth), generator)
        data["k"] = e4m3_bytes((keys, depth), generator)
        return data
    for name, shape in (("q", (tokens, heads, depth)), ("k", (keys, depth))):
        values = 60 * torch.randn(*shape, generator=generator)
        data[name] = values.clamp(-448, 448).to(torch.float8_e4m3fn)
    if kind == "nan":
        data["q"].view(torch.uint8)[tokens // 2, heads // 2, depth - 1] = 0x7F
        data["k"].view(torch.uint8)[keys // 3, 0] = 0xFF
        data["q_scale"][tokens // 4, 0] = float("nan")
        data["k_scale"][keys - 1] = float("nan")
    return data


def int32(values):
    return torch.tensor(values, dtype=torch.int32)


def make_mask(mask, tokens, keys, generator):
    """The tensors and the metadata of a mask."""
    if mask.startswith("ragged"):
        # One request is empty, one has more queries than keys, and the last tokens have no request.
        queries = int32([0, 3, 3, 20, 41, tokens - 2])
        key_offsets = int32([0, 131, 131, 142, 399, keys])
        causal = "true" if mask == "ragged_causal" else "false"
        return {"query_offsets": queries, "key_offsets": key_offsets}, {"causal": causal}
    if mask == "ranges":
        start = torch.randint(-5, keys, (tokens,), generator=generator)
        length = torch.randint(-20, keys, (tokens,), generator=generator)
        end = start + length
        start[1], end[1] = 5, 5
        start[2], end[2] = 1, 2**31 - 1
        start[3], end[3] = -(2**31), 6
        start[4], end[4] = keys - 1, keys
        start[8:24], end[8:24] = 0, 0  # a whole block of empty rows
        return {"row_start": start.to(torch.int32), "row_end": end.to(torch.int32)}, {}
    return {}, {}


def paged_case(kind, mask, heads, depth, page, next_n, separate, generator):
    """Tensors and metadata of a batch of requests with keys in pages."""
    width = 5 if page >= 128 else 700 // page
    room = width * page
    lens = [0, 1, page, room, room - 3, room // 3, -4, room + 77]
    requests = len(lens)
    held = [min(max(n, 0), room) for n in lens]
    tokens = requests * next_n if mask.startswith("context") else 75
    data = make_data(kind, tokens, sum(held), heads, depth, generator)
    keys, scales = data.pop("k").view(torch.uint8), data.pop("k_scale")

    used = sum((n + page - 1) // page for n in held)
    pool_size = used + 2
    stride = page * depth + (0 if separate else 4 * page) + 16 * int(torch.randint(0, 3, (1,), generator=generator))
    pool = torch.full((pool_size, stride), 0xFF, dtype=torch.uint8)
    table = torch.full((requests, width), -1, dtype=torch.int32)
    scale_pool = torch.full((pool_size, 4 * page), 0xFF, dtype=torch.uint8)
    scale_table = torch.full((requests, width), -1, dtype=torch.int32)
    order = torch.randperm(pool_size, generator=generator)
    scale_order = torch.randperm(pool_size, generator=generator)
    taken = key = 0
    for request, length in enumerate(held):
        for begin in range(0, length, page):
            rows = min(page, length - begin)
            at, scale_at = int(order[taken]), int(scale_order[taken])
            table[request, begin // page], scale_table[request, begin // page] = at, scale_at
            pool[at, :rows * depth] = keys[key:key + rows].reshape(-1)
            scale_bytes = scales[key:key + rows].contiguous().view(torch.uint8)
            if separate:
                scale_pool[scale_at, :4 * rows] = scale_bytes
            else:
                pool[at, page * depth:page * depth + 4 * rows] = scale_bytes
            taken, key = taken + 1, key + rows

    data.update({"kv_pages": pool, "block_table": table, "context_lens": int32(lens)})
    metadata = {"page_size": str(page)}
    if separate:
        data.update({"k_scale_pages": scale_pool.view(torch.float32), "k_scale_table": scale_table})
    if mask == "context_rows":
        ends = [n if n <= 0 else n - int(torch.randint(0, min(n, room) + 3, (1,), generator=generator)) for n in lens for _ in range(next_n)]
        data["context_lens"] = int32(ends).view(requests, next_n)
    if mask.startswith("ragged"):
        data["query_offsets"] = int32([0, 3, 3, 20, 41, 42, 60, 70, tokens - 2])
        metadata["causal"] = "true" if mask == "ragged_causal" else "false"
    return data, metadata


def write_paged_cases(folder, generator):
    cases = []
    for heads in HEADS:
        for page in (16, 32, 64, 128, 256):
            for i, mask in enumerate(("context", "context_rows", "ragged", "ragged_causal")):
                turn = len(cases)
                depth = DEPTHS[turn % 3] if heads != 64 else 128
                next_n = 1 + turn % 8 if mask.startswith("context") else 1
                for kind in ("exact", "full_range"):
                    cases.append((heads, depth, page, mask, next_n, (turn + i) % 2 == 1, kind))
    for heads, depth, page, mask, next_n, separate, kind in cases:
        tensors, metadata = paged_case(kind, mask, heads, depth, page, next_n, separate, generator)
        metadata["exact"] = "true" if kind == "exact" else "false"
        name = f"heads{heads:03}_depth{depth:03}_page{page:03}_{mask}_n{next_n}_{'own' if separate else 'fused'}_{kind}.safetensors"
        save_file({key: value.contiguous() for key, value in tensors.items()}, folder / name, metadata=metadata)
    return len(cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paged", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(arguments.seed)
    if arguments.paged:
        print(f"{write_paged_cases(arguments.folder, generator)} cases in {arguments.folder}")
        return

    cases = [
        (heads, depth, mask, kind)
        for heads in HEADS
        for depth in DEPTHS
        for mask in ("full", "ragged_causal", "ranges", "one_key", "one_token")
        for kind in ("exact", "full_range", "normal")
    ]
    cases += [(heads, depth, mask, "exact_bf16") for heads in HEADS for depth in DEPTHS for mask in ("full", "ranges")]
    cases += [(heads, depth, "ragged", kind) for heads, depth in ((4, 64), (32, 128), (64, 128)) for kind in ("exact", "normal")]
    cases += [(heads, 128, mask, "nan") for heads in (12, 64) for mask in ("full", "ranges", "ragged_causal")]
    for heads, depth, mask, kind in cases:
        tokens = 1 if mask == "one_token" else TOKENS
        keys = 1 if mask == "one_key" else KEYS
        tensors, metadata = make_mask(mask, tokens, keys, generator)
        tensors.update(make_data(kind, tokens, keys, heads, depth, generator))
        metadata["exact"] = "true" if kind.startswith("exact") else "false"
        metadata["exact_bf16"] = "true" if kind == "exact_bf16" else "false"
        name = f"heads{heads:03}_depth{depth:03}_{mask}_{kind}.safetensors"
        save_file({key: value.contiguous() for key, value in tensors.items()}, arguments.folder / name, metadata=metadata)
    print(f"{len(cases)} cases in {arguments.folder}")


if __name__ == "__main__":
    main()
