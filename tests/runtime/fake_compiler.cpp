#include "tests/runtime/fake_compiler.h"

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace mlaindex {
namespace {

class FakeCompiler final : public Compiler {
 public:
  explicit FakeCompiler(std::shared_ptr<FakeCompilerState> state) : state_(std::move(state)) {}

  Result<std::string> identity(Arch) override {
    if (state_->identity_error) return *state_->identity_error;
    return state_->identity;
  }

  Result<CompileOutput> compile(Arch arch, const std::string& name, const std::string&) override {
    state_->compiles += 1;
    std::this_thread::sleep_for(state_->duration);
    if (state_->throws) throw std::runtime_error("thrown by the compiler");
    if (state_->compile_error) return *state_->compile_error;
    CompileOutput output = empty_kernel(arch, name.substr(0, name.rfind('.')) + state_->entry_suffix);
    if (state_->truncate_cubin) output.cubin.resize(output.cubin.size() / 2);
    output.log = state_->log;
    return output;
  }

 private:
  std::shared_ptr<FakeCompilerState> state_;
};

}  // namespace

std::unique_ptr<Compiler> make_fake_compiler(std::shared_ptr<FakeCompilerState> state) {
  return std::make_unique<FakeCompiler>(std::move(state));
}

const CompileOutput& empty_kernel(Arch arch, const std::string& name) {
  static std::mutex mutex;
  static std::map<std::pair<Arch, std::string>, CompileOutput> made;
  static const std::unique_ptr<Compiler> nvrtc = make_nvrtc_compiler(Config{});
  std::lock_guard lock(mutex);
  auto [slot, is_new] = made.try_emplace({arch, name});
  if (is_new) {
    Result<CompileOutput> output =
        nvrtc->compile(arch, name + ".cu", "extern \"C\" __global__ void " + name + "() {}\n");
    if (!output) throw std::runtime_error(output.error().text());
    slot->second = std::move(output).value();
  }
  return slot->second;
}

}  // namespace mlaindex
