// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// The outcome of an exchange, in a form that tables can hold.
enum Outcome: Equatable, Sendable, CustomStringConvertible {
  case answered(Int, String)
  /// The exchange failed; the value is stage and code, such as `response/truncated_body`.
  case failed(String)

  var description: String {
    switch self {
    case .answered(let status, let body): "\(status) \(body.debugDescription)"
    case .failed(let code): code
    }
  }
}

/// A row of a table of hostile answers.
struct Fault: Sendable, CustomTestStringConvertible {
  var name: String
  var bytes: [UInt8]
  var expected: Outcome
  var method = HTTPRequest.Method.get
  /// Whether the server closes the connection after the bytes, or waits for the client.
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

/// Returns a server that plays a fault for every request except those for `/ok`, which it answers normally.
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

/// Plays a fault, then requests `/ok` from the same host with the same engine. That answer must not contain earlier
/// bytes. Both requests reach the server once.
func play(_ fault: Fault) async throws -> Outcome {
  let server = try faultServer(fault)
  let engine = try LinkKind.current.engine()
  let outcome = await engine.outcome(server, "/fault", method: fault.method)
  #expect(await engine.outcome(server, "/ok") == .answered(200, "fine"), "the next request on the same host")
  #expect(server.requests.map(\.target) == ["/fault", "/ok"], "nothing is sent twice")
  #expect(await eventually { engine.activeTransfers == 0 })
  return outcome
}

extension Transport {
  /// Fetches, and collects the body. By default, GET and HEAD may be sent again.
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
      return .failed(error.words)
    }
  }

  /// Runs an exchange that must fail, and returns its error.
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

extension LoopbackConnection {
  /// Reads slowly up to the end. A server that stopped reading would not see the end behind the unread bytes.
  func readSlowly() {
    while !read(max: 16 << 10).isEmpty, pause(.milliseconds(2)) {}
  }
}

/// An engine, and the HTTP/2 servers that it trusts.
struct HTTP2Servers {
  let authority: CertificateAuthority
  let engine: any LinkedEngine

  init(over links: LinkKind = .current) throws {
    authority = try CertificateAuthority()
    engine = try links.engine()
  }

  func tls() throws -> LoopbackTLS { LoopbackTLS(try authority.issue(hosts: ["localhost"])) }

  func server(
    _ settings: LoopbackHTTP2Settings = .init(),
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws -> LoopbackServer {
    try .http2(tls: tls(), settings: settings, respond: respond)
  }

  /// Returns a server that answers `/ok`. All other responses have a fault before or within a body of five bytes.
  func faultServer(_ fault: LoopbackHTTP2Fault, at point: LoopbackHTTP2Fault.Point) throws -> LoopbackServer {
    try server { request in
      var response = LoopbackResponse.text(request.path == "/ok" ? "fine" : "12345")
      if request.path != "/ok" { response.fault = .http2(fault, at: point) }
      return response
    }
  }

  /// Fetches with a time limit, so that a hang fails. The request is not sent again unless `adapt` allows it.
  func outcome(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async -> Outcome {
    await engine.outcome(server, path, method: method) { bound(&$0, adapt) }
  }

  func failure(
    _ server: LoopbackServer, _ path: String = "/", method: HTTPRequest.Method = .get,
    adapting adapt: (inout TransferRequest) -> Void = { _ in }
  ) async throws -> TransportError {
    try await engine.failure(server, path, method: method) { bound(&$0, adapt) }
  }

  private func bound(_ request: inout TransferRequest, _ adapt: (inout TransferRequest) -> Void) {
    request.trust(authority)
    request.deadline = .seconds(200)
    request.allowsResend = false
    if request.head.method == .post { request.body = .raw("pay") }
    adapt(&request)
  }
}

/// A listener on 127.0.0.1 whose queue is full: connecting to it neither succeeds nor fails.
final class FullListener: Sendable {
  let port: UInt16
  private let descriptors: [Int32]
  /// The number of our own connections that wait.
  private static let fillers = 3

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var descriptors = [listener]
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        try #require(bind(listener, pointer, size) == 0 && listen(listener, 0) == 0)
        try #require(getsockname(listener, pointer, &size) == 0)
        // A queue of length 0 holds one connection. The others wait for a place, like the connection under test.
        for index in 0...Self.fillers {
          // The first connection must be in the queue before the others are counted.
          let flags = index == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)
          let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
          _ = connect(filler, pointer, size)
          descriptors.append(filler)
        }
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    self.descriptors = descriptors
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  /// Whether another client waits for a place in the queue.
  var isBeingAsked: Bool { Self.asking(port) > Self.fillers }

  /// Returns the number of connections to a port in SYN_SENT.
  private static func asking(_ port: UInt16) -> Int {
    let table = KernelFile.text("/proc/self/net/tcp")
    let digits = String(port, radix: 16, uppercase: true)
    let wanted = ":" + String(repeating: "0", count: 4 - digits.count) + digits
    let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
    // The kernel returns the table in pieces, and a row may be in two of them.
    return Set(rows.filter { $0.count > 3 && $0[2].hasSuffix(wanted) && $0[3] == "02" }.map { $0[1] }).count
  }
}

extension Transport {
  func outcome(_ listener: FullListener, adapting adapt: (inout TransferRequest) -> Void = { _ in }) async -> Outcome {
    var request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(listener.port)", path: "/"))
    adapt(&request)
    do throws(TransportError) {
      return .answered(try await execute(request).head.status.code, "")
    } catch {
      return .failed(error.words)
    }
  }
}
