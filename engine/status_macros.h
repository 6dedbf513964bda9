// Early return on absl::Status, the one error style of the project.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define INFERD_CONCAT_INNER(a, b) a##b
#define INFERD_CONCAT(a, b) INFERD_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (absl::Status _status = (expr); !_status.ok()) return _status; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, Compute()): x is declared in the enclosing scope.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(INFERD_CONCAT(_status_or_, __LINE__), lhs, expr)

#define ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)    \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
