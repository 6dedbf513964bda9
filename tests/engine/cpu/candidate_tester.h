// Runs one candidate of the CPU provider against the operator's reference kernel.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class CandidateTester {
 public:
  // `op` as OpDef::qualified_name(), e.g. "inferd::FusedConv".
  explicit CandidateTester(std::string op) : op_(std::move(op)) {}

  CandidateTester& Attr(std::string name, AttributeValue value);
  CandidateTester& Input(Tensor tensor);
  CandidateTester& Constant(Tensor tensor);
  CandidateTester& NoInput();
  // |actual - expected| <= atol + rtol * |expected|; defaults fit sums of some hundred products.
  CandidateTester& Tolerance(double atol, double rtol);

  enum class Layouts { kPlain, kBlocked, kBoth };

  // Offers the node with its runtime inputs plain, blocked, or first one and then the other; the
  // candidate must accept, and on 1 and 2 threads, with fresh and with reused memory, and in
  // place where the operator allows it, must equal the reference and leave padding lanes zero.
  // The status says what went wrong.
  absl::Status Check(absl::string_view candidate, Layouts layouts = Layouts::kBoth) const;

  // One kernel, run by several contexts at the same time, each with memory and threads of its own,
  // equals the reference in all of them.
  absl::Status CheckSideBySide(absl::string_view candidate, int contexts) const;

  // Why `candidate` declines the node offered in plain layouts; OK when it accepts.
  absl::Status Offer(absl::string_view candidate) const;

 private:
  struct Operand {
    Tensor tensor;  // undefined: absent
    bool constant = false;
  };
  struct Built;
  absl::StatusOr<Built> Build() const;

  std::string op_;
  Attributes attributes_;
  std::vector<Operand> operands_;
  double atol_ = 1e-4, rtol_ = 1e-4;
};

}  // namespace inferd::engine
