// Independent pieces of work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace mlaindex {

inline unsigned num_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// Calls work(0) to work(count - 1), each once, from as many threads as the machine has cores.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < num_cores(); ++i)
    threads.emplace_back([&] {
      for (std::size_t item = next++; item < count; item = next++) work(item);
    });
  for (std::thread& thread : threads) thread.join();
}

// Ends the line that says what a long test did: " on 16 threads in 210 s".
class Stopwatch {
 public:
  std::string text() const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    const auto seconds = static_cast<long>(elapsed.count() + 0.5);
    return " on " + std::to_string(num_cores()) + " threads in " + std::to_string(seconds) + " s";
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace mlaindex
