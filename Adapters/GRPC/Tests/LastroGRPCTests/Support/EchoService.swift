// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import Synchronization

/// The methods of the tests' service, which `PythonServer` has, too. Messages are bytes.
enum EchoMethod {
  static func descriptor(_ method: String, _ type: MethodDescriptor.RPCType? = nil) -> MethodDescriptor {
    MethodDescriptor(fullyQualifiedService: "lastro.Echo", method: method, type: type)
  }
}

struct BytesSerializer: MessageSerializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }
}

struct BytesDeserializer: MessageDeserializer {
  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}

/// The service on grpc-swift's own server.
final class EchoService: RegistrableRPCService {
  private let cancelled = Mutex(0)
  private let refused = Mutex(0)
  /// The number of bytes that `Flood` has written.
  let flooded = Mutex(0)

  typealias Answer = StreamingServerResponse<[UInt8]>

  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    func register(
      _ method: String,
      _ handler: @escaping @Sendable (StreamingServerRequest<[UInt8]>, ServerContext) async throws -> Answer
    ) {
      router.registerHandler(
        forMethod: EchoMethod.descriptor(method), deserializer: BytesDeserializer(), serializer: BytesSerializer(),
        handler: handler)
    }
    register("Unary") { request, _ in
      let message = try await Self.only(request)
      var metadata = Metadata()
      for value in request.metadata[stringValues: "x-echo"] { metadata.addString(value, forKey: "x-echo") }
      var trailing = Metadata()
      for value in request.metadata[binaryValues: "x-echo-bin"] { trailing.addBinary(value, forKey: "x-echo-bin") }
      let (first, last) = (metadata, trailing)
      return Answer(metadata: first) { writer in
        try await writer.write(message)
        return last
      }
    }
    register("Collect") { request, _ in
      var all: [UInt8] = []
      for try await message in request.messages { all += message }
      let collected = all
      return Answer { writer in
        try await writer.write(collected)
        return [:]
      }
    }
    register("Expand") { request, _ in
      let message = try await Self.only(request)
      return Answer { writer in
        for byte in message { try await writer.write([UInt8](repeating: byte, count: Int(byte))) }
        return [:]
      }
    }
    register("Chat") { request, _ in
      Answer { writer in
        for try await message in request.messages { try await writer.write(message) }
        return [:]
      }
    }
    register("Fail") { _, _ in
      Answer(error: RPCError(code: .notFound, message: "no such thing: 100 %, é\n", metadata: ["x-reason": "none"]))
    }
    register("FailMidway") { request, _ in
      Answer { writer in
        try await writer.write([1])
        throw RPCError(code: .aborted, message: "enough", metadata: ["x-reason": "midway"])
      }
    }
    register("Slow") { [self] _, context in
      while !context.cancellation.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
      cancelled.withLock { $0 += 1 }
      throw RPCError(code: .cancelled, message: "cancelled")
    }
    register("Cancelled") { [self] _, _ in
      let count = cancelled.withLock { $0 }
      return Answer { writer in
        try await writer.write([UInt8(count)])
        return [:]
      }
    }
    register("FailOnce") { [self] request, _ in
      let message = try await Self.only(request)
      guard
        refused.withLock({
          $0 += 1; return $0 > 1
        })
      else {
        return Answer(error: RPCError(code: .unavailable, message: "come again"))
      }
      return Answer { writer in
        try await writer.write(message)
        return [:]
      }
    }
    register("Flood") { [self] _, _ in
      Answer { writer in
        let piece = [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<256 {
          try await writer.write(piece)
          self.flooded.withLock { $0 += piece.count }
        }
        return [:]
      }
    }
  }

  private static func only(_ request: StreamingServerRequest<[UInt8]>) async throws -> [UInt8] {
    for try await message in request.messages { return message }
    throw RPCError(code: .invalidArgument, message: "no message")
  }
}
