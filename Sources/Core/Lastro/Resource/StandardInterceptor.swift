// SPDX-License-Identifier: Apache-2.0

public import Logging

/// An interceptor that retries requests, logs them, or adds fixed credentials to them.
///
/// A list of interceptors names the functions that make it without the type:
///
/// ```swift
/// configuration.interceptors = [
///   try .basic(user: "ci", password: password, origins: [origin]),
///   .retry,
///   .logging(Logger(label: "github")),
/// ]
/// ```
///
/// ``BearerAuthenticator`` adds tokens that are renewed.
public struct StandardInterceptor: HTTPResourceInterceptor, ForwardingInterceptor {
  /// The amount of detail to log.
  public enum Verbosity: Sendable, Hashable {
    /// Logs the method, the URL, the status, times and failures.
    case basic
    /// Adds the header fields, with secret values masked.
    case headers
    /// Adds the header fields, and for every body in memory that is text, at most the given number of bytes.
    case bodies(limit: Int)
  }

  /// The interceptor that does the work. A stack calls it directly.
  package let base: any HTTPResourceInterceptor

  init(_ base: some PromptInterceptor) { self.base = base }
}

extension HTTPResourceInterceptor where Self == StandardInterceptor {
  /// An interceptor that asks ``Retry/Policy/standard`` about the failures that ``retry(_:)`` lists:
  /// `interceptors: [.retry]`. It suits most stacks.
  public static var retry: Self { StandardInterceptor(RetryInterceptor(policy: .standard)) }

  /// Exists only so that the compiler can name the property to use.
  @available(*, unavailable, message: "write .retry for the standard retries")
  public static var standard: Self { retry }

  /// Returns an interceptor that asks a retry policy about failures that a retry may fix:
  /// `interceptors: [.retry(.maxRetries(2))]`. Eligible are:
  ///
  /// - Any request: failures before a byte of it was sent (name resolution, connection, proxy, handshake, connect
  ///   timeout); status 421, once; an access token that could not be fetched, for one of these reasons.
  /// - Idempotent requests (``RequestOptions/Idempotency-swift.enum``): statuses 425, 429, 500, 502, 503, 504; 408, once;
  ///   lost or reset connections; truncated bodies, HTTP/2 failures; attempt and idle timeouts.
  /// - Requests with an `Idempotency-Key`, from the second attempt on: status 409, by which a server reports that it is
  ///   still processing the first attempt.
  ///
  /// Never eligible: trust and certificate failures, cancellation, the total deadline, limits, decoding, redirects,
  /// refused requests, and other statuses.
  ///
  /// An ``HTTPRetryPolicy`` is itself an interceptor, which decides on every failure:
  /// `interceptors: [HTTPRetryPolicy.maxRetries(2)]`. The stack still vetoes retries after trust failures, cancellation
  /// and the deadline, with consumed bodies, and of non-idempotent requests that may have been sent.
  ///
  /// The stack applies further rules to every retry, regardless of the interceptor that asks for it: the delay is never
  /// shorter than `Retry-After`, no delay starts that cannot end before the deadline, the origin's quota is charged,
  /// and vetoed retries stay vetoed.
  ///
  /// - Parameter policy: the policy. It counts eligible failures only: the retry after a 401 does not count as one of
  ///   its retries. ``Retry/State/totalDelay`` includes all delays of the call.
  public static func retry(_ policy: HTTPRetryPolicy) -> Self { StandardInterceptor(RetryInterceptor(policy: policy)) }

  /// Returns an interceptor that logs requests and their results with swift-log. Secrets are masked unless that is
  /// switched off.
  ///
  /// Messages are constant texts, suitable for counting and filtering. Details are in the metadata: `call` and
  /// `attempt` (the same for all related messages), `hop`, `operation`, `method`, `url`, `status`, `duration_ms`,
  /// `bytes`, `http_version`, `remote`, `reused`, `stage`, `code`, `error`, `hint` and `engine_code` (the engine's own
  /// code of the failure). `headers`, `body` and `curl` are included if requested. Every value is on one line.
  ///
  /// Scheduled requests and cancellations by the caller are logged at level debug, successes at info, and failed
  /// attempts, which may be retried, at warning.
  ///
  /// The interceptor changes no request and asks for no retry. Put it last to log requests as they are sent:
  /// `interceptors: [.retry, .logging(Logger(label: "github"), verbosity: .headers)]`.
  ///
  /// - Parameters:
  ///   - logger: the logger. Its own level determines which messages are computed at all.
  ///   - verbosity: the amount of detail. Default ``StandardInterceptor/Verbosity/basic``.
  ///   - redaction: the rules for masking, in addition to the secrets named by a request's options.
  ///   - rendersCurlCommands: whether scheduled requests are also logged as `curl` commands. Their bodies are shown
  ///     only if `verbosity` includes bodies. Default `false`.
  public static func logging(
    _ logger: Logger, verbosity: StandardInterceptor.Verbosity = .basic, redaction: Redaction = .standard,
    rendersCurlCommands: Bool = false
  ) -> Self {
    StandardInterceptor(
      LoggingInterceptor(
        logger: logger, verbosity: verbosity, redaction: redaction, rendersCurlCommands: rendersCurlCommands))
  }
}
