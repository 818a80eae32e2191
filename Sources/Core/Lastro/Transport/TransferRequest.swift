// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request as a ``Transport`` receives it: final, checked, with its limits.
public struct TransferRequest: Sendable {
  struct Parts: Sendable {
    // The call's request is stored as a whole, at the cost of one reference.
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
    var callID: UInt64 = 0
    var member: MemberAddress?
    var isTunnel = false
  }

  private var parts: CopyOnWrite<Parts>

  /// The delivery of the response's body.
  package enum Delivery: Sendable, Hashable {
    /// Collected in memory, up to this number of bytes after decompression.
    case collected(maximumBytes: Int)
    /// Delivered as a stream with back-pressure, up to this number of bytes after decompression (`nil`: no limit).
    case streamed(maximumBytes: Int?)
    /// Collected if the status is outside 200–299 (up to `errorBytes`), else streamed.
    case streamedOnSuccess(maximumBytes: Int?, errorBytes: Int)

    /// Returns the maximum size of the body of a response with a status; `nil`: no limit.
    package func limit(for status: HTTPResponse.Status) -> Int? {
      switch self {
      case .collected(let maximum): maximum
      case .streamed(let maximum): maximum
      case .streamedOnSuccess(let maximum, let errors): status.kind == .successful ? maximum : errors
      }
    }
  }

  /// The method, scheme, authority, path with query, and header fields.
  public var head: HTTPRequest {
    _read { yield parts.value.request.head }
    _modify { yield &parts.value.request.head }
  }
  /// The body.
  public var body: RequestBody {
    get { parts.value.request.body }
    _modify { yield &parts.value.request.body }
  }
  /// Whether there is a body. Asking ``body`` would copy it.
  package var hasBody: Bool { !parts.value.request.body.isEmpty }
  /// The options of the connection; `nil` for the transport's own defaults.
  public var connection: ConnectionOptions? {
    // Not `_read`, which allocates memory for each call from another module. Most requests have no options.
    get { parts.value.request.options.connection }
    _modify { yield &parts.value.request.options.connection }
  }
  /// The delivery of the response's body.
  package var delivery: Delivery {
    _read { yield parts.value.delivery }
    _modify { yield &parts.value.delivery }
  }
  /// The limit of the connect phase.
  public var connectTimeout: Duration? {
    get { parts.value.connectTimeout }
    _modify { yield &parts.value.connectTimeout }
  }
  /// The limit of idle time.
  public var idleTimeout: Duration? {
    get { parts.value.idleTimeout }
    _modify { yield &parts.value.idleTimeout }
  }
  /// The limit that ``idleTimeout`` replaces while no element of the body has arrived; see
  /// ``RequestOptions/firstElement``. Default `nil`.
  package var firstElement: FirstElementLimit? {
    get { parts.value.request.options.firstElement }
    _modify { yield &parts.value.request.options.firstElement }
  }
  /// The time left for the transfer, including time in the queue.
  public var deadline: Duration? {
    get { parts.value.deadline }
    _modify { yield &parts.value.deadline }
  }
  /// The code of the error when ``deadline`` passes: ``FailureCode/attemptTimeout`` or ``FailureCode/totalTimeout``.
  public var deadlineCode: FailureCode {
    get { parts.value.deadlineCode }
    _modify { yield &parts.value.deadlineCode }
  }
  /// The whole timeout, of which ``deadline`` is the remainder, for error messages.
  package var wholeTimeout: Duration? { parts.value.wholeTimeout }
  /// Whether the transport may resend the request on a new connection, if a pooled connection turns out to be closed
  /// before a byte of the response arrived.
  package var allowsResend: Bool {
    get { parts.value.allowsResend }
    _modify { yield &parts.value.allowsResend }
  }
  /// The reporter of the transfer's progress. If it is set, the transport reports to it at a moderate rate.
  package var progress: TransferProgressReporter.Transfer? {
    get { parts.value.progress }
    _modify { yield &parts.value.progress }
  }
  /// The secrets in head and body, which a transport that logs must mask. Default none.
  public var secrets: Set<Secret> {
    get { parts.value.request.options.secrets }
    _modify { yield &parts.value.request.options.secrets }
  }
  /// The maximum number of bytes to collect of the body of a response outside 200–299. The rest need not be read. This
  /// is not a failure; ``TransferFacts/bodyCut`` reports it. The limit of ``delivery`` also applies. Default `nil`:
  /// only that limit applies.
  package var maximumErrorBytes: Int? { parts.value.maximumErrorBytes }
  /// Whether the caller does not need the body of a redirect: of a response 300, 301, 302, 303, 307 or 308 with a
  /// `Location`. A transport may then return the response at its head, with an empty body, and drop the rest. Default
  /// false.
  package var dropsRedirectBodies: Bool {
    get { parts.value.dropsRedirectBodies }
    _modify { yield &parts.value.dropsRedirectBodies }
  }

  /// Whether the end of the response also ends the request; see ``RequestOptions/endsWithResponse``. Default false.
  package var endsWithResponse: Bool {
    get { parts.value.request.options.endsWithResponse }
    _modify { yield &parts.value.request.options.endsWithResponse }
  }

  /// The identifier of the call, the same for all its attempts; 0 if the request belongs to none.
  package var callID: UInt64 { parts.value.callID }

  /// The server to send the request to, of several that share the URL's name. Connections are shared only between
  /// requests to the same server. Ignored if the request goes through a proxy that forwards it. Default `nil`: any
  /// server of the name.
  package var member: MemberAddress? {
    get { parts.value.member }
    _modify { yield &parts.value.member }
  }

  /// Whether the request is an extended CONNECT (RFC 8441 §4), which needs HTTP/2 and a server that has announced it.
  /// After a 2xx response the bodies of request and response are the two directions of a stream, which has no time
  /// limits. Default false.
  package var isTunnel: Bool {
    get { parts.value.isTunnel }
    _modify { yield &parts.value.isTunnel }
  }

  /// A closure that is called for interim responses; see ``RequestOptions/onInterimResponse``. Default: `nil`.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { parts.value.request.options.onInterimResponse }
    _modify { yield &parts.value.request.options.onInterimResponse }
  }

  /// The request's settings for the stack's layers; see ``RequestOptions/layerUses``.
  package var layerUses: ByLayerPlace<any Sendable> {
    get { parts.value.request.options.layerUses }
    _modify { yield &parts.value.request.options.layerUses }
  }

  /// The tape of the transfer, if the call is recorded. Default `nil`.
  package var tape: TransferTape? {
    get { parts.value.request.options.tape }
    _modify { yield &parts.value.request.options.tape }
  }

  /// The request that the pipeline made.
  package var resourceRequest: ResourceRequest { parts.value.request }

  /// Makes a request.
  package init(
    head: HTTPRequest, body: RequestBody = .empty, connection: ConnectionOptions? = nil,
    delivery: Delivery = .collected(maximumBytes: RequestOptions.defaultMaximumBodyBytes),
    connectTimeout: Duration? = nil, idleTimeout: Duration? = nil,
    deadline: Duration? = nil, deadlineCode: FailureCode = .totalTimeout, wholeTimeout: Duration? = nil,
    allowsResend: Bool = false, secrets: Set<Secret> = [], maximumErrorBytes: Int? = nil,
    dropsRedirectBodies: Bool = false
  ) {
    var options = RequestOptions()
    if let connection { options.connection = connection }
    if !secrets.isEmpty { options.secrets = secrets }
    parts = CopyOnWrite(
      Parts(
        request: ResourceRequest(head: head, body: body, options: options), delivery: delivery,
        connectTimeout: connectTimeout, idleTimeout: idleTimeout, deadline: deadline, deadlineCode: deadlineCode,
        wholeTimeout: wholeTimeout, allowsResend: allowsResend, maximumErrorBytes: maximumErrorBytes,
        dropsRedirectBodies: dropsRedirectBodies))
  }

  init(parts: Parts) { self.parts = CopyOnWrite(parts) }
}
