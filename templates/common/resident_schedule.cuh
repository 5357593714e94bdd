// Shares of a launch for CTAs that keep keys, a tile of RESIDENT_KEYS keys at a time.
//
// What is shared out are units: a token block against a piece of a tile, which is the whole tile where there are blocks
// enough, else a half or a subtile. How many a CTA takes and how large a piece is, the host decides from sizes alone
// (generator/resident_schedule.h), so that nothing has to be read or counted before keys and queries are asked for: the
// tokens of one request, of which later ones see more where the mask is causal, are shared out evenly; other batches are
// scored all the same, but less evenly.
//
// Units of the last tokens come first. Either the units of a tile go round among its own CTAs forth and back, so that
// each gets long and short ones; or each CTA takes a run of the sequence of all tiles' units, wherever it begins and ends.
#pragma once
#include "common/resident_keys.cuh"
#include "common/token_block.cuh"

// One token block against some of the keys of a tile, in subtiles of TILE_KEYS.
struct Work {
  int first_token;
  int first_tile;  // subtile
  int num_tiles;   // 0: there is no more work
  int loads;       // how often the CTA has loaded keys before those of this work
};

__device__ __forceinline__ int count_key_tiles(const ScoreArguments& args) {
  return static_cast<int>((args.num_keys + (RESIDENT_KEYS - 1u)) / RESIDENT_KEYS);
}

// Subtiles of a piece.
__device__ __forceinline__ int piece_tiles(const ScoreArguments& args) { return RESIDENT_TILES >> args.log2_pieces; }

#if MASK_CAUSAL
// The units of a tile of which some token sees a key, in a batch of one request.
__device__ __forceinline__ u32 count_seen_units(int tile, u32 num_blocks, const ScoreArguments& args) {
  u32 units = 0;
#pragma unroll 1
  for (int subtile = 0; subtile < RESIDENT_TILES; subtile += piece_tiles(args)) {
    // As many of the last tokens see the piece's first key.
    const int tokens = min(args.num_tokens, args.num_keys - tile * RESIDENT_KEYS - subtile * TILE_KEYS);
    if (tokens <= 0) break;
    units += num_blocks - static_cast<u32>(args.num_tokens - tokens) / TOKENS_PER_BLOCK;
  }
  return units;
}
#endif

// CTAs for so many units, at least one.
__device__ __forceinline__ u32 count_parts(u32 units, const ScoreArguments& args) {
  return 1 + static_cast<u32>((units - static_cast<u64>(units > 0)) * args.unit_share >> 31);
}

// A warp's way through the share of its CTA, on which each lane, or a few together, look at one unit.
//
// Units of the first piece come before those of the next: where few tokens see a piece, the units that see none are
// together, and no CTA gets more of them than others.
struct ShareWalk {
  int tile;
  u32 part;      // of the tile's CTAs; in sequence: the first unit of the CTA's run
  u32 parts;     // how many these are; in sequence: units from there on, of this tile and others
  u32 first;     // of the units looked at: the share's first ones of the tile are 0, 1, ...
  u32 block;     // of the lane's unit
  u32 subtiles;  // that it sees, one if none: 8 times the first one, and their number
  u32 owners;    // lanes whose units see keys, one for each
};

__device__ __forceinline__ u32 count_units(const ScoreArguments& args) { return count_blocks(args) << args.log2_pieces; }

// The CTA's share: every CTA has one, of at least a unit. By a whole warp.
__device__ __forceinline__ ShareWalk find_share(const ScoreArguments& args) {
  const u32 cta = blockIdx.x;
  ShareWalk walk;
  walk.first = 0;
  if (args.in_sequence) {
    const u32 first_unit = cta * args.unit_share;
    walk.tile = first_unit / count_units(args);
    walk.part = first_unit % count_units(args);
    walk.parts = args.unit_share;
    return walk;
  }
#if MASK_CAUSAL
  const int num_tiles = count_key_tiles(args);
  if (num_tiles <= 32) {
    // A lane a tile.
    const int lane = lane_index();
    const u32 parts = lane < num_tiles ? count_parts(count_seen_units(lane, count_blocks(args), args), args) : 0;
    const u32 reached = sum_up_to_lane(parts);
    walk.tile = __ffs(__ballot_sync(0xffffffff, reached > cta)) - 1;
    walk.parts = __shfl_sync(0xffffffff, parts, walk.tile);
    walk.part = cta + walk.parts - __shfl_sync(0xffffffff, reached, walk.tile);
    return walk;
  }
#endif
  walk.parts = count_parts(count_units(args), args);
  walk.tile = cta / walk.parts;
  walk.part = cta % walk.parts;
  return walk;
}

// Of a tile: unit 0 is the last block against the first piece.
struct Unit {
  u32 block;     // num_blocks: past the last unit
  int first_key;  // of the piece
};

__device__ __forceinline__ Unit unit_at(u32 index, int tile, const ScoreArguments& args) {
  u32 num_blocks = count_blocks(args);
  asm volatile("" : "+r"(num_blocks));  // else its multiples stay in registers for the next look, and spill
  const u32 piece = (index >= num_blocks) + (index >= 2 * num_blocks) + (index >= 3 * num_blocks);
  const u32 block = index < num_blocks << args.log2_pieces ? num_blocks - 1 - (index - piece * num_blocks) : num_blocks;
  return {block, static_cast<int>(tile * RESIDENT_KEYS + piece * piece_tiles(args) * TILE_KEYS)};
}

// The one that the CTA begins with.
__device__ __forceinline__ Unit first_unit(const ShareWalk& walk, const ScoreArguments& args) {
  return unit_at(walk.part, walk.tile, args);
}

// Looks at the units from walk.first on, by a whole warp. first_request: see block_keys().
__device__ __forceinline__ void look_at_units(ShareWalk& walk, const ScoreArguments& args, const Request* first_request = nullptr) {
  const u32 i = walk.first + lane_index() / LANES_OF_BLOCK;
  u32 index = i * walk.parts + (i % 2 == 0 ? walk.part : walk.parts - 1 - walk.part);
  if (args.in_sequence) index = i < walk.parts ? walk.part + i : 0xffffffff;
  const Unit unit = unit_at(index, walk.tile, args);
  walk.block = unit.block;
  const BlockKeys keys = block_keys(walk.block, args, first_request);
  const int begin = max(keys.begin - unit.first_key, 0);  // in the piece
  const int end = min(keys.end - unit.first_key, piece_tiles(args) * TILE_KEYS);
  const bool seen = begin < end;
  const u32 first_subtile = static_cast<u32>(unit.first_key + (seen ? begin : 0)) / TILE_KEYS;
  const u32 last_subtile = static_cast<u32>(unit.first_key + (seen ? end - 1 : 0)) / TILE_KEYS;
  walk.subtiles = 7 * first_subtile + last_subtile + 1;
  walk.owners = __ballot_sync(0xffffffff, seen && lane_index() % LANES_OF_BLOCK == 0);
}

// The unit of a lane, by a whole warp.
__device__ __forceinline__ Work work_of_lane(const ShareWalk& walk, int lane, int loads) {
  const int first_token = __shfl_sync(0xffffffff, walk.block, lane) * TOKENS_PER_BLOCK;
  const int subtiles = __shfl_sync(0xffffffff, walk.subtiles, lane);
  return {first_token, subtiles / 8, subtiles % 8, loads};
}

// Starts on the way and gives the first unit, by a whole warp. It has a subtile even if it sees no key: its queries and
// keys are asked for before anything is known but sizes.
__device__ __forceinline__ Work start_walk(ShareWalk& walk, const Request& first_request, const ScoreArguments& args) {
  look_at_units(walk, args, &first_request);
  walk.owners &= ~1u;
  return work_of_lane(walk, 0, 0);
}

// Calls hand_on(work, first of its tile) for every unit behind the first one, if it sees keys of its tile, by a whole
// warp. Returns how often keys have to be loaded.
template <typename HandOn>
__device__ __forceinline__ int walk_share(ShareWalk& walk, const ScoreArguments& args, HandOn hand_on) {
  int loads = 0;  // before this tile's
  bool first_of_tile = false;
#pragma unroll 1
  while (true) {
#pragma unroll 1
    for (; walk.owners != 0; walk.owners &= walk.owners - 1) {
      hand_on(work_of_lane(walk, __ffs(walk.owners) - 1, loads), first_of_tile);
      first_of_tile = false;
    }
    walk.first += WARP_BLOCKS;
    const u32 num_units = count_units(args);
    if (!args.in_sequence) {
      if (walk.first * walk.parts >= num_units) return loads + !first_of_tile;
    } else if (walk.first >= min(walk.parts, num_units - walk.part)) {
      const u32 taken = num_units - walk.part;
      if (walk.parts <= taken) return loads + !first_of_tile;
      if (++walk.tile >= count_key_tiles(args)) return loads + !first_of_tile;
      walk.parts -= taken;
      walk.part = 0;
      walk.first = 0;
      loads += !first_of_tile;
      first_of_tile = true;
    }
    look_at_units(walk, args);
  }
}
