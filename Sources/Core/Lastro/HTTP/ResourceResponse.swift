// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A response without its body: its status and header fields, and the history of the call.
public struct ResourceResponse: Sendable {
  private struct Parts: Sendable {
    let head: HTTPResponse
    /// The request that this responds to, without the parts that must not be kept. The URL and the ledger are made from
    /// it only when they are read, which is rare.
    var request: ResourceRequest?
    var url: String?
    let redirects: [String]
    var account: SuccessAccount?
    var ledger: AttemptLedger?
    var facts: TransferFacts
    let redaction: Redaction

    var writtenURL: String { url ?? request?.url ?? "" }

    var writtenLedger: AttemptLedger {
      ledger ?? account?.ledger(of: request?.head.method, request?.url, head.status, redirects, facts, redaction)
        ?? .empty
    }
  }

  private var parts: CopyOnWrite<Parts>

  /// The status and header fields.
  public var head: HTTPResponse { parts.value.head }
  /// The URL of the request that this responds to: the last one, after redirects, as interceptors changed it.
  public var url: String { parts.value.writtenURL }
  /// The URLs of the redirects, in order. The last equals ``url``, unless an interceptor changed that request. Empty
  /// without redirects.
  public var redirects: [String] { parts.value.redirects }
  /// The history of the call: every attempt, the successful one last, and the delays between them.
  public internal(set) var ledger: AttemptLedger {
    get { parts.value.writtenLedger }
    set { parts.value.ledger = newValue }
  }
  /// The facts of the last transfer, such as its protocol, connection, bytes and timings.
  public internal(set) var facts: TransferFacts {
    get { parts.value.facts }
    _modify {
      // A ledger that was not read yet would be made from the changed facts.
      parts.value.ledger = parts.value.writtenLedger
      yield &parts.value.facts
    }
  }
  /// Replaces the facts of the last transfer, also in the ledger, by those of the whole transfer. `nil` changes
  /// nothing.
  package mutating func complete(by whole: TransferFacts?) {
    guard whole != nil else { return }
    facts.complete(by: whole)
    ledger = ledger.replacingLastFacts(by: facts)
  }
  /// The request that this responds to, without its body; `nil` if the response was not received by a stack.
  package var request: ResourceRequest? { parts.value.request }
  /// The secrets that its descriptions mask: the usual names, and those that the call declared as secret.
  var redaction: Redaction { parts.value.redaction }

  /// Makes a response.
  public init(
    head: HTTPResponse, url: String, redirects: [String] = [], ledger: AttemptLedger? = nil,
    facts: TransferFacts = TransferFacts()
  ) {
    parts = CopyOnWrite(
      Parts(
        head: head, url: url, redirects: redirects, ledger: ledger ?? AttemptLedger(), facts: facts,
        redaction: .standard))
  }

  /// Makes the response to a call's request.
  ///
  /// - Parameter url: the URL, if it is not the request's.
  init(
    head: HTTPResponse, to request: ResourceRequest, url: String?, redirects: [String], facts: TransferFacts,
    redaction: Redaction
  ) {
    parts = CopyOnWrite(
      Parts(
        head: head, request: request.kept, url: url, redirects: redirects, facts: facts, redaction: redaction))
  }

  /// Stores the account of the call, which succeeded.
  mutating func account(for account: SuccessAccount) { parts.value.account = account }

  /// All attempts, the successful one last.
  package var attempts: [Attempt] { ledger.attempts }
  /// The status of the response.
  public var status: HTTPResponse.Status { head.status }
  /// The header fields of the response.
  public var headerFields: HTTPFields { head.headerFields }

  /// The header fields of the response, by names that are written as text: `response.headers["ETag"]`.
  public var headers: RawHeaders { RawHeaders(headerFields) }
  /// Exists only so that the compiler can name the property to use.
  @available(*, unavailable, renamed: "status.code")
  public var statusCode: Int { status.code }
}
