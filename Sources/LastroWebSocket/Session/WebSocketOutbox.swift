// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What is to be sent, in which order: control frames first, then one message after another, then the Close frame.
struct WebSocketOutbox {
  typealias Answer = CheckedContinuation<Result<Void, WebSocketError>, Never>

  /// A message, or a fragment of one that is sent piece by piece.
  struct Job {
    var id: UInt64
    /// The message that it is a fragment of; its own number when it is a message of its own.
    var stream: UInt64
    var kind: WebSocketMessage.Kind
    var data: Data
    var isFirst: Bool
    var isFinal: Bool
    var isBegun = false
    var offset = 0
  }

  /// One frame to be made.
  enum Frame {
    case data(kind: WebSocketMessage.Kind, Data, isFirst: Bool, isFinal: Bool, finishes: UInt64?)
    case control(WebSocketOpcode, [UInt8])
  }

  private static let maximumPongs = 64

  private var jobs: [Job] = []
  private var answers: [UInt64: Answer] = [:]
  /// The message whose fragments are on their way: no other data may come between.
  private var openStream: UInt64?
  private var pongs: [Data] = []
  private var pings: [(id: UInt64, payload: Data)] = []
  private var lastID: UInt64 = 0
  private var close: (code: UInt16?, reason: String)?
  private(set) var isCloseTaken = false
  /// Whether messages still go out before the Close frame.
  private var flushesFirst = true

  mutating func makeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  mutating func append(_ job: Job, _ answer: Answer) {
    jobs.append(job)
    answers[job.id] = answer
  }

  /// Forgets who waits, and the job too unless its frames have begun: those are sent to the end.
  mutating func giveUp(_ id: UInt64) -> Answer? {
    jobs.removeAll { $0.id == id && !$0.isBegun }
    return answers.removeValue(forKey: id)
  }

  mutating func takeAnswer(_ id: UInt64) -> Answer? { answers.removeValue(forKey: id) }

  /// Only the latest ping has to be answered (RFC 6455 §5.5.3): a peer that does not read cannot make answers pile up.
  mutating func appendPong(_ payload: Data) {
    if pongs.count == Self.maximumPongs { pongs.removeFirst() }
    pongs.append(payload)
  }

  mutating func appendPing(_ id: UInt64, _ payload: Data) { pings.append((id, payload)) }

  /// Forgets a ping that has not gone out.
  mutating func giveUpPing(_ id: UInt64) { pings.removeAll { $0.id == id } }

  mutating func setClose(code: UInt16?, reason: String, flushing: Bool) {
    guard close == nil else { return }
    close = (code, reason)
    let canGoOn = openStream == nil || jobs.contains { $0.stream == openStream && $0.isFinal }
    flushesFirst = flushing && canGoOn
  }

  /// Forgets messages and pings, and whoever waits for them; a Close frame still goes out.
  mutating func clear() -> [Answer] {
    defer {
      jobs = []
      answers = [:]
      pings = []
      pongs = []
    }
    return Array(answers.values)
  }

  var hasFrame: Bool {
    guard !isCloseTaken else { return false }
    return !pongs.isEmpty || !pings.isEmpty || nextJob != nil || close != nil
  }

  private var nextJob: Int? {
    guard close == nil || flushesFirst else { return nil }
    guard let openStream else { return jobs.isEmpty ? nil : 0 }
    return jobs.firstIndex { $0.stream == openStream }
  }

  /// The next frame, at most so many bytes of data in it.
  mutating func takeFrame(upTo maximum: Int) -> Frame? {
    guard !isCloseTaken else { return nil }
    if !pongs.isEmpty { return .control(.pong, Array(pongs.removeFirst())) }
    if !pings.isEmpty { return .control(.ping, Array(pings.removeFirst().payload)) }
    if let index = nextJob { return takeData(index, upTo: maximum) }
    guard let close else { return nil }
    isCloseTaken = true
    return .control(.close, WebSocketCloseRules.payload(code: close.code, reason: close.reason))
  }

  private mutating func takeData(_ index: Int, upTo maximum: Int) -> Frame {
    var job = jobs[index]
    let count = min(maximum, job.data.count - job.offset)
    let start = job.data.startIndex + job.offset
    let piece = job.data[start..<start + count]
    let isFirst = job.isFirst && job.offset == 0
    job.offset += count
    job.isBegun = true
    let isWhole = job.offset == job.data.count
    let isFinal = isWhole && job.isFinal
    openStream = isFinal ? nil : job.stream
    if isWhole { jobs.remove(at: index) } else { jobs[index] = job }
    return .data(kind: job.kind, piece, isFirst: isFirst, isFinal: isFinal, finishes: isWhole ? job.id : nil)
  }
}
