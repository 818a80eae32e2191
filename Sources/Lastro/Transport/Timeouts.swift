// SPDX-License-Identifier: Apache-2.0

/// Limits in time. `nil` means no limit.
public struct Timeouts: Sendable, Hashable {
  /// From the start of an attempt until connection and TLS stand. Time in the queue does not count.
  public let connect: Duration?
  /// One attempt with all its redirects and its body. Time in the queue counts.
  public let attempt: Duration?
  /// The longest time in which no byte moves in either direction while the peer is to act. While the reader of a
  /// streamed body, or the writer of a streamed upload, holds things up, it does not run. What drips is not idle: only
  /// ``attempt`` and ``total`` end it.
  public let idle: Duration?
  /// The whole call: queue, making requests (a token refreshed for them included), redirects, waits and retries, body.
  ///
  /// No wait is begun that cannot end before. A request maker or interceptor that is still at work then is left behind;
  /// interceptors that are told of the end are given a second, unless none of them waits
  /// (``HTTPResourceInterceptor/hooksWait``).
  public let total: Duration?

  /// 10 s to connect, 60 s idle, 60 s in total: for bodies collected in memory.
  public static let standard = Timeouts(
    unchecked: .seconds(10), attempt: nil, idle: .seconds(60), total: .seconds(60))
  /// 10 s to connect, 60 s idle, no limit in total: for streams and large bodies.
  public static let streaming = Timeouts(
    unchecked: .seconds(10), attempt: nil, idle: .seconds(60), total: nil)

  /// Makes limits.
  ///
  /// - Throws: ``ConfigurationError`` when a limit is not positive, or a part exceeds the whole
  ///   (connect or idle over attempt or total, attempt over total).
  public init(connect: Duration?, attempt: Duration?, idle: Duration?, total: Duration?) throws(ConfigurationError) {
    for (name, value) in [("connect", connect), ("attempt", attempt), ("idle", idle), ("total", total)] {
      if let value, value <= .zero {
        throw ConfigurationError(
          "the \(name) timeout is \(value)", hint: "give a positive duration, or nil for no limit")
      }
    }
    for (part, partName, whole, wholeName) in [
      (attempt, "attempt", total, "total"), (connect, "connect", attempt, "attempt"),
      (connect, "connect", total, "total"), (idle, "idle", attempt, "attempt"), (idle, "idle", total, "total"),
    ] {
      if let part, let whole, part > whole {
        throw ConfigurationError(
          "the \(partName) timeout (\(part)) exceeds the \(wholeName) timeout (\(whole))",
          hint: "a part cannot outlast the whole: raise \(wholeName) or lower \(partName)")
      }
    }
    self.init(unchecked: connect, attempt: attempt, idle: idle, total: total)
  }

  init(unchecked connect: Duration?, attempt: Duration?, idle: Duration?, total: Duration?) {
    self.connect = connect
    self.attempt = attempt
    self.idle = idle
    self.total = total
  }
}
