// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
package import LastroSupport

extension Countdown {
  /// Returns the remaining time of a dial, which all its layers share; `nil` if there is no limit.
  ///
  /// - Parameter target: host and port, for the error; `nil` if a caller adds the name of the proxy.
  /// - Throws: stage `timeout`, code `connect_timeout`, if no time is left.
  package func remaining(to target: String? = nil) throws(TransportError) -> Duration? {
    let left = left
    guard left != .zero else { throw .dialTimedOut(to: target, within: limit) }
    return left
  }
}

/// A handshake with a proxy or a server, before a stream carries application data. If it fails, no application data has
/// been sent.
package struct StreamHandshake: Sendable {
  package let stream: any ByteStream
  package let countdown: Countdown
  private let target: String?

  /// - Parameter target: host and port, for errors; `nil` if the caller adds the name of the proxy.
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

  /// Receives the next bytes; `nil` at the end.
  package func receive(upTo maximum: Int) async throws(TransportError) -> Data? {
    do throws(TransportError) {
      return try await stream.read(upTo: maximum, within: try countdown.remaining(to: target))
    } catch {
      throw error.beforeSending(to: target, within: countdown.limit)
    }
  }

  /// Receives exactly `count` bytes, and none after them. Returns `nil` if the stream ends first.
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
  /// Creates the error of a dial that took too long: stage `timeout`, code `connect_timeout`.
  ///
  /// - Parameter target: host and port; `nil` if the caller adds the name of the proxy.
  package static func dialTimedOut(to target: String? = nil, within limit: Duration?) -> Self {
    let what = target.map { "connecting to \($0)" } ?? "connecting"
    return Self(
      stage: .timeout, code: .connectTimeout,
      message: "\(what) took longer than \(limit?.brief ?? "the connect timeout")",
      hint: "raise the connect timeout, or check host, port and network")
  }

  /// Returns the error as a failure of dialing. A stream's own timeout becomes the dial's. No application data counts
  /// as sent.
  package func beforeSending(to target: String? = nil, within limit: Duration?) -> Self {
    if code == .idleTimeout {
      var timeout = Self.dialTimedOut(to: target, within: limit)
      // A tunnel's own hint about its silence is more useful than the advice to raise the timeout.
      if hint != Self.idleStream(within: nil).hint { timeout.hint = hint ?? timeout.hint }
      return timeout
    }
    var error = self
    error.requestSent = false
    return error
  }

  /// Creates the error of a dialer that does not support TLS and is asked for it.
  package static func noTLS(_ name: String) -> Self {
    .refused(
      .unsupported, "\(name) does not provide TLS itself",
      hint: "call addingTLS(connection:) on the dialer; chains do so automatically")
  }
}
