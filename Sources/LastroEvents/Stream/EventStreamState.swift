// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What an ``EventStream`` is doing.
@nonexhaustive
public enum EventStreamState: Sendable {
  /// Why there is no connection.
  public enum Loss: Sendable {
    /// The server ended its answer.
    case ended
    /// The connection was lost, or could not be opened.
    case failed(HTTPFetchError<any Error>)
  }

  /// It connects: from here to the head of the answer, the stack's retries included.
  case connecting
  /// The server has answered, and sends events.
  case open
  /// It connects anew after so long, and why.
  case waiting(for: Duration, because: Loss)
  /// There is nothing more: it ended, failed, was cancelled, or its reader has left.
  case ended

  /// A word for logs: `connecting`, `open`, `waiting`, `ended`.
  public var word: String {
    switch self {
    case .connecting: "connecting"
    case .open: "open"
    case .waiting: "waiting"
    case .ended: "ended"
    }
  }
}
