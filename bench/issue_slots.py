#!/usr/bin/env python3
"""Issue slots that the hot loop of an sm_100a kernel spends on a relu element, counted in its machine code.

    mlaindex compile --arch sm_100a --heads 64 --emit cubin -o kernel.cubin
    nvdisasm -c kernel.cubin | python3 bench/issue_slots.py

nvdisasm comes with the CUDA toolkit. The hot loop is the one that spends the largest part on the packed
multiply-adds of the head sum (FFMA2, two elements each). Counted is the shortest way through it, NOPs and
predicated instructions included: what a warp issues for a tile whose keys are all visible, when no barrier
makes it wait. A plan that branches around its stores is counted without them.
"""

import collections
import heapq
import re
import sys

LABEL = re.compile(r"^(\.L\S*):$")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
BRANCH = re.compile(r"\bBRA\b.*`\((\.L\w+)\)")
LEAVES = re.compile(r"^(BRA|EXIT|RET|BRX|JMP)\b")  # without a predicate: what follows is not reached


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


def successors(instructions, labels, index):
    target = BRANCH.search(instructions[index])
    if target and target[1] in labels:
        yield labels[target[1]]
    if not LEAVES.match(instructions[index]):
        yield index + 1


def shortest_way(instructions, labels, first, last):
    """Indices of the fewest instructions from first to last, inside that range."""
    before = {first: None}
    length = {first: 1}
    queue = [(1, first)]
    while queue:
        steps, index = heapq.heappop(queue)
        if index == last:
            break
        for following in successors(instructions, labels, index):
            if first <= following <= last and steps + 1 < length.get(following, sys.maxsize):
                length[following], before[following] = steps + 1, index
                heapq.heappush(queue, (steps + 1, following))
    way, index = [], last
    while index is not None:
        way.append(index)
        index = before.get(index)
    return way[::-1]


def elements(counts):
    return 2 * counts["FFMA2"]


def hot_loop(instructions, labels):
    """Opcodes on the shortest way through the loop that spends the largest part of it on multiply-adds."""
    best = collections.Counter()
    for last, instruction in enumerate(instructions):
        target = BRANCH.search(instruction)
        first = labels.get(target[1]) if target else None
        if first is None or first > last:
            continue
        way = shortest_way(instructions, labels, first, last)
        counts = collections.Counter(opcode(instructions[i]).split(".")[0] for i in way)
        share = elements(counts) / counts.total()
        if elements(counts) >= 32 and share > elements(best) / max(1, best.total()):
            best = counts
    return best


def main():
    source = open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin
    counts = hot_loop(*read(source))
    if not counts:
        sys.exit("no loop with FFMA2: is this what 'nvdisasm -c' prints of a q_resident kernel for sm_100a?")
    total = counts.total()
    print(f"{total} instructions for {elements(counts)} elements: {total / elements(counts):.3f} issue slots an element")
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))


if __name__ == "__main__":
    main()
