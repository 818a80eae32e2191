// SPDX-License-Identifier: Apache-2.0

/// The decisions of a resumable upload. The machine performs no I/O.
///
/// Content is never repeated blindly: after a loss the server is asked how many bytes it has. Only one request at a
/// time is in progress.
struct UploadMachine {
  struct Rules: Hashable {
    var dialect = UploadProtocol.tus
    var length: Int64
    /// Whether the first request carries the whole content.
    var sendsAtOnce = false
    /// The maximum number of bytes per append; `nil` for no limit.
    var bytesPerAppend: Int64?
  }

  enum Phase: Hashable, CaseIterable {
    case idle, creating, probing, appending, waiting, over
  }

  enum Event: Hashable {
    /// - Parameter hasURL: whether an earlier upload is resumed.
    case begun(hasURL: Bool)
    /// An interim response named the upload (104).
    case named
    /// A 2xx response to the current request.
    case answered(UploadAnswer)
    /// A response redirected the request, and may be followed.
    case redirected
    /// Any other response.
    case refused(UploadAnswer)
    /// No response was received.
    case lost(isFinal: Bool)
    case waited
  }

  enum Action: Hashable {
    case create(sendsAll: Bool)
    /// Ask the server how many bytes it has.
    case probe
    case append(from: Int64, count: Int64, isLast: Bool)
    case wait(fruitless: Int)
    case done
    case fail(Failure)
  }

  enum Failure: Hashable {
    /// The server violates the protocol, or uses another version of it.
    case violation(String)
    case tooLarge(limit: Int64)
    case tooSmall(limit: Int64)
    /// The original failure of the request.
    case asItIs
  }

  let rules: Rules
  private(set) var phase = Phase.idle
  /// The number of bytes that the server is known to have.
  private(set) var offset: Int64 = 0
  private(set) var resumedFrom: Int64 = 0
  private var limit = UploadLimit()
  private var hasURL = false
  private var farthest: Int64 = 0
  private var fruitless = 0
  /// The maximum number of redirects without progress.
  static let maximumRedirects = 20
  /// The number of redirects since the last progress.
  private var redirects = 0
  /// The maximum number of bytes per append after a server refused more (413).
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
    // Late and out-of-order events have no effect.
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
    // The whole content was sent and accepted. The target responded itself, perhaps without supporting resumable
    // uploads.
    if rules.dialect == .draft, answer.isComplete == true || rules.sendsAtOnce && answer.isComplete == nil {
      offset = rules.length
      return done()
    }
    guard answer.location != nil || hasURL else { return fail(.violation("the server named no upload")) }
    hasURL = true
    if let failure = sizeFailure() { return fail(failure) }
    // Some of the content may have been accepted already.
    return continueUpload(from: answer.offset ?? 0, answer)
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
    return continueUpload(from: offset, answer)
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
    return continueUpload(from: offset, answer)
  }

  /// Continues from the server's offset, which may be less than was sent, or more than the server reported before.
  private mutating func continueUpload(from offset: Int64, _ answer: UploadAnswer) -> [Action] {
    guard offset <= rules.length else {
      return fail(.violation("the server reports \(offset) bytes of an upload of \(rules.length)"))
    }
    let wasAppending = phase == .appending
    self.offset = offset
    let isProgress = offset > farthest
    if isProgress { (farthest, fruitless, redirects) = (offset, 0, 0) }
    // In the draft, an upload is complete only when the client says so: an empty append does that.
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
    // This is the target's own response, whatever its status: there is nothing left to resume.
    if rules.dialect == .draft, answer.isComplete == true { return fail(.asItIs) }
    switch answer.status {
    // A server that rejects a creation states its limits.
    case 400..<500 where phase == .creating:
      if answer.status == 412, let versions = answer.versions, rules.dialect == .tus {
        return fail(.violation("the server speaks tus \(versions.prefix(40)), not 1.0.0"))
      }
      return answer.status == 423 ? lost() : fail(sizeFailure() ?? .asItIs)
    case 413 where phase == .appending: return shrink()
    // The offset was wrong, or another request still holds the upload: ask again.
    case 409 where phase == .appending, 423: return lost()
    case 500...: return lost()
    default: return fail(.asItIs)
    }
  }

  /// Halves the size of appends, down to the server's minimum.
  private mutating func shrink() -> [Action] {
    let left = rules.length - offset
    let last = [reduced, rules.bytesPerAppend, limit.maximumAppendBytes].compactMap(\.self).min() ?? left
    let next = max(min(last, left) / 2, limit.minimumAppendBytes ?? 1)
    guard next >= 1, next < min(last, left) else { return fail(.asItIs) }
    reduced = next
    return probe()
  }

  private mutating func lost() -> [Action] {
    // Do not resend the content: the server may have processed it, and there is no URL to ask.
    if phase == .creating, rules.sendsAtOnce, !hasURL { return fail(.asItIs) }
    phase = .waiting
    defer { fruitless += 1 }
    return [.wait(fruitless: fruitless)]
  }
}
