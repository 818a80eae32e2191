// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The settings that all fetches of a stack share, unless their request or resource overrides them.
///
/// ```swift
/// var configuration = StackConfiguration(baseURL: "https://api.example.com", interceptors: [.retry])
/// configuration.timeouts.total = .seconds(30)
/// ```
public struct StackConfiguration: Sendable {
  /// The base URL that replaces the endpoints' own, such as that of a server for tests or staging. A URL that begins
  /// with `/` is appended to it; other URLs are unchanged. It must be absolute, `http` or `https`, without a query.
  /// Default `nil`: endpoints use their own. An unusable base URL fails every fetch with `invalid_url`;
  /// `CurlNetworkStack(_:configuration:)` throws an error for it.
  ///
  /// Credentials that are bound to origins must name the origin of this base URL.
  public var baseURL: String?
  /// Header fields that are added to requests without a field of that name, such as `Accept`. Default none.
  ///
  /// A field whose value is secret fails fetches with `invalid_header`, because it would be sent to every server.
  public var headers: RawHeaders = [:]
  /// The decoder of models and errors that name no decoder of their own. Its settings must not change any more.
  /// Default: a decoder with default settings.
  public var jsonDecoder: JSONDecoder?
  /// The encoder of bodies that name no encoder of their own. Its settings must not change any more. Default: an
  /// encoder with default settings.
  public var jsonEncoder: JSONEncoder?
  /// The interceptors of every fetch. For every event, they run before the resource's interceptors. Default none.
  public var interceptors: [any HTTPResourceInterceptor]
  /// The signers of requests. Each signs the requests to its origins, after all interceptors, including those of the
  /// resource. Default none.
  public var signers: [any RequestSigner] = []
  /// The timeouts of fetches. Default ``Timeouts/standard``.
  public var timeouts: Timeouts
  /// The timeouts of streams. Default ``Timeouts/streaming``.
  public var streamTimeouts: Timeouts = .streaming
  /// The maximum size of a collected body in bytes, after decompression. Default 10 MiB. Streams have no such default.
  ///
  /// If this limit, one of those below or one in a request's options is negative, fetches fail with `invalid_option`
  /// before anything is sent. The same happens if the limit of attempts is below 1.
  public var maximumBodyBytes = RequestOptions.defaultMaximumBodyBytes
  /// The maximum number of bytes that are read of the body of a response outside 200–299, and that an error keeps. If
  /// the body was longer, the error says so. If the limit of fetched bodies is smaller, it applies
  /// as well. Default 1 MiB.
  public var maximumErrorBodyBytes = 1024 * 1024
  /// The maximum number of bytes of a body that an error quotes, after redaction. Default 512; 0 quotes none.
  public var bodySnippetBytes = 512
  /// The redirect policy. Default: follow 20 at most, never from https to http.
  public var redirects: RedirectPolicy = .follow()
  /// The maximum number of attempts of a call, regardless of policies. Default 1000.
  ///
  /// This limit ends the loops of policies that never stop. Without a delay between attempts, such a loop would keep a
  /// processor and a server busy. The call ends with ``Retry/End/attemptLimit(_:)``. ``retryQuota`` limits the retries
  /// of requests to an overloaded server.
  public var maximumAttempts = 1000
  /// The longest delay that a server may ask for (`Retry-After`). Default 60 s. If it asks for more, the call fails at
  /// once, with that reason in its error.
  public var maximumRetryAfter: Duration = .seconds(60)
  /// The quota that limits the retries of all calls together. Default: a new quota for each configuration. `nil`: no
  /// limit.
  ///
  /// Only retries of failures that an overloaded server may have caused are counted: failures without a response, and
  /// the statuses 408, 429 and 5xx. Polling (a policy that retries other statuses) and the retry after a 401 cost
  /// nothing.
  public var retryQuota: RetryQuota? = .standard()
  /// The observers of every call. Default none.
  public var observers: [any FetchObserver] = []
  /// The source of randomness, for jitter of delays and for generated keys. Default: the system's.
  public var randomSource: RandomSource = .system
  /// The source of time. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  /// The recorder of calls, whose files `lastro replay` reads. Default `nil`: nothing is recorded.
  public var recorder: CallRecorder?

  /// The layers around the transport. Default none.
  package var layers = ByLayerPlace<any TransportLayer>()

  /// Exists only so that the compiler can name the field to set.
  @available(*, unavailable, message: "write headers[.userAgent], or CurlConfiguration.userAgent for all requests")
  public var userAgent: String? {
    get { headers[.userAgent] }
    set { headers[.userAgent] = newValue }
  }

  /// Makes a configuration. All other settings are properties with defaults.
  ///
  /// - Parameters:
  ///   - baseURL: the base URL of the endpoints. Default `nil`: they use their own.
  ///   - interceptors: the interceptors of every fetch. Default none.
  ///   - timeouts: the timeouts of fetches. Default ``Timeouts/standard``.
  public init(
    baseURL: String? = nil, interceptors: [any HTTPResourceInterceptor] = [], timeouts: Timeouts = .standard
  ) {
    self.baseURL = baseURL
    self.interceptors = interceptors
    self.timeouts = timeouts
  }
}
