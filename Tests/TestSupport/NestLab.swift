// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
package import LastroCurl
import LastroSupport
package import LastroTesting
package import Testing

/// An authority that clients trust, servers it certifies, and dialers to them.
package struct NestLab {
  package let authority: CertificateAuthority
  package let base: CurlDialer

  package init() throws {
    authority = try CertificateAuthority()
    base = try Self.engine()
  }

  /// A dialer that asks no proxy, and trusts nobody by itself: TLS is the transports'.
  package static func engine(_ edit: (inout CurlConfiguration) -> Void = { _ in }) throws -> CurlDialer {
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    edit(&configuration)
    return try CurlDialer(configuration)
  }

  package var options: ConnectionOptions {
    var options = ConnectionOptions()
    options.tls.roots = .pem(Array(authority.rootPEM.utf8))
    options.proxy = .none
    return options
  }

  package func options(_ edit: (inout TLSOptions) -> Void) -> ConnectionOptions {
    var options = options
    edit(&options.tls)
    return options
  }

  /// TLS over the engine's plain streams.
  package func dialer(_ edit: (inout TLSOptions) -> Void = { _ in }) -> TLSDialer {
    TLSDialer(over: base, connection: options(edit))
  }

  package func tls(_ hosts: String...) throws -> LoopbackTLS {
    LoopbackTLS(try authority.issue(hosts: hosts.isEmpty ? ["localhost", "127.0.0.1"] : hosts))
  }

  package func echo(_ edit: (inout LoopbackTLS) -> Void = { _ in }) throws -> LoopbackServer {
    var tls = try tls()
    edit(&tls)
    return try LoopbackServer(tls: tls) { try $0.echo() }
  }

  package static let absentPin = "sha256/" + String(repeating: "A", count: 43) + "="
  package static let sparePin = "sha256/" + String(repeating: "B", count: 43) + "="

  package static func evaluator(
    _ host: String, pin: String, allowsOthers: Bool = true
  ) throws -> ServerTrustEvaluator {
    let policy = try PinningPolicy(
      domainName: host, includeSubdomains: false, pinnedHashes: [pin, sparePin], mode: .enforce)
    return ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: allowsOthers))
  }

  package static func pin(_ certificate: MintedCertificate) throws -> String {
    try #require(SPKIHash(pem: certificate.certificatePEM)).description
  }
}

extension LoopbackConnection {
  /// Sends back whatever comes, until the client ends; then closes in order.
  package func echo() throws {
    while case let bytes = read(max: 65_536), !bytes.isEmpty { try write(bytes) }
    close()
  }
}

extension LoopbackServer {
  package func request(
    _ host: String = "localhost", tls: DialRequest.TLS? = DialRequest.TLS(), role: ServerTrust.Role = .server,
    connection: ConnectionOptions? = nil, within limit: Duration? = .seconds(600)
  ) -> DialRequest {
    DialRequest(host: host, port: port, tls: tls, role: role, connection: connection, connectTimeout: limit)
  }
}

/// Streams whose reads are short, and that may spoil what passes.
package struct MeddlingDialer: Dialer {
  package let below: any Dialer
  package var longestRead: Int
  /// Gets the number of bytes that came before, and the bytes.
  package var spoil: @Sendable (Int, Data) -> Data?

  package init(
    below: any Dialer, longestRead: Int = .max, spoil: @escaping @Sendable (Int, Data) -> Data? = { $1 }
  ) {
    self.below = below
    self.longestRead = longestRead
    self.spoil = spoil
  }

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    Meddled(below: try await below.dial(request), dialer: self)
  }

  package func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  private final class Meddled: ByteStream {
    private let below: any ByteStream
    private let dialer: MeddlingDialer
    private let count = Lock(0)

    init(below: any ByteStream, dialer: MeddlingDialer) {
      self.below = below
      self.dialer = dialer
    }

    var facts: StreamFacts { below.facts }

    func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
      guard let bytes = try await below.read(upTo: min(maximum, dialer.longestRead), within: limit) else { return nil }
      let before = count.withLock { count in
        defer { count += bytes.count }
        return count
      }
      return dialer.spoil(before, bytes)
    }

    func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
      try await below.write(data, within: limit)
    }

    func finishWriting(within limit: Duration?) async throws(TransportError) {
      try await below.finishWriting(within: limit)
    }

    func close() { below.close() }
  }
}

/// A judge by a rule of a test's own, which keeps what it was asked.
package final class NestJudge: ServerTrustJudge {
  private let seen = Lock([ServerTrust]())
  private let accepts: @Sendable (ServerTrust) -> Bool

  package init(_ accepts: @escaping @Sendable (ServerTrust) -> Bool) { self.accepts = accepts }

  package var asked: [ServerTrust] { seen.withLock { $0 } }

  package func judge(_ trust: ServerTrust) -> TrustDecision {
    seen.withLock { $0.append(trust) }
    return accepts(trust) ? .accepted(.validated) : .refused(TrustFailure(.refused("not this one"), trust: trust))
  }
}

extension ByteStream {
  package func nestedRest() async throws -> Data {
    var all = Data()
    while let bytes = try await read() { all += bytes }
    return all
  }

  package func nestedBytes(_ count: Int) async throws -> Data {
    var all = Data()
    while all.count < count { all += try #require(try await read(upTo: count - all.count)) }
    return all
  }

  /// Sends bytes both ways at once, and expects them back in order.
  package func expectEcho(_ count: Int = 100, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let sent = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    async let received = nestedBytes(count)
    try await write(sent)
    let echo = try await received
    #expect(echo == sent, sourceLocation: sourceLocation)
  }
}

/// Waits until a condition holds; false after some minutes.
package func nestedComesTrue(_ condition: () throws -> Bool) async rethrows -> Bool {
  for _ in 0..<30_000 {
    if try condition() { return true }
    try? await Task.sleep(for: .milliseconds(10))
  }
  return try condition()
}

extension TimeSource {
  /// Pauses and limits that never pass, but for one.
  package static func endless(but passing: Duration? = nil) -> TimeSource {
    TimeSource(
      now: TimeSource.continuous.now,
      sleep: { duration in
        if duration != passing { try await Task.sleep(for: .seconds(1_000_000)) }
      })
  }
}

/// The error that an operation throws.
package func nestedFailure<Value>(
  _ operation: () async throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> TransportError {
  do {
    _ = try await operation()
  } catch let error as TransportError {
    return error
  }
  Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  throw CancellationError()
}
