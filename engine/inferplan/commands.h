// The subcommands of inferplan, one per file.
#pragma once

#include "absl/types/span.h"

namespace inferd::engine {

// `args` are those after the subcommand. Each prints to stdout (results) and stderr (errors) and
// returns the exit status: 0 success, 1 the answer is no or the work failed, 2 wrong usage.
int RunCheck(absl::Span<const char* const> args);
int RunRun(absl::Span<const char* const> args);
int RunTest(absl::Span<const char* const> args);
int RunBench(absl::Span<const char* const> args);

}  // namespace inferd::engine
