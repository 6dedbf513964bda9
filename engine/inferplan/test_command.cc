// inferplan test: ONNX backend-test folders, a line per failure.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/command_line/command.h"
#include "engine/inferplan/backend_case.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/declared_tolerance.h"
#include "engine/inferplan/json_writer.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

const CommandSpec& Spec() {
  static const CommandSpec spec = {
      "inferplan",
      "test",
      "DIR...",
      1,
      INT_MAX,
      "Runs every folder at or below DIR that holds model.onnx and test_data_set_*. Prints a line\n"
      "per failing case and, last, \"N passed, M failed, K skipped\". Exit status 1 when a case\n"
      "failed or one that is expected to fail passed, 2 for wrong usage.",
      {{"--filter", "REGEX", "", "only cases whose folder name has a match"},
       {"--ops", "A,B,...", "",
        "only models all of whose operators are listed; others are skipped"},
       {"--expect", "FILE", "",
        "cases expected to fail: a name and the reason on each line; repeatable"},
       {"--tolerances", "FILE", "",
        "other tolerances for some cases: a name or glob, rtol, atol and the reason on each line;\n"
        "repeatable"},
       {"--rtol", "X", "1e-3", "relative tolerance"},
       {"--atol", "X", "1e-7", "absolute tolerance"},
       {"--eager", "", "", "reference kernels, unoptimized"},
       {"--threads", "N", "1", "intra-op threads"},
       {"--verbose", "", "", "a line for passing and skipped cases too"},
       {"--json", "FILE", "", "write the results there"}}};
  return spec;
}

struct CaseResult {
  std::string name, status, reason;
  double milliseconds = 0;
};

using Expectations = std::map<std::string, std::string>;

absl::StatusOr<Expectations> ReadExpectations(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  Expectations expected;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
    const absl::string_view reason = absl::StripAsciiWhitespace(parts.second);
    if (reason.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", parts.first,
                                                     " has no reason; expected NAME REASON"));
    }
    expected[std::string(parts.first)] = std::string(reason);
  }
  return expected;
}

// Empty when every operator of the model is in `allowed`; otherwise the first that is not.
std::string OperatorOutside(const std::string& model, const std::set<std::string>& allowed) {
  absl::StatusOr<std::vector<OperatorUse>> uses = ListOperators(model, OpRegistry::Global());
  // A file that cannot be read is a case that fails, not one to skip.
  if (!uses.ok()) return "";
  for (const OperatorUse& use : *uses) {
    std::string name = use.domain.empty() ? use.op : absl::StrCat(use.domain, "::", use.op);
    if (allowed.count(name) == 0) return name;
  }
  return "";
}

class TestRun {
 public:
  absl::Status Configure(const Arguments& arguments) {
    options_.eager = arguments.has("--eager");
    verbose_ = arguments.has("--verbose");
    ASSIGN_OR_RETURN(options_.tolerance.rtol, arguments.GetDouble("--rtol", 0));
    ASSIGN_OR_RETURN(options_.tolerance.atol, arguments.GetDouble("--atol", 0));
    ASSIGN_OR_RETURN(const int64_t threads,
                     arguments.GetInt("--threads", 1, std::numeric_limits<int>::max()));
    options_.threads = static_cast<int>(threads);
    for (const std::string& path : arguments.All("--expect")) {
      ASSIGN_OR_RETURN(Expectations expected, ReadExpectations(path));
      expected_.merge(expected);
    }
    for (const std::string& path : arguments.All("--tolerances")) {
      ASSIGN_OR_RETURN(std::vector<DeclaredTolerance> declared, ReadTolerances(path));
      tolerances_.insert(tolerances_.end(), declared.begin(), declared.end());
    }
    for (absl::string_view op : absl::StrSplit(arguments.Get("--ops"), ',', absl::SkipEmpty())) {
      allowed_.insert(std::string(op));
    }
    try {
      filter_ = std::regex(arguments.Get("--filter"));
    } catch (const std::regex_error& e) {
      return absl::InvalidArgumentError(absl::StrCat("--filter: ", e.what()));
    }
    for (const std::string& root : arguments.positional()) {
      ASSIGN_OR_RETURN(std::vector<BackendCase> found, FindBackendCases(root));
      cases_.insert(cases_.end(), found.begin(), found.end());
    }
    WarnOfUnusedTolerances();
    return absl::OkStatus();
  }

  void Execute() {
    for (const BackendCase& c : cases_) {
      if (!std::regex_search(c.name, filter_)) continue;
      results_.push_back(RunOne(c));
      const CaseResult& r = results_.back();
      ++counts_[r.status];
      if (verbose_ || r.status == "failed") {
        // One line per case: reasons with several gaps have several lines of their own.
        const std::string reason = absl::StrReplaceAll(r.reason, {{"\n", ";"}});
        std::printf("%s %s%s%s\n", r.status == "failed" ? "FAILED" : r.status.c_str(),
                    r.name.c_str(), reason.empty() ? "" : ": ", reason.c_str());
        std::fflush(stdout);
      }
    }
  }

  int Summarize() {
    const int passed = counts_["passed"] + counts_["expected failure"];
    std::printf("%d passed, %d failed, %d skipped\n", passed, counts_["failed"],
                counts_["skipped"]);
    return counts_["failed"] > 0 || results_.empty() ? 1 : 0;
  }

  std::string ToJson() {
    JsonWriter json;
    json.BeginObject();
    json.Key("passed").Int(counts_["passed"]);
    json.Key("expected_failures").Int(counts_["expected failure"]);
    json.Key("failed").Int(counts_["failed"]);
    json.Key("skipped").Int(counts_["skipped"]);
    json.Key("cases").BeginArray();
    for (const CaseResult& r : results_) {
      json.BeginObject().Key("name").String(r.name).Key("status").String(r.status);
      json.Key("reason").String(r.reason).Key("milliseconds").Double(r.milliseconds).EndObject();
    }
    json.EndArray().EndObject();
    return json.text();
  }

 private:
  // A misspelled name would leave its case at the default; a file that serves several folders
  // has lines for the others too.
  void WarnOfUnusedTolerances() const {
    for (const DeclaredTolerance& declared : tolerances_) {
      const bool used = std::any_of(cases_.begin(), cases_.end(),
                                    [&](const BackendCase& c) { return declared.Matches(c.name); });
      if (!used) {
        std::fprintf(stderr, "warning: %s: no case is called %s\n", declared.source.c_str(),
                     declared.pattern.c_str());
      }
    }
  }

  CaseResult RunOne(const BackendCase& c) {
    CaseResult result;
    result.name = c.name;
    if (!allowed_.empty()) {
      const std::string outside = OperatorOutside(c.model, allowed_);
      if (!outside.empty()) {
        result.status = "skipped";
        result.reason = absl::StrCat("operator ", outside, " is not in --ops");
        return result;
      }
    }
    const auto start = std::chrono::steady_clock::now();
    BackendCaseOptions options = options_;
    const DeclaredTolerance* const declared = FindTolerance(tolerances_, c.name);
    if (declared != nullptr) options.tolerance = declared->tolerance;
    const absl::Status status = RunBackendCase(c, options);
    result.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const auto expectation = expected_.find(c.name);
    const bool expected_to_fail = expectation != expected_.end();
    if (status.ok() && expected_to_fail) {
      result.status = "failed";
      result.reason = absl::StrCat("passes, but is expected to fail: ", expectation->second);
    } else if (status.ok()) {
      result.status = "passed";
      if (declared != nullptr) {
        result.reason = absl::StrCat("with rtol ", declared->tolerance.rtol, " and atol ",
                                     declared->tolerance.atol, ": ", declared->reason);
      }
    } else {
      result.status = expected_to_fail ? "expected failure" : "failed";
      result.reason = std::string(status.message());
    }
    return result;
  }

  BackendCaseOptions options_;
  bool verbose_ = false;
  std::regex filter_;
  std::set<std::string> allowed_;
  Expectations expected_;
  std::vector<DeclaredTolerance> tolerances_;
  std::vector<BackendCase> cases_;
  std::vector<CaseResult> results_;
  std::map<std::string, int> counts_;
};

}  // namespace

int RunTest(absl::Span<const char* const> args) {
  const ParsedCommand parsed = ParseCommand(Spec(), args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  TestRun run;
  if (absl::Status status = run.Configure(*parsed.arguments); !status.ok()) {
    return FailUsage(Spec(), status.message());
  }
  run.Execute();
  if (parsed.arguments->has("--json")) {
    absl::Status status = WriteFile(parsed.arguments->Get("--json"), run.ToJson());
    if (!status.ok()) Fail(Spec(), status.message());
  }
  return run.Summarize();
}

}  // namespace inferd::engine
