#!/usr/bin/env python3
"""Issue slots that the hot loop of an sm_100a kernel spends on a relu element, counted in its machine code.

    mlaindex compile --arch sm_100a --heads 64 --emit cubin -o kernel.cubin
    nvdisasm -c kernel.cubin | python3 bench/issue_slots.py

nvdisasm comes with the CUDA toolkit. The hot loop is the one that spends the largest part on the packed
multiply-adds of the head sum (FFMA2, two elements each) or, of a bf16 fold, on relu (F2FP.RELU, two as well).
Counted is the shortest way through it of those with the most of them, NOPs and predicated instructions included:
what a warp issues for a tile whose keys are all visible, when no barrier makes it wait. A plan that branches around
its stores is counted without them.
"""

import collections
import re
import sys

LABEL = re.compile(r"^(\.L\S*):$")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
BRANCH = re.compile(r"\bBRA\b.*`\((\.L\w+)\)")
FOLDS = ("FFMA2", "F2FP.RELU")
LEAVES = re.compile(r"^(BRA|EXIT|RET|BRX|JMP)\b(?!\.U !?UP)")  # without a predicate: what follows is not reached


def read(lines):
    """The instructions in order, and the index that each label stands for."""
    instructions, labels = [], {}
    for line in lines:
        if match := LABEL.match(line.strip()):
            labels[match[1]] = len(instructions)
        elif match := INSTRUCTION.match(line):
            instructions.append(match[1])
    return instructions, labels


def opcode(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0]


def name(instruction):
    code = opcode(instruction)
    return "F2FP.RELU" if code.startswith("F2FP.RELU") else code.split(".")[0]


def successors(instructions, labels, index):
    target = BRANCH.search(instructions[index])
    if target and target[1] in labels:
        yield labels[target[1]]
    if not LEAVES.match(instructions[index]):
        yield index + 1


def way_through(instructions, labels, first, last):
    """Indices on the way from first to last, forwards, that folds the most and has the fewest instructions."""
    best = {first: (0, 0, None)}  # minus the multiply-adds up to here, instructions up to here, the one before
    for index in range(first, last):
        if index not in best:
            continue
        folds, steps, _ = best[index]
        reached = (folds - (name(instructions[index]) in FOLDS), steps + 1, index)
        for following in successors(instructions, labels, index):
            if index < following <= last and (following not in best or reached[:2] < best[following][:2]):
                best[following] = reached
    way, index = [], last if last in best else None
    while index is not None:
        way.append(index)
        index = best[index][2]
    return way[::-1]


def elements(counts):
    return 2 * sum(counts[fold] for fold in FOLDS)


def hot_loop(instructions, labels):
    """Opcodes on the way through the loop that spends the largest part of it on multiply-adds."""
    best = collections.Counter()
    for last, instruction in enumerate(instructions):
        target = BRANCH.search(instruction)
        first = labels.get(target[1]) if target else None
        if first is None or first > last:
            continue
        way = way_through(instructions, labels, first, last)
        counts = collections.Counter(name(instructions[i]) for i in way)
        share = elements(counts) / max(1, counts.total())
        if elements(counts) >= 32 and share > elements(best) / max(1, best.total()):
            best = counts
    return best


def main():
    source = open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin
    counts = hot_loop(*read(source))
    if not counts:
        sys.exit("no loop that folds: is this what 'nvdisasm -c' prints of a q_resident kernel for sm_100a?")
    total = counts.total()
    print(f"{total} instructions for {elements(counts)} elements: {total / elements(counts):.3f} issue slots an element")
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))


if __name__ == "__main__":
    main()
