// Reads memory once from end to end, as fast as the GPU can, and adds up its 32-bit words: nothing can be
// left out, and the sum shows that nothing was. Any number of CTAs of 512 threads.
extern "C" __global__ void __launch_bounds__(512)
    mlaindex_read_memory(const uint4* data, unsigned long long num_vectors, unsigned* sum) {
  constexpr int loads_in_flight = 8;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long at = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned total = 0;
  const auto add = [&](const uint4& vector) { total += vector.x + vector.y + vector.z + vector.w; };
  for (; at + (loads_in_flight - 1) * step < num_vectors; at += loads_in_flight * step) {
    uint4 vectors[loads_in_flight];
#pragma unroll
    for (int i = 0; i < loads_in_flight; ++i) vectors[i] = __ldcs(data + at + i * step);
#pragma unroll
    for (int i = 0; i < loads_in_flight; ++i) add(vectors[i]);
  }
  for (; at < num_vectors; at += step) add(__ldcs(data + at));

  // One addition in global memory a CTA: all of them go to the same word.
  __shared__ unsigned cta_total;
  if (threadIdx.x == 0) cta_total = 0;
  __syncthreads();
  total = __reduce_add_sync(0xffffffff, total);
  if (threadIdx.x % 32 == 0) atomicAdd(&cta_total, total);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, cta_total);
}
