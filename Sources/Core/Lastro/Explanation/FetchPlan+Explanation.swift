// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension FetchPlan {
  /// Returns an explanation of what a call would do. The only code of the application that it runs is the base request
  /// maker, the explanations of interceptors, and `explain` of a transport of its own.
  func explanation() async -> FetchExplanation {
    var request: ResourceRequest?
    var refusal: String?
    do {
      var made = try await core.coding { [baseRequestMaking] in try await baseRequestMaking.make() }
      try core.complete(&made, by: baseRequestMaking)
      made.options = options.overriding(made.options)
      // The hooks are not run, because they may wait or fetch tokens. An interceptor returns beforehand what it would
      // add.
      for case let interceptor as any ExplainableInterceptor in interceptors.all {
        made = interceptor.explainedRequest(made)
      }
      made.addPriority()
      request = made
      // Run the checks of an attempt, so that a refusal is found here too.
      try checkLimits(of: made.options)
      if case .key(let key) = made.options.idempotency { try RequestCheck.checkIdempotencyKey(key) }
      try RequestCheck.check(made)
    } catch {
      refusal = "\(error)"
    }
    let options = request?.options ?? options
    // Prefer the request, if there is one: it has the credentials that interceptors would add.
    let redaction = request.map { Redaction.standard.adding($0) } ?? .standard.adding(options)
    return FetchExplanation(
      request: request.map { redaction.text($0.summary) }, refusal: refusal.map { redaction.text($0) },
      operation: options.operation, idempotency: Self.idempotency(of: request),
      interceptors: interceptors.all.map(Self.describe), signers: signers(of: request),
      timeouts: timeoutFacts(options), limits: limitFacts(options, request), retries: request.map(verdicts) ?? [],
      transport: request.map {
        let limit = timeouts(for: $0.options).total.map {
          AttemptRun.Deadline(left: $0, code: .totalTimeout, whole: $0)
        }
        let transfer = FetchCall(explaining: self).transferRequest($0, within: limit)
        return core.transport(for: transfer).explain(transfer).map { FetchExplanation.Fact($0.name, $0.value) }
      } ?? [])
  }

  private func verdicts(on request: ResourceRequest) -> [FetchExplanation.RetryVerdict] {
    let needsToken = interceptors.all.contains { $0 is BearerAuthenticator }
    let total = timeouts(for: request.options).total
    return ((needsToken ? [.noToken] : []) + HypotheticalFailure.all).map {
      verdict(on: $0.attempt(request, total: total), named: $0.name, request)
    }
  }

  private func signers(of request: ResourceRequest?) -> [String] {
    guard let origin = request.flatMap({ Origin($0.head) }) else { return [] }
    return configuration.signers.explanations(for: origin)
  }

  private static func describe(_ interceptor: any HTTPResourceInterceptor) -> FetchExplanation.Interceptor {
    FetchExplanation.Interceptor(
      name: name(of: interceptor), explanation: (interceptor as? any ExplainableInterceptor)?.explanation,
      credentialOrigins: interceptor.credentialOrigins.map(\.description))
  }

  private static func name(of interceptor: any HTTPResourceInterceptor) -> String {
    (interceptor as? any ExplainableInterceptor)?.name ?? "\(type(of: interceptor))"
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

  /// Returns the consequence of a failed attempt: the interceptors' opinions, and the decision that a call would derive
  /// from them.
  func verdict(
    on failed: FailedAttempt, named name: String, _ request: ResourceRequest
  ) -> FetchExplanation.RetryVerdict {
    var action = Retry.Action.none
    var undecided: [String] = []
    for interceptor in interceptors.all {
      let opinion = (interceptor as? any ExplainableInterceptor)?.explainedAction(after: failed.error, to: request)
      if let opinion {
        action = retryActionPriority(action, opinion)
      } else {
        // This differs from no opinion: the real failure may make the interceptor request a retry.
        undecided.append(Self.name(of: interceptor))
      }
    }
    let facts = RetryDecision.Facts(failed, action: action, rules: configuration, spread: 0)
    let decision = RetryDecision.on(facts)
    let isRetried = if case .again = decision { true } else { false }
    // A veto applies, regardless of the undecided interceptors.
    return FetchExplanation.RetryVerdict(
      failure: name, isRetried: isRetried, reason: Self.words(for: decision, facts.veto),
      undecided: facts.veto == nil ? undecided : [])
  }

  private static func words(for decision: RetryDecision, _ veto: Retry.End?) -> String {
    switch decision {
    case .end(let end?): "\(end)"
    // No interceptor asks for a retry. If it would be vetoed anyway, give the veto as the reason.
    case .end(nil): veto.map { "\($0)" } ?? "no interceptor asks for a retry"
    case .again(let delay, let source, _):
      delay > .zero
        ? "after \(delay.brief), \(source == .retryAfter ? "as Retry-After says" : "for instance")" : "at once"
    }
  }
}
