#include "generator/ptx/token_stream.h"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace mlaindex::ptx {
namespace {

llvm::StringRef own(llvm::SourceMgr& sources, std::string_view text, std::string_view name) {
  const llvm::StringRef trimmed = llvm::StringRef(text).rtrim('\0');
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(trimmed, llvm::StringRef(name));
  const unsigned id = sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return sources.getMemoryBuffer(id)->getBuffer();
}

std::string described(const Token& token) {
  return token.kind == Token::Kind::end ? "the end of the text" : (llvm::Twine("'") + token.text + "'").str();
}

}  // namespace

TokenStream::TokenStream(std::string_view text, std::string_view name)
    : lexer_(own(sources_, text, name)), token_(lexer_.next()) {}

Token TokenStream::take() {
  const Token taken = token_;
  token_ = lexer_.next();
  return taken;
}

bool TokenStream::accept(char punctuation) {
  if (!at(punctuation)) return false;
  take();
  return true;
}

bool TokenStream::accept_directive(llvm::StringRef spelling) {
  if (!token_.is_directive(spelling)) return false;
  take();
  return true;
}

bool TokenStream::expect(char punctuation) {
  if (accept(punctuation)) return true;
  return fail("expected '" + llvm::Twine(punctuation) + "', found " + described(token_));
}

bool TokenStream::expect_name(llvm::StringRef what, llvm::StringRef& name) {
  if (token_.kind != Token::Kind::word || token_.text.contains('.'))
    return fail("expected the name of " + what + ", found " + described(token_));
  name = take().text;
  return true;
}

bool TokenStream::expect_unsigned(llvm::StringRef what, std::uint64_t limit, std::uint64_t& value) {
  if (token_.kind != Token::Kind::integer)
    return fail("expected " + what + ", found " + described(token_));
  const std::optional<std::uint64_t> read = integer_value(token_.text);
  if (!read || *read > limit)
    return fail(what + " is out of range: " + token_.text, "at most " + std::to_string(limit));
  value = *read;
  take();
  return true;
}

llvm::StringRef TokenStream::take_rest_of_line() {
  // The lookahead token is the directive itself, so the lexer stands right behind it.
  const llvm::StringRef rest = lexer_.rest_of_line();
  token_ = lexer_.next();
  return rest;
}

bool TokenStream::take_raw_until(char end, llvm::StringRef& raw) {
  const char* begin = token_.text.data();
  while (!at(end)) {
    if (at_end()) return fail("expected '" + llvm::Twine(end) + "' before the end of the text");
    take();
  }
  raw = llvm::StringRef(begin, static_cast<std::size_t>(token_.text.data() - begin)).trim();
  return true;
}

bool TokenStream::take_words_until(char end, std::string& words) {
  while (!at(end)) {
    if (at_end()) return fail("expected '" + llvm::Twine(end) + "' before the end of the text");
    if (!words.empty()) words += ' ';
    words += take().text.str();
  }
  return true;
}

bool TokenStream::fail(const Token& at, const llvm::Twine& message, std::string hint) {
  if (error_) return false;  // the first error is the one that tells
  const llvm::SMDiagnostic diagnostic = sources_.GetMessage(
      llvm::SMLoc::getFromPointer(at.text.data()), llvm::SourceMgr::DK_Error, message);
  std::string rendered;
  llvm::raw_string_ostream stream(rendered);
  diagnostic.print(nullptr, stream, /*ShowColors=*/false);
  error_ = Error{ErrorCode::invalid_file, llvm::StringRef(stream.str()).rtrim().str(), std::move(hint)};
  return false;
}

std::optional<std::uint64_t> integer_value(llvm::StringRef text) {
  text.consume_back("U");
  std::uint64_t value = 0;
  if (text.getAsInteger(0, value)) return std::nullopt;
  return value;
}

}  // namespace mlaindex::ptx
