// ImageDecoder: the bytes of an image file to pixels.
#include "engine/image/image_decoder.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum class PixelFormat { kRgb, kBgr, kGrayscale };

absl::StatusOr<PixelFormat> ReadPixelFormat(const Attributes& attributes) {
  const std::string name = attributes.GetString("pixel_format", "RGB");
  if (name == "RGB") return PixelFormat::kRgb;
  if (name == "BGR") return PixelFormat::kBgr;
  if (name == "Grayscale") return PixelFormat::kGrayscale;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute pixel_format is \"", name, "\", expected RGB, BGR or Grayscale"));
}

int64_t Channels(PixelFormat format) { return format == PixelFormat::kGrayscale ? 1 : 3; }

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const PixelFormat format, ReadPixelFormat(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, 0, 1, 1));
  context.SetOutput(0, ElementType::kUint8,
                    SymbolicShape({Dim::Unknown(), Dim::Unknown(), Dim(Channels(format))}));
  return absl::OkStatus();
}

// Luma of ITU-R BT.601, rounded, in fixed point whose weights add up to one: gray stays as it is.
void ToGray(const uint8_t* rgb, int64_t pixels, uint8_t* gray) {
  for (int64_t i = 0; i < pixels; ++i, rgb += 3) {
    const uint32_t luma = 19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2];
    gray[i] = static_cast<uint8_t>((luma + 0x8000) >> 16);
  }
}

absl::Status DecodeColor(KernelContext& context, absl::Span<const uint8_t> file, bool swap) {
  uint8_t* pixels = nullptr;
  int64_t count = 0;
  RETURN_IF_ERROR(DecodeImage(file, [&](int64_t width, int64_t height) -> absl::StatusOr<uint8_t*> {
    ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, Shape{height, width, 3}));
    count = width * height;
    pixels = y.as<uint8_t>();
    return pixels;
  }));
  if (swap) {
    for (int64_t i = 0; i < count; ++i) std::swap(pixels[3 * i], pixels[3 * i + 2]);
  }
  return absl::OkStatus();
}

absl::Status DecodeGray(KernelContext& context, absl::Span<const uint8_t> file) {
  std::unique_ptr<uint8_t[]> colors;
  Shape shape;
  RETURN_IF_ERROR(DecodeImage(file, [&](int64_t width, int64_t height) -> absl::StatusOr<uint8_t*> {
    shape = Shape{height, width, 1};
    colors.reset(new (std::nothrow) uint8_t[3 * width * height]);
    if (colors == nullptr) return absl::ResourceExhaustedError("no memory for the image");
    return colors.get();
  }));
  ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, shape));
  ToGray(colors.get(), y.num_elements(), y.as<uint8_t>());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const PixelFormat format, ReadPixelFormat(spec.attributes()));
  return MakeKernel([format](KernelContext& context) -> absl::Status {
    const TensorView& x = context.input(0);
    const auto file = absl::MakeConstSpan(x.as<uint8_t>(), x.num_elements());
    const absl::Status status = format == PixelFormat::kGrayscale
                                    ? DecodeGray(context, file)
                                    : DecodeColor(context, file, format == PixelFormat::kBgr);
    // The standard answers what cannot be decoded with an image of no pixels, so that a model can
    // test for it. An image too large for this machine says nothing about the file: an error.
    if (absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) {
      return context.AllocateOutput(0, Shape{0, 0, Channels(format)}).status();
    }
    return status;
  });
}

}  // namespace

void RegisterImageDecoderOps(OpRegistry& registry) {
  registry.Register({.name = "ImageDecoder",
                     .version = 20,
                     .oldest_version = 20,
                     .inputs = {{"encoded_stream", "", {ElementType::kUint8}}},
                     .outputs = {{"image", "", {ElementType::kUint8}}},
                     .attributes = {{"pixel_format", AttributeSpec::Kind::kString}},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
