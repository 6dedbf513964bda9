#include "server/http/json/json_data.h"

#include <array>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "server/http/json/json_number.h"
#include "server/http/json/json_string.h"
#include "server/wire/datatype.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using engine::Shape;

const char* SkipSpace(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

bool ReadWord(const char** at, const char* end, absl::string_view word) {
  if (absl::string_view(*at, end - *at).substr(0, word.size()) != word) return false;
  *at += word.size();
  return true;
}

template <typename T>
const char* ReadElement(const char* at, const char* end, T* out, const char** error) {
  if constexpr (std::is_same_v<T, std::string>) {
    const char* after = ReadJsonString(at, end, out);
    if (after == nullptr) *error = "is not a string";
    return after;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (ReadWord(&at, end, "true") || ReadWord(&at, end, "1")) {
      *out = true;
    } else if (ReadWord(&at, end, "false") || ReadWord(&at, end, "0")) {
      *out = false;
    } else {
      *error = "is neither true nor false";
      return nullptr;
    }
    return at;
  } else {
    return ReadNumber(at, end, out, error);
  }
}

// Moves from the end of an element past a comma to a further element of the same array, if one
// follows right there; leaves *at alone otherwise.
bool SkipToNextInRow(const char** at, const char* end) {
  const char* next = *at;
  if (end - next < 2 || *next != ',') return false;
  ++next;
  if (*next == ' ' && end - next >= 2) ++next;
  if (*next == '[' || *next == ']' || *next == ',' || *next <= ' ') return false;
  *at = next;
  return true;
}

// Walks arrays nested to any depth and hands out elements, checking the nesting against a shape.
class ArrayWalker {
 public:
  ArrayWalker(absl::string_view json, const Shape& shape)
      : at_(json.data()), end_(json.data() + json.size()), shape_(shape) {}

  // Moves to the next element; false at the end of the value and on errors, see error().
  bool Next() {
    at_ = SkipSpace(at_, end_);
    while (at_ < end_) {
      if (*at_ == '[' && expect_value_) {
        if (++depth_ > kMaxJsonDepth) return Fail("is nested deeper than 100 arrays");
        if (depth_ <= kMaxRank) lengths_[depth_ - 1] = 0;
        may_close_ = true;
        ++at_;
      } else if (*at_ == ']' && depth_ > 0 && (may_close_ || !expect_value_)) {
        if (!CheckLength()) return false;
        --depth_;
        if (depth_ > 0 && depth_ <= kMaxRank) ++lengths_[depth_ - 1];
        ++at_;
        expect_value_ = false;
        may_close_ = false;
      } else if (*at_ == ',' && !expect_value_ && depth_ > 0) {
        expect_value_ = true;
        ++at_;
      } else if (expect_value_) {
        if (element_depth_ < 0) {
          element_depth_ = depth_;
          if (depth_ > 1 && depth_ != shape_.rank()) {
            return Fail(absl::StrCat("is nested ", depth_, " deep where ", shape_.rank(),
                                     " dimensions, or a flat array, are expected"));
          }
        }
        if (depth_ != element_depth_) return Fail("is nested unevenly");
        return true;
      } else {
        break;
      }
      at_ = SkipSpace(at_, end_);
    }
    if (at_ < end_ || depth_ != 0) return Fail("is not a well-formed array");
    return false;
  }

  const char* at() const { return at_; }
  const char* end() const { return end_; }
  // After `count` elements of one array, the first of which Next() had found.
  void SetElementsEnd(const char* at, int64_t count) {
    at_ = at;
    if (depth_ > 0 && depth_ <= kMaxRank) lengths_[depth_ - 1] += count;
    expect_value_ = false;
    may_close_ = false;
  }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }
  // Of the array that closes. A flat array is checked by the number of elements alone.
  bool CheckLength() {
    if (element_depth_ <= 1 || depth_ > element_depth_) return true;
    const int64_t expected = shape_[depth_ - 1];
    const int64_t got = lengths_[depth_ - 1];
    if (expected == got) return true;
    return Fail(absl::StrCat("has an array of length ", got, " where dimension ", depth_ - 1,
                             " of shape ", shape_.ToString(), " is ", expected));
  }

  const char* at_;
  const char* end_;
  const Shape& shape_;
  int depth_ = 0;
  int element_depth_ = -1;  // of the first element
  bool expect_value_ = true;
  bool may_close_ = false;
  std::array<int64_t, kMaxRank> lengths_{};
  std::string error_;
};

template <typename T>
absl::Status Fill(absl::string_view json, const InferRequest& request, const InferInput& input) {
  auto error = [&](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat("data of input '", input.name, "' for model '",
                                                   request.model_name, "' ", text...));
  };
  const int64_t count = input.tensor.num_elements();
  T* out = input.tensor.as<T>();
  ArrayWalker walker(json, input.tensor.shape);
  int64_t filled = 0;
  while (walker.Next()) {
    if (filled == count) {
      return error("has more than the ", count, " elements of shape ",
                   input.tensor.shape.ToString());
    }
    // The elements of a row follow each other without need to look at the nesting.
    const char* at = walker.at();
    const int64_t row_begin = filled;
    do {
      const char* reason = nullptr;
      const char* after = ReadElement(at, walker.end(), &out[filled], &reason);
      if (after == nullptr) {
        return error("is not ", DatatypeName(input.tensor.type), ": element ", filled, " ", reason);
      }
      ++filled;
      at = after;
    } while (filled < count && SkipToNextInRow(&at, walker.end()));
    walker.SetElementsEnd(at, filled - row_begin);
  }
  if (!walker.error().empty()) return error(walker.error());
  if (filled != count) {
    return error("has ", filled, " elements where shape ", input.tensor.shape.ToString(), " has ",
                 count);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BindJsonData(absl::string_view json, InferRequest* request, InferInput* input) {
  // An element takes a character and a comma, so a shape that promises more is refused before
  // memory is asked for.
  if (static_cast<uint64_t>(input->tensor.num_elements()) > json.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("data of input '", input->name, "' for model '", request->model_name,
                     "' has too few "
                     "elements: shape ",
                     input->tensor.shape.ToString(), " has ", input->tensor.num_elements()));
  }
  RETURN_IF_ERROR(AllocateTensor(request, input));
  absl::Status status;
  const bool known = engine::DispatchType<float, double, engine::Float16, engine::BFloat16, int8_t,
                                          int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                          uint64_t, bool, std::string>(
      input->tensor.type, [&]<typename T>() { status = Fill<T>(json, *request, *input); });
  if (!known) return absl::InternalError("a datatype without a JSON form");
  return status;
}

}  // namespace inferd::server
