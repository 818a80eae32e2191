// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A response without its body: status, header fields, and how it came about.
public struct ResourceResponse: Sendable {
  private struct Parts: Sendable {
    var head: HTTPResponse
    var url: String
    var redirects: [String]
    var ledger: AttemptLedger
    var facts: TransferFacts
    var redaction: Redaction = Redaction.standard
  }

  private var parts: CopyOnWrite<Parts>

  /// Status and header fields.
  public var head: HTTPResponse {
    get { parts.value.head }
    _modify { yield &parts.value.head }
  }
  /// URL of the request that was answered: the last one, after redirects and as interceptors left it.
  public var url: String {
    get { parts.value.url }
    _modify { yield &parts.value.url }
  }
  /// URLs redirected to, in order; the last equals ``url``, unless an interceptor rewrote its request. Empty
  /// without redirects.
  public var redirects: [String] {
    get { parts.value.redirects }
    _modify { yield &parts.value.redirects }
  }
  /// The account of the call: every attempt, the successful one last, and the waits between them.
  public var ledger: AttemptLedger {
    get { parts.value.ledger }
    _modify { yield &parts.value.ledger }
  }
  /// What happened on the wire during the last transfer.
  public var facts: TransferFacts {
    get { parts.value.facts }
    _modify { yield &parts.value.facts }
  }
  /// What its descriptions mask: the usual names, and what the call named as secret.
  var redaction: Redaction {
    get { parts.value.redaction }
    _modify { yield &parts.value.redaction }
  }

  /// Makes a response.
  public init(
    head: HTTPResponse, url: String, redirects: [String] = [], ledger: AttemptLedger = AttemptLedger(),
    facts: TransferFacts = TransferFacts()
  ) {
    parts = CopyOnWrite(Parts(head: head, url: url, redirects: redirects, ledger: ledger, facts: facts))
  }

  /// Every attempt, the successful one last.
  public var attempts: [Attempt] { ledger.attempts }
  /// The status of the response.
  public var status: HTTPResponse.Status { head.status }
  /// The header fields of the response.
  public var headerFields: HTTPFields { head.headerFields }
}
