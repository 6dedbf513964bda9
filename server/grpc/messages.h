// Generated messages to and from gRPC's byte buffers.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

namespace inferd::server {

inline bool ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message) {
  if (!bytes->Valid()) return true;  // an empty message
  grpc::ProtoBufferReader reader(bytes);
  return message->ParseFromZeroCopyStream(&reader);
}

inline grpc::ByteBuffer SerializeMessage(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace inferd::server
