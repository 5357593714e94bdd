#include "runtime/cache_entry.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "generator/base/digest.h"

namespace mlaindex {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "MLAINDEX";
constexpr std::size_t preamble_bytes = 8 + 4 + 4 + 3 * 8;
constexpr std::size_t digest_bytes = std::tuple_size_v<Digest>;
constexpr std::uint32_t known_flags = 0;

template <class Number>
void append_number(std::string& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

// Takes pieces off the front. The caller has checked that they are there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }

  template <class Number>
  Number number() {
    Number value = 0;
    const std::string_view bytes = take(sizeof value);
    for (std::size_t i = 0; i < sizeof value; ++i)
      value |= static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    return value;
  }

 private:
  std::string_view rest_;
};

std::string_view as_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

json facts_to_json(const ptx::KernelFacts& facts) {
  // Structured bindings, so that a new fact stops the build here.
  const auto& [entry, registers, frame_bytes, min_stack_bytes, static_shared_bytes, parameter_bytes, max_threads,
               code_bytes] = facts;
  return {{"entry", entry},
          {"registers", registers},
          {"frame_bytes", frame_bytes},
          {"min_stack_bytes", min_stack_bytes},
          {"static_shared_bytes", static_shared_bytes},
          {"parameter_bytes", parameter_bytes},
          {"max_threads", max_threads},
          {"code_bytes", code_bytes}};
}

// Reads typed fields out of a JSON object and remembers the first one that is missing or of another
// type.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  std::string text(const char* name) {
    const json* field = find(name);
    if (field != nullptr && field->is_string()) return field->get<std::string>();
    return refuse<std::string>(name);
  }

  template <class Number>
  Number number(const char* name) {
    const json* field = find(name);
    if (field != nullptr && field->is_number_integer()) return field->get<Number>();
    return refuse<Number>(name);
  }

  // nullptr, remembered as a problem, unless it is an array or object as asked.
  const json* structure(const char* name, json::value_t type) {
    const json* field = find(name);
    return field != nullptr && field->type() == type ? field : refuse<const json*>(name);
  }

  void refuse_field(const char* name) { refuse<int>(name); }
  const std::string& problem() const noexcept { return problem_; }

 private:
  const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  template <class T>
  T refuse(const char* name) {
    if (problem_.empty()) problem_ = std::string("its header has no valid '") + name + "'";
    return T{};
  }

  const json& object_;
  std::string problem_;
};

std::vector<std::pair<std::string, std::string>> read_key_fields(Fields& header) {
  std::vector<std::pair<std::string, std::string>> fields;
  const json* list = header.structure("key_fields", json::value_t::array);
  if (list == nullptr) return fields;
  for (const json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      header.refuse_field("key_fields");
      break;
    }
    fields.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return fields;
}

ptx::KernelFacts read_facts(Fields& header) {
  ptx::KernelFacts facts;
  const json* object = header.structure("facts", json::value_t::object);
  if (object == nullptr) return facts;
  Fields fields(*object);
  facts.entry = fields.text("entry");
  facts.registers = fields.number<std::uint32_t>("registers");
  facts.frame_bytes = fields.number<std::uint32_t>("frame_bytes");
  facts.min_stack_bytes = fields.number<std::uint32_t>("min_stack_bytes");
  facts.static_shared_bytes = fields.number<std::uint32_t>("static_shared_bytes");
  facts.parameter_bytes = fields.number<std::uint32_t>("parameter_bytes");
  facts.code_bytes = fields.number<std::uint64_t>("code_bytes");
  const json* threads = fields.structure("max_threads", json::value_t::array);
  if (threads != nullptr && threads->size() == facts.max_threads.size() &&
      std::all_of(threads->begin(), threads->end(), [](const json& n) { return n.is_number_integer(); }))
    facts.max_threads = threads->get<std::array<std::uint32_t, 3>>();
  else
    fields.refuse_field("max_threads");
  if (!fields.problem().empty()) header.refuse_field("facts");
  return facts;
}

Error damaged(std::string what) {
  return Error{ErrorCode::invalid_file, "the cache entry is damaged: " + std::move(what),
               "it is compiled again and replaced"};
}

Result<CacheEntry> read_header(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return damaged("its header is not a JSON object");
  Fields header(object);
  CacheEntry entry;
  const std::string key = header.text("key");
  entry.key = make_cache_key(read_key_fields(header));
  entry.spec = header.text("spec");
  entry.plan_name = header.text("plan_name");
  entry.kernel_name = header.text("kernel");
  entry.arch = header.text("arch");
  entry.facts = read_facts(header);
  entry.created = header.number<std::int64_t>("created");
  if (!header.problem().empty()) return damaged(header.problem());
  if (entry.key.hex != key) return damaged("its key is not the digest of its key fields");
  return entry;
}

}  // namespace

std::string encode(const CacheEntry& entry) {
  const json object = {{"key", entry.key.hex},           {"key_fields", entry.key.fields},
                       {"spec", entry.spec},             {"plan_name", entry.plan_name},
                       {"kernel", entry.kernel_name},    {"arch", entry.arch},
                       {"facts", facts_to_json(entry.facts)}, {"created", entry.created}};
  const std::string header = object.dump(-1, ' ', false, json::error_handler_t::replace);

  std::string bytes;
  bytes.reserve(preamble_bytes + header.size() + entry.cubin.size() + entry.ptx.size() + digest_bytes);
  bytes += magic;
  append_number(bytes, cache_entry_version);
  append_number(bytes, known_flags);
  append_number(bytes, std::uint64_t{header.size()});
  append_number(bytes, std::uint64_t{entry.cubin.size()});
  append_number(bytes, std::uint64_t{entry.ptx.size()});
  bytes += header;
  bytes += entry.cubin;
  bytes += entry.ptx;
  const Digest digest = digest_of(bytes);
  bytes += as_bytes(digest);
  return bytes;
}

Result<CacheEntry> decode_cache_entry(std::string_view bytes) {
  if (bytes.size() < preamble_bytes + digest_bytes)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes, fewer than any entry");
  if (bytes.size() > max_cache_entry_bytes) return damaged("it is larger than any entry");
  Reader reader(bytes);
  if (reader.take(magic.size()) != magic) return damaged("it does not start with " + std::string(magic));
  const auto version = reader.number<std::uint32_t>();
  const auto flags = reader.number<std::uint32_t>();
  const auto header_size = reader.number<std::uint64_t>();
  const auto cubin_size = reader.number<std::uint64_t>();
  const auto ptx_size = reader.number<std::uint64_t>();

  // The digest comes first: it has the same place in every layout, and nothing that fails it is
  // worth another look.
  const std::size_t digest_at = bytes.size() - digest_bytes;
  const Digest digest = digest_of(bytes.substr(0, digest_at));
  if (bytes.substr(digest_at) != as_bytes(digest)) return damaged("its digest does not match its bytes");
  if (version != cache_entry_version || (flags & ~known_flags) != 0)
    return Error{ErrorCode::cache_trouble,
                 "the cache entry has format " + std::to_string(version) + " with flags " + std::to_string(flags) +
                     ", unknown to this version",
                 ""};

  const std::uint64_t payload = digest_at - preamble_bytes;
  if (header_size > payload || cubin_size > payload - header_size || ptx_size != payload - header_size - cubin_size)
    return damaged("its sizes do not add up to the file's");
  Result<CacheEntry> entry = read_header(reader.take(static_cast<std::size_t>(header_size)));
  if (!entry) return entry;
  entry->cubin = reader.take(static_cast<std::size_t>(cubin_size));
  entry->ptx = reader.take(static_cast<std::size_t>(ptx_size));
  return entry;
}

}  // namespace mlaindex
