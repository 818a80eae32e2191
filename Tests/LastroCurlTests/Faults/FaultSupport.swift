// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What became of an exchange, in a form that tables can hold.
enum Outcome: Equatable, Sendable, CustomStringConvertible {
  case answered(Int, String)
  /// Stage and code, as `response/truncated_body`.
  case failed(String)

  var description: String {
    switch self {
    case .answered(let status, let body): "\(status) \(body.debugDescription)"
    case .failed(let code): code
    }
  }
}

extension TransportError {
  var word: String { "\(stage.rawValue)/\(code)" }
}

extension HTTPFetchError {
  var word: String { "\(stage.rawValue)/\(code)" }
}

/// A row of a table of hostile answers.
struct Fault: Sendable, CustomTestStringConvertible {
  var name: String
  var bytes: [UInt8]
  var expected: Outcome
  var method = HTTPRequest.Method.get
  /// Whether the server closes after the bytes, or waits for what the client does.
  var closes = true

  init(
    _ name: String, _ text: String, _ expected: Outcome, method: HTTPRequest.Method = .get, closes: Bool = true
  ) {
    self.init(name, Array(text.utf8), expected, method: method, closes: closes)
  }

  init(
    _ name: String, _ bytes: [UInt8], _ expected: Outcome, method: HTTPRequest.Method = .get, closes: Bool = true
  ) {
    self.name = name
    self.bytes = bytes
    self.expected = expected
    self.method = method
    self.closes = closes
  }

  var testDescription: String { name }
}

/// A server that plays a fault to the first request, and is well-behaved to those for `/ok`.
func faultServer(_ fault: Fault, tls: LoopbackTLS? = nil) throws -> LoopbackServer {
  try LoopbackServer(tls: tls) { connection in
    while let head = try connection.readHead() {
      if head.path == "/ok" {
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
      } else {
        try connection.write(fault.bytes)
        if fault.closes { return }
      }
    }
  }
}

/// Plays a fault, then asks the same engine for `/ok` on the same host: whatever came before must not be in that answer.
/// Both requests reach the server once.
func play(_ fault: Fault) async throws -> Outcome {
  let server = try faultServer(fault)
  let engine = try CurlTransport()
  let outcome = await engine.outcome(server, "/fault", method: fault.method)
  #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"), "the next request on the same host")
  #expect(server.requests.map(\.target) == ["/fault", "/ok"], "nothing is sent twice")
  #expect(await becomesTrue { engine.activeTransfers == 0 })
  return outcome
}

extension CurlTransport {
  /// Fetches, collected, with resending allowed for methods that are idempotent.
  func outcome(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async -> Outcome {
    do throws(TransportError) {
      let response = try await execute(.to(server, path, method: method, adapting: adapt))
      let bytes: Data
      if let collected = response.body.bytes {
        bytes = collected
      } else {
        bytes = try await response.body.collect(upTo: .max)
      }
      return .answered(response.head.status.code, String(decoding: bytes, as: UTF8.self))
    } catch {
      return .failed(error.word)
    }
  }

  /// The error of an exchange that must fail.
  func failure(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async throws -> TransportError {
    try await #require(throws: TransportError.self) {
      let response = try await execute(.to(server, path, method: method, adapting: adapt))
      if response.body.bytes == nil { _ = try await response.body.collect(upTo: .max) }
    }
  }
}

extension TransferRequest {
  static func to(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) -> TransferRequest {
    var request = TransferRequest(
      head: HTTPRequest(
        method: method, scheme: server.isTLS ? "https" : "http",
        authority: server.isTLS ? "localhost:\(server.port)" : "127.0.0.1:\(server.port)", path: path))
    request.allowsResend = method == .get || method == .head
    adapt(&request)
    return request
  }
}

/// Polls until a condition holds; false after some seconds.
func becomesTrue(_ condition: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<8_000 {
    if try condition() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return try condition()
}

/// Lets a handler tell the test that it has come somewhere.
struct Signal: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func send() { continuation.yield() }

  /// Waits for one signal.
  func wait() async { for await _ in stream { return } }
}

extension LoopbackConnection {
  /// Reads to the end, slowly: a server that stops altogether would not see the end behind what it has not read.
  func readSlowly() {
    while !read(max: 16 << 10).isEmpty, pause(.milliseconds(2)) {}
  }
}
