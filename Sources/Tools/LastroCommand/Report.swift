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
    var stage: FailureStage
    var code: FailureCode
    var message: String
    /// The hint for people; not encoded.
    var hint: String?

    private enum CodingKeys: String, CodingKey { case stage, code, message }

    init(_ stage: FailureStage, _ code: FailureCode, _ message: String, hint: String? = nil) {
      (self.stage, self.code, self.message, self.hint) = (stage, code, message, hint)
    }

    /// Creates the failure of a transfer, or of a request that cannot be made, such as for an invalid configuration.
    init(_ error: any Error) {
      if let error = error as? TransportError {
        self.init(error.stage, error.code, error.message, hint: error.hint)
      } else {
        self.init(.request, .invalidOption, "\(error)")
      }
    }

    init(_ error: HTTPFetchError<any Error>) {
      self.init(error.stage, error.code, error.message, hint: error.hint)
    }
  }

  var id: JSONValue?
  var url: String
  var status: Int?
  var headers: [[String]] = []
  var bodyBytes: Int64 = 0
  var bodySHA256: String?
  var body: Data?
  var attempts: [Attempt] = []
  var redirects: [String] = []
  var error: Failure?
  /// The reason why there was no further attempt, as a code.
  var retryEnd: String? { ledger?.retryEnd?.code }
  var httpVersion: String? { facts?.httpVersion }
  var timings: [String: Double] { facts?.timings.report ?? [:] }
  /// The ledger for human-readable output; not encoded.
  var ledger: AttemptLedger?
  var trustFailure: TrustFailure?
  var refusedCertificate: PeerCertificate?
  /// The facts of the last transfer, which `httpVersion`, `timings` and -w are from; not encoded.
  var facts: TransferFacts?
  /// The bytes of the body that the last request sent, for -w; not encoded.
  var uploadedBytes: Int64?
  /// The time that the last request had taken when its attempt ended: at the head of a response whose body is a stream.
  /// It is for -w, and not encoded.
  var answeredAfter: Duration?
  /// The name that the server offers for the body, for -J.
  var offeredName: String? { field("content-disposition").flatMap(OfferedName.read) }
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
}

extension Report {
  /// Returns the value of the last field with a name, which is given in lower case.
  func field(_ name: String) -> String? { headers.last { $0[0].lowercased() == name }?[1] }

  mutating func add(_ response: ResourceResponse, facts: TransferFacts?) {
    answeredAfter = response.facts.timings.total
    self.facts = facts ?? response.facts
    url = response.url
    status = response.status.code
    headers = response.headerFields.map { [$0.name.rawName, $0.value] }
    redirects = response.redirects
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
  }

  /// The exit status of the program.
  var exitStatus: Int32 { error.map { ExitStatus.of($0.stage).rawValue } ?? 0 }

  /// Records a failure, with the server's certificates if they caused it.
  mutating func fail(_ error: HTTPFetchError<any Error>) {
    self.error = Failure(error)
    trustFailure = error.trustFailure
    refusedCertificate = error.refusedCertificate
  }
}

/// A server that the trust rules refused, with its certificates and the required pins.
private struct RefusedServer: Encodable {
  let host: String
  let port: Int
  let chain: [PinnableKey]
  @Nullable private(set) var pins: [String]?

  init(_ failure: TrustFailure) {
    (host, port) = (failure.trust.host.text, failure.trust.port)
    chain = PinnableKey.keys(of: failure.trust)
    pins = failure.policy.map { $0.pins.map(\.description).sorted() }
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
