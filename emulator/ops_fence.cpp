// Fences. Generic accesses take effect at once and in order, so only the fences between proxies and
// those of tcgen05 (its own file) have an effect: they are noted for the hazard checks.
#include "emulator/lane_ops.h"

namespace mlaindex::emulator {
namespace {

Step nothing(Execution&) { return Step::next; }

Step mbarrier_init_fence(Execution& x) {
  x.cta().fence_mbarrier_inits(x.warp.index);
  return Step::next;
}

Step proxy_fence(Execution& x) {
  x.cta().fence_mbarrier_inits(x.warp.index);
  x.cta().shared.proxy_fence(x.warp.index);
  x.warp.proxy_fence = x.now();
  return Step::next;
}

}  // namespace

bool decode_fence(InstructionDecoder& d) {
  if (d.name() == "membar") {
    d.ignore({"cta", "gl", "sys", "gpu"});
    if (d.take_prefix("proxy")) { d.fail("use fence.proxy"); return true; }
    d.handler(nothing);
    return true;
  }
  if (d.name() != "fence") return false;
  if (d.take("proxy")) {
    const bool only_global = d.take("global");
    d.ignore({"shared::cta", "shared::cluster"});
    if (d.take("async")) { d.handler(only_global ? nothing : proxy_fence); return true; }
    if (d.take("async::generic")) {  // orders completed asynchronous work before generic accesses
      d.ignore({"acquire", "release", "cluster", "cta"});
      (void)d.take_prefix("sync_restrict::");
      d.handler(nothing);
      return true;
    }
    if (d.take("alias")) { d.handler(nothing); return true; }
    if (d.take_prefix("tensormap::generic")) {
      d.ignore({"acquire", "release", "cta", "cluster", "gpu", "sys"});
      d.handler(nothing);
      return true;
    }
    d.fail("this proxy fence is not modelled");
    return true;
  }
  const bool of_init = d.take("mbarrier_init");
  d.ignore({"release", "acquire", "acq_rel", "sc", "cta", "cluster", "gpu", "sys"});
  (void)d.take_prefix("sync_restrict::");
  d.handler(of_init ? mbarrier_init_fence : nothing);
  return true;
}

}  // namespace mlaindex::emulator
