// SPDX-License-Identifier: Apache-2.0

/// The timeouts of a call. `nil` means no limit.
///
/// ```swift
/// configuration.timeouts.total = .seconds(30)                // the others stay as they are
/// options.timeouts = try Timeouts(total: .seconds(3))        // the others are as in `standard`
/// ```
///
/// A limit of zero or less fails fetches with `request/invalid_option`, before anything is sent. A part that is set
/// longer than its whole has no effect.
public struct Timeouts: Sendable, Hashable {
  /// The time to establish the request's connection, including TLS, from the start of the dial. Time in the queue does
  /// not count.
  public var connect: Duration?
  /// The time for an attempt with all its redirects and its body. Time in the queue counts.
  public var attempt: Duration?
  /// The longest time without a byte in either direction while the server is expected to act.
  ///
  /// Bytes that the server's kernel acknowledges count if the transport can see them, so an upload on a slow line is
  /// not idle. The limit is paused while the reader of a streamed body, or the writer of a streamed upload, is slow. A
  /// body that arrives slowly is not idle: only ``attempt`` and ``total`` end it.
  public var idle: Duration?
  /// The time for the whole call: queue, making requests (including the refresh of a token for them), redirects, delays
  /// and retries, and body.
  ///
  /// No delay starts that would end later. If a request maker or an interceptor is still running when the time is over,
  /// the call does not wait for it. Interceptors that are called for the outcome then have one second to return, unless
  /// none of them waits (``HTTPResourceInterceptor/hooksWait``).
  public var total: Duration?

  /// The timeouts for bodies that are collected in memory: 10 s to connect, 60 s idle, 60 s in total.
  public static let standard = Timeouts(
    unchecked: standardConnect, attempt: nil, idle: standardIdle, total: .seconds(60))
  /// The timeouts for streams and large bodies: 10 s to connect, 60 s idle, no limit in total.
  public static let streaming = Timeouts(unchecked: standardConnect, attempt: nil, idle: standardIdle, total: nil)

  private static let standardConnect = Duration.seconds(10)
  private static let standardIdle = Duration.seconds(60)

  /// Creates timeouts. A limit that is left out is as in ``standard``.
  ///
  /// - Parameters:
  ///   - connect: the time to connect. Default 10 s; none if `attempt` or `total` is shorter.
  ///   - attempt: the time for an attempt. Default none.
  ///   - idle: the longest time without a byte. Default 60 s; none if `attempt` or `total` is shorter.
  ///   - total: the time for the whole call. Default 60 s.
  /// - Throws: ``ConfigurationError`` if a limit is not positive, or a part exceeds the whole (connect or idle over
  ///   attempt or total, attempt over total).
  public init(
    connect: Duration? = .seconds(10), attempt: Duration? = nil, idle: Duration? = .seconds(60),
    total: Duration? = .seconds(60)
  ) throws(ConfigurationError) {
    let whole = [attempt, total].compactMap(\.self).min()
    self.init(
      unchecked: Self.fitted(connect, standard: Self.standardConnect, in: whole), attempt: attempt,
      idle: Self.fitted(idle, standard: Self.standardIdle, in: whole), total: total)
    for (name, value) in named { try Self.check(name, value) }
    for (part, partName, whole, wholeName) in [
      (attempt, "attempt", total, "total"), (self.connect, "connect", attempt, "attempt"),
      (self.connect, "connect", total, "total"), (self.idle, "idle", attempt, "attempt"),
      (self.idle, "idle", total, "total"),
    ] {
      if let part, let whole, part > whole {
        throw ConfigurationError(
          "the \(partName) timeout (\(part.brief)) exceeds the \(wholeName) timeout (\(whole.brief))",
          hint: "a partial limit cannot exceed the enclosing one: raise \(wholeName) or lower \(partName)")
      }
    }
  }

  private init(unchecked connect: Duration?, attempt: Duration?, idle: Duration?, total: Duration?) {
    self.connect = connect
    self.attempt = attempt
    self.idle = idle
    self.total = total
  }

  /// Returns `nil` if the part is the standard limit and the whole is shorter, because the whole then ends the fetch.
  /// Any other limit is returned unchanged.
  private static func fitted(_ part: Duration?, standard: Duration, in whole: Duration?) -> Duration? {
    guard part == standard, let whole, whole < standard else { return part }
    return nil
  }
}

extension Timeouts {
  private var named: [(String, Duration?)] {
    [("connect", connect), ("attempt", attempt), ("idle", idle), ("total", total)]
  }

  private static func check(_ name: String, _ value: Duration?) throws(ConfigurationError) {
    guard let value, value <= .zero else { return }
    throw ConfigurationError(
      "the \(name) timeout is \(value.brief), which is not positive", hint: "give a positive one, or nil for no limit")
  }

  /// Throws an error if a limit is not positive.
  func check() throws(TransportError) {
    if (connect ?? .seconds(1)) > .zero, (attempt ?? .seconds(1)) > .zero, (idle ?? .seconds(1)) > .zero,
      (total ?? .seconds(1)) > .zero
    {
      return
    }
    do throws(ConfigurationError) {
      for (name, value) in named { try Self.check(name, value) }
    } catch {
      throw .refused(.invalidOption, error.message, hint: error.hint)
    }
  }
}
