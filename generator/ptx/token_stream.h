// A cursor over the tokens of one text, and the first error found in it. Private to the parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <llvm/Support/SourceMgr.h>

#include "generator/base/result.h"
#include "generator/ptx/lexer.h"
#include "generator/ptx/module.h"

namespace mlaindex::ptx {

// Functions of the parser that return bool return false after an error, which is then in error().
class TokenStream {
 public:
  TokenStream(std::string_view text, std::string_view name);

  const Token& token() const { return token_; }
  SourceLocation location() const { return {token_.line, token_.column}; }
  Token take();
  bool at(char punctuation) const { return token_.is(punctuation); }
  bool at_end() const { return token_.kind == Token::Kind::end; }
  bool accept(char punctuation);
  bool accept_directive(llvm::StringRef spelling);

  bool expect(char punctuation);
  // A plain name; `what` says of what, for the message.
  bool expect_name(llvm::StringRef what, llvm::StringRef& name);
  // An unsigned integer of at most `limit`.
  bool expect_unsigned(llvm::StringRef what, std::uint64_t limit, std::uint64_t& value);

  // Raw text from after the current token to the end of its line; the next token follows it.
  llvm::StringRef take_rest_of_line();
  // Text from the current token up to the next `end`, which becomes the current token: as it
  // stands, or its words with one blank between them.
  bool take_raw_until(char end, llvm::StringRef& raw);
  bool take_words_until(char end, std::string& words);

  // Records an error with a caret under `at`, and returns false.
  bool fail(const Token& at, const llvm::Twine& message, std::string hint = {});
  bool fail(const llvm::Twine& message, std::string hint = {}) {
    return fail(token_, message, std::move(hint));
  }
  const Error& error() const { return *error_; }

 private:
  llvm::SourceMgr sources_;
  Lexer lexer_;
  Token token_;
  std::optional<Error> error_;
};

// The value of an integer literal; nothing when it is malformed or exceeds 64 bits.
std::optional<std::uint64_t> integer_value(llvm::StringRef text);

}  // namespace mlaindex::ptx
