// SPDX-License-Identifier: Apache-2.0

/// The reconnection and the limits of an ``EventStream``, which the parameters of `events` describe.
package struct EventStreamOptions: Sendable {
  /// The maximum number of reconnections since the latest event; `nil` for 20 after a GET and 0 after other methods.
  package var maximumReconnections: Int?
  /// The identifier of the event after which to continue; empty for none.
  package var lastEventID = ""
  /// The maximum size of an event's data in bytes.
  package var maximumEventBytes = 8 << 20
  /// The maximum size of an event's identifier in bytes.
  package var maximumIDBytes = 4 << 10
  /// The maximum time from the head of each connection's response to its first event.
  package var firstEvent: Duration?

  /// Creates the default options.
  package init() {}
}
