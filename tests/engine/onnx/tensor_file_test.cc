#include "engine/onnx/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

class RoundTripTest : public ::testing::TestWithParam<int> {};

TEST_P(RoundTripTest, EveryElementType) {
  const auto type = static_cast<ElementType>(GetParam());
  auto tensor = Tensor::Allocate(type, {3, 5});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  if (type == ElementType::kString) {
    for (int i = 0; i < 15; ++i) tensor->mutable_data<std::string>()[i] = absl::StrCat("s", i);
  } else {
    auto* bytes = static_cast<uint8_t*>(tensor->view().data);
    for (int64_t i = 0; i < tensor->num_bytes(); ++i) {
      bytes[i] = static_cast<uint8_t>(type == ElementType::kBool ? i % 2 : 7 * i + 1);
    }
  }
  std::string name;
  auto back = ParseTensorProto(SerializeTensorProto(tensor->view(), "x"), &name);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(name, "x");
  EXPECT_EQ(back->type(), type);
  EXPECT_EQ(back->shape(), tensor->shape());
  if (type == ElementType::kString) {
    EXPECT_EQ(back->data<std::string>()[14], "s14");
  } else {
    EXPECT_EQ(std::memcmp(back->view().data, tensor->view().data, tensor->num_bytes()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RoundTripTest, ::testing::Range(1, kNumElementTypes),
                         [](const auto& tested) {
                           return std::string(
                               ElementTypeName(static_cast<ElementType>(tested.param)));
                         });

TEST(TensorFileTest, ReadsAFileAndNamesABadOne) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/tensor_file_test.pb");
  const Tensor tensor = Tensor::FromValues<float>({2}, {1.0f, 2.0f});
  const std::string bytes = SerializeTensorProto(tensor.view(), "");
  std::ofstream(path, std::ios::binary) << bytes;
  auto back = ReadTensorFile(path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->data<float>()[1], 2.0f);

  std::ofstream(path, std::ios::binary) << bytes.substr(0, bytes.size() - 3);
  auto truncated = ReadTensorFile(path);
  EXPECT_EQ(truncated.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(truncated.status().message()), HasSubstr(path));
  std::ofstream(path, std::ios::binary) << "";
  EXPECT_EQ(ReadTensorFile(path).status().code(), absl::StatusCode::kInvalidArgument);
  std::remove(path.c_str());
  EXPECT_EQ(ReadTensorFile(path).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inferd::engine
