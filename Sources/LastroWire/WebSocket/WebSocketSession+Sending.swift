// SPDX-License-Identifier: Apache-2.0

extension WebSocketSession {
  /// What is to be done with the stream by its only writer.
  package enum Output: Equatable, Sendable {
    /// These bytes are to be written; ``wrote(_:now:)`` tells how far it came.
    case bytes([UInt8])
    /// Nothing more will be written: the stream's writing half ends, as far as it can.
    case finish
    /// The writer may go.
    case over
  }

  /// Frames that were handed out together.
  struct Batch {
    /// Bytes that are not written.
    var left = 0
    /// Messages and fragments whose last byte it has.
    var finished: [UInt64] = []
    var hasKeepAlivePing = false
    var hasClose = false
  }

  /// A message, or a fragment of one, to be sent.
  package struct Outgoing: Sendable {
    /// Its number, which no other request of the session has; not 0.
    package var id: UInt64
    /// The message that it is a fragment of, by a number of the same sort.
    package var message: UInt64
    package var kind: WebSocketKind
    package var bytes: [UInt8]
    package var isFirst: Bool
    package var isFinal: Bool

    package init(
      id: UInt64, message: UInt64? = nil, kind: WebSocketKind, bytes: [UInt8], isFirst: Bool = true,
      isFinal: Bool = true
    ) {
      self.id = id
      self.message = message ?? id
      self.kind = kind
      self.bytes = bytes
      self.isFirst = isFirst
      self.isFinal = isFinal
    }
  }

  /// Frames that wait are handed out together, up to about so many bytes.
  package static let batchBytes = 16_384
  /// The number of keep-alive pings.
  static let keepAliveID: UInt64 = 0

  /// Queues a message; it is answered by ``Action/sent(_:)`` or ``Action/refused(_:)``.
  ///
  /// - Returns: whether it is among those to be sent.
  @discardableResult
  package mutating func send(_ message: Outgoing) -> Bool {
    guard canSend else {
      act(.refused(message.id))
      return false
    }
    outbox.append(
      .init(
        id: message.id, message: message.message, kind: message.kind, bytes: message.bytes, isFirst: message.isFirst,
        isFinal: message.isFinal))
    return true
  }

  /// Queues a ping; it is answered by ``Action/ponged(_:payload:roundTrip:)`` or ``Action/refused(_:)``.
  package mutating func ping(_ id: UInt64, payload: [UInt8], now: Duration) {
    guard canSend else { return act(.refused(id)) }
    addPing(.init(id: id, payload: payload, sentAt: now))
  }

  mutating func addPing(_ ping: WebSocketPings.Ping) {
    pings.append(ping)
    outbox.appendPing(ping.id, ping.payload)
  }

  /// Queues a pong; of those that wait the latest 64 are sent. False when nothing can be sent.
  package mutating func pong(_ payload: [UInt8]) -> Bool {
    if canSend { outbox.appendPong(payload) }
    return canSend
  }

  /// Forgets a message or a ping whose sender waits no more. What has not begun to go out is not sent; it is not
  /// answered.
  package mutating func giveUp(_ id: UInt64) {
    outbox.giveUp(id)
    pings.giveUp(id)
  }

  /// Whether ``output(keys:)`` has something.
  package var hasOutput: Bool {
    switch phase {
    case .done: true
    case .lingering: !isFinishTaken && batch.left == 0
    default: batch.left == 0 && !isWritingBroken && outbox.hasFrame
    }
  }

  /// What is to be done next with the stream; `nil` when nothing is, for the time being.
  ///
  /// - Parameter keys: mask keys, of which each frame of a client takes the last: drawn at random, one at least.
  package mutating func output(keys: inout [UInt32]) -> Output? {
    guard hasOutput else { return nil }
    if phase == .done { return .over }
    if phase == .lingering {
      isFinishTaken = true
      return .finish
    }
    var bytes: [UInt8] = []
    batch = Batch()
    let isMasking = configuration.decoding.role == .client
    while bytes.count < Self.batchBytes, !isMasking || !keys.isEmpty,
      let frame = outbox.takeFrame(upTo: configuration.maximumOutgoingFrameBytes)
    {
      append(frame, key: isMasking ? keys.removeLast() : 0, to: &bytes)
    }
    guard !bytes.isEmpty else { return nil }
    batch.left = bytes.count
    return .bytes(bytes)
  }

  private mutating func append(_ frame: WebSocketOutbox.Frame, key: UInt32, to bytes: inout [UInt8]) {
    switch frame {
    case .data(let kind, let payload, let isFirst, let isFinal, let finishes):
      payload.withUnsafeBytes {
        encoder.data(kind, $0, isFirst: isFirst, isFinal: isFinal, key: key, into: &bytes)
      }
      if let finishes { batch.finished.append(finishes) }
    case .ping(let id, let payload):
      encoder.control(.ping, payload, key: key, into: &bytes)
      batch.hasKeepAlivePing = batch.hasKeepAlivePing || id == Self.keepAliveID
    case .control(let opcode, let payload):
      encoder.control(opcode, payload, key: key, into: &bytes)
      batch.hasClose = opcode == .close
    }
  }

  /// So many more bytes of the latest ``Output/bytes(_:)`` were written.
  package mutating func wrote(_ count: Int, now: Duration) {
    keepAlive.writtenBytes += count
    batch.left -= min(count, batch.left)
    guard batch.left == 0 else { return }
    let done = batch
    batch = Batch()
    if done.hasKeepAlivePing { keepAlive.written() }
    for id in done.finished where outbox.answer(id) { act(.sent(id)) }
    if done.hasClose {
      isCloseWritten = true
      apply(.closeWritten, now)
    }
  }

  /// Nothing can be written any more, but what the peer sent before, such as why it closes, may still be read.
  package mutating func writeFailed(now: Duration) {
    guard !isWritingBroken else { return }
    isWritingBroken = true
    batch = Batch()
    refuseAll()
    apply(.writeFailure, now)
  }
}
