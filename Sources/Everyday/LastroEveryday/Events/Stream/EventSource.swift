// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The connections of a stream: the call that opens them, and what its copies share.
struct EventSource<APIError: Error>: Sendable {
  let call: StreamCall<APIError>
  var options = EventStreamOptions()
  let board = Watched(EventBoard())
  /// Whether the server's orderly end is the end of the events, so that the stream does not reconnect.
  var endsAtClose = false
  /// The events of a stream that was opened before; `nil` if each iterator opens connections of its own.
  var opened: OpenedEvents<APIError>?
}
