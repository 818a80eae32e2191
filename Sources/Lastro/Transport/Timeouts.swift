// SPDX-License-Identifier: Apache-2.0

/// Limits in time. `nil` means no limit.
///
/// ```swift
/// configuration.timeouts.total = .seconds(30)                // the others stay as they are
/// options.timeouts = try Timeouts(total: .seconds(3))        // the others are as in `standard`
/// ```
///
/// A limit that was set to zero or less fails fetches with `request/invalid_option`, before anything is sent. A part
/// that was set longer than its whole has no effect.
public struct Timeouts: Sendable, Hashable {
  /// From when a connection is dialed for the request until it stands, with TLS. Time in the queue does not count.
  public var connect: Duration?
  /// One attempt with all its redirects and its body. Time in the queue counts.
  public var attempt: Duration?
  /// The longest time in which no byte moves in either direction while the server is to act.
  ///
  /// Bytes that the server's kernel acknowledges count where the transport can see them, so that an upload on a slow
  /// line is not idle. The limit does not run while the reader of a streamed body, or the writer of a streamed upload,
  /// holds things up. A body that drips is not idle: only ``attempt`` and ``total`` end it.
  public var idle: Duration?
  /// The whole call: queue, making requests (a token refreshed for them included), redirects, waits and retries, body.
  ///
  /// No wait is begun that cannot end before. A request maker or interceptor that is still at work then is left behind;
  /// interceptors that are told of the end are given a second, unless none of them waits
  /// (``HTTPResourceInterceptor/hooksWait``).
  public var total: Duration?

  /// 10 s to connect, 60 s idle, 60 s in total: for bodies collected in memory.
  public static let standard = Timeouts(
    unchecked: standardConnect, attempt: nil, idle: standardIdle, total: .seconds(60))
  /// 10 s to connect, 60 s idle, no limit in total: for streams and large bodies.
  public static let streaming = Timeouts(unchecked: standardConnect, attempt: nil, idle: standardIdle, total: nil)

  private static let standardConnect = Duration.seconds(10)
  private static let standardIdle = Duration.seconds(60)

  /// Makes limits; those left out are as in ``standard``.
  ///
  /// - Parameters:
  ///   - connect: default 10 s; none where `attempt` or `total` is shorter.
  ///   - attempt: default none.
  ///   - idle: default 60 s; none where `attempt` or `total` is shorter.
  ///   - total: default 60 s.
  /// - Throws: ``ConfigurationError`` when a limit is not positive, or a part exceeds the whole
  ///   (connect or idle over attempt or total, attempt over total).
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
          hint: "a part cannot outlast the whole: raise \(wholeName) or lower \(partName)")
      }
    }
  }

  private init(unchecked connect: Duration?, attempt: Duration?, idle: Duration?, total: Duration?) {
    self.connect = connect
    self.attempt = attempt
    self.idle = idle
    self.total = total
  }

  /// The standard limit gives way to a shorter whole, which is what ends the fetch then; any other is meant as it is
  /// given.
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

  /// Refuses limits that were set to what is not positive.
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
