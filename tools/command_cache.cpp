#include <filesystem>
#include <vector>

#include <fmt/chrono.h>

#include "generator/base/format.h"
#include "runtime/cache_store.h"
#include "tools/commands.h"

namespace mlaindex::tools {
namespace {

// What is in the cache directory; nothing when there is no such directory.
Result<std::vector<CacheListing>> read_cache(Session& session) {
  const Config& config = session.config();
  if (!config.has_disk_cache()) {
    return Error{ErrorCode::cache_trouble,
                 fmt::format("there is no disk cache: {}",
                             config.cache_enabled ? config.cache_dir_origin : "it is switched off"),
                 "name a folder with --cache-dir or MLAINDEX_JIT_CACHE_DIR"};
  }
  session.output().set("cache_dir", config.cache_dir.string());
  std::error_code failure;
  if (!std::filesystem::exists(config.cache_dir, failure) && !failure) return std::vector<CacheListing>{};
  const Result<CacheStore> store = CacheStore::open(config.cache_dir, FileSystem(), session.log());
  if (!store) return store.error();
  return store->list();
}

std::string size_text(std::uint64_t bytes) { return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024); }

Json listing_json(const CacheListing& listing) {
  Json json{{"key", listing.key}, {"file", listing.path.string()}, {"bytes", listing.bytes},
            {"modified", listing.modified}, {"verified", listing.entry.has_value()}};
  if (listing.entry) {
    json["spec"] = listing.entry->spec;
    json["plan"] = listing.entry->plan_name;
    json["kernel"] = listing.entry->kernel_name;
    json["arch"] = listing.entry->arch;
    json["created"] = listing.entry->created;
    Json& fields = json["key_fields"] = Json::object();
    for (const auto& [label, value] : listing.entry->key.fields) fields[label] = value;
  } else {
    json["problem"] = listing.problem;
  }
  return json;
}

Json listings_json(const std::vector<CacheListing>& listings) {
  Json json = Json::array();
  for (const CacheListing& listing : listings) json.push_back(listing_json(listing));
  return json;
}

}  // namespace

Result<ExitCode> run_cache_list(Session& session) {
  const Result<std::vector<CacheListing>> listings = read_cache(session);
  if (!listings) return listings.error();
  Output& output = session.output();
  std::uint64_t bytes = 0;
  for (const CacheListing& listing : *listings) {
    bytes += listing.bytes;
    output.line(fmt::format("{}  {:%Y-%m-%d %H:%M}  {:>10}  {}", listing.key.substr(0, 12),
                            fmt::localtime(static_cast<std::time_t>(listing.modified)), size_text(listing.bytes),
                            listing.entry ? fmt::format("{} plan={}", listing.entry->spec, listing.entry->plan_name)
                                          : "damaged: " + listing.problem));
  }
  output.line(fmt::format("{} {}, {}, in {}", listings->size(), listings->size() == 1 ? "kernel" : "kernels",
                          size_text(bytes), session.config().cache_dir.string()));
  output.set("entries", listings_json(*listings));
  output.set("bytes", bytes);
  return ExitCode::done;
}

Result<ExitCode> run_cache_verify(Session& session) {
  const Result<std::vector<CacheListing>> listings = read_cache(session);
  if (!listings) return listings.error();
  Output& output = session.output();
  std::size_t damaged = 0;
  for (const CacheListing& listing : *listings) {
    if (listing.entry) continue;
    ++damaged;
    output.line(fmt::format("damaged  {}: {}", listing.path.string(), listing.problem));
  }
  output.line(fmt::format("{} of {} kernels verified in {}", listings->size() - damaged, listings->size(),
                          session.config().cache_dir.string()));
  if (damaged > 0) output.line("A damaged kernel is never loaded: it is compiled anew at its next use.");
  output.set("verified", listings->size() - damaged);
  output.set("damaged", damaged);
  output.set("entries", listings_json(*listings));
  return damaged == 0 ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace mlaindex::tools
