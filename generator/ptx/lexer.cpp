#include "generator/ptx/lexer.h"

#include <llvm/ADT/StringExtras.h>

namespace mlaindex::ptx {
namespace {

bool is_name_start(char c) { return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%'; }
bool is_name(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }
bool is_modifier(char c) { return llvm::isAlnum(c) || c == '_'; }

}  // namespace

void Lexer::skip_blanks_and_comments() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++position_;
    } else if (llvm::isSpace(c)) {
      ++position_;
    } else if (c == '/' && peek(1) == '/') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = std::min(text_.find("*/", position_ + 2), text_.size() - 2) + 2;
      for (; position_ < end; ++position_) {
        if (text_[position_] != '\n') continue;
        ++line_;
        line_start_ = position_ + 1;
      }
    } else {
      return;
    }
  }
}

void Lexer::advance_while(bool (*accepts)(char)) {
  while (position_ < text_.size() && accepts(text_[position_])) ++position_;
}

// `.a::b`: one modifier, if there is one.
bool Lexer::lex_modifier() {
  if (peek() != '.' || !is_modifier(peek(1))) return false;
  ++position_;
  advance_while(is_modifier);
  while (peek() == ':' && peek(1) == ':' && is_modifier(peek(2))) {
    position_ += 2;
    advance_while(is_modifier);
  }
  return true;
}

Token::Kind Lexer::lex_number() {
  const bool prefixed = peek() == '0' && llvm::isAlpha(peek(1));  // 0x, 0b, 0f, 0d
  const char prefix = static_cast<char>(llvm::toLower(peek(1)));
  advance_while(is_modifier);
  if (prefixed) return prefix == 'f' || prefix == 'd' ? Token::Kind::floating : Token::Kind::integer;
  if (peek() != '.' || !llvm::isDigit(peek(1))) return Token::Kind::integer;
  ++position_;
  advance_while(is_modifier);
  const char last = text_[position_ - 1];
  if ((last == 'e' || last == 'E') && (peek() == '+' || peek() == '-')) {
    ++position_;
    advance_while(is_modifier);
  }
  return Token::Kind::floating;
}

Token Lexer::next() {
  skip_blanks_and_comments();
  Token token;
  const std::size_t start = position_;
  token.line = line_;
  token.column = static_cast<std::uint32_t>(position_ - line_start_ + 1);
  const char c = peek();
  if (position_ >= text_.size()) {
    token.kind = Token::Kind::end;
  } else if (is_name_start(c)) {
    token.kind = Token::Kind::word;
    ++position_;
    advance_while(is_name);
    while (lex_modifier()) {}
  } else if (lex_modifier()) {
    token.kind = Token::Kind::directive;
  } else if (llvm::isDigit(c)) {
    token.kind = lex_number();
  } else if (c == '"') {
    const std::size_t end = text_.find_first_of("\"\n", position_ + 1);
    const bool closed = end != llvm::StringRef::npos && text_[end] == '"';
    token.kind = closed ? Token::Kind::string : Token::Kind::invalid;
    position_ = closed ? end + 1 : position_ + 1;
  } else {
    const bool known = llvm::StringRef("{}[]()<>,;:=+-|!@").contains(c);
    token.kind = known ? Token::Kind::punctuation : Token::Kind::invalid;
    ++position_;
  }
  token.text = text_.slice(start, position_);
  return token;
}

llvm::StringRef Lexer::rest_of_line() {
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  const llvm::StringRef rest = text_.slice(position_, end).trim();
  position_ = end;
  return rest;
}

}  // namespace mlaindex::ptx
