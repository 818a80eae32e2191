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
  /// The maximum time from the head of each connection's response to its first event. Comments do not count. If it
  /// passes, the connection fails with stage `timeout`, code `first_event_timeout`, which is temporary like an idle
  /// timeout. Default `nil`: no limit but that of silence. Must be positive.
  ///
  /// Until the first event it replaces the idle timeout, because a model may think for long before its first word. It
  /// may be shorter or longer, and it applies without an idle timeout too. From the first event on, only the idle
  /// timeout applies (`Timeouts.idle`, 60 s by default). That timeout is of the connection: it limits the time between
  /// bytes and not between events, so comments, by which servers keep connections alive, permit any time between
  /// events.
  ///
  /// Before the head, the idle timeout applies (code `idle_timeout`), or this limit if it is longer (code
  /// `first_event_timeout`). Without an idle timeout, only `Timeouts.attempt` and `total` limit the wait for the head.
  ///
  /// If it is `nil`, the idle timeout applies from the first byte of the body on. Until then a server may be silent for
  /// 5 min, or for the idle timeout if that is longer.
  public var firstEvent: Duration?

  /// Creates the default options.
  public init() {}
}
