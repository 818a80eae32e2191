// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// Downloads segments of one representation at the same time. Each segment is requested on the condition that the
/// representation's strong validator still matches.
struct SegmentedRun<Model: Sendable, APIError: Error>: Sendable {
  typealias Failure = HTTPFetchError<APIError>

  /// The result of a run.
  enum End: Sendable {
    /// Every byte has been written.
    case complete
    /// The server's file changed, or the server no longer supports ranges.
    case changed
    /// A range was refused, or the response has bytes that do not belong to it. Nothing proves that the file changed.
    case refused
  }

  fileprivate struct State {
    var plan: SegmentPlan
    /// The number of bytes written since the last sync.
    var unsynced: Int64 = 0
    var syncedAt: Duration
    /// The interval to the next sync, which each sync doubles.
    var interval = DownloadMachine.Rules.firstInterval
    /// Whether a state file describes received bytes, so that a process that is killed leaves something to resume.
    var hasSaved: Bool
    var isSaving = false
    var requests = 0
  }

  let stack: any HTTPNetworkStack
  let resource: HTTPResource<Model, APIError>
  let options: DownloadOptions
  let part: PartFile
  let progress: TransferProgressReporter.Transfer?
  /// The record of the download when the run began.
  let record: DownloadRecord
  private let state: Lock<State>

  init(
    _ resource: HTTPResource<Model, APIError>, by stack: any HTTPNetworkStack, to part: PartFile,
    from record: DownloadRecord, total: Int64, options: DownloadOptions, progress: TransferProgressReporter.Transfer?
  ) {
    self.resource = resource
    self.stack = stack
    self.part = part
    self.options = options
    self.progress = progress
    self.record = record
    let plan = SegmentPlan(total: total, done: record.done, count: options.segments, least: options.leastSegmentBytes)
    state = Lock(State(plan: plan, syncedAt: options.timeSource.now(), hasSaved: !record.done.isEmpty))
  }

  var requests: Int { state.withLock { $0.requests } }
  var segments: Int { state.withLock { $0.plan.segments.count } }
  /// The number of bytes on disk.
  var count: Int64 { state.withLock { $0.plan.count } }

  /// Reserves disk space for the whole file, before segments are downloaded.
  func makeRoom() async throws(Failure) {
    do throws(FileFailure) {
      let total = state.withLock { $0.plan.total }
      try await BlockingCall.run { [part] () throws(FileFailure) in try part.reserve(total) }
    } catch {
      throw ended(by: error.transportError(requestSent: true))
    }
  }

  /// Runs all segments until they are complete or one of them fails.
  ///
  /// - Parameter first: the open response that starts at the first byte, if there is one.
  func run(_ first: SegmentPart?) async throws(Failure) -> End {
    let end = await withTaskGroup(of: Result<End, Failure>.self) { group in
      for index in 0..<segments {
        group.addTask {
          await Result { () async throws(Failure) in try await download(index, index == 0 ? first : nil) }
        }
      }
      var end: Result<End, Failure> = .success(.complete)
      for await result in group {
        // The first incomplete result counts, and cancels the other segments; but damage, which must not be kept, takes
        // precedence.
        guard Self.isDamage(result) || Self.isComplete(end) else { continue }
        end = result
        if !Self.isComplete(result) { group.cancelAll() }
      }
      return end
    }
    if case .success(.changed) = end { return .changed }
    // Keep the received bytes, unless some of them are damaged.
    if !Self.isDamage(end) { try await save() }
    return try end.get()
  }

  private static func isComplete(_ end: Result<End, Failure>) -> Bool {
    if case .success(.complete) = end { true } else { false }
  }

  private static func isDamage(_ end: Result<End, Failure>) -> Bool {
    if case .failure(let failure) = end { failure.code == .digestMismatch } else { false }
  }

  private func ended(by error: TransportError) -> Failure { Failure(.transport(error)) }

  /// Downloads a segment, then parts of others' rests, until no rest is worth splitting.
  private func download(_ index: Int, _ first: SegmentPart?) async throws(Failure) -> End {
    var body = first
    var fruitless = 0
    var losses = LossWait(retries: options.retries, timeSource: options.timeSource)
    while true {
      let segment = state.withLock { $0.plan.segments[index] }
      if segment.rest == 0 {
        guard state.withLock({ $0.plan.refill(index) }) else { return .complete }
        (body, fruitless) = (nil, 0)
        continue
      }
      let before = segment.next
      do throws(Failure) {
        if body == nil {
          switch try await ask(segment) {
          case .part(let part): body = part
          case .end(let end): return end
          }
        }
        guard try await write(body, index) else {
          // The part was to begin before the first wanted byte, but ended before it: its Content-Range was wrong.
          if body?.overlap ?? 0 > 0, state.withLock({ $0.plan.segments[index].next }) == before { return .refused }
          throw ended(by: .endedEarly)
        }
        body = nil
      } catch {
        body = nil
        let isProgress = state.withLock { $0.plan.segments[index].next } > before
        if isProgress { fruitless = 0 }
        guard error.transportError?.mayBeGoneOnAfter ?? false else { throw error }
        try await losses.wait(
          after: error, fruitless: fruitless, response: nil, cancelled: ended(by: .cancelled(requestSent: true)))
        fruitless += 1
      }
    }
  }

  private enum Answer {
    case part(SegmentPart)
    /// The response ends all segments.
    case end(End)
  }

  private func ask(_ segment: SegmentPlan.Segment) async throws(Failure) -> Answer {
    let range = "bytes=\(segment.next)-\(segment.end - 1)"
    let asking = resource.asking(for: range, if: record.representation.validator, retries: options.retries)
    let answer: Fetched<ResponseBody, ResourceResponse>
    do throws(Failure) {
      answer = try await stack.stream(asking)
    } catch {
      if error.transportError?.isOfResponse ?? false { return .end(.refused) }
      guard case .http = error.reason, let response = error.response else { throw error }
      state.withLock { $0.requests += 1 }
      let refusal = RangeAnswer(response.head)
      guard refusal.mayBeDueToRange else { throw error }
      return .end([412, 416].contains(refusal.status) ? .changed : .refused)
    }
    state.withLock { $0.requests += 1 }
    let head = RangeAnswer(answer.response.head)
    guard head.status == 206 else { return .end(head.status == 200 ? .changed : .refused) }
    guard head.mismatch(from: segment.next, of: record.representation) == nil else { return .end(.refused) }
    return .part(SegmentPart(answer, head, from: segment.next))
  }

  /// Writes the body up to the end of the segment, which may shrink meanwhile.
  ///
  /// - Returns: false if the body ended before. A part may be shorter than requested: the rest is requested again.
  private func write(_ body: SegmentPart?, _ index: Int) async throws(Failure) -> Bool {
    var reader = body?.reader
    while true {
      let segment = state.withLock { $0.plan.segments[index] }
      if segment.rest == 0 { return true }
      let chunk: Data
      do throws(TransportError) {
        guard let next = try await reader?.next() else { return false }
        chunk = next.prefix(Int(clamping: segment.rest))
      } catch {
        throw ended(by: error)
      }
      do throws(FileFailure) {
        try part.write(chunk, at: segment.next)
      } catch {
        throw ended(by: error.transportError(requestSent: true))
      }
      let (count, isDue) = state.withLock { $0.note(Int64(chunk.count), index, options) }
      progress?.report(received: count, of: record.representation.total)
      if isDue { try await save() }
    }
  }

  /// Syncs the file, then writes a state file with the ranges that were written before the sync.
  private func save() async throws(Failure) {
    var record = record
    record.done = state.withLock { $0.plan.done }
    do throws(FileFailure) {
      try await BlockingCall.run { [part, record] () throws(FileFailure) in
        try part.sync()
        try part.save(record)
      }
    } catch {
      throw ended(by: error.transportError(requestSent: true))
    }
    let now = options.timeSource.now()
    state.withLock { state in
      (state.isSaving, state.hasSaved, state.syncedAt) = (false, true, now)
      state.interval = min(state.interval * 2, .seconds(5))
    }
  }
}

extension TransportError {
  static let endedEarly = TransportError(
    stage: .response, code: .truncatedBody, message: "the part ended before the end of the requested range",
    hint: cutHint,
    requestSent: true)
}

extension SegmentedRun.State {
  /// - Returns: the number of bytes on disk, and whether the file should be synced now.
  fileprivate mutating func note(_ count: Int64, _ index: Int, _ options: DownloadOptions) -> (Int64, Bool) {
    plan.recordWritten(count, of: index)
    unsynced += count
    let isLate = options.timeSource.now() - syncedAt >= interval
    let isFull = unsynced >= options.bytesPerSync
    guard !isSaving, isFull || isLate || !hasSaved else { return (plan.count, false) }
    isSaving = true
    // The early sync of the first bytes does not delay the next one.
    if isFull || isLate { unsynced = 0 }
    return (plan.count, true)
  }
}
