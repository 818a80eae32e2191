// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import LastroSupport

/// Checks servers against the keys that are pinned for them (modelled on RFC 7469). It is Lastro's implementation of
/// `ServerTrustJudge`.
///
/// ```swift
/// let evaluator = ServerTrustEvaluator(
///   configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
/// options.tls.trustJudge = evaluator
/// ```
///
/// A server is accepted if any key in its verified chain is pinned. Other certificates that the server sends are
/// ignored. No request is sent over plain `http` to a host whose key is pinned. The evaluator may be used, and its
/// configuration replaced, from any thread.
public final class ServerTrustEvaluator: ServerTrustJudge {
  private let state: Lock<TrustRules>
  private let tally = Lock(Statistics())
  private let timeSource: TimeSource
  private let reporter: TrustReporter?

  /// Creates an evaluator.
  ///
  /// - Parameters:
  ///   - configuration: the policies.
  ///   - timeSource: the clock for the expiration of policies and the interval of reports. Default: the system's clock.
  ///   - reportInterval: the time for which an identical failure is not reported again. Default 24 hours. The evaluator
  ///     remembers the 256 failures that were reported last; a failure that it has forgotten may be reported again
  ///     earlier.
  ///   - onReport: a closure that receives every failure, including those accepted by a policy in report-only mode. It
  ///     is called for one report at a time, in order, in a separate task, and never on the engine's thread, so a slow
  ///     closure delays only other reports. At most 64 reports wait; further reports are dropped and counted in
  ///     ``ServerTrustEvaluator/Statistics/reportsDropped``. Default `nil`: no failure is reported.
  public init(
    configuration: Configuration, timeSource: TimeSource = .continuous, reportInterval: Duration = .seconds(86_400),
    onReport: (@Sendable (TrustReport) async -> Void)? = nil
  ) {
    state = Lock(TrustRules(configuration, generation: 1))
    self.timeSource = timeSource
    reporter = onReport.map { TrustReporter(interval: reportInterval, handler: $0) }
  }

  /// The current configuration. Any thread may replace it; all judgements that begin afterwards use the new one.
  /// Because ``revision`` changes, the next request to every host, whether its policy changed or not, uses a new
  /// connection.
  public var configuration: Configuration {
    get { rules.configuration }
    set {
      state.withLock { $0 = TrustRules(newValue, generation: $0.generation + 1) }
      let hosts = Set(newValue.pinningPolicies.map(\.host))
      tally.withLock { tally in tally.policies = tally.policies.filter { hosts.contains($0.key) } }
    }
  }

  /// The revision of the rules. It changes with every new configuration and whenever a policy expires; the connections
  /// to all hosts are then replaced.
  public var revision: UInt64 {
    let rules = rules
    return rules.revision(at: rules.everExpires ? now : .distantPast)
  }

  /// Judges a server.
  ///
  /// - Throws: ``TrustFailure`` if the server is refused.
  public func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    try decide(rules.judge(trust, at: now))
  }

  /// Refuses plain `http` for a host that would need a pinned key over TLS, or that has no policy where one is
  /// required.
  ///
  /// - Throws: ``TrustFailure`` if plain `http` is refused.
  public func judgePlaintext(host: HostName, port: Int) throws(TrustFailure) -> TrustVerdict {
    try decide(rules.judgePlaintext(ServerTrust(host: host, port: port, chain: []), at: now))
  }

  /// The number of servers judged so far, by result.
  public var statistics: ServerTrustEvaluator.Statistics {
    var result = tally.withLock { $0 }
    result.reportsDropped = reporter?.dropped ?? 0
    return result
  }

  /// Waits until `onReport` has handled all reports so far, for example before a program exits.
  ///
  /// Cancellation does not shorten the wait. If `onReport` itself calls this method, it never returns, because it waits
  /// for its own caller.
  public func flushReports() async { await reporter?.flush() }

  /// Returns a text that names the policy for a host and its requirements.
  public func explanation(for host: HostName) -> String { rules.explanation(for: host, at: now) }

  private func decide(_ verdict: TrustRules.Verdict) throws(TrustFailure) -> TrustVerdict {
    tally.withLock { $0.count(verdict) }
    guard let failure = verdict.failure else { return verdict.word }
    reporter?.report(failure, isEnforced: verdict.isEnforced, at: timeSource)
    guard !verdict.isEnforced else { throw failure }
    return verdict.word
  }

  private var rules: TrustRules { state.withLock { $0 } }

  private var now: Date { Date(timeIntervalSince1970: timeSource.sinceEpoch().inSeconds) }
}

extension ServerTrustEvaluator {
  /// The policies of a ``ServerTrustEvaluator``, and the rule for hosts without a policy.
  public struct Configuration: Sendable, Hashable {
    /// The policies, in the order in which they were passed. The order has no effect: a host's own policy applies, or
    /// else the policy of its longest parent that includes subdomains.
    public let pinningPolicies: [PinningPolicy]
    /// The order in which the keys of a chain are looked up.
    public let certificateCheckingOrder: CertificateCheckingOrder
    /// Whether a valid chain and host name are sufficient for hosts without a policy. If `false`, such hosts are
    /// refused.
    public let allowNotPinnedDomains: Bool
    /// The policies by their hosts, so that a lookup compares each label of a host at most once and does not allocate.
    private let policiesByHost: [Substring: PinningPolicy]

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - pinningPolicies: at least one policy, and at most one for each host.
    ///   - certificateCheckingOrder: the order in which the keys of a chain are looked up. Default
    ///     ``CertificateCheckingOrder/leafToRoot``.
    ///   - allowNotPinnedDomains: whether a valid chain and host name are sufficient for hosts without a policy.
    ///     Default `false`: such hosts are refused. An HTTPS proxy without a policy is accepted in either case.
    /// - Throws: ``ConfigurationValidationError``.
    public init(
      pinningPolicies: [PinningPolicy], certificateCheckingOrder: CertificateCheckingOrder = .leafToRoot,
      allowNotPinnedDomains: Bool = false
    ) throws(ConfigurationValidationError) {
      guard !pinningPolicies.isEmpty else { throw .emptyPolicies }
      var seen: Set<HostName> = []
      let duplicates = pinningPolicies.map(\.host).filter { !seen.insert($0).inserted }
      guard duplicates.isEmpty else { throw .duplicatePolicies(Set(duplicates)) }
      self.pinningPolicies = pinningPolicies
      self.certificateCheckingOrder = certificateCheckingOrder
      self.allowNotPinnedDomains = allowNotPinnedDomains
      policiesByHost = Dictionary(
        pinningPolicies.map { ($0.host.text[...], $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the policy that applies to a host: its own, or else that of its longest parent that includes subdomains;
    /// `nil` if there is none. Expired policies are returned too, since their expiration defines their effect.
    package func policy(for host: HostName) -> PinningPolicy? {
      policiesByHost[host.text[...]] ?? parentPolicy(of: host)
    }

    /// Returns the policy that would apply to a host if it had none of its own: that of its longest parent that
    /// includes subdomains. Only whole labels are removed, so a policy for `example.com` matches neither
    /// `badexample.com` nor `com`.
    func parentPolicy(of host: HostName) -> PinningPolicy? {
      guard !host.isIPAddress else { return nil }
      var name = host.text[...]
      while let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) {
        name = name[name.index(after: dot)...]
        if let policy = policiesByHost[name], policy.includeSubdomains { return policy }
      }
      return nil
    }
  }
}

extension ServerTrustEvaluator {
  /// The order in which the keys of a chain are looked up among the pins. It does not affect the result, because any
  /// match is sufficient.
  public enum CertificateCheckingOrder: String, Sendable, Hashable, CaseIterable, Codable {
    /// The root is looked up first, which is faster if certificate authorities are pinned.
    case rootToLeaf
    /// The leaf is looked up first.
    case leafToRoot

    /// Returns the indices of a chain in this order; the leaf has index 0. Returns no index for an empty chain.
    package func indices(forChainLength length: Int) -> StrideTo<Int> {
      let length = max(0, length)
      return switch self {
      case .rootToLeaf: stride(from: length - 1, to: -1, by: -1)
      case .leafToRoot: stride(from: 0, to: length, by: 1)
      }
    }
  }
}

extension ServerTrustEvaluator.Configuration: Codable {
  enum CodingKeys: String, CodingKey, CaseIterable {
    case policies, allowNotPinnedDomains, certificateCheckingOrder
  }

  /// Reads an object with `policies`, and with `allowNotPinnedDomains` and `certificateCheckingOrder` unless they have
  /// their default values. Unknown members are errors.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(keyedBy: CodingKeys.self)
    let policies = try container.decode([PinningPolicy].self, forKey: .policies)
    let order: ServerTrustEvaluator.CertificateCheckingOrder? = try container.decodeWord(
      forKey: .certificateCheckingOrder)
    let allows = try container.decodeIfPresent(Bool.self, forKey: .allowNotPinnedDomains)
    do throws(ServerTrustEvaluator.ConfigurationValidationError) {
      try self.init(
        pinningPolicies: policies, certificateCheckingOrder: order ?? .leafToRoot,
        allowNotPinnedDomains: allows ?? false)
    } catch {
      throw DecodingError.teaching(error.error, at: container.codingPath + [CodingKeys.policies])
    }
  }

  /// Writes the object that ``init(from:)`` reads, with all members.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(pinningPolicies, forKey: .policies)
    try container.encode(allowNotPinnedDomains, forKey: .allowNotPinnedDomains)
    try container.encode(certificateCheckingOrder, forKey: .certificateCheckingOrder)
  }

  /// Reads a configuration from JSON.
  ///
  /// ```json
  /// {
  ///   "policies": [{"domain": "api.example.com", "pins": ["sha256/…", "sha256/…"]}],
  ///   "allowNotPinnedDomains": false
  /// }
  /// ```
  ///
  /// The JSON must be UTF-8. A duplicate member in an object is an error.
  ///
  /// - Throws: ``ConfigurationError`` that names the place of the fault, such as `policies[0].pins`.
  public init(json: Data) throws(ConfigurationError) { try self.init(json: json, name: "the pinning configuration") }

  /// Reads a configuration from a JSON file, on the calling thread.
  ///
  /// - Throws: ``ConfigurationError`` that names the file and the place of the fault.
  public init(contentsOfFile path: String) throws(ConfigurationError) {
    let name = "the pinning configuration \(path.onOneLine)"
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ConfigurationError("\(name) cannot be read", hint: "check the path, and that this process may read it")
    }
    try self.init(json: data, name: name)
  }

  private init(json: Data, name: String) throws(ConfigurationError) {
    // JSON in UTF-8 has no NUL bytes. Check for them here, because decoders also accept UTF-16 and UTF-32.
    guard !json.contains(0) else { throw ConfigurationError("\(name) is not UTF-8", hint: "save it as UTF-8") }
    do {
      let repeated = RepeatedMember.path(in: [UInt8](json)) {
        try? JSONDecoder().decode(String.self, from: Data("\"\($0)\"".utf8))
      }
      if let path = repeated {
        throw DecodingError.teaching(
          ConfigurationError("the member occurs twice", hint: "remove one: only one of them counts"), at: path)
      }
      self = try JSONDecoder().decode(Self.self, from: json)
    } catch {
      throw ConfigurationError(decoding: error, of: name)
    }
  }

  /// Returns the configuration as JSON on several lines. The output is stable: members are sorted by name, and pins are
  /// sorted.
  public func json() -> String { jsonText(.prettyPrinted) }
}

extension PinningPolicy {
  /// Returns the policy as JSON on several lines, in the form of a member of `policies`.
  package func json() -> String { jsonText(.prettyPrinted) }
}

extension ServerTrustEvaluator {
  /// The number of servers that a ``ServerTrustEvaluator`` judged, by result.
  ///
  /// A TLS connection is judged once for each host and revision, so these are not numbers of requests. A request over
  /// plain `http` has no handshake to judge, so each such request is judged and counted.
  public struct Statistics: Sendable, Hashable {
    /// The counts of one policy.
    public struct Counts: Sendable, Hashable {
      /// The number of servers with a pinned key.
      public var pinned: UInt64 = 0
      /// The number of servers that were refused.
      public var blocked: UInt64 = 0
      /// The number of servers that were accepted only because the policy was in report-only mode.
      public var wouldHaveBlocked: UInt64 = 0
      /// The number of servers accepted without a pin check: the policy was off, or expired and falls back.
      public var notChecked: UInt64 = 0

      /// Creates counts that are all zero.
      package init() {}
    }

    /// The counts of the current policies that were applied at least once, by the policy's host. A policy that replaces
    /// another one for the same host continues its counts.
    public var policies: [HostName: Counts] = [:]
    /// The number of servers that were refused because they have no policy.
    public var notPinnedBlocked: UInt64 = 0
    /// The number of servers that were accepted although they have no policy.
    public var notPinnedAccepted: UInt64 = 0
    /// The number of reports that were not passed to `onReport`, because too many others were waiting.
    public var reportsDropped: UInt64 = 0

    /// Creates statistics that are all zero.
    package init() {}
  }
}

extension ServerTrustEvaluator.Statistics {
  fileprivate mutating func count(_ verdict: TrustRules.Verdict) {
    switch (verdict.policy, verdict.failure == nil, verdict.isEnforced) {
    case (nil, let isAccepted, _): if isAccepted { notPinnedAccepted += 1 } else { notPinnedBlocked += 1 }
    case (let policy?, true, _) where verdict.word == .pinned: policies[policy.host, default: .init()].pinned += 1
    case (let policy?, true, _): policies[policy.host, default: .init()].notChecked += 1
    case (let policy?, false, true): policies[policy.host, default: .init()].blocked += 1
    case (let policy?, false, false): policies[policy.host, default: .init()].wouldHaveBlocked += 1
    }
  }
}

extension ServerTrustEvaluator {
  /// The reason why a ``Configuration`` is invalid. Later versions may add reasons: a `switch` needs an
  /// `@unknown default`.
  @nonexhaustive
  public enum ConfigurationValidationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The list of policies is empty.
    case emptyPolicies
    /// There are several policies for these hosts.
    case duplicatePolicies(Set<HostName>)

    /// The fault and a suggested fix.
    public var description: String { error.description }

    var error: ConfigurationError {
      switch self {
      case .emptyPolicies:
        ConfigurationError(
          "the list of pinning policies is empty", hint: "add one, or leave the ServerTrustEvaluator out")
      case .duplicatePolicies(let hosts):
        ConfigurationError(
          "several policies are for \(hosts.map(\.text).sorted().joined(separator: ", "))",
          hint: "write one for each host, with all its pins")
      }
    }
  }
}
