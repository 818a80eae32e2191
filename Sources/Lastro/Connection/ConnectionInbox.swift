// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A receive that waits.
struct ReceiveRequest: Sendable {
  typealias Completion = @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void

  var minimum: Int
  var maximum: Int
  /// Whether a whole message is wanted.
  var isMessage: Bool
  var completion: Completion
}

/// Content that waits to be sent.
struct OutgoingContent: Sendable {
  var data: Data?
  var context: ConnectionContentContext
  var isComplete: Bool
  var completion: ConnectionSendCompletion
}

/// A receive that is served.
struct ReceiveAnswer {
  var completion: ReceiveRequest.Completion
  var data: Data?
  var context: ConnectionContentContext?
  var isComplete = false
  var error: ConnectionError?
}

/// What has come and was not received yet, beside the receives that wait: a machine without clock or queue.
struct ConnectionInbox {
  private struct Piece {
    var data: Data
    var context: ConnectionContentContext
    var isComplete: Bool
  }

  private enum End {
    case clean
    case failed(ConnectionError)
  }

  private let limit: Int
  private var pieces: [Piece] = []
  private var first = 0
  private var requests: [ReceiveRequest] = []
  private var end: End?
  /// Bytes that lie here, and something for every piece.
  private(set) var weight = 0

  /// What a piece weighs beside its bytes: many empty messages must not grow without bound.
  private static let pieceWeight = 256

  init(limit: Int) { self.limit = limit }
}
