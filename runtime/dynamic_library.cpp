#include "runtime/dynamic_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace mlaindex {
namespace {

struct BuildIdSearch {
  ElfW(Addr) base;
  std::string hex;
};

void append_hex(std::string& text, const unsigned char* bytes, std::size_t count) {
  static constexpr char digits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < count; ++i) {
    text.push_back(digits[bytes[i] >> 4]);
    text.push_back(digits[bytes[i] & 15]);
  }
}

// Looks through one segment of notes that the loader has mapped.
void read_notes(const char* begin, std::size_t size, std::string& hex) {
  const auto aligned = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  std::size_t at = 0;
  while (size - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, begin + at, sizeof note);
    at += sizeof note;
    const std::size_t name_bytes = aligned(note.n_namesz);
    const std::size_t total = name_bytes + aligned(note.n_descsz);
    if (total > size - at) return;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(begin + at, note.n_namesz) == std::string_view("GNU", 4)) {
      append_hex(hex, reinterpret_cast<const unsigned char*>(begin + at + name_bytes), note.n_descsz);
      return;
    }
    at += total;
  }
}

int visit_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  if (object->dlpi_addr != search.base) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.hex.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    read_notes(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz, search.hex);
  }
  return 1;
}

const link_map* map_of(void* handle) noexcept {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::string& name) {
  // Local, so that its symbols meet no other library's; resolved now, so that what is missing shows
  // here and not in a call.
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Error{ErrorCode::invalid_file, reason == nullptr ? name + ": cannot be opened" : reason, ""};
  }
  DynamicLibrary library;
  library.handle_ = std::shared_ptr<void>(handle, [](void* opened) noexcept { dlclose(opened); });
  const link_map* map = map_of(handle);
  library.path_ = map != nullptr && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
  return library;
}

void* DynamicLibrary::symbol(const char* name) const noexcept { return dlsym(handle_.get(), name); }

std::string DynamicLibrary::build_id() const {
  const link_map* map = map_of(handle_.get());
  if (map == nullptr) return {};
  BuildIdSearch search{map->l_addr, {}};
  dl_iterate_phdr(visit_object, &search);
  return search.hex;
}

}  // namespace mlaindex
