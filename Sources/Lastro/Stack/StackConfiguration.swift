// SPDX-License-Identifier: Apache-2.0

/// What all fetches of a stack share, unless their request or resource says otherwise.
public struct StackConfiguration: Sendable {
  /// Interceptors of every fetch; they come before the resource's, for every event. Default none.
  public var interceptors: [any HTTPResourceInterceptor] = []
  /// Limits in time of fetches. Default ``Timeouts/standard``.
  public var timeouts: Timeouts = .standard
  /// Limits in time of streams. Default ``Timeouts/streaming``.
  public var streamTimeouts: Timeouts = .streaming
  /// Most bytes of a collected body, after decompression. Default 10 MiB. Streams have no such default.
  ///
  /// With a negative limit here, below, or in a request's options, fetches fail with `invalid_option` before anything is
  /// sent; so they do with fewer than one attempt.
  public var maximumBodyBytes = RequestOptions.defaultMaximumBodyBytes
  /// Most bytes collected of an answer outside 200–299 when a stream was asked for, and most bytes that an error keeps of
  /// any such answer. Default 1 MiB.
  public var maximumErrorBodyBytes = 1024 * 1024
  /// Most bytes of a body that an error keeps, after redaction. Default 512; 0 keeps none.
  public var bodySnippetBytes = 512
  /// How redirects are treated. Default: followed, 20 at most, never from https to http.
  public var redirects: RedirectPolicy = .follow()
  /// Most attempts of one call, whatever policies say. Default 1000.
  ///
  /// It ends the loops of policies that never do, above all of those without a wait, which would keep a processor and a
  /// server busy. Such a call ends with ``AttemptLimitReached``. No less is cut off: a policy of 200 immediate retries
  /// makes 200.
  public var maximumAttempts = 1000
  /// Where time comes from. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  /// Makes the default configuration.
  public init() {}
}
