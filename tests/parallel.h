// Independent pieces of work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace mlaindex {

// Calls work(0) to work(count - 1), each once, from as many threads as the machine has cores.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (std::size_t item = next++; item < count; item = next++) work(item);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mlaindex
