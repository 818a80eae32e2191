// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A request as a ``Transport`` receives it: final, checked, with its limits.
public struct TransferRequest: Sendable {
  // The request that the pipeline made. It is stored as a whole, at the cost of one reference.
  private(set) var request: ResourceRequest

  /// The delivery of the response's body.
  public enum Delivery: Sendable, Hashable {
    /// Collected in memory, up to this number of bytes after decompression.
    case collected(maximumBytes: Int)
    /// Delivered as a stream with back-pressure, up to this number of bytes after decompression (`nil`: no limit).
    case streamed(maximumBytes: Int?)
    /// Collected if the status is outside 200–299 (up to `errorBytes`), else streamed.
    case streamedOnSuccess(maximumBytes: Int?, errorBytes: Int)
  }

  /// The method, scheme, authority, path with query, and header fields.
  public var head: HTTPRequest {
    _read { yield request.head }
    set { request.head = newValue }
  }
  /// The body.
  public var body: RequestBody {
    get { request.body }
    set { request.body = newValue }
  }
  /// Whether there is a body. Asking ``body`` would copy it.
  package var hasBody: Bool { !request.body.isEmpty }
  /// The options of the connection; `nil` for the transport's own defaults.
  public var connection: ConnectionOptions? {
    _read { yield request.options.connection }
    set { request.options.connection = newValue }
  }
  /// The delivery of the response's body.
  public var delivery: Delivery
  /// The limit of the connect phase.
  public var connectTimeout: Duration?
  /// The limit of idle time.
  public var idleTimeout: Duration?
  /// The time left for the transfer, including time in the queue.
  public var deadline: Duration?
  /// The code of the error when ``deadline`` passes: ``FailureCode/attemptTimeout`` or ``FailureCode/totalTimeout``.
  public var deadlineCode: FailureCode
  /// The whole timeout, of which ``deadline`` is the remainder, for error messages.
  package var wholeTimeout: Duration?
  /// Whether the transport may resend the request on a new connection, if a pooled connection turns out to be closed
  /// before a byte of the response arrived.
  public var allowsResend: Bool
  /// The reporter of the transfer's progress. If it is set, the transport reports to it at a moderate rate.
  package var progress: TransferProgressReporter.Transfer?
  /// The secrets in head and body, which a transport that logs must mask. Default none.
  public var secrets: Set<Secret> {
    get { request.options.secrets }
    set { request.options.secrets = newValue }
  }
  /// The maximum number of bytes to collect of the body of a response outside 200–299. The rest need not be read. This
  /// is not a failure; ``TransferFacts/bodyCut`` reports it. The limit of ``delivery`` also applies. Default `nil`:
  /// only that limit applies.
  public var maximumErrorBytes: Int?
  /// Whether the caller does not need the body of a redirect: of a response 300, 301, 302, 303, 307 or 308 with a
  /// `Location`. A transport may then return the response at its head, with an empty body, and drop the rest. Default
  /// false.
  public var dropsRedirectBodies: Bool

  /// A closure that is called for interim responses; see ``RequestOptions/onInterimResponse``. Default: `nil`.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { request.options.onInterimResponse }
    set { request.options.onInterimResponse = newValue }
  }

  /// The request's settings for the stack's layers; see ``RequestOptions/layerUses``.
  package var layerUses: ByLayerPlace<any Sendable> {
    get { request.options.layerUses }
    set { request.options.layerUses = newValue }
  }

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
    request = ResourceRequest(head: head, body: body, options: options)
    (self.delivery, self.connectTimeout, self.idleTimeout) = (delivery, connectTimeout, idleTimeout)
    (self.deadline, self.deadlineCode, self.allowsResend) = (deadline, deadlineCode, allowsResend)
    (self.maximumErrorBytes, self.dropsRedirectBodies) = (maximumErrorBytes, dropsRedirectBodies)
  }

  /// Makes the request of a call's attempt.
  init(_ request: ResourceRequest, delivery: Delivery, deadlineCode: FailureCode, allowsResend: Bool) {
    self.request = request
    (self.delivery, self.deadlineCode, self.allowsResend) = (delivery, deadlineCode, allowsResend)
    dropsRedirectBodies = false
  }
}
