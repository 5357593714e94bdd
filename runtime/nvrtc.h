// libnvrtc, opened at run time. No CUDA header: the few declarations needed are here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "generator/arch.h"
#include "generator/base/result.h"
#include "runtime/config.h"
#include "runtime/dynamic_library.h"

namespace mlaindex {

// The part of NVRTC's C interface that is used; all of it exists since 11.2. Results are nvrtcResult:
// 0 is success.
struct NvrtcFunctions {
  using Program = struct NvrtcProgram*;
  int (*version)(int* major, int* minor);
  const char* (*error_string)(int result);
  int (*num_supported_archs)(int* count);
  int (*supported_archs)(int* archs);  // 90, 100, ...
  int (*create_program)(Program* program, const char* source, const char* name, int num_headers,
                        const char* const* headers, const char* const* include_names);
  int (*destroy_program)(Program* program);
  int (*compile_program)(Program program, int num_options, const char* const* options);
  int (*program_log_size)(Program program, std::size_t* bytes);  // with the NUL
  int (*program_log)(Program program, char* log);
  int (*ptx_size)(Program program, std::size_t* bytes);  // with the NUL
  int (*ptx)(Program program, char* ptx);
  int (*cubin_size)(Program program, std::size_t* bytes);
  int (*cubin)(Program program, char* cubin);
};

class Nvrtc {
 public:
  // config.nvrtc_path and nothing else when set; otherwise each major version, newest first, is looked
  // for where the loader looks (a program of the build tree has the build's NVRTC on its rpath),
  // beside this library (., nvrtc, ../nvrtc), and in the toolkit's folders. Error: no_nvrtc with every
  // place tried.
  static Result<Nvrtc> open(const Config& config);

  // ok, or no_nvrtc with the version that is there, the one that is needed and what to install.
  Status check_arch(Arch arch) const;

  int major() const noexcept { return major_; }
  int minor() const noexcept { return minor_; }
  bool is_at_least(int major, int minor) const noexcept;
  const std::string& path() const noexcept { return library_.path(); }

  // "nvrtc 13.0 65be0db3...": version and build, wherever the library lies.
  const std::string& identity() const noexcept { return identity_; }
  const std::vector<int>& supported_archs() const noexcept { return supported_archs_; }  // 90, 100, ...
  const NvrtcFunctions& functions() const noexcept { return functions_; }

 private:
  explicit Nvrtc(DynamicLibrary library) : library_(std::move(library)) {}
  static Result<Nvrtc> load(const std::string& name);

  DynamicLibrary library_;
  NvrtcFunctions functions_{};
  int major_ = 0;
  int minor_ = 0;
  std::string identity_;
  std::vector<int> supported_archs_;
};

}  // namespace mlaindex
