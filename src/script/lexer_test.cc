#include "script/lexer.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

namespace torchlet::script {
namespace {

using K = TokenKind;

std::vector<TokenKind> kinds(const std::string& text) {
  const Source source{"t.py", text, 1, nullptr};
  std::vector<TokenKind> out;
  for (const Token& token : tokenize(source)) out.push_back(token.kind);
  return out;
}

std::string decoded(const std::string& literal) {
  const Source source{"t.py", literal, 1, nullptr};
  return decode_string(source, {0, static_cast<uint32_t>(literal.size())});
}

std::string error_of(const std::string& text) {
  try {
    kinds(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(Lexer, IndentationFollowsPython) {
  EXPECT_EQ(
      kinds("if a:\n  b\n\n  # note\n  c\nd"),
      (std::vector<K>{K::kIf, K::kName, K::kColon, K::kNewline, K::kIndent, K::kName, K::kNewline,
                      K::kName, K::kNewline, K::kDedent, K::kName, K::kNewline, K::kEnd}));
}

TEST(Lexer, OneLineClosesTwoBlocks) {
  EXPECT_EQ(kinds("if a:\n  if b:\n    c\n"),
            (std::vector<K>{K::kIf, K::kName, K::kColon, K::kNewline, K::kIndent, K::kIf, K::kName,
                            K::kColon, K::kNewline, K::kIndent, K::kName, K::kNewline, K::kDedent,
                            K::kDedent, K::kEnd}));
}

TEST(Lexer, LinesContinueInBracketsAndAfterABackslash) {
  EXPECT_EQ(kinds("f(a,\n    b)\n"),
            (std::vector<K>{K::kName, K::kLeftParen, K::kName, K::kComma, K::kName, K::kRightParen,
                            K::kNewline, K::kEnd}));
  EXPECT_EQ(kinds("a + \\\n  b\n"),
            (std::vector<K>{K::kName, K::kPlus, K::kName, K::kNewline, K::kEnd}));
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(kinds("1 1. .5 1e-5 1.5e+3 0x1F 2.j 3j"),
            (std::vector<K>{K::kInt, K::kFloat, K::kFloat, K::kFloat, K::kFloat, K::kInt,
                            K::kImaginary, K::kImaginary, K::kNewline, K::kEnd}));
  EXPECT_EQ(error_of("x = 12abc"), "t.py:1: a number runs into a name");
}

TEST(Lexer, LongestOperatorWins) {
  EXPECT_EQ(kinds("a**=b//c->d...e<<=f!=g"),
            (std::vector<K>{K::kName, K::kStarStarAssign, K::kName, K::kSlashSlash, K::kName,
                            K::kArrow, K::kName, K::kEllipsis, K::kName, K::kShiftLeftAssign,
                            K::kName, K::kNotEqual, K::kName, K::kNewline, K::kEnd}));
}

TEST(Lexer, SpansAreByteOffsets) {
  const Source source{"t.py", "ab = \"\xc3\xa9\"\n", 1, nullptr};
  const std::vector<Token> tokens = tokenize(source);
  EXPECT_EQ(text_of(source, tokens[0].span), "ab");
  EXPECT_EQ(tokens[2].span.begin, 5u);
  EXPECT_EQ(tokens[2].span.end, 9u);
}

TEST(Lexer, EscapesInStrings) {
  EXPECT_EQ(decoded(R"("a\tb\\c\"d\'e\n")"), "a\tb\\c\"d'e\n");
  EXPECT_EQ(decoded(R"('\001\377\x41\u00e9')"),
            "\x01\xff"
            "A\xc3\xa9");
  EXPECT_EQ(decoded("\"\"\"a\"b\"\"\""), "a\"b");
  EXPECT_EQ(decoded("''"), "");
}

// torch.jit.save of a submodule called "naïve".
TEST(Lexer, SignedOctalEscapesOfPyTorch) {
  EXPECT_EQ(decoded(R"("na\0)+\/./ve")"), "na\xc3\xafve");
}

TEST(Lexer, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("a\nb = \"abc\n"), "t.py:2: a string is not closed");
  EXPECT_EQ(error_of("f(a"), "t.py:1: a bracket is opened but never closed");
  EXPECT_EQ(error_of("a)"), "t.py:1: a bracket is closed but was never opened");
  EXPECT_EQ(error_of("a ? b"), "t.py:1: a character that TorchScript does not have");
  EXPECT_EQ(error_of("if a:\n    b\n  c\n"), "t.py:3: the indentation matches no enclosing block");
  EXPECT_THROW(decoded(R"("\q")"), Error);
  EXPECT_THROW(decoded(R"("\8")"), Error);
}

}  // namespace
}  // namespace torchlet::script
