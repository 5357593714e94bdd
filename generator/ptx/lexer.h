// PTX text to tokens. Private to the parser.
#pragma once

#include <cstdint>

#include <llvm/ADT/StringRef.h>

namespace mlaindex::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,         // name, or opcode with its modifiers: "%r1", "%tid.x", "mov.u32", "LOOP"
    directive,    // ".reg", ".32x32b", ".shared::cta"
    integer,      // "12", "0x1f", "7U"
    floating,     // "0f3F800000", "9.0"
    string,       // with its quotes
    punctuation,  // one character of {}[]()<>,;:=+-|!@
    invalid,
  };
  Kind kind = Kind::end;
  llvm::StringRef text;
  std::uint32_t line = 0;    // one-based
  std::uint32_t column = 0;  // one-based

  bool is(char punctuation) const {
    return kind == Kind::punctuation && text.front() == punctuation;
  }
  bool is_directive(llvm::StringRef spelling) const {
    return kind == Kind::directive && text.drop_front() == spelling;
  }
};

class Lexer {
 public:
  // `text` outlives the lexer and its tokens.
  explicit Lexer(llvm::StringRef text) : text_(text) {}

  Token next();
  // The text up to the end of the current line, trimmed; lexing goes on after it.
  llvm::StringRef rest_of_line();

 private:
  void skip_blanks_and_comments();
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  void advance_while(bool (*accepts)(char));
  bool lex_modifier();
  Token::Kind lex_number();

  llvm::StringRef text_;
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace mlaindex::ptx
