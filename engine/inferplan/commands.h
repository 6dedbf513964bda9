// The commands of inferplan, one per file.
#pragma once

#include "absl/types/span.h"

namespace inferd::engine {

// As engine/command_line/command.h says of a Command.
int RunCheck(absl::Span<const char* const> args);
int RunRun(absl::Span<const char* const> args);
int RunTest(absl::Span<const char* const> args);
int RunCompare(absl::Span<const char* const> args);
int RunOperators(absl::Span<const char* const> args);
int RunBench(absl::Span<const char* const> args);
int RunProfile(absl::Span<const char* const> args);
int RunSweep(absl::Span<const char* const> args);

}  // namespace inferd::engine
