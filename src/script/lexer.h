// TorchScript text -> tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "script/source.h"

namespace torchlet::script {

enum class TokenKind : uint8_t {
  kEnd,
  kNewline,
  kIndent,
  kDedent,
  kName,
  kInt,
  kFloat,
  kImaginary,  // "2.j"
  kString,     // one literal with its quotes
  // Keywords.
  kAnd,
  kAs,
  kAssert,
  kBreak,
  kClass,
  kContinue,
  kDef,
  kDel,
  kElif,
  kElse,
  kFalse,
  kFor,
  kIf,
  kImport,
  kIn,
  kIs,
  kNone,
  kNot,
  kOr,
  kPass,
  kRaise,
  kReturn,
  kTrue,
  kWhile,
  kWith,
  // Punctuation.
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kComma,
  kColon,
  kDot,
  kEllipsis,
  kArrow,
  kAssign,
  kPlus,
  kMinus,
  kStar,
  kStarStar,
  kSlash,
  kSlashSlash,
  kPercent,
  kAt,
  kAmpersand,
  kPipe,
  kCaret,
  kTilde,
  kShiftLeft,
  kShiftRight,
  kLess,
  kGreater,
  kLessEqual,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  // Augmented assignment, in the order of the operators above.
  kPlusAssign,
  kMinusAssign,
  kStarAssign,
  kStarStarAssign,
  kSlashAssign,
  kSlashSlashAssign,
  kPercentAssign,
  kAtAssign,
  kAmpersandAssign,
  kPipeAssign,
  kCaretAssign,
  kShiftLeftAssign,
  kShiftRightAssign,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
};

// How a message names a token kind: "')'", "a name", "the end of the line".
std::string describe(TokenKind kind);

// All tokens of `source`, ended by kEnd. Indentation becomes kIndent and kDedent as in Python; line
// ends inside brackets, blank lines and comments vanish. Throws kFileFormat with the line, also
// where there are more than `most` of them.
inline constexpr size_t kAnyNumber = ~size_t{0};
std::vector<Token> tokenize(const Source& source, size_t most = kAnyNumber);
// Those of a part that begins and ends with statements of the same indentation.
std::vector<Token> tokenize(const Source& source, Span part);

// The bytes that a string literal (with its quotes) stands for. Beyond Python's escapes it accepts
// PyTorch's own spelling of bytes over 0x7f: printQuotedString (ATen/core/ivalue.cpp) prints the
// octal digits of a *negative* char, so that 0xc3 becomes "\0)+".
std::string decode_string(const Source& source, Span literal);

}  // namespace torchlet::script
