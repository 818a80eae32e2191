// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import Lastro
internal import LastroSupport

/// A transport without a network: it responds from an HTTP archive of a ``HARRecorder`` or a browser.
///
/// ```swift
/// let transport = try HARReplayTransport(contentsOfFile: "Fixtures/login.har")
/// let stack = TransportNetworkStack(transport: transport)
/// ```
///
/// Responses and failures are returned as recorded, without delay. A text that was masked in the recording (`***`)
/// matches any text; in responses it stays masked. A request that is not in the archive fails with stage `request`,
/// code `not_recorded`, and a message that names the nearest exchange. An exchange whose body was not fully recorded
/// fails with code `incomplete_recording`.
public final class HARReplayTransport: Transport {
  /// The properties that a request must share with a recorded one.
  public enum Matching: Sendable, Hashable {
    /// The exchanges are replayed in order, each once. Method, URL, the selected header fields and the body must match.
    /// JSON bodies are compared by value. A body from a file or stream matches any recorded body.
    case strict
    /// Method and URL must match, in any order. Several matching exchanges are replayed in turn, and the last one
    /// repeatedly.
    case loose
  }

  private struct State {
    var next = 0
    var used: Set<Int> = []
    var requests: [TransferRequest] = []
  }

  private let entries: [HAR.Entry]
  private let matching: Matching
  private let matcher: HARMatcher
  private let time: TimeSource
  private let state = Lock(State())

  /// Creates a transport that replays an archive.
  ///
  /// - Parameters:
  ///   - har: the archive with the exchanges.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  package init(
    _ har: HAR, matching: Matching = .strict, headers: Set<HTTPField.Name> = [], time: TimeSource = .continuous
  ) {
    entries = har.log.entries
    self.time = time
    self.matching = matching
    matcher = HARMatcher(headers: matching == .strict ? headers : [], comparesBody: matching == .strict)
  }

  /// Creates a transport that replays an archive.
  ///
  /// - Parameters:
  ///   - data: the JSON of the archive, as ``HARRecorder/har(forCall:)`` or a browser writes it.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  /// - Throws: `ConfigurationError` with the place at which the data is not an HTTP archive.
  public convenience init(
    json data: Data, matching: Matching = .strict, headers: Set<HTTPField.Name> = [], time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    self.init(try HAR(json: data), matching: matching, headers: headers, time: time)
  }

  /// Creates a transport that replays the archive in a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  /// - Throws: `ConfigurationError` if the file cannot be read, or is not an HTTP archive.
  public convenience init(
    contentsOfFile path: String, matching: Matching = .strict, headers: Set<HTTPField.Name> = [],
    time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ConfigurationError(
        "the HTTP archive \(path) cannot be read", hint: "check that the file exists and may be read")
    }
    let har: HAR
    do throws(ConfigurationError) {
      har = try HAR(json: data)
    } catch {
      throw ConfigurationError("\(path): \(error.message)", hint: error.hint)
    }
    self.init(har, matching: matching, headers: headers, time: time)
  }

  /// The received requests, in order of arrival.
  package var requests: [TransferRequest] { state.withLock { $0.requests } }

  /// The number of exchanges that no request has used.
  public var remainingEntries: Int { state.withLock { entries.count - $0.used.count } }

  /// Returns the recorded response to a request.
  ///
  /// - Throws: the recorded failure; code `not_recorded` or `incomplete_recording`; stage `timeout` if a streamed body
  ///   of the request does not end before the request's deadline; the cancelled error.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    if Task.isCancelled { throw .cancelled() }
    let index = state.withLock { state in
      state.requests.append(request)
      let found = find(request, state)
      if let found {
        state.used.insert(found)
        if matching == .strict { state.next = found + 1 }
      }
      return found
    }
    guard let index else { throw notRecorded(request) }
    let replay = HARReplay(entry: entries[index], number: index + 1)
    if replay.wasSent, case .stream = request.body.source {
      try await withinDeadline(of: request, time) { () throws(TransportError) in try await Self.drain(request.body) }
    }
    if Task.isCancelled { throw .cancelled(requestSent: true) }
    return try replay.response(to: request)
  }

  private func find(_ request: TransferRequest, _ state: State) -> Int? {
    switch matching {
    case .strict:
      return entries.indices.contains(state.next) && matcher.differences(request, entries[state.next]).isEmpty
        ? state.next : nil
    case .loose:
      var last: Int?
      for index in entries.indices where matcher.differences(request, entries[index]).isEmpty {
        if !state.used.contains(index) { return index }
        last = index
      }
      return last
    }
  }

  private func notRecorded(_ request: TransferRequest) -> TransportError {
    let redaction = Redaction.standard.adding(request.secrets)
    let asked = "\(request.head.method.rawValue) \(redaction.url(request.resourceRequest.url))"
    var message = "the archive has no exchange like \(asked)"
    let next = state.withLock { $0.next }
    if matching == .strict, next >= entries.count {
      message += ": all \(entries.count) were replayed"
    } else {
      let candidates = matching == .strict ? [next] : Array(entries.indices)
      let nearest = candidates.min {
        matcher.distance(request, entries[$0]) < matcher.distance(request, entries[$1])
      }
      if let nearest {
        let entry = entries[nearest]
        message +=
          "; the \(matching == .strict ? "next" : "nearest") is #\(nearest + 1), \(entry.request.method) "
          + "\(redaction.url(entry.request.url)), which differs in "
          + matcher.differences(request, entry).map(\.rawValue).joined(separator: ", ")
      }
    }
    return TransportError(
      stage: .request, code: .notRecorded, message: message,
      hint: matching == .strict
        ? "record again, or replay with matching: .loose" : "record an exchange like it, or correct the request")
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

extension FailureCode {
  /// The archive of a ``HARReplayTransport`` does not contain the request.
  public static let notRecorded = Self("not_recorded")
  /// The body of an exchange was not recorded, or only in part.
  public static let incompleteRecording = Self("incomplete_recording")
}
