// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A response without its body: status, header fields, and how it came about.
public struct ResourceResponse: Sendable {
  private struct Parts: Sendable {
    var head: HTTPResponse
    /// The request that was answered, as far as it may be kept. The URL and the account are made of it when they are
    /// read: most never are.
    var request: ResourceRequest?
    var url: String?
    var redirects: [String]
    var account: SuccessAccount?
    var ledger: AttemptLedger?
    var facts: TransferFacts
    var redaction: Redaction

    var writtenURL: String { url ?? request?.url ?? "" }

    var writtenLedger: AttemptLedger {
      ledger ?? account?.ledger(of: request?.head.method, request?.url, head.status, redirects, facts, redaction)
        ?? .empty
    }

    /// Before anything changes that they are made of.
    mutating func write() {
      if url == nil { url = writtenURL }
      if ledger == nil { ledger = writtenLedger }
    }
  }

  private var parts: CopyOnWrite<Parts>

  /// Status and header fields.
  public var head: HTTPResponse {
    get { parts.value.head }
    _modify {
      parts.value.write()
      yield &parts.value.head
    }
  }
  /// URL of the request that was answered: the last one, after redirects and as interceptors left it.
  public var url: String {
    get { parts.value.writtenURL }
    set {
      parts.value.write()
      parts.value.url = newValue
    }
  }
  /// URLs redirected to, in order; the last equals ``url``, unless an interceptor rewrote its request. Empty
  /// without redirects.
  public var redirects: [String] {
    get { parts.value.redirects }
    _modify {
      parts.value.write()
      yield &parts.value.redirects
    }
  }
  /// The account of the call: every attempt, the successful one last, and the waits between them.
  public var ledger: AttemptLedger {
    get { parts.value.writtenLedger }
    set { parts.value.ledger = newValue }
  }
  /// What happened on the wire during the last transfer.
  public var facts: TransferFacts {
    get { parts.value.facts }
    _modify {
      parts.value.write()
      yield &parts.value.facts
    }
  }
  /// Completes the facts of the last transfer, also in the ledger, by those of the whole transfer. `nil` changes
  /// nothing.
  package mutating func complete(by whole: TransferFacts?) {
    guard whole != nil else { return }
    facts.complete(by: whole)
    ledger = ledger.replacingLastFacts(by: facts)
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
    parts = CopyOnWrite(
      Parts(head: head, url: url, redirects: redirects, ledger: ledger, facts: facts, redaction: .standard))
  }

  /// The answer to a call's request.
  ///
  /// - Parameter url: where it is not the request's.
  init(
    head: HTTPResponse, to request: ResourceRequest, url: String?, redirects: [String], facts: TransferFacts,
    redaction: Redaction
  ) {
    parts = CopyOnWrite(
      Parts(
        head: head, request: request.kept, url: url, redirects: redirects, facts: facts, redaction: redaction))
  }

  /// Accounts for the call, which succeeded.
  mutating func account(for account: SuccessAccount) { parts.value.account = account }

  /// Every attempt, the successful one last.
  public var attempts: [Attempt] { ledger.attempts }
  /// The status of the response.
  public var status: HTTPResponse.Status { head.status }
  /// The header fields of the response.
  public var headerFields: HTTPFields { head.headerFields }
}

extension ResourceRequest {
  /// What a response may keep: neither bytes, nor what the application hung on its request.
  fileprivate var kept: ResourceRequest {
    guard body.isEmpty, !options.mayDifferFromDefaults else { return ResourceRequest(head: head) }
    return self
  }
}
