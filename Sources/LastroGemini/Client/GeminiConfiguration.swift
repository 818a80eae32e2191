// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// How a ``GeminiClient`` behaves.
public struct GeminiConfiguration: Sendable {
  /// What to do when a server says that it is asked too often (status 44).
  public enum SlowDown: Sendable, Hashable {
    /// The response is handed over; ``GeminiResponseHeader/slowDown`` says how long to wait.
    case deliver
    /// Waits and asks again, so many times at most, where the server wants no more than `longest`, and the total limit
    /// leaves as much; else the response is handed over.
    case wait(longest: Duration, attempts: Int)
  }

  /// A server that wants a line of text.
  public struct InputRequest: Sendable {
    /// The URL whose server asks for input.
    public var url: GeminiURL
    /// What to show; from the server, one line, perhaps empty.
    public var prompt: String
    /// Whether what is typed must not be seen, nor kept (status 11).
    public var isSensitive: Bool
  }

  /// Default: trust on first use, remembered as long as the configuration lives, changes refused.
  public var trust = GeminiTrust.firstUse(GeminiMemoryKnownHosts())
  /// How to connect. Default: as `ConnectionOptions` has it.
  ///
  /// Its client certificates are never presented: ``identities`` are, where they belong. Options of the dialer's own do
  /// not count, as its client certificates would go to every host.
  public var connection = ConnectionOptions()
  /// Client certificates. Default none.
  public var identities = GeminiIdentities()
  /// Default ``GeminiRedirects/standard``.
  public var redirects = GeminiRedirects.standard
  /// Answers statuses 10 and 11: a text, which is sent as the query, or `nil` to have the response handed over. Default
  /// `nil`: it always is. At most ten times for a request.
  public var onInput: (@Sendable (InputRequest) async -> Secret?)?
  /// Default ``SlowDown/deliver``.
  public var slowDown = SlowDown.deliver
  /// Limit for connection and TLS. Default 10 s; `nil` for none.
  public var connectTimeout: Duration? = .seconds(10)
  /// Limit from the connection to the end of the response header, however slowly it drips. Default 15 s; `nil` for
  /// none.
  public var headerTimeout: Duration? = .seconds(15)
  /// Longest time without a byte of the body. Default 30 s; `nil` for none.
  public var idleTimeout: Duration? = .seconds(30)
  /// Limit for all of a request, redirects and body included; time that callbacks take does not count. Default `nil`.
  public var totalTimeout: Duration?
  /// Whether a body that ends without close_notify counts as whole, as many servers leave it out;
  /// ``GeminiBody/isTruncated`` tells. Default false: it is an error.
  public var toleratesTruncation = false
  /// Measures limits, and says what day it is. Default: the continuous clock.
  public var time = TimeSource.continuous

  /// Makes the default configuration.
  public init() {}
}

/// Which redirects are followed.
public struct GeminiRedirects: Sendable {
  /// What to do about a redirect.
  public enum Decision: Sendable, Hashable {
    /// Goes there.
    case follow
    /// Fails with code `redirect_refused`.
    case refuse
    /// Hands the 3x response over.
    case deliver
  }

  /// A redirect.
  public struct Step: Sendable {
    /// What answered with it.
    public var from: GeminiURL
    /// Where it leads.
    public var to: GeminiReference
    /// 30, 31, or another of 3x.
    public var status: GeminiStatus
    /// Which one it is, from 1.
    public var number: Int

    /// Whether it leads to another host or port, or away from Gemini.
    public var leavesHost: Bool {
      if case .gemini(let url) = to { url.authority != from.authority } else { true }
    }
  }

  /// Most redirects in a row. Default 5.
  public var limit: Int
  /// Decides about each that leads somewhere; one that does not fails with `invalid_redirect`. One to another scheme
  /// cannot be followed, only handed over.
  public var decide: @Sendable (Step) async -> Decision { didSet { handsAllOver = false } }
  /// Whether there is nothing to decide, so that a redirect need not lead anywhere.
  private(set) var handsAllOver = false

  /// Makes a policy. `limit` is 5 by default; a negative number counts as 0.
  public init(limit: Int = 5, decide: @escaping @Sendable (Step) async -> Decision) {
    self.limit = max(0, limit)
    self.decide = decide
  }

  /// Follows five, on the same host and port; others are refused.
  public static let standard = GeminiRedirects { $0.leavesHost ? .refuse : .follow }
  /// Hands every 3x response over, also one whose target is not a URL.
  public static let none: GeminiRedirects = {
    var policy = GeminiRedirects { _ in .deliver }
    policy.handsAllOver = true
    return policy
  }()

  /// Follows them wherever they lead within Gemini, five in a row by default; a negative limit counts as 0.
  public static func acrossHosts(limit: Int = 5) -> GeminiRedirects { GeminiRedirects(limit: limit) { _ in .follow } }
}
