// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import TestSupport
import Testing

typealias RawFailure = HTTPFetchError<any Error>
typealias RawAnswer = Fetched<Data, ResourceResponse>

extension CurlNetworkStack {
  /// Returns a stack that ignores the proxies that the environment sets.
  static func direct(
    _ edit: (inout CurlConfiguration) -> Void = { _ in }, configuration: StackConfiguration = .patient
  ) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    edit(&engine)
    return try CurlNetworkStack(engine, configuration: configuration)
  }
}

extension HTTPNetworkStack {
  /// Fetches with a request of the given parts.
  func send(
    _ method: HTTPRequest.Method = .get, _ url: String, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) async throws(RawFailure) -> RawAnswer {
    let make = BaseRequestMaking<ResourceRequest> {
      try ResourceRequest(method: method, url: url, headers: headers, body: body, options: options)
    }
    return try await fetch(RawHTTPResource(baseRequestMaking: make))
  }
}

extension RequestOptions {
  /// Returns options with an edited copy of the direct connection options.
  static func connection(_ edit: (inout ConnectionOptions) -> Void) -> RequestOptions {
    var options = RequestOptions()
    var connection = ConnectionOptions()
    connection.proxy = .none
    edit(&connection)
    options.connection = connection
    return options
  }
}

extension Fetched where Value == Data {
  var text: String { String(decoding: value, as: UTF8.self) }
}

extension CurlTransport {
  /// Returns an engine whose default configuration has been edited.
  static func with(_ edit: (inout CurlConfiguration) -> Void) throws(ConfigurationError) -> CurlTransport {
    var configuration = CurlConfiguration()
    edit(&configuration)
    return try CurlTransport(configuration)
  }
}

/// Runs an operation that must fail, and returns the failure. An error that is not a failure of the stack fails the
/// test.
func failure<Success>(
  sourceLocation: SourceLocation = #_sourceLocation, _ operation: () async throws -> Success
) async throws -> RawFailure {
  do {
    _ = try await operation()
  } catch let error as RawFailure {
    return error
  }
  let none: RawFailure? = nil
  return try #require(none, "the call must fail", sourceLocation: sourceLocation)
}

/// Returns the SHA-256 of the bytes as hexadecimal digits.
func sha256(_ data: Data) -> String { (try? MessageDigest(of: data))?.hexadecimal ?? "" }

/// An engine that trusts a test authority, with servers whose certificates that authority issues.
struct TrustingEngine {
  let authority: CertificateAuthority
  let dialer: CurlTransport
  let transport: CurlTransport

  init(_ edit: (inout CurlConfiguration, CertificateAuthority) throws -> Void = { _, _ in }) throws {
    authority = try CertificateAuthority()
    var configuration = CurlConfiguration()
    configuration.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    configuration.connection.proxy = .none
    try edit(&configuration, authority)
    transport = try CurlTransport(configuration)
    dialer = transport
  }

  /// Returns a server on 127.0.0.1. With `tls`, it speaks TLS with a certificate for `localhost`.
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

  /// Returns options that trust the authority, after an edit.
  func options(_ edit: (inout ConnectionOptions) -> Void) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    options.proxy = .none
    edit(&options)
    return options
  }
}

/// Returns pseudorandom bytes.
func noise(_ count: Int) -> Data {
  var state: UInt32 = 2_463_534_242
  return Data(
    (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 17
      state ^= state << 5
      return UInt8(truncatingIfNeeded: state)
    })
}

extension TestAuthority {
  /// Returns a stack that trusts the authority and asks a judge about its servers.
  func stack(
    _ judge: (any ServerTrustJudge)?, names: [String: Int] = [:], _ edit: (inout CurlConfiguration) -> Void = { _ in }
  ) throws -> CurlNetworkStack {
    try .direct {
      $0.connection.tls.roots = roots
      $0.connection.tls.trustJudge = judge
      $0.connection.resolutions = names.map { .init(host: $0.key, port: $0.value, addresses: ["127.0.0.1"]) }
      edit(&$0)
    }
  }
}
