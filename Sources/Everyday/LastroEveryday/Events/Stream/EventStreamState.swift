// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The activity of an ``EventStream``.
@nonexhaustive
public enum EventStreamState: Sendable {
  /// The stream is connecting, until it receives the head of the response; this includes the stack's retries.
  case connecting
  /// The server has responded, and sends events.
  case open
  /// The stream will reconnect after the given time. The error is that of a connection that was lost or could not be
  /// opened; `nil` if the server ended its response, or the client certificate has changed.
  case waiting(for: Duration, because: HTTPFetchError<any Error>?)
  /// The stream is over: it ended, failed, was cancelled, or its reader has left.
  case ended

  /// A word for logs: `connecting`, `open`, `waiting`, `ended`.
  package var word: String {
    switch self {
    case .connecting: "connecting"
    case .open: "open"
    case .waiting: "waiting"
    case .ended: "ended"
    }
  }
}
