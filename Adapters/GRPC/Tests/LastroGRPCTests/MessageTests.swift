// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRPCCore
import HTTPTypes
import Lastro
import Synchronization
import Testing

@testable import LastroGRPC

@Suite("Messages in the chunks of a response", .timeLimit(.minutes(15)))
struct MessageTests {
  /// Returns a transport whose calls get a body in chunks.
  private func transport(
    _ chunks: [Data], _ trailers: HTTPFields, type: String = "application/grpc+proto"
  ) throws -> LastroGRPCTransport {
    try LastroGRPCTransport("https://a.test") { _, _ in
      let left = Mutex(chunks[...])
      let body = ResponseBody(
        next: { left.withLock { $0.popFirst() } }, finalFacts: { TransferFacts(trailers: trailers) })
      let head = HTTPResponse(status: .ok, headerFields: [.contentType: type])
      return Fetched(value: body, response: ResourceResponse(head: head, url: "https://a.test/"))
    }
  }

  @Test("Messages are the same however the bytes are cut", arguments: 1...20)
  func cuts(size: Int) async throws {
    let bytes: [UInt8] = [0, 0, 0, 0, 0] + [0, 0, 0, 1, 0] + Array(repeating: 8, count: 256) + [0, 0, 0, 0, 2, 1, 2]
    let chunks = stride(from: 0, to: bytes.count, by: size).map { Data(bytes[$0..<min($0 + size, bytes.count)]) }
    try await withEcho(try transport(chunks, [HTTPField.Name("grpc-status")!: "0"])) { client in
      let messages = try await client.expand([1]) { messages in
        try await messages.reduce(into: [[UInt8]]()) { $0.append($1) }
      }
      #expect(messages == [[], Array(repeating: 8, count: 256), [1, 2]])
    }
  }

  @Test(
    "The content type may have a format and parameters",
    arguments: ["application/grpc", "Application/GRPC+json", "application/grpc;a=b", "application/grpc ; a=b"])
  func contentType(type: String) async throws {
    let trailers = [HTTPField.Name("grpc-status")!: "0"] as HTTPFields
    try await withEcho(try transport([Data([0, 0, 0, 0, 1, 1])], trailers, type: type)) { client in
      let answer = try await client.unary([1]).message
      #expect(answer == [1])
    }
  }

  @Test("A message whose length does not fit into its prefix is refused, whatever its limit is")
  func longest() throws {
    var options = CallOptions.defaults
    options.maxRequestMessageBytes = .max
    let maker = try RequestMaker("https://a.test", RequestOptions()) { _, _ in throw CancellationError() }
    let call = GRPCCall(EchoMethod.descriptor("Unary"), options, maker)
    try call.checkRequest(Int(UInt32.max))
    let error = #expect(throws: RPCError.self) { try call.checkRequest(Int(UInt32.max) + 1) }
    #expect(error?.code == .resourceExhausted)
  }

  @Test("Several binary values in one field are several values")
  func joined() async throws {
    let trailers: HTTPFields = [HTTPField.Name("grpc-status")!: "0", HTTPField.Name("x-a-bin")!: "AQ, Ag=="]
    try await withEcho(try transport([Data([0, 0, 0, 0, 1, 1])], trailers)) { client in
      let response = try await client.unary([1])
      #expect(Array(response.trailingMetadata[binaryValues: "x-a-bin"]) == [[1], [2]])
    }
  }

  @Test("The configuration of a method comes before its service's and the default")
  func configuration() throws {
    let config = ServiceConfig(
      methodConfig: [
        MethodConfig(names: [.init(service: "lastro.Echo", method: "Chat")], timeout: .seconds(1)),
        MethodConfig(names: [.init(service: "lastro.Echo")], timeout: .seconds(2)),
        MethodConfig(names: [.init(service: "")], timeout: .seconds(3)),
      ], retryThrottling: try .init(maxTokens: 10, tokenRatio: 0.1))
    let transport = try LastroGRPCTransport("https://a.test", serviceConfig: config) { _, _ in throw CancellationError()
    }
    #expect(transport.config(forMethod: EchoMethod.descriptor("Chat"))?.timeout == .seconds(1))
    #expect(transport.config(forMethod: EchoMethod.descriptor("Unary"))?.timeout == .seconds(2))
    let other = MethodDescriptor(fullyQualifiedService: "other", method: "Unary")
    #expect(transport.config(forMethod: other)?.timeout == .seconds(3))
    #expect(transport.retryThrottle?.maxTokens == 10)
  }
}
