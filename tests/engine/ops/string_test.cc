// Operators on text: StringNormalizer StringConcat StringSplit RegexFullMatch TfIdfVectorizer.
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

absl::StatusOr<Tensor> ChangeCase(const std::string& action, const std::string& locale,
                                  std::initializer_list<std::string> words) {
  return OpTester("StringNormalizer")
      .Attr("case_change_action", action)
      .Attr("locale", locale)
      .Input(MakeTensor<std::string>({static_cast<int64_t>(words.size())}, words))
      .Run1();
}

TEST(StringNormalizerTest, CaseFollowsUnicodeAndTheLanguage) {
  ASSERT_OK_AND_ASSIGN(const Tensor upper, ChangeCase("UPPER", "en_US", {"straße", "ﬁn", "éi"}));
  EXPECT_THAT(upper, TensorIs<std::string>({3}, {"STRASSE", "FIN", "ÉI"}));
  // A sigma at the end of a word has a form of its own.
  ASSERT_OK_AND_ASSIGN(const Tensor lower, ChangeCase("LOWER", "C", {"ΟΔΟΣ", "ΣΑ", "I"}));
  EXPECT_THAT(lower, TensorIs<std::string>({3}, {"οδος", "σα", "i"}));
  ASSERT_OK_AND_ASSIGN(const Tensor turkish, ChangeCase("LOWER", "tr_TR.UTF-8", {"I", "İ"}));
  EXPECT_THAT(turkish, TensorIs<std::string>({2}, {"ı", "i"}));
}

TEST(StringNormalizerTest, StopWordsInAnyCase) {
  const auto run = [](int64_t case_sensitive) {
    return OpTester("StringNormalizer")
        .Attr("is_case_sensitive", case_sensitive)
        .Attr("stopwords", Strings{"the", "STRASSE"})
        .Input(MakeTensor<std::string>({1, 4}, {"The", "straße", "way", "the"}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor any_case, run(0));
  EXPECT_THAT(any_case, TensorIs<std::string>({1, 1}, {"way"}));
  ASSERT_OK_AND_ASSIGN(const Tensor exact, run(1));
  EXPECT_THAT(exact, TensorIs<std::string>({1, 3}, {"The", "straße", "way"}));
}

TEST(StringNormalizerTest, NothingLeftIsOneEmptyText) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      OpTester("StringNormalizer").Input(MakeTensor<std::string>({1, 0}, {})).Run1());
  EXPECT_THAT(y, TensorIs<std::string>({1, 1}, {""}));
}

TEST(StringNormalizerTest, Refusals) {
  EXPECT_THAT(ChangeCase("UPPER", "C", {"ok", "\xff"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("element 1: the text is not UTF-8 at byte 0")));
  EXPECT_THAT(ChangeCase("Upper", "C", {"a"}).status().message(), HasSubstr("case_change_action"));
  EXPECT_THAT(OpTester("StringNormalizer")
                  .Input(MakeTensor<std::string>({2, 1}, {"a", "b"}))
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("expected [C] or [1,C]"));
}

TEST(StringSplitTest, SpacesAreTrimmedAndDelimitersAreNot) {
  const Tensor x = MakeTensor<std::string>({3}, {" a\tb\u3000c ", "", ",a,,b"});
  ASSERT_OK_AND_ASSIGN(const auto words, OpTester("StringSplit").Input(x).Outputs(2).Run());
  EXPECT_THAT(words[0],
              TensorIs<std::string>({3, 3}, {"a", "b", "c", "", "", "", ",a,,b", "", ""}));
  EXPECT_THAT(words[1], TensorIs<int64_t>({3}, {3, 0, 1}));
  ASSERT_OK_AND_ASSIGN(const auto fields, OpTester("StringSplit")
                                              .Attr("delimiter", std::string(","))
                                              .Attr("maxsplit", int64_t{2})
                                              .Input(x)
                                              .Outputs(2)
                                              .Run());
  EXPECT_THAT(fields[0],
              TensorIs<std::string>({3, 3}, {" a\tb\u3000c ", "", "", "", "", "", "", "a", ",b"}));
  EXPECT_THAT(fields[1], TensorIs<int64_t>({3}, {1, 1, 3}));
  ASSERT_OK_AND_ASSIGN(const Tensor rest,
                       OpTester("StringSplit").Attr("maxsplit", int64_t{1}).Input(x).Run1());
  EXPECT_THAT(rest, TensorIs<std::string>({3, 2}, {"a", "b\u3000c", "", "", ",a,,b", ""}));
}

TEST(StringConcatTest, Broadcasts) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("StringConcat")
                                           .Input(MakeTensor<std::string>({2, 1}, {"a", "b"}))
                                           .Input(MakeTensor<std::string>({3}, {"x", "", "z"}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({2, 3}, {"ax", "a", "az", "bx", "b", "bz"}));
}

TEST(RegexFullMatchTest, TheWholeTextMustMatch) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("RegexFullMatch")
                                           .Attr("pattern", std::string("[a-z]+é"))
                                           .Input(MakeTensor<std::string>({3}, {"abé", "abéc", ""}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<bool>({3}, {true, false, false}));
  EXPECT_THAT(OpTester("RegexFullMatch")
                  .Attr("pattern", std::string("(a"))
                  .Input(MakeTensor<std::string>({1}, {"a"}))
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("attribute pattern is not a regular expression"));
}

// Unigrams a, b; bigrams (a b), (b b).
OpTester WordCounter(const std::string& mode, int64_t skip) {
  OpTester op("TfIdfVectorizer");
  op.Attr("mode", mode)
      .Attr("min_gram_length", int64_t{1})
      .Attr("max_gram_length", int64_t{2})
      .Attr("max_skip_count", skip)
      .Attr("ngram_counts", std::vector<int64_t>{0, 2})
      .Attr("ngram_indexes", std::vector<int64_t>{4, 0, 1, 2})
      .Attr("pool_strings", Strings{"a", "b", "a", "b", "b", "b"});
  return op;
}

TEST(TfIdfVectorizerTest, CountsWeightsAndSkips) {
  const Tensor x = MakeTensor<std::string>({2, 4}, {"a", "b", "c", "b", "x", "x", "x", "x"});
  ASSERT_OK_AND_ASSIGN(const Tensor counts, WordCounter("TF", 0).Input(x).Run1());
  EXPECT_THAT(counts, TensorIs<float>({2, 5}, {2, 1, 0, 0, 1, 0, 0, 0, 0, 0}));
  // (b . b) with one token skipped, (a . . b) with two; single tokens are counted once.
  ASSERT_OK_AND_ASSIGN(const Tensor skipped, WordCounter("TF", 2).Input(x).Run1());
  EXPECT_THAT(skipped, TensorIs<float>({2, 5}, {2, 2, 1, 0, 1, 0, 0, 0, 0, 0}));
  const std::vector<float> weights = {10, 20, 30, 40};  // in the order of the pool
  ASSERT_OK_AND_ASSIGN(const Tensor weighted,
                       WordCounter("TFIDF", 2).Attr("weights", weights).Input(x).Run1());
  EXPECT_THAT(weighted, TensorIs<float>({2, 5}, {40, 60, 40, 0, 10, 0, 0, 0, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor present,
                       WordCounter("IDF", 2).Attr("weights", weights).Input(x).Run1());
  EXPECT_THAT(present, TensorIs<float>({2, 5}, {20, 30, 40, 0, 10, 0, 0, 0, 0, 0}));
}

TEST(TfIdfVectorizerTest, ARowWithoutTokensIsZero) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       WordCounter("TF", 9).Input(MakeTensor<std::string>({0}, {})).Run1());
  EXPECT_THAT(y, TensorIs<float>({5}, {0, 0, 0, 0, 0}));
}

TEST(TfIdfVectorizerTest, Refusals) {
  EXPECT_THAT(WordCounter("TF", 0).Input(MakeTensor<int64_t>({1}, {1})).Run1().status().message(),
              HasSubstr("input X is of type int64 but the pool is attribute pool_strings"));
  const Tensor x = MakeTensor<std::string>({1}, {"a"});
  EXPECT_THAT(WordCounter("TF", 0)
                  .Attr("ngram_counts", std::vector<int64_t>{0, 3})
                  .Input(x)
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("expected a whole number of n-grams"));
  EXPECT_THAT(WordCounter("TF", 0)
                  .Attr("ngram_indexes", std::vector<int64_t>{0, INT64_MAX})
                  .Input(x)
                  .Run1()
                  .status()
                  .message(),
              HasSubstr("ngram_indexes"));
}

}  // namespace
}  // namespace inferd::engine
