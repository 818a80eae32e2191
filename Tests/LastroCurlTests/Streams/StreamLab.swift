// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A dialer that trusts an authority, and servers that it certifies.
struct StreamLab {
  let authority: CertificateAuthority
  let dialer: CurlDialer
  let transport: CurlTransport

  init(_ edit: (inout CurlConfiguration, CertificateAuthority) throws -> Void = { _, _ in }) throws {
    authority = try CertificateAuthority()
    var configuration = CurlConfiguration()
    configuration.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    configuration.connection.proxy = .none
    try edit(&configuration, authority)
    transport = try CurlTransport(configuration)
    dialer = CurlDialer(transport: transport)
  }

  /// A server on 127.0.0.1, over TLS for `localhost` where asked.
  func server(
    tls: Bool = false, _ edit: (inout LoopbackTLS) -> Void = { _ in }, handler: @escaping LoopbackServer.Handler
  ) throws -> LoopbackServer {
    guard tls else { return try LoopbackServer(handler: handler) }
    var options = LoopbackTLS(try authority.issue(hosts: ["localhost"]))
    edit(&options)
    return try LoopbackServer(tls: options, handler: handler)
  }

  func dial(
    _ server: LoopbackServer, limit: Duration? = nil, _ edit: (inout DialRequest) -> Void = { _ in }
  ) async throws -> any ByteStream {
    try await dialer.dial(request(server, limit: limit, edit))
  }

  func request(
    _ server: LoopbackServer, limit: Duration? = nil, _ edit: (inout DialRequest) -> Void = { _ in }
  ) -> DialRequest {
    var request = DialRequest(
      host: server.isTLS ? "localhost" : "127.0.0.1", port: server.port, tls: server.isTLS ? .init() : nil,
      connectTimeout: limit)
    edit(&request)
    return request
  }

  /// Options of this lab, changed.
  func options(_ edit: (inout ConnectionOptions) -> Void) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    options.proxy = .none
    edit(&options)
    return options
  }
}

/// Sends everything back, and ends when the client does.
@Sendable func streamEcho(_ connection: LoopbackConnection) throws {
  while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
}

/// Stage and code of what an operation must throw.
func streamWords<Value>(_ operation: () async throws -> Value) async -> String {
  do {
    return "no error: \(try await operation())"
  } catch let error as TransportError {
    return "\(error.stage.rawValue)/\(error.code)"
  } catch {
    return "\(error)"
  }
}

func streamError<Value>(_ operation: () async throws -> Value) async throws -> TransportError {
  try await #require(throws: TransportError.self) { _ = try await operation() }
}

extension ByteStream {
  /// All up to the clean end.
  func streamToEnd(atMost maximum: Int = 65_536) async throws -> Data {
    var all = Data()
    while let piece = try await read(upTo: maximum) { all += piece }
    return all
  }

  func streamBytes(exactly count: Int) async throws -> Data {
    var all = Data()
    while all.count < count, let piece = try await read(upTo: count - all.count) { all += piece }
    return all
  }
}

/// Polls until a condition holds; false after some seconds.
func streamComesTrue(_ condition: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<12_000 {
    if try condition() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return try condition()
}

/// Bytes that differ from place to place.
func streamNoise(_ count: Int) -> Data {
  var state: UInt32 = 2_463_534_242
  return Data(
    (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 17
      state ^= state << 5
      return UInt8(truncatingIfNeeded: state)
    })
}
