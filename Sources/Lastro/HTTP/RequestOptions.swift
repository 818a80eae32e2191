// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What one request asks of the stack beyond HTTP itself; each `nil` leaves the stack's default.
///
/// ```swift
/// var options = RequestOptions()
/// options.operation = "everything"
/// options.maximumBodyBytes = 50 << 20
/// options.timeouts = .streaming
/// ```
public struct RequestOptions: Sendable {
  /// The limit of a collected body where nothing else is said: 10 MiB.
  public static let defaultMaximumBodyBytes = 10 * 1024 * 1024

  /// Whether the request may be sent more than once.
  public enum Idempotency: Sendable, Hashable {
    /// By the method (RFC 9110 §9.2.2): GET, HEAD, OPTIONS, TRACE, PUT, DELETE are, and QUERY
    /// (draft-ietf-httpbis-safe-method-w-body); an `Idempotency-Key` header field makes any request so.
    case byMethod
    /// Yes, whatever the method: the explicit word that lets a POST be retried.
    case idempotent
    /// No, whatever the method.
    case notIdempotent
    /// Yes, by an `Idempotency-Key` that is made once for a call: all its attempts carry the same. A key that the
    /// request has already stays. ``AttemptLedger/idempotencyKey`` tells it.
    case generatedKey
    /// Yes, by this `Idempotency-Key`: one that the caller keeps, to repeat the call later.
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
    var hostField: String?
    var withheldBody: RequestBody?
    var layerUses = ByLayerPlace<any Sendable>()
    var onInterimResponse: (@Sendable (HTTPResponse) -> Void)?
  }

  /// That most requests have no options of their own costs them nothing.
  private static let defaults = CopyOnWrite(Values())
  private var storage = Self.defaults

  /// A name for logs and metrics, of few distinct values, such as `getRepository`. Default `nil`.
  public var operation: String? {
    get { storage.value.operation }
    _modify { yield &storage.value.operation }
  }
  /// Limits in time. Default `nil`: the stack's.
  public var timeouts: Timeouts? {
    get { storage.value.timeouts }
    _modify { yield &storage.value.timeouts }
  }
  /// Most bytes of a collected body, after decompression. Stack default: 10 MiB. A negative number is refused.
  public var maximumBodyBytes: Int? {
    get { storage.value.maximumBodyBytes }
    _modify { yield &storage.value.maximumBodyBytes }
  }
  /// How redirects are treated. Default `nil`: as the stack says.
  public var redirects: RedirectPolicy? {
    get { storage.value.redirects }
    _modify { yield &storage.value.redirects }
  }
  /// Default ``Idempotency/byMethod``.
  public var idempotency: Idempotency {
    get { storage.value.idempotency }
    _modify { yield &storage.value.idempotency }
  }
  /// How connections are made. Default `nil`: as the engine says.
  public var connection: ConnectionOptions? {
    get { storage.value.connection }
    _modify { yield &storage.value.connection }
  }
  /// Header fields whose values are secret, besides those that ``Redaction/standard`` masks, such as `Authorization`,
  /// `Cookie` and `X-Api-Key`: redacted in logs, not sent across origins, and part of the keys of a cache. Default
  /// none.
  public var sensitiveHeaders: Set<HTTPField.Name> {
    get { storage.value.sensitiveHeaders }
    _modify { yield &storage.value.sensitiveHeaders }
  }
  /// Query items whose values are secret, besides the usual ones (`token`, `key`, `sig`, `password` …). Default none.
  public var sensitiveQueryItems: Set<String> {
    get { storage.value.sensitiveQueryItems }
    _modify { yield &storage.value.sensitiveQueryItems }
  }
  /// Query items whose values errors and ledgers show, besides ``Redaction/shownQueryItems``: for names whose values
  /// are never personal, and no secrets. Default none.
  public var shownQueryItems: Set<String> {
    get { storage.value.shownQueryItems }
    _modify { yield &storage.value.shownQueryItems }
  }
  /// Is told how far the call has come. One for each call. Default `nil`.
  public var progress: TransferProgressReporter? {
    get { storage.value.progress }
    _modify { yield &storage.value.progress }
  }
  /// Texts that are masked wherever they turn up in logs, `curl` commands, errors and descriptions: as they are,
  /// percent-encoded, escaped, in base64. Default none.
  ///
  /// For secrets that no name gives away, such as one in a path, or one that the server repeats in its answer. Those of
  /// fewer than 4 bytes are masked by name only: their value would be found in every text. The secrets of the body
  /// (``RequestBody/secrets``) need not be named again, nor need a proxy's password and a client key's.
  public var secrets: Set<Secret> {
    get { storage.value.secrets }
    _modify { yield &storage.value.secrets }
  }
  /// Whether a 2xx answer without a body is a failure (`no_data`), except to HEAD and for 204 and 205. A stream fails
  /// when its body ends without a byte. Default false.
  public var requiresBody: Bool {
    get { storage.value.requiresBody }
    _modify { yield &storage.value.requiresBody }
  }
  /// The `Host` that is sent in place of the URL's: of a server behind a front that is reached, and checked, by another
  /// name.
  package var hostField: String? {
    get { storage.value.hostField }
    _modify { yield &storage.value.hostField }
  }

  /// The body that an authenticator has withheld: the request is sent without it, only to obtain a challenge. Whatever
  /// its response is, the call does not end with a success.
  var withheldBody: RequestBody? {
    get { storage.value.withheldBody }
    _modify { yield &storage.value.withheldBody }
  }

  /// What the stack's layers are asked to do with the request: values that they know.
  package var layerUses: ByLayerPlace<any Sendable> {
    get { storage.value.layerUses }
    _modify { yield &storage.value.layerUses }
  }

  /// Is told of each interim response (RFC 9110 §15.2) as it comes, such as 103 (Early Hints, RFC 8297), but not of
  /// 100 and 101: in every attempt, on every redirect hop. Called on the engine's thread, so it must return at once.
  /// Default: `nil`.
  public var onInterimResponse: (@Sendable (HTTPResponse) -> Void)? {
    get { storage.value.onInterimResponse }
    _modify { yield &storage.value.onInterimResponse }
  }

  /// Makes the default options.
  public init() {}

  /// False for options that were never changed.
  var mayDifferFromDefaults: Bool { !storage.isIdentical(to: Self.defaults) }
}

extension ResourceRequest {
  /// Whether the server may answer that nothing has changed (RFC 9110 §15.4.5).
  var isConditional: Bool {
    head.headerFields[.ifNoneMatch] != nil || head.headerFields[.ifModifiedSince] != nil
  }

  /// Whether the request may be sent more than once.
  public var isIdempotent: Bool {
    switch options.idempotency {
    case .idempotent, .generatedKey, .key: return true
    case .notIdempotent: return false
    case .byMethod:
      switch head.method {
      case .get, .head, .options, .trace, .put, .delete: return true
      default: return head.method.rawValue == "QUERY" || !(head.headerFields[.idempotencyKey] ?? "").isEmpty
      }
    }
  }
}

extension HTTPField.Name {
  // Forced: letters and a hyphen are a field name (RFC 9110 §5.6.2), and no other name could stand in.
  // swift-format-ignore: NeverForceUnwrap
  /// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
  public static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
