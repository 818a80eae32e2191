// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport

/// The output of `lastro fetch --report` and `lastro batch` for a request.
struct Report: Encodable, Sendable {
  struct Failure: Encodable, Sendable {
    var stage: String
    var code: String
    var message: String

    init(_ stage: FailureStage, _ code: FailureCode, _ message: String) {
      self.stage = stage.rawValue
      self.code = code.rawValue
      self.message = message
    }

    /// Creates the failure for an invalid configuration.
    init(_ error: ConfigurationError) { self.init(.request, .invalidOption, "\(error)") }
  }

  var id: JSONValue?
  var url: String
  var status: Int?
  var httpVersion: String?
  var headers: [[String]] = []
  var bodyBytes: Int64 = 0
  var bodySHA256: String?
  var body: Data?
  var attempts: [Attempt] = []
  var redirects: [String] = []
  var timings: [String: Double] = [:]
  var error: Failure?
  /// The reason why there was no further attempt, as a code.
  var retryEnd: String? { ledger?.retryEnd?.code }
  /// The ledger for human-readable output; not encoded.
  var ledger: AttemptLedger?
  var trustFailure: TrustFailure?
  var refusedCertificate: PeerCertificate?
  /// The facts for -w; not encoded.
  var facts: TransferFacts?
  /// The bytes of the body that the last request sent, for -w; not encoded.
  var uploadedBytes: Int64?
  /// The time that the last request had taken when its attempt ended: at the head of a response whose body is a stream.
  /// It is for -w, and not encoded.
  var answeredAfter: Duration?
  /// The name that the server offers for the body, for -J.
  var offeredName: String? {
    headers.last { $0[0].lowercased() == "content-disposition" }.flatMap { OfferedName.read($0[1]) }
  }
  /// The bytes that a download received in all of its requests, for -w; not encoded.
  var downloadedBytes: Int64?

  enum CodingKeys: String, CodingKey {
    case id, url, status
    case httpVersion = "http_version"
    case headers
    case bodyBytes = "body_bytes"
    case bodySHA256 = "body_sha256"
    case body = "body_base64"
    case attempts, redirects, timings, error
    case retryEnd = "retry_end"
    case trust, certificate
  }

  init(url: String) { self.url = url }

  /// Encodes absent values as `null`, so that every object has the same keys.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    if let id { try container.encode(id, forKey: .id) }
    try container.encode(redaction.url(url), forKey: .url)
    try container.encode(status, forKey: .status)
    try container.encode(httpVersion, forKey: .httpVersion)
    try container.encode(headers, forKey: .headers)
    try container.encode(bodyBytes, forKey: .bodyBytes)
    try container.encode(bodySHA256, forKey: .bodySHA256)
    if let body { try container.encode(body.base64EncodedString(), forKey: .body) }
    try container.encode(attempts, forKey: .attempts)
    try container.encode(redirects.map { redaction.url($0) }, forKey: .redirects)
    try container.encode(timings, forKey: .timings)
    try container.encode(error, forKey: .error)
    try container.encode(retryEnd, forKey: .retryEnd)
    try container.encode(trustFailure.map(RefusedServer.init), forKey: .trust)
    try container.encode(refusedCertificate.map { PinnableKey($0) }, forKey: .certificate)
  }

  /// The redaction for URLs, as in logs: it masks the values of secret items in query and fragment, and the call's own
  /// secrets.
  private var redaction: Redaction { ledger?.redaction ?? .standard }

  var line: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension Report {
  mutating func add(_ response: ResourceResponse, facts: TransferFacts?) {
    answeredAfter = response.facts.timings.total
    let facts = facts ?? response.facts
    self.facts = facts
    url = response.url
    status = response.status.code
    headers = response.headerFields.map { [$0.name.rawName, $0.value] }
    httpVersion = facts.httpVersion
    redirects = response.redirects
    timings = facts.timings.report
  }

  /// - Parameter facts: the facts of the whole last transfer, whose body ended after the call.
  mutating func add(_ ledger: AttemptLedger, facts whole: TransferFacts? = nil) {
    self.ledger = ledger
    attempts = ledger.attempts
    if var whole, let last = attempts.indices.last {
      whole.notes = attempts[last].facts?.notes ?? whole.notes
      attempts[last].facts = whole
    }
    // Without a response, use the facts of the last attempt.
    guard status == nil, let last = attempts.last else { return }
    if let target = last.redirects.last { url = target }
    redirects = last.redirects
    guard let facts = last.facts else { return }
    self.facts = facts
    answeredAfter = facts.timings.total
    httpVersion = facts.httpVersion
    timings = facts.timings.report
  }

  /// The exit status of the program.
  var exitStatus: Int32 {
    guard let error else { return 0 }
    return FailureStage(rawValue: error.stage).map { ExitStatus.of($0).rawValue } ?? 1
  }

  mutating func fail(_ stage: FailureStage, _ code: FailureCode, _ message: String) {
    error = Failure(stage, code, message)
  }

  /// Records a failure, with the server's certificates if they caused it.
  mutating func fail(_ error: HTTPFetchError<any Error>) {
    fail(error.stage, error.code, error.message)
    trustFailure = error.trustFailure
    refusedCertificate = error.refusedCertificate
  }
}

/// A server that the trust rules refused, with its certificates and the required pins.
private struct RefusedServer: Encodable {
  let host: String
  let port: Int
  let chain: [PinnableKey]
  let pins: [String]?

  init(_ failure: TrustFailure) {
    (host, port) = (failure.trust.host.text, failure.trust.port)
    chain = PinnableKey.keys(of: failure.trust)
    pins = failure.policy.map { $0.pins.map(\.description).sorted() }
  }

  private enum CodingKeys: String, CodingKey { case host, port, chain, pins }

  /// Encodes absent values as `null`, so that every object has the same keys.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(host, forKey: .host)
    try container.encode(port, forKey: .port)
    try container.encode(chain, forKey: .chain)
    try container.encode(pins, forKey: .pins)
  }
}

extension TransferFacts.Timings {
  /// The seconds by phase; phases that did not happen are left out.
  var report: [String: Double] {
    let phases: [(String, Duration?)] = [
      ("queued", queued), ("name_lookup", nameLookup), ("connect", connect), ("tls", tls),
      ("request_start", requestStart), ("first_byte", firstByte), ("total", total),
    ]
    return Dictionary(
      uniqueKeysWithValues: phases.compactMap { name, value in value.map { (name, $0.inRoundedSeconds) } })
  }
}
