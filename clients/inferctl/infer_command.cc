#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "clients/inferctl/input_flags.h"
#include "engine/status_macros.h"
#include "engine/tensor/npy_file.h"

namespace inferd::client {
namespace {

// Up to this many elements of an output are printed.
constexpr size_t kShown = 64;

template <typename T>
std::string ElementsText(const InferTensor& tensor) {
  const absl::Span<const T> values = tensor.values<T>();
  std::string text =
      absl::StrJoin(values.subspan(0, kShown), ", ", [](std::string* out, const T& v) {
        absl::StrAppend(out, static_cast<engine::ComputeType<T>>(v));
      });
  if (values.size() > kShown) absl::StrAppend(&text, ", ... ", values.size(), " in all");
  return text;
}

absl::StatusOr<std::string> Elements(const InferTensor& tensor) {
  const auto type = server::DatatypeFromName(tensor.datatype);
  if (!type.has_value()) {
    return absl::InternalError(
        absl::StrCat("output '", tensor.name, "' has unknown datatype ", tensor.datatype));
  }
  if (*type == engine::ElementType::kString) {
    ASSIGN_OR_RETURN(const std::vector<std::string> strings, tensor.strings());
    return absl::StrJoin(strings, ", ", [](std::string* out, const std::string& s) {
      absl::StrAppend(out, "\"", absl::CEscape(s), "\"");
    });
  }
  std::string text;
  engine::DispatchType<float, double, engine::Float16, engine::BFloat16, uint16_t, int16_t,
                       uint32_t, int32_t, uint64_t, int64_t>(
      *type, [&]<typename T>() { text = ElementsText<T>(tensor); });
  // One-byte elements are numbers, not characters.
  engine::DispatchType<uint8_t, int8_t, bool>(*type, [&]<typename T>() {
    text = absl::StrJoin(tensor.values<T>().subspan(0, kShown), ", ",
                         [](std::string* out, T v) { absl::StrAppend(out, static_cast<int>(v)); });
  });
  return text;
}

absl::Status WriteNpy(const InferTensor& output, const std::string& path) {
  engine::TensorView view;
  view.type = server::DatatypeFromName(output.datatype).value_or(engine::ElementType::kUndefined);
  view.shape = engine::Shape(absl::MakeConstSpan(output.shape));
  view.data = const_cast<char*>(output.data.data());
  // The elements of a BYTES tensor lie otherwise in a view; .npy files hold none, so that
  // WriteNpyFile never looks at them.
  ASSIGN_OR_RETURN(const int64_t count, view.shape.CheckedNumElements());
  const size_t size = output.data.size();
  // The count goes first: the number of bytes may overflow.
  if (view.type != engine::ElementType::kString &&
      (static_cast<size_t>(count) > size ||
       static_cast<size_t>(engine::ElementBytes(view.type, count)) != size)) {
    return absl::InternalError(absl::StrCat("output '", output.name, "' ", output.datatype,
                                            view.shape.ToString(), " came with ", size, " bytes"));
  }
  return engine::WriteNpyFile(path, view);
}

absl::Status Infer(const Arguments& args) {
  ASSIGN_OR_RETURN(const auto client, Client::Connect({.target = args.Get("--url")}));

  InferRequest request{.model = args.positional()[0], .version = args.Get("--version")};
  ASSIGN_OR_RETURN(request.timeout, args.GetDuration("--timeout"));
  ASSIGN_OR_RETURN(const ModelMetadata metadata,
                   client->GetModelMetadata(request.model, request.version));
  ASSIGN_OR_RETURN(request.inputs, BuildInputs(metadata, args, /*make_up_missing=*/false));
  request.outputs = args.All("--output");
  ASSIGN_OR_RETURN(const InferResult result, client->Infer(request));
  for (const InferTensor& output : result.outputs) {
    ASSIGN_OR_RETURN(const std::string elements, Elements(output));
    std::printf("%s %s[%s]: %s\n", output.name.c_str(), output.datatype.c_str(),
                absl::StrJoin(output.shape, ",").c_str(), elements.c_str());
    if (!args.has("--output-dir")) continue;
    RETURN_IF_ERROR(
        WriteNpy(output, absl::StrCat(args.Get("--output-dir"), "/", output.name, ".npy")));
  }
  return absl::OkStatus();
}

}  // namespace

int InferCommand(absl::Span<const char* const> args) {
  CommandSpec spec{.program = "inferctl",
                   .name = "infer",
                   .positional = "MODEL",
                   .summary = "Runs MODEL once and prints its outputs.",
                   .flags = {std::begin(kInputFlags), std::end(kInputFlags)}};
  spec.flags.push_back({"--version", "V", "", "model version; the newest by default"});
  spec.flags.push_back({"--output", "NAME", "", "only this output; repeatable"});
  spec.flags.push_back({"--output-dir", "DIR", "", "also write outputs there as .npy"});
  spec.flags.push_back({"--timeout", "DURATION", "60s", "bound on the call"});
  spec.flags.push_back(kUrlFlag);
  return RunCommand(spec, args, Infer);
}

}  // namespace inferd::client
