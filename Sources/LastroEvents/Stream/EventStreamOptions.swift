// SPDX-License-Identifier: Apache-2.0

/// How an ``EventStream`` is kept open, and what it takes.
///
/// ```swift
/// var options = EventStreamOptions()
/// options.lastEventID = saved
/// options.reconnection = .always(failures: nil)
/// ```
public struct EventStreamOptions: Sendable {
  /// Whether a stream that was lost, or that the server ended, is connected anew.
  public enum Reconnection: Sendable, Hashable {
    /// A GET is, until more than 20 connections were lost since the latest event; another method never: a POST that is
    /// sent again may be acted on, and paid for, twice.
    case byMethod
    /// Never: a clean end ends the stream, and a loss is thrown.
    case never
    /// Whatever the method, until more than so many connections were lost since the latest event. `nil`: no limit. A
    /// negative number is refused.
    case always(failures: Int?)
  }

  /// Default ``Reconnection-swift.enum/byMethod``.
  public var reconnection: Reconnection = .byMethod
  /// Where to go on: what the first connection sends as `Last-Event-ID`. Default: empty, which sends none. At most
  /// ``maximumIDBytes``; control characters are refused.
  public var lastEventID = ""
  /// Most bytes of an event's data. Default 8 MiB. A larger event ends the stream with stage `limit`, code
  /// `event_too_large`, and is not asked for again. At least 1.
  public var maximumEventBytes = 8 << 20
  /// Most bytes of a line, and so of an event's data that is written in one. Default 1 MiB. As for
  /// ``maximumEventBytes``.
  public var maximumLineBytes = 1 << 20
  /// Most bytes of an event's identifier. Default 4 KiB. As for ``maximumEventBytes``.
  public var maximumIDBytes = 4 << 10
  /// The longest silence before the first byte of each connection's events, in place of the idle timeout: a model may
  /// think for minutes before its first word. Default 5 min; a shorter one than the idle timeout counts as that. From
  /// the first byte on the idle timeout holds (`Timeouts.idle`, 60 s by default), for which comments count as well.
  /// Without an idle timeout there is no limit here either. Must be positive.
  public var firstEvent: Duration = .seconds(300)

  /// Makes the default options.
  public init() {}
}
