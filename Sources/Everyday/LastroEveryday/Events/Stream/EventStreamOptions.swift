// SPDX-License-Identifier: Apache-2.0

/// The reconnection and the limits of an ``EventStream``.
///
/// ```swift
/// var options = EventStreamOptions()
/// options.lastEventID = saved
/// options.reconnection = .always(failures: nil)
/// ```
public struct EventStreamOptions: Sendable {
  /// The policy for reconnecting after a connection is lost, or ended by the server.
  public enum Reconnection: Sendable, Hashable {
    /// Reconnect after a GET, until more than 20 connections have been lost since the latest event; never after another
    /// method, because a repeated POST may be processed, and charged for, twice.
    case byMethod
    /// Never reconnect: an orderly end ends the stream, and a loss is thrown.
    case never
    /// Reconnect after any method, until more than `failures` connections have been lost since the latest event. `nil`:
    /// no limit. A negative number is refused.
    case always(failures: Int?)
  }

  /// The policy for reconnecting. Default ``Reconnection-swift.enum/byMethod``.
  public var reconnection: Reconnection = .byMethod
  /// The identifier of the event after which to continue, which the first connection sends as `Last-Event-ID`. Default:
  /// empty, which sends none. At most ``maximumIDBytes``; control characters are refused.
  public var lastEventID = ""
  /// The maximum size of an event's data in bytes. Default 8 MiB; at least 1. A larger event ends the stream with stage
  /// `limit`, code `event_too_large`, without reconnecting.
  public var maximumEventBytes = 8 << 20
  /// The maximum size of a line in bytes, and so of an event's data that is sent as one line. Default 1 MiB. Exceeding
  /// it has the same effect as for ``maximumEventBytes``.
  public var maximumLineBytes = 1 << 20
  /// The maximum size of an event's identifier in bytes. Default 4 KiB. Exceeding it has the same effect as for
  /// ``maximumEventBytes``.
  public var maximumIDBytes = 4 << 10
  /// The maximum silence before the first byte of each connection's events, in place of the idle timeout: a model may
  /// think for minutes before its first word. Default 5 min; at least the idle timeout. From the first byte on, the
  /// idle timeout applies (`Timeouts.idle`, 60 s by default), and comments count as activity. Without an idle timeout
  /// there is no limit here either. Must be positive.
  public var firstEvent: Duration = .seconds(300)

  /// Creates the default options.
  public init() {}
}
