// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes

/// A request of a trace, with its secrets replaced by as many `*`.
package struct TraceRequest: Sendable, Codable, Equatable {
  package var method: String
  package var url: String
  package var fields: [[String]]
  /// The length of the body; `nil` for a stream of unknown length.
  var bodyLength: Int64?
  var isStream: Bool
  var isReplayable: Bool
  var operation: String?
  var timeouts: TraceTimeouts
  var maximumBodyBytes: Int?
  var redirectLimit: Int
  var allowsInsecureRedirects: Bool
  /// Whether the request may be sent more than once: `method`, `yes`, `no`, `generated` or `key`.
  var idempotency: String
  var shownQueryItems: [String]
  var requiresBody: Bool

  enum CodingKeys: String, CodingKey {
    case method, url, fields, bodyLength = "body_length", isStream = "stream", isReplayable = "replayable", operation
    case timeouts = "timeouts_ns", maximumBodyBytes = "maximum_body_bytes", redirectLimit = "redirects"
    case allowsInsecureRedirects = "insecure_redirects", idempotency, shownQueryItems = "shown_query_items"
    case requiresBody = "requires_body"
  }
}

/// A response of a trace: its head, and the length and digest of its body.
package struct TraceAnswer: Sendable, Codable, Equatable {
  package var status: Int
  package var reason: String
  package var fields: [[String]]
  package var bodyLength: Int?
  package var bodySHA256: String?

  enum CodingKeys: String, CodingKey {
    case status, reason, fields, bodyLength = "body_length", bodySHA256 = "body_sha256"
  }

  init(_ head: HTTPResponse, _ redaction: Redaction) {
    status = head.status.code
    reason = redaction.text(head.status.reasonPhrase)
    fields = head.headerFields.map { [$0.name.rawName, redaction.value(of: $0)] }
  }

  var head: HTTPResponse {
    HTTPResponse(
      status: .init(code: status, reasonPhrase: reason), headerFields: HTTPFields(traced: fields))
  }
}

extension HTTPFields {
  init(traced fields: [[String]]) {
    self.init(
      fields.compactMap { field in
        guard field.count == 2, let name = HTTPField.Name(field[0]) else { return nil }
        return HTTPField(name: name, value: field[1])
      })
  }
}

/// An error of a transfer.
package struct TraceError: Sendable, Codable, Equatable {
  package var stage: FailureStage
  package var code: FailureCode
  package var message: String
  package var hint: String?
  package var engineCode: Int32?
  package var systemCode: Int32?
  package var requestSent: Bool
  package var facts: TraceFacts?
  package var answer: TraceAnswer?

  enum CodingKeys: String, CodingKey {
    case stage, code, message, hint, engineCode = "engine_code", systemCode = "errno", requestSent = "sent", facts
    case answer
  }

  package init(_ error: TransportError, _ redaction: Redaction) {
    let shown = error.redacted(by: redaction)
    (stage, code, message, hint) = (shown.stage, shown.code, shown.message, shown.hint)
    (engineCode, systemCode, requestSent) = (error.engineCode, error.systemCode, error.requestSent)
    facts = error.facts.map { TraceFacts($0, redaction) }
    answer = error.head.map { TraceAnswer($0, redaction) }
  }

  package var error: TransportError {
    var error = TransportError(
      stage: stage, code: code, message: message, hint: hint, engineCode: engineCode, requestSent: requestSent,
      facts: facts?.facts, head: answer?.head)
    error.systemCode = systemCode
    return error
  }
}

/// The facts of a transfer, with times in nanoseconds.
package struct TraceFacts: Sendable, Codable, Equatable {
  struct Note: Sendable, Codable, Equatable {
    var name: String
    var detail: String
    var text: String
    var wait: Int64?
    var inUse: Int?
    var limit: Int?
  }

  struct Cut: Sendable, Codable, Equatable {
    var stage: FailureStage
    var code: FailureCode
    var message: String
  }

  var httpVersion: String?
  var remoteAddress: String?
  var remotePort: Int?
  var connectionID: Int64?
  var connectionReused: Bool
  var bytesSent: Int64
  var bytesReceived: Int64
  var resends: Int
  var trust: TrustVerdict?
  package var timings: TraceTimings
  var cut: Cut?
  var notes: [Note]
  var trailers: [[String]]

  enum CodingKeys: String, CodingKey {
    case httpVersion = "http_version", remoteAddress = "remote_address", remotePort = "remote_port"
    case connectionID = "connection", connectionReused = "reused", bytesSent = "bytes_sent"
    case bytesReceived = "bytes_received", resends, trust, timings = "timings_ns", cut, notes, trailers
  }

  init(_ facts: TransferFacts, _ redaction: Redaction) {
    (httpVersion, remoteAddress, remotePort) = (facts.httpVersion, facts.remoteAddress, facts.remotePort)
    (connectionID, connectionReused) = (facts.connectionID, facts.connectionReused)
    (bytesSent, bytesReceived, resends) = (facts.bytesSent, facts.bytesReceived, facts.resends)
    trust = facts.trust
    timings = TraceTimings(facts.timings)
    cut = facts.bodyCut.map { Cut(stage: $0.stage, code: $0.code, message: redaction.text($0.message)) }
    notes = facts.notes.map { note in
      Note(
        name: note.name, detail: redaction.text(note.detail), text: redaction.text(note.text),
        wait: note.wait?.wholeNanoseconds, inUse: note.bound?.inUse, limit: note.bound?.limit)
    }
    trailers = facts.trailers.map { [$0.name.rawName, redaction.value(of: $0)] }
  }

  var facts: TransferFacts {
    var facts = TransferFacts(
      httpVersion: httpVersion, remoteAddress: remoteAddress, remotePort: remotePort, connectionID: connectionID,
      connectionReused: connectionReused, bytesSent: bytesSent, bytesReceived: bytesReceived, resends: resends,
      trust: trust, timings: timings.timings, trailers: HTTPFields(traced: trailers), notes: transferNotes)
    facts.bodyCut = cut.map { BodyCut(stage: $0.stage, code: $0.code, message: $0.message) }
    return facts
  }

  var transferNotes: [TransferFacts.Note] {
    notes.map { note in
      var bound: TransferFacts.Note.Bound?
      if let inUse = note.inUse, let limit = note.limit { bound = .init(inUse: inUse, limit: limit) }
      return .init(
        note.name, detail: note.detail, text: note.text, wait: note.wait.map { .nanoseconds($0) }, bound: bound)
    }
  }
}

/// The times of a transfer's phases in nanoseconds.
package struct TraceTimings: Sendable, Codable, Equatable {
  var nameLookup: Int64?
  var connect: Int64?
  var tls: Int64?
  var requestStart: Int64?
  var firstByte: Int64?
  package var total: Int64
  package var queued: Int64

  enum CodingKeys: String, CodingKey {
    case nameLookup = "name_lookup", connect, tls, requestStart = "request_start", firstByte = "first_byte", total
    case queued
  }

  package init(_ timings: TransferFacts.Timings) {
    nameLookup = timings.nameLookup?.wholeNanoseconds
    connect = timings.connect?.wholeNanoseconds
    tls = timings.tls?.wholeNanoseconds
    requestStart = timings.requestStart?.wholeNanoseconds
    firstByte = timings.firstByte?.wholeNanoseconds
    total = timings.total.wholeNanoseconds
    queued = timings.queued.wholeNanoseconds
  }

  package var timings: TransferFacts.Timings {
    func duration(_ nanoseconds: Int64?) -> Duration? { nanoseconds.map { .nanoseconds($0) } }
    return .init(
      nameLookup: duration(nameLookup), connect: duration(connect), tls: duration(tls),
      requestStart: duration(requestStart), firstByte: duration(firstByte), total: .nanoseconds(total),
      queued: .nanoseconds(queued))
  }
}

/// A connection of a transfer.
package struct TraceLink: Sendable, Codable, Equatable {
  package var openedAt: Int64
  package var isReused: Bool
  package var verdict: TrustVerdict
  package var hasTLS: Bool
  package var readsWhole: Bool
  package var isProxied: Bool
  package var applicationProtocol: String?
  package var remoteAddress: String?
  package var remotePort: Int?
  package var localPort: Int?
  package var timings: TraceTimings
  package var session: SessionNote?

  enum CodingKeys: String, CodingKey {
    case openedAt = "opened_at", isReused = "reused", verdict = "trust", hasTLS = "tls", readsWhole = "reads_whole"
    case isProxied = "proxied", applicationProtocol = "alpn", remoteAddress = "remote_address"
    case remotePort = "remote_port", localPort = "local_port", timings = "timings_ns"
    case session = "http2"
  }

  init(_ note: LinkNote, since base: Int64) {
    openedAt = note.openedAt - base
    (isReused, verdict, hasTLS) = (note.isReused, note.verdict, note.hasTLS)
    (readsWhole, isProxied, applicationProtocol) = (note.readsWhole, note.isProxied, note.applicationProtocol)
    (remoteAddress, remotePort, localPort) = (note.remoteAddress, note.remotePort, note.localPort)
    timings = TraceTimings(note.timings)
    session = note.session
    session?.heardAt -= base
  }
}

/// The reason why a call was not retried.
struct TraceRetryEnd: Sendable, Codable, Equatable {
  var code: String
  var text: String
  /// The delay of the policy that did not fit into the deadline, or the policy's limit of delays.
  var wait: Int64?
  /// The policy's limit of retries.
  var retries: Int?
}
