// SPDX-License-Identifier: Apache-2.0

/// Decides what follows on what in an upload that can be gone on with, and performs nothing.
///
/// What was sent is never repeated blindly: after a loss the server is asked how much it has, and one request at a time
/// is under way.
struct UploadMachine {
  struct Rules: Hashable {
    var dialect = UploadProtocol.tus
    var length: Int64
    /// Whether the first request carries the content, of which the server may take all.
    var sendsAtOnce = false
    /// Most bytes of an append; `nil`: all that is left.
    var bytesPerAppend: Int64?
  }

  enum Phase: Hashable, CaseIterable {
    case idle, creating, probing, appending, waiting, over
  }

  enum Event: Hashable {
    /// - Parameter hasURL: whether an earlier upload is gone on with.
    case begun(hasURL: Bool)
    /// An interim answer named the upload (104).
    case named
    /// An answer 2xx to the request under way.
    case answered(UploadAnswer)
    /// An answer says that it is elsewhere, and may be followed.
    case redirected
    /// Any other answer.
    case refused(UploadAnswer)
    /// No answer came.
    case lost(isFinal: Bool)
    case waited
  }

  enum Action: Hashable {
    case create(sendsAll: Bool)
    /// Ask how much the server has.
    case probe
    case append(from: Int64, count: Int64, isLast: Bool)
    case wait(fruitless: Int)
    case done
    case fail(Failure)
  }

  enum Failure: Hashable {
    /// The server breaks its protocol, or speaks another version of it.
    case violation(String)
    case tooLarge(limit: Int64)
    case tooSmall(limit: Int64)
    /// The failure of the request as it is.
    case asItIs
  }

  let rules: Rules
  private(set) var phase = Phase.idle
  /// How many bytes the server is known to have.
  private(set) var offset: Int64 = 0
  private(set) var resumedFrom: Int64 = 0
  private var limit = UploadLimit()
  private var hasURL = false
  private var farthest: Int64 = 0
  private var fruitless = 0
  /// So often without progress.
  static let maximumRedirects = 20
  /// Redirects since the last progress.
  private var redirects = 0
  /// Most bytes of an append after a server refused more (413).
  private var reduced: Int64?
  private var isContinued = false

  init(_ rules: Rules) { self.rules = rules }

  mutating func handle(_ event: Event) -> [Action] {
    switch (phase, event) {
    case (.idle, .begun(let hasURL)):
      self.hasURL = hasURL
      isContinued = hasURL
      return hasURL ? probe() : create()
    case (.creating, .named):
      hasURL = true
      return []
    case (.creating, .answered(let answer)): return created(answer)
    case (.probing, .answered(let answer)): return probed(answer)
    case (.appending, .answered(let answer)): return appended(answer)
    case (.creating, .refused(let answer)), (.probing, .refused(let answer)), (.appending, .refused(let answer)):
      return refused(answer)
    case (.creating, .redirected), (.probing, .redirected), (.appending, .redirected): return redirected()
    case (.creating, .lost(let isFinal)), (.probing, .lost(let isFinal)), (.appending, .lost(let isFinal)):
      return isFinal ? fail(.asItIs) : lost()
    case (.waiting, .waited): return hasURL ? probe() : create()
    case (.waiting, .lost): return fail(.asItIs)
    // What comes late, or out of order, changes nothing.
    default: return []
    }
  }

  // MARK: what is sent

  private mutating func create() -> [Action] {
    phase = .creating
    return [.create(sendsAll: rules.sendsAtOnce)]
  }

  private mutating func probe() -> [Action] {
    phase = .probing
    return [.probe]
  }

  private mutating func append() -> [Action] {
    let left = rules.length - offset
    let most = [rules.bytesPerAppend, limit.maximumAppendBytes, reduced].compactMap(\.self).min() ?? left
    let count = min(left, max(1, most))
    phase = .appending
    return [.append(from: offset, count: count, isLast: count == left)]
  }

  private mutating func done() -> [Action] {
    phase = .over
    return [.done]
  }

  private mutating func fail(_ failure: Failure) -> [Action] {
    phase = .over
    return [.fail(failure)]
  }

  // MARK: what comes

  private mutating func created(_ answer: UploadAnswer) -> [Action] {
    limit.update(by: answer.limit)
    // All of it was sent and taken: what answers is the target, also one that knows nothing of going on.
    if rules.dialect == .draft, answer.isComplete == true || rules.sendsAtOnce && answer.isComplete == nil {
      offset = rules.length
      return done()
    }
    guard answer.location != nil || hasURL else { return fail(.violation("the server named no upload")) }
    hasURL = true
    if let failure = sizeFailure() { return fail(failure) }
    // Some of the content may have been taken already.
    return take(answer.offset ?? 0, answer)
  }

  private func sizeFailure() -> Failure? {
    if let most = limit.maximumBytes, rules.length > most { return .tooLarge(limit: most) }
    if let least = limit.minimumBytes, rules.length < least { return .tooSmall(limit: least) }
    return nil
  }

  private mutating func probed(_ answer: UploadAnswer) -> [Action] {
    limit.update(by: answer.limit)
    if let length = answer.length, length != rules.length {
      return fail(.violation("the server expects \(length) bytes in all, and the file has \(rules.length)"))
    }
    if answer.isComplete == true {
      offset = rules.length
      return done()
    }
    guard let offset = answer.offset else { return fail(.violation("the server did not say how much it has")) }
    if isContinued {
      isContinued = false
      resumedFrom = offset
      farthest = max(farthest, offset)
    }
    return take(offset, answer)
  }

  private mutating func appended(_ answer: UploadAnswer) -> [Action] {
    limit.update(by: answer.limit)
    if rules.dialect == .draft, answer.isComplete == true {
      offset = rules.length
      return done()
    }
    guard let offset = answer.offset else {
      return rules.dialect == .draft ? lost() : fail(.violation("the server did not say how much it has"))
    }
    return take(offset, answer)
  }

  /// Goes on from what the server has, which may be less than what was sent, and more than what it had said.
  private mutating func take(_ offset: Int64, _ answer: UploadAnswer) -> [Action] {
    guard offset <= rules.length else {
      return fail(.violation("the server has \(offset) bytes of \(rules.length)"))
    }
    let wasAppending = phase == .appending
    self.offset = offset
    let isProgress = offset > farthest
    if isProgress { (farthest, fruitless, redirects) = (offset, 0, 0) }
    // The draft has an upload complete only when it is said to be: an empty append says so.
    if offset == rules.length, rules.dialect == .tus { return done() }
    if wasAppending, !isProgress { return lost() }
    return append()
  }

  private mutating func redirected() -> [Action] {
    redirects += 1
    guard redirects <= Self.maximumRedirects else {
      return fail(.violation("the server redirects it more than \(Self.maximumRedirects) times"))
    }
    return phase == .creating ? create() : probe()
  }

  private mutating func refused(_ answer: UploadAnswer) -> [Action] {
    limit.update(by: answer.limit)
    // The target's own answer, whatever its status: nothing is left to go on with.
    if rules.dialect == .draft, answer.isComplete == true { return fail(.asItIs) }
    switch answer.status {
    // Of what it refuses to make, a server says what it takes.
    case 400..<500 where phase == .creating:
      if answer.status == 412, let versions = answer.versions, rules.dialect == .tus {
        return fail(.violation("the server speaks tus \(versions.prefix(40)), not 1.0.0"))
      }
      return answer.status == 423 ? lost() : fail(sizeFailure() ?? .asItIs)
    case 413 where phase == .appending: return shrink()
    // The offset was wrong, or another request has the upload still: ask again.
    case 409 where phase == .appending, 423: return lost()
    case 500...: return lost()
    default: return fail(.asItIs)
    }
  }

  /// Smaller, down to what the server takes at the least.
  private mutating func shrink() -> [Action] {
    let left = rules.length - offset
    let last = [reduced, rules.bytesPerAppend, limit.maximumAppendBytes].compactMap(\.self).min() ?? left
    let next = max(min(last, left) / 2, limit.minimumAppendBytes ?? 1)
    guard next >= 1, next < min(last, left) else { return fail(.asItIs) }
    reduced = next
    return probe()
  }

  private mutating func lost() -> [Action] {
    // Content that was sent to no upload may have been taken: it is not sent again.
    if phase == .creating, rules.sendsAtOnce, !hasURL { return fail(.asItIs) }
    phase = .waiting
    defer { fruitless += 1 }
    return [.wait(fruitless: fruitless)]
  }
}
