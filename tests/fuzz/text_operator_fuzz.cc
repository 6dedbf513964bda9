// Operators on text with attributes and inputs drawn from bytes: each run ends in a result that
// agrees with its shape function, or in an error that blames the model or the input.
#include <cstdio>
#include <cstdlib>

#include "engine/ops/op_def.h"
#include "tests/engine/ops/op_tester.h"
#include "tests/fuzz/mutating_driver.h"

namespace inferd::engine {
namespace {

// Draws values from bytes; zeros when they are used up.
class Draw {
 public:
  Draw(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t Byte() { return at_ < size_ ? data_[at_++] : 0; }
  bool Flip() { return Byte() % 2 == 1; }
  // Mostly small, now and then from the ends of the range.
  int64_t Int() {
    const uint8_t byte = Byte();
    switch (byte) {
      case 0xff:
        return -1;
      case 0xfe:
        return INT64_MAX;
      case 0xfd:
        return INT64_MIN;
      case 0xfc:
        return int64_t{1} << 40;
      default:
        return byte % 8;
    }
  }
  std::vector<int64_t> Ints() {
    std::vector<int64_t> values(Byte() % 9);
    for (int64_t& value : values) value = Int();
    return values;
  }
  // A few words repeat, so that some are found; the rest is any bytes.
  std::string Text() {
    static constexpr const char* kWords[] = {"",       "a",  "b c",   "\u00df", "\u0130I",
                                             " x  y ", ",,", "[a-z]", "(a",     "a*"};
    const uint8_t byte = Byte();
    if (byte < 0xc0) return kWords[byte % std::size(kWords)];
    std::string text(byte % 16, '\0');
    for (char& c : text) c = static_cast<char>(Byte());
    return text;
  }
  std::vector<std::string> Texts(size_t count) {
    std::vector<std::string> texts(count);
    for (std::string& text : texts) text = Text();
    return texts;
  }
  Shape SomeShape() {
    Shape shape;
    for (int i = Byte() % 4; i > 0; --i) shape.push_back(Byte() % 4);
    return shape;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

Tensor TextTensor(Draw& draw) {
  const Shape shape = draw.SomeShape();
  const std::vector<std::string> texts = draw.Texts(shape.NumElements());
  return Tensor::FromValues<std::string>(shape, texts);
}

template <typename T>
Tensor IntTensor(Draw& draw) {
  const Shape shape = draw.SomeShape();
  std::vector<T> values(shape.NumElements());
  for (T& value : values) value = static_cast<T>(draw.Int());
  return Tensor::FromValues<T>(shape, values);
}

OpTester TfIdf(Draw& draw) {
  OpTester op("TfIdfVectorizer");
  static constexpr const char* kModes[] = {"TF", "IDF", "TFIDF", ""};
  op.Attr("mode", std::string(kModes[draw.Byte() % 4]));
  op.Attr("min_gram_length", draw.Int());
  op.Attr("max_gram_length", draw.Int());
  op.Attr("max_skip_count", draw.Int());
  op.Attr("ngram_counts", draw.Ints());
  std::vector<int64_t> coordinates = draw.Ints();
  // The size of the output is theirs: one that memory can hold.
  for (int64_t& c : coordinates) c = c > 1000 ? 1000 : c;
  op.Attr("ngram_indexes", coordinates);
  if (draw.Flip()) op.Attr("weights", std::vector<float>(draw.Byte() % 9, 0.5f));
  const bool strings = draw.Flip();
  if (strings || draw.Byte() == 0) op.Attr("pool_strings", draw.Texts(draw.Byte() % 9));
  if (!strings || draw.Byte() == 0) op.Attr("pool_int64s", draw.Ints());
  op.Input(strings       ? TextTensor(draw)
           : draw.Flip() ? IntTensor<int32_t>(draw)
                         : IntTensor<int64_t>(draw));
  return op;
}

OpTester Normalizer(Draw& draw) {
  OpTester op("StringNormalizer");
  static constexpr const char* kActions[] = {"NONE", "LOWER", "UPPER", "lower"};
  op.Attr("case_change_action", std::string(kActions[draw.Byte() % 4]));
  op.Attr("is_case_sensitive", draw.Int());
  op.Attr("stopwords", draw.Texts(draw.Byte() % 4));
  if (draw.Flip()) op.Attr("locale", draw.Flip() ? std::string("tr_TR.UTF-8") : draw.Text());
  op.Input(TextTensor(draw));
  return op;
}

OpTester Splitter(Draw& draw) {
  OpTester op("StringSplit");
  if (draw.Flip()) op.Attr("delimiter", draw.Text());
  if (draw.Flip()) op.Attr("maxsplit", draw.Int());
  op.Input(TextTensor(draw)).Outputs(2);
  return op;
}

OpTester Matcher(Draw& draw) {
  OpTester op("RegexFullMatch");
  if (draw.Byte() > 0) op.Attr("pattern", draw.Text());
  op.Input(TextTensor(draw));
  return op;
}

OpTester Tokenizer(Draw& draw) {
  OpTester op("Tokenizer", "com.microsoft");
  op.Attr("mark", draw.Int());
  op.Attr("mincharnum", draw.Int());
  op.Attr("pad_value", draw.Text());
  if (draw.Flip()) op.Attr("separators", draw.Texts(draw.Byte() % 4));
  if (draw.Flip()) op.Attr("tokenexp", draw.Text());
  op.Input(TextTensor(draw));
  return op;
}

}  // namespace
}  // namespace inferd::engine

std::vector<std::string> inferd::fuzz::SeedInputs() {
  // The first byte picks the operator; the rest of the first one is a well-formed TfIdfVectorizer.
  std::vector<std::string> seeds = {
      std::string("\0\0\1\2\1\2\0\2\4\0\1\2\3\0\0\1\6\1\2\1\2\2\1\0\1\2\2\3\1\2\1\2\3\1", 34)};
  for (int op = 0; op < 5; ++op) {
    std::string seed(1, static_cast<char>(op));
    for (int i = 0; i < 60; ++i) seed.push_back(static_cast<char>(i * 7 % 11));
    seeds.push_back(seed);
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace inferd::engine;  // NOLINT: one function
  Draw draw(data, size);
  static const bool has_tokenizer =
      OpRegistry::Global().Find("com.microsoft", "Tokenizer") != nullptr;
  const auto make = [&] {
    switch (draw.Byte() % (has_tokenizer ? 5 : 4)) {
      case 0:
        return TfIdf(draw);
      case 1:
        return Normalizer(draw);
      case 2:
        return Splitter(draw);
      case 3:
        return Matcher(draw);
      default:
        return Tokenizer(draw);
    }
  };
  const absl::Status status = make().Run().status();
  if (!status.ok() && !absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status) &&
      !absl::IsResourceExhausted(status)) {
    std::fprintf(stderr, "unexpected kind of error: %s\n", std::string(status.ToString()).c_str());
    std::abort();
  }
  return 0;
}
