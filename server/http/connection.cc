#include "server/http/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/http/http_head.h"
#include "server/http/rest_views.h"

namespace inferd::server {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

// A header of usual size comes in one read; an idle connection costs no more than this.
constexpr size_t kInputBytes = 8 << 10;
// Body of unknown length: grows from here.
constexpr size_t kFirstChunkBuffer = 64 << 10;
// Slowest body that is still waited for, bytes per second, once it has lasted for stall_timeout.
constexpr int64_t kMinBodyRate = 1024;
// How long an unread body is discarded before the connection is closed over it.
constexpr absl::Duration kLinger = absl::Seconds(2);

// One byte more than a body may have, so that its excess is seen.
size_t MaxChunkedBuffer(const HttpServerOptions& options) {
  return static_cast<size_t>(options.max_body_bytes) + 1;
}

// What the client sent is not HTTP, as opposed to: it sent no more.
bool IsProtocolError(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

std::string Text(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Connection::Connection(IoWorker& worker, tcp::socket socket)
    : worker_(worker), counted_(worker.count()), socket_(std::move(socket)) {
  Error error;
  socket_.set_option(tcp::no_delay(true), error);
  const tcp::endpoint peer = socket_.remote_endpoint(error);
  if (!error) {
    peer_ = peer.address().is_v6()
                ? absl::StrCat("[", peer.address().to_string(), "]:", peer.port())
                : absl::StrCat(peer.address().to_string(), ":", peer.port());
  }
  socket_.non_blocking(true, error);
}

Connection::~Connection() = default;

void Connection::Start() {
  worker_.Register(shared_from_this());
  if (worker_.shutting_down()) return Close();
  input_.reserve(kInputBytes);
  AwaitRequest();
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  Error ignored;
  socket_.close(ignored);
  if (call_ != nullptr) call_->Cancel();
  worker_.Unregister(shared_from_this());
}

void Connection::CloseIfIdle() {
  if (phase_ == Phase::kIdle && input_.size() == 0) Close();
}

void Connection::SetDeadline(absl::Duration from_now) {
  deadline_ = from_now == absl::InfiniteDuration()
                  ? Clock::time_point::max()
                  : Clock::now() + absl::ToChronoNanoseconds(from_now);
}

void Connection::OnTimeout() {
  deadline_ = Clock::time_point::max();
  if (phase_ == Phase::kHeader || phase_ == Phase::kBody) {
    // The read ends with operation_aborted and its handler answers.
    timed_out_ = true;
    Error ignored;
    socket_.cancel(ignored);
  } else if (phase_ != Phase::kAnswering) {
    Close();
  }
}

// --- Waiting and reading -------------------------------------------------------------------------

void Connection::AwaitRequest() {
  if (worker_.shutting_down() && input_.size() == 0) return Close();
  phase_ = Phase::kIdle;
  if (input_.size() > 0) return ReadHeader();
  SetDeadline(worker_.options().idle_timeout);
  WatchReadable();
}

// Idle, it tells that a request begins; while a request is answered, that the client is gone.
void Connection::WatchReadable() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const Error& error) {
    self->watching_ = false;
    if (!error) self->OnReadable();
  });
}

void Connection::OnReadable() {
  if (phase_ == Phase::kIdle) return ReadHeader();
  if (phase_ != Phase::kAnswering) return;
  char byte;
  const ssize_t n = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  // A pipelined request waits its turn. The end of the stream, or an error, is the end of interest.
  if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return;
  keep_alive_ = false;
  if (call_ != nullptr) call_->Cancel();
}

void Connection::ReadHeader() {
  phase_ = Phase::kHeader;
  SetDeadline(worker_.options().header_timeout);
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(worker_.options().max_header_bytes));
  // Checked by CheckHeader and OnChunk.
  parser_->body_limit(std::numeric_limits<uint64_t>::max());
  http::async_read_header(
      socket_, input_, *parser_,
      [self = shared_from_this()](const Error& error, size_t) { self->OnHeader(error); });
}

void Connection::OnHeader(const Error& error) {
  if (phase_ != Phase::kHeader) return;
  const bool timed_out = std::exchange(timed_out_, false);
  head_ = false;
  http10_ = false;
  keep_alive_ = false;
  unread_body_ = true;
  request_ = HttpRequest();
  if (timed_out) {
    return Write(ErrorResponse(
        408,
        absl::StrCat("the request header was not complete after ",
                     absl::FormatDuration(worker_.options().header_timeout), " (header_timeout)")));
  }
  if (error == http::error::header_limit) {
    return Write(ErrorResponse(
        431, absl::StrCat("the request header is longer than ", worker_.options().max_header_bytes,
                          " bytes, the limit of this server "
                          "(max_header_bytes)")));
  }
  if (error) {
    // The client left, or the connection broke.
    if (!IsProtocolError(error)) return Close();
    return Write(ErrorResponse(400, absl::StrCat("malformed HTTP request: ", error.message())));
  }
  TakeHeaders();
  if (std::optional<HttpResponse> refusal = CheckHeader()) return Write(*std::move(refusal));
  StartBody();
}

void Connection::TakeHeaders() {
  const auto& message = parser_->get();
  switch (message.method()) {
    case http::verb::get:
      request_.method = HttpMethod::kGet;
      break;
    case http::verb::head:
      request_.method = HttpMethod::kHead;
      break;
    case http::verb::post:
      request_.method = HttpMethod::kPost;
      break;
    default:
      request_.method = HttpMethod::kOther;
  }
  head_ = request_.method == HttpMethod::kHead;
  http10_ = message.version() < 11;
  keep_alive_ = parser_->keep_alive();
  request_.target = Text(message.target());
  request_.peer = peer_;
  request_.accept = Text(message[http::field::accept]);
  request_.accept_encoding = Text(message[http::field::accept_encoding]);
  request_.content_encoding = Text(message[http::field::content_encoding]);
  request_.request_id = Text(message["X-Request-Id"]);
  if (const auto it = message.find("Inference-Header-Content-Length"); it != message.end()) {
    request_.inference_header_length = Text(it->value());
  }
}

std::optional<HttpResponse> Connection::CheckHeader() {
  const auto length = parser_->content_length();
  const auto limit = static_cast<uint64_t>(worker_.options().max_body_bytes);
  if (length && *length > limit) {
    return ErrorResponse(413, absl::StrCat("the body is ", *length,
                                           " bytes long; this server takes "
                                           "up to ",
                                           limit, " (max_message_bytes)"));
  }
  aligned_offset_ = 0;
  // Compressed bodies are laid out when they are decompressed.
  if (request_.inference_header_length && request_.content_encoding.empty()) {
    const auto json_length = JsonPartLength(*request_.inference_header_length,
                                            length ? std::optional<size_t>(*length) : std::nullopt);
    if (!json_length.ok()) return ErrorResponse(json_length.status());
    aligned_offset_ = *json_length;
  }
  const auto expect = parser_->get()[http::field::expect];
  if (!expect.empty() && !boost::beast::iequals(expect, "100-continue")) {
    return ErrorResponse(417, "the only expectation this server meets is 100-continue");
  }
  return std::nullopt;
}

void Connection::StartBody() {
  phase_ = Phase::kBody;
  body_read_ = 0;
  body_start_ = Clock::now();
  const bool chunked = parser_->chunked();
  const size_t length = chunked ? std::min(kFirstChunkBuffer, MaxChunkedBuffer(worker_.options()))
                                : parser_->content_length().value_or(0);
  if (!chunked && length == 0) {
    unread_body_ = false;
    return Answer();
  }
  absl::StatusOr<BodyBuffer> body = BodyBuffer::Allocate(length, aligned_offset_);
  if (!body.ok()) return Write(ErrorResponse(body.status()));
  request_.body = *std::move(body);
  SetDeadline(worker_.options().stall_timeout);
  if (chunked) {
    ReadChunks();
  } else {
    // What came along with the header.
    body_read_ = std::min(length, input_.size());
    std::memcpy(request_.body.data(), input_.data().data(), body_read_);
    input_.consume(body_read_);
  }
  const bool complete = !chunked && body_read_ == length;
  if (!complete && boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    // Fits into the send buffer of a connection that has just asked for it.
    static constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    Error ignored;
    socket_.write_some(boost::asio::buffer(kContinue.data(), kContinue.size()), ignored);
  }
  if (!chunked) ReadFixedBody();
}

bool Connection::TooSlow() const {
  const auto elapsed = absl::FromChrono(Clock::now() - body_start_);
  return elapsed > worker_.options().stall_timeout &&
         static_cast<double>(body_read_) < absl::ToDoubleSeconds(elapsed) * kMinBodyRate;
}

// Straight into the body's final place, as much at a time as the kernel has.
void Connection::ReadFixedBody() {
  const size_t rest = request_.body.size() - body_read_;
  if (rest == 0) {
    unread_body_ = false;
    return Answer();
  }
  socket_.async_read_some(boost::asio::buffer(request_.body.data() + body_read_, rest),
                          [self = shared_from_this()](const Error& error, size_t bytes) {
                            self->OnFixedBody(error, bytes);
                          });
}

void Connection::OnFixedBody(const Error& error, size_t bytes) {
  if (phase_ != Phase::kBody) return;
  body_read_ += bytes;
  if (std::exchange(timed_out_, false) || (!error && TooSlow())) {
    keep_alive_ = false;
    return Write(ErrorResponse(408, absl::StrCat("only ", body_read_, " of ", request_.body.size(),
                                                 " bytes of the body came in time "
                                                 "(stall_timeout)")));
  }
  if (error) return Close();
  SetDeadline(worker_.options().stall_timeout);
  ReadFixedBody();
}

void Connection::ReadChunks() {
  auto& sink = parser_->get().body();
  sink.data = request_.body.data() + body_read_;
  sink.size = request_.body.size() - body_read_;
  http::async_read_some(
      socket_, input_, *parser_,
      [self = shared_from_this()](const Error& error, size_t) { self->OnChunk(error); });
}

void Connection::OnChunk(const Error& error) {
  if (phase_ != Phase::kBody) return;
  body_read_ = request_.body.size() - parser_->get().body().size;
  if (std::exchange(timed_out_, false) || (!error && TooSlow())) {
    keep_alive_ = false;
    return Write(ErrorResponse(408, "the rest of the body did not come in time (stall_timeout)"));
  }
  if (error && error != http::error::need_buffer) {
    keep_alive_ = false;
    if (!IsProtocolError(error)) return Close();
    return Write(ErrorResponse(400, absl::StrCat("malformed chunked body: ", error.message())));
  }
  if (body_read_ == MaxChunkedBuffer(worker_.options())) {
    return Write(ErrorResponse(
        413, absl::StrCat("the body is longer than ", worker_.options().max_body_bytes,
                          " bytes, the limit of this server "
                          "(max_message_bytes)")));
  }
  if (parser_->is_done()) {
    request_.body.Truncate(body_read_);
    unread_body_ = false;
    return Answer();
  }
  if (body_read_ == request_.body.size()) {
    absl::StatusOr<BodyBuffer> larger = BodyBuffer::Allocate(
        std::min(MaxChunkedBuffer(worker_.options()), body_read_ * 2), aligned_offset_);
    if (!larger.ok()) return Write(ErrorResponse(larger.status()));
    std::memcpy(larger->data(), request_.body.data(), body_read_);
    request_.body = *std::move(larger);
  }
  SetDeadline(worker_.options().stall_timeout);
  ReadChunks();
}

// --- Answering and writing -----------------------------------------------------------------------

void Connection::Answer() {
  phase_ = Phase::kAnswering;
  SetDeadline(absl::InfiniteDuration());
  parser_.reset();
  auto self = shared_from_this();
  call_ = std::make_shared<RestCall>(
      worker_.environment(), std::move(request_),
      [self](RestCall::Task task) {
        boost::asio::post(self->worker_.io(), [task = std::move(task)]() mutable { task(); });
      },
      [self](HttpResponse response) {
        self->call_ = nullptr;
        self->Write(std::move(response));
      });
  const std::shared_ptr<RestCall> call = call_;
  call->Run(worker_.json_parser());
  // Still at it: notice when the client goes away.
  if (phase_ == Phase::kAnswering) WatchReadable();
}

void Connection::Write(HttpResponse response) {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kWriting;
  SetDeadline(worker_.options().stall_timeout);
  // A body that was not read stands where the next request would.
  if (unread_body_ || response.close || worker_.shutting_down() ||
      worker_.environment().context.draining()) {
    keep_alive_ = false;
  }
  response_ = std::move(response);
  response_head_ = FormatResponseHead(response_, keep_alive_, http10_);
  output_.clear();
  output_.push_back(boost::asio::buffer(response_head_));
  if (!head_) {
    size_t begin = 0;
    auto text = [&](size_t end) {
      if (end > begin) {
        output_.push_back(boost::asio::buffer(response_.text.data() + begin, end - begin));
      }
      begin = end;
    };
    for (const HttpResponse::Piece& piece : response_.pieces) {
      text(piece.text_end);
      output_.push_back(boost::asio::buffer(piece.tensor_bytes.data(), piece.tensor_bytes.size()));
    }
    text(response_.text.size());
  }
  boost::asio::async_write(
      socket_, output_,
      [self = shared_from_this()](const Error& error, size_t) -> size_t {
        if (error || self->phase_ != Phase::kWriting) return 0;
        self->SetDeadline(self->worker_.options().stall_timeout);  // progress
        return 4 << 20;
      },
      [self = shared_from_this()](const Error& error, size_t) { self->OnWritten(error); });
}

void Connection::OnWritten(const Error& error) {
  response_ = HttpResponse();
  if (phase_ != Phase::kWriting) return;
  if (error) return Close();
  if (keep_alive_) return AwaitRequest();
  Linger();
}

void Connection::Linger() {
  // Closing over unread input would reset the connection, and the client might never see why.
  phase_ = Phase::kLingering;
  Error ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  if (!unread_body_) return Close();
  SetDeadline(kLinger);
  input_.clear();
  DiscardInput();
}

void Connection::DiscardInput() {
  socket_.async_read_some(input_.prepare(kInputBytes),
                          [self = shared_from_this()](const Error& error, size_t) {
                            if (self->phase_ != Phase::kLingering) return;
                            if (error) return self->Close();
                            self->DiscardInput();
                          });
}

}  // namespace inferd::server
