// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
package import LastroSupport

extension Countdown {
  /// Returns the time that is left for a dial, over all its layers.
  ///
  /// - Parameter target: host and port, for the error; `nil` where a caller names the proxy.
  /// - Throws: stage `timeout`, code `connect_timeout`, when nothing is left.
  package func remaining(to target: String? = nil) throws(TransportError) -> Duration? {
    let left = left
    guard left != .zero else { throw .dialTimedOut(to: target, within: limit) }
    return left
  }
}

/// The talk with a proxy or a server before a stream carries anybody's bytes. Whatever fails here, nothing of the
/// application has been sent.
package struct StreamHandshake: Sendable {
  package let stream: any ByteStream
  package let countdown: Countdown
  private let target: String?

  /// - Parameter target: host and port, for errors; `nil` where the caller names the proxy.
  package init(over stream: any ByteStream, to target: String? = nil, within countdown: Countdown) {
    self.stream = stream
    self.target = target
    self.countdown = countdown
  }

  package func send(_ data: Data) async throws(TransportError) {
    do throws(TransportError) {
      try await stream.write(data, within: try countdown.remaining(to: target))
    } catch {
      throw error.beforeSending(to: target, within: countdown.limit)
    }
  }

  /// The next bytes; `nil` at the end.
  package func receive(upTo maximum: Int) async throws(TransportError) -> Data? {
    do throws(TransportError) {
      return try await stream.read(upTo: maximum, within: try countdown.remaining(to: target))
    } catch {
      throw error.beforeSending(to: target, within: countdown.limit)
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
  ///
  /// - Parameter target: host and port; `nil` where the caller names the proxy.
  package static func dialTimedOut(to target: String? = nil, within limit: Duration?) -> Self {
    let what = target.map { "connecting to \($0)" } ?? "connecting"
    return Self(
      stage: .timeout, code: .connectTimeout,
      message: "\(what) took longer than \(limit?.brief ?? "the connect timeout")",
      hint: "raise the connect timeout, or check host, port and network")
  }

  /// The error as a failure of dialing: a stream's own timeout is the dial's, and what was sent was not the
  /// application's.
  package func beforeSending(to target: String? = nil, within limit: Duration?) -> Self {
    if code == .idleTimeout {
      var timeout = Self.dialTimedOut(to: target, within: limit)
      // What a tunnel knows of its silence is worth more than to wait longer.
      if hint != Self.idleStream(within: nil).hint { timeout.hint = hint ?? timeout.hint }
      return timeout
    }
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
