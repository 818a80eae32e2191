// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The configuration of a ``GeminiClient``.
public struct GeminiConfiguration: Sendable {
  /// The reaction to a server that reports too many requests (status 44).
  public enum SlowDown: Sendable, Hashable {
    /// Returns the response; ``GeminiResponseHeader/slowDown`` has the time to wait.
    case deliver
    /// Waits and retries, up to the given number of times, if the server asks for at most `longest` and the total limit
    /// leaves enough time; otherwise returns the response.
    case wait(longest: Duration, attempts: Int)
  }

  /// The trust policy. Default: trust on first use, remembered as long as the configuration lives, with changes
  /// refused.
  public var trust = GeminiTrust.firstUse()
  /// The connection options. Default: those of `ConnectionOptions`.
  ///
  /// Their client certificates are never presented; those of ``GeminiClient/addIdentity(_:for:)`` are, within their
  /// scopes. The dialer's own options do not apply, because their client certificates would be sent to every host.
  public var connection = ConnectionOptions()
  /// The client certificates. Default: none. A client copies them.
  package var identities = GeminiIdentities()
  /// The maximum number of consecutive redirects that are followed. Default 5. With 0 or less, every 3x response is
  /// returned, even if its target is not a URL.
  public var maximumRedirects = 5
  /// Whether redirects to another host or port are followed. Default false: such a redirect fails with code
  /// `redirect_refused`. A redirect to another scheme than Gemini is never followed.
  public var followsRedirectsAcrossHosts = false
  /// A closure that answers statuses 10 and 11. It receives the response, whose ``GeminiResponse/meta`` is the prompt:
  /// a single line from the server, possibly empty. With status ``GeminiStatus/sensitiveInput``, the input must be
  /// hidden and must not be stored. The closure returns a text, which is sent as the query, or `nil` to return the
  /// response. It is called at most ten times per request. Default `nil`: the response is always returned.
  public var onInput: (@Sendable (GeminiResponse) async -> Secret?)?
  /// The reaction to status 44. Default ``SlowDown/deliver``.
  public var slowDown = SlowDown.deliver
  /// The time limit for connecting and TLS. Default 10 s; `nil`: no limit.
  public var connectTimeout: Duration? = .seconds(10)
  /// The time limit from the connection to the end of the response header, even if bytes keep arriving. Default 15 s;
  /// `nil`: no limit.
  public var headerTimeout: Duration? = .seconds(15)
  /// The longest time without a byte of the body. Default 30 s; `nil`: no limit.
  public var idleTimeout: Duration? = .seconds(30)
  /// The time limit for a whole request, including redirects and body; the time in callbacks does not count. Default
  /// `nil`: no limit.
  public var totalTimeout: Duration?
  /// Whether a body that ends without close_notify is accepted. Many servers omit close_notify, but without it a
  /// truncated body looks complete; ``GeminiResponse/isTruncated`` reports such an end. Default false: such an end is
  /// an error.
  public var toleratesTruncation = false
  /// The time source for limits and for the current date. Default: the continuous clock.
  public var time = TimeSource.continuous

  /// Creates the default configuration.
  public init() {}
}
