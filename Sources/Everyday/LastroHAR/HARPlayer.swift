// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
internal import LastroSupport

/// Responds to requests from an archive, without a network.
package final class HARPlayer: Sendable {
  /// The order in which exchanges are replayed.
  package enum Order: Sendable {
    /// The order of the archive, each once.
    case recorded
    /// Any order; equal ones in the order of the archive, each once.
    case any
    /// Any order; equal ones in the order of the archive, and the last of them repeatedly.
    case anyRepeatingLast
  }

  /// The texts of errors.
  package struct Texts: Sendable {
    /// The name of the archive in messages, such as `the archive`.
    package var name: String
    /// The remedy for a request that was not recorded.
    package var notRecordedHint: String
    /// The remedy for a body that was not recorded.
    package var incompleteHint: String

    package init(name: String, notRecordedHint: String, incompleteHint: String) {
      self.name = name
      self.notRecordedHint = notRecordedHint
      self.incompleteHint = incompleteHint
    }
  }

  private struct State {
    var next = 0
    var used: Set<Int> = []
  }

  private let entries: [HAR.Entry]
  private let order: Order
  private let matcher: HARMatcher
  private let texts: Texts
  private let redaction: Redaction
  private let time: TimeSource
  private let state = Lock(State())

  /// Creates a player.
  ///
  /// - Parameters:
  ///   - har: the archive with the exchanges.
  ///   - order: the order of the replay.
  ///   - matcher: compares requests with recorded ones.
  ///   - texts: the texts of errors.
  ///   - redaction: the rules for secrets in errors. Those of each request are added.
  ///   - time: the time source for the deadlines of requests.
  package init(
    _ har: HAR, order: Order, matcher: HARMatcher, texts: Texts, redaction: Redaction = .standard, time: TimeSource
  ) {
    entries = har.log.entries
    self.order = order
    self.matcher = matcher
    self.texts = texts
    self.redaction = redaction
    self.time = time
  }

  /// The number of exchanges that no request has used.
  package var remainingEntries: Int { state.withLock { entries.count - $0.used.count } }

  /// Returns the recorded response to a request.
  ///
  /// - Throws: the recorded failure; code `not_recorded` or `incomplete_recording`; stage `timeout` if a streamed body
  ///   of the request does not end before the request's deadline; the cancelled error.
  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    if Task.isCancelled { throw .cancelled() }
    let index = state.withLock { state in
      let found = find(request, state)
      if let found {
        state.used.insert(found)
        if order == .recorded { state.next = found + 1 }
      }
      return found
    }
    guard let index else { throw notRecorded(request) }
    let replay = HARReplay(entry: entries[index], number: index + 1, hint: texts.incompleteHint)
    if replay.wasSent, case .stream = request.body.source {
      try await withinDeadline(of: request, time) { () throws(TransportError) in try await Self.drain(request.body) }
    }
    if Task.isCancelled { throw .cancelled(requestSent: true) }
    return try replay.response(to: request)
  }

  private func find(_ request: TransferRequest, _ state: State) -> Int? {
    if order == .recorded {
      let isNext = entries.indices.contains(state.next) && matcher.differences(request, entries[state.next]).isEmpty
      return isNext ? state.next : nil
    }
    var last: Int?
    for index in entries.indices where matcher.differences(request, entries[index]).isEmpty {
      if !state.used.contains(index) { return index }
      if order == .anyRepeatingLast { last = index }
    }
    return last
  }

  private func notRecorded(_ request: TransferRequest) -> TransportError {
    let redaction = redaction.adding(request.resourceRequest)
    let asked = "\(request.head.method.rawValue) \(redaction.url(request.resourceRequest.url))"
    var message = "\(texts.name) has no exchange like \(asked)"
    let next = state.withLock { $0.next }
    if order == .recorded, next >= entries.count {
      message += ": all \(entries.count) were replayed"
    } else {
      let candidates = order == .recorded ? [next] : Array(entries.indices)
      let nearest = candidates.min {
        matcher.distance(request, entries[$0]) < matcher.distance(request, entries[$1])
      }
      if let nearest {
        let entry = entries[nearest]
        let differences = matcher.differences(request, entry)
        message +=
          "; the \(order == .recorded ? "next" : "nearest") is #\(nearest + 1), \(entry.request.method) "
          + "\(redaction.url(entry.request.url)), which "
          + (differences.isEmpty
            ? "was replayed already"
            : "differs in " + differences.map(\.rawValue).joined(separator: ", "))
      }
    }
    return TransportError(stage: .request, code: .notRecorded, message: message, hint: texts.notRecordedHint)
  }

  /// Reads a single-use body to its end, as sending would.
  private static func drain(_ body: RequestBody) async throws(TransportError) {
    guard case .stream(_, _, let open) = body.source else { return }
    do {
      let next = open()
      while try await next() != nil {}
    } catch {
      throw error as? TransportError ?? .refused(.invalidBody, "the body's source failed: \(error)")
    }
  }
}
