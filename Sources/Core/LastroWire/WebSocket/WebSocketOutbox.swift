// SPDX-License-Identifier: Apache-2.0

/// The queue of frames to send: control frames first, then one message after another, then the Close frame.
struct WebSocketOutbox {
  /// A message, or a fragment of a message that is sent piece by piece.
  private struct Job {
    let outgoing: WebSocketSession.Outgoing
    var isBegun = false
    var offset = 0
  }

  /// A frame to encode.
  enum Frame {
    case data(kind: WebSocketKind, ArraySlice<UInt8>, isFirst: Bool, isFinal: Bool, finishes: UInt64?)
    case control(WebSocketOpcode, [UInt8])
    /// A ping with its number.
    case ping(UInt64, [UInt8])
  }

  private static let maximumPongs = 64

  private var jobs: [Job] = []
  /// The jobs that have not been answered: they have not been sent, refused or given up.
  private var unanswered: Set<UInt64> = []
  /// The message whose fragments are being sent. No other data may be sent in between.
  private var openMessage: UInt64?
  private var pongs: [[UInt8]] = []
  private var pings: [(id: UInt64, payload: [UInt8])] = []
  private var close: (code: UInt16?, reason: String)?
  private var isCloseTaken = false
  /// Whether queued messages are sent before the Close frame.
  private var flushesFirst = true

  mutating func append(_ outgoing: WebSocketSession.Outgoing) {
    jobs.append(Job(outgoing: outgoing))
    unanswered.insert(outgoing.id)
  }

  /// Removes a job or a ping. A job whose first frame was taken is still sent completely.
  mutating func giveUp(_ id: UInt64) {
    jobs.removeAll { $0.outgoing.id == id && !$0.isBegun }
    pings.removeAll { $0.id == id }
    unanswered.remove(id)
  }

  /// Marks a job as answered. Returns false if it already was.
  mutating func answer(_ id: UInt64) -> Bool { unanswered.remove(id) != nil }

  /// Queues a pong. Only the latest ping must be answered (RFC 6455 §5.5.3), so the queue is limited: a peer that does
  /// not read cannot make it grow.
  mutating func appendPong(_ payload: [UInt8]) {
    if pongs.count == Self.maximumPongs { pongs.removeFirst() }
    pongs.append(payload)
  }

  mutating func appendPing(_ id: UInt64, _ payload: [UInt8]) { pings.append((id, payload)) }

  /// Queues the Close frame. Only the first call has an effect.
  mutating func setClose(code: UInt16?, reason: String, flushing: Bool) {
    guard close == nil else { return }
    close = (code, reason)
    let canGoOn = openMessage == nil || jobs.contains { $0.outgoing.message == openMessage && $0.outgoing.isFinal }
    flushesFirst = flushing && canGoOn
  }

  /// Removes messages, pings and pongs; a Close frame is still sent. Returns the jobs that have not been answered.
  mutating func clear() -> [UInt64] {
    defer {
      jobs = []
      unanswered = []
      pings = []
      pongs = []
    }
    return unanswered.sorted()
  }

  var hasFrame: Bool {
    guard !isCloseTaken else { return false }
    return !pongs.isEmpty || !pings.isEmpty || nextJob != nil || close != nil
  }

  private var nextJob: Int? {
    guard close == nil || flushesFirst else { return nil }
    guard let openMessage else { return jobs.isEmpty ? nil : 0 }
    return jobs.firstIndex { $0.outgoing.message == openMessage }
  }

  /// Takes the next frame, with at most `maximum` bytes of data.
  mutating func takeFrame(upTo maximum: Int) -> Frame? {
    guard !isCloseTaken else { return nil }
    if !pongs.isEmpty { return .control(.pong, pongs.removeFirst()) }
    if !pings.isEmpty {
      let ping = pings.removeFirst()
      return .ping(ping.id, ping.payload)
    }
    if let index = nextJob { return takeData(index, upTo: maximum) }
    guard let close else { return nil }
    isCloseTaken = true
    return .control(.close, WebSocketCloseRules.payload(code: close.code, reason: close.reason))
  }

  private mutating func takeData(_ index: Int, upTo maximum: Int) -> Frame {
    var job = jobs[index]
    let outgoing = job.outgoing
    let count = min(maximum, outgoing.bytes.count - job.offset)
    let piece = outgoing.bytes[job.offset..<job.offset + count]
    let isFirst = outgoing.isFirst && job.offset == 0
    job.offset += count
    job.isBegun = true
    let isWhole = job.offset == outgoing.bytes.count
    let isFinal = isWhole && outgoing.isFinal
    openMessage = isFinal ? nil : outgoing.message
    if isWhole { jobs.remove(at: index) } else { jobs[index] = job }
    return .data(
      kind: outgoing.kind, piece, isFirst: isFirst, isFinal: isFinal, finishes: isWhole ? outgoing.id : nil)
  }
}
