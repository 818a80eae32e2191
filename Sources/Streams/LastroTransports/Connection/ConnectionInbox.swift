// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A pending receive.
struct ReceiveRequest: Sendable {
  typealias Completion = @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void

  var minimum: Int
  var maximum: Int
  /// Whether the receive asks for a whole message.
  var isMessage: Bool
  var completion: Completion

  /// Returns the reason why the receive is invalid; `nil` if it is valid.
  func problem(limit: Int) -> ConnectionError? {
    guard !isMessage else { return nil }
    guard minimum >= 0, maximum >= 1, minimum <= maximum else {
      return .transport(
        .refused(
          .invalidOption, "the receive asks for \(minimum) to \(maximum) bytes, which is out of range",
          hint: "give a minimum of 0 or more, and a maximum of 1 or more that is not below it"))
    }
    guard minimum <= limit else {
      return .transport(
        .refused(
          .invalidOption, "the receive asks for \(minimum) bytes at least, above the maximum of \(limit)",
          hint: "receive in pieces, or raise maximumMessageBytes"))
    }
    return nil
  }
}

/// Content to be sent.
struct OutgoingContent: Sendable {
  var data: Data?
  var context: ConnectionContentContext
  var isComplete: Bool
  var completion: ConnectionSendCompletion
}

/// The result of a receive.
struct ReceiveAnswer: Sendable {
  var completion: ReceiveRequest.Completion
  var data: Data?
  var context: ConnectionContentContext?
  var isComplete = false
  var error: ConnectionError?

  func tell() { completion(data, context, isComplete, error) }
}

/// The received content that was not delivered yet, and the pending receives. It is a state machine without clock or
/// queue.
struct ConnectionInbox {
  private struct Piece {
    var data: Data
    var offset = 0
    var context: ConnectionContentContext
    var isComplete: Bool

    var count: Int { data.count - offset }
  }

  /// The overhead that is charged for a piece, so that the number of empty messages is bounded too.
  private static let pieceWeight = 128

  private let limit: Int
  private var pieces: [Piece] = []
  private var first = 0
  private var requests = FirstInFirstOut<ReceiveRequest>()
  private var end: Result<Void, ConnectionError>?
  /// The available bytes and pieces of the message at the front, and whether it is complete.
  private var messageBytes = 0
  private var messagePieces = 0
  private var isMessageComplete = false
  /// The number of buffered bytes plus an overhead for every piece.
  private(set) var weight = 0

  /// - Parameter limit: the maximum length of a message that is collected.
  init(limit: Int) { self.limit = limit }

  /// Whether a receive is pending.
  var isAwaited: Bool { !requests.isEmpty }

  mutating func append(_ data: Data, _ context: ConnectionContentContext, isComplete: Bool) {
    guard end == nil else { return }
    // Keep an empty piece that is not final: it begins a message that may consist of metadata alone.
    pieces.append(Piece(data: data, context: context, isComplete: isComplete))
    weight += data.count + Self.pieceWeight
    lookAtMessage()
  }

  /// Marks the end of the content.
  mutating func markEnd() { if end == nil { end = .success(()) } }

  mutating func fail(_ error: ConnectionError) { if end == nil { end = .failure(error) } }

  mutating func add(_ request: ReceiveRequest) { requests.append(request) }

  /// Drops all content; returns the failed results of the pending receives.
  mutating func cancel() -> [ReceiveAnswer] {
    var answers: [ReceiveAnswer] = []
    while let answer = failNext(.posix(.ECANCELED)) { answers.append(answer) }
    self = ConnectionInbox(limit: limit)
    end = .failure(.posix(.ECANCELED))
    return answers
  }

  /// Fails the first pending receive without any other effect.
  mutating func failNext(_ error: ConnectionError) -> ReceiveAnswer? {
    requests.popFirst().map { ReceiveAnswer(completion: $0.completion, error: error) }
  }

  /// Returns the result of the next receive that can be served; `nil` if none can be.
  mutating func nextAnswer() -> ReceiveAnswer? {
    guard let request = requests.next, let answer = answer(request) else { return nil }
    _ = requests.popFirst()
    return answer
  }

  private mutating func answer(_ request: ReceiveRequest) -> ReceiveAnswer? {
    var answer = ReceiveAnswer(completion: request.completion)
    guard messagePieces > 0 else { return end.map { ended(answer, $0) } }
    answer.context = pieces[first].context
    let isEnough = request.isMessage ? isMessageComplete : isMessageComplete || messageBytes >= request.minimum
    if request.isMessage, messageBytes > limit {
      answer.error = .posix(.EMSGSIZE)
      return answer
    }
    guard isEnough || end != nil else { return nil }
    if !isEnough, case .failure(let error)? = end { answer.error = error }
    let count = min(messageBytes, request.maximum)
    answer.isComplete = isMessageComplete && count == messageBytes
    let isEndOfStream = answer.isComplete && answer.context?.isFinal ?? false
    let data = removeContent(count)
    answer.data = data.isEmpty && (isEndOfStream || answer.error != nil) ? nil : data
    return answer
  }

  private func ended(_ answer: ReceiveAnswer, _ end: Result<Void, ConnectionError>) -> ReceiveAnswer {
    var answer = answer
    switch end {
    case .success:
      answer.context = .finalMessage
      answer.isComplete = true
    case .failure(let error): answer.error = error
    }
    return answer
  }

  private mutating func removeContent(_ count: Int) -> Data {
    var data = Data()
    var left = count
    // Together with the last available byte, remove empty pieces too.
    let isAll = count == messageBytes
    while messagePieces > 0, left > 0 || isAll {
      let length = min(left, pieces[first].count)
      let start = pieces[first].data.startIndex + pieces[first].offset
      if length == pieces[first].data.count, data.isEmpty {
        data = pieces[first].data
      } else {
        data.append(pieces[first].data[start..<start + length])
      }
      left -= length
      messageBytes -= length
      weight -= length
      pieces[first].offset += length
      guard pieces[first].count == 0 else { break }
      dropPiece()
    }
    if messagePieces == 0 { isMessageComplete = false }
    lookAtMessage()
    return data
  }

  private mutating func dropPiece() {
    pieces[first].data = Data()
    first += 1
    messagePieces -= 1
    weight -= Self.pieceWeight
    if first == pieces.count || first > 256 {
      pieces.removeFirst(first)
      first = 0
    }
  }

  /// Counts the available pieces of the message at the front.
  private mutating func lookAtMessage() {
    while !isMessageComplete, first + messagePieces < pieces.count {
      let piece = pieces[first + messagePieces]
      messagePieces += 1
      messageBytes += piece.count
      isMessageComplete = piece.isComplete
    }
  }
}
