// A shared library opened at run time.
#pragma once

#include <memory>
#include <string>

#include "generator/base/result.h"

namespace mlaindex {

// Shares the handle when copied. The code stays mapped after the last copy is gone (compilers and
// drivers keep threads and exit handlers), so function pointers stay valid.
class DynamicLibrary {
 public:
  // `name` is a path, or a file name for the loader to search. Error: invalid_file with the loader's
  // own words; callers add what it means to them.
  static Result<DynamicLibrary> open(const std::string& name);

  // nullptr when the library does not export it.
  void* symbol(const char* name) const noexcept;

  template <class Function>
  Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(symbol(name));
  }

  // Where the loader found it, as it spells it; for messages.
  const std::string& path() const noexcept { return path_; }

  // The GNU build-id note in hex: identifies the build wherever the file lies. Empty without one.
  std::string build_id() const;

 private:
  DynamicLibrary() = default;
  std::shared_ptr<void> handle_;
  std::string path_;
};

}  // namespace mlaindex
