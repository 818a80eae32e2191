// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension FetchPlan {
  /// Works out what a call would do. Runs the base request maker, and nothing else that is not Lastro's.
  func explanation() async -> FetchExplanation {
    var request: ResourceRequest?
    var refusal: String?
    do {
      var made = try await baseRequestMaking.make()
      made.options = options.overriding(made.options)
      // Their hooks are not run, since those may wait or fetch tokens: an interceptor says beforehand what it would
      // add.
      for case let interceptor as any ExplainableInterceptor in interceptors.links.map(\.interceptor) {
        made = interceptor.explainedRequest(made)
      }
      request = made
      // What an attempt checks before it sends, so that a refusal is found here too.
      try checkLimits(of: made.options)
      if case .key(let key) = made.options.idempotency { try RequestCheck.checkIdempotencyKey(key) }
      try RequestCheck.check(made)
    } catch {
      refusal = "\(error)"
    }
    let options = request?.options ?? options
    // By the request where there is one: it has the credentials that interceptors would add.
    let redaction = request.map { Redaction.standard.adding($0) } ?? .standard.adding(options)
    return FetchExplanation(
      request: request.map { redaction.text($0.summary) }, refusal: refusal.map { redaction.text($0) },
      operation: options.operation, idempotency: Self.idempotency(of: request),
      interceptors: interceptors.links.map { Self.describe($0.interceptor) }, signers: signers(of: request),
      timeouts: timeoutFacts(options),
      limits: limitFacts(options, request),
      retries: request.map { request in hypotheticalFailures.map { verdict(on: $0, request) } } ?? [],
      transport: request.map { transport.explain(transferRequest($0)) } ?? [])
  }

  private var hypotheticalFailures: [HypotheticalFailure] {
    (interceptors.links.contains { $0.interceptor is BearerAuthenticator } ? [.noToken] : []) + HypotheticalFailure.all
  }

  private func signers(of request: ResourceRequest?) -> [String] {
    guard let origin = request.flatMap({ Origin($0.head) }) else { return [] }
    return configuration.signers.filter { $0.origins.contains(origin) }.map { "\(type(of: $0))" }
  }

  private static func describe(_ interceptor: any HTTPResourceInterceptor) -> FetchExplanation.Interceptor {
    FetchExplanation.Interceptor(
      name: name(of: interceptor), explanation: (interceptor as? any ExplainableInterceptor)?.explanation,
      credentialOrigins: interceptor.credentialOrigins.map(\.description))
  }

  private static func name(of interceptor: any HTTPResourceInterceptor) -> String {
    interceptor is HTTPRetryPolicy ? "Retry.Policy" : "\(type(of: interceptor))"
  }

  private static func idempotency(of request: ResourceRequest?) -> String {
    guard let request else { return "unknown" }
    switch request.options.idempotency {
    case .generatedKey: return "yes, by an Idempotency-Key made for the call"
    case .key: return "yes, by the Idempotency-Key given"
    case .idempotent: return "yes, by the word of its options"
    case .notIdempotent: return "no, by the word of its options"
    case .byMethod:
      let hasKey = request.head.headerFields[.idempotencyKey] != nil
      return "\(request.isIdempotent ? "yes" : "no"), by \(hasKey ? "its Idempotency-Key" : "its method")"
    }
  }

  private func timeoutFacts(_ options: RequestOptions) -> [FetchExplanation.Fact] {
    let timeouts = timeouts(for: options)
    return [
      ("connect", timeouts.connect), ("attempt", timeouts.attempt), ("idle", timeouts.idle), ("total", timeouts.total),
    ].map { .init($0, $1?.brief ?? "none") }
  }

  private func limitFacts(_ options: RequestOptions, _ request: ResourceRequest?) -> [FetchExplanation.Fact] {
    let redirects = options.redirects ?? configuration.redirects
    let bytes = options.maximumBodyBytes ?? (isStream ? nil : configuration.maximumBodyBytes)
    var facts: [FetchExplanation.Fact] = [
      .init(
        "redirects",
        redirects.limit == 0
          ? "none followed" : "\(redirects.limit), \(redirects.allowsInsecure ? "also" : "never") from https to http"),
      .init("body", bytes.map { "\($0) bytes" } ?? "any size"),
      .init("attempts", "\(configuration.maximumAttempts), fewer by policy"),
      .init("Retry-After", "up to \(configuration.maximumRetryAfter.brief)"),
    ]
    if let quota = configuration.retryQuota, let origin = request.flatMap({ Origin($0.head) }) {
      facts.append(.init("retry quota of \(origin)", "\(quota.tokens(of: origin)) of \(quota.capacity) left"))
    }
    return facts
  }

  private func transferRequest(_ request: ResourceRequest) -> TransferRequest {
    let timeouts = timeouts(for: request.options)
    return TransferRequest(
      head: request.head, body: request.body, connection: request.options.connection,
      delivery: delivery(for: request.options), connectTimeout: timeouts.connect, idleTimeout: timeouts.idle,
      deadline: timeouts.total, allowsResend: request.isIdempotent && request.body.isReplayable)
  }

  /// What would become of a first attempt that failed like this: the interceptors' opinions, then the rules that stand
  /// above them.
  private func verdict(
    on failure: HypotheticalFailure, _ request: ResourceRequest
  ) -> FetchExplanation.RetryVerdict {
    var action = Retry.Action.none
    var undecided: [String] = []
    for interceptor in interceptors.links.map(\.interceptor) {
      let opinion = (interceptor as? any ExplainableInterceptor)?.explainedAction(after: failure.error, to: request)
      if let opinion {
        action = retryActionPriority(action, opinion)
      } else {
        // Not the same as no opinion: the real failure may make it want a retry.
        undecided.append(Self.name(of: interceptor))
      }
    }
    let veto = RetryVeto.judge(
      failure.error, firstRequest: request, requestSent: failure.requestSent, hops: 0,
      isBodyConsumed: failure.requestSent && !request.body.isReplayable, timeLeft: nil)
    // A veto stands whatever the undecided ones would say.
    let (isRetried, reason) = outcome(of: action, veto, failure, timeouts(for: request.options).total)
    return FetchExplanation.RetryVerdict(
      failure: failure.name, isRetried: isRetried, reason: reason, undecided: veto == nil ? undecided : [])
  }

  /// The rules of ``FetchCall`` for a failure without a past: no attempt was made, no time has passed, nothing was
  /// paid.
  private func outcome(
    of action: Retry.Action, _ veto: RetryVeto?, _ failure: HypotheticalFailure, _ total: Duration?
  ) -> (isRetried: Bool, reason: String) {
    if let veto { return (false, "\(veto.end)") }
    var delay: Retry.Delay
    switch action {
    case .none: return (false, "no interceptor asks for a retry")
    case .noRetry(let reason): return (false, "\(reason)")
    case .retry: delay = .zero
    case .retryAfter(let wait): delay = min(max(wait, .zero), Retry.longestDelay)
    }
    let most = configuration.maximumAttempts
    guard most > 1 else { return (false, "\(Retry.End.attemptLimit(most))") }
    let demand = failure.error.response.flatMap {
      RetryAfter.wait($0.headerFields, sinceEpoch: configuration.timeSource.sinceEpoch)
    }
    if let demand {
      guard demand <= configuration.maximumRetryAfter else { return (false, "Retry-After exceeds the limit") }
      delay = max(delay, demand)
    }
    if let total, delay >= total { return (false, "a wait of \(delay.brief) does not end before the total deadline") }
    let manner = demand.map { $0 >= delay } == true ? "as Retry-After says" : "for instance"
    return (true, delay > .zero ? "after \(delay.brief), \(manner)" : "at once")
  }
}
