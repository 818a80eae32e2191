// SPDX-License-Identifier: Apache-2.0

import LastroWire

/// Decides what follows on what in a download to a file, and performs nothing: no clock, no file, no network.
///
/// Its owner performs the actions in order, and tells what came of them.
struct DownloadMachine {
  /// What a download may do.
  struct Rules: Hashable {
    /// Whether it goes on with what an earlier one left.
    var resumes = true
    /// How often it may start over because the server has something else; 0: it fails then.
    var maximumRestarts = 3
    var maximumBytes: Int64?
    /// Whether the first request asks for a range, which proves that the server serves them.
    var probesRanges = false
    /// What is written is synced after so many bytes, or so long.
    var bytesPerSync: Int64 = 16 << 20
    var timePerSync: Duration = .seconds(5)
  }

  enum Phase: Hashable, CaseIterable {
    case idle, asking, receiving, waiting, finishing, over
  }

  /// The bytes that are asked for: from one on, or up to an end as well.
  struct AskedRange: Hashable {
    var from: Int64
    /// What `If-Range` carries.
    var validator: String?
  }

  enum Event: Hashable {
    /// What an earlier download left: what it told of itself, and how many bytes are there for certain.
    case found(Representation?, synced: Int64)
    /// The head of an answer 2xx. `asked` is what was in fact asked for: `nil` for the whole.
    case head(RangeAnswer, asked: AskedRange?)
    /// An answer outside 2xx, which is no loss of bytes.
    case refused(RangeAnswer, asked: AskedRange?)
    /// A response that the transport could not read.
    case unreadable(asked: AskedRange?)
    /// Segments failed because of the server's answers to ranges, and left `kept` bytes in the part file.
    case segmentsFailed(Representation, kept: Int64)
    /// So many bytes are there to be written.
    case chunk(Int, at: Duration)
    /// The start of the chunk was compared with the file, and removed; `rest` bytes of it are left.
    case compared(areEqual: Bool, rest: Int, at: Duration)
    /// The body came to its proper end.
    case ended
    /// The connection was lost, or the request failed.
    case lost(isFinal: Bool)
    /// All that was written is on the disk, and the state tells of it.
    case saved(at: Duration)
    /// The wait is over.
    case waited
    /// The file has its place.
    case placed
  }

  enum Action: Hashable {
    /// Cut the file.
    case cut(to: Int64)
    /// Forget what the state says, before bytes that it does not tell of are written.
    case forget
    /// Send a request.
    case ask(AskedRange?)
    /// Write the chunk at this offset.
    case write(at: Int64)
    /// Compare the first bytes of the chunk with those of the file at this offset, and remove them from the chunk.
    case compare(Int, at: Int64)
    /// Read the next chunk of the body.
    case read
    /// Give the body up.
    case drop
    /// Sync the file, then write the state.
    case save
    /// Ask the policy, with so many losses in a row that brought nothing, and wait.
    case wait(fruitless: Int)
    /// Sync, check the digest, and give the file its name.
    case place
    case fail(Failure)
  }

  enum Failure: Hashable {
    /// What came is not a part of what is there.
    case mismatch(String)
    /// The server has something else, more often than is allowed.
    case changed(times: Int)
    case unexpectedStatus(Int)
    case tooLarge(Int64)
    /// The failure of the request, or of the body, as it is.
    case asItIs

    /// Whether what is there is of no more use.
    var discards: Bool {
      switch self {
      case .changed, .tooLarge: true
      // A part that does not fit says nothing about the bytes in the file. The next call asks for the whole file if
      // the server's ranges are still unusable, so that it does not meet the same failure again.
      case .mismatch, .unexpectedStatus, .asItIs: false
      }
    }
  }

  let rules: Rules
  private(set) var phase = Phase.idle
  private(set) var representation: Representation?
  /// Bytes written, and those of them that are on the disk for certain.
  private(set) var written: Int64 = 0
  private(set) var synced: Int64 = 0
  /// What an earlier download left of the file that is there now.
  private(set) var resumedFrom: Int64 = 0
  private(set) var restarts = 0
  /// The highest offset that was reached: a loss below it brought nothing.
  private var farthest: Int64 = 0
  private var fruitless = 0
  /// The last sync; `nil` before the first byte.
  private var syncedAt: Duration?
  /// Where the part ends that the body is.
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
    case (.idle, .found(let left, let synced)): return begin(with: left, synced)
    case (.idle, .segmentsFailed(let left, let kept)):
      (representation, written, synced, farthest, resumedFrom) = (left, kept, kept, kept, kept)
      return askForAll(insteadOf: .asItIs)
    case (.asking, .head(let answer, let asked)): return take(answer, asked)
    case (.asking, .refused(let answer, let asked)): return take(refusal: answer, asked)
    case (.asking, .unreadable(let asked)): return asked == nil ? fail(.asItIs) : askForAll(insteadOf: .asItIs)
    case (.asking, .lost): return fail(.asItIs)
    case (.receiving, .chunk(let count, let time)): return take(count, time)
    case (.receiving, .compared(let areEqual, let rest, let time)): return take(areEqual, rest, time)
    case (.receiving, .ended): return bodyEnded()
    case (.receiving, .lost(let isFinal)): return lose(isFinal)
    case (.receiving, .saved(let time)), (.waiting, .saved(let time)), (.over, .saved(let time)):
      (synced, syncedAt) = (written, time)
      return []
    case (.waiting, .waited): return goOn()
    case (.waiting, .lost), (.finishing, .lost): return fail(.asItIs)
    case (.finishing, .placed):
      phase = .over
      return []
    // What comes late, or out of order, changes nothing.
    default: return []
    }
  }

  private mutating func begin(with left: Representation?, _ synced: Int64) -> [Action] {
    guard rules.resumes, let left, left.validator != nil, synced > 0, rules.maximumBytes.map({ synced <= $0 }) ?? true
    else { return startOver() }
    representation = left
    (written, self.synced, farthest, resumedFrom) = (synced, synced, synced, synced)
    guard written != left.total else { return [.cut(to: written)] + finish() }
    return [.cut(to: written)] + goOn()
  }

  /// Asks for what is missing; for all of it where nothing proves that a part would belong to the rest.
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
  }

  /// Requests the whole file after an unusable answer to a range, once in a run.
  ///
  /// What is there is kept until the server sends the whole: it may refuse that too.
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

  private mutating func finish() -> [Action] {
    phase = .finishing
    return [.place]
  }
}

// MARK: heads

extension DownloadMachine {
  private mutating func take(_ answer: RangeAnswer, _ asked: AskedRange?) -> [Action] {
    switch answer.status {
    case 200, 203: return takeWhole(answer)
    case 206: return takePart(answer, asked)
    default:
      let failure = Failure.unexpectedStatus(answer.status)
      return asked == nil ? fail(failure) : askForAll(insteadOf: failure)
    }
  }

  private mutating func takeWhole(_ answer: RangeAnswer) -> [Action] {
    // The rest was wanted, and what is there is given up.
    if written > 0, let failure = noteChange() { return fail(failure) }
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

  /// Counts a start over.
  ///
  /// - Returns: why there is none.
  private mutating func noteChange() -> Failure? {
    restarts += 1
    return restarts > rules.maximumRestarts ? .changed(times: restarts) : nil
  }

  private mutating func take(refusal answer: RangeAnswer, _ asked: AskedRange?) -> [Action] {
    guard let asked, answer.mayBeDueToRange else { return fail(.asItIs) }
    if answer.status == 416, asked.validator != nil, isEnd(answer, at: asked.from) {
      // The validator held, and nothing is left (RFC 9110 §15.5.17).
      representation?.total = asked.from
      return finish()
    }
    guard answer.status == 416 || answer.status == 412 else { return askForAll(insteadOf: .asItIs) }
    guard asked.from > 0 else {
      guard mayProbe else { return fail(.asItIs) }
      // Nothing can be a range of nothing: ask for it as it is.
      mayProbe = false
      return startOver()
    }
    if let failure = noteChange() { return fail(failure) }
    mayProbe = false
    return startOver()
  }

  /// Whether a 416 says that the file ends at an offset, and nothing in it contradicts what is known of the file.
  private func isEnd(_ answer: RangeAnswer, at offset: Int64) -> Bool {
    guard answer.range?.total == offset, let representation else { return false }
    if let total = representation.total, total != offset { return false }
    return answer.representation.entityTag.map { $0 == representation.entityTag } ?? true
  }
}

// MARK: bodies

extension DownloadMachine {
  private mutating func take(_ count: Int, _ time: Duration) -> [Action] {
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
    let since = syncedAt ?? time
    syncedAt = since
    let isDue = reached - synced >= rules.bytesPerSync || time - since >= rules.timePerSync
    return [.write(at: offset)] + (isDue && isResumable ? [.save] : []) + [.read]
  }

  private mutating func take(_ areEqual: Bool, _ rest: Int, _ time: Duration) -> [Action] {
    guard compared > 0 else { return [] }
    guard areEqual else {
      return askForAll(insteadOf: .mismatch("the part repeats bytes of the file with other values"))
    }
    (overlap, compared) = (overlap - compared, 0)
    return rest > 0 ? take(rest, time) : [.read]
  }

  /// Whether a state is worth writing: what it tells of could be gone on with.
  var isResumable: Bool { rules.resumes && representation?.validator != nil }

  private mutating func bodyEnded() -> [Action] {
    if let end, written < end { return lose(false) }
    if let total = representation?.total { return written == total ? finish() : goOnAfterPart() }
    // The whole came without its length. Of a part the server says where the end is when it is asked for more.
    if end != nil { return goOnAfterPart() }
    representation?.total = written
    return finish()
  }

  /// A server may send less than was asked for (RFC 9110 §15.3.7).
  private mutating func goOnAfterPart() -> [Action] {
    let isProgress = written > farthest
    noteProgress()
    return isProgress ? goOn() : lose(false)
  }

  private mutating func noteProgress() {
    if written > farthest { (farthest, fruitless) = (written, 0) }
  }

  private mutating func lose(_ isFinal: Bool) -> [Action] {
    noteProgress()
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
