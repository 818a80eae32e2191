// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Options of a request that HTTP itself does not define. Each option that is `nil` leaves the stack's default.
///
/// ```swift
/// var options = RequestOptions()
/// options.operation = "everything"
/// options.maximumBodyBytes = 50 << 20
/// options.timeouts = .streaming
/// ```
public struct RequestOptions: Sendable {
  /// The default limit of a collected body: 10 MiB.
  package static let defaultMaximumBodyBytes = 10 * 1024 * 1024

  /// Whether the request may be sent more than once.
  public enum Idempotency: Sendable, Hashable {
    /// Determined by the method (RFC 9110 §9.2.2): GET, HEAD, OPTIONS, TRACE, PUT, DELETE and QUERY
    /// (draft-ietf-httpbis-safe-method-w-body) are idempotent. An `Idempotency-Key` header field makes any request
    /// idempotent.
    case byMethod
    /// Idempotent, regardless of the method. This explicitly allows retries of a POST.
    case idempotent
    /// Not idempotent, regardless of the method.
    case notIdempotent
    /// Idempotent, by a generated `Idempotency-Key`. It is generated once for each call, and all attempts of the call
    /// send it. If the request already has a key, that one is kept. ``AttemptLedger/idempotencyKey`` returns the key.
    case generatedKey
    /// Idempotent, by this `Idempotency-Key`. The caller can store the key to repeat the call later.
    case key(String)
  }

  private struct Values: Sendable {
    var operation: String?
    var timeouts: Timeouts?
    var maximumBodyBytes: Int?
    var redirects: RedirectPolicy?
    var idempotency: Idempotency = .byMethod
    var connection: ConnectionOptions?
    var sensitiveHeaders: Set<HTTPField.Name> = []
    var sensitiveQueryItems: Set<String> = []
    var shownQueryItems: Set<String> = []
    var progress: TransferProgressReporter?
    var secrets: Set<Secret> = []
    var requiresBody: Bool = false
    var endsWithResponse: Bool = false
    var hostField: String?
    var withheldBody: RequestBody?
    var uncodedBody: RequestBody?
    var firstElement: FirstElementLimit?
    var layerUses = ByLayerPlace<any Sendable>()
    var onInterimResponse: (@Sendable (HTTPResponse) -> Void)?
    var priority: RequestPriority?
    var tape: TransferTape?
    var notes: [TransferFacts.Note] = []
  }

  /// Shared storage: options that were never changed cost no allocation.
  private static let defaults = CopyOnWrite(Values())
  private var storage = Self.defaults

  /// The operation's name for logs and metrics, with few distinct values, such as `getRepository`. Default `nil`.
  public var operation: String? {
    get { storage.value.operation }
    _modify { yield &storage.value.operation }
  }
  /// The timeouts. Default `nil`: the stack's.
  public var timeouts: Timeouts? {
    get { storage.value.timeouts }
    _modify { yield &storage.value.timeouts }
  }
  /// The maximum size of a body in bytes, after decompression. Default `nil`: the stack's limit for a fetch, which is
  /// 10 MiB by default, and no limit for a stream. A request with a negative number is refused.
  public var maximumBodyBytes: Int? {
    get { storage.value.maximumBodyBytes }
    _modify { yield &storage.value.maximumBodyBytes }
  }
  /// The redirect policy. Default `nil`: the stack's.
  public var redirects: RedirectPolicy? {
    get { storage.value.redirects }
    _modify { yield &storage.value.redirects }
  }
  /// Whether the request may be sent more than once. Default ``Idempotency/byMethod``.
  public var idempotency: Idempotency {
    get { storage.value.idempotency }
    _modify { yield &storage.value.idempotency }
  }
  /// The options of connections. Default `nil`: the engine's.
  public var connection: ConnectionOptions? {
    get { storage.value.connection }
    _modify { yield &storage.value.connection }
  }
  /// The header fields whose values are secret, in addition to those that ``Redaction/standard`` masks, such as
  /// `Authorization`, `Cookie` and `X-Api-Key`. They are redacted in logs, not sent to other origins, and part of a
  /// cache's keys. Default none.
  public var sensitiveHeaders: Set<HTTPField.Name> {
    get { storage.value.sensitiveHeaders }
    _modify { yield &storage.value.sensitiveHeaders }
  }
  /// The query items whose values are secret, in addition to the usual ones (`token`, `key`, `sig`, `password` …).
  /// Default none.
  public var sensitiveQueryItems: Set<String> {
    get { storage.value.sensitiveQueryItems }
    _modify { yield &storage.value.sensitiveQueryItems }
  }
  /// The query items whose values errors and ledgers show, in addition to the usual items for paging, sorting and
  /// formats, such as `page` and `per_page`. All other values are masked there. An item with a secret name is masked in
  /// any case. So is a value of more than 64 bytes, or with characters other than letters, digits and `-._~,`. Use only
  /// names whose values are never personal or secret. Default none.
  public var shownQueryItems: Set<String> {
    get { storage.value.shownQueryItems }
    _modify { yield &storage.value.shownQueryItems }
  }
  /// The reporter of the call's progress. Use a new one for each call. Default `nil`.
  public var progress: TransferProgressReporter? {
    get { storage.value.progress }
    _modify { yield &storage.value.progress }
  }
  /// The secrets that are masked wherever they occur in logs, `curl` commands, errors and descriptions: verbatim,
  /// percent-encoded, escaped, or in base64. Default none.
  ///
  /// Use it for secrets that no name identifies, such as one in a path, or one that the server repeats in its response.
  /// A secret of fewer than 4 bytes is masked by name only, because its value would occur in every text. The secrets of
  /// the body (``RequestBody/secrets``), a proxy's password and a client key's password are masked without being listed
  /// here.
  public var secrets: Set<Secret> {
    get { storage.value.secrets }
    _modify { yield &storage.value.secrets }
  }
  /// Whether a 2xx response without a body is a failure (`no_data`), except for HEAD, 204 and 205. A stream fails if
  /// its body ends without a byte. Default false.
  public var requiresBody: Bool {
    get { storage.value.requiresBody }
    _modify { yield &storage.value.requiresBody }
  }
  /// Whether the end of the response also ends the request over HTTP/2: the rest of a streamed body is dropped, and the
  /// stream is reset (`NO_ERROR`). It is for protocols in which a server may end a call early, such as gRPC. Default
  /// false: the rest is sent first, unless the server resets the stream (RFC 9113 §8.1). Over HTTP/1.1 it has no effect.
  public var endsWithResponse: Bool {
    get { storage.value.endsWithResponse }
    _modify { yield &storage.value.endsWithResponse }
  }
  /// The value that the request's `Host` field may have instead of the URL's host, for a server behind a front. The
  /// connection is made to the front, and its certificate is checked, by the URL's host.
  package var hostField: String? {
    get { storage.value.hostField }
    _modify { yield &storage.value.hostField }
  }

  /// The body that an authenticator has withheld. The request is sent without it, only to obtain a challenge. The call
  /// does not end with a success, regardless of the response.
  var withheldBody: RequestBody? {
    get { storage.value.withheldBody }
    _modify { yield &storage.value.withheldBody }
  }

  /// The body before a ``RequestCompressor`` compressed it; `nil` if none did.
  package var uncodedBody: RequestBody? {
    get { storage.value.uncodedBody }
    _modify { yield &storage.value.uncodedBody }
  }

  /// The limit for the first element of the response's body, if the request's idle timeout was raised to it. That
  /// timeout is then reported as this limit.
  package var firstElement: FirstElementLimit? {
    get { storage.value.firstElement }
    _modify { yield &storage.value.firstElement }
  }

  /// The tape of the transfer, if the call is recorded.
  var tape: TransferTape? {
    get { storage.value.tape }
    _modify { yield &storage.value.tape }
  }

  /// Notes of authenticators and signers on making the request, for the ledger and metrics of its transfer.
  var notes: [TransferFacts.Note] {
    get { storage.value.notes }
    _modify { yield &storage.value.notes }
  }

  /// The request's settings for the stack's layers, each of a type that its layer defines.
  package var layerUses: ByLayerPlace<any Sendable> {
    get { storage.value.layerUses }
    _modify { yield &storage.value.layerUses }
  }

  /// A closure that is called for each interim response (RFC 9110 §15.2) when it arrives, such as 103 (Early Hints, RFC
  /// 8297), except 100 and 101. It is called in every attempt and for every redirect hop, on the engine's thread, so it
  /// must return at once. Default: `nil`.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { storage.value.onInterimResponse }
    _modify { yield &storage.value.onInterimResponse }
  }
  /// The priority among other requests to the same server, sent as the `Priority` field over every version of HTTP,
  /// unless the request sets that field itself. Default `nil`: no field is sent. A request with an urgency outside 0…7
  /// is refused. To change the priority of a response that is being read, call ``ResponseBody/setPriority(_:)``.
  public var priority: RequestPriority? {
    get { storage.value.priority }
    _modify { yield &storage.value.priority }
  }

  /// Makes options of which some are set; by default none. All others are properties with defaults.
  ///
  /// - Parameters:
  ///   - operation: the operation's name for logs and metrics. Default `nil`.
  ///   - timeouts: the timeouts. Default `nil`: the stack's.
  ///   - idempotency: whether the request may be sent more than once. Default ``Idempotency/byMethod``.
  public init(operation: String? = nil, timeouts: Timeouts? = nil, idempotency: Idempotency = .byMethod) {
    // An option that is not set leaves the shared storage as it is.
    if let operation { self.operation = operation }
    if let timeouts { self.timeouts = timeouts }
    if idempotency != .byMethod { self.idempotency = idempotency }
  }

  /// Whether the options may differ from the defaults; false if they were never changed.
  var mayDifferFromDefaults: Bool { !storage.isIdentical(to: Self.defaults) }
}

extension HTTPField.Name {
  // Forced: letters and a hyphen always form a valid field name (RFC 9110 §5.6.2), and there is no fallback.
  // swift-format-ignore: NeverForceUnwrap
  /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
  public static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
