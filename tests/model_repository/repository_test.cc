// The repository over real files, the real engine and the real scheduler.
#include "model_repository/repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/model_repository/onnx_models.h"

namespace inferd::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RepositoryTest : public ::testing::Test {
 protected:
  RepositoryTest() {
    root_ =
        fs::path(::testing::TempDir()) /
        ("repo_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "r");
  }
  ~RepositoryTest() override {
    repository_.reset();
    fs::remove_all(root_);
  }

  void Write(const std::string& path, const std::string& bytes) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << bytes;
  }

  void Open(std::vector<std::string> directories = {"r"},
            Readiness readiness = Readiness::kAllModels) {
    RepositoryOptions options;
    for (const std::string& d : directories) options.directories.push_back((root_ / d).string());
    options.clock = &scheduler::MonotonicClock();
    options.readiness = readiness;
    options.on_load = [this](const std::string& model, const std::string& version,
                             const absl::Status& status) {
      absl::MutexLock lock(&mu_);
      loads_.push_back(absl::StrCat(model, "/", version, " ",
                                    status.ok() ? "OK" : absl::StatusCodeToString(status.code())));
    };
    auto opened = ModelRepository::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    repository_ = *std::move(opened);
  }
  void OpenAndLoad() {
    Open();
    repository_->LoadAll();
  }

  // "m/1 READY", with the reason after a colon where there is one.
  std::vector<std::string> States() {
    std::vector<std::string> states;
    for (const IndexEntry& e : repository_->Index()) {
      states.push_back(absl::StrCat(e.name, "/", e.version, " ", ModelStateName(e.state),
                                    e.reason.empty() ? "" : ": ", e.reason));
    }
    return states;
  }

  // Runs a model of one float input and output on one row of `value`s.
  absl::StatusOr<float> Infer(const std::string& name, const std::string& version, float value,
                              engine::Shape shape = {1, 2}) {
    auto found = repository_->Find(name, version);
    if (!found.ok()) return found.status();
    return InferOn(**found, value, std::move(shape));
  }
  static absl::StatusOr<float> InferOn(const ModelVersion& model, float value,
                                       engine::Shape shape = {1, 2}) {
    auto input = engine::Tensor::Allocate(engine::ElementType::kFloat32, shape);
    if (!input.ok()) return input.status();
    std::fill_n(input->mutable_data<float>(), input->num_elements(), value);
    auto request = std::make_unique<scheduler::Request>();
    request->inputs.push_back(input->view());
    absl::Notification done;
    absl::StatusOr<float> result = absl::UnknownError("no answer");
    request->done = [&](scheduler::Response response) {
      if (response.status.ok()) {
        result = response.outputs[0].view.as<float>()[0];
      } else {
        result = response.status;
      }
      done.Notify();
    };
    model.servable->Submit(std::move(request));
    done.WaitForNotification();
    return result;
  }

  fs::path root_;
  absl::Mutex mu_;
  std::vector<std::string> loads_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ModelRepository> repository_;
};

TEST_F(RepositoryTest, ServesWhatItFinds) {
  Write("r/add/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/add/2/model.onnx", AddModel({-1, 2}, 2));
  Open();
  EXPECT_FALSE(repository_->Ready());
  EXPECT_EQ(repository_->Find("add", "").status().code(), absl::StatusCode::kUnavailable);
  repository_->LoadAll();
  EXPECT_TRUE(repository_->Ready());
  EXPECT_THAT(States(), ElementsAre("add/2 READY"));
  EXPECT_EQ(*Infer("add", "", 10), 12);
  EXPECT_EQ(*Infer("add", "2", 10), 12);
  EXPECT_EQ(repository_->Find("add", "1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(repository_->ReadyVersions().size(), 1u);
}

TEST_F(RepositoryTest, OneBrokenModelLeavesTheOthersAlone) {
  Write("r/good/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/garbage/1/model.onnx", "this is no model");
  Write("r/truncated/1/model.onnx", AddModel({-1, 2}, 1).substr(0, 60));
  Write("r/zero/1/model.onnx", "");
  Write("r/unsupported/1/model.onnx", UnsupportedModel());
  Write("r/badconfig/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/badconfig/config.yaml", "max_batchsize: 3\n");
  Write("r/noversion/readme.txt", "x");
  Write("r/nofile/1/other.onnx", "x");
  OpenAndLoad();
  EXPECT_FALSE(repository_->Ready());
  EXPECT_EQ(*Infer("good", "", 1), 2);
  std::map<std::string, std::string> errors;
  for (const char* name :
       {"garbage", "truncated", "zero", "unsupported", "badconfig", "noversion", "nofile"}) {
    const auto found = repository_->Find(name, "");
    EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable) << name << found.status();
    errors[name] = std::string(found.status().message());
  }
  EXPECT_THAT(errors["unsupported"], HasSubstr("Frobnicate"));
  EXPECT_THAT(errors["badconfig"], HasSubstr("badconfig/config.yaml:1:1: max_batchsize"));
  EXPECT_THAT(errors["noversion"], HasSubstr("found readme.txt"));
  EXPECT_THAT(errors["nofile"], HasSubstr("found other.onnx"));
}

TEST_F(RepositoryTest, ReadinessMayBeAnyModel) {
  Write("r/good/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/bad/1/model.onnx", "x");
  Open({"r"}, Readiness::kAnyModel);
  repository_->LoadAll();
  EXPECT_TRUE(repository_->Ready());
}

TEST_F(RepositoryTest, NoModelsIsNotReady) {
  OpenAndLoad();
  EXPECT_FALSE(repository_->Ready());
  EXPECT_THAT(repository_->Index(), IsEmpty());
}

TEST_F(RepositoryTest, VersionPolicies) {
  for (int v : {1, 2, 3}) {
    const std::string bytes = AddModel({-1, 2}, static_cast<float>(v));
    for (const char* m : {"all", "two", "named"}) {
      Write(absl::StrCat("r/", m, "/", v, "/model.onnx"), bytes);
    }
  }
  Write("r/all/config.yaml", "versions: all\n");
  Write("r/two/config.yaml", "versions: {latest: 2}\n");
  Write("r/named/config.yaml", "versions: [1, 9]\n");
  OpenAndLoad();
  EXPECT_THAT(States(), ElementsAre("all/1 READY", "all/2 READY", "all/3 READY", "named/1 READY",
                                    HasSubstr("named/9 UNAVAILABLE: named by `versions`"),
                                    "two/2 READY", "two/3 READY"));
  EXPECT_EQ(*Infer("all", "1", 0), 1);
  EXPECT_EQ(*Infer("all", "", 0), 3);
  EXPECT_EQ(*Infer("named", "", 0), 1);
}

TEST_F(RepositoryTest, EffectiveConfigurationAndNotes) {
  Write("r/batched/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/fixed/1/model.onnx", AddModel({1, 2}, 1));
  Write("r/mixing/1/model.onnx", CumSumModel({-1, 2}));
  OpenAndLoad();
  const auto batched = *repository_->Find("batched", "");
  EXPECT_EQ(batched->config.max_batch_size, 32);
  EXPECT_EQ(batched->servable->options().batching.max_batch_size, 32);
  EXPECT_THAT(batched->servable->options().inputs[0].dims, ElementsAre(-1, 2));
  EXPECT_GE(batched->config.instances.at(0).threads, 1);
  EXPECT_THAT(batched->notes[0], HasSubstr("batching: up to 32 rows"));
  const auto fixed = *repository_->Find("fixed", "");
  EXPECT_EQ(fixed->config.max_batch_size, 1);
  EXPECT_THAT(fixed->servable->options().inputs[0].dims, ElementsAre(1, 2));
  EXPECT_THAT(fixed->notes,
              ::testing::Contains("served unbatched: input 'x' has a fixed first dimension 1"));
  const auto mixing = *repository_->Find("mixing", "");
  EXPECT_EQ(mixing->config.max_batch_size, 1);
  EXPECT_THAT(mixing->notes, ::testing::Contains(HasSubstr("output 'y' of a row differs")));
  EXPECT_TRUE(ParseModelConfig(FormatModelConfig(batched->config), "f").ok());
}

TEST_F(RepositoryTest, ContradictionsAreRefusedAtLoad) {
  Write("r/m/1/model.onnx", AddModel({1, 2}, 1));
  Write("r/m/config.yaml", "max_batch_size: 8\n");
  OpenAndLoad();
  EXPECT_THAT(std::string(repository_->Find("m", "").status().message()),
              HasSubstr("m/config.yaml:1:17: max_batch_size: found 8"));
}

TEST_F(RepositoryTest, DuplicateModelsNameBothAndOthersLive) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  Write("s/m/1/model.onnx", AddModel({-1, 2}, 2));
  Write("s/n/1/model.onnx", AddModel({-1, 2}, 3));
  Open({"r", "s"});
  repository_->LoadAll();
  const std::string error(repository_->Find("m", "").status().message());
  EXPECT_THAT(error, HasSubstr((root_ / "r/m").string()));
  EXPECT_THAT(error, HasSubstr((root_ / "s/m").string()));
  EXPECT_EQ(*Infer("n", "", 0), 3);
}

TEST_F(RepositoryTest, MissingRepositoryIsAnError) {
  RepositoryOptions options;
  options.directories = {(root_ / "gone").string()};
  options.clock = &scheduler::MonotonicClock();
  EXPECT_EQ(ModelRepository::Open(std::move(options)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RepositoryTest, ReloadSwapsToNewFilesAndKeepsUnchangedOnes) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  auto before = *repository_->Find("m", "");
  ASSERT_TRUE(repository_->Load("m").ok());
  EXPECT_EQ(*repository_->Find("m", ""), before);  // nothing has changed

  std::thread reload([&] {
    Write("r/m/2/model.onnx", AddModel({-1, 2}, 2));
    EXPECT_TRUE(repository_->Load("m").ok());
  });
  // The old version serves until its holders let go, which the reload waits for.
  while (*Infer("m", "", 0) != 2) std::this_thread::yield();
  EXPECT_EQ(*InferOn(*before, 0), 1);
  EXPECT_TRUE(repository_->Ready());
  before.reset();
  reload.join();
  EXPECT_THAT(States(), ElementsAre("m/2 READY"));
}

TEST_F(RepositoryTest, FailedReloadKeepsWhatIsServed) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  Write("r/m/1/model.onnx", "broken");
  EXPECT_FALSE(repository_->Load("m").ok());
  EXPECT_EQ(*Infer("m", "", 0), 1);
  EXPECT_TRUE(repository_->Ready());
  EXPECT_THAT(States(), ElementsAre(HasSubstr("m/1 READY: served as before, the reload failed")));

  Write("r/m/config.yaml", "nonsense: 1\n");
  EXPECT_FALSE(repository_->Load("m").ok());
  EXPECT_EQ(*Infer("m", "", 0), 1);

  fs::remove(root_ / "r/m/config.yaml");
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 5));
  EXPECT_TRUE(repository_->Load("m").ok());
  EXPECT_EQ(*Infer("m", "", 0), 5);
  EXPECT_THAT(States(), ElementsAre("m/1 READY"));
}

TEST_F(RepositoryTest, UnavailableModelRecovers) {
  Write("r/m/1/model.onnx", "broken");
  OpenAndLoad();
  EXPECT_FALSE(repository_->Ready());
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 4));
  EXPECT_TRUE(repository_->Load("m").ok());
  EXPECT_TRUE(repository_->Ready());
  EXPECT_EQ(*Infer("m", "", 0), 4);
}

TEST_F(RepositoryTest, NewDirectoriesAreFoundByLoad) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  EXPECT_EQ(repository_->Load("late").code(), absl::StatusCode::kNotFound);
  Write("r/late/1/model.onnx", AddModel({-1, 2}, 7));
  Write("r/other/1/model.onnx", AddModel({-1, 2}, 7));
  EXPECT_TRUE(repository_->Load("late").ok());
  EXPECT_EQ(*Infer("late", "", 0), 7);
  // A model nobody asked for does not turn readiness false.
  EXPECT_EQ(repository_->Find("other", "").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(repository_->Ready());
}

TEST_F(RepositoryTest, NamesFromTheWireDoNotReachTheFileSystem) {
  Write("outside/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  for (const char* name : {"../outside", "m/../../outside", "/tmp", ".", "..", ""}) {
    EXPECT_EQ(repository_->Load(name).code(), absl::StatusCode::kNotFound) << name;
    EXPECT_EQ(repository_->Unload(name, absl::InfiniteFuture()).code(), absl::StatusCode::kNotFound)
        << name;
  }
}

TEST_F(RepositoryTest, UnloadThenLoadAgain) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/n/1/model.onnx", AddModel({-1, 2}, 2));
  OpenAndLoad();
  ASSERT_TRUE(repository_->Unload("m", absl::InfiniteFuture()).ok());
  EXPECT_THAT(States(), ElementsAre("m/1 UNAVAILABLE: unloaded", "n/1 READY"));
  EXPECT_TRUE(repository_->Ready());  // nobody waits for what was unloaded on purpose
  EXPECT_EQ(*Infer("n", "", 0), 2);
  ASSERT_TRUE(repository_->Unload("n", absl::InfiniteFuture()).ok());
  EXPECT_FALSE(repository_->Ready());
  ASSERT_TRUE(repository_->Load("m").ok());
  EXPECT_EQ(*Infer("m", "", 0), 1);
  EXPECT_TRUE(repository_->Ready());
}

TEST_F(RepositoryTest, PolicyChangeRetiresVersions) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/m/2/model.onnx", AddModel({-1, 2}, 2));
  Write("r/m/config.yaml", "versions: all\n");
  OpenAndLoad();
  EXPECT_THAT(States(), ElementsAre("m/1 READY", "m/2 READY"));
  Write("r/m/config.yaml", "versions: [1]\n");
  ASSERT_TRUE(repository_->Load("m").ok());
  EXPECT_THAT(States(), ElementsAre("m/1 READY"));
}

TEST_F(RepositoryTest, ShutdownDrainsAndRefuses) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  repository_->Shutdown(absl::InfiniteFuture());
  EXPECT_FALSE(repository_->Ready());
  EXPECT_EQ(repository_->Find("m", "").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(repository_->Load("m").code(), absl::StatusCode::kUnavailable);
}

TEST_F(RepositoryTest, LoadsUnloadsAndRequestsAtTheSameTime) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  Write("r/n/1/model.onnx", AddModel({-1, 2}, 2));
  OpenAndLoad();
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, right{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      while (!stop) {
        const auto m = Infer("m", "", 0);
        if (m.ok() ? (*m != 1 && *m != 3) : m.status().code() != absl::StatusCode::kUnavailable) {
          ++wrong;
        }
        // Nobody touches this one, so it must not be disturbed.
        const auto n = Infer("n", "", 0);
        (n.ok() && *n == 2 ? right : wrong) += 1;
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    Write("r/m/1/model.onnx", AddModel({-1, 2}, i % 2 == 0 ? 3.0f : 1.0f));
    fs::last_write_time(root_ / "r/m/1/model.onnx",
                        fs::file_time_type::clock::now() + std::chrono::seconds(i));
    EXPECT_TRUE(repository_->Load("m").ok());
    EXPECT_TRUE(repository_->Ready());
    EXPECT_TRUE(repository_->Unload("m", absl::InfiniteFuture()).ok());
    EXPECT_TRUE(repository_->Load("m").ok());
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);
}

TEST_F(RepositoryTest, ReloadFailsNoRequest) {
  Write("r/m/1/model.onnx", AddModel({-1, 2}, 1));
  OpenAndLoad();
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0}, answered{0};
  std::thread client([&] {
    while (!stop) {
      Infer("m", "", 0).ok() ? ++answered : ++failed;
    }
  });
  for (int i = 0; i < 5; ++i) {
    Write("r/m/1/model.onnx", AddModel({-1, 2}, static_cast<float>(i)));
    fs::last_write_time(root_ / "r/m/1/model.onnx",
                        fs::file_time_type::clock::now() + std::chrono::seconds(i));
    EXPECT_TRUE(repository_->Load("m").ok());
  }
  stop = true;
  client.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
}

}  // namespace
}  // namespace inferd::repository
