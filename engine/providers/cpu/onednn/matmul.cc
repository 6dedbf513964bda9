// MatMul, Gemm and their fused forms by oneDNN.
#include <algorithm>
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/providers/cpu/candidate_table.h"
#include "engine/providers/cpu/onednn/primitive.h"
#include "engine/providers/cpu/openmp_shim.h"
#include "engine/status_macros.h"

namespace inferd::engine::cpu {
namespace {

using dnnl::memory;
using PrimitiveDesc = dnnl::matmul::primitive_desc;

constexpr int kAddend = 2;  // C of Gemm, bias of FusedMatMul

// One operand: dimensions and strides of equal length, matrix axes last.
struct Matrix {
  memory::dims dims;
  memory::dims strides;
  memory::desc Desc() const { return StridedDesc(dims, strides); }
};

Matrix RowMajor(memory::dims dims) {
  const auto strides = RowMajorStrides(Shape(dims));
  return {std::move(dims), memory::dims(strides.begin(), strides.end())};
}

void Transpose(Matrix* matrix) {
  const size_t n = matrix->dims.size();
  std::swap(matrix->dims[n - 1], matrix->dims[n - 2]);
  std::swap(matrix->strides[n - 1], matrix->strides[n - 2]);
}

// The product as oneDNN sees it: operands of equal rank.
struct Product {
  Matrix a, b, y;
  float alpha = 1.0f;
  bool has_addend = false;
  memory::dims addend = {};  // dimensions, each 1 or that of y
};

// NumPy rules: a rank-1 operand gains an axis that the result loses again; leading axes broadcast.
absl::StatusOr<Product> ProductOfMatMul(const NodeSpec& spec) {
  Shape a = spec.input(0).shape, b = spec.input(1).shape;
  if (a.rank() == 0 || b.rank() == 0) {
    return absl::UnimplementedError("oneDNN matmul: scalar operand");
  }
  memory::dims a_dims = ToDims(a.dims()), b_dims = ToDims(b.dims());
  if (a.rank() == 1) a_dims.insert(a_dims.begin(), 1);
  if (b.rank() == 1) b_dims.push_back(1);
  // One matrix for all of A's leading axes: a single tall product instead of many small ones.
  if (b_dims.size() == 2 && a_dims.size() > 2) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < a_dims.size(); ++i) rows *= a_dims[i];
    a_dims = {rows, a_dims.back()};
  }
  const size_t rank = std::max(a_dims.size(), b_dims.size());
  a_dims.insert(a_dims.begin(), rank - a_dims.size(), 1);
  b_dims.insert(b_dims.begin(), rank - b_dims.size(), 1);
  memory::dims y_dims;
  for (size_t i = 0; i + 2 < rank; ++i) y_dims.push_back(std::max(a_dims[i], b_dims[i]));
  y_dims.push_back(a_dims[rank - 2]);
  y_dims.push_back(b_dims[rank - 1]);

  Product product{RowMajor(std::move(a_dims)), RowMajor(std::move(b_dims)),
                  RowMajor(std::move(y_dims))};
  if (spec.has_input(kAddend)) {
    product.has_addend = true;
    product.addend.assign(rank, 1);
    product.addend.back() = spec.input(kAddend).shape.NumElements();
  }
  return product;
}

absl::StatusOr<Product> ProductOfGemm(const NodeSpec& spec) {
  Product product{RowMajor(ToDims(spec.input(0).shape.dims())),
                  RowMajor(ToDims(spec.input(1).shape.dims())),
                  RowMajor(ToDims(spec.output(0).shape.dims()))};
  if (spec.attributes().GetInt("transA", 0) != 0) Transpose(&product.a);
  if (spec.attributes().GetInt("transB", 0) != 0) Transpose(&product.b);
  product.alpha = spec.attributes().GetFloat("alpha", 1.0f);
  const float beta = spec.attributes().GetFloat("beta", 1.0f);
  if (spec.has_input(kAddend) && beta != 0.0f) {
    if (beta != 1.0f) return absl::UnimplementedError("oneDNN gemm: beta is neither 0 nor 1");
    product.has_addend = true;
    product.addend = ToDims(spec.input(kAddend).shape.dims());
    product.addend.insert(product.addend.begin(), 2 - product.addend.size(), 1);
  }
  return product;
}

absl::StatusOr<Product> ProductOf(const NodeSpec& spec) {
  const absl::string_view op = spec.op().name;
  return op == "Gemm" || op == "FusedGemm" ? ProductOfGemm(spec) : ProductOfMatMul(spec);
}

// A row of biases goes into the primitive as such; other forms are added by a post-op.
bool IsBias(const Product& product) {
  if (!product.has_addend || product.alpha != 1.0f) return false;
  for (size_t i = 0; i + 1 < product.addend.size(); ++i) {
    if (product.addend[i] != 1) return false;
  }
  return product.addend.back() == product.y.dims.back();
}

int Threads(const NodeSpec& spec, const Product& product) {
  const double outputs = static_cast<double>(spec.output(0).shape.NumElements());
  return WorthwhileThreads(2 * outputs * static_cast<double>(product.a.dims.back()), spec.threads);
}

absl::StatusOr<PrimitiveDesc> DescribeWith(const NodeSpec& spec, const Product& product,
                                           const memory::desc& b) {
  ASSIGN_OR_RETURN(const ActivationChain activations, ReadActivations(spec.attributes()));
  return CatchDnnl("matmul", [&]() -> absl::StatusOr<PrimitiveDesc> {
    dnnl::post_ops post_ops;
    const bool bias = IsBias(product);
    if (product.has_addend && !bias) {
      post_ops.append_binary(dnnl::algorithm::binary_add, PlainDesc(product.addend));
    }
    AppendActivations(activations, &post_ops);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(post_ops);
    if (product.alpha != 1.0f) attributes.set_output_scales(0, {product.alpha});

    const memory::desc y = product.y.Desc();
    const dnnl::matmul::desc desc =
        bias ? dnnl::matmul::desc(product.a.Desc(), b, PlainDesc(product.addend), y)
             : dnnl::matmul::desc(product.a.Desc(), b, y);
    ScopedOpenMpPool planned(Threads(spec, product));
    PrimitiveDesc primitive_desc(desc, attributes, OneDnnEngine(), /*allow_empty=*/true);
    if (!primitive_desc || IsReferenceImplementation(primitive_desc.impl_info_str())) {
      return absl::UnimplementedError("oneDNN matmul: no fast implementation");
    }
    return primitive_desc;
  });
}

absl::StatusOr<PrimitiveDesc> Describe(const NodeSpec& spec, const Product& product) {
  const memory::desc stored = product.b.Desc();
  if (spec.input(1).constant == nullptr) return DescribeWith(spec, product, stored);
  ASSIGN_OR_RETURN(PrimitiveDesc packed, DescribeWith(spec, product, AnyDesc(product.b.dims)));
  // Where the weights would only be made row-major, the GEMM reads them as they are, transposed or
  // not: no second copy of what may be hundreds of megabytes.
  if (packed.weights_desc() == PlainDesc(product.b.dims)) {
    absl::StatusOr<PrimitiveDesc> in_place = DescribeWith(spec, product, stored);
    if (in_place.ok()) return in_place;
  }
  return packed;
}

class MatMulKernel final : public Kernel {
 public:
  MatMulKernel(std::unique_ptr<PrimitiveRunner> runner, bool runtime_b, bool addend,
               size_t workspace_bytes, size_t held_bytes)
      : runner_(std::move(runner)),
        runtime_b_(runtime_b),
        addend_(addend),
        workspace_bytes_(workspace_bytes),
        held_bytes_(held_bytes) {}

  size_t workspace_bytes() const override { return workspace_bytes_; }
  size_t held_bytes() const override { return held_bytes_; }

  absl::Status Run(KernelContext& context) const override {
    void* addresses[5];
    int n = 0;
    addresses[n++] = context.input(0).data;
    addresses[n++] = context.output(0).data;
    if (runtime_b_) addresses[n++] = context.input(1).data;
    if (addend_) addresses[n++] = context.input(kAddend).data;
    if (workspace_bytes_ > 0) addresses[n++] = context.workspace();
    return runner_->Run(context.threads(), absl::MakeConstSpan(addresses, n));
  }

 private:
  std::unique_ptr<PrimitiveRunner> runner_;
  bool runtime_b_, addend_;
  size_t workspace_bytes_, held_bytes_;
};

class MatMulImplementation final : public KernelImplementation {
 public:
  absl::string_view name() const override { return "onednn_matmul"; }

  absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const override {
    if (spec.input(0).type != ElementType::kFloat32) {
      return absl::UnimplementedError("oneDNN matmul: float only");
    }
    if (spec.input(0).shape.NumElements() == 0 || spec.input(1).shape.NumElements() == 0) {
      return absl::UnimplementedError("oneDNN matmul: empty operand");
    }
    ASSIGN_OR_RETURN(const Product product, ProductOf(spec));
    RETURN_IF_ERROR(Describe(spec, product).status());
    return KernelLayouts{std::vector<Layout>(spec.inputs.size()), {Layout::Plain()}};
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const override {
    ASSIGN_OR_RETURN(const Product product, ProductOf(spec));
    ASSIGN_OR_RETURN(const PrimitiveDesc desc, Describe(spec, product));
    std::vector<PrimitiveRunner::Constant> constants;
    const bool runtime_b = spec.input(1).constant == nullptr;
    size_t held = 0;
    if (!runtime_b) {
      const memory::desc stored = product.b.Desc();
      Tensor weights = *spec.input(1).constant;
      if (!(stored == desc.weights_desc())) {
        ASSIGN_OR_RETURN(weights,
                         PackConstant(weights, stored, desc.weights_desc(), spec.packed_weights));
        if (spec.packed_weights == nullptr) held = weights.num_bytes();
      }
      constants.push_back({DNNL_ARG_WEIGHTS, desc.weights_desc(), std::move(weights)});
    }
    return CatchDnnl("matmul", [&]() -> absl::StatusOr<std::unique_ptr<Kernel>> {
      std::vector<PrimitiveRunner::Operand> operands = {{DNNL_ARG_SRC, desc.src_desc()},
                                                        {DNNL_ARG_DST, desc.dst_desc()}};
      if (runtime_b) operands.push_back({DNNL_ARG_WEIGHTS, desc.weights_desc()});
      if (product.has_addend) {
        const int argument =
            IsBias(product) ? DNNL_ARG_BIAS : DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
        operands.push_back({argument, PlainDesc(product.addend)});
      }
      const size_t workspace = desc.scratchpad_desc().get_size();
      if (workspace > 0) operands.push_back({DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()});
      const int threads = Threads(spec, product);
      ScopedOpenMpPool planned(threads);
      auto runner = std::make_unique<PrimitiveRunner>(dnnl::matmul(desc), std::move(operands),
                                                      std::move(constants), threads);
      return std::make_unique<MatMulKernel>(std::move(runner), runtime_b, product.has_addend,
                                            workspace, held);
    });
  }
};

}  // namespace

void RegisterMatMul(CandidateTable& table) {
  const auto* matmul = table.Own(std::make_unique<MatMulImplementation>());
  for (const char* op : {"MatMul", "Gemm", "inferd::FusedMatMul", "inferd::FusedGemm"}) {
    table.Add(op, matmul);
  }
}

}  // namespace inferd::engine::cpu
