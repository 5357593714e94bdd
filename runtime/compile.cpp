#include "runtime/compile.h"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/nvrtc.h"

namespace mlaindex {
namespace {

// One compilation; releases NVRTC's program on the way out.
class Program {
 public:
  explicit Program(const NvrtcFunctions& functions) : functions_(functions) {}
  ~Program() {
    if (handle_ != nullptr) (void)functions_.destroy_program(&handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int create(const std::string& name, const std::string& source) {
    return functions_.create_program(&handle_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }

  int compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return functions_.compile_program(handle_, static_cast<int>(pointers.size()), pointers.data());
  }

  // What was said so far, without trailing blank lines. Empty when NVRTC cannot tell.
  std::string log() const {
    std::string text;
    if (fetch(functions_.program_log_size, functions_.program_log, text) != 0) return {};
    strip_nul(text);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }

  int ptx(std::string& text) const {
    const int result = fetch(functions_.ptx_size, functions_.ptx, text);
    strip_nul(text);
    return result;
  }

  int cubin(std::string& image) const { return fetch(functions_.cubin_size, functions_.cubin, image); }

 private:
  template <class Size, class Copy>
  int fetch(Size size, Copy copy, std::string& target) const {
    std::size_t bytes = 0;
    if (int result = size(handle_, &bytes); result != 0) return result;
    target.assign(bytes, '\0');
    return copy(handle_, target.data());
  }

  static void strip_nul(std::string& text) {
    while (!text.empty() && text.back() == '\0') text.pop_back();
  }

  const NvrtcFunctions& functions_;
  NvrtcFunctions::Program handle_ = nullptr;
};

// ptxas drops setmaxnreg with no more than a remark when it cannot tell the register count at entry
// (C7508) or assembles for linking (C7504). The kernel would run, slowly or out of registers.
bool ignores_register_budget(std::string_view log) {
  return log.find("'setmaxnreg' ignored") != std::string_view::npos;
}

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(const Config& config) : config_(config) {}

  Result<std::string> identity(Arch arch) override {
    Result<const Nvrtc*> nvrtc = ready(arch);
    if (!nvrtc) return nvrtc.error();
    return (*nvrtc)->identity();
  }

  Result<CompileOutput> compile(Arch arch, const std::string& name, const std::string& source) override {
    Result<const Nvrtc*> nvrtc = ready(arch);
    if (!nvrtc) return nvrtc.error();
    return compile_with(**nvrtc, arch, name, source);
  }

 private:
  // Opened once. A failure is not remembered: the library may be installed while we run.
  Result<const Nvrtc*> ready(Arch arch) {
    std::lock_guard lock(mutex_);
    if (!nvrtc_) {
      Result<Nvrtc> opened = Nvrtc::open(config_);
      if (!opened) return opened.error();
      nvrtc_.emplace(std::move(opened).value());
    }
    if (Status status = nvrtc_->check_arch(arch); !status) return status.error();
    return &*nvrtc_;
  }

  Result<CompileOutput> compile_with(const Nvrtc& nvrtc, Arch arch, const std::string& name,
                                     const std::string& source) const {
    std::vector<std::string> options = compile_options(arch);
    // Does not change the output, so it is no part of the key. The option is as old as the cache.
    if (!config_.nvrtc_cache && nvrtc.is_at_least(12, 9)) options.emplace_back("--no-cache");

    Program program(nvrtc.functions());
    CompileOutput output;
    const auto failed = [&](const char* step, int result) {
      std::string message = std::string(step) + " failed for " + name + " (" + nvrtc.functions().error_string(result) +
                            ", " + nvrtc.identity() + ", " + nvrtc.path() + ")";
      if (const std::string log = program.log(); !log.empty()) message += ":\n" + log;
      return Error{ErrorCode::compile_failed, std::move(message), hint_of(result)};
    };
    if (int result = program.create(name, source); result != 0) return failed("nvrtcCreateProgram", result);
    if (int result = program.compile(options); result != 0) return failed("nvrtcCompileProgram", result);
    if (int result = program.ptx(output.ptx); result != 0) return failed("nvrtcGetPTX", result);
    if (int result = program.cubin(output.cubin); result != 0) return failed("nvrtcGetCUBIN", result);
    output.log = program.log();
    if (ignores_register_budget(output.log))
      return Error{ErrorCode::compile_failed,
                   "the assembler ignored the register budgets of " + name + ":\n" + output.log,
                   "the kernel needs __launch_bounds__(threads, blocks) and registers that add up"};
    return output;
  }

  static std::string hint_of(int result) {
    constexpr int builtin_operation_failure = 7;
    if (result != builtin_operation_failure) return {};
    return "libnvrtc-builtins of the same version must lie beside libnvrtc; reinstall NVRTC";
  }

  const Config config_;
  std::mutex mutex_;
  std::optional<Nvrtc> nvrtc_;
};

}  // namespace

std::unique_ptr<Compiler> make_nvrtc_compiler(const Config& config) {
  return std::make_unique<NvrtcCompiler>(config);
}

std::vector<std::string> compile_options(Arch arch) {
  return {"--gpu-architecture=" + std::string(arch_name(arch)), "--std=c++20"};
}

}  // namespace mlaindex
