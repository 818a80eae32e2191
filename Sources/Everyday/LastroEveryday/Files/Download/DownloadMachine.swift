// SPDX-License-Identifier: Apache-2.0

import LastroWire

/// The decisions of a download to a file. The machine performs no I/O and reads no clock.
///
/// Its owner performs the returned actions in order, and reports their results as events.
struct DownloadMachine {
  /// The options of a download.
  struct Rules: Hashable {
    /// Whether the download resumes an earlier one.
    var resumes = true
    /// The maximum number of restarts after the server's file changed; with 0, a change fails the download.
    var maximumRestarts = 3
    var maximumBytes: Int64?
    /// Whether the first request asks for a range, to prove that the server supports ranges.
    var probesRanges = false
    /// The number of written bytes after which the file is synced.
    var bytesPerSync: Int64 = 16 << 20
    /// The longest interval between syncs while bytes arrive. The first intervals are shorter.
    var timePerSync: Duration = .seconds(5)

    /// The initial interval between syncs, which each sync doubles.
    static let firstInterval: Duration = .milliseconds(500)
  }

  enum Phase: Hashable, CaseIterable {
    case idle, asking, receiving, waiting, finishing, over
  }

  /// The start of the requested range, which is open-ended.
  struct AskedRange: Hashable {
    var from: Int64
    /// The value of `If-Range`.
    var validator: String?
  }

  enum Event: Hashable {
    /// The state that an earlier download left: its description of the file, and the number of bytes known to be on
    /// disk.
    case found(Representation?, synced: Int64)
    /// The head of a 2xx response. `asked` is the range that was in fact requested; `nil` for the whole file.
    case head(RangeAnswer, asked: AskedRange?)
    /// A response outside 2xx. No bytes were lost.
    case refused(RangeAnswer, asked: AskedRange?)
    /// A response that the transport could not read.
    case unreadable(asked: AskedRange?)
    /// Segments failed because of the server's answers to ranges, and left `kept` bytes in the part file.
    case segmentsFailed(Representation, kept: Int64)
    /// A chunk of so many bytes is ready to be written.
    case chunk(Int, at: Duration)
    /// The start of the chunk was compared with the file, and removed from the chunk; `rest` bytes of it are left.
    case compared(areEqual: Bool, rest: Int, at: Duration)
    /// The body ended properly.
    case ended
    /// The connection was lost, or the request failed.
    case lost(isFinal: Bool)
    /// Everything written has been synced, and the state file describes it.
    case saved(at: Duration)
    /// The wait has ended.
    case waited
    /// The file has its final name.
    case placed
  }

  enum Action: Hashable {
    /// Truncate the file.
    case cut(to: Int64)
    /// Remove the state file, before bytes that it does not describe are written.
    case forget
    /// Send a request.
    case ask(AskedRange?)
    /// Write the chunk at this offset.
    case write(at: Int64)
    /// Compare the first bytes of the chunk with those of the file at this offset, and remove them from the chunk.
    case compare(Int, at: Int64)
    /// Read the next chunk of the body.
    case read
    /// Abandon the body.
    case drop
    /// Sync the file, then write the state file.
    case save
    /// Ask the retry policy, with the number of consecutive losses without progress, and wait.
    case wait(fruitless: Int)
    /// Sync the file, check its digest, and give it its final name.
    case place
    case fail(Failure)
  }

  enum Failure: Hashable {
    /// The response is not a valid continuation of the file.
    case mismatch(String)
    /// The server's file changed more often than is allowed.
    case changed(times: Int)
    case unexpectedStatus(Int)
    case tooLarge(Int64)
    /// The original failure of the request or of the body.
    case asItIs

    /// Whether the downloaded bytes are of no further use.
    var discards: Bool {
      switch self {
      case .changed, .tooLarge: true
      // A part that does not fit says nothing about the bytes in the file. The next call asks for the whole file if the
      // server's ranges are still unusable, so that it does not meet the same failure again.
      case .mismatch, .unexpectedStatus, .asItIs: false
      }
    }
  }

  let rules: Rules
  private(set) var phase = Phase.idle
  private(set) var representation: Representation?
  /// The number of bytes written. `synced` is the number of those known to be on disk.
  private(set) var written: Int64 = 0
  private(set) var synced: Int64 = 0
  /// The number of bytes in the present file that an earlier download left.
  private(set) var resumedFrom: Int64 = 0
  private(set) var restarts = 0
  /// The highest offset reached so far: a loss at or below it brought no progress.
  private var farthest: Int64 = 0
  private var fruitless = 0
  /// The last sync; `nil` before the first byte.
  private var syncedAt: Duration?
  /// The interval to the next sync.
  private var interval = Rules.firstInterval
  /// The end of the part that the body carries; `nil` if it is unknown.
  private var end: Int64?
  /// Whether the body is a part of the file.
  private var isPart = false
  /// The number of bytes at the start of the body that the file has already.
  private var overlap: Int64 = 0
  /// The number of bytes that are being compared.
  private var compared: Int64 = 0
  /// Whether the whole file was requested because of an unusable answer to a range, which happens once in a run.
  private var hasAskedForAll = false
  private var mayProbe: Bool

  init(_ rules: Rules) {
    self.rules = rules
    mayProbe = rules.probesRanges
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (phase, event) {
    case (.idle, .found(let left, let synced)): return startOrResume(with: left, synced)
    case (.idle, .segmentsFailed(let left, let kept)):
      (representation, written, synced, farthest, resumedFrom) = (left, kept, kept, kept, kept)
      return askForAll(insteadOf: .asItIs)
    case (.asking, .head(let answer, let asked)): return receiveHead(answer, asked)
    case (.asking, .refused(let answer, let asked)): return receiveRefusal(answer, asked)
    case (.asking, .unreadable(let asked)): return asked == nil ? fail(.asItIs) : askForAll(insteadOf: .asItIs)
    case (.asking, .lost): return fail(.asItIs)
    case (.receiving, .chunk(let count, let time)): return receiveChunk(count, time)
    case (.receiving, .compared(let areEqual, let rest, let time)): return receiveComparison(areEqual, rest, time)
    case (.receiving, .ended): return bodyEnded()
    case (.receiving, .lost(let isFinal)): return lose(isFinal)
    case (.receiving, .saved(let time)), (.waiting, .saved(let time)), (.over, .saved(let time)):
      (synced, syncedAt) = (written, time)
      interval = min(interval * 2, rules.timePerSync)
      return []
    case (.waiting, .waited): return goOn()
    case (.waiting, .lost), (.finishing, .lost): return fail(.asItIs)
    case (.finishing, .placed):
      phase = .over
      return []
    // Late and out-of-order events have no effect.
    default: return []
    }
  }

  private mutating func startOrResume(with left: Representation?, _ synced: Int64) -> [Action] {
    guard rules.resumes, let left, left.validator != nil, synced > 0, rules.maximumBytes.map({ synced <= $0 }) ?? true
    else { return startOver() }
    representation = left
    (written, self.synced, farthest, resumedFrom) = (synced, synced, synced, synced)
    guard written != left.total else { return [.cut(to: written)] + placeFile() }
    return [.cut(to: written)] + goOn()
  }

  /// Requests the missing bytes. Requests the whole file if no validator can prove that a part fits.
  private mutating func goOn() -> [Action] {
    guard let validator = representation?.validator, written > 0 else { return startOver() }
    phase = .asking
    return [.ask(AskedRange(from: written, validator: validator))]
  }

  private mutating func startOver() -> [Action] {
    forgetAll()
    phase = .asking
    return [.forget, .cut(to: 0), .ask(mayProbe ? AskedRange(from: 0) : nil)]
  }

  private mutating func forgetAll() {
    (representation, written, synced, resumedFrom, end) = (nil, 0, 0, 0, nil)
    (syncedAt, interval) = (nil, Rules.firstInterval)
  }

  /// Requests the whole file after an unusable answer to a range, once in a run.
  ///
  /// Keeps the bytes on disk until the server sends the whole file, because it may refuse that too.
  private mutating func askForAll(insteadOf failure: Failure) -> [Action] {
    guard !hasAskedForAll else { return fail(failure) }
    (hasAskedForAll, mayProbe) = (true, false)
    phase = .asking
    return [.drop, .ask(nil)]
  }

  private mutating func fail(_ failure: Failure) -> [Action] {
    phase = .over
    return [.drop, .fail(failure)]
  }

  private mutating func placeFile() -> [Action] {
    phase = .finishing
    return [.place]
  }
}

// MARK: heads

extension DownloadMachine {
  private mutating func receiveHead(_ answer: RangeAnswer, _ asked: AskedRange?) -> [Action] {
    switch answer.status {
    case 200, 203: return takeWhole(answer)
    case 206: return takePart(answer, asked)
    default:
      let failure = Failure.unexpectedStatus(answer.status)
      return asked == nil ? fail(failure) : askForAll(insteadOf: failure)
    }
  }

  private mutating func takeWhole(_ answer: RangeAnswer) -> [Action] {
    // The rest was requested, but the whole file came: discard the bytes on disk.
    if written > 0, let failure = countRestart() { return fail(failure) }
    let actions: [Action] = written > 0 || synced > 0 || hasAskedForAll ? [.forget, .cut(to: 0)] : []
    forgetAll()
    (isPart, overlap) = (false, 0)
    return actions + receive(answer.representation, upTo: answer.representation.total)
  }

  private mutating func takePart(_ answer: RangeAnswer, _ asked: AskedRange?) -> [Action] {
    guard let asked else {
      if answer.isWhole { return takeWhole(answer) }
      return fail(.mismatch("the server sent a part, and none was asked for"))
    }
    if let reason = answer.mismatch(from: asked.from, of: representation) {
      return askForAll(insteadOf: .mismatch(reason))
    }
    var whole = answer.representation
    if let representation {
      whole = representation
      whole.total = representation.total ?? answer.representation.total
    }
    isPart = true
    overlap = answer.range?.bytes.map { asked.from - $0.lowerBound } ?? 0
    return receive(whole, upTo: answer.range?.bytes?.upperBound)
  }

  private mutating func receive(_ whole: Representation, upTo end: Int64?) -> [Action] {
    if let limit = rules.maximumBytes, let total = whole.total, total > limit { return fail(.tooLarge(limit)) }
    representation = whole
    self.end = end
    phase = .receiving
    return [.read]
  }

  /// Counts a restart.
  ///
  /// - Returns: the failure if the limit of restarts is exceeded, otherwise `nil`.
  private mutating func countRestart() -> Failure? {
    restarts += 1
    return restarts > rules.maximumRestarts ? .changed(times: restarts) : nil
  }

  private mutating func receiveRefusal(_ answer: RangeAnswer, _ asked: AskedRange?) -> [Action] {
    guard let asked, answer.mayBeDueToRange else { return fail(.asItIs) }
    if answer.status == 416, asked.validator != nil, isEnd(answer, at: asked.from) {
      // The validator still matches, and no bytes are left to send (RFC 9110 §15.5.17).
      representation?.total = asked.from
      return placeFile()
    }
    guard answer.status == 416 || answer.status == 412 else { return askForAll(insteadOf: .asItIs) }
    guard asked.from > 0 else {
      guard mayProbe else { return fail(.asItIs) }
      // No range of an empty file can be satisfied, so request the file without a range.
      mayProbe = false
      return startOver()
    }
    if let failure = countRestart() { return fail(failure) }
    mayProbe = false
    return startOver()
  }

  /// Whether a 416 says that the file ends at the offset, and does not contradict the known description of the file.
  private func isEnd(_ answer: RangeAnswer, at offset: Int64) -> Bool {
    guard answer.range?.total == offset, let representation else { return false }
    if let total = representation.total, total != offset { return false }
    return answer.representation.entityTag.map { $0 == representation.entityTag } ?? true
  }
}

// MARK: bodies

extension DownloadMachine {
  private mutating func receiveChunk(_ count: Int, _ time: Duration) -> [Action] {
    guard overlap == 0 else {
      compared = min(overlap, Int64(count))
      return [.compare(Int(compared), at: written - overlap)]
    }
    let offset = written
    let (reached, isTooMuch) = offset.addingReportingOverflow(Int64(count))
    if isTooMuch || end.map({ reached > $0 }) ?? false {
      let failure = Failure.mismatch("more bytes came than were announced")
      return isPart ? askForAll(insteadOf: failure) : fail(failure)
    }
    if let limit = rules.maximumBytes, reached > limit { return fail(.tooLarge(limit)) }
    written = reached
    return [.write(at: offset)] + (isSyncDue(at: time) && isResumable ? [.save] : []) + [.read]
  }

  /// Whether the file should be synced after a chunk.
  ///
  /// The first chunk is synced at once, unless it completes the file: without a state file, a process that is killed
  /// leaves nothing to resume. The first sync does not shift the multiples of `bytesPerSync` at which the file is
  /// synced.
  private mutating func isSyncDue(at time: Duration) -> Bool {
    let isFirst = syncedAt == nil && synced == 0 && written != end
    let since = syncedAt ?? time
    syncedAt = since
    return isFirst || written / rules.bytesPerSync > synced / rules.bytesPerSync
      || time - since >= min(interval, rules.timePerSync)
  }

  private mutating func receiveComparison(_ areEqual: Bool, _ rest: Int, _ time: Duration) -> [Action] {
    guard compared > 0 else { return [] }
    guard areEqual else {
      return askForAll(insteadOf: .mismatch("the part repeats bytes of the file with other values"))
    }
    (overlap, compared) = (overlap - compared, 0)
    return rest > 0 ? receiveChunk(rest, time) : [.read]
  }

  /// Whether a state file is useful: a later download could resume from it.
  var isResumable: Bool { rules.resumes && representation?.validator != nil }

  private mutating func bodyEnded() -> [Action] {
    if let end, written < end { return lose(false) }
    if let total = representation?.total { return written == total ? placeFile() : goOnAfterPart() }
    // A whole file of unknown length is complete when its body ends. After a part, the next request finds the file's
    // end.
    if end != nil { return goOnAfterPart() }
    representation?.total = written
    return placeFile()
  }

  /// Requests the rest after a part, because a server may send less than was requested (RFC 9110 §15.3.7).
  private mutating func goOnAfterPart() -> [Action] {
    let isProgress = written > farthest
    recordProgress()
    return isProgress ? goOn() : lose(false)
  }

  private mutating func recordProgress() {
    if written > farthest { (farthest, fruitless) = (written, 0) }
  }

  private mutating func lose(_ isFinal: Bool) -> [Action] {
    recordProgress()
    let keep: [Action] = isResumable && written > synced ? [.save] : []
    if isFinal {
      phase = .over
      return keep + [.drop, .fail(.asItIs)]
    }
    phase = .waiting
    defer { fruitless += 1 }
    return [.drop] + keep + [.wait(fruitless: fruitless)]
  }
}
