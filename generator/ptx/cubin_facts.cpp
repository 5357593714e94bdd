#include "generator/ptx/cubin_facts.h"

#include <cstring>
#include <map>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFTypes.h>
#include <llvm/Support/Endian.h>

namespace mlaindex::ptx {
namespace {

using llvm::StringRef;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Section = Elf::Elf_Shdr;
using Symbol = Elf::Elf_Sym;

constexpr unsigned kMachineCuda = 190;
constexpr std::uint8_t kOsAbiCurrent = 0x41;  // SM number in bits 8..15 of e_flags
constexpr std::uint8_t kOsAbiOld = 0x33;      // SM number in bits 0..7
constexpr std::uint8_t kEntrySymbol = 0x10;   // bit of st_other: a kernel, not a device function
constexpr std::uint32_t kToolNote = 2000;
constexpr std::uint32_t kReservedSharedBytes = 0x400;  // first KiB of shared memory since sm_90

// Attributes of .nv.info records.
constexpr std::uint8_t kMaxThreads = 0x05;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;
constexpr std::uint8_t kParameterBytes = 0x19;
constexpr std::uint8_t kRegisterCount = 0x2f;

// Record formats 1 to 3 keep the value in the header, 4 gives there the size of what follows.
constexpr std::uint8_t kFormatSized = 4;

Error damaged(std::string what) {
  return Error{ErrorCode::invalid_file, "damaged cubin: " + std::move(what),
               "compile the kernel again, or remove the file"};
}

Error damaged(llvm::Error error) { return damaged(llvm::toString(std::move(error))); }

struct Record {
  std::uint8_t attribute = 0;
  std::uint32_t half = 0;  // value in the header
  StringRef value;         // value of a kFormatSized record
};

std::uint32_t word(StringRef bytes, std::size_t index) {
  return llvm::support::endian::read32le(bytes.data() + 4 * index);
}

// Splits the contents of a .nv.info section into its records.
Result<std::vector<Record>> info_records(StringRef bytes, StringRef section) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    if (bytes.size() < 4) return damaged(("a record is cut off in " + section).str());
    Record record;
    const std::uint8_t format = static_cast<std::uint8_t>(bytes[0]);
    record.attribute = static_cast<std::uint8_t>(bytes[1]);
    record.half = llvm::support::endian::read16le(bytes.data() + 2);
    bytes = bytes.drop_front(4);
    if (format == kFormatSized) {
      if (bytes.size() < record.half) return damaged(("a record is cut off in " + section).str());
      record.value = bytes.take_front(record.half);
      bytes = bytes.drop_front(record.half);
    } else if (format == 0 || format > kFormatSized) {
      return damaged("unknown record format " + std::to_string(format) + " in " + section.str());
    }
    records.push_back(record);
  }
  return records;
}

class Reader {
 public:
  explicit Reader(const Elf& elf) : elf_(elf) {}

  Result<CubinFacts> read() {
    for (Status (Reader::*step)() : {&Reader::read_header, &Reader::read_sections,
                                     &Reader::read_symbols, &Reader::read_module_info,
                                     &Reader::read_kernel_sections}) {
      if (Status status = (this->*step)(); !status) return status.error();
    }
    return std::move(facts_);
  }

 private:
  Status read_header() {
    const auto& header = elf_.getHeader();
    if (header.e_machine != kMachineCuda)
      return damaged("ELF machine is " + std::to_string(header.e_machine) + ", CUDA is 190");
    const std::uint8_t abi = header.e_ident[llvm::ELF::EI_OSABI];
    const std::uint32_t flags = header.e_flags;
    if (abi == kOsAbiCurrent) facts_.sm_number = static_cast<int>((flags >> 8) & 0xff);
    else if (abi == kOsAbiOld) facts_.sm_number = static_cast<int>(flags & 0xff);
    else return damaged("ELF ABI is " + std::to_string(abi) + ", known are 51 and 65");
    return {};
  }

  Status read_sections() {
    auto sections = elf_.sections();
    if (!sections) return damaged(sections.takeError());
    for (const Section& section : *sections) {
      auto name = elf_.getSectionName(section);
      if (!name) return damaged(name.takeError());
      if (section.sh_type == llvm::ELF::SHT_SYMTAB) symbols_ = &section;
      sections_.emplace(*name, &section);
    }
    return symbols_ ? Status{} : damaged("no symbol table");
  }

  Status read_symbols() {
    auto symbols = elf_.symbols(symbols_);
    if (!symbols) return damaged(symbols.takeError());
    auto names = elf_.getStringTableForSymtab(*symbols_);
    if (!names) return damaged(names.takeError());
    for (std::size_t i = 0; i < symbols->size(); ++i) {
      const Symbol& symbol = (*symbols)[i];
      if (symbol.getType() != llvm::ELF::STT_FUNC || !(symbol.st_other & kEntrySymbol)) continue;
      auto name = symbol.getName(*names);
      if (!name) return damaged(name.takeError());
      kernel_of_symbol_.emplace(static_cast<std::uint32_t>(i), facts_.kernels.size());
      KernelFacts kernel;
      kernel.entry = name->str();
      facts_.kernels.push_back(std::move(kernel));
    }
    return {};
  }

  Result<StringRef> contents(StringRef name) {
    const auto found = sections_.find(name);
    if (found == sections_.end()) return StringRef();
    auto bytes = elf_.getSectionContents(*found->second);
    if (!bytes) return damaged(bytes.takeError());
    return llvm::toStringRef(*bytes);
  }

  // Records that name a symbol: registers, frame and stack of each kernel; and the tool's note.
  Status read_module_info() {
    Result<StringRef> bytes = contents(".nv.info");
    if (!bytes) return bytes.error();
    Result<std::vector<Record>> records = info_records(*bytes, ".nv.info");
    if (!records) return records.error();
    for (const Record& record : *records) {
      std::uint32_t KernelFacts::*field = nullptr;
      if (record.attribute == kRegisterCount) field = &KernelFacts::registers;
      else if (record.attribute == kFrameSize) field = &KernelFacts::frame_bytes;
      else if (record.attribute == kMinStackSize) field = &KernelFacts::min_stack_bytes;
      else continue;
      if (record.value.size() < 8) return damaged("a record of .nv.info is too short");
      const auto kernel = kernel_of_symbol_.find(word(record.value, 0));
      if (kernel != kernel_of_symbol_.end())
        facts_.kernels[kernel->second].*field = word(record.value, 1);
    }
    Result<StringRef> note = contents(".note.nv.tkinfo");
    if (!note) return note.error();
    return read_note(*note);
  }

  // The description holds a version, string offsets, then NUL-terminated strings.
  Status read_note(StringRef note) {
    if (note.empty()) return {};
    if (note.size() < 12 || word(note, 2) != kToolNote) return damaged("the tool note is malformed");
    const std::uint64_t description = 12 + ((std::uint64_t{word(note, 0)} + 3) & ~std::uint64_t{3});
    const std::uint64_t end = description + word(note, 1);
    constexpr std::uint64_t kOffsets = 24;
    if (end > note.size() || end < description + kOffsets) return damaged("the tool note is cut off");
    llvm::SmallVector<StringRef, 8> strings;
    note.slice(description + kOffsets, end).split(strings, '\0', -1, false);
    for (StringRef text : strings) {
      text = text.trim();
      if (text.empty()) continue;
      if (!facts_.tool.empty()) facts_.tool += "; ";
      facts_.tool += text.str();
      const auto [before, after] = text.split("-arch ");
      if (!after.empty()) facts_.arch = after.split(' ').first.str();
    }
    return {};
  }

  Status read_kernel_sections() {
    for (KernelFacts& kernel : facts_.kernels) {
      const auto code = sections_.find(".text." + kernel.entry);
      if (code == sections_.end()) return damaged("kernel " + kernel.entry + " has no code section");
      kernel.code_bytes = code->second->sh_size;
      const std::uint64_t reserved = facts_.sm_number >= 90 ? kReservedSharedBytes : 0;
      const auto shared = sections_.find(".nv.shared." + kernel.entry);
      if (shared != sections_.end() && shared->second->sh_size > reserved)
        kernel.static_shared_bytes = static_cast<std::uint32_t>(shared->second->sh_size - reserved);
      const std::string info = ".nv.info." + kernel.entry;
      Result<StringRef> bytes = contents(info);
      if (!bytes) return bytes.error();
      Result<std::vector<Record>> records = info_records(*bytes, info);
      if (!records) return records.error();
      for (const Record& record : *records) {
        if (record.attribute == kParameterBytes) kernel.parameter_bytes = record.half;
        if (record.attribute != kMaxThreads) continue;
        if (record.value.size() < 12) return damaged("a record of " + info + " is too short");
        for (std::size_t axis = 0; axis < 3; ++axis)
          kernel.max_threads[axis] = word(record.value, axis);
      }
    }
    return {};
  }

  const Elf& elf_;
  CubinFacts facts_;
  const Section* symbols_ = nullptr;
  std::map<std::string, const Section*, std::less<>> sections_;
  std::map<std::uint32_t, std::size_t> kernel_of_symbol_;
};

}  // namespace

Result<CubinFacts> read_cubin_facts(std::string_view cubin) {
  // LLVM's views into the image want its structures aligned; the caller's bytes may not be.
  std::vector<std::uint64_t> aligned((cubin.size() + 7) / 8);
  if (!cubin.empty()) std::memcpy(aligned.data(), cubin.data(), cubin.size());
  const StringRef image(reinterpret_cast<const char*>(aligned.data()), cubin.size());
  if (image.size() < sizeof(Elf::Elf_Ehdr) || !image.starts_with("\x7f" "ELF\x02\x01"))
    return damaged("not a 64-bit little-endian ELF image (" + std::to_string(image.size()) +
                   " bytes)");
  auto elf = Elf::create(image);
  if (!elf) return damaged(elf.takeError());
  return Reader(*elf).read();
}

}  // namespace mlaindex::ptx
