// libFuzzer target: any text is refused or becomes a module that survives printing, verification and
// normalisation.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "generator/ptx/normalise.h"
#include "generator/ptx/parser.h"
#include "generator/ptx/printer.h"
#include "generator/ptx/verify.h"

using namespace mlaindex;
using namespace mlaindex::ptx;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<Module> module = parse({reinterpret_cast<const char*>(data), size});
  if (!module) {
    if (module.error().message.empty()) std::abort();
    return 0;
  }
  const Result<Module> again = parse(print(*module));
  if (!again || !(*again == *module)) std::abort();
  for (const Function& function : module->functions)
    if (function.has_body) verify(*module, function, {});
  code_digest(*module);
  return 0;
}
