// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The content that was not sent yet, and the current write. It is a state machine without clock or queue: its owner
/// performs the tasks of ``next()``, one write at a time.
///
/// Content is held until the connection is ready, because framers get none before, and their own output goes first.
struct ConnectionOutbox {
  /// The next task of the owner.
  enum Step {
    /// Write the bytes to the layer below, and report the outcome with ``wrote(_:)``.
    case write(Data)
    /// End the outgoing direction of the layer below, and report it as a write of no bytes.
    case finish
    /// Report that the layer below has accepted content. The error is that of a datagram.
    case complete(ConnectionSendCompletion, ConnectionError?)
  }

  private enum Entry {
    case bytes(Data)
    case finish
    case done(ConnectionSendCompletion)
  }

  /// The overhead that is charged for a queued send, so that the number of empty sends is bounded too.
  private static let sendWeight = 128

  private let limit: Int
  /// The content that waits for the connection to become ready.
  private var held = FirstInFirstOut<OutgoingContent>()
  private var isEncodingHeld = false
  private var entries = FirstInFirstOut<Entry>()
  /// The number of queued bytes plus an overhead for every send.
  private var weight = 0
  private var isWriting = false
  /// Whether the outgoing direction ends behind the content so far.
  private var hasEnd = false
  /// The error of the last datagram written, for the completion behind it.
  private var datagramError: ConnectionError?

  /// - Parameter limit: the weight from which content is refused.
  init(limit: Int) { self.limit = limit }

  /// Whether more is queued than the limit. Nothing is read then, because framers may queue a response to each message.
  var isOverfull: Bool { weight > limit }

  /// Whether everything was written.
  var isDrained: Bool { !isWriting && entries.isEmpty }

  // MARK: queueing

  /// Returns the reason why content is refused; `nil` if it is accepted. A final message ends the outgoing direction:
  /// nothing is accepted after it.
  mutating func admit(_ content: OutgoingContent) -> ConnectionError? {
    guard weight < limit else { return .posix(.ENOBUFS) }
    guard !hasEnd else { return .posix(.EPIPE) }
    hasEnd = content.isComplete && content.context.isFinal
    return nil
  }

  /// Keeps accepted content until the connection is ready.
  mutating func hold(_ content: OutgoingContent) {
    weight += Self.heldWeight(content)
    held.append(content)
  }

  /// Returns the next held content to encode. Encoding can lead back here: there is none before
  /// ``didEncodeHeld()``, so that the next content does not overtake the current one.
  mutating func takeHeld() -> OutgoingContent? {
    guard !isEncodingHeld, let content = held.popFirst() else { return nil }
    isEncodingHeld = true
    weight -= Self.heldWeight(content)
    return content
  }

  /// Records that the content of ``takeHeld()`` was encoded.
  mutating func didEncodeHeld() { isEncodingHeld = false }

  private static func heldWeight(_ content: OutgoingContent) -> Int { sendWeight + (content.data?.count ?? 0) }

  mutating func append(_ data: Data) {
    entries.append(.bytes(data))
    weight += data.count
  }

  /// Queues the completion of content behind its bytes.
  ///
  /// - Parameter mayFinish: whether a final message ends the outgoing direction of the layer below.
  mutating func append(endOf content: OutgoingContent, mayFinish: Bool) {
    if mayFinish, content.isComplete, content.context.isFinal { entries.append(.finish) }
    entries.append(.done(content.completion))
    weight += Self.sendWeight
  }

  /// Ends the outgoing direction, unless a final message already does.
  mutating func queueEnd() {
    if !hasEnd { entries.append(.finish) }
    hasEnd = true
  }

  /// Removes everything that is queued. Returns the completions to fail, in order.
  mutating func clear() -> [ConnectionSendCompletion] {
    var completions: [ConnectionSendCompletion] = []
    while let entry = entries.popFirst() {
      if case .done(let completion) = entry { completions.append(completion) }
    }
    while let content = held.popFirst() { completions.append(content.completion) }
    weight = 0
    return completions
  }

  // MARK: writing

  /// Returns the owner's next task; `nil` if there is none, or while a write is in progress.
  mutating func next() -> Step? {
    guard !isWriting, let entry = entries.popFirst() else { return nil }
    switch entry {
    case .bytes(let data):
      isWriting = true
      return .write(data)
    case .finish:
      isWriting = true
      return .finish
    case .done(let completion):
      weight = max(0, weight - Self.sendWeight)
      return .complete(completion, datagramError.take())
    }
  }

  /// Records the end of a write.
  mutating func wrote(_ count: Int) {
    isWriting = false
    weight = max(0, weight - count)
  }

  /// Records that the datagram just written was not sent, which does not affect the next one.
  mutating func datagramFailed(_ error: ConnectionError) { datagramError = error }
}
