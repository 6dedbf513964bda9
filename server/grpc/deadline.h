// The deadline of a gRPC call on the scheduler's clock, which is not the wall clock it comes in.
#pragma once

#include <grpcpp/server_context.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "scheduler/clock.h"

namespace inferd::server {

inline absl::Time DeadlineOf(const grpc::ServerContext& call, const scheduler::Clock& clock) {
  const auto deadline = call.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return clock.Now() + (absl::FromChrono(deadline) - absl::Now());
}

}  // namespace inferd::server
