// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// Performs the actions that a download's machine decides.
struct DownloadRun<Model: Sendable, APIError: Error> {
  typealias Failure = HTTPFetchError<APIError>

  let stack: any HTTPNetworkStack
  let resource: HTTPResource<Model, APIError>
  let options: DownloadOptions
  let part: PartFile
  /// The URL with secrets masked, for the state file.
  let url: String
  let source: String
  private let rules: DownloadMachine.Rules
  private var machine: DownloadMachine
  private var progress: TransferProgressReporter.Transfer?

  private var body: ResponseBody.AsyncIterator?
  /// The body of ``response``, which completes its facts.
  private var responseBody: ResponseBody?
  private var chunk = Data()
  private var contentDigest: ContentDigestCheck?
  /// The body of the current response, which becomes the first segment if the download is split.
  private var opened: SegmentPart?
  /// The failure since the last response began; `nil` if its body ended properly, though too early.
  private var failure: Failure?
  private var response: ResourceResponse?
  private var requests = 0
  private var losses: LossWait
  private var verified: [Digest] = []
  private var segments = 1
  /// Whether the part file is kept regardless of the result, because the machine does not track segments.
  private var keepsPart = false
  /// Whether the received bytes contradict their digest, so that none are kept.
  private var isDamaged = false
  /// The number of times that segments found the server's file changed.
  private var changes = 0
  /// The machine's first event after segments that did not complete the file.
  private var continuation: DownloadMachine.Event?

  init(
    _ resource: HTTPResource<Model, APIError>, by stack: any HTTPNetworkStack, to part: PartFile, url: String,
    source: String, options: DownloadOptions
  ) {
    self.stack = stack
    self.resource = resource
    self.options = options
    self.part = part
    self.url = url
    self.source = source
    var rules = DownloadMachine.Rules()
    rules.resumes = options.resumes
    rules.maximumRestarts = options.maximumRestarts
    rules.maximumBytes = options.maximumBytes
    rules.bytesPerSync = options.bytesPerSync
    rules.probesRanges = options.segments > 1
    self.rules = rules
    machine = DownloadMachine(rules)
    progress = options.progress?.beginTransfer(totalBytesToSend: 0)
    losses = LossWait(retries: options.retries, timeSource: options.timeSource)
  }

  mutating func run() async throws(Failure) -> DownloadedFile {
    defer { part.release() }
    do throws(Failure) {
      return try await goThrough()
    } catch {
      // Before its first event, the machine does not know what an earlier call left.
      let isUseless = machine.phase != .idle && (!machine.isResumable || machine.synced == 0)
      if isDamaged || !keepsPart && isUseless { try? part.discard() }
      throw error
    }
  }

  private mutating func goThrough() async throws(Failure) -> DownloadedFile {
    var left: DownloadRecord?
    switch part.left {
    case .nothing: break
    case .part(let record):
      left = record
      if options.resumes, let file = try await goOnInSegments(record) { return file }
    case .whole(let record):
      if options.resumes, let file = try await finishPlaced(record) { return file }
      try onDisk { part throws(FileFailure) in try part.checkReplaces() }
    }
    if let record = left, continuation == nil { try await forgetBehindGap(record) }
    let found = DownloadMachine.Event.found(left?.representation, synced: left?.prefix ?? 0)
    var pending = machine.handle(continuation ?? found)[...]
    while let action = pending.popFirst() {
      guard let event = try await perform(action) else { continue }
      if case .head(let answer, let asked?) = event, asked.from == 0,
        let total = totalOfSegments(answer.representation, answer)
      {
        if let file = try await runSegments(answer.representation, total, done: []) { return file }
        pending = machine.handle(continuation ?? .found(nil, synced: 0))[...]
      } else {
        pending += machine.handle(event)
      }
    }
    return downloaded(machine.representation, length: machine.written)
  }

  /// Updates the state file before the bytes behind the first gap are truncated. Otherwise a later call's segments
  /// would take the zeros that fill the gap for downloaded bytes.
  private func forgetBehindGap(_ record: DownloadRecord) async throws(Failure) {
    guard record.done.count > 1 || record.done.first.map({ $0.from > 0 }) ?? false else { return }
    var shorter = record
    shorter.done = record.prefix > 0 ? [.init(from: 0, to: record.prefix)] : []
    shorter.isVerified = false
    try await blocking { [shorter] part throws(FileFailure) in try part.save(shorter) }
  }

  private mutating func perform(_ action: DownloadMachine.Action) async throws(Failure) -> DownloadMachine.Event? {
    switch action {
    case .cut(let length): try onDisk { part throws(FileFailure) in try part.cut(to: length) }
    case .forget: try onDisk { part throws(FileFailure) in try part.forget() }
    case .ask(let range): return await ask(range)
    case .write(let offset):
      try onDisk { [chunk] part throws(FileFailure) in try part.write(chunk, at: offset) }
      progress?.report(received: machine.written, of: machine.representation?.total)
    case .compare(let count, let offset): return try compare(count, at: offset)
    case .read: return await read()
    case .drop: (opened, body, contentDigest) = (nil, nil, nil)
    case .save:
      try await save()
      return .saved(at: options.timeSource.now())
    case .wait(let fruitless): return try await wait(fruitless)
    case .place:
      try await place(machine.representation, length: machine.written)
      return .placed
    case .fail(let reason): throw error(for: reason)
    }
    return nil
  }

  /// Compares the start of the chunk with the file, and removes it from the chunk.
  private mutating func compare(_ count: Int, at offset: Int64) throws(Failure) -> DownloadMachine.Event {
    let known = try onDisk { part throws(FileFailure) in try part.read(upTo: count, at: offset) }
    let areEqual = known == chunk.prefix(count)
    chunk = Data(chunk.dropFirst(count))
    return .compared(areEqual: areEqual, rest: chunk.count, at: options.timeSource.now())
  }

  /// Runs an operation on the part file, and converts its failure, which ends the download.
  private func onDisk<Value>(_ body: (PartFile) throws(FileFailure) -> Value) throws(Failure) -> Value {
    do throws(FileFailure) {
      return try body(part)
    } catch {
      throw ended(by: error.transportError(requestSent: requests > 0))
    }
  }

  private func ended(by error: TransportError) -> Failure {
    Failure(.transport(error), request: "GET \(url)", response: response, attempts: response?.attempts ?? [])
  }

  private func error(for reason: DownloadMachine.Failure) -> Failure {
    if reason.discards { try? part.discard() }
    if let error = reason.transportError { return ended(by: error) }
    if case .unexpectedStatus = reason, let response {
      return Failure(
        .http(response.status, nil), request: "GET \(url)", response: response, attempts: response.attempts)
    }
    return failure ?? ended(by: .endedEarly)
  }
}

// MARK: the network

extension DownloadRun {
  private mutating func ask(_ range: DownloadMachine.AskedRange?) async -> DownloadMachine.Event {
    let asking = resource.asking(
      for: range.map { "bytes=\($0.from)-" }, if: range?.validator, retries: options.retries)
    do throws(Failure) {
      let answer = try await stack.stream(asking)
      requests += 1
      (response, failure) = (answer.response, nil)
      let receivedAt = Int64(options.timeSource.sinceEpoch().components.seconds)
      let head = RangeAnswer(answer.response.head, receivedAt: receivedAt)
      responseBody = answer.value
      opened = SegmentPart(answer, head, from: range?.from ?? 0)
      body = answer.value.makeAsyncIterator()
      contentDigest = ContentDigestCheck(answer.response.headerFields[.contentDigest])
      return .head(head, asked: range)
    } catch {
      failure = error
      guard case .http = error.reason, let answer = error.response else {
        return error.transportError?.isOfResponse ?? false ? .unreadable(asked: range) : .lost(isFinal: true)
      }
      response = answer
      requests += 1
      return .refused(RangeAnswer(answer.head), asked: range)
    }
  }

  private mutating func read() async -> DownloadMachine.Event {
    do throws(TransportError) {
      guard let next = try await body?.next() else {
        response?.complete(by: responseBody?.finalFacts)
        try contentDigest?.check()
        return .ended
      }
      chunk = next
      contentDigest?.add(next)
      return .chunk(next.count, at: options.timeSource.now())
    } catch {
      response?.complete(by: responseBody?.finalFacts)
      failure = ended(by: error.naming(options.resumes ? machine.representation?.obstacle : nil))
      isDamaged = error.code == .digestMismatch
      return .lost(isFinal: !error.mayBeGoneOnAfter)
    }
  }

  private mutating func wait(_ fruitless: Int) async throws(Failure) -> DownloadMachine.Event {
    let failure = failure ?? ended(by: .endedEarly)
    try await losses.wait(
      after: failure, fruitless: fruitless, response: response, cancelled: ended(by: .cancelled(requestSent: true)))
    return .waited
  }
}

extension TransportError {
  /// Whether the response itself was refused, so that a response to another request may be readable.
  var isOfResponse: Bool {
    [.malformedResponse, .badContentEncoding, .decompressionBomb, .headTooLarge].contains(code)
  }

  /// Returns the error with a hint that says why a later call cannot resume the download, if there is such an obstacle.
  fileprivate func naming(_ obstacle: String?) -> TransportError {
    guard let obstacle else { return self }
    var error = self
    let words = "a later call cannot resume the download: \(obstacle)"
    error.hint = hint.map { "\($0); \(words)" } ?? words
    return error
  }

  /// Whether another attempt may succeed: the connection was lost, or stalled.
  var mayBeGoneOnAfter: Bool {
    switch (stage, code) {
    case (.timeout, .totalTimeout): false
    case (.response, let code) where [.digestMismatch, .resumeMismatch, .diskFull, .fileFailed].contains(code): false
    case (.response, _), (.send, _), (.connect, _), (.timeout, _): true
    default: false
    }
  }
}

// MARK: segments

extension DownloadRun {
  /// Returns the length of the file if it should be downloaded in several segments. Returns `nil` if one request is
  /// better, or nothing proves that the server supports ranges.
  private func totalOfSegments(_ representation: Representation, _ answer: RangeAnswer?) -> Int64? {
    guard options.segments > 1, options.resumes, let total = representation.total,
      total >= 4 * options.leastSegmentBytes, options.maximumBytes.map({ total <= $0 }) ?? true,
      // A date cannot prove that parts belong together: it has a resolution of one second.
      let validator = representation.validator, validator == representation.entityTag
    else { return nil }
    guard let answer else { return total }
    return answer.mismatch(from: 0) == nil ? total : nil
  }

  /// Resumes an earlier download in segments.
  ///
  /// - Returns: `nil` if segments are not worthwhile or could not complete the file.
  private mutating func goOnInSegments(_ record: DownloadRecord) async throws(Failure) -> DownloadedFile? {
    guard let total = totalOfSegments(record.representation, nil), record.prefix < total else { return nil }
    return try await runSegments(record.representation, total, done: record.done)
  }

  private mutating func runSegments(
    _ representation: Representation, _ total: Int64, done: [DownloadRecord.ByteRange]
  ) async throws(Failure) -> DownloadedFile? {
    let run = SegmentedRun(
      resource, by: stack, to: part, from: record(of: representation, done: done), total: total, options: options,
      progress: progress)
    segments = run.segments
    let resumedFrom = run.count
    let first = opened
    (opened, body, contentDigest) = (nil, nil, nil)
    try await run.makeRoom()
    keepsPart = true  // Not before: of what there is no room for, nothing came.
    let end: SegmentedRun<Model, APIError>.End
    do throws(Failure) {
      end = try await run.run(first)
    } catch {
      isDamaged = error.code == .digestMismatch
      throw error
    }
    requests += run.requests
    guard end != .complete else {
      try await place(representation, length: total)
      return downloaded(representation, length: total, resumedFrom: resumedFrom)
    }
    // Continue with a single request from here on.
    var rules = rules
    rules.probesRanges = false
    (machine, keepsPart, segments) = (DownloadMachine(rules), false, 1)
    switch end {
    case .refused: continuation = .segmentsFailed(representation, kept: run.count)
    case .complete, .changed:
      continuation = .found(nil, synced: 0)
      changes += 1
      guard changes <= rules.maximumRestarts else { throw self.error(for: .changed(times: changes)) }
    }
    return nil
  }
}

// MARK: the disk

extension DownloadRun {
  private func record(
    of representation: Representation, done: [DownloadRecord.ByteRange], isVerified: Bool = false
  ) -> DownloadRecord {
    var representation = representation
    if isVerified { representation.total = done.last?.to }
    return DownloadRecord(
      url: url, source: source, representation: representation, done: done, file: part.identity,
      isVerified: isVerified)
  }

  /// Syncs the file, then writes the state file that describes it.
  private func save() async throws(Failure) {
    guard let representation = machine.representation else { return }
    let record = record(of: representation, done: [.init(from: 0, to: machine.written)])
    try await blocking { part throws(FileFailure) in
      try part.sync()
      try part.save(record)
    }
  }

  private func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (PartFile) throws(FileFailure) -> Value
  ) async throws(Failure) -> Value {
    let part = part
    do throws(FileFailure) {
      return try await BlockingCall.run { () throws(FileFailure) in try body(part) }
    } catch {
      throw ended(by: error.transportError(requestSent: requests > 0))
    }
  }

  private mutating func place(_ representation: Representation?, length: Int64) async throws(Failure) {
    try await blocking { part throws(FileFailure) in
      // Remove bytes behind the end, which a crash may have left.
      try part.cut(to: length)
      try part.sync()
    }
    try await verify(representation, length)
    if Task.isCancelled { throw ended(by: .cancelled(requestSent: requests > 0)) }
    var last: DownloadRecord?
    if options.resumes, let representation, representation.validator != nil {
      last = record(of: representation, done: [.init(from: 0, to: length)], isVerified: true)
    }
    try await blocking { [last] part throws(FileFailure) in
      // Save the state first: if the process is killed between the rename and the removal of the state, the file is
      // found complete.
      if let record = last { try part.save(record) }
      try part.place()
    }
  }

  /// Reads the file back, and compares its digests with the expected ones.
  private mutating func verify(_ representation: Representation?, _ length: Int64) async throws(Failure) {
    let expected = expectedDigests(of: representation)
    for digest in expected {
      let found = try await found(digest.algorithm, of: length) { part, count, offset throws(FileFailure) in
        try part.read(upTo: count, at: offset)
      }
      guard found == digest.value else {
        try? part.discard()
        throw ended(by: .digestMismatch(digest, found: found, of: part.path))
      }
    }
    verified = expected
  }

  /// Returns the digests that the caller expects, or otherwise the server's.
  private func expectedDigests(of representation: Representation?) -> [Digest] {
    // The texts were checked before the first request.
    if let given = try? options.digests(), !given.isEmpty { return given }
    return Array((representation?.digest.map(DigestField.digests) ?? []).prefix(1))
  }

  private func found(
    _ algorithm: HashAlgorithm, of length: Int64,
    _ read: @escaping @Sendable (PartFile, _ count: Int, _ offset: Int64) throws(FileFailure) -> Data
  ) async throws(Failure) -> MessageDigest {
    let found = try await FileDigest.compute(algorithm, length: length, isCancelled: { Task.isCancelled }) {
      (offset, count) throws(Failure) in
      try await blocking { part throws(FileFailure) in try read(part, count, offset) }
    }
    if let found { return found }
    if Task.isCancelled { throw ended(by: .cancelled(requestSent: requests > 0)) }
    throw ended(by: .undigested(algorithm, part.path))
  }

  /// Completes a download whose file already has its final name, and whose state file had not been removed.
  ///
  /// - Returns: `nil` if the file is not what this download expects: the caller may expect another digest than before,
  ///   and the file may have been changed since.
  private mutating func finishPlaced(_ record: DownloadRecord) async throws(Failure) -> DownloadedFile? {
    if let limit = options.maximumBytes, record.prefix > limit { return nil }
    let expected = expectedDigests(of: record.representation)
    for digest in expected {
      let file = try onDisk { part throws(FileFailure) in try part.openPlaced() }
      let found = try await found(digest.algorithm, of: record.prefix) { _, count, offset throws(FileFailure) in
        try file.read(upTo: count, at: offset)
      }
      guard found == digest.value else { return nil }
    }
    verified = expected
    try await blocking { part throws(FileFailure) in try part.tidy() }
    return downloaded(record.representation, length: record.prefix, resumedFrom: record.prefix)
  }

  private func downloaded(
    _ representation: Representation?, length: Int64, resumedFrom: Int64? = nil
  ) -> DownloadedFile {
    DownloadedFile(
      length: length, verified: verified.map { "\($0.algorithm) \($0.value)" },
      resumedFrom: resumedFrom ?? machine.resumedFrom, requests: requests, restarts: machine.restarts + changes,
      segments: segments, entityTag: representation?.entityTag,
      contentEncoding: representation?.contentEncoding, offeredName: representation?.offeredName,
      resumeObstacle: representation?.obstacle, response: response)
  }
}
