#include "runtime/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generator/base/digest.h"
#include "runtime/file.h"

namespace mlaindex {
namespace {

namespace fs = std::filesystem;

// sm_90a needs 12.0 and a new major may change the interface: tried, newest first.
constexpr std::array<const char*, 2> sonames{"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::string_view install_hint =
    "install NVRTC 12.8 or newer (pip install nvidia-cuda-nvrtc, or a CUDA toolkit), or set "
    "MLAINDEX_JIT_NVRTC to the path of libnvrtc.so";

std::string version_text(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

// The folder of the program or library that contains this function.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::weakly_canonical(info.dli_fname, ignored).parent_path();
}

std::vector<fs::path> search_folders(const Config& config) {
  std::vector<fs::path> folders;
  if (const fs::path own = own_folder(); !own.empty()) {
    for (const char* beside : {".", "nvrtc", "../nvrtc"}) folders.push_back((own / beside).lexically_normal());
  }
  for (const fs::path& toolkit : config.toolkit_dirs) {
    folders.push_back(toolkit / "lib64");
    folders.push_back(toolkit / "targets/x86_64-linux/lib");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  folders.emplace_back("/usr/local/cuda/targets/x86_64-linux/lib");
  return folders;
}

template <class Function>
bool bind(const DynamicLibrary& library, const char* name, Function*& target) {
  target = library.function<Function>(name);
  return target != nullptr;
}

// The name of the first missing function, or nullptr.
const char* bind_all(const DynamicLibrary& library, NvrtcFunctions& f) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto*& target) {
    if (missing == nullptr && !bind(library, name, target)) missing = name;
  };
  need("nvrtcVersion", f.version);
  need("nvrtcGetErrorString", f.error_string);
  need("nvrtcGetNumSupportedArchs", f.num_supported_archs);
  need("nvrtcGetSupportedArchs", f.supported_archs);
  need("nvrtcCreateProgram", f.create_program);
  need("nvrtcDestroyProgram", f.destroy_program);
  need("nvrtcCompileProgram", f.compile_program);
  need("nvrtcGetProgramLogSize", f.program_log_size);
  need("nvrtcGetProgramLog", f.program_log);
  need("nvrtcGetPTXSize", f.ptx_size);
  need("nvrtcGetPTX", f.ptx);
  need("nvrtcGetCUBINSize", f.cubin_size);
  need("nvrtcGetCUBIN", f.cubin);
  return missing;
}

// Two builds of one version may generate different code. The build-id note tells them apart in no
// time; a library without one is told by its contents.
std::string build_of(const DynamicLibrary& library) {
  if (std::string id = library.build_id(); !id.empty()) return id;
  constexpr std::size_t any_library = std::size_t{1} << 30;
  const auto contents = FileSystem().read(library.path(), any_library);
  if (!contents || !*contents) return "unknown build";
  return hex(digest_of(**contents));
}

}  // namespace

Result<Nvrtc> Nvrtc::load(const std::string& name) {
  Result<DynamicLibrary> library = DynamicLibrary::open(name);
  if (!library) return Error{ErrorCode::no_nvrtc, library.error().message, std::string(install_hint)};
  Nvrtc nvrtc(std::move(library).value());
  const auto unusable = [&](std::string why) {
    return Error{ErrorCode::no_nvrtc, nvrtc.path() + " is not a usable NVRTC: " + std::move(why),
                 std::string(install_hint)};
  };
  NvrtcFunctions& f = nvrtc.functions_;
  if (const char* missing = bind_all(nvrtc.library_, f)) return unusable(std::string("it has no ") + missing);
  if (int result = f.version(&nvrtc.major_, &nvrtc.minor_); result != 0)
    return unusable(std::string("nvrtcVersion: ") + f.error_string(result));

  // NVRTC opens its builtins by file name, and the loader looks for that in its own folders only. Once
  // opened from beside NVRTC they are found by name wherever the two lie.
  const fs::path builtins = fs::path(nvrtc.path()).parent_path() /
                            ("libnvrtc-builtins.so." + version_text(nvrtc.major_, nvrtc.minor_));
  if (std::error_code ignored; fs::exists(builtins, ignored)) {
    if (Result<DynamicLibrary> opened = DynamicLibrary::open(builtins.string()); !opened)
      return unusable(opened.error().message);
  }

  int count = 0;
  if (int result = f.num_supported_archs(&count); result != 0 || count < 0)
    return unusable(std::string("nvrtcGetNumSupportedArchs: ") + f.error_string(result));
  nvrtc.supported_archs_.resize(static_cast<std::size_t>(count));
  if (int result = f.supported_archs(nvrtc.supported_archs_.data()); result != 0)
    return unusable(std::string("nvrtcGetSupportedArchs: ") + f.error_string(result));

  nvrtc.identity_ = "nvrtc " + version_text(nvrtc.major_, nvrtc.minor_) + " " + build_of(nvrtc.library_);
  return nvrtc;
}

Result<Nvrtc> Nvrtc::open(const Config& config) {
  if (!config.nvrtc_path.empty()) {
    Result<Nvrtc> nvrtc = load(config.nvrtc_path);
    if (nvrtc) return nvrtc;
    Error error = nvrtc.error();
    error.message = "MLAINDEX_JIT_NVRTC='" + config.nvrtc_path + "' cannot be used: " + error.message;
    return error;
  }

  const std::vector<fs::path> folders = search_folders(config);
  std::string unusable;  // found, but broken: worth more words than what is not there
  for (const char* soname : sonames) {
    std::vector<std::string> candidates{soname};
    std::error_code ignored;
    for (const fs::path& folder : folders) {
      if (fs::exists(folder / soname, ignored)) candidates.push_back((folder / soname).string());
    }
    for (const std::string& candidate : candidates) {
      Result<Nvrtc> nvrtc = load(candidate);
      if (nvrtc) return nvrtc;
      if (candidate != soname) unusable += "; " + nvrtc.error().message;
    }
  }
  std::string message = "no libnvrtc was found: tried libnvrtc.so.13 and libnvrtc.so.12 where the loader looks";
  for (const fs::path& folder : folders) message += ", " + folder.string();
  return Error{ErrorCode::no_nvrtc, message + unusable, std::string(install_hint)};
}

bool Nvrtc::is_at_least(int major, int minor) const noexcept {
  return std::pair(major_, minor_) >= std::pair(major, minor);
}

Status Nvrtc::check_arch(Arch arch) const {
  const ArchLimits& limits = arch_limits(arch);
  const bool known = std::ranges::find(supported_archs_, limits.sm_number) != supported_archs_.end();
  if (known && is_at_least(limits.min_nvrtc_major, limits.min_nvrtc_minor)) return {};
  return Error{ErrorCode::no_nvrtc,
               "NVRTC " + version_text(major_, minor_) + " (" + path() + ") cannot compile for " +
                   std::string(arch_name(arch)) + ", which needs NVRTC " +
                   version_text(limits.min_nvrtc_major, limits.min_nvrtc_minor) + " or newer",
               std::string(install_hint)};
}

}  // namespace mlaindex
