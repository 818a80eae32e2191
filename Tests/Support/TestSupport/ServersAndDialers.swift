// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
package import LastroSupport
package import LastroTesting
package import Testing

/// A judge that applies a test's rules and records the trusts that it judges.
package final class ScriptedJudge: ServerTrustJudge {
  private struct State {
    var revision: UInt64 = 0
    var asked: [ServerTrust] = []
  }

  private let state = Lock(State())
  private let decide: @Sendable (ServerTrust, ScriptedJudge) -> TrustDecision

  package init(_ decide: @escaping @Sendable (ServerTrust, ScriptedJudge) -> TrustDecision) { self.decide = decide }

  /// Makes a judge that accepts the trusts that a closure accepts.
  package convenience init(accepts: @escaping @Sendable (ServerTrust) -> Bool) {
    self.init { trust, _ in
      accepts(trust) ? .success(.validated) : .failure(TrustFailure(.refused("not this one"), trust: trust))
    }
  }

  package var revision: UInt64 { state.withLock { $0.revision } }
  package var asked: [ServerTrust] { state.withLock { $0.asked } }

  package func changeRules() { state.withLock { $0.revision += 1 } }

  package func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    state.withLock { $0.asked.append(trust) }
    return try decide(trust, self).get()
  }
}

extension LoopbackConnection {
  /// Sends back all received bytes until the client ends, and then closes the connection in an orderly way.
  package func echo() throws {
    while case let bytes = read(max: 65_536), !bytes.isEmpty { try write(bytes) }
    close()
  }
}

extension LoopbackServer {
  /// Returns the URL of the server under another host name.
  package func url(_ host: String, _ path: String = "/") -> String { "https://\(host):\(port)\(path)" }

  package func request(
    _ host: String = "localhost", tls: DialRequest.TLS? = DialRequest.TLS(), role: ServerTrust.Role = .server,
    connection: ConnectionOptions? = nil, within limit: Duration? = .seconds(600)
  ) -> DialRequest {
    DialRequest(host: host, port: port, tls: tls, role: role, connection: connection, connectTimeout: limit)
  }
}

/// The other end of a stream in memory, where a test reads the bytes that a client sends.
package struct FarEnd {
  package let stream: MemoryStream

  package init(_ stream: MemoryStream) { self.stream = stream }

  package func read(_ count: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try await stream.read(upTo: count - bytes.count) else { break }
      bytes += more
    }
    return bytes
  }

  package func readHead() async throws -> String {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let more = try await stream.read(upTo: 1) else { break }
      bytes += more
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  package func readToEnd() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = try await stream.read() { bytes += more }
    return bytes
  }

  package func write(_ bytes: [UInt8]) async throws { try await stream.write(Data(bytes)) }
  package func write(_ text: String) async throws { try await stream.write(Data(text.utf8)) }

  /// Sends back all received bytes until the end of the stream.
  package func echo() async throws {
    while let bytes = try await stream.read() { try await stream.write(bytes) }
  }
}

/// A dialer that returns one existing stream.
package struct GivenStreamDialer: Dialer {
  private let stream: any ByteStream

  package init(_ stream: any ByteStream) { self.stream = stream }

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { stream }
}

/// A stream that reports the calls made on it, and whose writes fail while `isBroken` is set.
package final class ToldStream: ByteStream {
  private let stream: any ByteStream
  /// The events: "finish", "end" when a read reaches the end, and "close".
  package let told: AsyncStream<String>
  package let isBroken = Lock(false)
  private let teller: AsyncStream<String>.Continuation

  package init(_ stream: any ByteStream) {
    self.stream = stream
    (told, teller) = AsyncStream.makeStream()
  }

  package var facts: StreamFacts { stream.facts }

  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    let data = try await stream.read(upTo: maximum, within: limit)
    if data == nil { teller.yield("end") }
    return data
  }

  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    if isBroken.withLock(\.self) {
      throw TransportError(stage: .send, code: .sendFailed, message: "broken pipe", requestSent: true)
    }
    try await stream.write(data, within: limit)
  }

  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    teller.yield("finish")
    try await stream.finishWriting(within: limit)
  }

  package func close() {
    teller.yield("close")
    stream.close()
  }
}

/// A dialer that records the requests it receives, and refuses plaintext to some hosts, as an engine with pins does.
package struct PinnedHostsDialer: Dialer {
  package let below: any Dialer
  package let pinned: Set<String>
  package let dialed = EventRecorder<DialRequest>()
  /// The requests whose plaintext was checked.
  package let checked = EventRecorder<DialRequest>()

  package init(below: any Dialer, pinned: Set<String> = []) {
    self.below = below
    self.pinned = pinned
  }

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    dialed.record(request)
    try refusePinned(request)
    return try await below.dial(request)
  }

  package func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    checked.record(request)
    try refusePinned(request)
  }

  private func refusePinned(_ request: DialRequest) throws(TransportError) {
    if request.role == .server, request.tls == nil, pinned.contains(request.host) {
      throw TransportError(stage: .trust, code: .plaintextRefused, message: "\(request.host) is pinned")
    }
  }
}

extension ByteStream {
  /// Reads all bytes up to the regular end of the stream.
  package func rest(atMost maximum: Int = 65_536) async throws(TransportError) -> Data {
    var all = Data()
    while let piece = try await read(upTo: maximum) { all += piece }
    return all
  }

  package func bytes(exactly count: Int) async throws -> Data {
    var all = Data()
    while all.count < count { all += try #require(try await read(upTo: count - all.count)) }
    return all
  }

  /// Sends bytes to an echo while it reads, and expects the same bytes back in order.
  package func expectEcho(_ count: Int = 100, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let sent = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    async let received = bytes(exactly: count)
    try await write(sent)
    let echo = try await received
    #expect(echo == sent, sourceLocation: sourceLocation)
  }
}

extension ByteStream {
  /// Sends a large amount of data to an echo and reads it at the same time. The bytes of a piece depend on its number,
  /// so a wrong order is detected.
  ///
  /// - Parameters:
  ///   - text: the number of MiB to send, from an environment variable.
  ///   - count: the number of MiB if `text` is `nil` or not a number.
  package func expectMuch(
    megabytes text: String?, otherwise count: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let pieces = 16 * (text.flatMap { Int($0) } ?? count)
    @Sendable func piece(_ number: Int) -> Data {
      Data((0..<65_536).map { UInt8(truncatingIfNeeded: ($0 &+ number) &* 31 ^ $0 >> 8 ^ number >> 3) })
    }
    async let writing: Void = {
      for number in 0..<pieces { try await write(piece(number)) }
    }()
    for number in 0..<pieces {
      guard try await bytes(exactly: 65_536) == piece(number) else {
        Issue.record("piece \(number) came back changed", sourceLocation: sourceLocation)
        break
      }
    }
    try await writing
  }
}

extension TimeSource {
  /// Returns a time source whose pauses and limits never pass, except those of the given duration.
  package static func endless(but passing: Duration? = nil) -> TimeSource {
    TimeSource(
      now: TimeSource.continuous.now,
      sleep: { duration in
        if duration != passing { try await Task.sleep(for: .seconds(1_000_000)) }
      })
  }
}

extension StackConfiguration {
  /// A configuration with timeouts that are not reached even on a busy machine.
  package static var patient: Self {
    var result = Self()
    let patient = try? Timeouts(connect: .seconds(600), attempt: nil, idle: .seconds(600), total: .seconds(900))
    if let patient { result.timeouts = patient }
    return result
  }
}
