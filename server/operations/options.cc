#include "server/operations/options.h"

#include <algorithm>
#include <set>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "engine/command_line/nearest_name.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"
#include "model_repository/schema/key_table.h"
#include "model_repository/schema/yaml_tree.h"

namespace inferd::server {
namespace {

using repository::ByteSize;
using repository::Diagnostics;
using repository::Key;
using repository::KeyTable;

constexpr int64_t kLargestMessage = (int64_t{1} << 31) - 1;

// The one list of options: a key of the YAML file and a flag each.
KeyTable Keys(DaemonOptions& o) {
  const auto port = [](const char* name, int* field, const char* what) {
    return Key{.name = name,
               .field = field,
               .doc = absl::StrCat("TCP port of ", what, "; 0 turns it off"),
               .min = 0,
               .max = 65535};
  };
  const auto address = [](const char* name, std::string* field, const char* what) {
    return Key{.name = name,
               .field = field,
               .doc = absl::StrCat("Address ", what,
                                   " listens on; 0.0.0.0 is every interface, 127.0.0.1 this "
                                   "machine alone")};
  };
  const auto timeout = [](const char* name, absl::Duration* field, const char* doc) {
    return Key{.name = name, .field = field, .doc = doc, .min_duration = absl::Milliseconds(1)};
  };
  return {
      {.name = "models",
       .field = &o.models,
       .doc = "Directory of models, DIR/MODEL/VERSION/model.onnx; may be given several times",
       .when_unset = "none, at least one is needed"},
      {.name = "id", .field = &o.id, .doc = "Server name in the protocol's metadata"},
      {.name = "readiness",
       .field = &o.readiness,
       .doc = "Ready when all models are, or when any is",
       .choices = {"all", "any"}},
      port("http_port", &o.http_port, "HTTP"),
      address("http_address", &o.http_address, "HTTP"),
      {.name = "http_threads",
       .field = &o.http_threads,
       .doc = "Threads that read and write HTTP",
       .min = 1,
       .max = 256},
      port("grpc_port", &o.grpc_port, "gRPC"),
      address("grpc_address", &o.grpc_address, "gRPC"),
      {.name = "grpc_threads",
       .field = &o.grpc_threads,
       .doc = "Threads that read and write gRPC",
       .min = 1,
       .max = 256},
      port("metrics_port", &o.metrics_port, "metrics, at /metrics"),
      address("metrics_address", &o.metrics_address, "the metrics endpoint"),
      {.name = "max_message_bytes",
       .field = ByteSize{&o.max_message_bytes},
       .doc = "Largest request, of either protocol",
       .min = 1024,
       .max = kLargestMessage},
      {.name = "max_header_bytes",
       .field = ByteSize{&o.max_header_bytes},
       .doc = "Largest header of a request, of either protocol",
       .min = 1024,
       .max = 16 << 20},
      {.name = "max_connections",
       .field = &o.max_connections,
       .doc = "HTTP connections open at a time",
       .min = 1,
       .max = 1'000'000},
      {.name = "max_in_flight",
       .field = &o.max_in_flight,
       .doc = "Inference requests in progress at a time; more are refused at once",
       .min = 1,
       .max = 10'000'000},
      timeout("idle_timeout", &o.idle_timeout, "HTTP: longest pause between requests"),
      timeout("header_timeout", &o.header_timeout, "HTTP: longest time for a request's header"),
      timeout("stall_timeout", &o.stall_timeout, "HTTP: longest time a body may stand still"),
      {.name = "drain_delay",
       .field = &o.drain_delay,
       .doc = "On SIGTERM: time requests are still taken after readiness has turned false, for "
              "load balancers to notice"},
      {.name = "drain_timeout",
       .field = &o.drain_timeout,
       .doc = "Longest time requests in progress may take to finish, on SIGTERM and when a model "
              "is replaced"},
      {.name = "log_format",
       .field = &o.log_format,
       .doc = "Log lines as text or as JSON",
       .choices = {"text", "json"}},
      {.name = "log_level",
       .field = &o.log_level,
       .doc = "Least important lines to log",
       .choices = {"debug", "info", "warning", "error", "off"}},
      {.name = "access_log", .field = &o.access_log, .doc = "Log one line per inference request"},
  };
}

std::string FlagOf(const Key& key) {
  return absl::StrCat("--", absl::StrReplaceAll(key.name, {{"_", "-"}}));
}

// "--http-port=8000" or "--http-port" and its value in the next argument.
struct Flag {
  std::string name;
  std::string value;
};

class CommandLineParser {
 public:
  explicit CommandLineParser(absl::Span<const std::string> arguments) : arguments_(arguments) {}

  absl::StatusOr<CommandLine> Parse() {
    CommandLine result;
    if (arguments_.empty()) {
      return absl::InvalidArgumentError(
          "no command given; allowed: serve, --help, --version. Try: inferd serve --models DIR");
    }
    ReadFlags(Keys(result.options));
    if (help_) {
      result.action = CommandLine::Action::kHelp;
      return result;
    }
    if (version_) {
      result.action = CommandLine::Action::kVersion;
      return result;
    }
    if (describe_) {
      result.action = CommandLine::Action::kDescribeConfig;
      return result;
    }
    ApplyConfig(result.options);
    ApplyFlags(result.options);
    if (mistakes_.empty() && result.options.models.empty()) {
      mistakes_.push_back("no model repository given; add --models DIR");
    }
    if (!mistakes_.empty()) return absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
    result.action = CommandLine::Action::kServe;
    return result;
  }

 private:
  void ReadFlags(const KeyTable& table) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const std::string& argument = arguments_[i];
      if (argument == "--help" || argument == "-h" || (i == 0 && argument == "help")) {
        help_ = true;
      } else if (argument == "--version" || (i == 0 && argument == "version")) {
        version_ = true;
      } else if (argument == "--describe-config") {
        describe_ = true;
      } else if (i == 0 && argument == "serve") {
        continue;  // the default: flags alone mean it too
      } else if (absl::StartsWith(argument, "--")) {
        i += ReadFlag(table, i);
      } else if (i == 0) {
        mistakes_.push_back(
            absl::StrCat("found command \"", argument, "\"; allowed: serve, help, version",
                         engine::DidYouMean(argument, {"serve", "help", "version"})));
      } else {
        mistakes_.push_back(absl::StrCat("found \"", argument,
                                         "\"; allowed: flags, which start with --; the flag before "
                                         "it takes one value"));
      }
    }
  }

  // Returns how many further arguments the flag at `i` takes.
  int ReadFlag(const KeyTable& table, size_t i) {
    const std::string& argument = arguments_[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Key* key = nullptr;
    std::vector<std::string> names = {"--config", "--help", "--version"};
    for (const Key& candidate : table) {
      names.push_back(FlagOf(candidate));
      if (FlagOf(candidate) == name) key = &candidate;
    }
    if (key == nullptr && name != "--config") {
      mistakes_.push_back(absl::StrCat("unknown flag ", name, engine::DidYouMean(name, names),
                                       " (inferd --help lists the flags)"));
      // Its value, if it has one, is no mistake of its own.
      return equals == std::string::npos && HasValue(i) ? 1 : 0;
    }
    std::string value;
    int taken = 0;
    const bool is_switch = key != nullptr && std::holds_alternative<bool*>(key->field);
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (is_switch) {
      value = "true";
    } else if (HasValue(i)) {
      value = arguments_[i + 1];
      taken = 1;
    } else {
      mistakes_.push_back(
          absl::StrCat(name, ": found no value; allowed: ",
                       key != nullptr ? repository::AllowedText(*key) : "the path of a YAML file"));
      return 0;
    }
    if (key == nullptr) {
      configs_.push_back(value);
    } else {
      flags_.push_back({name, value});
    }
    return taken;
  }

  bool HasValue(size_t i) const {
    return i + 1 < arguments_.size() && !absl::StartsWith(arguments_[i + 1], "--");
  }

  void ApplyConfig(DaemonOptions& options) {
    for (const std::string& path : configs_) {
      absl::StatusOr<std::string> text = engine::ReadFile(path);
      absl::StatusOr<repository::YamlNode> root =
          text.ok() ? repository::ParseYaml(*text, path)
                    : absl::StatusOr<repository::YamlNode>(text.status());
      if (!root.ok()) {
        mistakes_.push_back(absl::StrCat(text.ok() ? "" : "--config: ", root.status().message()));
        continue;
      }
      Diagnostics diagnostics(path);
      ReadYaml(*root, Keys(options), diagnostics);
      if (!diagnostics.empty()) mistakes_.push_back(std::string(diagnostics.status().message()));
    }
  }

  void ApplyFlags(DaemonOptions& options) {
    const KeyTable table = Keys(options);
    std::set<std::string> seen;
    for (const Flag& flag : flags_) {
      for (const Key& key : table) {
        if (FlagOf(key) != flag.name) continue;
        const bool is_list = std::holds_alternative<std::vector<std::string>*>(key.field);
        if (!seen.insert(flag.name).second) {
          if (!is_list)
            mistakes_.push_back(absl::StrCat(flag.name, ": found twice; allowed: once"));
        } else if (is_list) {
          std::get<std::vector<std::string>*>(key.field)->clear();  // flags replace the file's list
        }
        if (absl::Status s = SetFromText(key, flag.value); !s.ok()) {
          mistakes_.push_back(absl::StrCat(flag.name, ": ", s.message()));
        }
      }
    }
  }

  absl::Span<const std::string> arguments_;
  bool help_ = false, version_ = false, describe_ = false;
  std::vector<Flag> flags_;
  std::vector<std::string> configs_;
  std::vector<std::string> mistakes_;
};

std::string ValueName(const Key& key) {
  if (key.name == "models") return " DIR";
  if (std::holds_alternative<bool*>(key.field)) return "";
  if (std::holds_alternative<ByteSize>(key.field)) return " SIZE";
  if (std::holds_alternative<absl::Duration*>(key.field)) return " DURATION";
  if (!key.choices.empty()) return absl::StrCat(" ", absl::StrJoin(key.choices, "|"));
  if (std::holds_alternative<std::string*>(key.field)) return " TEXT";
  return " N";
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(absl::Span<const std::string> arguments) {
  return CommandLineParser(arguments).Parse();
}

std::string HelpText() {
  std::string text =
      "inferd: serves ONNX models over gRPC and HTTP\n"
      "\n"
      "  inferd serve --models DIR [flags]   start the daemon\n"
      "  inferd --version                    print the version\n"
      "  inferd --describe-config            print every key of a model's config.yaml\n"
      "\n"
      "Flags of serve:\n";
  DaemonOptions defaults;
  for (const Key& key : Keys(defaults)) {
    const std::string value = ValueText(key);
    absl::StrAppend(&text, "  ", FlagOf(key), ValueName(key), "\n      ", key.doc,
                    ". Default: ", value.empty() ? key.when_unset : value, ".\n");
  }
  absl::StrAppend(&text,
                  "  --config FILE\n      The same options in YAML, with _ for - in their names; "
                  "flags win over it.\n");
  return text;
}

}  // namespace inferd::server
