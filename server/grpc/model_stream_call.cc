// ModelStreamInfer: many requests and answers over one call. Answers come as they are ready, with
// the id of their request.
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/core/infer_call.h"
#include "server/grpc/deadline.h"
#include "server/grpc/event.h"
#include "server/grpc/grpc_services.h"
#include "server/grpc/infer_bytes.h"
#include "server/wire/infer_codec.h"

namespace inferd::server {
namespace {

// Requests of one stream in progress; beyond it the stream is not read, and HTTP/2 flow control
// slows the client down.
constexpr size_t kMaxInFlight = 64;
// Asks to end the stream with a real status at the first error, instead of an error_message.
constexpr char kEndOnErrorMetadata[] = "triton_grpc_error";

// Reads, events and starts happen on the queue's thread; answers arrive from any thread.
class ModelStreamCall {
 public:
  ModelStreamCall(GrpcServices& services, grpc::ServerCompletionQueue* queue)
      : services_(services), queue_(queue) {
    context_.AsyncNotifyWhenDone(&on_done_);
    services_.inference.RequestModelStreamInfer(&context_, &stream_, queue_, queue_, &on_request_);
  }

 private:
  using Item = std::shared_ptr<InferCall>;

  void OnRequest(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    services_.AddCall();
    new ModelStreamCall(services_, queue_);
    const auto& metadata = context_.client_metadata();
    const auto wish = metadata.find(kEndOnErrorMetadata);
    end_on_error_ = wish != metadata.end() && wish->second == "true";
    absl::MutexLock lock(&mutex_);
    ReadNext();
  }

  void OnRead(bool ok) {
    grpc::ByteBuffer bytes;
    Item item;
    bool over = false;
    {
      absl::MutexLock lock(&mutex_);
      reading_ = false;
      bytes.Swap(&read_buffer_);
      if (ok && status_.ok()) {
        item = std::make_shared<InferCall>(services_.context, Protocol::kGrpc, context_.peer());
        items_.push_back(item);
      } else {
        reads_done_ = true;
        FinishIfIdle();
        over = Over();
      }
    }
    if (item != nullptr) {
      StartRequest(item, bytes);
      absl::MutexLock lock(&mutex_);
      ReadNext();
    } else if (over) {
      Delete();
    }
  }

  void StartRequest(const Item& item, const grpc::ByteBuffer& bytes) {
    const auto size = static_cast<int64_t>(bytes.Length());
    if (absl::Status status = item->Admit(); !status.ok()) {
      return Fail(item, status, "", {}, size);
    }
    if (size > services_.options.max_message_bytes) {
      return Fail(item, MessageTooLarge(size, services_.options), "", {}, size);
    }
    auto message = std::make_shared<const ReceivedMessage>(bytes);
    auto request = std::make_unique<InferRequest>();
    const BytesView view = message->view();
    if (absl::Status status = ParseInferRequest(view, std::move(message), request.get());
        !status.ok()) {
      item->Describe(request->model_name, request->model_version, request->id);
      return Fail(item, WithRequestId(status, request->id), request->id, {}, size);
    }
    const std::string id = request->id;
    item->Start(std::move(request), DeadlineOf(context_, services_.context.clock()),
                [this, item, id, size](absl::StatusOr<InferResponse> response,
                                       const scheduler::RequestTiming& timing) {
                  if (!response.ok()) return Fail(item, response.status(), id, timing, size);
                  response->parameters.Set("triton_final_response", true);
                  auto encoded = EncodeInferResponse(*response);
                  if (!encoded.ok()) return Fail(item, encoded.status(), id, timing, size);
                  item->Finish(absl::OkStatus(), timing, size, encoded->total_bytes);
                  Send(item, ToByteBuffer(*encoded, StreamResponsePrefix(encoded->total_bytes)));
                });
  }

  void Fail(const Item& item, const absl::Status& status, absl::string_view id,
            const scheduler::RequestTiming& timing, int64_t request_bytes) {
    item->Finish(status, timing, request_bytes, 0);
    if (end_on_error_) {
      absl::MutexLock lock(&mutex_);
      if (status_.ok()) status_ = status;
      Remove(item);
      FinishIfIdle();
      return;
    }
    const grpc::Slice slice(EncodeStreamError(status.message(), id));
    Send(item, grpc::ByteBuffer(&slice, 1));
  }

  void Send(const Item& item, grpc::ByteBuffer answer) {
    absl::MutexLock lock(&mutex_);
    Remove(item);
    if (status_.ok()) answers_.push_back(std::move(answer));
    WriteNext();
    FinishIfIdle();
    ReadNext();
  }

  void OnWrite(bool ok) {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) answers_.clear();  // The client is gone.
    WriteNext();
    FinishIfIdle();
  }

  void OnFinish(bool) {
    bool over;
    {
      absl::MutexLock lock(&mutex_);
      finished_ = true;
      over = Over();
    }
    if (over) Delete();
  }

  void OnDone(bool) {
    std::vector<Item> cancelled;
    bool over;
    {
      absl::MutexLock lock(&mutex_);
      done_ = true;
      if (context_.IsCancelled()) cancelled = items_;
      over = Over();
    }
    for (const Item& item : cancelled) item->Cancel();
    if (over) Delete();
  }

  void ReadNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // A failed stream is read once more, so that the read's end is known.
    if (reading_ || reads_done_ || finishing_ || items_.size() >= kMaxInFlight) return;
    reading_ = true;
    stream_.Read(&read_buffer_, &on_read_);
  }
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || answers_.empty()) return;
    writing_ = true;
    stream_.Write(answers_.front(), &on_write_);
    answers_.pop_front();
  }
  // Ends the call when nothing more is to come, or at once after an error that ends it.
  void FinishIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool complete = reads_done_ || !status_.ok();
    if (!complete || finishing_ || writing_ || !items_.empty() || !answers_.empty()) return;
    finishing_ = true;
    stream_.Finish(status_.ok() ? grpc::Status::OK : ToGrpcStatus(status_, &context_), &on_finish_);
  }
  void Remove(const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    items_.erase(absl::c_find(items_, item));
  }
  bool Over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return done_ && finished_ && !reading_;
  }
  void Delete() {
    services_.RemoveCall();
    delete this;
  }

  GrpcServices& services_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer read_buffer_;
  bool end_on_error_ = false;

  absl::Mutex mutex_;
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);  // requests in progress
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // not OK: what the stream will end with
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool reads_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;

  MemberEvent<ModelStreamCall, &ModelStreamCall::OnRequest> on_request_{this};
  MemberEvent<ModelStreamCall, &ModelStreamCall::OnRead> on_read_{this};
  MemberEvent<ModelStreamCall, &ModelStreamCall::OnWrite> on_write_{this};
  MemberEvent<ModelStreamCall, &ModelStreamCall::OnFinish> on_finish_{this};
  MemberEvent<ModelStreamCall, &ModelStreamCall::OnDone> on_done_{this};
};

}  // namespace

void ServeStreamCalls(GrpcServices& services, grpc::ServerCompletionQueue* queue) {
  new ModelStreamCall(services, queue);
}

}  // namespace inferd::server
