// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// What is left of the limit of a dial, over all its layers.
package struct Countdown: Sendable {
  private let end: ContinuousClock.Instant?

  package init(_ limit: Duration?) {
    // Some thirty years at most: an instant beyond the clock's range traps.
    end = limit.map { .now + min(max($0, .zero), .seconds(1_000_000_000)) }
  }

  /// What is left, zero at the least; `nil` where there is no limit.
  package var left: Duration? { end.map { max(.zero, ContinuousClock.now.duration(to: $0)) } }

  /// - Throws: stage `timeout`, code `connect_timeout`, when nothing is left.
  package func remaining() throws(TransportError) -> Duration? {
    let left = left
    guard left != .zero else { throw .dialTimedOut }
    return left
  }
}

/// The talk with a proxy or a peer before a stream carries anybody's bytes. Whatever fails here, nothing of the
/// application has been sent.
package struct StreamHandshake: Sendable {
  package let stream: any ByteStream
  package let countdown: Countdown

  package init(over stream: any ByteStream, within countdown: Countdown) {
    self.stream = stream
    self.countdown = countdown
  }

  package func send(_ data: Data) async throws(TransportError) {
    do throws(TransportError) {
      try await stream.write(data, within: try countdown.remaining())
    } catch {
      throw error.beforeSending
    }
  }

  /// The next bytes; `nil` at the end.
  package func receive(upTo maximum: Int) async throws(TransportError) -> Data? {
    do throws(TransportError) {
      return try await stream.read(upTo: maximum, within: try countdown.remaining())
    } catch {
      throw error.beforeSending
    }
  }

  /// Exactly so many bytes, and none of those behind them; `nil` when the end comes first.
  package func receive(exactly count: Int) async throws(TransportError) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let more = try await receive(upTo: count - bytes.count) else { return nil }
      bytes += more
    }
    return bytes
  }
}

extension TransportError {
  /// Stage `timeout`, code `connect_timeout`.
  package static var dialTimedOut: Self {
    Self(stage: .timeout, code: .connectTimeout, message: "no connection within the connect limit")
  }

  /// As a failure of dialing: a stream's own limit is the dial's, and what was sent was not the application's.
  package var beforeSending: Self {
    if code == .idleTimeout { return .dialTimedOut }
    var error = self
    error.requestSent = false
    return error
  }

  /// A refusal to do TLS in a dialer that does none.
  package static func noTLS(_ name: String) -> Self {
    .refused(
      .unsupported, "\(name) does no TLS itself", hint: "dial through a TLSDialer over it; chains do so by themselves")
  }
}
