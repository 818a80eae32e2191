// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A response without its body: status, header fields, and how it came about.
public struct ResourceResponse: Sendable {
  /// Status and header fields.
  public var head: HTTPResponse
  /// URL of the request that was answered: the last one, after redirects and as interceptors left it.
  public var url: String
  /// URLs redirected to, in order; the last equals ``url``, unless an interceptor rewrote its request. Empty
  /// without redirects.
  public var redirects: [String]
  /// The account of the call: every attempt, the successful one last, and the waits between them.
  public var ledger: AttemptLedger
  /// What happened on the wire during the last transfer.
  public var facts: TransferFacts
  /// What its descriptions mask: the usual names, and what the call named as secret.
  var redaction = Redaction.standard

  /// Makes a response.
  public init(
    head: HTTPResponse, url: String, redirects: [String] = [], ledger: AttemptLedger = AttemptLedger(),
    facts: TransferFacts = TransferFacts()
  ) {
    self.head = head
    self.url = url
    self.redirects = redirects
    self.ledger = ledger
    self.facts = facts
  }

  /// Every attempt, the successful one last.
  public var attempts: [Attempt] { ledger.attempts }
  /// The status.
  public var status: HTTPResponse.Status { head.status }
  /// The header fields.
  public var headerFields: HTTPFields { head.headerFields }
}
