// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What all fetches of a stack share, unless their request or resource says otherwise.
///
/// ```swift
/// var configuration = StackConfiguration(interceptors: [RetryInterceptor.standard])
/// configuration.timeouts.total = .seconds(30)
/// ```
public struct StackConfiguration: Sendable {
  /// The base URL of endpoints, in place of their own, such as that of a server for tests or staging; and what a URL
  /// that begins with `/` is below. Absolute, `http` or `https`, without a query. Default `nil`: endpoints have their
  /// own. Other URLs stay as they are. A base URL that cannot be used fails every fetch, with `invalid_url`;
  /// `CurlNetworkStack(_:configuration:)` refuses it.
  ///
  /// Credentials that are bound to origins have to name this one.
  public var baseURL: String?
  /// Header fields of requests that have none of the name, such as `Accept`. Default none.
  ///
  /// Those whose values are secret are refused, with `invalid_header`: they would go to every server.
  public var headers: RawHeaders = [:]
  /// Decodes models and errors that name no decoder of their own. Its settings must not change any more. Default: one
  /// with default settings.
  public var jsonDecoder: JSONDecoder?
  /// Encodes bodies that name no encoder of their own. Its settings must not change any more. Default: one with default
  /// settings.
  public var jsonEncoder: JSONEncoder?
  /// Interceptors of every fetch; they come before the resource's, for every event. Default none.
  public var interceptors: [any HTTPResourceInterceptor]
  /// Sign the requests to their origins, after all interceptors, also those of the resource. Default none.
  public var signers: [any RequestSigner] = []
  /// Limits in time of fetches. Default ``Timeouts/standard``.
  public var timeouts: Timeouts
  /// Limits in time of streams. Default ``Timeouts/streaming``.
  public var streamTimeouts: Timeouts = .streaming
  /// Most bytes of a collected body, after decompression. Default 10 MiB. Streams have no such default.
  ///
  /// With a negative limit here, below, or in a request's options, fetches fail with `invalid_option` before anything
  /// is sent; so they do with fewer than one attempt.
  public var maximumBodyBytes = RequestOptions.defaultMaximumBodyBytes
  /// Most bytes that are read, and that an error keeps, of the body of an answer outside 200–299; where there was more,
  /// ``HTTPFetchError/bodyCut`` tells. A smaller limit of fetched bodies holds as well. Default 1 MiB.
  public var maximumErrorBodyBytes = 1024 * 1024
  /// Most bytes of a body that an error keeps, after redaction. Default 512; 0 keeps none.
  public var bodySnippetBytes = 512
  /// How redirects are treated. Default: followed, 20 at most, never from https to http.
  public var redirects: RedirectPolicy = .follow()
  /// Most attempts of one call, whatever policies say. Default 1000.
  ///
  /// It ends the loops of policies that never do, above all of those without a wait, which would keep a processor and a
  /// server busy. Such a call ends with ``Retry/End/attemptLimit(_:)``. What bounds retries of a server in distress is
  /// ``retryQuota``.
  public var maximumAttempts = 1000
  /// Longest wait that a server may ask for (`Retry-After`). Default 60 s. When it asks for more, the call fails at
  /// once, and its error says so.
  public var maximumRetryAfter: Duration = .seconds(60)
  /// Bounds the retries of all calls together. Default: one of its own for each configuration. `nil`: no bound.
  ///
  /// Only retries of what a server's distress may have caused are counted: failures without an answer, and the statuses
  /// 408, 429 and 5xx. Polling (a policy that retries other statuses) and the replay after a 401 cost nothing.
  public var retryQuota: RetryQuota? = .standard()
  /// Watch every call. Default none.
  public var observers: [any FetchObserver] = []
  /// Where randomness comes from, for the spread of waits and for generated keys. Default: the system's.
  public var randomSource: RandomSource = .system
  /// Where time comes from. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  /// What stands around the transport. Default: nothing does.
  package var layers = ByLayerPlace<any TransportLayer>()

  /// Makes a configuration; everything else is a property, with a default.
  ///
  /// - Parameters:
  ///   - interceptors: of every fetch. Default none.
  ///   - timeouts: of fetches. Default ``Timeouts/standard``.
  public init(interceptors: [any HTTPResourceInterceptor] = [], timeouts: Timeouts = .standard) {
    self.interceptors = interceptors
    self.timeouts = timeouts
  }
}
