// What a command says: results on stdout, as text or as one JSON object; everything else on stderr.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "generator/base/result.h"
#include "tools/exit_code.h"

namespace mlaindex::tools {

using Json = nlohmann::ordered_json;

class Output {
 public:
  Output(std::string command, bool json);

  bool json() const noexcept { return json_; }

  // Text results: nothing in JSON mode.
  void line(std::string_view text = {});
  void row(std::string_view label, std::string_view value);  // "label       value", aligned
  void bytes(std::string_view bytes);                        // as they are

  // A field of the JSON object: kept in text mode too, never printed there.
  void set(const std::string& key, Json value);

  // stderr in both modes; warnings and the error are fields of the JSON object as well.
  void warn(std::string_view text);
  void fail(const Error& error);

  // Prints the JSON object if there is one to print, flushes, and returns the process's exit
  // code: that given, or `environment` when stdout could not be written.
  int finish(ExitCode code);

 private:
  bool json_;
  Json document_;
};

}  // namespace mlaindex::tools
