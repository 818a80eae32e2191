// SPDX-License-Identifier: Apache-2.0

/// The reason why a transfer of a replay gets its recorded outcome, and is not performed again by the engine.
package enum ReplayOmission: String, Error, Sendable, Codable, CaseIterable {
  /// A cache answered the request, or a layer refused it.
  case notSent = "not_sent"
  /// It was sent more than once at a time.
  case hedged
  /// It ended before it got a connection, or its connection was opened before the stack had a recorder.
  case noConnection = "no_connection"
  /// It waited for the connection of another call for longer than a dial may take, or than no byte may move.
  case waited
  /// The caller cancelled it, at a time that is not part of a trace.
  case cancelled
  /// Its upload is a stream or a file, whose bytes came at times that are not part of a trace.
  case streamedUpload = "streamed_upload"
  /// Other uploads used the window of its connection.
  case sharedUpload = "shared_upload"
  /// Its connection was examined with PING, or was lost, because of frames of other calls, too.
  case sharedConnection = "shared_connection"
  /// Its compressed response cannot be replaced by one without content.
  case compressed
  /// It has more bytes than the recorder keeps.
  case tooLarge = "too_large"
  /// The engine did not end it. The trace is damaged, or the engine behaves in another way.
  case unfinished

  /// The reason as the end of a sentence about the transfer.
  package var text: String {
    switch self {
    case .notSent: "was not sent"
    case .hedged: "was hedged"
    case .noConnection: "sent nothing over a recorded connection"
    case .waited: "waited for the connection of another call"
    case .cancelled: "was cancelled"
    case .streamedUpload: "uploaded a stream or a file"
    case .sharedUpload: "shared its connection with another upload"
    case .sharedConnection: "shared a connection that was examined or lost"
    case .compressed: "has a compressed response that the trace leaves out"
    case .tooLarge: "has more bytes than the recorder keeps"
    case .unfinished: "does not end in the replay"
    }
  }
}
