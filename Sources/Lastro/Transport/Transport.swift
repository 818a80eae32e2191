// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Carries one request to a server and brings the response back: the seam between policy and engine.
///
/// It follows no redirects, retries nothing and interprets no status. To wrap a whole exchange (record it, delay it,
/// answer it from elsewhere), write a transport that wraps a transport.
///
/// An implementation finishes promptly with the cancelled error when the calling task is cancelled, and fails when
/// ``TransferRequest/deadline`` has passed: the pipeline does not watch it meanwhile.
public protocol Transport: Sendable {
  /// Performs one exchange.
  ///
  /// - Throws: ``TransportError``, with ``TransportError/requestSent`` set when a byte of the request may have left.
  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse

  /// How it would perform an exchange: proxy, trust, versions, connections. Without network and secrets. Default:
  /// nothing.
  func explain(_ request: TransferRequest) -> [FetchExplanation.Fact]
}

extension Transport {
  /// The default: no facts.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] { [] }
}

/// One request as a ``Transport`` gets it: final, checked, with its limits.
public struct TransferRequest: Sendable {
  struct Parts: Sendable {
    // As it came: a call's request is its transfer's too, at the price of one reference.
    var request: ResourceRequest
    var delivery: Delivery
    var connectTimeout: Duration?
    var idleTimeout: Duration?
    var deadline: Duration?
    var deadlineCode: FailureCode
    var wholeTimeout: Duration?
    var allowsResend: Bool
    var progress: TransferProgressReporter.Transfer?
    var maximumErrorBytes: Int?
    var dropsRedirectBodies: Bool
  }

  private var parts: CopyOnWrite<Parts>

  /// How the response's body is delivered.
  public enum Delivery: Sendable, Hashable {
    /// Collected in memory, at most so many bytes after decompression.
    case collected(maximumBytes: Int)
    /// As a stream with back-pressure, at most so many bytes after decompression (`nil`: no limit).
    case streamed(maximumBytes: Int?)
    /// Collected when the status is outside 200–299 (at most `errorBytes`), else streamed.
    case streamedOnSuccess(maximumBytes: Int?, errorBytes: Int)
  }

  /// Method, scheme, authority, path with query, header fields.
  public var head: HTTPRequest {
    _read { yield parts.value.request.head }
    _modify { yield &parts.value.request.head }
  }
  /// The body.
  public var body: RequestBody {
    get { parts.value.request.body }
    _modify { yield &parts.value.request.body }
  }
  /// Whether there is a body: ``body`` would be copied to be asked.
  package var hasBody: Bool { !parts.value.request.body.isEmpty }
  /// How the connection is to be made; the transport's own defaults where `nil`.
  public var connection: ConnectionOptions? {
    _read { yield parts.value.request.options.connection }
    _modify { yield &parts.value.request.options.connection }
  }
  /// How the response's body is delivered.
  public var delivery: Delivery {
    _read { yield parts.value.delivery }
    _modify { yield &parts.value.delivery }
  }
  /// Limit of the connect phase.
  public var connectTimeout: Duration? {
    get { parts.value.connectTimeout }
    _modify { yield &parts.value.connectTimeout }
  }
  /// Limit of idleness.
  public var idleTimeout: Duration? {
    get { parts.value.idleTimeout }
    _modify { yield &parts.value.idleTimeout }
  }
  /// What is left for the transfer, queue included.
  public var deadline: Duration? {
    get { parts.value.deadline }
    _modify { yield &parts.value.deadline }
  }
  /// The code to fail with when ``deadline`` passes: ``FailureCode/attemptTimeout`` or ``FailureCode/totalTimeout``.
  public var deadlineCode: FailureCode {
    get { parts.value.deadlineCode }
    _modify { yield &parts.value.deadlineCode }
  }
  /// The timeout that ``deadline`` is what is left of, for errors' texts.
  package var wholeTimeout: Duration? {
    get { parts.value.wholeTimeout }
    _modify { yield &parts.value.wholeTimeout }
  }
  /// Whether the transport may send the request again by itself, on a fresh connection, when a pooled connection
  /// turns out to be dead before a response byte arrived.
  public var allowsResend: Bool {
    get { parts.value.allowsResend }
    _modify { yield &parts.value.allowsResend }
  }
  /// Is told how far the transfer has come; the transport reports to it, at a moderate pace, where it is set.
  package var progress: TransferProgressReporter.Transfer? {
    get { parts.value.progress }
    _modify { yield &parts.value.progress }
  }
  /// The secrets that head and body carry: what a transport that logs has to mask. Default none.
  public var secrets: Set<Secret> {
    get { parts.value.request.options.secrets }
    _modify { yield &parts.value.request.options.secrets }
  }
  /// Most bytes to collect of the body of an answer outside 200–299. The rest need not be read, which is not a failure:
  /// ``TransferFacts/bodyCut`` tells. Default `nil`: as ``delivery`` says, whose limit holds as well.
  public var maximumErrorBytes: Int? {
    get { parts.value.maximumErrorBytes }
    _modify { yield &parts.value.maximumErrorBytes }
  }
  /// Whether the caller does not want the body of a redirect: of an answer 300, 301, 302, 303, 307 or 308 with a
  /// `Location`. A transport may then answer at the head, with an empty body, and drop the rest. Default false.
  public var dropsRedirectBodies: Bool {
    get { parts.value.dropsRedirectBodies }
    _modify { yield &parts.value.dropsRedirectBodies }
  }

  /// Is told of interim responses, as ``RequestOptions/onInterimResponse`` says. Default: `nil`.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { parts.value.request.options.onInterimResponse }
    _modify { yield &parts.value.request.options.onInterimResponse }
  }

  /// What the stack's layers are asked to do with the request, as ``RequestOptions/layerUses`` says.
  package var layerUses: ByLayerPlace<any Sendable> {
    get { parts.value.request.options.layerUses }
    _modify { yield &parts.value.request.options.layerUses }
  }

  /// The request as the pipeline made it.
  var resourceRequest: ResourceRequest { parts.value.request }

  /// Makes a request.
  public init(
    head: HTTPRequest, body: RequestBody = .empty, connection: ConnectionOptions? = nil,
    delivery: Delivery = .collected(maximumBytes: RequestOptions.defaultMaximumBodyBytes),
    connectTimeout: Duration? = nil, idleTimeout: Duration? = nil,
    deadline: Duration? = nil, deadlineCode: FailureCode = .totalTimeout, allowsResend: Bool = false,
    secrets: Set<Secret> = [], maximumErrorBytes: Int? = nil, dropsRedirectBodies: Bool = false
  ) {
    var options = RequestOptions()
    if let connection { options.connection = connection }
    if !secrets.isEmpty { options.secrets = secrets }
    parts = CopyOnWrite(
      Parts(
        request: ResourceRequest(head: head, body: body, options: options), delivery: delivery,
        connectTimeout: connectTimeout, idleTimeout: idleTimeout, deadline: deadline, deadlineCode: deadlineCode,
        allowsResend: allowsResend, maximumErrorBytes: maximumErrorBytes, dropsRedirectBodies: dropsRedirectBodies))
  }

  init(parts: Parts) { self.parts = CopyOnWrite(parts) }
}

/// What a ``Transport`` brings back.
public struct TransferResponse: Sendable {
  /// Status and header fields of the final response.
  public var head: HTTPResponse { didSet { knownStatus = nil } }
  private var knownStatus: Int?
  /// The body: bytes, or a stream still to be read.
  public var body: ResponseBody
  /// Facts so far; for a streamed body, ``ResponseBody/finalFacts`` has the rest.
  public var facts: TransferFacts

  /// Makes a response.
  public init(head: HTTPResponse, body: ResponseBody, facts: TransferFacts = TransferFacts()) {
    self.head = head
    self.body = body
    self.facts = facts
  }

  /// Makes a response whose status is known: to read it from the head costs as much as to write it there.
  package init(head: HTTPResponse, status: Int, body: ResponseBody, facts: TransferFacts) {
    self.init(head: head, body: body, facts: facts)
    knownStatus = status
  }

  /// The code of the head's status.
  package var statusCode: Int { knownStatus ?? head.statusCode }
}
