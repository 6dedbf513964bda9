// The wire codec against the classes protoc generates from the same contract.
#include "server/wire/infer_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "proto/inference.pb.h"
#include "server/wire/datatype.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using engine::ElementType;
using engine::Shape;
using engine::Tensor;
using ::testing::HasSubstr;

// A message cut into slices of its own.
class Sliced {
 public:
  explicit Sliced(std::string bytes) : Sliced(std::move(bytes), {}) {}
  Sliced(std::string bytes, const std::vector<size_t>& cuts) : bytes_(std::move(bytes)) {
    size_t begin = 0;
    auto add = [&](size_t end) {
      // Each slice lies alone in memory, so that reading past it is caught by a sanitizer.
      auto& block = blocks_.emplace_back(new uint8_t[end - begin]);
      std::memcpy(block.get(), bytes_.data() + begin, end - begin);
      spans_.emplace_back(block.get(), end - begin);
      begin = end;
    };
    for (size_t cut : cuts) add(std::clamp(cut, begin, bytes_.size()));
    add(bytes_.size());
  }
  BytesView view() const { return BytesView(spans_); }

 private:
  std::string bytes_;
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
  std::vector<ByteSpan> spans_;
};

absl::Status Parse(const std::string& bytes, InferRequest* request) {
  const Sliced sliced(bytes);
  return ParseInferRequest(sliced.view(), nullptr, request);
}

absl::Status Parse(const inference::ModelInferRequest& message, InferRequest* request) {
  return Parse(message.SerializeAsString(), request);
}

inference::ModelInferRequest OneInput(const std::string& datatype, std::vector<int64_t> shape) {
  inference::ModelInferRequest message;
  message.set_model_name("m");
  auto* input = message.add_inputs();
  input->set_name("x");
  input->set_datatype(datatype);
  input->mutable_shape()->Add(shape.begin(), shape.end());
  return message;
}

TEST(InferCodec, ReadsEveryFieldOfARequest) {
  inference::ModelInferRequest message = OneInput("FP32", {2, 1});
  message.set_model_version("3");
  message.set_id("r-1");
  (*message.mutable_parameters())["b"].set_bool_param(true);
  (*message.mutable_parameters())["i"].set_int64_param(-5);
  (*message.mutable_parameters())["s"].set_string_param("text");
  (*message.mutable_parameters())["d"].set_double_param(0.5);
  (*message.mutable_parameters())["u"].set_uint64_param(uint64_t{1} << 63);
  (*message.mutable_inputs(0)->mutable_parameters())["p"].set_int64_param(1);
  auto* output = message.add_outputs();
  output->set_name("y");
  (*output->mutable_parameters())["classification"].set_int64_param(3);
  const float values[] = {1.5f, -2.5f};
  message.add_raw_input_contents(values, sizeof(values));

  InferRequest request;
  ASSERT_TRUE(Parse(message, &request).ok());
  EXPECT_EQ(request.model_name, "m");
  EXPECT_EQ(request.model_version, "3");
  EXPECT_EQ(request.id, "r-1");
  EXPECT_EQ(request.parameters.size(), 5u);
  EXPECT_EQ(*request.parameters.Find("b"), ParameterValue(true));
  EXPECT_EQ(*request.parameters.Find("i"), ParameterValue(int64_t{-5}));
  EXPECT_EQ(*request.parameters.Find("s"), ParameterValue(std::string("text")));
  EXPECT_EQ(*request.parameters.Find("d"), ParameterValue(0.5));
  EXPECT_EQ(*request.parameters.Find("u"), ParameterValue(uint64_t{1} << 63));
  ASSERT_EQ(request.inputs.size(), 1u);
  EXPECT_EQ(request.inputs[0].name, "x");
  EXPECT_EQ(request.inputs[0].tensor.type, ElementType::kFloat32);
  EXPECT_EQ(request.inputs[0].tensor.shape, (Shape{2, 1}));
  EXPECT_EQ(*request.inputs[0].parameters.Find("p"), ParameterValue(int64_t{1}));
  ASSERT_EQ(request.outputs.size(), 1u);
  EXPECT_EQ(request.outputs[0].name, "y");
  EXPECT_EQ(*request.outputs[0].parameters.Find("classification"), ParameterValue(int64_t{3}));
}

// The plain bytes of an input, wherever they are.
std::string RawBytes(const InferInput& input) {
  if (input.tensor.data != nullptr) {
    EXPECT_TRUE(input.pieces.empty());
    return {static_cast<const char*>(input.tensor.data),
            static_cast<size_t>(input.tensor.num_bytes())};
  }
  std::string bytes;
  for (ByteSpan piece : input.pieces) {
    EXPECT_FALSE(piece.empty());
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), input.tensor.num_bytes());
  return bytes;
}

TEST(InferCodec, LeavesRawBytesWhereTheyLie) {
  const float values[] = {1, 2, 3, 4};
  inference::ModelInferRequest message = OneInput("FP32", {4});
  message.add_raw_input_contents(values, sizeof(values));
  const std::string bytes = message.SerializeAsString();
  int whole = 0, pieces = 0;
  for (size_t shift = 0; shift < 4; ++shift) {
    alignas(64) char memory[256];
    std::memcpy(memory + shift, bytes.data(), bytes.size());
    const ByteSpan span(reinterpret_cast<uint8_t*>(memory) + shift, bytes.size());
    InferRequest request;
    ASSERT_TRUE(
        ParseInferRequest(BytesView(absl::MakeConstSpan(&span, 1)), nullptr, &request).ok());
    const InferInput& input = request.inputs[0];
    EXPECT_TRUE(request.owned.empty());
    EXPECT_EQ(RawBytes(input), message.raw_input_contents(0));
    const auto* data = static_cast<const char*>(input.tensor.data);
    if (data != nullptr) {
      ++whole;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 4, 0u);
    } else {
      ++pieces;
      ASSERT_EQ(input.pieces.size(), 1u);
      data = reinterpret_cast<const char*>(input.pieces[0].data());
    }
    EXPECT_TRUE(data >= memory && data + sizeof(values) <= memory + sizeof(memory));
  }
  EXPECT_EQ(whole, 1);
  EXPECT_EQ(pieces, 3);
}

TEST(InferCodec, RawBytesThatAreSpreadOverSlicesAreNotJoined) {
  std::vector<float> values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  inference::ModelInferRequest message = OneInput("FP32", {100});
  message.add_raw_input_contents(values.data(), 400);
  const std::string bytes = message.SerializeAsString();
  // Every single cut, so that each varint, tag and string is split once.
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Sliced sliced(bytes, {cut, cut, cut + 3});
    InferRequest request;
    ASSERT_TRUE(ParseInferRequest(sliced.view(), nullptr, &request).ok()) << cut;
    EXPECT_TRUE(request.owned.empty()) << "a tensor buffer was allocated";
    EXPECT_EQ(RawBytes(request.inputs[0]), message.raw_input_contents(0));
    EXPECT_LE(request.inputs[0].pieces.size(), 3u);
  }
}

template <typename T>
void ExpectElements(const inference::ModelInferRequest& message, std::vector<T> expected) {
  InferRequest request;
  const absl::Status status = Parse(message, &request);
  ASSERT_TRUE(status.ok()) << status;
  const auto got = request.inputs[0].tensor.span<T>();
  EXPECT_EQ(std::vector<T>(got.begin(), got.end()), expected);
}

TEST(InferCodec, ReadsTypedContentsOfEveryDatatype) {
  auto make = [](const char* datatype, auto fill) {
    inference::ModelInferRequest message = OneInput(datatype, {2});
    fill(message.mutable_inputs(0)->mutable_contents());
    return message;
  };
  auto ints = [](int a, int b) {
    return [=](auto* c) { c->add_int_contents(a), c->add_int_contents(b); };
  };
  auto uints = [](uint32_t a, uint32_t b) {
    return [=](auto* c) { c->add_uint_contents(a), c->add_uint_contents(b); };
  };
  ExpectElements<int8_t>(make("INT8", ints(-128, 127)), {-128, 127});
  ExpectElements<int16_t>(make("INT16", ints(-32768, 32767)), {-32768, 32767});
  ExpectElements<int32_t>(make("INT32", ints(INT32_MIN, INT32_MAX)), {INT32_MIN, INT32_MAX});
  ExpectElements<uint8_t>(make("UINT8", uints(0, 255)), {0, 255});
  ExpectElements<uint16_t>(make("UINT16", uints(0, 65535)), {0, 65535});
  ExpectElements<uint32_t>(make("UINT32", uints(1, UINT32_MAX)), {1, UINT32_MAX});
  ExpectElements<int64_t>(make("INT64",
                               [](auto* c) {
                                 c->add_int64_contents(INT64_MIN);
                                 c->add_int64_contents(INT64_MAX);
                               }),
                          {INT64_MIN, INT64_MAX});
  ExpectElements<uint64_t>(make("UINT64",
                                [](auto* c) {
                                  c->add_uint64_contents(0);
                                  c->add_uint64_contents(UINT64_MAX);
                                }),
                           {0, UINT64_MAX});
  ExpectElements<float>(
      make("FP32", [](auto* c) { c->add_fp32_contents(1.5f), c->add_fp32_contents(-0.0f); }),
      {1.5f, -0.0f});
  ExpectElements<double>(
      make("FP64", [](auto* c) { c->add_fp64_contents(1e300), c->add_fp64_contents(2); }),
      {1e300, 2});
  ExpectElements<std::string>(
      make("BYTES", [](auto* c) { c->add_bytes_contents("a"), c->add_bytes_contents(""); }),
      {"a", ""});
  InferRequest request;
  ASSERT_TRUE(
      Parse(make("BOOL", [](auto* c) { c->add_bool_contents(true), c->add_bool_contents(false); }),
            &request)
          .ok());
  EXPECT_TRUE(request.inputs[0].tensor.as<bool>()[0]);
  EXPECT_FALSE(request.inputs[0].tensor.as<bool>()[1]);
}

TEST(InferCodec, BoolsAreCheckedAcrossSlices) {
  inference::ModelInferRequest message = OneInput("BOOL", {300});
  std::string raw(300, '\1');
  raw[250] = '\7';
  message.add_raw_input_contents(raw);
  const std::string bytes = message.SerializeAsString();
  const size_t begin = bytes.size() - raw.size();
  const Sliced sliced(bytes, {begin + 100, begin + 200});
  InferRequest request;
  const absl::Status status = ParseInferRequest(sliced.view(), nullptr, &request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("BOOL element 250 is 7"));
}

struct BadRequest {
  std::string name;
  std::function<void(inference::ModelInferRequest&)> spoil;
  std::string error;
};

class InferCodecErrors : public ::testing::TestWithParam<BadRequest> {};

TEST_P(InferCodecErrors, NameWhatIsWrong) {
  const float values[] = {1, 2};
  inference::ModelInferRequest message = OneInput("FP32", {2});
  message.add_raw_input_contents(values, sizeof(values));
  GetParam().spoil(message);
  InferRequest request;
  const absl::Status status = Parse(message, &request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().error));
}

using M = inference::ModelInferRequest;
INSTANTIATE_TEST_SUITE_P(
    , InferCodecErrors,
    ::testing::Values(
        BadRequest{"Datatype", [](M& m) { m.mutable_inputs(0)->set_datatype("FLOAT"); },
                   "input 'x' for model 'm' has unknown datatype 'FLOAT'; known are BOOL"},
        BadRequest{"TooShort", [](M& m) { m.set_raw_input_contents(0, "1234567"); },
                   "input byte size mismatch for input 'x' for model 'm'. Expected 8, got 7"},
        BadRequest{"NegativeDim", [](M& m) { m.mutable_inputs(0)->set_shape(0, -1); },
                   "impossible shape [-1]"},
        BadRequest{"Overflow",
                   [](M& m) {
                     m.mutable_inputs(0)->set_shape(0, int64_t{1} << 40);
                     m.mutable_inputs(0)->add_shape(int64_t{1} << 40);
                   },
                   "impossible shape"},
        BadRequest{"Rank",
                   [](M& m) {
                     for (int i = 0; i < 40; ++i) m.mutable_inputs(0)->add_shape(1);
                   },
                   "more than the 32 dimensions"},
        BadRequest{"BothForms",
                   [](M& m) { m.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1); },
                   "contents field must not be specified when using raw_input_contents for 'x' for "
                   "model 'm'"},
        BadRequest{"NoData", [](M& m) { m.clear_raw_input_contents(); },
                   "unable to find data for input tensor 'x' for model 'm' in request."},
        BadRequest{"ExtraRaw", [](M& m) { m.add_raw_input_contents("x"); },
                   "expected one raw_input_contents entry per input but got 2 for 1 inputs"},
        BadRequest{"MissingRaw", [](M& m) { *m.add_inputs() = m.inputs(0); }, "got 1 for 2 inputs"},
        BadRequest{"WrongField",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     m.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
                   },
                   "contents"},
        BadRequest{"TooFewContents",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     m.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
                   },
                   "shape [2] has 2 elements but fp32_contents holds 1"},
        BadRequest{"TooManyContents",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     for (int i = 0; i < 3; ++i) {
                       m.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
                     }
                   },
                   "has 2 elements but fp32_contents holds more"},
        BadRequest{"HugeShapeSmallContents",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     m.mutable_inputs(0)->set_shape(0, int64_t{1} << 50);
                     m.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
                   },
                   "elements but contents are only"},
        BadRequest{"Int8Range",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     m.mutable_inputs(0)->set_datatype("INT8");
                     m.mutable_inputs(0)->mutable_contents()->add_int_contents(1);
                     m.mutable_inputs(0)->mutable_contents()->add_int_contents(128);
                   },
                   "element 1 of int_contents does not fit datatype INT8"},
        BadRequest{"Fp16Contents",
                   [](M& m) {
                     m.clear_raw_input_contents();
                     m.mutable_inputs(0)->set_datatype("FP16");
                     m.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
                   },
                   "datatype FP16 has no contents field; send it in raw_input_contents"},
        BadRequest{"BoolValue",
                   [](M& m) {
                     m.mutable_inputs(0)->set_datatype("BOOL");
                     m.set_raw_input_contents(0, std::string("\1\2", 2));
                   },
                   "BOOL element 1 is 2"},
        BadRequest{"BytesPastEnd",
                   [](M& m) {
                     m.mutable_inputs(0)->set_datatype("BYTES");
                     m.set_raw_input_contents(0, std::string("\1\0\0\0a\xff\0\0\0b", 10));
                   },
                   "BYTES element 1 of 2 reaches past the end"},
        BadRequest{"BytesLeftOver",
                   [](M& m) {
                     m.mutable_inputs(0)->set_datatype("BYTES");
                     m.set_raw_input_contents(0, std::string("\0\0\0\0\0\0\0\0z", 9));
                   },
                   "1 bytes are left over"},
        BadRequest{"BytesCount",
                   [](M& m) {
                     m.mutable_inputs(0)->set_datatype("BYTES");
                     m.mutable_inputs(0)->set_shape(0, int64_t{1} << 40);
                   },
                   "cannot hold the"}),
    [](const auto& test) { return test.param.name; });

TEST(InferCodec, RefusesTextThatIsNotUtf8) {
  std::string bytes = OneInput("FP32", {1}).SerializeAsString();
  bytes[2] = '\xff';  // the model's name
  InferRequest request;
  const absl::Status status = Parse(bytes, &request);
  EXPECT_THAT(std::string(status.message()), HasSubstr("model_name is not valid UTF-8"));
}

// What a generated class accepts, the codec accepts, and the other way round where its own rules do
// not forbid more; either way nothing is read out of bounds.
TEST(InferCodec, SurvivesTruncationAndRandomBytes) {
  std::mt19937 random(7);
  inference::ModelInferRequest message = OneInput("INT64", {3});
  message.mutable_inputs(0)->mutable_contents()->add_int64_contents(-1);
  message.mutable_inputs(0)->mutable_contents()->add_int64_contents(300);
  message.mutable_inputs(0)->mutable_contents()->add_int64_contents(2);
  (*message.mutable_parameters())["k"].set_string_param("v");
  const std::string good = message.SerializeAsString();
  for (size_t n = 0; n < good.size(); ++n) {
    InferRequest request;
    const bool ours = Parse(good.substr(0, n), &request).ok();
    inference::ModelInferRequest theirs;
    EXPECT_TRUE(!ours || theirs.ParseFromString(good.substr(0, n))) << n;
  }
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const Sliced sliced(bytes, {random() % bytes.size()});
    InferRequest request;
    if (!ParseInferRequest(sliced.view(), nullptr, &request).ok()) continue;
    inference::ModelInferRequest theirs;
    ASSERT_TRUE(theirs.ParseFromString(bytes)) << round;
    EXPECT_EQ(theirs.model_name(), request.model_name);
    EXPECT_EQ(theirs.id(), request.id);
    EXPECT_EQ(theirs.inputs_size(), static_cast<int>(request.inputs.size()));
  }
}

TEST(InferCodec, RandomRequestsReadAsTheGeneratedClassWroteThem) {
  std::mt19937 random(11);
  const ElementType types[] = {ElementType::kFloat32, ElementType::kInt64, ElementType::kUint8,
                               ElementType::kFloat16, ElementType::kString};
  for (int round = 0; round < 300; ++round) {
    inference::ModelInferRequest message;
    message.set_model_name(std::string(random() % 20, 'n'));
    if (random() % 2) message.set_id(std::string(random() % 200, 'i'));
    const int inputs = static_cast<int>(random() % 4);
    for (int i = 0; i < inputs; ++i) {
      const ElementType type = types[random() % std::size(types)];
      auto* input = message.add_inputs();
      input->set_name("in" + std::to_string(i));
      input->set_datatype(std::string(DatatypeName(type)));
      int64_t count = 1;
      for (size_t d = random() % 4; d > 0; --d) {
        input->add_shape(random() % 5);
        count *= input->shape(input->shape_size() - 1);
      }
      std::string raw;
      for (int64_t e = 0; e < count; ++e) {
        if (type == ElementType::kString) {
          const uint32_t length = random() % 300;
          raw.append(reinterpret_cast<const char*>(&length), 4);
          raw.append(length, static_cast<char>(random()));
        } else {
          for (int64_t b = engine::ElementBytes(type, 1); b > 0; --b) {
            raw.push_back(static_cast<char>(random()));
          }
        }
      }
      message.add_raw_input_contents(raw);
    }
    const std::string bytes = message.SerializeAsString();
    const size_t cut = bytes.empty() ? 0 : random() % bytes.size();
    const Sliced sliced(bytes, {cut});
    InferRequest request;
    const absl::Status status = ParseInferRequest(sliced.view(), nullptr, &request);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(static_cast<int>(request.inputs.size()), inputs);
    for (int i = 0; i < inputs; ++i) {
      const engine::TensorView& tensor = request.inputs[i].tensor;
      std::string raw;
      if (tensor.type == ElementType::kString) {
        ASSERT_TRUE(AppendBytesTensor(tensor, &raw).ok());
      } else {
        raw = RawBytes(request.inputs[i]);
      }
      EXPECT_EQ(raw, message.raw_input_contents(i));
    }
  }
}

std::string Join(const EncodedInferResponse& encoded) {
  std::string bytes;
  for (const auto& part : encoded.parts) {
    bytes.append(encoded.framing, part.framing_begin, part.framing_end - part.framing_begin);
    bytes.append(reinterpret_cast<const char*>(part.tensor_bytes.data()), part.tensor_bytes.size());
  }
  return bytes;
}

TEST(InferCodec, ResponsesReadBackWithTheGeneratedClass) {
  std::vector<float> large(1000);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i) * 0.25f;
  const Tensor small = Tensor::FromValues<int32_t>(Shape{2, 1}, std::vector<int32_t>{7, -7});
  const Tensor big = Tensor::FromValues<float>(Shape{10, 100}, large);
  const Tensor text = Tensor::FromValues<std::string>(Shape{2}, std::vector<std::string>{"ab", ""});
  const Tensor empty = Tensor::FromValues<double>(Shape{0, 4}, std::vector<double>{});
  InferResponse response;
  response.model_name = "m";
  response.model_version = "2";
  response.id = "r";
  response.parameters.Set("final", true);
  response.parameters.Set("empty", std::string());
  response.parameters.Set("number", int64_t{-3});
  response.parameters.Set("ratio", 0.25);
  for (const auto& [name, tensor] : {std::pair<const char*, const Tensor*>{"small", &small},
                                     {"big", &big},
                                     {"text", &text},
                                     {"empty", &empty},
                                     {"big2", &big}}) {
    response.outputs.push_back({name, tensor->view(), tensor->buffer()});
  }
  const auto encoded = EncodeInferResponse(response);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  const std::string bytes = Join(*encoded);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), encoded->total_bytes);
  // Large tensors are referenced, not copied.
  EXPECT_LT(encoded->framing.size(), 400u);
  EXPECT_EQ(static_cast<const void*>(encoded->parts[0].tensor_bytes.data()), big.view().data);

  inference::ModelInferResponse theirs;
  ASSERT_TRUE(theirs.ParseFromString(bytes));
  EXPECT_EQ(theirs.model_name(), "m");
  EXPECT_EQ(theirs.model_version(), "2");
  EXPECT_EQ(theirs.id(), "r");
  EXPECT_TRUE(theirs.parameters().at("final").bool_param());
  EXPECT_TRUE(theirs.parameters().at("empty").has_string_param());
  EXPECT_EQ(theirs.parameters().at("number").int64_param(), -3);
  EXPECT_EQ(theirs.parameters().at("ratio").double_param(), 0.25);
  ASSERT_EQ(theirs.outputs_size(), 5);
  ASSERT_EQ(theirs.raw_output_contents_size(), 5);
  EXPECT_EQ(theirs.outputs(0).datatype(), "INT32");
  EXPECT_EQ(theirs.outputs(1).shape(1), 100);
  EXPECT_EQ(theirs.outputs(3).shape(0), 0);
  EXPECT_EQ(theirs.raw_output_contents(0), std::string("\7\0\0\0\xf9\xff\xff\xff", 8));
  EXPECT_EQ(0, std::memcmp(theirs.raw_output_contents(1).data(), large.data(), 4000));
  EXPECT_EQ(theirs.raw_output_contents(2), std::string("\2\0\0\0ab\0\0\0\0", 10));
  EXPECT_EQ(theirs.raw_output_contents(3), "");
  EXPECT_EQ(theirs.raw_output_contents(4).size(), 4000u);

  const std::string stream = StreamResponsePrefix(encoded->total_bytes) + bytes;
  inference::ModelStreamInferResponse wrapped;
  ASSERT_TRUE(wrapped.ParseFromString(stream));
  EXPECT_EQ(wrapped.infer_response().id(), "r");
  ASSERT_TRUE(wrapped.ParseFromString(EncodeStreamError("bad", "r9")));
  EXPECT_EQ(wrapped.error_message(), "bad");
  EXPECT_EQ(wrapped.infer_response().id(), "r9");
}

TEST(Datatype, NamesAndTypesMapBothWays) {
  for (int i = 0; i < engine::kNumElementTypes; ++i) {
    const auto type = static_cast<ElementType>(i);
    const absl::string_view name = DatatypeName(type);
    if (name.empty()) continue;
    EXPECT_EQ(DatatypeFromName(name), type);
    EXPECT_THAT(std::string(DatatypeNames()), HasSubstr(std::string(name)));
  }
  EXPECT_EQ(DatatypeFromName("BYTES"), ElementType::kString);
  EXPECT_EQ(DatatypeFromName("fp32"), std::nullopt);
  EXPECT_EQ(DatatypeName(ElementType::kComplex64), "");
}

}  // namespace
}  // namespace inferd::server
