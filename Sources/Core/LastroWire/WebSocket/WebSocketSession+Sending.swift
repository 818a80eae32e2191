// SPDX-License-Identifier: Apache-2.0

extension WebSocketSession {
  /// The next task of the stream's only writer.
  package enum Output: Equatable, Sendable {
    /// Write these bytes, and report progress with ``wrote(_:now:)``.
    case bytes([UInt8])
    /// End the stream's writing half, if that is possible. Nothing more will be written.
    case finish
    /// The writer may stop.
    case over
  }

  /// The frames that were handed out together.
  struct Batch {
    /// The number of bytes that have not been written.
    var left = 0
    /// The messages and fragments that end in this batch.
    var finished: [UInt64] = []
    var hasKeepAlivePing = false
    var hasClose = false
  }

  /// A message, or a fragment of a message, to send.
  package struct Outgoing: Sendable {
    /// A number that is unique among the session's requests, and not 0.
    package var id: UInt64
    /// The number of the message that a fragment belongs to, unique in the same way.
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

  /// The approximate number of bytes up to which queued frames are handed out together.
  package static let batchBytes = 16_384
  /// The number that identifies keep-alive pings.
  static let keepAliveID: UInt64 = 0

  /// Queues a message. ``Action/sent(_:)`` or ``Action/refused(_:)`` reports the outcome.
  ///
  /// - Returns: whether the message was queued.
  @discardableResult
  package mutating func send(_ message: Outgoing) -> Bool {
    guard canSend else {
      act(.refused(message.id))
      return false
    }
    outbox.append(message)
    return true
  }

  /// Queues a ping. ``Action/ponged(_:payload:roundTrip:)`` or ``Action/refused(_:)`` reports the outcome.
  package mutating func ping(_ id: UInt64, payload: [UInt8], now: Duration) {
    guard canSend else { return act(.refused(id)) }
    addPing(.init(id: id, payload: payload, sentAt: now))
  }

  mutating func addPing(_ ping: WebSocketPings.Ping) {
    pings.append(ping)
    outbox.appendPing(ping.id, ping.payload)
  }

  /// Queues a pong. Only the latest 64 queued pongs are sent. Returns false if nothing can be sent.
  package mutating func pong(_ payload: [UInt8]) -> Bool {
    if canSend { outbox.appendPong(payload) }
    return canSend
  }

  /// Gives up a message or a ping whose sender no longer waits. It is not sent unless it has begun, and no outcome is
  /// reported.
  package mutating func giveUp(_ id: UInt64) {
    outbox.giveUp(id)
    pings.giveUp(id)
  }

  /// Whether ``output(keys:)`` would return a task.
  package var hasOutput: Bool {
    switch phase {
    case .done: true
    case .lingering: !isFinishTaken && batch.left == 0
    default: batch.left == 0 && !isWritingBroken && outbox.hasFrame
    }
  }

  /// Returns the writer's next task; `nil` if there is none at the moment.
  ///
  /// - Parameter keys: random mask keys, at least one. Each frame of a client takes the last one.
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

  /// Records that more bytes of the latest ``Output/bytes(_:)`` were written.
  package mutating func wrote(_ count: Int, now: Duration) {
    keepAlive.writtenBytes += count
    batch.left -= min(count, batch.left)
    guard batch.left == 0 else { return }
    let done = batch
    batch = Batch()
    if done.hasKeepAlivePing { keepAlive.written() }
    for id in done.finished where outbox.answer(id) { act(.sent(id)) }
    if done.hasClose {
      closing.isCloseWritten = true
      apply(.closeWritten, now)
    }
  }

  /// Records that nothing can be written any more. Data that the peer sent before, such as the reason for closing, may
  /// still be read.
  package mutating func writeFailed(now: Duration) {
    guard !isWritingBroken else { return }
    isWritingBroken = true
    batch = Batch()
    refuseAll()
    apply(.writeFailure, now)
  }
}
